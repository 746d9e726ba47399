"""The reference itself, on worlds small enough to be counted by hand."""

import dataclasses
import itertools
import random

import pytest
from reference import Count, Reference, clopper_pearson, mcnemar, verdict
from world import PARTS, Column, Model, Rule, World, answer, holds, make_world

SEX = Column("sex", "category", ("f", "m"))
RACE = Column("race", "category", ("a", "b", "c"), missing=True)
TITLE = Column("title", "category", ("ms", "mr"))
AGE = Column("age", "integer", (1, 2, 3), bounds=(1, 3, 1))


def a_world(columns, sensitive, says, *, rules=(), rows=(), output="label", threshold=0.0):
    """A world whose model says what a function says."""
    model = Model("table", output, (0, 1), 0, ())
    values = [(*column.values, None, "x") for column in columns]
    model.known.update({row: says(*row) for row in itertools.product(*values)})
    named = tuple(sensitive.items())
    return World(columns, named, rules, model, model, rows, threshold, None, "function", "uniform", 0.95, 0.0, seed=0)


def counted(world, population, names=None):
    count = Reference(world).count(world.model, population, names)
    return count.n, count.hits, count.n_not_comparable, count.n_left_out


def test_all_inputs_of_the_domain_are_counted_constraints_aside():
    rule = Rule("most", (1,), (1,))
    world = a_world((SEX, AGE), {"sex": None}, lambda sex, age: int(sex == "f" and age == 2), rules=(rule,))
    assert counted(world, "domain") == (6, 2, 0, 0)
    assert counted(world, "valid") == (2, 0, 0, 0)


def test_two_that_determine_each_other_are_not_comparable():
    pairs = Rule("pairs", (0, 1), (("f", "ms"), ("m", "mr")))
    world = a_world((SEX, TITLE, AGE), {"sex": None}, lambda sex, *_: int(sex == "f"), rules=(pairs,))
    assert counted(world, "domain") == (12, 12, 0, 0)
    assert counted(world, "valid") == (0, 0, 6, 0)
    assert len(Reference(world).families) == 6
    assert not Reference(world).cases
    assert verdict(Reference(world).count(world.model, "valid"), (0.0, 1.0), 0.5) == "inconclusive"


def test_a_row_is_judged_as_each_of_the_listed_and_not_as_itself():
    rows = (("c", 1), ("a", 1), ("x", 2), (None, 1))
    world = a_world((RACE, AGE), {"race": ("a", "b")}, lambda race, age: int(race in ("c", "x", None)), rows=rows)
    assert counted(world, "rows") == (3, 0, 0, 1)
    assert counted(world, "domain") == (6, 0, 0, 0)
    all_races = dataclasses.replace(world, sensitive=(("race", None),))
    assert counted(all_races, "rows") == (3, 3, 0, 1)
    assert counted(all_races, "domain") == (9, 9, 0, 0)


def test_a_missing_value_is_compared_where_none_is_listed():
    rows = ((None, 1), ("c", 1))
    world = a_world((RACE, AGE), {"race": ("a", None)}, lambda race, age: int(race is None and age == 1), rows=rows)
    assert counted(world, "rows") == (2, 2, 0, 0)
    assert counted(world, "domain") == (6, 2, 0, 0)


def test_a_row_is_a_member_though_a_constraint_forbids_it_and_its_twins_are_not():
    rule = Rule("implies", (0, 1), ("f", 1))  # a woman's age is 1
    rows = (("f", 2), ("m", 2), ("m", 1))
    world = a_world((SEX, AGE), {"sex": None}, lambda sex, age: int(sex == "f"), rules=(rule,), rows=rows)
    assert counted(world, "rows") == (2, 2, 1, 0)


def test_what_is_held_stays_as_it_is_even_if_it_is_not_listed():
    rows = (("f", "c"), ("m", "a"), ("x", "b"))
    listed = {"sex": None, "race": ("a", "b")}
    world = a_world((SEX, RACE), listed, lambda sex, race: int(race == "c" and sex == "f"), rows=rows)
    assert counted(world, "rows", ("sex",)) == (3, 1, 0, 0)
    assert counted(world, "rows", ("race",)) == (3, 0, 0, 0)
    assert counted(world, "rows") == (3, 0, 0, 0)
    assert counted(world, "domain", ("sex",)) == (4, 0, 0, 0)


def test_comparable_goes_by_the_set():
    rule = Rule("implies", (0, 1), ("f", "a"))
    world = a_world((SEX, RACE), {"sex": None, "race": ("a", "b")}, lambda sex, race: int(race == "b"), rules=(rule,))
    assert counted(world, "valid", ("sex",)) == (2, 0, 1, 0)
    assert counted(world, "valid", ("race",)) == (2, 2, 1, 0)
    assert counted(world, "valid") == (3, 3, 0, 0)


