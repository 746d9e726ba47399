"""Trees within text constraints: what is counted from the boxes that rules leave is what enumeration gives."""

from __future__ import annotations

import math

import numpy as np
import pytest
from exact_truth import HALF, as_array, small_domains, training_rows
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Derived, Domain, Integer, Real, breakdown, estimate
from fairprobe.errors import DomainError
from fairprobe.estimation.exact import solve, solving
from fairprobe.model import tables

SEEDS = st.integers(0, 2**31)


def text(value):
    return repr(value.item() if isinstance(value, np.generic) else value)


def values_of(parameter):
    return parameter.decode(np.arange(parameter.levels - parameter.missing)).tolist()


@st.composite
def leaves(draw, parameters):
    """A comparison of a parameter with a constant, with some values, or with another parameter."""
    one = draw(st.sampled_from(parameters))
    value = text(draw(st.sampled_from(values_of(one))))
    if one.missing and draw(st.integers(0, 3)) == 0:
        return f"{one.name} is missing"
    others = [other for other in parameters if other.is_numeric and other.name != one.name]
    if one.is_numeric and others and draw(st.integers(0, 2)) == 0:
        other = draw(st.sampled_from(others)).name
        sign = draw(st.sampled_from(["<", "<=", "==", "!="]))
        return f"{one.name} {sign} {other}" if draw(st.booleans()) else f"{one.name} + {other} {sign} {value}"
    if draw(st.integers(0, 3)) == 0:
        chosen = draw(st.lists(st.sampled_from(values_of(one)), min_size=1, max_size=3))
        return f"{one.name} in ({', '.join(map(text, chosen))},)"
    signs = ["==", "!=", "<", "<=", ">", ">="] if one.is_numeric else ["==", "!="]
    return f"{one.name} {draw(st.sampled_from(signs))} {value}"


@st.composite
def rules(draw, parameters):
    parts = draw(st.lists(leaves(parameters), min_size=1, max_size=3))
    parts = [f"not ({part})" if draw(st.integers(0, 3)) == 0 else f"({part})" for part in parts]
    return f" {draw(st.sampled_from(['and', 'or', 'or']))} ".join(parts)


@st.composite
def ruled_domains(draw):
    """Domains that can be enumerated, with rules that may name anything, sensitive or not."""
    own = draw(small_domains(least_free=1))
    texts = draw(st.lists(rules(own.parameters), min_size=1, max_size=3))
    try:
        return own.with_constraints(texts)
    except DomainError:
        assume(False)


def figures(share):
    outcomes = None
    if share.outcomes is not None:
        outcomes = {(row, column): n for column in share.outcomes for row, n in share.outcomes[column].items() if n}
    value = None if math.isnan(share.value) else share.value
    return share.n, share.hits, share.n_not_comparable, outcomes, value, share.low, share.high


def assert_solved(model, domain):
    """Solved, and as enumeration has it, for all sensitive parameters and for each set of them."""
    options = {"method": "exact", "n_experiments": 1, "n_samples": 10}
    solved = estimate(model, domain, "valid", exact_limit=0, **options)
    assert solved.method == "exact", solved.detail
    assert "solved for the model's" in solved.detail
    assert figures(solved) == figures(estimate(model, domain, "valid", **options))
    if len(domain.sensitive) > 1:
        sets, truth = (breakdown(model, domain, "valid", exact_limit=limit, **options) for limit in (0, 10**6))
        assert {name: figures(share) for name, share in sets.items()} == {
            name: figures(share) for name, share in truth.items()
        }


@HALF
@given(ruled_domains(), SEEDS, st.sampled_from([None, 2, 4]), st.integers(2, 3), st.booleans())
def test_tree(domain, seed, depth, n_classes, is_wide):
    X, y = training_rows(domain.without_constraints(), seed, n_classes=n_classes)
    model = DecisionTreeClassifier(max_depth=depth, random_state=seed).fit(as_array(X), y)
    with pytest.MonkeyPatch.context() as patch:
        if is_wide:  # numbers are searched for what matters, above what a sensitive parameter has
            patch.setattr(tables, "WIDE", 3)
        assert_solved(model, domain)


@HALF
@given(ruled_domains(), SEEDS, st.integers(1, 5), st.sampled_from([1, 2, 4]))
def test_forest(domain, seed, n_trees, depth):
    X, y = training_rows(domain.without_constraints(), seed)
    model = RandomForestClassifier(n_trees, max_depth=depth, max_features=None, random_state=seed).fit(as_array(X), y)
    assert_solved(model, domain)


# What rules may do


def grown(domain, seed=0, n=2_000, **options):
    X = domain.without_constraints().sample(n, seed=seed)
    y = np.random.default_rng(seed + 1).integers(0, 2, n)  # the seed of the sample would give its first column
    return DecisionTreeClassifier(max_leaf_nodes=60, random_state=0, **options).fit(as_array(X), y)


