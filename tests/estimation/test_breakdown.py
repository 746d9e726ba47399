"""`breakdown`: the share for each sensitive parameter alone and together, in one pass, against plain Python."""

from __future__ import annotations

import itertools
import zlib
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Category, Domain, Integer, breakdown, estimate
from fairprobe.errors import SettingError
from fairprobe.estimation.bounds.intervals import clopper_pearson, lower_bound, upper_bound
from fairprobe.testing import CountingModel, odd_one_out

pytestmark = pytest.mark.usefixtures("taken_at_its_word")

SETS = {"sex": ("sex",), "race": ("race",), "sex x race": ("sex", "race")}
SIZES = {"x": 5, "sex": 2, "y": 4, "race": 3}
DOMAIN = Domain([Integer(name, 0, size - 1) for name, size in SIZES.items()], sensitive=["sex", "race"])


def mixed_up(*values):
    return zlib.crc32(repr(values).encode()) % 100


class Arbitrary:
    """Answers anything, but the same to the same row."""

    def __init__(self, seed=0, rarely=20):
        self.seed = seed
        self.rarely = rarely

    def of(self, row):
        return int(mixed_up(self.seed, *map(float, row)) < self.rarely)

    def __call__(self, X):
        return np.array([self.of(row) for row in X.tolist()])


def twins(row, names, allowed=None):
    """The row with only the sensitive parameters named changed, the others as they are in it."""
    own = dict(zip(SIZES, row, strict=True))
    for values in itertools.product(*(range(SIZES[name]) for name in names)):
        twin = tuple((own | dict(zip(names, values, strict=True))).values())
        if allowed is None or twin in allowed:
            yield twin


def is_hit(model, row, names, allowed=None):
    return len({model.of(row), *(model.of(twin) for twin in twins(row, names, allowed))}) > 1


EVERY_INPUT = list(itertools.product(*map(range, SIZES.values())))


@pytest.mark.parametrize("seed", range(10))
def test_the_allowed_part_by_hand(seed):
    model = Arbitrary(seed)
    allowed = {row for row in EVERY_INPUT if mixed_up("allowed", seed, *row) >= 40}
    domain = Domain(
        DOMAIN.parameters, DOMAIN.sensitive, [lambda rows: [tuple(row) in allowed for row in rows.to_numpy().tolist()]]
    )
    shares = breakdown(model, domain, "valid")
    for key, names in SETS.items():
        comparable = [row for row in allowed if len(list(twins(row, names, allowed))) > 1]
        assert shares[key].hits == sum(is_hit(model, row, names, allowed) for row in comparable)
        assert (shares[key].n, shares[key].n_not_comparable) == (len(comparable), len(allowed) - len(comparable))


def test_together_is_what_estimate_says():
    model = Arbitrary()
    options = {"method": "sample", "n_experiments": 3}
    both = breakdown(model, DOMAIN, **options)["sex x race"]
    alone = estimate(model, DOMAIN, **options)
    assert (both.hits, both.n) == (alone.hits, alone.n)
    np.testing.assert_array_equal(both.history, alone.history)


# One pass

POPULATIONS = {
    "domain": ("domain", {}),
    "sample": ("domain", {"method": "sample", "n_experiments": 3}),
    "valid": ("valid", {}),
    "rows": (DOMAIN.sample(70, seed=0), {}),
}


@pytest.mark.parametrize(("population", "options"), POPULATIONS.values(), ids=POPULATIONS)
def test_all_sets_take_one_pass(population, options):
    one, all_sets = CountingModel(Arbitrary()), CountingModel(Arbitrary())
    estimate(one, DOMAIN, population, **options)
    shares = breakdown(all_sets, DOMAIN, population, **options)
    assert all_sets.n_rows == one.n_rows
    assert all_sets.n_calls == one.n_calls
    assert {share.n_queries for share in shares.values()} == {one.n_rows}


# Confidence


@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_no_set_costs_another_confidence(confidence):
    shares = breakdown(Arbitrary(), DOMAIN, confidence=confidence, method="sample", n_experiments=2)
    for share in shares.values():
        assert share.confidence == pytest.approx(confidence)
        counts = (share.hits, share.n, share.confidence)
        assert (share.low, share.high) == clopper_pearson(*counts)
        assert (share.lower, share.upper) == (lower_bound(*counts), upper_bound(*counts))


@pytest.mark.slow
def test_each_interval_holds_by_itself():
    """500 repetitions; a false alarm has a chance below 1 in 10,000 for each set."""
    model = Arbitrary(3)
    exact = {key: share.value for key, share in breakdown(model, DOMAIN).items()}
    table = dict(zip(EVERY_INPUT, model(np.array(EVERY_INPUT)).tolist(), strict=True))
    quick = np.zeros(tuple(SIZES.values()), dtype=int)
    for row, label in table.items():
        quick[row] = label
    misses = Counter()
    for seed in range(500):
        shares = breakdown(
            lambda X: quick[tuple(X.T)], DOMAIN, method="sample", n_experiments=1, n_samples=300, seed=seed
        )
        misses.update(key for key, share in shares.items() if not share.low <= exact[key] <= share.high)
    assert all(stats.binom.sf(misses[key] - 1, 500, 0.05) > 1e-4 for key in exact)