def test_a_gap_must_be_above_the_threshold():
    scores = {"a": 0.0, "b": 0.25, "c": 0.5}

    def gap_over(threshold, listed):
        world = a_world(
            (RACE, AGE), {"race": listed}, lambda race, age: scores.get(race, 0.0), output="score", threshold=threshold
        )
        return counted(world, "domain")[1]

    assert gap_over(0.25, ("a", "b")) == 0
    assert gap_over(0.25, None) == 9
    assert gap_over(0.0, ("a", "b")) == 6


def test_probabilities_differ_by_the_class_that_differs_most():
    reference = Reference(a_world((SEX, AGE), {"sex": None}, lambda sex, age: PARTS[sex == "f"], output="proba"))
    assert reference.gap([PARTS[0], PARTS[1]]) == 0.5
    assert reference.gap([PARTS[1], PARTS[2], PARTS[3]]) == 0.5
    assert reference.twin(("m", 1), [("f", 1), ("m", 1)]) == (("f", 1), 0)


def test_the_twin_is_the_first_at_the_other_end():
    scores = {"a": 0.5, "b": 0.0, "c": 0.5}
    world = a_world((RACE, AGE), {"race": None}, lambda race, age: scores.get(race, 0.25), output="score")
    members = [("a", 1), ("b", 1), ("c", 1)]
    assert Reference(world).twin(("b", 1), members) == (("a", 1), None)
    assert Reference(world).twin(("c", 1), members) == (("b", 1), None)
    with pytest.raises(ValueError, match="at no end"):
        Reference(world).twin((None, 1), [*members, (None, 1)])


def test_outcomes_are_counted_over_the_hits():
    world = a_world((SEX, AGE), {"sex": None}, lambda sex, age: int(sex == "f" and age != 3), rows=(("f", 1), ("m", 3)))
    count = Reference(world).count(world.model, "rows")
    assert count.outcomes == {(("f",), 1): 1, (("m",), 0): 1}


def test_bounds_and_tests_have_the_values_of_the_tables():
    assert clopper_pearson(0, 1000, 0.025) == pytest.approx((0.0, 0.0036821), rel=1e-4)
    assert clopper_pearson(10, 10, 0.05) == pytest.approx((0.7411, 1.0), rel=1e-4)
    assert clopper_pearson(0, 0, 0.05) == (0.0, 1.0)
    assert mcnemar(0, 5) == pytest.approx(2 / 32)
    assert mcnemar(3, 3) == mcnemar(0, 0) == 1.0


def test_verdicts():
    assert verdict(Count(100, 1), (0.0005, 0.05), 0.0) == "violated"
    assert verdict(Count(100, 0), (0.0, 0.03), 0.0) == "inconclusive"
    assert verdict(Count(100, 0), (0.0, 0.03), 0.03) == "passed"
    assert verdict(Count(89, 0, n_not_comparable=11), (0.0, 0.03), 0.03) == "inconclusive"
    assert verdict(Count(90, 0, n_left_out=10), (0.0, 0.03), 0.03) == "passed"
    assert verdict(Count(10, 9, n_not_comparable=90), (0.6, 1.0), 0.5) == "violated"


def test_rules():
    assert not holds(Rule("never"), ("f", 1))
    assert holds(Rule("apart", (0, 1)), (None, 1))
    assert not holds(Rule("apart", (0, 1)), (1.0, 1))
    assert holds(Rule("most", (1,), (2,)), ("f", 2))
    assert not holds(Rule("most", (1,), (2,)), ("f", 2.5))
    assert not holds(Rule("pairs", (0, 1), (("f", 1),)), ("f", None))


def test_the_same_seed_makes_the_same_world_and_worlds_have_all_there_is():
    assert make_world(random.Random(5)) == make_world(random.Random(5))
    worlds = [make_world(random.Random(seed)) for seed in range(200)]
    columns = {column.kind for world in worlds for column in world.columns}
    assert columns == {"integer", "real", "category", "ordinal", "derived"}
    rules = {rule.kind for world in worlds for rule in world.rules}
    assert rules == {"pairs", "implies", "most", "apart", "never", "less", "sum"}
    assert any(world.hidden for world in worlds)
    assert any(link.roles for world in worlds for link in world.links)
    assert any(link.shift for world in worlds for link in world.links)
    assert any(link.per for world in worlds for link in world.links)
    assert {world.model.output for world in worlds} == {"label", "score", "value", "proba"}
    assert any(None in listed for world in worlds for _, listed in world.sensitive if listed is not None)
    assert any(world.rules and not Reference(world).valid for world in worlds)
    assert any(Reference(world).valid and not Reference(world).count(world.model, "valid").n for world in worlds)
    assert any(Reference(world).count(world.model, "rows").n_left_out for world in worlds)
    assert any(Reference(world).count(world.model, "rows").n_not_comparable for world in worlds)


def test_a_fitted_model_says_what_its_description_says():
    world = next(world for world in map(make_world, map(random.Random, range(200))) if world.is_fitted)
    assert {answer(world.model, row) for row in Reference(world).inputs} <= set(world.model.classes)
