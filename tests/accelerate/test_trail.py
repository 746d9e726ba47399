"""Inputs that are followed from batch to batch get the model's own labels, however they move."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made import fitted
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from test_random_twins import SEEDS, plain_parameters

from fairprobe import Domain, Integer, Real
from fairprobe.accelerate import compile_twins, known_leaves, trail, two_classes
from fairprobe.model import Asker
from random_domains import domains

DOMAIN = Domain(
    [Integer("s", 0, 1), Integer("a", 0, 99), Real("b", -1, 1, 0.01), Integer("race", 0, 4), Integer("c", 0, 9)],
    sensitive=["s", "race"],
)


def deep_forest(n_trees=20, n=800):
    rng = np.random.default_rng(0)
    rows = DOMAIN.decode(DOMAIN.sample_codes(n, rng)).to_numpy(dtype=np.float64)
    return RandomForestClassifier(n_trees, random_state=0).fit(rows, rng.integers(0, 2, n))


def moved(domain, codes, rng, n_columns):
    """Each input with some of its parameters, the sensitive ones among them, drawn anew or a step away."""
    codes = codes.copy()
    for row in codes:
        for column in rng.integers(0, len(domain.levels), n_columns):
            step = rng.choice([-1, 1, rng.integers(domain.levels[column])])
            row[column] = np.clip(row[column] + step, 0, domain.levels[column] - 1)
    return codes


def check_walk(model, domain, rng, n_inputs=60, n_batches=12, most_columns=2):
    """Every batch is asked about once, in order."""
    twins, asker = compile_twins(model, domain), Asker(model, domain)
    codes = domain.sample_codes(n_inputs, rng)
    for _ in range(n_batches):
        np.testing.assert_array_equal(twins.ask_families(codes), asker.ask_families(codes))
        codes = moved(domain, codes, rng, rng.integers(0, most_columns + 1))
        far = rng.random(n_inputs) < rng.choice([0, 0.1])
        codes[far] = domain.sample_codes(int(far.sum()), rng)
    return twins.evaluator


@given(domains(plain_parameters, n_sensitive=(1, 3)), st.data())
def test_walkers_of_any_domain(domain, data):
    kind = data.draw(st.sampled_from([RandomForestClassifier, ExtraTreesClassifier]))
    model = kind(data.draw(st.integers(11, 30)), random_state=0, max_leaf_nodes=data.draw(st.sampled_from([None, 9])))
    model = fitted(model, domain, data.draw(st.booleans()), n=60, seed=data.draw(SEEDS))
    check_walk(model, domain, np.random.default_rng(data.draw(SEEDS)), n_inputs=20)


@pytest.mark.parametrize("many", [0, 2, 1000], ids=["measured at once", "measured at times", "never measured"])
@pytest.mark.parametrize("most", [known_leaves.MOST, 500], ids=["all known", "forgotten"])
def test_a_deep_forest(monkeypatch, many, most):
    monkeypatch.setattr(trail, "MANY", many)
    monkeypatch.setattr(known_leaves, "MOST", most)
    monkeypatch.setattr(known_leaves, "FIRST", 100)
    evaluator = check_walk(deep_forest(), DOMAIN, np.random.default_rng(1))
    assert evaluator._trail._twins is not None


def test_ties_on_the_way():
    model = deep_forest(n_trees=12, n=60)
    inputs = DOMAIN.decode(DOMAIN.sample_codes(500, np.random.default_rng(2))).to_numpy(dtype=np.float64)
    assert (model.predict_proba(inputs)[:, 1] == 0.5).sum() > 10
    check_walk(model, DOMAIN, np.random.default_rng(2))


def test_walkers_are_not_followed_far(monkeypatch):
    evaluator = check_walk(deep_forest(), DOMAIN, np.random.default_rng(3), most_columns=5)
    assert evaluator._n_walked > 0
    monkeypatch.setattr(trail, "MOST", 100)
    evaluator = check_walk(deep_forest(), DOMAIN, np.random.default_rng(3))
    assert evaluator._trail._batch is None


def test_batches_of_other_sizes_and_other_inputs_in_between(monkeypatch):
    monkeypatch.setattr(two_classes, "FEW_TWINS", 2000)
    model, rng = deep_forest(), np.random.default_rng(4)
    twins, asker = compile_twins(model, DOMAIN), Asker(model, DOMAIN)
    codes = DOMAIN.sample_codes(50, rng)
    for batch in (
        codes,
        moved(DOMAIN, codes, rng, 1),
        codes[:30],
        codes,
        DOMAIN.sample_codes(300, rng),
        codes,
    ):
        np.testing.assert_array_equal(twins.ask_families(batch), asker.ask_families(batch))
        np.testing.assert_array_equal(twins.ask_families(batch), asker.ask_families(batch))


def test_limits_are_where_another_leaf_begins():
    trees = [member.tree_ for member in deep_forest(4).estimators_]
    rng = np.random.default_rng(5)
    codes = DOMAIN.sample_codes(100, rng)
    rows = DOMAIN.decode(codes).to_numpy(dtype=np.float32)
    places = rng.integers(0, len(trees), len(rows))
    found = known_leaves.limits(trees, places, rows)
    assert np.isfinite(found).mean() > 0.3
    for row, place, limits in zip(rows, places, found, strict=True):
        for column, (high, low) in enumerate(limits.reshape(2, -1).T):
            above = np.nextafter(-low, np.float32(np.inf))  # the lowest value that stays
            if np.isfinite(high):
                assert _leaf(trees[place], row, column, high) == _leaf(trees[place], row)
                assert _leaf(trees[place], row, column, np.nextafter(high, np.float32(np.inf))) != _leaf(
                    trees[place], row
                )
            if np.isfinite(low):
                assert _leaf(trees[place], row, column, above) == _leaf(trees[place], row)
                assert _leaf(trees[place], row, column, -low) != _leaf(trees[place], row)


def _leaf(tree, row, column=None, value=None):
    row = row.copy()
    if column is not None:
        row[column] = value
    return tree.apply(row[None])[0]
