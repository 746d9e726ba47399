"""The one door for rows: what is refused, by which argument, and what comes through as it is."""

import numpy as np
import pandas as pd
import pytest

from fairprobe import Category, Domain, Integer
from fairprobe.errors import DataError

DOMAIN = Domain([Integer("age", 17, 90, step=2), Category("sex", ["f", "m"])], sensitive=["sex"])
FRAME = pd.DataFrame({"more": 1, "sex": ["f", None, "x", "m"], "age": [17, 18, 200, 19]}, index=[7, 7, 3, 1])


def test_rows_may_hold_anything():
    rows = DOMAIN.rows(FRAME)
    assert rows.frame.columns.tolist() == ["age", "sex"]
    assert rows.index.tolist() == [7, 7, 3, 1]
    assert rows.codes.tolist() == [[0, 0], [-1, -1], [-1, -1], [1, 1]]
    assert rows.nearest_codes[:, 0].tolist() == [0, 0, -1, 1]
    assert rows.own.ravel().tolist() == [0, -1, -1, 1]
    assert DOMAIN.families.place_of(rows.own).tolist() == [0, -1, -1, 1]
    assert rows.known.tolist() == [True, False, True, True]
    assert rows.labels is rows.weights is rows.groups is rows.group_numbers is None
    assert rows.reindexed().index.tolist() == [0, 1, 2, 3]


def test_what_belongs_to_rows_stays_with_them():
    rows = DOMAIN.rows(FRAME, y=["a", None, "b", "a"], sample_weight=[0, 1, 2, 3], groups=["u", "v", "u", "v"])
    some = rows.take(rows.known).take([2, 1])
    assert some.frame["age"].tolist() == [19, 200]
    assert some.labels.tolist() == ["a", "b"]
    assert some.weights.tolist() == [3, 2]
    assert some.groups.tolist() == ["v", "u"]
    assert rows.group_numbers.tolist() == [0, 1, 0, 1]


def test_an_array_has_its_columns_in_domain_order():
    domain = Domain([Integer("age", 0, 9), Integer("sex", 0, 1)], sensitive=["sex"])
    # An array has no order of its own.
    rows = domain.rows(np.array([[3, 1], [99, 0]]), y=pd.Series([1, 0], index=[1, 0]))
    assert rows.codes.tolist() == [[3, 1], [-1, 0]]
    assert rows.labels.tolist() == [1, 0]


def test_labels_may_have_an_index_of_their_own():
    for index in (range(4), range(20, 24)):
        assert DOMAIN.rows(FRAME, y=pd.Series([1, 2, 3, 4], index=index)).labels.tolist() == [1, 2, 3, 4]


IN_ORDER = FRAME.reset_index(drop=True)


@pytest.mark.parametrize(
    ("X", "given", "argument", "message"),
    [
        (FRAME.drop(columns=["age"]).assign(Age=1), {}, "X", "a column for every parameter, got none for age: did you"),
        (FRAME.iloc[:0], {}, "X", "one row at least, got an empty frame"),
        (np.zeros((2, 3)), {}, None, "2 columns in domain order"),
        (FRAME, {"y": [1]}, "y", "one label for each of the 4 rows, got the shape (1,)"),
        (FRAME, {"y": "yes"}, "y", "one label for each of the 4 rows, got the shape ()"),
        (IN_ORDER, {"y": pd.Series(range(4))[::-1]}, "y", "the index of the rows, in their order"),
        # Other rows were dropped from the labels than from the frame.
        (FRAME, {"y": pd.Series(range(4), index=[7, 8, 3, 1])}, "y", "the index of the rows, in their order"),
        (FRAME, {"sample_weight": ["a"] * 4}, "sample_weight", "must be numbers, got list"),
        (FRAME, {"sample_weight": [1, 2]}, "sample_weight", "one number for each of the 4 rows, got the shape (2,)"),
        (FRAME, {"sample_weight": [1, np.inf, 0, 0]}, "sample_weight", "finite and not negative, got inf in row 2"),
        (FRAME, {"sample_weight": [1, 0, -1, 0]}, "sample_weight", "finite and not negative, got -1.0 in row 3"),
        (FRAME, {"sample_weight": [0] * 4}, "sample_weight", "must not all be zero"),
        (FRAME, {"sample_weight": pd.Series([1] * 4)}, "sample_weight", "must have the index of the rows"),
        (FRAME, {"groups": [1, 2]}, "groups", "one name for each of the 4 rows, got the shape (2,)"),
        (FRAME, {"groups": [1, None, 2, 2]}, "groups", "known for every row, got 1 missing"),
        (FRAME, {"groups": pd.Series([1] * 4)}, "groups", "must have the index of the rows"),
    ],
)
def test_refused(X, given, argument, message):
    with pytest.raises(DataError) as error:
        DOMAIN.rows(X, **given)
    assert error.value.argument == argument
    assert message in str(error.value)
    if argument is not None:
        with pytest.raises(DataError, match="their_own ") as error:
            DOMAIN.rows(X, **given, called={argument: "their_own"})
        assert error.value.argument == "their_own"


def test_no_rows_where_none_will_do():
    assert len(DOMAIN.rows(FRAME.iloc[:0], may_be_empty=True)) == 0
