"""Populations: the domain, its allowed part, and real rows, against slow counts in plain Python."""

from __future__ import annotations

import itertools
import warnings
import zlib
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.special import chdtrc
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from chance import SURPRISING, p_if_uniform
from fairprobe import Category, Domain, Integer, Ordinal, Real, estimate
from fairprobe.datasets import census_domain, load_census
from fairprobe.errors import DataError, ModelError
from fairprobe.estimation.bounds.intervals import clopper_pearson, lower_bound, upper_bound
from fairprobe.testing import CountingModel

pytestmark = pytest.mark.usefixtures("taken_at_its_word")


def mixed_up(*values):
    """A number from 0 to 99 that depends on all values, the same everywhere."""
    return zlib.crc32(repr(values).encode()) % 100


def is_missing(value):
    return value is None or value is pd.NA or value != value


def plain(value):
    """Numbers as floats, missing values as None: however they were stored."""
    if is_missing(value):
        return None
    return value if isinstance(value, str) else float(value)


class Arbitrary:
    """A model that answers anything, but the same to the same values; it keeps what it was asked."""

    def __init__(self, seed=0, answers=("no", "no", "no", "yes", "perhaps")):
        self.seed = seed
        self.answers = answers
        self.batches = []

    def of(self, row):
        return self.answers[mixed_up(self.seed, *map(plain, row)) % len(self.answers)]

    def __call__(self, batch):
        self.batches.append(batch.copy())
        rows = batch.itertuples(index=False) if isinstance(batch, pd.DataFrame) else batch.tolist()
        return np.array([self.of(tuple(row)) for row in rows])


# The domain and its allowed part


def grid(*sizes):
    return itertools.product(*map(range, sizes))


SIZES = (4, 3, 3, 2)
PARAMETERS = [Integer(name, 0, size - 1) for name, size in zip("xyab", SIZES, strict=True)]


def constrained(seed):
    """Some inputs are forbidden: sensitive values too, so that families have 0 to 6 members."""

    def is_allowed(rows):
        return [mixed_up(seed, *map(plain, row)) >= 55 for row in rows.itertuples(index=False)]

    return Domain(PARAMETERS, ["a", "b"], [is_allowed])


def allowed_by_hand(seed):
    return {row for row in grid(*SIZES) if mixed_up(seed, *map(plain, row)) >= 55}


def counts_by_hand(model, allowed, is_hit):
    """(hits, n) over the allowed inputs that are comparable; only allowed twins are compared."""
    hits = n = 0
    for x, y, _, _ in allowed:
        outputs = [model.of((x, y, a, b)) for a, b in grid(3, 2) if (x, y, a, b) in allowed]
        n += len(outputs) > 1
        hits += is_hit(outputs)
    return hits, n


@pytest.mark.parametrize("seed", range(25))
def test_the_allowed_part_is_enumerated(seed):
    model = Arbitrary(seed)
    domain = constrained(seed)
    allowed = allowed_by_hand(seed)
    counting = CountingModel(model)
    share = estimate(counting, domain, "valid")
    expected = counts_by_hand(model, allowed, lambda labels: len(set(labels)) > 1)
    assert (share.hits, share.n) == expected
    assert 0 < share.hits < share.n < domain.size
    assert share.n + share.n_not_comparable == len(allowed)
    assert share.value == share.low == share.high == expected[0] / expected[1]
    assert (share.method, share.population) == ("exact", "valid")
    assert share.n_queries == counting.n_rows == len(allowed)
    asked = {tuple(row) for batch in model.batches for row in batch.tolist()}
    assert asked == allowed


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("method", ["exact", "sample"])
def test_the_domain_is_all_of_it_whatever_is_allowed(seed, method):
    options = {"method": method, "n_experiments": 4, "n_samples": 500}
    model = Arbitrary(seed)
    share = estimate(model, constrained(seed), "domain", **options)
    free = estimate(model, Domain(PARAMETERS, ["a", "b"]), **options)
    assert (share.hits, share.n, share.n_queries) == (free.hits, free.n, free.n_queries)
    asked = {tuple(row) for batch in model.batches for row in batch.tolist()}
    assert asked - allowed_by_hand(seed)
    if method == "exact":
        expected = counts_by_hand(model, set(grid(*SIZES)), lambda labels: len(set(labels)) > 1)
        assert (share.hits, share.n) == expected


