"""Populations: the domain, its allowed part, and real rows, against slow counts in plain Python."""

from __future__ import annotations

import itertools
import warnings
import zlib

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Category, Domain, Integer, estimate
from fairprobe.datasets import census_domain, load_census
from fairprobe.errors import DataError, ModelError

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


@pytest.mark.parametrize("fit", [LogisticRegression, DecisionTreeClassifier])
def test_stretches_where_nothing_is_allowed_are_not_asked_about(fit):
    """Families are looked at by the ten thousand; of most of these, no member is allowed."""
    X = np.column_stack([np.arange(100) % 50, np.arange(100) // 50])
    model = fit().fit(X, X[:, 0] + 10 * X[:, 1] > 30)
    domain = Domain([Integer("x", 0, 49_999), Integer("s", 0, 1)], ["s"], [lambda rows: rows["x"] < 50])
    share = estimate(model, domain, "valid")
    answers = model.predict(X).reshape(2, 50)
    assert (share.hits, share.n) == (2 * int((answers[0] != answers[1]).sum()), 100)


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


def test_rows_may_be_many_calls(monkeypatch):
    frame = people(100)
    model = Arbitrary(answers=("no",) * 9 + ("yes",))
    whole = estimate(model, ROWS_DOMAIN, frame)
    monkeypatch.setattr("fairprobe.oracle.ROWS_A_CALL", 60)
    parts = estimate(model, ROWS_DOMAIN, frame)
    assert len(model.batches) == 1 + 10
    assert (parts.hits, parts.n) == (whole.hits, whole.n)
    pd.testing.assert_frame_equal(parts.outcomes, whole.outcomes)


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
