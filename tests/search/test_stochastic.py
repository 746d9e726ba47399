"""A model that answers the same row differently is found out, and its cases are confirmed twice."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scored import DOMAIN, Linear

from fairprobe import search
from fairprobe.errors import HealthWarning, ModelError
from fairprobe.search import STRATEGIES
from fairprobe.search.recorder import first_contradiction
from fairprobe.testing import CountingModel

SETTINGS = {"n_walkers": 50, "n_global": 500, "n_local": 40, "max_cases": None, "max_inputs": 6_000}


class Noisy(Linear):
    """One answer in twenty is drawn."""

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def predict(self, X):
        answers = super().predict(X)
        drawn = self.rng.random(len(X)) < 0.05
        return np.where(drawn, self.rng.random(len(X)) < 0.5, answers)

    def is_case(self, X):
        return Linear().is_case(X)


def run(model, **settings):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", HealthWarning)
        found = search(model, DOMAIN, **(SETTINGS | settings))
    return found, [str(warning.message) for warning in caught]


@pytest.mark.parametrize("strategy", [name for name in STRATEGIES if name != "uniform"])
def test_it_is_found_out_and_most_false_cases_go(strategy):
    """Of 100 inputs 5 are noise by one draw; by three, one in 10,000."""
    model = CountingModel(Noisy())
    found, messages = run(model, strategy=strategy)
    assert [name for name, _ in found.health] == ["stochastic-model"]
    assert any(
        message.startswith("stochastic-model: the model answers the same row differently") for message in messages
    )
    assert Noisy().is_case(found.cases.to_numpy()).mean() > 0.97
    assert found.n_queries == model.n_rows > 2 * found.n_judged
    assert found.n_cases == len(found.cases) == len(found.gaps)


@pytest.mark.parametrize("strategy", list(STRATEGIES))
def test_a_model_that_is_not_is_asked_no_more(strategy):
    model = CountingModel(Linear())
    found, messages = run(model, strategy=strategy)
    assert found.n_queries == model.n_rows == 2 * found.n_judged
    assert not messages


def test_limits_hold_while_confirming():
    model = CountingModel(Noisy())
    found, _ = run(model, strategy="anchored", max_queries=9_000, max_inputs=4_000)
    assert found.n_queries == model.n_rows <= 9_000
    slow = CountingModel(Noisy(), delay=0.01)
    found, _ = run(slow, strategy="anchored", max_seconds=0.5)
    assert found.seconds < 1.3


def test_a_model_that_fails_while_confirming_leaves_what_was_found():
    probe = CountingModel(Noisy())
    found, _ = run(probe, strategy="anchored")
    with pytest.raises(ModelError) as caught:
        run(CountingModel(Noisy(), fail_after=2 * found.n_judged + 10), strategy="anchored")
    assert caught.value.found.n_judged == found.n_judged


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.booleans())))
def test_first_contradiction(judged):
    before, expected = {}, None
    for offset, (a, b, hit) in enumerate(judged):
        if before.setdefault((a, b), hit) != hit:
            expected = offset
            break
    keys = np.array([(a, b) for a, b, _ in judged], dtype=np.int64).reshape(-1, 2)
    assert first_contradiction(keys, np.array([hit for *_, hit in judged], dtype=bool)) == expected
