"""What is kept apart: rows that choose and report are never fitted on, and no round builds on another's rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from planted import QUICK, Keeping
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Category, Domain, Integer, retrain

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


def test_every_round_is_on_the_original_rows():
    keeping = Keeping(TREE)
    result = retrain(
        TREE, X, y, DOMAIN, trainer=keeping, augment=["twins", "case"], labels="mean", max_rounds=6, **QUICK
    )
    original, labels, _ = keeping.calls[0]
    assert len(result.rounds) == len(keeping.calls) - 1 == 6
    for one, (frame, got, _) in zip(result.rounds, keeping.calls[1:], strict=True):
        assert len(frame) == len(original) + one.n_added
        pd.testing.assert_frame_equal(frame.iloc[: len(original)], original)
        np.testing.assert_array_equal(got[: len(labels)], labels)
        if one.recipe.copies == 1 and one.recipe.uses_cases:
            n_new = (~frame["number"].isin(original["number"])).sum()
            wanted = round(one.recipe.percent / 100 * len(original))
            assert n_new == wanted * (2 if "twins" in one.recipe.parts else 1)


def test_flipped_rows_keep_number_and_label():
    keeping = Keeping(TREE)
    result = retrain(TREE, X, y, DOMAIN, trainer=keeping, augment=["flip"], labels="mean", max_rounds=1, **QUICK)
    n = result.n_rows["fit"]
    frame, labels, _ = keeping.calls[1]
    assert len(frame) == 2 * n
    added = frame.iloc[n:].set_index("number").sort_index()
    own = X.set_index("number").loc[added.index]
    pd.testing.assert_frame_equal(added[["x", "z"]], own[["x", "z"]])
    np.testing.assert_array_equal(added["sex"], 1 - own["sex"])
    assert all(LABEL[number] == label for number, label in zip(frame["number"], labels, strict=True))


def test_a_model_that_has_seen_all_rows_is_not_judged_on_them():
    """It knows them by heart: its accuracy there would be 1."""
    by_heart = DecisionTreeClassifier(random_state=0).fit(X, y)
    assert by_heart.score(X, y) == 1
    result = retrain(by_heart, X, y, DOMAIN, augment=["flip"], labels="mean", max_rounds=1, **QUICK)
    assert result.accuracy_before < 0.95


def test_rows_held_out_are_never_fitted_on():
    unseen = numbered(200, 9)
    keeping = Keeping(TREE)
    fitted = DecisionTreeClassifier(random_state=0).fit(X, y)
    result = retrain(
        fitted, X, y, DOMAIN, trainer=keeping, held_out=unseen, augment="auto", labels="mean", max_rounds=3, **QUICK
    )
    assert result.n_rows["fit"] == 500
    assert result.n_rows["select"] + result.n_rows["report"] == 200
    assert len(keeping.calls) == 3, "the model given is judged as it is"
    for frame, _, _ in keeping.calls:
        np.testing.assert_array_equal(frame["number"][:500], X["number"])
        assert set(unseen[0]["number"]).isdisjoint(frame["number"])


# What the trainer gets


@pytest.mark.parametrize("form", ["frame", "array"])
@pytest.mark.parametrize("weighted", [True, False])
def test_a_trainer_gets_what_the_rows_are(form, weighted):
    class NotAnEstimator:
        """What can be neither cloned nor fitted."""

        def predict(self, batch):
            return np.asarray(batch)[:, 3] % 2

    keeping = Keeping(TREE)
    data = X if form == "frame" else X.to_numpy()
    options = {"sample_weight": np.linspace(1, 3, 500)} if weighted else {}
    result = retrain(
        NotAnEstimator(),
        data,
        y,
        DOMAIN,
        trainer=keeping,
        augment="auto",
        labels="mean",
        max_rounds=2,
        **options,
        **QUICK,
    )
    assert len(keeping.calls) == 3
    for batch, _, got in keeping.calls:
        assert isinstance(batch, pd.DataFrame if form == "frame" else np.ndarray)
        assert list(got) == (["sample_weight"] if weighted else [])
        if weighted:
            assert len(got["sample_weight"]) == len(batch)
            assert 1 <= got["sample_weight"].min() <= got["sample_weight"].max() <= 3
        if form == "array":
            assert batch.dtype == np.int64
    assert hasattr(result.model, "feature_names_in_") == (form == "frame") or not result.accepted


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


def test_weights_go_with_their_rows():
    keeping = Keeping(TREE)
    weights = X["number"] / 10**9 + 1.0
    options = {"augment": ["twins+flip"], "labels": "mean", "sample_weight": weights, "max_rounds": 1}
    retrain(TREE, X, y, DOMAIN, trainer=keeping, **options, **QUICK)
    original, frame = keeping.calls[0][0], keeping.calls[1][0]
    got = keeping.calls[1][2]["sample_weight"]
    of_rows = frame["number"].isin(original["number"]).to_numpy()
    np.testing.assert_allclose(got[of_rows], frame["number"][of_rows] / 10**9 + 1)
    np.testing.assert_allclose(got[~of_rows], (original["number"] / 10**9 + 1).mean())


def test_columns_keep_their_dtypes_in_every_round():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "x": rng.integers(0, 20, 300).astype("int16"),
            "owner": rng.random(300) < 0.5,
            "children": pd.array(rng.integers(0, 4, 300), dtype="Int64"),
            "job": pd.Categorical(rng.choice(["a", "b"], 300)),
            "sex": pd.Categorical(rng.choice(["F", "M"], 300)),
        }
    )
    labels = np.where((frame["x"] > 9) ^ (rng.random(300) < 0.15), "yes", "no")
    kept = []

    class Coded:
        def fit(self, frame, labels):
            kept.append(frame.dtypes.to_dict())
            self.tree = DecisionTreeClassifier(random_state=0).fit(self.numbers(frame), labels)
            self.feature_names_in_ = np.array(frame.columns)
            return self

        def numbers(self, frame):
            coded = {name: frame[name].astype("category").cat.codes for name in ("job", "sex")}
            return frame.assign(**coded).astype(int).to_numpy()

        def predict(self, frame):
            return self.tree.predict(self.numbers(frame))

    domain = Domain.from_frame(frame, ["sex"])
    assert isinstance(domain["owner"], Category)
    result = retrain(
        Coded().fit(frame, labels), frame, labels, domain, trainer=lambda X, y, **_: Coded().fit(X, y), labels="mean",
        max_rounds=4, **{**QUICK, "controls": True},
    )  # fmt: skip
    assert len(result.rounds) == 4
    assert not any(control.why_not for control in result.controls.values())
    assert len(kept) >= 9
    assert all(dtypes == frame.dtypes.to_dict() for dtypes in kept)
