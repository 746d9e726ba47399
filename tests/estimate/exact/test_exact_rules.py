"""Trees within text constraints: what is counted from the boxes that rules leave is what enumeration gives."""

from __future__ import annotations

import math

import numpy as np
import pytest
from exact_truth import numbers, training_rows, words
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Domain, breakdown, estimate
from fairprobe.errors import DomainError
from fairprobe.estimate.exact import preprocessing

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
def ruled_domains(draw, *, missing=True, with_words=False):
    """Domains that can be enumerated, with rules that may name anything, sensitive or not."""
    kind = st.sampled_from([numbers, words] if with_words else [numbers])
    n_free, n_sensitive = draw(st.integers(1, 4)), draw(st.integers(1, 2))
    names = [f"x{i}" for i in range(n_free)] + [f"s{i}" for i in range(n_sensitive)]
    parameters = [draw(draw(kind)(name, 3 if name[0] == "s" else 6, missing)) for name in names]
    own = Domain(draw(st.permutations(parameters)), sensitive=draw(st.permutations(names[n_free:])))
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


def as_array(frame):
    return frame.to_numpy(dtype=np.float64, na_value=np.nan)


@given(ruled_domains(), SEEDS, st.sampled_from([None, 2, 4]), st.integers(2, 3))
def test_tree(domain, seed, depth, n_classes):
    X, y = training_rows(domain.without_constraints(), seed, n_classes=n_classes)
    model = DecisionTreeClassifier(max_depth=depth, random_state=seed).fit(as_array(X), y)
    assert_solved(model, domain)


@given(ruled_domains(), SEEDS, st.integers(1, 5), st.sampled_from([1, 2, 4]))
def test_forest(domain, seed, n_trees, depth):
    X, y = training_rows(domain.without_constraints(), seed)
    model = RandomForestClassifier(n_trees, max_depth=depth, max_features=None, random_state=seed).fit(as_array(X), y)
    assert_solved(model, domain)


@settings(max_examples=50)
@given(ruled_domains(missing=False), SEEDS, st.integers(1, 5), st.integers(2, 3))
def test_gradient_boosting(domain, seed, n_stages, n_classes):
    X, y = training_rows(domain.without_constraints(), seed, n_classes=n_classes)
    model = GradientBoostingClassifier(n_estimators=n_stages, learning_rate=0.5, random_state=0).fit(as_array(X), y)
    assert_solved(model, domain)


@settings(max_examples=50)
@given(ruled_domains(with_words=True), SEEDS, st.sampled_from([OneHotEncoder, OrdinalEncoder]))
def test_tree_behind_an_encoder(domain, seed, encoder):
    """An encoder's columns come in another order than the levels, or several for one parameter."""
    X, y = training_rows(domain.without_constraints(), seed)
    columns = make_column_selector(dtype_exclude="number")
    encoded = ColumnTransformer([("words", encoder(), columns)], remainder="passthrough", sparse_threshold=0)
    model = make_pipeline(encoded, DecisionTreeClassifier(random_state=seed)).fit(X, y)
    assert_solved(model, domain)


@settings(max_examples=50)
@given(ruled_domains(), SEEDS)
def test_wide_numbers_are_searched_for_what_matters(domain, seed):
    X, y = training_rows(domain.without_constraints(), seed)
    model = DecisionTreeClassifier(random_state=seed).fit(as_array(X), y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preprocessing, "WIDE", 3)  # above what a sensitive parameter has
        assert_solved(model, domain)
