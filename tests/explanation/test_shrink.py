from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from small_worlds import WORLDS, World

from fairprobe import Category, Domain, Integer, search
from fairprobe.domain.nearest import Gower, coordinates, nearest_rows
from fairprobe.errors import DataError, SettingError
from fairprobe.explanation.fewest import are_ordered
from fairprobe.explanation.shrinking import shrink
from fairprobe.testing import CountingModel


def brute_force(world, case, row, gower):
    """The fewest differences to the row, and the least distance with so many: one family after the other."""
    ordered = are_ordered(world.domain)

    def may(place, value):
        one, other = row[place], case[place]
        if ordered[place] and gower.last[place] not in (one, other):
            return min(one, other) <= value <= max(one, other)
        return value in (one, other)

    return min(
        (sum(a != b for a, b in zip(key, row, strict=True)), far(gower, key, row))
        for key in world.cases
        if all(may(place, value) for place, value in enumerate(key))
    )


def far(gower, one, other):
    return float(gower.distance(np.array([one]), np.array([other]))[0])


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("seed", range(6))
def test_it_is_minimal(name, seed):
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
    nearest, distances = nearest_rows(world.domain, codes, row_codes)
    assert shrunk.rows.tolist() == rows.index[nearest].tolist()
    assert shrunk.before["distance"].tolist() == pytest.approx(distances.tolist())
    row_keys, case_keys = world.keys_at(row_codes), world.keys_at(codes)
    gower = Gower(world.domain, coordinates(world.domain, row_codes))
    assert shrunk.is_minimal.all()
    for place, key in enumerate(world.keys_of(shrunk.cases)):
        row = row_keys[nearest[place]]
        assert key in world.cases
        assert world.keys_of(shrunk.twins.iloc[[place]]) == [key]
        assert (shrunk.n_changes[place], shrunk.distance[place]) == pytest.approx(
            brute_force(world, case_keys[place], row, gower)
        )
        assert sum(a != b for a, b in zip(key, row, strict=True)) == shrunk.n_changes[place]
    assert world.domain.allows(world.domain.encode(shrunk.cases)).all()
    assert world.domain.allows(world.domain.encode(shrunk.twins)).all()
    assert (world.model(shrunk.cases) == shrunk.outputs["case"]).all()
    assert (world.model(shrunk.twins) == shrunk.outputs["twin"]).all()
    assert (shrunk.outputs["case"] != shrunk.outputs["twin"]).all()


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


CASES = frame([80, 90_000, 70, 0], [41, 5_001, 3, 1], [60, 20_000, 50, 0])
ROW = frame([30, 0, 40, 1]).set_axis([7])


def test_wide_parameters_come_to_the_boundary():
    shrunk = shrink(CASES, both_high, DOMAIN, towards=ROW)
    assert shrunk.cases.to_numpy().tolist() == [[41, 5_001, 40, 1]] * 3
    assert shrunk.rows.tolist() == [7] * 3
    assert shrunk.n_changes.tolist() == [2] * 3
    assert shrunk.before["n_changes"].tolist() == [3] * 3
    assert (shrunk.distance <= shrunk.before["distance"]).all()
    assert shrunk.in_words(1) == ["row 7, with age 30 -> 41, gain 0 -> 5001: sex 1 -> 0 changes True to False"]


def test_it_is_the_same_each_time_and_says_what_it_asked():
    counting = CountingModel(both_high)
    one, other = (shrink(CASES, model, DOMAIN, towards=ROW) for model in (counting, both_high))
    assert counting.n_rows == one.n_queries == other.n_queries
    pd.testing.assert_frame_equal(one.cases, other.cases)
    assert one.summary() == other.summary()


@pytest.mark.parametrize("max_queries", [24, 25, 40, 60, 100, 300, 1_000, 5_000, 50_000])
def test_the_budget_is_kept_and_what_was_reached_holds(max_queries):
    counting = CountingModel(both_high)
    shrunk = shrink(CASES, counting, DOMAIN, towards=ROW, max_queries=max_queries)
    assert counting.n_rows == shrunk.n_queries <= max_queries
    assert shrunk.n_cases == 3
    assert (both_high(shrunk.cases.to_numpy()) != both_high(shrunk.twins.to_numpy())).all()
    assert (shrunk.distance <= shrunk.before["distance"]).all()
    assert (shrunk.n_changes >= 2).all()
    if max_queries < 50:
        assert "ended" in dict(shrunk.health)
        assert not shrunk.is_minimal.any()


def score(X):
    return X[:, 0] / 100 + 0.3 * X[:, 3] * (X[:, 1] > 5_000)


