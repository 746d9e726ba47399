"""The good outcome: an outcome that the model gives is taken, however rare; any other is refused before the work."""

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Category, Domain, Integer, audit, breakdown, compare, estimate
from fairprobe.asserting import DiscriminationError, assert_no_discrimination
from fairprobe.errors import SettingError
from fairprobe.estimation.favourable import favourable_label

DOMAIN = Domain([Integer("x", 0, 9), Category("sex", ["F", "M"])], ["sex"])
ROWS = pd.DataFrame({"x": np.arange(400) % 10, "sex": ["F", "M"] * 200})
SMALL = {"n_experiments": 1, "search_cases": 20, "max_inputs": 500, "explain_queries": 500, "populations": ["rows"]}
LABELS = {
    "words": (">50K", "<=50K", [">50k", " >50K", "50K"]),
    "whole": (1, 0, ["1", True, "yes"]),
    "truth": (True, False, [1, "True", 1.0]),
    "minus": (-1, 1, ["-1"]),
    "half": (0.5, 1.5, ["0.5", True]),
}
"""The good label, the bad one, and words that are neither."""


def model_of(good, bad):
    """Men get the good label; nobody below 3."""
    return lambda frame: pd.Series(
        np.where((frame["sex"] == "M") & (frame["x"] > 2), good, bad).tolist(), index=frame.index
    )


CALLS = {
    "estimate": lambda model, good: estimate(model, DOMAIN, favourable=good),
    "rows": lambda model, good: estimate(model, DOMAIN, ROWS, favourable=good),
    "breakdown": lambda model, good: breakdown(model, DOMAIN, ROWS, favourable=good),
    "compare": lambda model, good: compare(model, model, DOMAIN, ROWS, favourable=good),
    "assert": lambda model, good: assert_no_discrimination(
        model, ROWS, domain=DOMAIN, max_share={"sex=F": 0.9}, favourable=good
    ),
}


@pytest.mark.parametrize(
    ("call", "labels"), [*((call, "words") for call in CALLS), *(("estimate", labels) for labels in LABELS)]
)
def test_an_outcome_that_is_never_seen_is_refused(call, labels):
    good, bad, never = LABELS[labels]
    for wrong in never:
        with pytest.raises(SettingError, match="favourable must be an outcome that was seen, one of "):
            CALLS[call](model_of(good, bad), wrong)
    CALLS[call](model_of(good, bad), np.asarray(good)[()])


@pytest.mark.parametrize("wrong", ["1", True, "yes", 2])
def test_classes_that_are_told_are_held_to_as_well(wrong):
    X = pd.DataFrame({"x": np.arange(40) % 10, "sex": np.arange(40) // 20})
    domain = Domain([Integer("x", 0, 9), Integer("sex", 0, 1)], ["sex"])
    tree = DecisionTreeClassifier().fit(X, X["sex"])
    with pytest.raises(SettingError, match="one of 0, 1; got"):
        estimate(tree, domain, X, favourable=wrong)
    limit = {"domain": domain, "max_share": {"sex=0": 0.9}, "favourable": wrong}
    with pytest.raises(SettingError, match="one of 0, 1; got"):
        assert_no_discrimination(tree, X, **limit)
    assert estimate(tree, domain, X, favourable=np.int64(1)).worse_off == "sex=0"


def test_a_rare_outcome_is_seen():
    """One row of 400 gets it as one of its members alone, and none of the first 256."""

    def model(frame):
        return np.where(frame["x"] == 100, np.where(frame["sex"] == "M", "rare", "no"), model_of("yes", "no")(frame))

    rows = pd.concat([ROWS, pd.DataFrame({"x": [100], "sex": ["F"]})], ignore_index=True)
    domain = Domain([Integer("x", 0, 100), Category("sex", ["F", "M"])], ["sex"])
    assert estimate(model, domain, rows, favourable="rare").worse_off == "sex=F"


class Probabilities:
    """Men's probability of the last class is higher; told or not."""

    feature_names_in_ = np.array(["x", "sex"])

    def __init__(self, classes=None, n=2):
        self.n = n
        if classes is not None:
            self.classes_ = np.array(classes)

    def predict_proba(self, frame):
        last = np.where(frame["sex"] == "M", 0.8, 0.1)
        return np.column_stack([(1 - last) / (self.n - 1)] * (self.n - 1) + [last])

    def predict(self, frame):
        return self.predict_proba(frame).argmax(axis=1)


@pytest.mark.parametrize(
    ("classes", "n", "good", "worse"),
    [
        (["no", "yes"], 2, "yes", "F"),
        (["no", "yes"], 2, "no", "M"),
        (["no", "yes"], 2, "highest", "F"),
        (["no", "yes"], 2, "lowest", "M"),
        (["a", "b", "c"], 3, "lowest", "M"),
        (["a", "b", "c"], 3, "c", "F"),
        (None, 2, "lowest", "M"),
        (None, 2, 1, "F"),
        (["lowest", "highest"], 2, "lowest", "M"),
    ],
)
def test_probabilities_have_classes_and_ends(classes, n, good, worse):
    how = {"output": "proba", "threshold": 0.2}
    model, worse = Probabilities(classes, n), f"sex={worse}"
    assert estimate(model, DOMAIN, ROWS, favourable=good, **how).worse_off == worse
    other = "sex=F" if worse == "sex=M" else "sex=M"
    if classes is not None and n == 3:
        found = audit(model, ROWS, domain=DOMAIN, max_share={worse: 0.5, other: 0.5}, favourable=good, **how, **SMALL)
        assert {each.combination: each.share.hits for each in found.verdict.directions} == {worse: 400, other: 0}
        assert found.why is not None
    with pytest.raises(DiscriminationError):
        assert_no_discrimination(model, ROWS, domain=DOMAIN, max_share={worse: 0.5}, favourable=good, **how)
    with pytest.raises(SettingError, match="favourable must be an outcome of the model"):
        estimate(model, DOMAIN, ROWS, favourable="yess", **how)


@pytest.mark.parametrize("output", ["score", "value"])
def test_numbers_have_ends(output):
    def model(frame):
        return (frame["sex"] == "M") * 1.0

    how = {"output": output, "threshold": 0.2}
    assert estimate(model, DOMAIN, ROWS, favourable="lowest", **how).worse_off == "sex=M"
    for wrong in ("high", 1.0, "yes", True):
        with pytest.raises(SettingError, match="one of 'lowest', 'highest'"):
            estimate(model, DOMAIN, ROWS, favourable=wrong, **how)


@pytest.mark.parametrize(
    ("text", "labels", "label"),
    [("-1", [-1, 1], -1), ("False", [False, True], False), ("YES", ["no", "yes"], "yes"), ("1.0", [0, 1], 1)],
)
def test_a_text_stands_for_one_label(text, labels, label):
    assert favourable_label(text, labels, as_text=True) == label
    assert favourable_label(label, labels) == label


@pytest.mark.parametrize(("text", "labels"), [("1", ["1", 1]), ("1", [True, False]), ("maybe", ["no", "yes"])])
def test_a_text_that_stands_for_no_label_or_for_two_is_refused(text, labels):
    with pytest.raises(SettingError, match="favourable must be a label of the rows, one of "):
        favourable_label(text, labels, as_text=True)
