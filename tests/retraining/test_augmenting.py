"""Augmenting: recipes, the rows that they add, and the cases that are given or searched for on demand."""

import itertools
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted import Planted, augmented_rows, cells, rows, task_of

from chance import SURPRISING, p_if_uniform
from fairprobe import Category, Domain, Integer
from fairprobe.errors import SettingError
from fairprobe.retraining.augmenting import (
    AUTO,
    CasePool,
    Recipe,
    checked_augment,
    checked_parts,
    distinct,
    first_tries,
    neighbours,
)
from fairprobe.retraining.augmenting import PARTS as KINDS
from fairprobe.retraining.labels import by_vote
from fairprobe.retraining.parts import LabelledRows
from random_domains import domains

CLASSES = np.array(["high", "low", "mid"])
PARTS = [("case",), ("twins",), ("flip",), ("case", "twins"), ("twins", "flip"), ("case", "twins", "flip")]


class Setting:
    """Training rows, cases, and labels that are some function of an input."""

    def __init__(self, domain, n_rows, n_cases, seed):
        rng = np.random.default_rng(seed)
        self.domain = domain
        self.codes = domain.sample_codes(n_rows, rng)
        self.rows = LabelledRows(
            domain, domain.decode(self.codes), rng.permutation(np.resize(CLASSES, n_rows)), rng.random(n_rows)
        )
        self.cases = distinct(domain, domain.sample_codes(n_cases, rng))
        self.key = rng.integers(1, 1000, len(domain.names))
        self.labeller = by_vote([self.label], domain, CLASSES, batch="frame")

    def label(self, frame):
        return CLASSES[(self.domain.encode(frame) @ self.key) // 7 % len(CLASSES)]

    def augmented(self, parts, percent=50.0, copies=1, seed=0):
        recipe = Recipe(parts, percent, percent, copies)
        rng = np.random.default_rng(seed)
        return augmented_rows(self.domain, self.rows, recipe, rng, self.cases, self.labeller)

    def added(self, parts, percent=50.0, seed=0):
        """The rows added as codes, their labels and their weights."""
        rows, n = self.augmented(parts, percent, seed=seed), len(self.rows)
        return self.domain.encode(rows.frame.iloc[n:]), rows.labels[n:], rows.weights[n:]

    def families(self, codes):
        """The free coordinates of inputs."""
        return list(map(tuple, codes[:, list(self.domain.free_columns)].tolist()))


@st.composite
def some_setting(draw):
    domain = draw(domains(max_parameters=3, max_levels=12, simple=False))
    return Setting(domain, draw(st.integers(6, 30)), draw(st.integers(1, 30)), draw(st.integers(0, 2**32)))


PERCENTS, SEEDS = st.floats(20, 100), st.integers(0, 2**32)


@settings(max_examples=12)
@given(some_setting(), st.sampled_from(PARTS), PERCENTS, st.sampled_from([1, 2, 4]), SEEDS)
def test_the_original_rows_come_first_in_every_copy(setting, parts, percent, copies, seed):
    made, once = (setting.augmented(parts, percent, n, seed) for n in (copies, 1))
    pd.testing.assert_frame_equal(made.frame, pd.concat([once.frame] * copies, ignore_index=True))
    np.testing.assert_array_equal(made.labels, np.tile(once.labels, copies))
    n = len(setting.rows)
    pd.testing.assert_frame_equal(once.frame.iloc[:n], setting.rows.frame)
    np.testing.assert_array_equal(once.labels[:n], setting.rows.labels)
    np.testing.assert_array_equal(once.weights[:n], setting.rows.weights)


def check_twins(setting, percent, seed):
    """All allowed members of each family stand there, under the label that most of them have."""
    codes, labels, weights = setting.added(("twins",), percent, seed)
    np.testing.assert_allclose(weights, setting.rows.weights.mean())
    common = Counter(setting.rows.labels.tolist())
    families = setting.families(codes)
    assert len(set(families)) == min(len(setting.cases), round(percent / 100 * len(setting.rows)))
    for family in set(families):
        own = [place for place, each in enumerate(families) if each == family]
        members = setting.domain.families.members(codes[own[:1]])
        members = members[setting.domain.allows(members)]
        assert sorted(codes[own].tolist()) == sorted(members.tolist())
        votes = Counter(setting.label(setting.domain.decode(members)).tolist())
        level = [label for label in CLASSES.tolist() if votes[label] == max(votes.values())]
        assert set(labels[own]) == {max(level, key=lambda label: common[label])}


@settings(max_examples=12)
@given(some_setting(), PERCENTS, SEEDS)
def test_twins(setting, percent, seed):
    check_twins(setting, percent, seed)


@settings(max_examples=12)
@given(some_setting(), PERCENTS, SEEDS)
def test_flipped_rows(setting, percent, seed):
    codes, labels, weights = setting.added(("flip",), percent, seed)
    n, domain = len(setting.rows), setting.domain
    # The only draw is which rows are flipped.
    chosen = np.random.default_rng(seed).permutation(n)[: round(percent / 100 * n)]
    expected = [
        (*member.tolist(), setting.rows.labels[place], setting.rows.weights[place])
        for place in chosen
        for member in domain.families.members(setting.codes[place][None])
        if (member != setting.codes[place]).any()
    ]
    got = [(*row, label, weight) for row, label, weight in zip(codes.tolist(), labels, weights, strict=True)]
    assert Counter(got) == Counter(expected)


GROUPS = [Integer("x", 0, 99), Integer("z", 0, 99), Category("sex", ["F", "M"]), Integer("race", 0, 4)]


def forbid(rows):
    """No woman of race 0 to 2 with an even x; nobody with z above 90."""
    return ~((rows["sex"] == "F") & (rows["race"] <= 2) & (rows["x"] % 2 == 0)) & (rows["z"] <= 90)


FORBIDDING = Domain(GROUPS, ["sex", "race"], [forbid])


def test_sensitive_values_are_redrawn_evenly_among_those_allowed():
    codes, _, _ = Setting(FORBIDDING, 4000, 6000, 2).added(("case",), 100.0)
    assert FORBIDDING.allows(codes).all()
    even, combinations = codes[:, 0] % 2 == 0, codes[:, 2] * 5 + codes[:, 3]
    assert p_if_uniform(combinations[even] - 3, 7) > SURPRISING
    assert p_if_uniform(combinations[~even], 10) > SURPRISING


def test_twins_that_are_forbidden_are_left_out_and_have_no_vote():
    check_twins(Setting(FORBIDDING, 200, 150, 0), 60.0, 0)


def training_frame(n=40):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "job": pd.Categorical(rng.choice(["a", "b", "c"], n), categories=["c", "a", "b", "unused"]),
            "owner": rng.random(n) < 0.5,
            "children": pd.array([None if i % 9 == 0 else i % 4 for i in range(n)], dtype="Int64"),
            "age": rng.integers(20, 60, n).astype("int32"),
            "hours": rng.integers(0, 40, n).astype("float32"),
            "school": pd.Categorical(rng.choice(["low", "high"], n), categories=["low", "high"], ordered=True),
            "sex": pd.Categorical(rng.choice(["F", "M"], n), categories=["M", "F"]),
            "married": pd.array(rng.random(n) < 0.5, dtype="boolean"),
        }
    )


