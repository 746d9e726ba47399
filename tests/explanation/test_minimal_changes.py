"""`shrink` and `repair`: brute force says what is minimal, budgets are kept, and bad input is refused."""

import numpy as np
import pandas as pd
import pytest
from small_worlds import WORLDS, World

from fairprobe import Category, Density, Domain, Integer, Real, repair, search, shrink
from fairprobe.domain.nearest import Gower, coordinates, nearest_rows
from fairprobe.errors import DataError, DomainError, SettingError
from fairprobe.explanation.evidence import are_ordered
from fairprobe.testing import CountingModel

NAMES = ["age", "gain", "hours", "sex"]
BOUNDS = [(17, 90), (0, 99_999), (1, 99), (0, 1)]
DOMAIN = Domain([Integer(name, *ends) for name, ends in zip(NAMES, BOUNDS, strict=True)], sensitive=["sex"])


def both_high(X):
    """Of those older than 40 who gain more than 5,000, one sex gets the other label."""
    return (X[:, 0] > 40) & (X[:, 1] > 5_000) & (X[:, 3] == 1)


def frame(*rows):
    return pd.DataFrame(list(rows), columns=NAMES)


CASES = frame([80, 90_000, 70, 0], [41, 5_001, 3, 1], [60, 20_000, 50, 0])
ENDED = frame([80, 5_001, 70, 0], [41, 90_000, 3, 1], [60, 20_000, 50, 0])
ROW = frame([30, 0, 40, 1]).set_axis([7])


def shrink_to_row(cases, model, domain=DOMAIN, **settings):
    return shrink(cases, model, domain, **{"towards": ROW, **settings})


def repaired(cases, model, domain=DOMAIN, **settings):
    return repair(cases, model, domain, **settings)


BOTH = pytest.mark.parametrize("change", [shrink_to_row, repaired])


def least(world, keys, origin, gower):
    """The fewest changes to one of these families, and the least distance with so many."""
    return min(
        (sum(a != b for a, b in zip(key, origin, strict=True)), gower.distance(np.array([key]), np.array([origin]))[0])
        for key in keys
    )


def between(world, row, case, gower):
    """The cases that lie between a row and a case."""
    ordered = are_ordered(world.domain)

    def may(place, value):
        one, other = row[place], case[place]
        if ordered[place] and gower.last[place] not in (one, other):
            return min(one, other) <= value <= max(one, other)
        return value in (one, other)

    return [key for key in world.cases if all(may(place, value) for place, value in enumerate(key))]


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("seed", range(4))
def test_what_is_shrunk_is_minimal(name, seed):
    world = World(name, seed)
    rng = np.random.default_rng(seed)
    places = [place for place, key in enumerate(world.keys) if min(key) >= 0]
    row_codes = world.inputs[rng.choice(places, 4)]
    rows = world.domain.decode(row_codes).set_axis(["p", "q", "r", "s"])
    cases = world.some_cases(40)
    shrunk = shrink(cases, world.model, world.domain, towards=rows, batch="frame")
    assert shrunk.n_cases == len(cases) > 2
    assert shrunk.n_gone == 0
    codes = world.domain.encode(cases)
    nearest, _ = nearest_rows(world.domain, codes, row_codes)
    assert shrunk.rows.tolist() == rows.index[nearest].tolist()
    row_keys, case_keys = world.keys_at(row_codes), world.keys_at(codes)
    gower = Gower(world.domain, coordinates(world.domain, row_codes))
    assert shrunk.is_minimal.all()
    for place, key in enumerate(world.keys_of(shrunk.cases)):
        row = row_keys[nearest[place]]
        assert key in world.cases
        assert world.keys_of(shrunk.twins.iloc[[place]]) == [key]
        expected = least(world, between(world, row, case_keys[place], gower), row, gower)
        assert (shrunk.n_changes[place], shrunk.distance[place]) == pytest.approx(expected)
        assert sum(a != b for a, b in zip(key, row, strict=True)) == shrunk.n_changes[place]
    for end, frame in (("case", shrunk.cases), ("twin", shrunk.twins)):
        assert world.domain.allows(world.domain.encode(frame)).all()
        assert (world.model(frame) == shrunk.outputs[end]).all()
    assert (shrunk.outputs["case"] != shrunk.outputs["twin"]).all()


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize(("seed", "part"), [(0, 0.2), (1, 0.2), (2, 0.9), (3, 0.9)])
def test_what_is_repaired_is_minimal(name, seed, part):
    world = World(name, seed, part)
    cases = world.some_cases(40)
    result = repair(cases, world.model, world.domain, batch="frame")
    assert (result.n_cases, result.n_gone, result.n_unrepaired) == (len(cases), 0, 0)
    assert result.is_minimal.all()
    domain, gower = world.domain, Gower(world.domain)
    sensitive = list(domain.sensitive_columns)
    codes, after = domain.encode(cases), domain.encode(result.repaired)
    for place, (key, own) in enumerate(zip(world.keys_at(after), world.keys_at(codes), strict=True)):
        ends = [
            other
            for other, members in world.families.items()
            if other not in world.cases
            and any(np.array_equal(np.array(each)[sensitive], codes[place, sensitive]) for each, _ in members)
        ]
        assert (result.n_changes[place], result.distance[place]) == pytest.approx(least(world, ends, own, gower))
        assert key in ends
    assert domain.allows(after).all()
    assert np.array_equal(codes[:, sensitive], after[:, sensitive])
    assert result.parameters.sum() == result.n_changes.sum()


