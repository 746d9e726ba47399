from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from small_worlds import WORLDS, World

from fairprobe import Category, Density, Domain, Integer, Real, search
from fairprobe.domain.nearest import Gower
from fairprobe.errors import DataError, DomainError, SettingError
from fairprobe.explanation.repairing import repair
from fairprobe.testing import CountingModel


def brute_force(world, case, gower):
    """The fewest changes that end a case, and the least distance with so many: one family after the other."""
    domain = world.domain
    sensitive = list(domain.sensitive_columns)
    (own,) = world.keys_at(case[None])
    ends = [
        key
        for key, members in world.families.items()
        if key not in world.cases
        and any(np.array_equal(np.array(codes)[sensitive], case[sensitive]) for codes, _ in members)
    ]
    return min(
        (sum(a != b for a, b in zip(key, own, strict=True)), float(gower.distance(np.array([key]), np.array([own]))[0]))
        for key in ends
    )


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("part", [0.2, 0.9])
def test_it_is_minimal(name, seed, part):
    world = World(name, seed, part)
    cases = world.some_cases(40)
    repaired = repair(cases, world.model, world.domain, batch="frame")
    assert (repaired.n_cases, repaired.n_gone, repaired.n_unrepaired) == (len(cases), 0, 0)
    assert repaired.is_minimal.all()
    domain, gower = world.domain, Gower(world.domain)
    codes, after = domain.encode(cases), domain.encode(repaired.repaired)
    for place, key in enumerate(world.keys_at(after)):
        expected = brute_force(world, codes[place], gower)
        assert (repaired.n_changes[place], repaired.distance[place]) == pytest.approx(expected)
        assert key in world.families
        assert key not in world.cases
    assert domain.allows(after).all()
    sensitive = list(domain.sensitive_columns)
    assert np.array_equal(codes[:, sensitive], after[:, sensitive])
    assert repaired.parameters.sum() == repaired.n_changes.sum()


# Wider than brute force reaches

NAMES = ["age", "gain", "hours", "sex"]
DOMAIN = Domain(
    [Integer("age", 17, 90), Integer("gain", 0, 99_999), Integer("hours", 1, 99), Integer("sex", 0, 1)],
    sensitive=["sex"],
)


def both_high(X):
    """Of those older than 40 who gain more than 5,000, one sex gets the other label."""
    return (X[:, 0] > 40) & (X[:, 1] > 5_000) & (X[:, 3] == 1)


def frame(*rows):
    return pd.DataFrame(list(rows), columns=NAMES)


CASES = frame([80, 5_001, 70, 0], [41, 90_000, 3, 1], [60, 20_000, 50, 0])


def test_wide_parameters_come_to_the_boundary():
    repaired = repair(CASES, both_high, DOMAIN)
    assert repaired.n_changes.tolist() == [1] * 3
    assert repaired.is_minimal.all()
    assert repaired.repaired.to_numpy().tolist() == [[80, 5_000, 70, 0], [40, 90_000, 3, 1], [60, 5_000, 50, 0]]
    assert repaired.changes.tolist() == ["gain 5001 -> 5000", "age 41 -> 40", "gain 20000 -> 5000"]
    assert repaired.parameters.to_dict() == {"gain": 2, "age": 1}
    assert repaired.in_words(1) == ["case 0, with gain 5001 -> 5000: it gets False as its twins do"]


@pytest.mark.parametrize(("levels", "is_minimal"), [(12, True), (1_001, False)])
def test_more_changes_than_two(levels, is_minimal):
    domain = Domain([*(Integer(f"x{i}", 0, levels - 1) for i in range(5)), Integer("sex", 0, 1)], sensitive=["sex"])
    middle = levels // 2

    def model(X):
        return (X[:, 5] == 1) & ((X[:, :5] >= middle).sum(axis=1) < 3)

    cases = pd.DataFrame([[0, 1, 2, 3, 4, 1], [0, 0, 0, 0, middle, 0]], columns=domain.names)
    repaired = repair(cases, model, domain)
    assert repaired.n_changes.tolist() == [3, 2]
    assert repaired.is_minimal.tolist() == [is_minimal] * 2
    assert repaired.repaired.iloc[1].tolist().count(middle) == 3
    assert sorted(repaired.repaired.iloc[0].tolist()[:5])[2:] == [middle] * 3
    if is_minimal:
        assert repaired.repaired.iloc[0].tolist() == [0, 1, middle, middle, middle, 1]


@pytest.mark.parametrize("max_queries", [24, 25, 40, 200, 1_000, 20_000])
def test_the_budget_is_kept_and_what_was_reached_holds(max_queries):
    counting = CountingModel(both_high)
    repaired = repair(CASES, counting, DOMAIN, max_queries=max_queries)
    assert counting.n_rows == repaired.n_queries <= max_queries
    found = repaired.distance.notna().to_numpy()
    assert repaired.n_unrepaired == 3 - found.sum()
    rows = repaired.repaired[found].to_numpy()
    twins = np.column_stack([rows[:, :3], 1 - rows[:, 3]])
    assert (both_high(rows) == both_high(twins)).all()
    assert repaired.n_changes.isna().tolist() == repaired.changes.isna().tolist() == (~found).tolist()
    assert len(repaired.in_words()) == found.sum()
    if max_queries < 30:
        assert repaired.n_unrepaired == 3
        assert "none of 3 cases ended" in repr(repaired)
        assert "unrepaired" in dict(repaired.health)


