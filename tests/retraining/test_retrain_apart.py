"""What is kept apart: rows that choose and report are never fitted on, and no round builds on another's rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from planted import QUICK, Keeping
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Domain, Integer, retrain

SIDE = 20
DOMAIN = Domain(
    [Integer("number", 0, 10**9), Integer("x", 0, SIDE - 1), Integer("z", 0, SIDE - 1), Integer("sex", 0, 1)], ["sex"]
)
"""With a number by which every row can be told; random inputs hit one of a row by a chance of 1 in a million."""


def numbered(n, seed):
    rng = np.random.default_rng(seed)
    numbers = rng.permutation(10**6)[:n] * 1000 + rng.integers(1000)
    frame = pd.DataFrame({"number": numbers, "x": rng.integers(0, SIDE, n), "z": rng.integers(0, SIDE, n)})
    frame["sex"] = rng.integers(0, 2, n)
    return frame, ((frame["x"] + frame["z"] >= SIDE) ^ (rng.random(n) < 0.1)).astype(int).to_numpy()


X, y = numbered(500, 1)
TREE = DecisionTreeClassifier(random_state=0, min_samples_leaf=2)
LABEL = dict(zip(X["number"], y, strict=True))


FITTED = []


class Noting(LogisticRegression):
    """A member of a committee that tells what it is fitted on."""

    def fit(self, X, y):
        FITTED.append((X.copy(), np.array(y)))
        return super().fit(X, y)


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
@pytest.mark.parametrize("augment", ["auto", "case"])
def test_rows_to_choose_by_and_to_report_on_are_never_fitted_on(augment):
    keeping = Keeping(TREE)
    FITTED.clear()
    result = retrain(
        TREE, X, y, DOMAIN, trainer=keeping, augment=augment, labels="vote", committee=[Noting(), TREE], max_rounds=3,
        **{**QUICK, "controls": True},
    )  # fmt: skip
    n_fit = result.n_rows["fit"]
    fitted = set(keeping.calls[0][0]["number"])
    apart = set(X["number"]) - fitted
    assert len(fitted) == n_fit
    assert len(apart) == result.n_rows["select"] + result.n_rows["report"]
    assert len(keeping.calls) == 1 + len(result.rounds) + 3
    assert len(FITTED) == 1
    for frame, labels, _ in [*keeping.calls, *((*call, {}) for call in FITTED)]:
        assert apart.isdisjoint(frame["number"])
        # The original rows come first, all of them, with their own labels.
        np.testing.assert_array_equal(frame["number"][:n_fit], keeping.calls[0][0]["number"])
        np.testing.assert_array_equal(labels[:n_fit], [LABEL[number] for number in frame["number"][:n_fit]])


# What the trainer gets


class WithSum:
    """What people write: a column made of others is added to the frame at hand."""

    def __init__(self, X, y):
        X["sum"] = X["x"] + X["z"]
        self.tree = DecisionTreeClassifier(random_state=0).fit(X[["sum", "sex"]], y)
        y[:] = -1

    def predict(self, batch):
        _, x, z, sex = np.asarray(batch).T
        return self.tree.predict(pd.DataFrame({"sum": x + z, "sex": sex}))


@pytest.mark.parametrize("held_out", [None, numbered(200, 9)], ids=["of X", "held out"])
def test_a_trainer_that_changes_what_it_gets(held_out):
    own, weights = y.copy(), np.ones(len(y))
    seen = []

    def trainer(X, y, sample_weight):
        seen.append((list(X.columns), set(y), set(sample_weight)))
        sample_weight *= 2
        return WithSum(X, y)

    result = retrain(
        DecisionTreeClassifier(), X, own, DOMAIN, trainer=trainer, held_out=held_out, augment=["flip"], labels="mean",
        sample_weight=weights, max_rounds=2, **{**QUICK, "controls": True},
    )  # fmt: skip
    assert len(seen) == 1 + len(result.rounds) + 3
    assert seen == [(list(DOMAIN.names), {0, 1}, {1.0})] * len(seen)
    np.testing.assert_array_equal(own, y)
    np.testing.assert_array_equal(weights, 1.0)