def test_scores_and_their_budget():
    counting = CountingModel(score)
    settings = {"output": "score", "threshold": 0.2, "max_queries": 5_000}
    shrunk = shrink(CASES, counting, DOMAIN, towards=ROW, **settings)
    assert counting.n_rows == shrunk.n_queries <= 5_000
    assert shrunk.n_changes.tolist() == [1] * 3
    assert (shrunk.outputs["case"] - shrunk.outputs["twin"]).abs().tolist() == pytest.approx([0.3] * 3)
    assert shrunk.cases["gain"].tolist() == [5_001] * 3


def test_a_search_has_its_own_domain_and_output():
    found = search(both_high, DOMAIN, max_cases=30, seed=0)
    shrunk = shrink(found, both_high, towards=ROW)
    assert shrunk.n_cases == 30
    assert (shrunk.n_changes == 2).all()
    for wrong in ({"output": "score"}, {"threshold": 0.5}, {"domain": DOMAIN.with_constraints(["age < 80"])}):
        with pytest.raises(SettingError, match="leave it out"):
            shrink(found, both_high, towards=ROW, **wrong)
    assert shrink(found, both_high, DOMAIN, towards=ROW, output="label").n_cases == 30


def test_cases_near_rows_that_lie_outside_the_domain():
    rows = frame([30, 200_000, 40, 1], [35, 6_000, 45, 0])
    found = search(both_high, DOMAIN, start=rows, max_changes=2, max_cases=20, seed=0)
    shrunk = shrink(found, both_high, towards=rows)
    assert shrunk.n_cases == found.n_cases == 20
    assert (shrunk.n_changes == 1).all()
    assert set(shrunk.cases["gain"]) <= {6_000, 200_000}


# Rows


def test_rows_that_cannot_be_used_are_told():
    rows = frame([30, 0, 40, 1], [200, 0, 40, 1], [30, -5, 40, 1]).set_axis(["a", "b", "c"])
    shrunk = shrink(CASES, both_high, DOMAIN, towards=rows)
    assert set(shrunk.rows) == {"a"}
    assert dict(shrunk.health)["rows-outside"].startswith("2 of 3 rows")
    with pytest.raises(DataError, match=r"^towards must have a row whose values are the domain's, got none among 2"):
        shrink(CASES, both_high, DOMAIN, towards=rows.iloc[1:])


def test_a_row_that_is_forbidden_still_gives_the_direction():
    domain = DOMAIN.with_constraints(["age > 35 or gain > 100"])
    shrunk = shrink(CASES, both_high, domain, towards=ROW)
    assert shrunk.cases.to_numpy().tolist() == [[41, 5_001, 40, 1]] * 3


def test_a_row_whose_sensitive_value_is_not_compared():
    parameters = [Integer("age", 0, 50), Category("race", ["x", "y", "z"])]
    domain = Domain(parameters, sensitive={"race": ["x", "y"]})
    rows = pd.DataFrame({"age": [3, 40], "race": ["z", None]})
    cases = pd.DataFrame({"age": [20, 30], "race": ["y", "x"]})
    shrunk = shrink(cases, lambda X: (X["age"] > 9) & (X["race"] == "x"), domain, towards=rows, batch="frame")
    assert shrunk.cases.to_numpy().tolist() == [[10, "y"], [40, "x"]]
    assert shrunk.in_words() == [
        "row 0, as if race y, with age 3 -> 10: race y -> x changes False to True",
        "row 1, as if race x: race x -> y changes True to False",
    ]


def test_a_case_is_shown_as_its_row_where_that_is_allowed():
    domain = DOMAIN.with_constraints(["sex == 0 or hours < 60", "sex == 1 or hours < 60"])
    shrunk = shrink(CASES.assign(hours=5), both_high, domain, towards=ROW)
    assert shrunk.cases["sex"].tolist() == [1] * 3
    assert shrunk.twins["sex"].tolist() == [0] * 3


# Bad input


def test_nothing_to_shrink():
    shrunk = shrink(CASES.iloc[:0], both_high, DOMAIN, towards=ROW)
    assert repr(shrunk) == "Shrunk(no cases to shrink)"
    assert shrunk.n_queries == shrunk.n_cases == len(shrunk.in_words()) == 0
    assert shrunk.summary()["n_changes"] is None
    assert list(shrunk.cases.columns) == NAMES
    assert "no cases to shrink" in shrunk._repr_html_()


