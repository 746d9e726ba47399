"""Populations: the domain, its allowed part, and real rows, against slow counts in plain Python."""

from __future__ import annotations

import itertools
import warnings
import zlib
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import stats
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
def test_scores_over_the_allowed_part(seed):
    model = Arbitrary(seed, answers=(0.0, 0.25, 0.5, 0.75))
    share = estimate(model, constrained(seed), "valid", output="score", threshold=0.5)
    expected = counts_by_hand(model, allowed_by_hand(seed), lambda scores: max(scores) - min(scores) > 0.5)
    assert (share.hits, share.n) == expected


@pytest.mark.parametrize("seed", range(5))
def test_the_allowed_part_is_sampled(seed):
    model = Arbitrary(seed)
    share = estimate(model, constrained(seed), "valid", method="sample", n_experiments=4, n_samples=500)
    hits, n = counts_by_hand(model, allowed_by_hand(seed), lambda labels: len(set(labels)) > 1)
    assert share.n + share.n_not_comparable == 2000
    tails = stats.binom.cdf(share.hits, share.n, hits / n), stats.binom.sf(share.hits - 1, share.n, hits / n)
    assert min(tails) > SURPRISING
    assert (share.low, share.high) == clopper_pearson(share.hits, share.n, 0.95)


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


def test_without_constraints_all_is_allowed():
    model = Arbitrary()
    domain = Domain(PARAMETERS, ["a", "b"])
    whole, valid = (estimate(model, domain, population) for population in ("domain", "valid"))
    assert (whole.hits, whole.n) == (valid.hits, valid.n)
    assert valid.population == "valid"


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


def test_all_kinds_of_parameters_are_sampled_uniformly():
    model = Arbitrary()
    estimate(model, KINDS, method="sample", n_experiments=10, n_samples=1000)
    rows = list(asked_families(model, 6))
    assert len(rows) == 10_000
    families = sorted(set(rows), key=repr)
    assert len(families) == 5 * 6 * 3 * 2
    place = {family: number for number, family in enumerate(families)}
    assert p_if_uniform([place[row] for row in rows], len(families)) > SURPRISING


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


def test_rows_need_allowed_twins():
    frame = people()
    model = Arbitrary()
    domain = Domain(ROWS_DOMAIN.parameters, ["sex", "race"], [lambda rows: rows["age"] > 59])
    share = estimate(model, domain, frame)
    allowed = frame[frame["age"] > 59]
    assert 0 < len(allowed) < 80
    expected = rows_by_hand(model, ROWS_DOMAIN, allowed, COMPARED)[0]
    assert (share.hits, share.n, share.n_not_comparable) == (expected, len(allowed), 80 - len(allowed))


def test_outcomes_of_rows():
    frame = people()
    model = Arbitrary(answers=("no",) * 9 + ("yes",))
    share = estimate(model, ROWS_DOMAIN, frame, favourable="yes")
    expected = {f"sex={sex}, race={race}": 0 for sex in "FM" for race in "abc"}
    for age, job, _, _ in frame.itertuples(index=False):
        yes = [(s, r) for s in "FM" for r in "abc" if model.of((age, job, s, r)) == "yes"]
        if 0 < len(yes) < 6:
            for sex, race in yes:
                expected[f"sex={sex}, race={race}"] += 1
    assert share.outcomes["yes"].to_dict() == expected
    assert (share.outcomes.sum(axis=1) == share.hits).all()


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


def test_the_outcome_of_a_value_that_is_not_compared_does_not_count():
    domain = Domain([Integer("x", 0, 9), Integer("age", 18, 90)], sensitive={"age": [25, 65]})
    frame = pd.DataFrame({"x": [1, 2, 3, 4], "age": [33, 25, 65, 70]})
    share = estimate(lambda X: X[:, 1] == 33, domain, frame)
    assert (share.hits, share.n) == (0, 4)
    share = estimate(lambda X: (X[:, 0] == 1) & (X[:, 1] == 65), domain, frame)
    assert (share.hits, share.n) == (1, 4)
    assert share.outcomes[False].to_dict() == {"age=25": 1, "age=65": 0}


def test_a_word_that_the_domain_does_not_know_is_known_all_the_same():
    frame = people(6)
    frame.loc[2, "sex"] = "X"
    share = estimate(lambda rows: rows["sex"] == "X", ROWS_DOMAIN, frame)
    assert (share.hits, share.n, share.n_left_out) == (0, 6, 0)


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


def test_an_unknown_value_elsewhere_does_not():
    frame = people()
    frame["job"] = frame["job"].astype(object)
    frame.loc[[3, 5, 8], "job"] = None
    model = Arbitrary()
    share = estimate(model, ROWS_DOMAIN, frame)
    assert (share.hits, share.n) == (rows_by_hand(model, ROWS_DOMAIN, frame, COMPARED)[0], 80)


