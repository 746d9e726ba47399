"""Columns that fall while their parameter's levels rise, and models that answer otherwise than they are built."""

from __future__ import annotations

import numpy as np
import pytest
from exact_truth import assert_counted, training_rows
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Domain, Integer, Real, estimate
from fairprobe.errors import HealthWarning
from fairprobe.estimation.exact import NotSolved, solve, walk
from fairprobe.model import tables

SMALL = Domain([Integer("s", 0, 1), Integer("x", 0, 9, missing=True), Integer("y", 0, 9)], sensitive=["s"])
WIDE = Domain([Integer("s", 0, 1), Integer("x", 0, 60_000), Real("y", 0.0, 1.0, 0.001)], sensitive=["s"])

PREPARE = {
    "union": lambda: FeatureUnion(
        [("a", StandardScaler()), ("b", MinMaxScaler())], transformer_weights={"a": -0.5, "b": 2}
    ),
    "nought": lambda: FeatureUnion([("a", RobustScaler()), ("b", MinMaxScaler())], transformer_weights={"a": 0.0}),
    "twice": lambda: make_pipeline(
        FeatureUnion([("a", StandardScaler())], transformer_weights={"a": -1}),
        ColumnTransformer([("b", MinMaxScaler(), [0, 1, 2])], transformer_weights={"b": -3}),
    ),
}


@pytest.mark.parametrize("prepare", PREPARE.values(), ids=PREPARE)
@pytest.mark.parametrize("final", [DecisionTreeClassifier(random_state=0), RandomForestClassifier(3, random_state=0)])
def test_searched_columns_that_fall(prepare, final, monkeypatch):
    monkeypatch.setattr(tables, "WIDE", 4)
    X, y = training_rows(SMALL, 0, n=500)
    model = make_pipeline(prepare(), final).fit(X.to_numpy(dtype=np.float64, na_value=np.nan), y)
    assert_counted(solve(model, SMALL), model, SMALL)


def check_wide(weight=-1.0, final=None):
    """The share of a model over a wide column that falls: twins differ in the last sixth of its levels alone."""
    X, _ = training_rows(WIDE, 3, n=500)
    rows = X.to_numpy(dtype=np.float64)
    part = ColumnTransformer([("a", StandardScaler(), [0, 1, 2])], transformer_weights={"a": weight})
    model = make_pipeline(part, DecisionTreeClassifier() if final is None else final).fit(
        rows, (rows[:, 1] > 50_000) & (rows[:, 0] == 1)
    )
    share = estimate(model, WIDE)
    assert abs(share.value - 10_000 / 60_001) < 0.01
    return share


def test_a_wrong_order_is_found_out_by_random_families(monkeypatch):
    monkeypatch.setattr(tables.Seen, "_rises", lambda self, parameter: True)
    with pytest.warns(HealthWarning, match="not-exact: the model's labels of random inputs are not those that its"):
        check_wide()


def test_what_is_confirmed_is_said():
    X, y = training_rows(WIDE, 3, n=500)
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X.to_numpy(dtype=np.float64), y)
    share = estimate(model, WIDE, method="exact")
    assert share.method == "exact"
    assert share.detail == (
        "solved for the model's tree; the model agreed on all of 300 random families, so with 95% confidence it "
        "answers otherwise on fewer than 0.99%"
    )
    assert share.n_queries >= 2 * tables.N_RANDOM


@pytest.mark.parametrize("final", [DecisionTreeClassifier(random_state=0), LogisticRegression()])
def test_a_model_that_answers_otherwise_is_sampled_with_a_remark(final, monkeypatch):
    """Here where nothing was counted as a hit: only random families show it."""
    rows = training_rows(WIDE, 0, n=500)[0].to_numpy(dtype=np.float64)
    model = make_pipeline(MinMaxScaler(), final).fit(rows, rows[:, 1] > 30_000)
    predict = type(model).predict

    def altered(self, batch):
        return predict(self, batch) ^ ((np.asarray(batch)[:, 0] == 1) & (np.asarray(batch)[:, 2] > 0.75))

    monkeypatch.setattr("fairprobe.model.known._is_class_altered", lambda cls: False)
    monkeypatch.setattr(type(model), "predict", altered)
    with pytest.warns(HealthWarning, match="^not-exact: the model's labels"):
        share = estimate(model, WIDE)
    assert share.method == "sample"
    assert 0.1 < share.value < 0.6


def test_rules_leave_random_families_to_compare(monkeypatch):
    """Only allowed members are asked about: a model that fails on the others is solved all the same."""
    domain = WIDE.with_constraints(["s == 0 or x < 20000", "y < 0.8"])
    X, y = training_rows(WIDE, 3, n=500)
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X.to_numpy(dtype=np.float64), y)
    solved = solve(model, domain)
    assert not isinstance(solved, NotSolved)
    read = walk.BoxWalk._labels
    monkeypatch.setattr(walk.BoxWalk, "_labels", lambda self, codes: 1 - read(self, codes))
    assert solve(model, domain).contradicts