def test_wide_parameters_are_shrunk_to_the_boundary():
    shrunk = shrink_to_row(CASES, both_high)
    assert shrunk.cases.to_numpy().tolist() == [[41, 5_001, 40, 1]] * 3
    assert shrunk.rows.tolist() == [7] * 3
    assert shrunk.n_changes.tolist() == [2] * 3
    assert shrunk.changes.tolist() == ["age 30 -> 41, gain 0 -> 5001"] * 3
    said = "3 cases differ from a real row in 2.0 parameters on average. For 2 of them no smaller number gives a case."
    assert shrunk.sentences()[0] == said


def test_wide_parameters_are_repaired_at_the_boundary():
    result = repair(ENDED, both_high, DOMAIN)
    assert result.n_changes.tolist() == [1] * 3
    assert result.is_minimal.all()
    assert result.repaired.to_numpy().tolist() == [[80, 5_000, 70, 0], [40, 90_000, 3, 1], [60, 5_000, 50, 0]]
    assert result.changes.tolist() == ["gain 5001 -> 5000", "age 41 -> 40", "gain 20000 -> 5000"]
    assert result.parameters.to_dict() == {"gain": 2, "age": 1}
    assert result.sentences()[0] == (
        "3 of 3 cases end with 1.0 changes on average, most often of gain, age. For 3 of them no smaller number is "
        "enough."
    )


