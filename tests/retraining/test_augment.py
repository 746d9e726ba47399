"""Augmenting: what a round's rows are, by its recipe."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted import augmenter_of

from chance import SURPRISING, p_if_uniform
from fairprobe import Category, Domain, Integer, Ordinal, Real
from fairprobe.retraining.cases import CasePool
from fairprobe.retraining.labels import by_function
from fairprobe.retraining.parts import LabelledRows
from fairprobe.retraining.recipes import Recipe
from random_domains import domains

CLASSES = np.array(["high", "low", "mid"])
PARTS = [("case",), ("twins",), ("flip",), ("case", "twins"), ("twins", "flip"), ("case", "twins", "flip")]


class Setting:
    """Training rows, cases, and labels that are some function of an input."""

    def __init__(self, domain, n_rows, n_cases, seed, weights=False):
        rng = np.random.default_rng(seed)
        self.domain = domain
        self.codes = domain.sample_codes(n_rows, rng)
        self.labels = rng.permutation(np.resize(CLASSES, n_rows))
        self.rows = LabelledRows(domain.decode(self.codes), self.labels, rng.random(n_rows) if weights else None)
        self.cases = distinct(domain, domain.sample_codes(n_cases, rng))
        self.key = rng.integers(1, 1000, len(domain.names))
        self.augmenter = augmenter_of(domain, self.rows)
        self.supply = CasePool(by_function(self.label, domain, CLASSES), domain, self.cases)

    def label(self, frame):
        codes = self.domain.encode(frame)
        return CLASSES[(codes @ self.key) // 7 % len(CLASSES)]

    def augmented(self, parts, percent=50.0, copies=1, seed=0):
        rng = np.random.default_rng(seed)
        return self.augmenter.rows(Recipe(parts, percent, percent, copies), self.supply.draw, rng)

    def added(self, parts, percent=50.0, seed=0):
        """The rows added as codes, and their labels."""
        rows = self.augmented(parts, percent, seed=seed)
        n = len(self.rows)
        return self.domain.encode(rows.frame.iloc[n:]), rows.labels[n:]

    def families(self, codes):
        """LabelledRows by family: the sensitive values that are there, in order."""
        domain = self.domain
        together = {}
        for row in codes.tolist():
            key = tuple(row[column] for column in domain.free_columns)
            together.setdefault(key, []).append(tuple(row[column] for column in domain.sensitive_columns))
        return together

    def members(self, key):
        """All inputs of a family, as codes."""
        domain = self.domain
        codes = np.zeros((1, len(domain.names)), dtype=np.int64)
        codes[0, list(domain.free_columns)] = key
        return domain.families.members(codes)


def distinct(domain, codes):
    seen = pd.DataFrame(codes[:, list(domain.free_columns)]).duplicated()
    return codes[~seen.to_numpy()]


@st.composite
def some_setting(draw, weights=False):
    domain = draw(domains(max_parameters=3, max_levels=12, simple=False))
    return Setting(domain, draw(st.integers(6, 30)), draw(st.integers(1, 30)), draw(st.integers(0, 2**32)), weights)


PERCENTS = st.floats(20, 100)  # one row at least
SEEDS = st.integers(0, 2**32)


@settings(max_examples=12)
@given(some_setting(), st.sampled_from(PARTS), PERCENTS, st.sampled_from([1, 2, 4]), SEEDS)
def test_the_original_rows_come_first_and_nothing_is_cumulated(setting, parts, percent, copies, seed):
    n = len(setting.rows)
    before = setting.rows.frame.copy()
    first = setting.augmented(parts, percent, copies, seed)
    again = setting.augmented(parts, percent, copies, seed)
    pd.testing.assert_frame_equal(first.frame, again.frame)
    np.testing.assert_array_equal(first.labels, again.labels)
    pd.testing.assert_frame_equal(setting.rows.frame, before)
    pd.testing.assert_frame_equal(first.frame.iloc[:n], before)
    np.testing.assert_array_equal(first.labels[:n], setting.labels)
    assert first.frame.dtypes.equals(before.dtypes)
    assert len(first.frame) == len(first.labels)
    assert first.weights is None
    block = len(first) // copies
    once = setting.augmented(parts, percent, 1, seed)
    assert len(once) == block
    for copy in range(copies):
        part = slice(copy * block, (copy + 1) * block)
        pd.testing.assert_frame_equal(first.frame.iloc[part].reset_index(drop=True), once.frame)
        np.testing.assert_array_equal(first.labels[part], once.labels)


@settings(max_examples=12)
@given(some_setting(), PERCENTS, SEEDS)
def test_cases(setting, percent, seed):
    codes, labels = setting.added(("case",), percent, seed)
    assert len(codes) == min(len(setting.cases), round(percent / 100 * len(setting.rows)))
    assert (codes >= 0).all()
    free = list(setting.domain.free_columns)
    asked = set(map(tuple, setting.cases[:, free].tolist()))
    drawn = list(map(tuple, codes[:, free].tolist()))
    assert set(drawn) <= asked
    assert len(set(drawn)) == len(drawn), "none is added twice"
    np.testing.assert_array_equal(labels, setting.label(setting.domain.decode(codes)))


def majority(labels, common):
    """The label that most have; where several are level, the most common among the training rows, then the first."""
    counts = Counter(labels)
    most = [label for label in CLASSES.tolist() if counts[label] == max(counts.values())]
    return max(most, key=lambda label: common[label])


@settings(max_examples=12)
@given(some_setting(), PERCENTS, SEEDS)
def test_twins(setting, percent, seed):
    codes, labels = setting.added(("twins",), percent, seed)
    n_families = min(len(setting.cases), round(percent / 100 * len(setting.rows)))
    together = setting.families(codes)
    assert len(together) == n_families
    common = Counter(setting.labels.tolist())
    by_family = {}
    for row, label in zip(codes.tolist(), labels.tolist(), strict=True):
        by_family.setdefault(tuple(row[c] for c in setting.domain.free_columns), set()).add(label)
    for key, combinations in together.items():
        assert sorted(combinations) == list(map(tuple, setting.domain.combinations.tolist()))
        votes = setting.label(setting.domain.decode(setting.members(key))).tolist()
        assert by_family[key] == {majority(votes, common)}


@settings(max_examples=12)
@given(some_setting(weights=True), PERCENTS, SEEDS)
def test_flipped_rows(setting, percent, seed):
    rows = setting.augmented(("flip",), percent, seed=seed)
    n = len(setting.rows)
    domain = setting.domain
    codes = domain.encode(rows.frame.iloc[n:]).tolist()
    # The only draw is which rows are flipped.
    chosen = np.random.default_rng(seed).permutation(n)[: round(percent / 100 * n)]
    expected = [
        (*member.tolist(), setting.labels[place], setting.rows.weights[place])
        for place in chosen
        for member in domain.families.members(setting.codes[place][None])
        if (member != setting.codes[place]).any()
    ]
    got = [(*row, label, weight) for row, label, weight in zip(codes, rows.labels[n:], rows.weights[n:], strict=True)]
    assert Counter(got) == Counter(expected)
    assert len(got) == len(chosen) * (len(domain.combinations) - 1)


# Sensitive values are redrawn


GROUPS = [Integer("x", 0, 99), Integer("z", 0, 99), Category("sex", ["F", "M"]), Integer("race", 0, 4)]
TEN = Domain(GROUPS, ["sex", "race"])


def combination_numbers(codes):
    return codes[:, 2] * 5 + codes[:, 3]


def forbid(rows):
    """No woman of race 0 to 2 with an even x; nobody with z above 90."""
    return ~((rows["sex"] == "F") & (rows["race"] <= 2) & (rows["x"] % 2 == 0)) & (rows["z"] <= 90)


FORBIDDING = Domain(GROUPS, ["sex", "race"], [forbid])


def test_sensitive_values_are_redrawn_evenly_among_those_allowed():
    setting = Setting(FORBIDDING, 4000, 6000, 2)
    codes, _ = setting.added(("case",), 100.0)
    assert FORBIDDING.allows(codes).all()
    even = codes[:, 0] % 2 == 0
    assert p_if_uniform(combination_numbers(codes[even]) - 3, 7) > SURPRISING
    assert p_if_uniform(combination_numbers(codes[~even]), 10) > SURPRISING


@pytest.mark.parametrize("seed", range(2))
def test_twins_that_are_forbidden_are_left_out_and_have_no_vote(seed):
    setting = Setting(FORBIDDING, 200, 150, seed)
    codes, labels = setting.added(("twins",), 60.0, seed)
    assert FORBIDDING.allows(codes).all()
    common = Counter(setting.labels.tolist())
    label_of = dict(zip(map(tuple, codes.tolist()), labels.tolist(), strict=True))
    together = setting.families(codes)
    assert len(together) == 120
    for key in together:
        members = setting.members(key)
        allowed = members[FORBIDDING.allows(members)]
        assert len(allowed) == (7 if key[0] % 2 == 0 else 10)
        expected = majority(setting.label(FORBIDDING.decode(allowed)).tolist(), common)
        assert {label_of[tuple(member)] for member in allowed.tolist()} == {expected}


# Columns stay what they were


def training_frame(n=40):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "job": pd.Categorical(rng.choice(["a", "b", "c"], n), categories=["c", "a", "b", "unused"]),
            "owner": rng.random(n) < 0.5,
            "children": pd.array([None if i % 9 == 0 else i % 4 for i in range(n)], dtype="Int64"),
            "age": rng.integers(20, 60, n).astype("int32"),
            "hours": rng.integers(0, 40, n).astype("float32"),
            "town": pd.array(rng.choice(["x", "y"], n), dtype="str"),
            "school": pd.Categorical(rng.choice(["low", "high"], n), categories=["low", "high"], ordered=True),
            "sex": pd.Categorical(rng.choice(["F", "M"], n), categories=["M", "F"]),
            "married": pd.array(rng.random(n) < 0.5, dtype="boolean"),
        }
    )


OWN = training_frame()
LISTED = Domain(  # other dtypes than those of the frame
    [
        Category("job", ["a", "b", "c"], dtype="object"),
        Category("owner", [False, True], dtype="object"),
        Integer("children", 0, 3, missing=True, dtype="float64"),
        Integer("age", 20, 59, dtype="int64"),
        Real("hours", 0, 40, 1),
        Category("town", ["x", "y"], dtype="object"),
        Ordinal("school", ["low", "high"]),
        Category("sex", ["F", "M"]),
        Category("married", [False, True]),
    ],
    ["sex", "married"],
)


@pytest.mark.parametrize("parts", PARTS, ids="+".join)
@pytest.mark.parametrize("domain", [Domain.from_frame(OWN, ["sex", "married"]), LISTED], ids=["inferred", "listed"])
def test_dtypes_are_those_of_the_training_rows(domain, parts):
    setting = Setting(domain, len(OWN), 30, 0)
    setting.augmenter = augmenter_of(domain, LabelledRows(OWN, setting.labels))
    rows = setting.augmented(parts)
    assert rows.frame.dtypes.to_dict() == OWN.dtypes.to_dict()
    n = len(OWN)
    pd.testing.assert_frame_equal(rows.frame.iloc[:n], OWN)
    added = rows.frame.iloc[n:]
    assert (domain.encode(added) >= 0).all()
    assert not added.drop(columns="children").isna().to_numpy().any()
    if parts == ("case",):
        drawn = domain.decode(setting.supply.draw(20, np.random.default_rng(0))[0])
        for name in ("job", "owner", "age", "hours", "town", "school"):
            assert added[name].tolist() == drawn[name].tolist()
        assert added["children"].isna().tolist() == drawn["children"].isna().tolist()


def no_case(n, rng):
    pytest.fail("no case is needed")


def test_rows_outside_the_domain_are_flipped_as_they_are():
    domain = Domain([Integer("age", 20, 60), Integer("sex", 0, 1)], ["sex"])
    frame = pd.DataFrame({"age": [100, 30, -1], "sex": [0, 9, 1]})
    labels = np.array(["high", "low", "mid"])
    augmenter = augmenter_of(domain, LabelledRows(frame, labels))
    rows = augmenter.rows(Recipe(("flip",), 1.0), no_case, np.random.default_rng(0))
    added = list(zip(rows.frame["age"][3:], rows.frame["sex"][3:], rows.labels[3:], strict=True))
    assert sorted(added) == [(-1, 0, "mid"), (30, 0, "low"), (30, 1, "low"), (100, 1, "high")]
