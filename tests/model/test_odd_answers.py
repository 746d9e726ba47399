"""Labels made of several values, whole numbers that floats do not tell apart, gaps at the threshold's rounding."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import fairprobe
from fairprobe import Category, Domain, Integer, estimate
from fairprobe.errors import ModelError

DOMAIN = Domain([Integer("age", 20, 59), Category("sex", ["F", "M"])], sensitive=["sex"])
ROWS = pd.DataFrame({"age": np.arange(40) + 20, "sex": ["F", "M"] * 20})


def each(make):
    """A model that gives an object for every row."""

    def model(frame):
        answers = np.empty(len(frame), dtype=object)
        for place, sex in enumerate(frame["sex"]):
            answers[place] = make(sex)
        return answers

    return model


@pytest.mark.parametrize("population", ["domain", ROWS], ids=["domain", "rows"])
@pytest.mark.parametrize(
    "make", [lambda sex: (1, sex), lambda sex: [sex], lambda sex: {sex}, lambda sex: np.array([sex, 1])]
)
def test_a_label_is_one_value(make, population):
    with pytest.raises(
        ModelError, match=r"a label must be one text, number or truth value, got .* for age=20, sex=F: join"
    ):
        estimate(each(make), DOMAIN, population)
    with pytest.raises(ModelError, match="a label must be one text"):
        fairprobe.search(each(make), DOMAIN, max_cases=3)


@pytest.mark.parametrize("dtype", ["int64", "uint64", object])
def test_whole_numbers_that_floats_do_not_tell_apart_are_refused(dtype):
    def model(frame):
        return np.array([2**60 + (sex == "M") for sex in frame["sex"]], dtype=dtype)

    with pytest.raises(ModelError, match=r"whole numbers of at most 2\*\*53.*subtract or divide"):
        estimate(model, DOMAIN, ROWS, output="value", threshold=0.5)
    fits = estimate(lambda frame: model(frame) - 2**60, DOMAIN, ROWS, output="value", threshold=0.5)
    assert fits.value == 1.0


@pytest.mark.parametrize(
    ("low", "high", "threshold", "is_said"),
    [
        (1.0, 1.1, 0.1, True),
        (0.2, 0.3, 0.1, True),
        (1.0, 1.5, 0.5, False),
        (1.0, 1.2, 0.1, False),
        (2.0**55, 2.0**55, 1, True),
    ],
)
@pytest.mark.parametrize("population", ["domain", ROWS], ids=["domain", "rows"])
def test_gaps_at_the_rounding_of_a_threshold_are_said(low, high, threshold, is_said, population):
    def model(frame):
        return np.where(frame["sex"] == "M", high, low)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        share = estimate(model, DOMAIN, population, output="value", threshold=threshold)
    assert (high - low > threshold) == bool(share.hits)  # as it is computed
    assert ("at-threshold" in dict(share.health)) == is_said


def test_who_has_no_known_sensitive_value_is_not_asked_about():
    """A model may refuse missing values; those rows are left out of the observed rates too."""
    rows = ROWS.assign(sex=["F", "M", None, "M"] * 10)

    def model(frame):
        assert not frame["sex"].isna().any()
        return np.where((frame["sex"] == "M") & (frame["age"] > 30), "yes", "no")

    done = fairprobe.audit(
        model,
        rows,
        sensitive=["sex"],
        favourable="yes",
        selfcheck=False,
        populations=["rows"],
        search_cases=5,
        max_inputs=200,
    )
    assert {each["value"]: each["n"] for each in done.content["impact"]} == {"F": 10, "M": 20}