@BOTH
@pytest.mark.parametrize("max_queries", [1, 11, 24, 100, 20_000])
def test_the_budget_is_kept_and_what_was_reached_holds(change, max_queries):
    counting = CountingModel(both_high)
    result = change(CASES, counting, max_queries=max_queries)
    assert counting.n_rows == result.n_queries <= max_queries
    assert result.n_cases == (3 if max_queries >= 24 else max(max_queries // 16, min(1, max_queries // 8)))
    assert ("fewer-cases" in dict(result.health)) == (result.n_cases < 3)
    if change is shrink_to_row:
        assert (both_high(result.cases.to_numpy()) != both_high(result.twins.to_numpy())).all()
        assert max_queries > 50 or not result.n_cases or "ended" in dict(result.health)
        return
    found = result.distance.notna().to_numpy()
    assert result.n_unrepaired == result.n_cases - found.sum()
    rows = result.repaired[found].to_numpy()
    assert (both_high(rows) == both_high(np.column_stack([rows[:, :3], 1 - rows[:, 3]]))).all()
    assert result.n_changes.isna().tolist() == result.changes.isna().tolist() == (~found).tolist()
    if max_queries == 24:
        assert "No change was found that ends one of 3 cases" in repr(result)
        assert "unrepaired" in dict(result.health)


def test_a_score_comes_to_its_threshold():
    domain = Domain([Real("rate", 0, 1, 0.01), Category("job", ["x", "y"]), Integer("sex", 0, 1)], sensitive=["sex"])
    cases = pd.DataFrame({"rate": [0.6], "job": ["x"], "sex": [1]})
    counting = CountingModel(lambda X: X["rate"].to_numpy() * X["sex"].to_numpy())
    result = repair(cases, counting, domain, output="score", threshold=0.5, batch="frame", max_queries=3_000)
    assert counting.n_rows == result.n_queries <= 3_000
    assert result.changes.tolist() == ["rate 0.6 -> 0.5"]


def test_a_search_has_its_own_domain_and_output():
    found = search(both_high, DOMAIN, max_cases=30, seed=0)
    one, other = (shrink(found, both_high, towards=ROW) for _ in range(2))
    assert one.n_cases == 30
    assert (one.n_changes == 2).all()
    assert one.jsonable() == other.jsonable()
    with pytest.raises(SettingError, match="output is the search's own, 'label', got 'score'"):
        shrink(found, both_high, towards=ROW, output="score")


def test_rows_that_cannot_be_used_are_counted():
    rows = frame([30, 0, 40, 1], [200, 0, 40, 1], [30, -5, 40, 1]).set_axis(["a", "b", "c"])
    shrunk = shrink_to_row(CASES, both_high, towards=rows)
    assert set(shrunk.rows) == {"a"}
    assert dict(shrunk.health)["rows-outside"].startswith("2 of 3 rows")
    with pytest.raises(DataError, match=r"^towards must have a row whose values are the domain's, got none among 2"):
        shrink_to_row(CASES, both_high, towards=rows.iloc[1:])


def test_rows_say_what_is_near():
    rows = frame([20, 0, 40, 1], [22, 99_999, 41, 0], [200, 0, 0, 0])
    result = repair(CASES.iloc[[2]], both_high, DOMAIN, towards=rows)
    # Ages hardly differ among these rows, and gains do: so the gain is nearer.
    assert result.changes.tolist() == ["gain 20000 -> 5000"]
    assert dict(result.health)["rows-outside"].startswith("1 of 3 rows have values")
    # A row that is forbidden still gives the direction.
    domain = DOMAIN.with_constraints(["age > 35 or gain > 100"])
    assert shrink_to_row(CASES, both_high, domain).cases.to_numpy().tolist() == [[41, 5_001, 40, 1]] * 3


def test_a_row_whose_sensitive_value_is_not_compared():
    parameters = [Integer("age", 0, 50), Category("race", ["x", "y", "z"])]
    domain = Domain(parameters, sensitive={"race": ["x", "y"]})
    rows = pd.DataFrame({"age": [3, 40], "race": ["z", None]})
    cases = pd.DataFrame({"age": [20, 30], "race": ["y", "x"]})
    shrunk = shrink(cases, lambda X: (X["age"] > 9) & (X["race"] == "x"), domain, towards=rows, batch="frame")
    assert shrunk.cases.to_numpy().tolist() == [[10, "y"], [40, "x"]]
    assert shrunk.changes.tolist() == ["age 3 -> 10", ""]


def test_a_case_is_shown_as_its_row_where_that_is_allowed():
    domain = DOMAIN.with_constraints(["sex == 0 or hours < 60", "sex == 1 or hours < 60"])
    shrunk = shrink_to_row(CASES.assign(hours=5), both_high, domain)
    assert shrunk.cases["sex"].tolist() == [1] * 3
    assert shrunk.twins["sex"].tolist() == [0] * 3


def test_no_repair_is_less_plausible_than_asked():
    rng = np.random.default_rng(0)
    age = rng.integers(17, 91, 2_000)
    rows = frame(*np.column_stack([age, np.where(age > 40, 20_000, 0), age, rng.integers(0, 2, 2_000)]).tolist())
    density = Density.fit(DOMAIN, rows)
    case = frame([60, 20_000, 60, 0])
    assert density.plausibility(repair(case, both_high, DOMAIN).repaired).iloc[0] < 0.05
    result = repair(case, both_high, DOMAIN, density=density, min_plausibility=0.05)
    assert density.plausibility(result.repaired).iloc[0] >= 0.05
    assert result.n_changes.iloc[0] > 1
    found = search(both_high, DOMAIN, density=density, min_plausibility=0.05, max_cases=10)
    assert (density.plausibility(repair(found, both_high, min_plausibility=0.05).repaired) >= 0.05).all()


def test_with_a_good_outcome_no_repair_refuses_all():
    """A woman of 50 to 59 is refused where a man is not; all are refused from 60 on, which is nearer for some."""

    def model(X):
        return np.where((X[:, 0] >= 60) | ((X[:, 0] >= 50) & (X[:, 1] == 1)), "no", "yes")

    domain = Domain([Integer("age", 17, 90), Integer("sex", 0, 1)], sensitive=["sex"])
    cases = pd.DataFrame({"age": [51, 58], "sex": [1, 0]})
    assert repair(cases, model, domain).repaired["age"].tolist() == [49, 60]
    repaired_well = repair(cases, model, domain, favourable="yes")
    assert repaired_well.repaired["age"].tolist() == [49, 49]
    assert repaired_well.is_minimal.all()
    with pytest.raises(SettingError, match=r"must be an outcome that was seen, one of 'no', 'yes'; got 'Yes'"):
        repair(cases, model, domain, favourable="Yes")

    def score(X):
        return np.where(X[:, 0] >= 60, 0.0, np.where((X[:, 0] >= 50) & (X[:, 1] == 1), 0.2, 0.9))

    settings = {"output": "score", "threshold": 0.3}
    assert repair(cases, score, domain, **settings).repaired["age"].tolist() == [49, 60]
    for good, ages in (("highest", [49, 49]), ("lowest", [60, 60])):
        assert repair(cases, score, domain, favourable=good, **settings).repaired["age"].tolist() == ages


@BOTH
def test_no_cases(change):
    result = change(CASES.iloc[:0], both_high)
    assert result.sentences() == [f"No cases to {'shrink' if change is shrink_to_row else 'repair'}."]
    assert result.n_queries == result.n_cases == len(result.changes) == 0
    assert result.jsonable()["n_changes"] is None
    assert list(result.cases.columns) == NAMES
    assert "No cases to" in result._repr_html_()


@BOTH
def test_cases_that_no_longer_hold_are_counted(change):
    cases = pd.concat([CASES, frame([20, 0, 40, 0])]).set_axis([5, 5, 6, 7])
    result = change(cases, both_high)
    assert (result.n_cases, result.n_gone) == (3, 1)
    assert result.cases.index.tolist() == [5, 5, 6]
    assert len(result.changes) == 3
    assert "cases-gone" in dict(result.health)
    assert "3 no longer hold" in repr(change(CASES, lambda X: X[:, 0] > 40))


@BOTH
@pytest.mark.parametrize(
    ("cases", "settings", "words"),
    [
        (CASES.drop(columns="age"), {}, "cases must have a column for every parameter, got none for age"),
        (CASES.assign(age=200), {}, "the cases must be inputs of the domain, got age=200 and the like in 3 of 3"),
        (CASES, {"towards": ROW.drop(columns=["age"])}, "towards must have a column for every parameter, got none for"),
        (CASES, {"towards": ROW.iloc[:0]}, "towards must have one row at least, got an empty frame"),
        (CASES, {"max_queries": 0}, "max_queries must be a whole number of at least 1, got 0"),
        (CASES, {"max_queries": -1}, "max_queries must be a whole number of at least 1"),
        (CASES, {"output": "score"}, "needs a threshold"),
        (CASES, {"domain": 4}, "domain must be a fairprobe.Domain"),
        (CASES, {"batch": "list"}, "batch must be"),
    ],
)
def test_bad_input(change, cases, settings, words):
    with pytest.raises((DataError, SettingError, DomainError), match=words):
        change(cases, both_high, **settings)


def test_a_bad_density():
    with pytest.raises(SettingError, match="min_plausibility needs a density"):
        repair(CASES, both_high, DOMAIN, min_plausibility=0.1)
    with pytest.raises((DataError, SettingError), match="density must be a"):
        repair(CASES, both_high, DOMAIN, density=3)
