"""Bad input: an error that gives the rule and the value, before anything is fitted."""

import numpy as np
import pandas as pd
import pytest
from planted import DOMAIN, QUICK, Planted, Script, cells, rows
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

from fairprobe import retrain
from fairprobe.errors import DataError, InputError, SettingError

X, y = rows(200, 1)
GIVEN = Planted(cells(0, 80))
OTHER_NAMES = DecisionTreeClassifier().fit(X, np.where(y, "yes", "no"))
OTHER_COLUMN = DecisionTreeClassifier().fit(X.assign(other=1), y)
REGRESSOR = LinearRegression().fit(X, y)
CASES = DOMAIN.sample(5, seed=0)

BAD = {
    "y too short": ({"y": y[:-1]}, DataError, "one label for each of the 200 rows, got the shape (199,)"),
    "y unknown": ({"y": np.where(y, 1.0, np.nan)}, DataError, "a known label for every row, got "),
    "y a regression's": ({"y": X["x"] * 1.1 + X["z"] / 7}, DataError, "a regressor can't be retrained here"),
    "y strings, some unknown": (
        {"y": pd.Series(np.where(y, "yes", "no")).where(X["z"] > 1)}, DataError, "a known label for every row, got "
    ),
    "y a mixture": ({"y": np.array(["no", 1] * 100, dtype=object)}, DataError, "all numbers or all strings"),
    "X too narrow": ({"X": X.to_numpy()[:, :2]}, DataError, "3 columns in domain order, got the shape (200, 2)"),
    "committee of other names": (
        {"committee": [OTHER_NAMES]}, DataError, "the names of y, 0, 1; got 'no' from DecisionTreeClassifier",
    ),
    "committee empty": ({"committee": []}, SettingError, "committee must be a list of models, got []"),
    "committee for nothing": (
        {"committee": [GIVEN], "labels": "mean"}, SettingError, "a committee is for labels='vote', got labels='mean'",
    ),
    "cases outside": ({"cases": CASES.assign(x=99)}, DataError, "got 5 of 5 outside, the first in row 0 by x=99"),
    "cases off the grid": ({"cases": CASES.assign(x=1.5)}, DataError, "the first in row 0 by x=1.5"),
    "cases that a constraint forbids": (
        {"cases": CASES.assign(x=0), "domain": DOMAIN.with_constraints(["x > 0"])}, DataError, "row 0 by a constraint",
    ),
    "no cases": ({"cases": CASES[:0]}, DataError, "one case at least, got none"),
    "labels that contradict each other": (
        {"cases": pd.concat([CASES.assign(label=0), CASES[:3].assign(label=1, sex=1 - CASES["sex"])]),
         "labels": "given"},
        DataError,
        "one label for a family, as cases that are equal in all but sex; got 1 in row 5 and 0 in another row",
    ),
    "no fit": ({"trainer": None}, SettingError, "must have fit, got Planted: give trainer="),
    "a class": (
        {"model": DecisionTreeClassifier, "trainer": None}, SettingError, "got the class DecisionTreeClassifier",
    ),
    "held_out with other labels": (
        {"held_out": (X, np.where(y, "yes", "no"))}, DataError, "held_out must have the labels of y, 0, 1; got 'no'",
    ),
    "held_out too few": ({"held_out": (X[:8], y[:8])}, DataError, "enough to be split, got 8"),
    "weights too few": ({"sample_weight": np.ones(3)}, DataError, "one number for each of the 200 rows, got"),
    "held_out no pair": ({"held_out": X}, SettingError, "held_out must be a pair (X, y), got DataFrame"),
    "labels given, no cases": ({"labels": "given"}, SettingError, "labels='given' needs cases with a column of labels"),
    "augment none": ({"augment": None}, SettingError, "augment must"),
    "labels an array": ({"labels": y}, SettingError, "labels must be one of vote, mean, given"),
    "committee of what is no model": ({"committee": [5]}, InputError, "got 5"),
    "committee of a class": ({"committee": [DecisionTreeClassifier]}, InputError, "DecisionTreeClassifier"),
    "trainer that can't be called": ({"trainer": "fit"}, SettingError, "'fit'"),
    "a model that knows other labels": (
        {"model": OTHER_NAMES, "held_out": (X, y), "labels": "mean", "augment": "flip"}, DataError, "'no'"
    ),
    "a model of another column": (
        {"model": OTHER_COLUMN, "trainer": None, "labels": "mean"}, DataError, "got no other: add the column",
    ),
    "a regressor": ({"model": REGRESSOR, "trainer": None, "labels": "mean"}, InputError, "LinearRegression"),
}  # fmt: skip


def call(changes):
    script = Script(Planted(cells(0, 40)))
    given = {"model": GIVEN, "X": X, "y": y, "domain": DOMAIN, "trainer": script, "labels": "vote", **QUICK, **changes}
    try:
        return retrain(given.pop("model"), given.pop("X"), given.pop("y"), given.pop("domain"), **given)
    finally:
        assert script.calls == [], "refused before any fit"


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    changes, error, message = BAD[name]
    with pytest.raises(error) as raised:
        call(changes)
    assert message in str(raised.value)
