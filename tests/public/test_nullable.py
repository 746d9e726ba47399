"""pandas' own missing value, NA, in every column and among what is compared: results are told in words all the same."""

import numpy as np
import pandas as pd
import pytest

import fairprobe
from fairprobe import Domain
from fairprobe.asserting import assert_no_discrimination
from fairprobe.domain.values import are_same

N = 60
ROWS = pd.DataFrame(
    {
        "age": pd.array([20 + i % 40 if i % 7 else None for i in range(N)], dtype="Int64"),
        "job": pd.array([["a", "b", None][i % 3] for i in range(N)], dtype="string"),
        "ok": pd.array([[True, False, None][i % 3] for i in range(N)], dtype="boolean"),
        "pay": pd.array([0.5 * (i % 5) if i % 11 else None for i in range(N)], dtype="Float64"),
        "sex": ["F", "M"] * (N // 2),
    }
)
COMPARED = [["sex"], {"job": ["a", None]}, {"ok": [True, None]}, {"age": [25, None]}]


def model_of(name):
    """Whoever is a man, or has no known value, gets the other outcome."""

    def model(frame):
        return np.where(frame["sex"] == "M" if name == "sex" else frame[name].isna(), "yes", "no")

    return model


@pytest.mark.parametrize("sensitive", COMPARED, ids=str)
def test_what_is_missing_is_told(sensitive):
    domain = Domain.from_frame(ROWS, sensitive=sensitive)
    (name,) = domain.sensitive
    model = model_of(name)
    share = fairprobe.estimate(model, domain, ROWS, batch="frame")
    assert share.hits == N
    for line in share.rows_in_words(N):
        assert line.count("->") == 1  # the sensitive value alone, whatever else is missing
        assert f"{name} " in line
    assert len(share.to_frame()) == N
    found = fairprobe.search(model, domain, start=ROWS, max_cases=20, max_inputs=2000, batch="frame")
    assert all(f"{name} " in line for line in found.in_words(20))
    with pytest.raises(AssertionError, match="violated"):
        assert_no_discrimination(model, ROWS, domain=domain, max_share=0.01, rows_are="held-out", batch="frame")


def test_missing_values_are_the_same_however_they_are_written():
    missing = [None, np.nan, pd.NA, pd.NaT, float("nan")]
    assert all(are_same(one, other) for one in missing for other in missing)
    assert not any(are_same(one, value) or are_same(value, one) for one in missing for value in (0, "", False, "nan"))
    assert are_same(1, 1.0)