def test_unknown_may_be_a_value_of_its_own():
    domain = Domain([Integer("x", 0, 9), Category("sex", ["F", "M"], missing=True)], {"sex": ["F", "M", None]})
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.integers(0, 10, 40), "sex": rng.choice(["F", "M", "?"], 40)}).replace({"?": None})
    model = Arbitrary()
    share = estimate(model, domain, frame)
    hits, _ = rows_by_hand(model, domain, frame, {"sex": ["F", "M", None]})
    assert (share.hits, share.n, share.n_left_out) == (hits, 40, 0)
    assert share.n_queries == 120


def test_an_unknown_number_leaves_a_row_out():
    domain = Domain([Integer("x", 0, 9), Integer("s", 0, 2)], ["s"])
    frame = pd.DataFrame({"x": [1, 2, 3], "s": [0, np.nan, 2]})
    share = estimate(lambda X: X[:, 1], domain, frame)
    assert (share.hits, share.n, share.n_left_out) == (2, 2, 1)


def test_rows_all_of_which_are_unknown():
    frame = people(5)
    frame["sex"] = None
    with pytest.raises(DataError, match="a row must have a known value of sex, race, got none among 5 rows"):
        estimate(Arbitrary(), ROWS_DOMAIN, frame)


def test_no_rows():
    with pytest.raises(DataError, match="population must have one row at least, got an empty frame"):
        estimate(Arbitrary(), ROWS_DOMAIN, people().iloc[:0])


@pytest.mark.parametrize("absent", [["sex"], ["age"], ["sex", "race"]])
def test_rows_without_a_column(absent):
    with pytest.raises(DataError, match=f"column for every parameter, got none for {', '.join(absent)}"):
        estimate(Arbitrary(), ROWS_DOMAIN, people().drop(columns=absent))


@pytest.mark.parametrize("rows", [None, 7, [1, 2, 3], np.zeros((4, 3)), pd.Series([1, 2])])
def test_rows_must_have_the_shape_of_the_domain(rows):
    with pytest.raises(DataError, match="an array of inputs must have 4 columns in domain order, got the shape"):
        estimate(Arbitrary(), ROWS_DOMAIN, rows)


def test_rows_given_are_left_alone():
    frame = people()
    frame.loc[4, "sex"] = None
    before = frame.copy()
    estimate(Arbitrary(), ROWS_DOMAIN, frame)
    pd.testing.assert_frame_equal(frame, before)


def test_other_columns_and_another_order_do_not_matter():
    frame = people()
    model = Arbitrary()
    share = estimate(model, ROWS_DOMAIN, frame)
    shuffled = frame[["race", "age", "sex", "job"]].assign(name="x")
    other = estimate(model, ROWS_DOMAIN, shuffled)
    assert other.hits == share.hits
    assert list(model.batches[-1].columns) == ["age", "job", "sex", "race"]


def test_rows_may_be_an_array():
    domain = Domain([Integer("x", 0, 9), Integer("s", 0, 2)], ["s"])
    rows = np.random.default_rng(0).integers(0, [12, 3], (50, 2))
    model = Arbitrary()
    share = estimate(model, domain, rows)
    assert isinstance(model.batches[-1], np.ndarray)
    frame = pd.DataFrame(rows, columns=["x", "s"])
    assert share.hits == estimate(model, domain, frame).hits
    assert share.hits == rows_by_hand(model, domain, frame, {"s": [0, 1, 2]})[0]
    assert estimate(model, domain, rows.tolist()).hits == share.hits


@pytest.mark.parametrize("as_array", [False, True])
def test_fractions_among_whole_numbers_are_judged_as_they_are(as_array):
    domain = Domain([Integer("x", 0, 9), Integer("s", 0, 1)], ["s"])
    frame = pd.DataFrame({"x": [2.0, 2.5, 3.0], "s": [0, 1, 0]})
    share = estimate(lambda X: (X[:, 0] > 2) & (X[:, 1] > 0), domain, frame.to_numpy() if as_array else frame)
    assert (share.hits, share.n) == (2, 3)


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


@pytest.mark.parametrize("sensitive", [{"job": ["clerk", "smith"]}, {"grade": ["C", "A"]}, {"age": [25, 55]}])
def test_dtypes_are_preserved_where_some_values_are_compared(sensitive):
    frame = typed_people()
    domain = Domain.from_frame(frame, sensitive)
    model = Fitted(frame)
    share = estimate(model, domain, frame)
    assert share.hits == rows_by_hand(model, domain, frame, sensitive)[0]


def test_columns_in_the_models_own_order():
    frame = typed_people()
    domain = Domain.from_frame(frame, ["town"])
    columns = list(frame.columns)[::-1]
    model = Fitted(frame, columns)
    share = estimate(model, domain, frame)
    turned = Domain([domain[name] for name in columns], ["town"])
    assert share.hits == rows_by_hand(model, turned, frame[columns], {"town": ["Oslo", "Rome"]})[0]


@pytest.mark.parametrize("dtype", ["str", "object", "category"])
def test_rows_with_unknown_values_keep_their_dtypes(dtype):
    frame = typed_people()
    frame["town"] = frame["town"].astype(dtype)
    domain = Domain.from_frame(frame, ["town"])
    frame.loc[[0, 7], "town"] = None
    model = Fitted(frame)
    share = estimate(model, domain, frame)
    assert (share.n, share.n_left_out) == (58, 2)


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
