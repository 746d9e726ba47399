"""The seam of families: members, who of them counts, keys; and a link that changes another column along.

The link is one of `relationship` to `sex`: (Male, Husband) and (Female, Wife) are one family. It goes through search,
estimate, breakdown and compare without any of them knowing of it.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Category, Domain, Integer, Link, breakdown, compare, estimate, search
from fairprobe.estimation.exact import NotSolved, solve
from fairprobe.model import Asker
from fairprobe.retraining.parts import LabelledRows
from fairprobe.retraining.recipes import Augmenter, Recipe
from fairprobe.standins import compile_stand_in
from fairprobe.store import Keys

RELATIONSHIP, SEX = ["Husband", "Wife", "Single"], ["Female", "Male"]
PLAIN = Domain(
    [Integer("age", 20, 29), Category("relationship", RELATIONSHIP), Category("sex", SEX)], sensitive=["sex"]
)


LINKED = PLAIN.with_links([Link("relationship", "sex", [{"Male": "Husband", "Female": "Wife"}])])


def is_allowed(row):
    return (row["relationship"], row["sex"]) not in {("Husband", "Female"), ("Wife", "Male")}


def twin(row):
    """By hand: the other sex, with the other word for a spouse."""
    other = {"Female": "Male", "Male": "Female"}[row["sex"]]
    word = {("Wife", "Male"): "Husband", ("Husband", "Female"): "Wife"}.get((row["relationship"], other))
    return {**row, "sex": other, "relationship": word or row["relationship"]}


INPUTS = [
    {"age": age, "relationship": relationship, "sex": sex}
    for age, relationship, sex in product(range(20, 30), RELATIONSHIP, SEX)
]
ALLOWED = [row for row in INPUTS if is_allowed(row)]


def model(X):
    """Looks at the word alone, and at sex for the young."""
    return ((X["relationship"] == "Husband") | ((X["age"] < 23) & (X["sex"] == "Male"))).to_numpy()


def other_model(X):
    return (X["relationship"] == "Wife").to_numpy() & (X["age"] > 27).to_numpy()


def is_case(row, ask=model):
    first, second = ask(pd.DataFrame([row, twin(row)]))
    return bool(first != second)


def codes_of(rows):
    return LINKED.encode(pd.DataFrame(rows))


def test_members_are_mutual_and_have_one_key():
    codes = codes_of(ALLOWED)
    members = LINKED.families.members(codes).reshape(2, len(codes), -1)
    for place in range(2):
        again = LINKED.families.members(members[place]).reshape(2, len(codes), -1)
        assert np.array_equal(again, members)
    keys = Keys(LINKED).of(codes).ravel()
    assert np.array_equal(keys, Keys(LINKED).of(codes_of([twin(row) for row in ALLOWED])).ravel())
    assert len(set(keys.tolist())) == len(ALLOWED) // 2 == LINKED.n_families


def test_what_does_not_go_together_is_not_allowed():
    assert LINKED.allows(codes_of(INPUTS)).tolist() == [is_allowed(row) for row in INPUTS]
    assert LINKED.allows(LINKED.sample_codes(500, np.random.default_rng(0))).all()


def test_an_input_as_each_of_its_members():
    codes = codes_of(ALLOWED)
    own = LINKED.families.place(codes)
    assert np.array_equal(LINKED.families.member(codes, own), codes)
    twins = LINKED.decode(LINKED.families.member(codes, 1 - own)).to_dict("records")
    assert twins == [twin(row) for row in ALLOWED]


@pytest.mark.parametrize("strategy", ["uniform", "fully-directed", "anchored", "genetic", "guided"])
def test_a_search_compares_the_linked_twins(strategy):
    found = search(model, LINKED, strategy=strategy, max_cases=None, n_walkers=20, n_global=200)
    assert str(found.stop_reason) == "exhausted"
    shown = [(row, twin(row)) for row in found.cases.to_dict("records")]
    assert [pair[1] for pair in shown] == found.twins.to_dict("records")
    assert all(is_case(row) for row, _ in shown)
    assert found.n_cases == sum(map(is_case, ALLOWED)) // 2


@pytest.mark.parametrize("method", ["exact", "sample"])
@pytest.mark.parametrize("population", ["domain", "valid"])
def test_shares_of_the_domain(method, population):
    share = estimate(model, LINKED, population, method=method, n_experiments=40)
    truth = sum(map(is_case, ALLOWED)) / len(ALLOWED)
    assert share.low <= truth <= share.high
    if method == "exact":
        assert (share.n, share.hits) == (len(ALLOWED), sum(map(is_case, ALLOWED)))


def test_shares_of_rows():
    """Off the grid a value stays; a row that breaks the roles is not comparable; a row is judged with its twin."""
    rows = [
        *INPUTS,
        {"age": 21.5, "relationship": "Single", "sex": "Male"},
        {"age": 25, "relationship": "Cousin", "sex": "Male"},
    ]
    share = estimate(model, LINKED, pd.DataFrame(rows))
    comparable = [row for row in rows if is_allowed(row)]
    assert share.n == len(comparable)
    assert share.n_not_comparable == len(rows) - len(comparable)
    assert share.hits == sum(map(is_case, comparable))
    assert breakdown(model, LINKED, pd.DataFrame(rows))["sex"].hits == share.hits


def test_two_models_are_compared():
    comparison = compare(model, other_model, LINKED, pd.DataFrame(ALLOWED))
    only = [(is_case(row), is_case(row, other_model)) for row in ALLOWED]
    assert comparison.only_a == sum(a and not b for a, b in only)
    assert comparison.only_b == sum(b and not a for a, b in only)


def test_training_rows_are_flipped_with_what_changes_along():
    rows = LabelledRows(pd.DataFrame(ALLOWED), np.arange(len(ALLOWED)) % 2)
    made = Augmenter(LINKED, rows, np.array([0, 1]), LINKED).rows(
        Recipe(("flip",), 100.0), lambda n, rng: None, np.random.default_rng(0)
    )
    added = made.frame.iloc[len(ALLOWED) :].to_dict("records")
    assert sorted(map(str, added)) == sorted(str(twin(row)) for row in ALLOWED)


def test_who_can_not_follow_refuses():
    numbers = Domain([Integer("a", 0, 9), Integer("b", 0, 2), Integer("sex", 0, 1)], sensitive=["sex"])
    linked = numbers.with_links([Link("b", "sex", [{0: 1, 1: 0}])])
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 10, 200), rng.integers(0, 3, 200), rng.integers(0, 2, 200)])
    tree = DecisionTreeClassifier(random_state=0).fit(X, rng.integers(0, 2, 200))
    stand_in, asker = compile_stand_in(tree, linked), Asker(tree, linked)
    codes = linked.sample_codes(50, rng)
    assert stand_in is not None
    assert np.array_equal(stand_in.ask_families(codes), asker.ask_families(codes))  # which can
    assert not isinstance(solve(tree, numbers), NotSolved)
    assert isinstance(solve(tree, linked), NotSolved)


def test_constraints_are_evaluated_once_a_batch():
    seen = []

    def rule(X):
        seen.append(len(X))
        return np.ones(len(X), dtype=bool)

    domain = Domain(PLAIN.parameters, ["sex"], constraints=[rule])
    members = domain.families.of(domain.sample_codes(7, np.random.default_rng(0)))
    seen.clear()
    assert members.present.all()
    assert members.sizes.tolist() == [2] * 7
    assert members.head(3).present.all()
    assert seen == [14]
