"""Rows are told apart by content: no figure is of rows that a model was fitted to, but where that is said."""

import numpy as np
import pandas as pd
import pytest
from planted import QUICK, Keeping
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Domain, Integer, Real, retrain
from fairprobe.errors import DataError, SettingError
from fairprobe.estimation.bounds.intervals import clopper_pearson

TREE = DecisionTreeClassifier(random_state=0)
FINE = Domain([Real("a", 0, 1, 0.001), Real("b", 0, 1, 0.001), Integer("sex", 0, 1)], ["sex"])
COARSE = Domain([Integer("a", 0, 9), Integer("b", 0, 9), Integer("sex", 0, 1)], ["sex"])
"""200 different inputs, so that people are equal by chance."""


def people(n, seed, domain=FINE):
    """Labels with so much noise that a tree which knows them by heart is wrong about a third of other people."""
    frame = domain.sample(n, seed=seed)
    sides = frame["a"] + frame["b"] > domain.sample(1000, seed=0)[["a", "b"]].sum(axis=1).median()
    return frame, (sides ^ (np.random.default_rng(seed).random(n) < 0.25)).astype(int).to_numpy()


def twice(X, y):
    return pd.concat([X, X], ignore_index=True), np.concatenate([y, y])


def some_twice(X, y):
    return pd.concat([X, X.head(len(X) // 2)], ignore_index=True), np.concatenate([y, y[: len(y) // 2]])


def flipped(X, y):
    """What whoever augmented their rows beforehand has: each row in both sexes."""
    return pd.concat([X, X.assign(sex=1 - X["sex"])], ignore_index=True), np.concatenate([y, y])


def drawn(X, y):
    """One label is rare, and its rows were drawn again until it was not."""
    places = np.random.default_rng(0).choice(np.flatnonzero(y), 6 * int(y.sum()))
    return pd.concat([X, X.iloc[places]], ignore_index=True), np.concatenate([y, y[places]])


def shuffled(X, y, seed=5):
    order = np.random.default_rng(seed).permutation(len(X))
    return X.iloc[order], y[order]


def fit(X, y, domain=FINE, **options):
    settings = {**QUICK, "labels": "mean", "augment": ["twins"], "max_rounds": 1, **options}
    keeping = Keeping(TREE)
    return retrain(TREE, X, y, domain, trainer=keeping, **settings), keeping


def check_figures(repeat, domain=FINE, n=1200):
    """The clone's reported accuracy agrees with that on other people, drawn and repeated likewise."""
    X, y = shuffled(*repeat(*people(n, 1, domain)))
    result, keeping = fit(X, y, domain)
    clone = DecisionTreeClassifier(random_state=0).fit(*keeping.calls[0][:2])
    fresh, truth = repeat(*people(8000, 2, domain))
    fresh_accuracy = (clone.predict(fresh if hasattr(clone, "feature_names_in_") else fresh.to_numpy()) == truth).mean()
    n_report = result.n_rows["report"]
    low, high = clopper_pearson(round(result.accuracy_before * n_report), n_report, 0.999)
    assert low <= fresh_accuracy <= high
    assert not result.on_fitted_rows
    return result


@pytest.mark.parametrize("repeat", [twice, some_twice, flipped, drawn])
def test_accuracy_is_that_on_fresh_rows(repeat):
    result = check_figures(repeat)
    assert [name for name, _ in result.health if name != "not-retrained"] == (
        ["repeated-rows"] if repeat is twice else []
    )


def test_copies_in_a_table_of_few_different_inputs():
    result = check_figures(twice, COARSE, n=500)
    assert result.n_rows["fit"] > 8 * result.n_rows["report"], "one of each two is counted"
    assert "repeated-rows" in dict(result.health)


@pytest.mark.parametrize("domain", [FINE, COARSE], ids=["fine", "coarse"])
@pytest.mark.parametrize(
    "known", [lambda X, y: (X, y), shuffled, lambda X, y: shuffled(*twice(X, y)), lambda X, y: (X.astype(object), y)]
)
@pytest.mark.thinned(2)
def test_rows_held_out_that_are_the_rows_of_x(domain, known):
    X, y = people(400, 1, domain)
    result, _ = fit(X, y, domain, held_out=known(X, y))
    assert result.on_fitted_rows
    assert "400 of 400 rows to choose by" in dict(result.health)["rows-overlap"]
    assert result.accepted is False or "on rows it was fitted to" in result.sentence()


@pytest.mark.parametrize("n_known", [1, 40, 200])
def test_rows_held_out_of_which_some_are_known(n_known):
    (X, y), (others, labels) = people(400, 1), people(200, 2)
    held_out = pd.concat([X.head(n_known), others.tail(200 - n_known)]), np.r_[y[:n_known], labels[n_known:]]
    result, _ = fit(X, y, held_out=held_out)
    assert f"{n_known} of 200 rows" in dict(result.health)["rows-overlap"]
    assert result.on_fitted_rows


@pytest.mark.parametrize("seed", range(2))
def test_people_who_are_equal_by_chance_are_no_copies(seed):
    X, y = people(1000, seed, COARSE)
    for held_out in (None, people(700, seed + 10, COARSE)):
        result, _ = fit(X, y, COARSE, held_out=held_out)
        assert not result.on_fitted_rows
        assert "rows-overlap" not in dict(result.health)
    assert result.n_rows == {"fit": 1000, "select": result.n_rows["select"], "report": 700 - result.n_rows["select"]}


def test_groups_stay_together():
    X, y = people(900, 3)
    groups = pd.Series(np.arange(900) // 6).map("family {}".format)
    names = {tuple(row): group for row, group in zip(X.to_numpy().tolist(), groups, strict=True)}
    result, keeping = fit(X, y, groups=groups)
    fitted = {names[tuple(row)] for row in keeping.calls[0][0].to_numpy().tolist()}
    assert len(keeping.calls[0][0]) == 6 * len(fitted), "all rows of each group, or none"
    assert 0.6 < len(fitted) / 150 < 0.8
    assert not result.on_fitted_rows


def test_groups_held_out():
    (X, y), held_out = people(300, 1), people(200, 2)
    with pytest.raises(SettingError, match=r"groups must be a pair, of X and of the rows held out"):
        fit(X, y, held_out=held_out, groups=np.arange(300))
    result, _ = fit(X, y, held_out=held_out, groups=(np.arange(300), 1000 + np.arange(200) // 2))
    assert not result.on_fitted_rows
    result, _ = fit(X, y, held_out=held_out, groups=(np.arange(300), 250 + np.arange(200)))
    assert "50 of 200 rows" in dict(result.health)["rows-overlap"]
    with pytest.raises(DataError, match="groups must have one name for each of the 300 rows, got"):
        fit(X, y, groups=[1, 2])


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
BUSHY = DecisionTreeClassifier(random_state=0, min_samples_leaf=2)
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
    keeping = Keeping(BUSHY)
    FITTED.clear()
    result = retrain(
        BUSHY, X, y, DOMAIN, trainer=keeping, augment=augment, labels="vote", committee=[Noting(), BUSHY], max_rounds=3,
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
