"""Recipes: the paper's schedule, the names, and the steps of a search."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairprobe.errors import SettingError
from fairprobe.retraining.recipes import (
    AUTO,
    PARTS,
    Recipe,
    checked_augment,
    checked_parts,
    first_tries,
    neighbours,
    schedule,
)

SEEDS = st.integers(0, 2**63)
NAMES = [parts for n in (1, 2, 3) for parts in itertools.combinations(PARTS, n)]


def percents(seed):
    return [recipe.percent for recipe in schedule(("case",), np.random.default_rng(seed))]


@given(SEEDS)
def test_the_schedule_is_the_papers(seed):
    drawn = percents(seed)
    assert len(drawn) in (6, 7)
    for i, percent in enumerate(drawn, start=2):
        assert 2 ** (i - 2) <= percent <= min(100, 2 ** (i - 1))


@given(st.sampled_from(NAMES).flatmap(lambda parts: st.permutations(parts)))
def test_names_may_be_joined_in_any_order(parts):
    parsed = checked_parts("+".join(parts))
    assert set(parsed) == set(parts)
    assert list(parsed) == sorted(parsed, key=PARTS.index)
    assert checked_parts(Recipe(parsed, 1.0).augment) == parsed


@pytest.mark.parametrize("name", ["", "+", "twin", "twins+", "twins+twins", "case, flip", "auto+flip", "Case"])
def test_other_names_are_refused(name):
    with pytest.raises(SettingError, match="must be auto, or case, twins, flip, linked or several joined by") as error:
        checked_augment(name)
    assert repr(name) in str(error.value)


def test_several_augmentations():
    assert checked_augment("auto") == [checked_parts(name) for name in AUTO]
    assert checked_augment(["flip+twins", "case", "twins+flip"]) == [("twins", "flip"), ("case",)]
    with pytest.raises(SettingError, match="at least, got none"):
        checked_augment([])
    with pytest.raises(SettingError, match="got 'auto'"):
        checked_augment(["auto", "flip"])


@pytest.mark.parametrize("parts", NAMES)
def test_a_search_comes_to_an_end_and_tries_nothing_twice(parts):
    reached, waiting = set(), first_tries([parts])
    while waiting:
        recipe = waiting.pop()
        if recipe not in reached:
            reached.add(recipe)
            waiting += neighbours(recipe)
    assert 3 <= len(reached) <= 100
    tried = np.array([[recipe.percent, recipe.flipped, recipe.copies] for recipe in reached])
    near = np.isclose(tried[:, None], tried[None], rtol=1e-6).all(axis=2)
    assert near.sum() == len(tried), "two recipes differ by rounding alone"
