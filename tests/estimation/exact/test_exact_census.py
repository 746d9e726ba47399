"""The census, encoded and natural: what is counted agrees with random inputs."""

from __future__ import annotations

import numpy as np
import pytest
from exact_truth import assert_sampled
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from chance import SURPRISING
from fairprobe import estimate
from fairprobe.datasets import census_domain, load_census
from fairprobe.estimation.exact import solve

FEW = range(1)
MANY = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20)]


def random_tree(seed):
    """A tree, and which rows to fit it on."""
    rng = np.random.default_rng(seed)
    kind = rng.choice([DecisionTreeClassifier, ExtraTreeClassifier])
    tree = kind(
        random_state=seed,
        max_depth=rng.choice([None, 5, 10, 20]),
        min_samples_leaf=int(rng.choice([1, 2, 10, 50])),
        max_features=rng.choice([None, "sqrt"]),
    )
    return tree, rng.random(32_561) < rng.uniform(0.1, 1)


@pytest.mark.parametrize("seed", [*FEW, *MANY])
def test_random_trees_of_the_encoded_census(seed):
    X, y = load_census()
    tree, rows = random_tree(seed)
    sensitive = [["sex"], ["race"], ["sex", "race"]][seed % 3]
    domain, model = census_domain(sensitive=sensitive), tree.fit(X[rows].to_numpy(), y[rows])
    assert_sampled(solve(model, domain), model, domain, n=200_000, seed=seed)


RULES = [
    "`capital-gain` == 0 or `capital-loss` == 0",
    "relationship != 0 or sex == 1",
    "age > 1 or `marital-status` == 4",
]


@pytest.mark.parametrize("model", [DecisionTreeClassifier(random_state=0), RandomForestClassifier(5, max_depth=4)])
def test_the_encoded_census_within_rules(model):
    """What a rule leaves to one sex alone has no twin, and is counted too."""
    X, y = load_census()
    domain = census_domain().with_constraints(RULES)
    model.set_params(random_state=0).fit(X.to_numpy(), y)
    share = estimate(model, domain, "valid")  # foreseen to take no longer
    assert share.method == "exact"
    assert share.n + share.n_not_comparable == domain.n_valid
    sampled = estimate(model, domain, "valid", method="sample", confidence=1 - SURPRISING)
    assert sampled.low <= share.value <= sampled.high
    # Of six relationships one is for one sex alone: of 11 inputs, one.
    assert share.n_not_comparable * 11 == domain.n_valid
    rows = share.outcomes.div(share.outcomes.sum(axis=1), axis=0)
    assert np.abs(rows - sampled.outcomes.div(sampled.outcomes.sum(axis=1), axis=0)).to_numpy().max() < 0.05


def test_the_natural_census_within_rules():
    """Words in columns of their own, a number of 100,000 levels, and rules of all of them."""
    domain, (X, y) = census_domain(encoded=False), load_census(encoded=False)
    words = [parameter.name for parameter in domain.parameters if not parameter.is_numeric]
    tree = DecisionTreeClassifier(min_samples_leaf=20, random_state=0)
    model = make_pipeline(make_column_transformer((OneHotEncoder(), words), remainder="passthrough"), tree).fit(X, y)
    rules = [
        "`capital-gain` == 0 or `capital-loss` == 0",
        "relationship != 'Husband' or sex == 'Male'",
        "relationship != 'Wife' or sex == 'Female'",
        "relationship not in ('Husband', 'Wife') or `marital-status` in ('Married-civ-spouse', 'Married-AF-spouse')",
    ]
    valid = domain.with_constraints(rules)
    share = estimate(model, valid, "valid", method="exact")
    assert share.method == "exact"
    assert share.n + share.n_not_comparable == valid.n_valid
    sampled = estimate(model, valid, "valid", method="sample", n_experiments=50, confidence=1 - SURPRISING)
    assert sampled.low <= share.value <= sampled.high
