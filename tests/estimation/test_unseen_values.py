"""Values that no row has: a filter leaves them behind in a categorical, and no model has ever seen them."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import fairprobe
from fairprobe import Category, Domain, Integer, Ordinal, estimate
from fairprobe.errors import HealthWarning


def unknown_is_refused(frame):
    """Whoever is of an unknown group is refused; else the group does not matter."""
    return np.where(frame["group"].astype(object).isin(["Unknown", 3]), "no", "yes")


def people(values, n=60):
    return pd.DataFrame({"age": np.arange(n) % 40 + 20, "group": values})


LETTERS = np.array(["A", "B", "C"] * 20, dtype=object)
FILTERED = {
    "text": lambda: LETTERS,
    "category": lambda: pd.Categorical(LETTERS, categories=["A", "Unknown", "B", "C"]),
    "ordered": lambda: pd.Categorical(LETTERS, categories=["A", "Unknown", "B", "C"], ordered=True),
    "missing": lambda: pd.Categorical([None, *LETTERS[1:]], categories=["A", "B", "C", "Unknown"]),
    "codes": lambda: np.array([1, 2, 4] * 20),
    "nullable codes": lambda: pd.array([1, 2, 4] * 20, dtype="Int64"),
}


@pytest.mark.parametrize("kind", FILTERED)
def test_what_no_row_has_is_not_compared(kind):
    """The same people, however their group is stored, are compared with the groups that there are."""
    rows = people(FILTERED[kind]())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        domain = Domain.from_frame(rows, sensitive=["group"])
    assert any("unseen-values" in str(each.message) for each in caught) == (kind != "text")
    assert len(domain.combinations) == 3
    assert estimate(unknown_is_refused, domain, rows, batch="frame").hits == 0
    assert estimate(unknown_is_refused, domain, batch="frame").hits == 0
    assert domain.decode(domain.encode(rows.dropna()))["group"].dtype == rows["group"].dtype
    how = {"populations": ["rows"], "selfcheck": False, "batch": "frame"}
    content = fairprobe.audit(unknown_is_refused, rows, sensitive=["group"], max_share=0.5, **how).content
    assert content["question"]["sensitive"]["group"] == ([1, 2, 4] if "codes" in kind else ["A", "B", "C"])


@pytest.mark.parametrize("kind", ["category", "ordered"])
def test_what_is_listed_is_compared_and_said(kind):
    rows = people(FILTERED[kind]())
    with pytest.warns(HealthWarning, match="unseen-values: .* 'group' is compared at 'Unknown', which no row has"):
        domain = Domain.from_frame(rows, sensitive={"group": ["A", "Unknown"]})
    assert estimate(unknown_is_refused, domain, rows).value == 1.0
    given = Ordinal if kind == "ordered" else Category
    parameter = given("group", ["A", "Unknown", "B", "C"], dtype="category")
    with pytest.warns(HealthWarning, match="is compared at 'Unknown'"):
        domain = Domain.from_frame(rows, sensitive=["group"], parameters=[parameter])
    assert estimate(unknown_is_refused, domain, rows).value == 1.0


def test_a_domain_says_who_is_compared_whatever_rows_have(tmp_path):
    """By hand, from a file, or inferred from other rows: all that it has is compared."""
    rows = people(FILTERED["category"]())
    by_hand = Domain([Integer("age", 20, 59), Category("group", ["A", "B", "C", "Unknown"])], sensitive=["group"])
    assert estimate(unknown_is_refused, by_hand, rows).value == 1.0
    by_hand.to_toml(tmp_path / "domain.toml")
    assert estimate(unknown_is_refused, Domain.from_toml(tmp_path / "domain.toml"), rows).value == 1.0
    training = people(
        pd.Categorical(np.where(np.arange(60) == 7, "Unknown", LETTERS), categories=rows["group"].cat.categories)
    )
    assert estimate(unknown_is_refused, Domain.from_frame(training, sensitive=["group"]), rows).value == 1.0