@pytest.mark.parametrize("parts", PARTS, ids="+".join)
def test_dtypes_are_those_of_the_training_rows(parts):
    own = training_frame()
    domain = Domain.from_frame(own, ["sex", "married"])
    setting = Setting(domain, len(own), 30, 0)
    setting.rows = LabelledRows(domain, own, setting.rows.labels)
    rows = setting.augmented(parts)
    assert rows.frame.dtypes.to_dict() == own.dtypes.to_dict()
    assert (domain.encode(rows.frame.iloc[len(own) :]) >= 0).all()
    assert rows.weights is None


def test_rows_outside_the_domain_are_flipped_as_they_are():
    domain = Domain([Integer("age", 20, 60), Integer("sex", 0, 1)], ["sex"])
    rows = LabelledRows(
        domain, pd.DataFrame({"age": [100, 30, -1], "sex": [0, 9, 1]}), np.array(["high", "low", "mid"])
    )
    made = augmented_rows(domain, rows, Recipe(("flip",), 1.0), np.random.default_rng(0))
    added = list(zip(made.frame["age"][3:], made.frame["sex"][3:], made.labels[3:], strict=True))
    assert sorted(added) == [(-1, 0, "mid"), (30, 0, "low"), (30, 1, "low"), (100, 1, "high")]


MODEL = Planted(cells(0, 120))


def pool_of(cases=None):
    return CasePool(task_of(MODEL, *rows(100, 1), cases=cases), MODEL)


def families(codes):
    return set(map(tuple, codes[:, :2].tolist()))


def test_more_are_searched_for_when_they_are_needed():
    x, z = np.nonzero(MODEL.cases)
    given = np.column_stack([x, z, x % 2])[:10]
    pool = pool_of(given)
    np.testing.assert_array_equal(pool.grow(8), given)
    codes = pool.grow(60)
    assert len(codes) == len(families(codes)) == 60
    assert families(given) <= families(codes)
    assert all(MODEL.cases[x, z] for x, z in families(codes))


def test_a_search_ends_when_there_are_no_more_not_when_one_is_found_again():
    """120 families are discriminatory; asked for a few at a time, all are found in the end."""
    pool = pool_of()
    for n in range(5, 125, 5):
        assert len(pool.grow(n)) == min(n, 120)


NAMES = [parts for n in (1, 2, 3) for parts in itertools.combinations(KINDS, n)]


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