def test_what_cannot_be_ended():
    repaired = repair(CASES, lambda X: X[:, 3], DOMAIN)
    assert repaired.n_unrepaired == 3
    assert repaired.repaired.isna().all(axis=None)
    assert repaired.summary()["n_changes"] is None
    assert "for 3 cases nothing was found" in dict(repaired.health)["unrepaired"]


def test_real_rows_say_what_is_near():
    rows = frame([20, 0, 40, 1], [22, 99_999, 41, 0], [200, 0, 0, 0])
    repaired = repair(CASES.iloc[[2]], both_high, DOMAIN, towards=rows)
    # Ages hardly differ among these rows, and gains do: so the gain is nearer.
    assert repaired.changes.tolist() == ["gain 20000 -> 5000"]
    assert dict(repaired.health)["rows-outside"].startswith("1 of 3 rows have values")


def test_no_repair_is_less_plausible_than_asked():
    rng = np.random.default_rng(0)
    age = rng.integers(17, 91, 2_000)
    rows = frame(*np.column_stack([age, np.where(age > 40, 20_000, 0), age, rng.integers(0, 2, 2_000)]).tolist())
    density = Density.fit(DOMAIN, rows)
    case = frame([60, 20_000, 60, 0])
    assert density.plausibility(repair(case, both_high, DOMAIN).repaired).iloc[0] < 0.05
    repaired = repair(case, both_high, DOMAIN, density=density, min_plausibility=0.05)
    assert density.plausibility(repaired.repaired).iloc[0] >= 0.05
    assert repaired.n_changes.iloc[0] > 1
    found = search(both_high, DOMAIN, density=density, min_plausibility=0.05, max_cases=10)
    assert (density.plausibility(repair(found, both_high, min_plausibility=0.05).repaired) >= 0.05).all()


def test_scores():
    domain = Domain([Real("rate", 0, 1, 0.01), Category("job", ["x", "y"]), Integer("sex", 0, 1)], sensitive=["sex"])
    cases = pd.DataFrame({"rate": [0.6], "job": ["x"], "sex": [1]})

    def score(X):
        return X["rate"].to_numpy() * X["sex"].to_numpy()

    counting = CountingModel(score)
    settings = {"output": "score", "threshold": 0.5, "batch": "frame", "max_queries": 3_000}
    repaired = repair(cases, counting, domain, **settings)
    assert counting.n_rows == repaired.n_queries <= 3_000
    assert repaired.in_words() == ["case 0, with rate 0.6 -> 0.5: the gap is 0.5, not 0.6"]


# Bad input


def test_nothing_to_repair():
    repaired = repair(CASES.iloc[:0], both_high, DOMAIN)
    assert repr(repaired) == "Repaired(no cases to repair)"
    assert repaired.n_queries == repaired.n_cases == repaired.n_unrepaired == 0
    assert len(repaired.changes) == 0


def test_cases_that_no_longer_hold_are_counted():
    cases = pd.concat([CASES, frame([20, 0, 40, 0])]).set_axis([5, 5, 6, 7])
    repaired = repair(cases, both_high, DOMAIN)
    assert (repaired.n_cases, repaired.n_gone) == (3, 1)
    assert repaired.repaired.index.tolist() == [5, 5, 6]
    assert len(repaired.in_words(9)) == 3
    assert repr(repair(CASES, lambda X: X[:, 0], DOMAIN)) == "Repaired(no cases to repair, 3 no longer hold)"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"min_plausibility": 0.1}, "min_plausibility needs a density, got 0.1 without one"),
        ({"density": 3}, "density must be a fairprobe.Density"),
        ({"towards": frame()}, "towards must have one row at least"),
        ({"max_queries": 5}, "max_queries must be at least 24"),
        ({"max_queries": -1}, "max_queries must be a whole number of at least 1"),
        ({"domain": 4}, "domain must be a fairprobe.Domain"),
    ],
)
def test_bad_input(settings, words):
    settings = {"domain": DOMAIN, **settings}
    with pytest.raises((DataError, SettingError, DomainError), match=words):
        repair(CASES, both_high, settings.pop("domain"), **settings)


def test_how_it_shows():
    repaired = repair(CASES, both_high, DOMAIN)
    assert repr(repaired).startswith(
        "Repaired(3 of 3 cases ended by 1.0 changes on average, most often of gain, age, 3"
    )
    assert "<strong>Repaired</strong>" in repaired._repr_html_()
    assert repaired.summary()["parameters"] == {"gain": 2, "age": 1}
    assert repaired.gaps.to_numpy().tolist() == [[1, 0]] * 3
