"""What a search gives back: frames that fit together, figures that add up, no case that is none."""

from __future__ import annotations

import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

from fairprobe import Found, search, testing
from fairprobe.errors import HealthWarning
from fairprobe.searching import STRATEGIES

pytestmark = pytest.mark.usefixtures("taken_at_its_word")


def settings_of(toy):
    return {"max_inputs": 3000, "n_walkers": 20, "n_global": 300, "n_local": 20, "max_cases": None} | toy.settings


@pytest.mark.parametrize("name", ["box", "loans", "pair", "score", "proba", "odd-one-out"])
def test_frames_fit_together(name):
    toy = dict(testing.all_toys())[name]
    found = search(toy.model, toy.domain, **settings_of(toy))
    domain = toy.domain
    assert isinstance(found, Found)
    assert found.n_cases == len(found.cases) > 0
    for frame in (found.cases, found.twins):
        assert tuple(frame.columns) == domain.names
        assert [str(dtype) for dtype in frame.dtypes] == [str(dtype) for dtype in domain.sample(1).dtypes]
    for part in (found.cases, found.twins, found.gaps, found.outputs):
        assert part.index.equals(pd.RangeIndex(found.n_cases))
    sensitive = list(domain.sensitive)
    assert found.cases.drop(columns=sensitive).equals(found.twins.drop(columns=sensitive))
    assert (found.cases[sensitive] != found.twins[sensitive]).any(axis=1).all()
    assert not found.cases.drop(columns=sensitive).duplicated().any()
    assert found.gaps.name == "gap"
    assert list(found.outputs.columns[:2]) == ["case", "twin"]
    frame = found.to_frame()
    assert frame["gap"].equals(found.gaps)
    assert frame[f"twin_{sensitive[0]}"].tolist() == found.twins[sensitive[0]].tolist()
    if name == "loans":
        assert list(frame.columns) == [*domain.names, "twin_sex", "output_case", "output_twin", "gap"]


def test_probabilities_name_the_class():
    toy = testing.proba()
    found = search(toy.model, toy.domain, **settings_of(toy))
    assert set(found.outputs["class"]) <= {0, 2}
    case, twin = toy.model(found.cases.to_numpy()), toy.model(found.twins.to_numpy())
    rows = np.arange(found.n_cases)
    np.testing.assert_array_equal(found.outputs["case"], case[rows, found.outputs["class"]])
    np.testing.assert_array_equal(found.outputs["twin"], twin[rows, found.outputs["class"]])
    np.testing.assert_array_equal(np.abs(case - twin).max(axis=1), found.gaps)


# Outputs over several shards


@pytest.mark.parametrize("strategy", list(STRATEGIES))
@pytest.mark.parametrize("name", ["score", "proba", "sparse", "odd-one-out"])
@pytest.mark.thinned(3)
def test_shards_without_a_case_change_nothing(name, strategy):
    """Many a shard of 40 inputs has no case; the outputs keep their dtype and classes."""
    toy = dict(testing.all_toys())[name]
    if name in ("score", "proba"):
        make = getattr(testing, name)
        toy = make(levels=64, threshold=0.95 if name == "score" else 0.47)
    options = {"strategy": strategy, "max_cases": None, "n_walkers": 5, "n_global": 20, "n_local": 10, "seed": 3}
    n = 4000 if name == "sparse" else 1200
    cut = search(toy.model, toy.domain, max_inputs=n, shard_inputs=40, **options, **toy.settings)
    whole = search(toy.model, toy.domain, max_inputs=n, **options, **toy.settings)
    assert cut.n_cases > 0
    assert cut.outputs.dtypes.to_dict() == whole.outputs.dtypes.to_dict()
    assert len(cut.to_frame()) == cut.n_cases
    planted = toy.is_case(cut.cases.to_numpy())
    assert planted.all()


# Figures


@pytest.mark.parametrize("strategy", list(STRATEGIES))
def test_yield_is_distinct_cases_by_distinct_inputs(strategy):
    toy = testing.box(n_free=3, levels=8, low=2, high=4)
    seen = []

    def recording(X):
        seen.append(X[X[:, -1] == 0])
        return toy.model(X)

    found = search(
        recording, toy.domain, strategy=strategy, max_cases=None, max_inputs=600, n_walkers=5, n_global=50, n_local=10
    )
    rows = np.concatenate(seen)
    assert found.n_judged == len(rows) == 600
    distinct = np.unique(rows, axis=0)
    assert found.n_inputs == len(distinct) < 600
    assert found.n_cases == toy.is_case(distinct).sum()
    assert found.yield_ == found.n_cases / found.n_inputs


def test_a_result_can_be_kept_and_its_figures_are_ready_for_json():
    toy = testing.loans()
    found = search(toy.model, toy.domain, **settings_of(toy), seed=7)
    summary = json.loads(json.dumps(found.jsonable()))
    assert summary["n_cases"] == found.n_cases
    assert summary["yield"] == found.yield_
    assert summary["seed"] == 7
    assert summary["stop_reason"] == str(found.stop_reason)
    assert summary["sensitive"] == ["sex"]
    assert summary["settings"]["n_walkers"] == 20
    assert summary["limits"]["max_judged"] == 3000
    assert f"{found.n_cases:,} cases" in repr(found)
    again = pickle.loads(pickle.dumps(found))
    assert again.to_frame().equals(found.to_frame())
    assert again.jsonable() == found.jsonable()


# Health


def heard(*arguments, **settings):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = search(*arguments, **settings)
    remarks = [warning for warning in caught if issubclass(warning.category, HealthWarning)]
    assert all(warning.filename == __file__ for warning in remarks)  # it points at the caller
    return found, [str(warning.message).split(":")[0] for warning in remarks]


@pytest.mark.parametrize(
    ("toy", "model", "expected"),
    [
        (testing.never(), None, ["unused-sensitive"]),
        (testing.never(), lambda X: np.ones(len(X)), ["constant-output"]),
        (testing.score(threshold=0.99), None, []),  # scores below the threshold are no sign of disuse
    ],
)
def test_what_a_search_without_a_case_says(toy, model, expected):
    found, names = heard(model or toy.model, toy.domain, max_inputs=3000, n_global=500, **toy.settings)
    assert names == [name for name, _ in found.health] == expected
    assert "fair" not in str(found.health)
    assert expected != ["unused-sensitive"] or "may not use group at all" in found.health[0][1]