@pytest.mark.parametrize("fit", [LogisticRegression, DecisionTreeClassifier])
def test_stretches_where_nothing_is_allowed_are_not_asked_about(fit):
    """Families are looked at by the ten thousand; of most of these, no member is allowed."""
    X = np.column_stack([np.arange(100) % 50, np.arange(100) // 50])
    model = fit().fit(X, X[:, 0] + 10 * X[:, 1] > 30)
    domain = Domain([Integer("x", 0, 49_999), Integer("s", 0, 1)], ["s"], [lambda rows: rows["x"] < 50])
    share = estimate(model, domain, "valid")
    answers = model.predict(X).reshape(2, 50)
    assert (share.hits, share.n) == (2 * int((answers[0] != answers[1]).sum()), 100)


# Uniform: what the model is asked about

KINDS = Domain(
    [
        Integer("age", 17, 30, 3),
        Real("rate", 0, 1, 0.25, missing=True),
        Category("job", ["a", "b", "c"], dtype="category"),
        Ordinal("school", ["none", "some"]),
        Category("sex", ["F", "M"]),
        Category("race", [0, 1, 2]),
    ],
    sensitive=["sex", "race"],
)


def asked_families(model, n_combinations):
    """The first member of every family asked about, in order; for a domain without constraints."""
    for batch in model.batches:
        rows = list(batch.itertuples(index=False)) if isinstance(batch, pd.DataFrame) else batch.tolist()
        for row in rows[: len(rows) // n_combinations]:
            yield tuple(map(plain, row))


@pytest.mark.parametrize(
    "parameter",
    [Integer("x", -7, 92), Integer("x", 0, 1000, 7), Real("x", -1, 1, 0.02), Category("x", range(100))],
    ids=["integer", "steps", "real", "category"],
)
def test_each_kind_is_sampled_uniformly(parameter):
    model = Arbitrary()
    domain = Domain([parameter, Integer("s", 0, 1)], ["s"])
    estimate(model, domain, method="sample", n_experiments=10, n_samples=1000)
    codes = parameter.encode([row[0] for row in asked_families(model, 2)])
    assert len(codes) == 10_000
    assert p_if_uniform(codes, parameter.levels) > SURPRISING


@pytest.mark.parametrize("seed", range(5))
def test_the_allowed_inputs_are_sampled_uniformly(seed):
    """A family is as likely as it has allowed members; each of these is asked about whenever the family is drawn."""
    n = 5000
    model = Arbitrary()
    estimate(model, constrained(seed), "valid", method="sample", n_experiments=5, n_samples=n // 5, seed=seed)
    asked = [tuple(row) for batch in model.batches for row in batch.tolist()]
    allowed = allowed_by_hand(seed)
    assert set(asked) == allowed
    families = {}
    for row in sorted(allowed):
        families.setdefault(row[:2], []).append(row)
    counts = np.array([asked.count(members[0]) for members in families.values()])
    for members in families.values():
        assert len({asked.count(member) for member in members}) == 1
    assert counts.sum() == n
    expected = n * np.array([len(members) for members in families.values()]) / len(allowed)
    assert chdtrc(len(counts) - 1, ((counts - expected) ** 2 / expected).sum()) > SURPRISING


# Rows

JOBS = ("clerk", "nurse", "smith")
ROWS_DOMAIN = Domain(
    [Integer("age", 20, 60), Category("job", JOBS), Category("sex", ["F", "M"]), Category("race", ["a", "b", "c"])],
    sensitive=["sex", "race"],
)


def people(n=80, seed=0):
    """Rows in the domain, but for some ages and jobs."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(15, 75, n),
            "job": rng.choice([*JOBS, "pilot"], n),
            "sex": rng.choice(["F", "M"], n),
            "race": rng.choice(["a", "b", "c"], n),
        }
    )


def rows_by_hand(model, domain, frame, compared):
    """(hits, left out): each row as it is, with the sensitive columns replaced by every combination."""
    names, sensitive = list(domain.names), list(compared)
    hits = left_out = 0
    for row in frame[names].itertuples(index=False):
        own = dict(zip(names, row, strict=True))
        if any(is_missing(own[name]) and None not in compared[name] for name in sensitive):
            left_out += 1
            continue
        labels = set()
        for values in itertools.product(*compared.values()):
            twin = own | dict(zip(sensitive, values, strict=True))
            labels.add(model.of(tuple(twin[name] for name in names)))
        hits += len(labels) > 1
    return hits, left_out


COMPARED = {"sex": ["F", "M"], "race": ["a", "b", "c"]}


@pytest.mark.parametrize("seed", range(5))
def test_rows_are_judged_as_they_are(seed):
    """Also those that lie outside the domain in other columns: the age of 70, the pilot."""
    frame = people(seed=seed)
    model = Arbitrary(seed, answers=("no",) * 9 + ("yes",))
    share = estimate(model, ROWS_DOMAIN, frame)
    hits, _ = rows_by_hand(model, ROWS_DOMAIN, frame, COMPARED)
    assert 0 < hits < 80
    assert (share.hits, share.n, share.n_left_out) == (hits, 80, 0)
    assert share.value == hits / 80
    assert (share.low, share.high) == clopper_pearson(hits, 80, 0.95)
    assert (share.lower, share.upper) == (lower_bound(hits, 80, 0.95), upper_bound(hits, 80, 0.95))
    assert (share.method, share.population) == ("rows", "rows")
    assert share.n_queries == 80 * 6
    assert share.history is None


def test_rows_may_be_many_calls(monkeypatch):
    frame = people(100)
    model = Arbitrary(answers=("no",) * 9 + ("yes",))
    whole = estimate(model, ROWS_DOMAIN, frame)
    monkeypatch.setattr("fairprobe.oracle.ROWS_A_CALL", 60)
    parts = estimate(model, ROWS_DOMAIN, frame)
    assert len(model.batches) == 1 + 10
    assert (parts.hits, parts.n) == (whole.hits, whole.n)
    pd.testing.assert_frame_equal(parts.outcomes, whole.outcomes)


@pytest.mark.parametrize("seed", range(3))
def test_a_value_that_is_not_compared_is_judged_as_those_that_are(seed):
    """The age of 33 as 25 and as 65."""
    domain = Domain([Integer("x", 0, 9), Integer("age", 18, 90)], sensitive={"age": [25, 65]})
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.integers(0, 10, 60), "age": rng.choice([25, 33, 47, 65, 95], 60)})
    model = Arbitrary(seed)
    share = estimate(model, domain, frame)
    hits, _ = rows_by_hand(model, domain, frame, {"age": [25, 65]})
    assert (share.hits, share.n, share.n_left_out) == (hits, 60, 0)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA], ids=["None", "NaN", "NA"])
def test_an_unknown_sensitive_value_leaves_a_row_out(missing):
    frame = people()
    frame["sex"] = frame["sex"].astype(object)
    frame.loc[[3, 5, 8], "sex"] = missing
    frame.loc[[5, 9], "race"] = None
    model = Arbitrary(answers=("no",) * 9 + ("yes",))
    share = estimate(model, ROWS_DOMAIN, frame)
    hits, left_out = rows_by_hand(model, ROWS_DOMAIN, frame, COMPARED)
    assert (share.hits, share.n, share.n_left_out) == (hits, 76, 4)
    assert left_out == 4
    assert all(not batch["sex"].isna().any() for batch in model.batches)


def test_unknown_may_be_a_value_of_its_own():
    domain = Domain([Integer("x", 0, 9), Category("sex", ["F", "M"], missing=True)], {"sex": ["F", "M", None]})
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.integers(0, 10, 40), "sex": rng.choice(["F", "M", "?"], 40)}).replace({"?": None})
    model = Arbitrary()
    share = estimate(model, domain, frame)
    hits, _ = rows_by_hand(model, domain, frame, {"sex": ["F", "M", None]})
    assert (share.hits, share.n, share.n_left_out) == (hits, 40, 0)
    assert share.n_queries == 120


def test_rows_all_of_which_are_unknown():
    frame = people(5)
    frame["sex"] = None
    with pytest.raises(DataError, match="a row must have a known value of sex, race, got none among 5 rows"):
        estimate(Arbitrary(), ROWS_DOMAIN, frame)


def test_rows_given_are_left_alone():
    frame = people()
    frame.loc[4, "sex"] = None
    before = frame.copy()
    estimate(Arbitrary(), ROWS_DOMAIN, frame)
    pd.testing.assert_frame_equal(frame, before)


def test_a_missing_number_is_not_hidden_from_the_model():
    """scikit-learn refuses it, so nothing can be said of such a row: an error, not an answer made up."""
    X = np.column_stack([np.arange(100) % 10, np.arange(100) // 50])
    model = LogisticRegression().fit(X, X[:, 0] > 5)
    domain = Domain([Integer("x", 0, 9), Integer("s", 0, 1)], ["s"])
    with pytest.raises(ModelError, match="NaN"):
        estimate(model, domain, np.array([[1.0, 0], [np.nan, 1], [7, 1]]))


# What a model that eats frames gets


class Fitted:
    """A model fitted on a frame: knows its columns, and insists on their dtypes."""

    def __init__(self, frame, columns=None):
        self.feature_names_in_ = np.array(columns or list(frame.columns), dtype=object)
        self.dtypes = frame.dtypes
        self.n_rows = 0

    def predict(self, batch):
        assert list(batch.columns) == list(self.feature_names_in_)
        for name in batch.columns:
            assert batch[name].dtype == self.dtypes[name], name
        self.n_rows += len(batch)
        return np.array(["yes" if mixed_up(*map(plain, row)) < 20 else "no" for row in batch.itertuples(index=False)])

    of = staticmethod(lambda row: "yes" if mixed_up(*map(plain, row)) < 20 else "no")


def typed_people(n=60):
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "age": pd.array(rng.integers(20, 60, n), dtype="Int64"),
            "weight": rng.normal(70, 9, n).round(1).astype("float32"),
            "job": pd.Categorical(rng.choice(JOBS, n)),
            "grade": pd.Categorical(rng.choice(["C", "B", "A"], n), categories=["C", "B", "A"], ordered=True),
            "owner": rng.choice([True, False], n),
            "member": pd.array(rng.choice([True, False], n), dtype="boolean"),
            "town": rng.choice(["Rome", "Oslo"], n),
            "code": pd.Series(rng.choice(["p", "q"], n), dtype=object),
            "small": rng.integers(0, 3, n).astype("int8"),
            "count": pd.array(rng.integers(0, 3, n), dtype="Int16"),
        }
    )


@pytest.mark.parametrize("sensitive", ["job", "grade", "owner", "member", "town", "code", "small", "count"])
def test_dtypes_are_preserved(sensitive):
    frame = typed_people()
    domain = Domain.from_frame(frame, [sensitive])
    model = Fitted(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        share = estimate(model, domain, frame)
    values = sorted(frame[sensitive].unique().tolist())
    assert share.hits == rows_by_hand(model, domain, frame, {sensitive: values})[0]
    assert model.n_rows == share.n_queries == 60 * len(values)


@pytest.mark.parametrize("sensitive", ["job", "town", "code", "small", "count", "member"])
def test_the_index_of_the_rows_does_not_matter(sensitive, monkeypatch):
    """A part of a frame has an index that does not start at 0, and a part of the rows goes out at a time."""
    frame = typed_people()
    domain = Domain.from_frame(frame, [sensitive])
    model = Fitted(frame)
    expected = estimate(model, domain, frame).hits
    assert expected > 0
    for index in (np.arange(100, 160), np.zeros(60, dtype=int), [f"row {i}" for i in range(60)], np.arange(60)[::-1]):
        assert estimate(model, domain, frame.set_axis(index)).hits == expected
    monkeypatch.setattr("fairprobe.oracle.ROWS_A_CALL", 24)
    assert estimate(model, domain, frame).hits == expected


def test_a_pipeline_on_the_natural_census():
    """Unknown occupations and countries go through as they are."""
    X, y = load_census(encoded=False)
    X, y = X.iloc[:1500], y.iloc[:1500]
    words = (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number"))
    numbers = make_column_transformer(words, remainder=StandardScaler())
    model = make_pipeline(numbers, LogisticRegression(max_iter=500)).fit(X, y)
    rows = load_census(encoded=False, split="test")[0].iloc[1000:1400]
    assert rows.isna().any(axis=1).sum() > 10
    share = estimate(model, census_domain(encoded=False), rows, favourable=">50K")
    women, men = (model.predict(rows.assign(sex=sex)) for sex in ("Female", "Male"))
    assert (share.hits, share.n, share.n_left_out) == (int((women != men).sum()), 400, 0)
    assert share.hits > 0
    assert share.worse_off == "sex=Female"


def test_the_census_tree_flips_more_of_the_rows_than_of_the_domain(census_tree):
    tree, domain = census_tree
    rows, _ = load_census(split="test")
    share = estimate(tree, domain, rows)
    flipped = tree.predict(rows.assign(sex=0).to_numpy()) != tree.predict(rows.assign(sex=1).to_numpy())
    assert Fraction(share.hits, share.n) == Fraction(int(flipped.sum()), len(rows))
    assert share.low > 3 * estimate(tree, domain).value
