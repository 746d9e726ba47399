"""A batch asked about in parts gives the answers of the whole."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Domain, Integer, search
from fairprobe.errors import ModelError
from fairprobe.model.adapters import adapter_for
from fairprobe.model.asking import LEAST_ROWS, Asker, InThreads

DOMAIN = Domain([Integer("age", 0, 99), Integer("sex", 0, 1)], sensitive=["sex"])


@pytest.mark.parametrize("n", [0, 1, LEAST_ROWS, 2 * LEAST_ROWS - 1, 2 * LEAST_ROWS, 1000, 1001])
@pytest.mark.parametrize("make", [np.asarray, lambda rows: pd.DataFrame({"a": rows})])
def test_answers_in_order(n: int, make: Any) -> None:
    asked = InThreads(lambda batch: np.asarray(batch).reshape(-1) * 2, 3)
    assert asked(make(np.arange(n))).tolist() == (2 * np.arange(n)).tolist()


def test_as_many_threads_as_asked_for() -> None:
    met = threading.Barrier(3, timeout=60)

    def function(batch: Any) -> Any:
        met.wait()  # passes only if three are here at once
        return batch

    assert len(InThreads(function, 3)(np.arange(3 * LEAST_ROWS))) == 3 * LEAST_ROWS


def test_a_model_that_raises_in_a_thread() -> None:
    def raises(X: Any) -> Any:
        if (X[:, 0] == 60).any():
            raise RuntimeError("sixty")
        return X[:, 0] > 50

    asker = Asker(raises, DOMAIN, n_threads=2)
    with pytest.raises(ModelError, match="RuntimeError: sixty; for age=60"):
        asker.ask(np.column_stack([np.arange(100).repeat(4), np.zeros(400, dtype=np.int64)]))


def test_which_models_release_the_lock() -> None:
    assert adapter_for(SVC()).threads
    assert adapter_for(make_pipeline(StandardScaler(), SVC())).threads
    for model in (LinearSVC(), DecisionTreeClassifier(), len):
        assert not adapter_for(model).threads


@pytest.mark.parametrize("accelerate", ["auto", "off"])
def test_the_same_for_any_number_of_threads(accelerate: str) -> None:
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 100, 400), rng.integers(0, 2, 400)])
    model = SVC(gamma=0.01).fit(rows, rows[:, 0] + 20 * rows[:, 1] > 60)
    one, two = (
        search(model, DOMAIN, max_inputs=3000, max_cases=None, n_jobs=n, accelerate=accelerate, n_walkers=200)
        for n in (1, 2)
    )
    assert one.n_cases > 0
    assert one.cases.equals(two.cases)
    assert one.n_queries == two.n_queries
