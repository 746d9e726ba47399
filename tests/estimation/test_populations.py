"""Populations: the allowed part and real rows, as the worlds are too small or too plain to show them."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from fairprobe import Category, Domain, Integer, estimate
from fairprobe.errors import DataError

pytestmark = pytest.mark.usefixtures("taken_at_its_word")


def arbitrary(frame):
    """Any answers, but the same for the same row."""
    return pd.util.hash_pandas_object(frame.astype(str), index=False).to_numpy() % 10 < 2


def test_stretches_where_nothing_is_allowed_are_not_asked_about():
    """Families are looked at by the ten thousand; of most of these, no member is allowed."""
    X = np.column_stack([np.arange(100) % 50, np.arange(100) // 50])
    model = LogisticRegression().fit(X, X[:, 0] + 10 * X[:, 1] > 30)
    domain = Domain([Integer("x", 0, 49_999), Integer("s", 0, 1)], ["s"], [lambda rows: rows["x"] < 50])
    share = estimate(model, domain, "valid")
    answers = model.predict(X).reshape(2, 50)
    assert (share.hits, share.n) == (2 * int((answers[0] != answers[1]).sum()), 100)


JOBS = ("clerk", "nurse", "smith")
COMPARED = {"sex": ["F", "M"], "race": ["a", "b", "c"]}
ROWS_DOMAIN = Domain(
    [Integer("age", 20, 60), Category("job", JOBS), *(Category(name, values) for name, values in COMPARED.items())],
    sensitive=list(COMPARED),
)


def people(n=80):
    """Rows in the domain, but for some ages and jobs."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"age": rng.integers(15, 75, n), "job": rng.choice([*JOBS, "pilot"], n)})
    return rows.assign(**{name: rng.choice(values, n) for name, values in COMPARED.items()})


def test_rows_may_be_many_calls(monkeypatch):
    calls = []

    def model(frame):
        calls.append(len(frame))
        return arbitrary(frame)

    whole = estimate(model, ROWS_DOMAIN, people(100))
    monkeypatch.setattr("fairprobe.oracle.ROWS_A_CALL", 60)
    parts = estimate(model, ROWS_DOMAIN, people(100))
    assert calls == [600] + 10 * [60]
    assert (parts.hits, parts.n) == (whole.hits, whole.n)
    pd.testing.assert_frame_equal(parts.outcomes, whole.outcomes)


def test_rows_all_of_which_are_unknown():
    frame = people(5)
    frame["sex"] = None
    with pytest.raises(DataError, match="a row must have a known value of sex, race, got none among 5 rows"):
        estimate(arbitrary, ROWS_DOMAIN, frame)


class Fitted:
    """A model fitted on a frame: knows its columns, and insists on their dtypes."""

    def __init__(self, frame):
        self.feature_names_in_ = np.array(list(frame.columns), dtype=object)
        self.dtypes = frame.dtypes
        self.n_rows = 0

    def predict(self, batch):
        assert batch.dtypes.to_dict() == self.dtypes.to_dict()
        self.n_rows += len(batch)
        return arbitrary(batch)


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
    assert model.n_rows == share.n_queries == 60 * frame[sensitive].nunique()
    each = (frame.assign(**{sensitive: value}) for value in set(frame[sensitive]))
    answers = [model.predict(rows.astype(frame.dtypes)) for rows in each]
    assert share.hits == int((np.array(answers) != answers[0]).any(axis=0).sum())