@pytest.mark.parametrize(
    "rules",
    [
        ["a <= b"],
        ["a != b or s == 0"],
        ["a % 7 == 0 or c > 3"],
        ["a + b + c <= 60", "c < 4 or s == 1"],
        ["c <= 3 or a == b", "d in (1, 5) or s == 0"],
    ],
)
def test_rules_that_leave_many_boxes(rules):
    domain = Domain(
        [Integer("a", 0, 49), Integer("b", 0, 49), Integer("c", 0, 9), Integer("d", 0, 5), Integer("s", 0, 1)], ["s"]
    ).with_constraints(rules)
    model = grown(domain)
    assert 4 in model.tree_.feature
    assert_solved(model, domain)
    # What the tree does not look at is counted, not walked through.
    X = as_array(domain.without_constraints().sample(2_000, seed=0))
    X[:, [1, 2]] = 0
    assert_solved(DecisionTreeClassifier(random_state=0).fit(X, X[:, 0] + 9 * X[:, 4] > 20), domain)


def test_counts_beyond_machine_integers():
    """The same tree with and without a parameter of 10^12 levels that a rule ties to others."""
    parameters = [Integer("a", 0, 9), Integer("b", 0, 9), Integer("s", 0, 1), Real("amount", 0, 999_999, 1e-6)]
    rules = ["a > 3 or b > 3", "s == 0 or a != 5"]
    narrow = Domain(parameters[:3], ["s"], rules)
    wide = Domain([*parameters, Integer("zip", 0, 10**9)], ["s"], [*rules, "amount >= 0.000003 or a == 9"])
    X = np.column_stack([as_array(narrow.without_constraints().sample(500, seed=0)), np.zeros((500, 2))])
    y = X[:, 0] + 3 * X[:, 2] > 4
    less, more = (
        solve(DecisionTreeClassifier(random_state=0).fit(X[:, :n], y), d) for n, d in ((3, narrow), (5, wide))
    )
    n_levels, n_zips = wide["amount"].levels, 10**9 + 1
    # At a == 9 no value of the amount is forbidden, elsewhere three are.
    assert more.n == (less.n * (n_levels - 3) + 10 * 2 * 3) * n_zips > 2**63
    assert more.hits == less.hits * (n_levels - 3) * n_zips
    assert more.n_not_comparable == less.n_not_comparable * (n_levels - 3) * n_zips > 0


def test_a_model_that_takes_no_missing_values_is_solved_where_none_are():
    """Where rules forbid them, that it fails on them is no mistake of the model: it is sampled."""
    domain = Domain([Integer("x", 0, 999, missing=True), Integer("s", 0, 1)], ["s"], ["x is not missing"])
    X = as_array(domain.sample(400, seed=0))
    model = GradientBoostingClassifier(n_estimators=2, random_state=0).fit(X, X[:, 0] + 100 * X[:, 1] > 500)
    share = estimate(model, domain, "valid", method="exact", exact_limit=0, n_experiments=10)
    assert share.method == "sample"
    assert "the model does not take every input, constraints aside" in share.detail
    assert share.n_queries > share.n


# What is not solved


BASE = Domain([Integer("x", 0, 99), Integer("y", 0, 99), Integer("s", 0, 1)], ["s"])


def reason(domain, model=None):
    return solve(model or grown(BASE), domain).reason


DERIVED = Domain([Integer("x", 0, 9), Derived("y", "x", {x: x // 3 for x in range(10)}), Integer("s", 0, 1)], ["s"])
WIDE = Domain([Integer("x", 0, 10**5), Integer("y", 0, 10**5), Integer("s", 0, 1)], ["s"], ["x < y"])


@pytest.mark.parametrize(
    ("domain", "what"),
    [
        (BASE.with_constraints(["x > 3", lambda frame: frame["y"] > 1]), "constraints or links"),
        (WIDE, "constraints or links"),  # rules without a table
        (DERIVED, "derived parameters"),
        (DERIVED.with_constraints(["y > 0"]), "derived parameters"),
    ],
)
def test_what_only_sampling_can_follow(domain, what):
    assert reason(domain) == f"the domain has {what}, which only sampling can follow"


def test_more_boxes_than_allowed(monkeypatch):
    """In one part, or in two together."""
    for rules in (["x <= y"], ["x in (1, 3, 5, 7) or s == 0", "y % 2 == 1 or s == 1"]):
        domain = BASE.with_constraints(rules)
        n = math.prod(len(part.boxes) for part in domain.families.parts(1000))
        monkeypatch.setattr(solving, "MAX_BOXES", n - 1)
        assert reason(domain) == f"the boxes that the constraints leave of the domain exceed the limit of {n - 1}"