# Sets


def test_sets_can_be_chosen():
    shares = breakdown(Arbitrary(), DOMAIN, sets=["race", ("race", "sex")])
    assert list(shares) == ["race", "sex x race"]
    whole = breakdown(Arbitrary(), DOMAIN)
    assert [share.hits for share in shares.values()] == [whole["race"].hits, whole["sex x race"].hits]


@pytest.mark.parametrize("sets", [[["x"]], [["sex", "age"]], [[]], [""], ["sex", "x"]])
def test_a_set_names_sensitive_parameters(sets):
    with pytest.raises(SettingError, match="sets must each name some of sex, race; got"):
        breakdown(Arbitrary(), DOMAIN, sets=sets)


def test_no_sets():
    with pytest.raises(SettingError, match="sets must hold one set of sensitive parameters at least, got none"):
        breakdown(Arbitrary(), DOMAIN, sets=[])


# Rows


def rows_by_hand(model, rows, names, values):
    hits = 0
    for row in rows:
        own = dict(zip(SIZES, row, strict=True))
        labels = set()
        for combination in itertools.product(*(values[name] for name in names)):
            labels.add(model.of(tuple((own | dict(zip(names, combination, strict=True))).values())))
        hits += len(labels) > 1
    return hits


@pytest.mark.parametrize("seed", range(5))
def test_rows_by_hand(seed):
    model = Arbitrary(seed)
    rows = np.random.default_rng(seed).integers(0, [7, 2, 9, 3], (70, 4))
    shares = breakdown(model, DOMAIN, rows)
    for key, names in SETS.items():
        share = shares[key]
        expected = rows_by_hand(model, rows.tolist(), names, {"sex": [0, 1], "race": [0, 1, 2]})
        assert (share.hits, share.n, share.method) == (expected, 70, "rows")
        assert (share.low, share.high) == clopper_pearson(expected, 70, share.confidence)


@pytest.mark.parametrize("seed", range(5))
def test_rows_whose_held_value_is_not_among_the_compared(seed):
    """Sex changes, the race stays as it is: a race that is known but not compared is no reason not to look."""
    model = Arbitrary(seed)
    domain = Domain(DOMAIN.parameters, {"sex": None, "race": [0, 1]})
    rows = np.random.default_rng(seed).integers(0, [5, 2, 4, 3], (70, 4))
    shares = breakdown(model, domain, rows)
    for key, names in SETS.items():
        expected = rows_by_hand(model, rows.tolist(), names, {"sex": [0, 1], "race": [0, 1]})
        assert (key, shares[key].hits) == (key, expected)


# Trees


def small_tree():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, size, 500) for size in SIZES.values()])
    return DecisionTreeClassifier(max_leaf_nodes=20, random_state=0).fit(X, Arbitrary(4, 40)(X))


def test_solving_and_enumerating_agree():
    tree = small_tree()
    enumerated, solved = (breakdown(tree, DOMAIN, exact_limit=limit) for limit in (10**6, 1))
    for key in SETS:
        assert "tree" in solved[key].detail
        assert "tree" not in enumerated[key].detail
        assert (solved[key].hits, solved[key].n) == (enumerated[key].hits, enumerated[key].n)


# Who is worse off


@pytest.mark.parametrize("options", [{}, {"method": "sample", "n_experiments": 5}])
def test_worse_off_of_one_parameter_is_one_of_its_values(options):
    """Only sex 1 of race 3 is refused: of sexes 1, of races 3, of both the two."""
    toy = odd_one_out(odd=(1, 3))
    shares = breakdown(toy.model, toy.domain, favourable="yes", **options)
    worse_off = {name: share.worse_off for name, share in shares.items()}
    assert worse_off == {"sex": "sex=1", "race": "race=3", "sex x race": "sex=1, race=3"}


def test_what_is_listed_may_be_numbers_where_a_value_that_is_held_is_none():
    """The model gets an array of objects, as it would if nothing were listed."""
    domain = Domain([Category("code", ["x", 1, 2]), Integer("s", 0, 1)], {"code": [1, 2], "s": None})
    rows = pd.DataFrame({"code": ["x", 1], "s": [0, 1]}).astype({"code": object})

    def model(batch):
        return np.array([code == "x" and s == 1 for code, s in batch.tolist()])

    shares = breakdown(model, domain, rows, batch="array")
    assert {name: (share.n, share.hits) for name, share in shares.items()} == {
        "code": (2, 0),
        "s": (2, 1),
        "code x s": (2, 0),
    }
