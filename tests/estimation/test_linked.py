"""Plain and linked shares side by side, which rows they are about, and models with and without the column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Category, Domain, Integer, Link, breakdown, compare, estimate, verdict
from fairprobe.errors import DataError, SettingError

SPOUSE = Link("relationship", "sex", [{"Male": "Husband", "Female": "Wife"}])
PARAMETERS = [
    Category("relationship", ["Husband", "Wife", "Single"]),
    Integer("age", 20, 39),
    Category("race", ["A", "B"]),
    Category("sex", ["Female", "Male"]),
]
DOMAIN = Domain(PARAMETERS, ["sex"], links=[SPOUSE])


def model(X):
    """Looks at the word alone, and at sex for the young."""
    return np.where((X["relationship"] == "Husband") | ((X["age"] < 23) & (X["sex"] == "Male")), "yes", "no")


ROWS = pd.DataFrame(
    {
        "relationship": ["Husband", "Single", "Wife", "Single", "Husband"],
        "age": [30, 22, 35, 30, 21],
        "race": ["A", "B", "A", "A", "B"],
        "sex": ["Male", "Female", "Female", "Male", "Female"],
    },
    index=["u", "v", "w", "x", "y"],
)


def test_both_sides():
    with pytest.raises(SettingError, match="linked needs a domain with links"):
        estimate(model, DOMAIN.without_links(), ROWS, linked=True)
    with pytest.raises(SettingError, match="linked must be True, False or None"):
        estimate(model, DOMAIN, ROWS, linked="yes")
    share = estimate(model, DOMAIN, ROWS)
    assert share.linked == ("relationship",)
    assert (share.hits, share.n, share.n_not_comparable) == (3, 4, 1)  # y is a female husband
    assert share.plain is not None
    assert share.plain.linked == ()
    assert (share.plain.hits, share.plain.n) == (1, 5)
    assert share.confidence == share.plain.confidence == 0.975
    assert ". With sex alone: 20% of the rows (1 of 5) get another outcome" in share.sentence()
    assert share.jsonable()["plain"]["hits"] == 1


def test_by_parameter():
    domain = Domain(PARAMETERS, ["sex", "race"], links=[SPOUSE])
    shares = breakdown(model, domain, ROWS)
    assert {name: share.hits for name, share in shares.items()} == {"sex": 3, "race": 0, "sex x race": 3}
    assert shares["sex"].plain is not None
    assert shares["race"].plain is None  # nothing is linked to it
    assert shares["sex"].confidence == pytest.approx(1 - 0.05 / 2)  # over linked and plain, not over sets
    named = breakdown(model, domain, ROWS, gate="rows plain")["sex"]
    assert named.confidence == named.plain.confidence == pytest.approx(0.95)  # a limit binds one of them alone


# A limit binds both


def shares_of(n_linked, n_plain, n=400):
    """A model that flips so many rows with the link, and so many without."""
    rows = pd.DataFrame({"relationship": "Husband", "age": 20 + np.arange(n) % 20, "race": "A", "sex": "Male"})
    rows["id"] = np.arange(n)
    domain = Domain([*PARAMETERS, Integer("id", 0, n - 1)], ["sex"], links=[SPOUSE])

    def ask(X):
        return ((X["relationship"] == "Wife") & (X["id"] < n_linked)) | ((X["sex"] == "Female") & (X["id"] < n_plain))

    return estimate(ask, domain, rows, batch="frame")


@pytest.mark.parametrize(
    ("n_linked", "n_plain", "gate", "outcome"),
    [
        (0, 0, None, "passed"),
        (100, 0, None, "violated"),
        (100, 0, "plain", "passed"),
        (14, 0, None, "inconclusive"),
        (14, 0, "rows linked", "inconclusive"),
        (100, 90, "plain", "violated"),
    ],
)
def test_a_limit_binds_both_unless_the_gate_names_one(n_linked, n_plain, gate, outcome):
    got = verdict(shares_of(n_linked, n_plain), 0.05, gate=gate)
    assert got.outcome == outcome
    assert got.population == "rows"


# Which rows


def test_which_rows_and_what_becomes_of_them():
    share = estimate(model, DOMAIN, ROWS)
    assert list(share.cases.index) == ["u", "v", "w"]
    pd.testing.assert_frame_equal(share.cases, ROWS.loc[["u", "v", "w"]], check_dtype=False)
    assert share.twins.loc["u", ["relationship", "sex"]].tolist() == ["Wife", "Female"]
    assert share.twins.loc["v", ["relationship", "sex"]].tolist() == ["Single", "Male"]
    assert share.answers.loc["u"].to_dict() == {"sex=Female": "no", "sex=Male": "yes"}
    assert share.rows_in_words(1) == [
        "row u: sex Male -> Female, relationship Husband -> Wife (sex=Female: no, sex=Male: yes)"
    ]
    assert estimate(model, DOMAIN).rows_in_words() == []


# Hidden


def test_models_with_and_without_the_column_are_compared_on_the_same_inputs():
    X = Domain([Integer("a", 0, 9), Integer("b", 0, 1), Integer("sex", 0, 1)], ["sex"]).sample(400, seed=0)
    domain = Domain.from_frame(X, ["sex"], links=[Link("b", "sex", [{0: 0, 1: 1}])])
    y = (X["a"] + 3 * X["sex"] > 5).astype(int)
    with_it = DecisionTreeClassifier(random_state=0).fit(X, y)
    without = DecisionTreeClassifier(random_state=0).fit(X[["a", "b"]], y)
    got = compare(with_it, without, domain, X)
    assert got.plain is not None
    assert got.plain.b.hits == 0  # a column that it does not take changes nothing
    assert got.plain.a.hits > 0
    assert got.plain.n == len(X)


def test_what_is_hidden_is_said():
    domain = Domain(PARAMETERS, ["sex"], links=[SPOUSE], hidden=["sex"])
    share = estimate(lambda X: X["relationship"] == "Husband", domain, ROWS, batch="frame")
    assert (share.n, share.n_not_comparable, share.hits) == (2, 3, 2)
    assert share.plain is None
    assert "without sex, twins are the same to the model or not allowed" in share.sentence()
    assert verdict(share, 0.1).outcome == "violated"
    assert verdict(estimate(lambda X: X["age"] > 3, domain, ROWS, batch="frame"), 0.9).outcome == "inconclusive"


# Weights and groups, wrongly


@pytest.mark.parametrize("name", ["sample_weight", "groups"])
def test_weights_and_groups_are_for_rows(name):
    with pytest.raises(SettingError, match=f"{name} are for a population of rows, got population='domain'"):
        estimate(model, DOMAIN, **{name: [1] * 5})


@pytest.mark.parametrize("options", [{}, {"groups": True}])
def test_rows_are_counted_not_the_labels_of_their_index(options):
    """Frames put together have labels that occur twice: nothing may depend on them."""
    many = pd.concat([ROWS] * 30, ignore_index=True)
    options = {name: pd.Series(np.arange(len(many)) % 40, index=many.index) for name in options}
    expected = estimate(model, DOMAIN, many, **options)
    index = np.arange(len(many)) % 3
    options = {name: values.set_axis(index) for name, values in options.items()}
    share = estimate(model, DOMAIN, many.set_axis(index), **options)
    assert (share.hits, share.n, share.low, share.high) == (expected.hits, expected.n, expected.low, expected.high)
    assert share.cases.index.tolist() == (expected.cases.index % 3).tolist()
    assert share.record.rows.places.tolist() == expected.record.rows.index.tolist()
    assert len(share.to_frame()) == share.hits
    with pytest.raises(DataError, match="groups must have the index of the rows"):
        estimate(model, DOMAIN, many.set_axis(index), groups=pd.Series(np.arange(len(many))))