def test_cases_that_no_longer_hold_are_counted():
    cases = pd.concat([CASES, frame([20, 0, 40, 0])], ignore_index=True).iloc[[3, 0, 2]]
    shrunk = shrink(cases, both_high, DOMAIN, towards=ROW)
    assert (shrunk.n_cases, shrunk.n_gone) == (2, 1)
    assert shrunk.cases.index.tolist() == [0, 2]
    assert "gone" in dict(shrunk.health)
    gone = shrink(CASES, lambda X: X[:, 0] > 40, DOMAIN, towards=ROW)
    assert repr(gone) == "Shrunk(no cases to shrink, 3 no longer hold)"


def test_a_model_that_answers_anew_each_time():
    rng = np.random.default_rng(0)
    shrunk = shrink(CASES, lambda X: rng.random(len(X)) < 0.5, DOMAIN, towards=ROW)
    assert shrunk.n_cases + shrunk.n_gone == 3
    assert (shrunk.outputs["case"] != shrunk.outputs["twin"]).all()


def test_one_case_and_repeated_labels():
    assert shrink(CASES.iloc[:1], both_high, DOMAIN, towards=ROW).n_cases == 1
    shrunk = shrink(CASES.set_axis([1, 1, 2]), both_high, DOMAIN, towards=pd.concat([ROW, ROW]))
    assert shrunk.cases.index.tolist() == [1, 1, 2]
    assert len(shrunk.in_words(5)) == 3


def test_nothing_but_what_is_sensitive():
    domain = Domain([Integer("sex", 0, 1)], sensitive=["sex"])
    rows = pd.DataFrame({"sex": [1]})
    shrunk = shrink(pd.DataFrame({"sex": [0]}), lambda X: X[:, 0], domain, towards=rows)
    assert (shrunk.n_changes.tolist(), shrunk.is_minimal.tolist()) == ([0], [True])


@pytest.mark.parametrize(
    ("cases", "settings", "words"),
    [
        (CASES.drop(columns="age"), {}, "cases must have a column for every parameter, got none for age"),
        (CASES.assign(age=200), {}, "the cases must be inputs of the domain, got age=200 and the like in 3 of 3"),
        (CASES, {"towards": ROW.drop(columns=["age"])}, "towards must have a column for every parameter, got none for"),
        (CASES, {"towards": ROW.iloc[:0]}, "towards must have one row at least, got an empty frame"),
        (CASES, {"max_queries": 0}, "max_queries must be a whole number of at least 1, got 0"),
        (CASES, {"max_queries": 11}, "max_queries must be at least 24, to ask about 3 cases .* got 11: raise it"),
        (CASES, {"output": "score"}, "needs a threshold"),
        (CASES, {"domain": None}, "domain must be a fairprobe.Domain"),
        (CASES, {"batch": "list"}, "batch must be"),
    ],
)
def test_bad_input(cases, settings, words):
    settings = {"domain": DOMAIN, "towards": ROW, **settings}
    with pytest.raises((DataError, SettingError), match=words):
        shrink(cases, both_high, settings.pop("domain"), **settings)


def test_how_it_shows():
    shrunk = shrink(CASES, both_high, DOMAIN, towards=ROW)
    assert repr(shrunk).startswith("Shrunk(3 cases, 3.0 -> 2.0 differences to a row on average, ")
    assert "<strong>Shrunk</strong>" in shrunk._repr_html_()
    assert shrunk.summary()["n_changes_before"] == 3.0


@pytest.mark.parametrize("max_queries", [20_000, 1_000_000])
def test_no_coordinate_can_come_nearer(max_queries):
    domain = Domain([*(Integer(f"x{i}", 0, 40) for i in range(6)), Integer("sex", 0, 1)], sensitive=["sex"])
    rng = np.random.default_rng(0)
    X = domain.sample(600, seed=0).to_numpy()
    tree = DecisionTreeClassifier(random_state=0).fit(X, rng.integers(0, 2, 600))
    found = search(tree, domain, max_cases=50, seed=0)
    shrunk = shrink(found, tree, towards=domain.sample(5, seed=1), max_queries=max_queries)
    assert "ended" not in dict(shrunk.health)
    rows = domain.sample(5, seed=1).to_numpy()[shrunk.rows]
    for case, row in zip(shrunk.cases.to_numpy(), rows, strict=True):
        for column in range(6):
            between = range(min(row[column], case[column]), max(row[column], case[column]) + 1)
            nearer = np.array([[*case[:column], v, *case[column + 1 : 6]] for v in between if v != case[column]])
            if len(nearer):
                labels = [tree.predict(np.column_stack([nearer, np.full(len(nearer), sex)])) for sex in (0, 1)]
                assert (labels[0] == labels[1]).all()
