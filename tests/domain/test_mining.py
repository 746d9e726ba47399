"""Rules mined from rows."""

import numpy as np
import pandas as pd
import pytest

import fairprobe
from benchmarks.mining_worlds import mined, proposed, roles_are_found, rules_not_found, without_roles, without_rules
from fairprobe import Category, Domain, Integer, Link, Real, Rule
from fairprobe.domain.constraints import bind
from fairprobe.domain.health import health_of_data
from fairprobe.domain.restrictions import Restrictions
from fairprobe.domain.values import by_quantiles, numbered
from fairprobe.errors import SettingError

N = 3000
RNG = np.random.default_rng(0)
SEX = RNG.choice(["Female", "Male"], N)
AGE = RNG.integers(17, 91, N)
ODD = ["it's", 'say "x"', "back\\slash", "new\nline", "both' and \"", "", " ", "\\", "`tick`", "a\\'b", "=", "#"]


def texts(frame, **settings):
    domain = Domain.from_frame(frame, sensitive=["sex"])
    rules = domain.mine_constraints(frame, **settings)
    assert domain.with_constraints(rules) == domain.with_constraints([rule.text for rule in rules])
    for rule in rules:
        kept = Restrictions(domain.parameters, [bind(rule, domain.parameters)], ()).allows_rows(frame)
        assert rule.n_broken == int((~kept).sum())
    return [rule.text for rule in rules]


@pytest.fixture
def rng():
    return np.random.default_rng(14)


@pytest.fixture(scope="module")
def census():
    return fairprobe.datasets.load_census(encoded=False, split="train")[0]


def test_the_rules_of_the_census(census):
    domain = Domain.from_frame(census, sensitive=["sex"])
    rules = {rule.text: rule for rule in domain.mine_constraints(census)}
    assert len(rules) <= 15
    married = "`marital-status` in ('Married-AF-spouse', 'Married-civ-spouse')"
    for text, support, n_broken in [
        ("`capital-gain` == 0 or `capital-loss` == 0", 2712, 0),
        (f"relationship not in ('Husband', 'Wife') or {married}", 14761, 0),
        ("relationship != 'Husband' or sex == 'Male'", 13193, 1),
        ("relationship != 'Wife' or sex == 'Female'", 1568, 2),
        ("workclass is not missing or occupation is missing", 1836, 0),
    ]:
        assert (rules[text].support, rules[text].n_broken) == (support, n_broken)
    assert rules["relationship != 'Husband' or sex == 'Male'"].expected == pytest.approx(4364.17, abs=0.01)
    [follows] = [rule for rule in rules.values() if rule.derived is not None]
    assert (follows.derived.name, follows.derived.source) == ("education-num", "education")
    assert follows.derived.mapping["Bachelors"] == 13
    assert not [text for text in rules if "education-num" in text and text != follows.text]
    assert [bool(rule.names & {"sex"}) for rule in rules.values()] == [False] * (len(rules) - 2) + [True] * 2


@pytest.mark.parametrize("seed", range(6))
def test_planted_rules_are_found(seed):
    assert rules_not_found(seed) == []


@pytest.mark.parametrize("seed", range(12))
def test_data_without_rules_get_none(seed):
    assert mined(without_rules(seed)) == []


@pytest.mark.slow
def test_planted_rules_are_found_in_100_data_sets_and_none_in_95_without():
    assert [seed for seed in range(100) if rules_not_found(seed)] == []
    assert sum(bool(mined(without_rules(seed))) for seed in range(100)) <= 5


def test_a_few_rows_may_break_a_rule_and_are_counted(rng):
    kind = rng.choice(list("abcde"), N)
    colour = np.where(kind == "a", "red", rng.choice(["red", "green", "blue"], N))
    colour[np.flatnonzero(kind == "a")[:1]] = "green"
    frame = pd.DataFrame({"sex": SEX, "kind": kind, "colour": colour})
    assert texts(frame) == ["kind != 'a' or colour == 'red'"]
    [rule] = Domain.from_frame(frame, sensitive=["sex"]).mine_constraints(frame)
    assert rule.n_broken == 1
    assert rule.words().endswith("expected to break it by chance, 1 does")
    assert texts(frame, tolerance=0.0) == ["kind != 'a' or colour != 'blue'"]


def test_a_rule_that_others_imply_is_left_out(rng):
    a, b, c = (rng.random(N) < 0.5 for _ in range(3))
    frame = pd.DataFrame({"sex": SEX, "a": a, "b": a | b, "c": a | b | c})
    assert sorted(texts(frame)) == ["b or a == False", "c or b == False"]


def test_of_two_that_go_one_to_one_the_names_are_the_source(rng):
    level = rng.integers(0, 6, N)
    frame = pd.DataFrame({"level": level, "grade": [f"grade {each}" for each in level], "sex": SEX})
    [rule] = Domain.from_frame(frame, sensitive=["sex"]).mine_constraints(frame)
    assert (rule.derived.name, rule.derived.source) == ("level", "grade")
    assert rule.matches(frame).all()
    assert not rule.matches(frame.assign(level=(frame["level"] + 1) % 6)).any()


def test_all_of_a_chain_follows_from_its_beginning(rng):
    town = rng.integers(0, 12, N)
    frame = pd.DataFrame({"sex": SEX, "country": town // 6, "county": town // 3, "town": [f"t{each}" for each in town]})
    domain = Domain.from_frame(frame, sensitive=["sex"])
    rules = domain.mine_constraints(frame)
    assert {(rule.derived.name, rule.derived.source) for rule in rules} == {("country", "town"), ("county", "town")}
    derived = domain.with_derived([rule.derived for rule in rules])
    assert derived.size == 24
    assert (derived.sample(100, seed=0)["county"] // 2 == derived.sample(100, seed=0)["country"]).all()


def test_a_sensitive_parameter_is_never_derived():
    frame = pd.DataFrame({"title": np.where(SEX == "Male", "Mr", "Ms"), "sex": SEX, "age": AGE})
    [rule] = Domain.from_frame(frame, sensitive=["sex"]).mine_constraints(frame)
    assert (rule.derived.name, rule.derived.source) == ("title", "sex")
    finer = pd.DataFrame({"title": np.where(AGE < 40, "young ", "old ") + SEX.astype(object), "sex": SEX, "age": AGE})
    rules = Domain.from_frame(finer, sensitive=["sex"]).mine_constraints(finer)
    assert all(rule.derived is None for rule in rules)
    assert "title not in ('old Female', 'young Female') or sex == 'Female'" in [rule.text for rule in rules]


def test_nothing_is_derived_where_not_all_values_were_seen(rng):
    kind = rng.choice(list("abc"), N)
    frame = pd.DataFrame({"sex": SEX, "kind": kind, "level": pd.Series(kind).map({"a": 1, "b": 5, "c": 9})})
    parameters = [Category("sex", ["Female", "Male"]), Category("kind", list("abcd")), Integer("level", 0, 9)]
    [rule] = Domain(parameters, ["sex"]).mine_constraints(frame)
    assert rule.derived is None
    assert rule.matches({"kind": ["d", "a", "a"], "level": [7, 1, 5]}).tolist() == [True, True, False]


def test_with_derived_refuses_what_cannot_be_derived():
    frame = pd.DataFrame({"sex": SEX, "age": AGE})
    domain = Domain.from_frame(frame, sensitive=["sex"])
    derived = fairprobe.Derived("sex", "age", dict.fromkeys(range(17, 91), "Male"))
    with pytest.raises(fairprobe.errors.DomainError, match="a sensitive parameter must not be derived, got 'sex'"):
        domain.with_derived([derived])
    with pytest.raises(fairprobe.errors.DomainError, match="got 'agee': did you mean 'age'"):
        domain.with_derived([fairprobe.Derived("agee", "sex", {"Female": 1, "Male": 2})])


def test_values_and_names_of_all_kinds_can_be_said(rng):
    value = rng.choice(ODD, N)
    other = np.where(np.isin(value, ODD[:6]), rng.choice(ODD[:3], N), rng.choice(ODD, N))
    found = texts(pd.DataFrame({"sex": SEX, "and": value, "my `col": value, "1 a": other}), min_expected=5)
    assert found
    follows = pd.Series(value).map(dict(zip(ODD, ODD[1:] + ODD[:1], strict=True)))
    [text] = texts(pd.DataFrame({"sex": SEX, "is": value, "it": follows}))
    assert Rule(text).matches({"is": ODD, "it": ODD[1:] + ODD[:1]}).all()


def test_missing_values(rng):
    pays = rng.choice(["yes", "no", "maybe"], N)
    amount = np.where(pays == "no", np.nan, rng.integers(0, 1000, N))
    assert texts(pd.DataFrame({"sex": SEX, "pays": pays, "amount": amount})) == [
        "amount is not missing or pays == 'no'",
        "pays != 'no' or amount is missing",
    ]


def test_rows_with_a_value_outside_the_domain_keep_a_rule(rng):
    kind = rng.choice(list("abcd"), N)
    colour = np.where(kind == "a", "red", rng.choice(["red", "green", "blue"], N))
    frame = pd.DataFrame({"sex": SEX, "kind": kind, "colour": colour})
    domain = Domain.from_frame(frame[(colour != "blue") & (kind != "d")], sensitive=["sex"])
    assert [rule.text for rule in domain.mine_constraints(frame)] == ["kind != 'a' or colour != 'green'"]


def test_columns_that_say_nothing():
    frame = pd.DataFrame({"sex": SEX, "constant": "k", "number": 3, "id": [f"id{i}" for i in range(N)]})
    assert texts(frame) == []
    assert Domain.from_frame(frame, sensitive=["sex"]).mine_constraints(frame.head(2)) == []
    parameters = [
        Category("sex", ["Female", "Male"]),
        Category("a", ["x"], missing=True),
        Real("b", 0, 1, 0.1, missing=True),
    ]
    assert Domain(parameters, ["sex"]).mine_constraints(frame.assign(a=None, b=np.nan)) == []
    assert texts(frame[["sex"]]) == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_expected": 0}, "min_expected must be a number of at least 1, got 0"),
        ({"tolerance": -0.1}, "tolerance must be at least 0 and below 1, got -0.1"),
        ({"error": "low"}, "error must lie between 0 and 1, got 'low'"),
    ],
)
def test_settings_are_made_sure_of(settings, message):
    frame = pd.DataFrame({"sex": SEX, "age": AGE})
    with pytest.raises(SettingError, match=message):
        Domain.from_frame(frame, sensitive=["sex"]).mine_constraints(frame, **settings)


N_LINKED = 2000
RNG_LINKED = np.random.default_rng(1)
F_OR_M = RNG_LINKED.choice(["f", "m"], N_LINKED, p=[0.4, 0.6])
JOB = RNG_LINKED.choice(["baker", "cook", "nurse"], N_LINKED)
TITLE = np.where(F_OR_M == "m", "Mr", "Ms")


def roles(frame, sensitive="sex"):
    domain = Domain.from_frame(frame, sensitive=[sensitive])
    links = domain.propose_links(frame)
    assert len(links) == len(links.evidence) == len(links.words())
    domain.with_links(links)
    return {link.column: list(link.roles.values()) for link in links}


@pytest.mark.parametrize("sensitive", [["sex"], ["race"], ["race", "sex"]])
def test_the_census_needs_husband_and_wife_and_nothing_else(census, sensitive):
    links = Domain.from_frame(census, sensitive=sensitive).propose_links(census)
    spouses = [Link("relationship", "sex", [{"Male": "Husband", "Female": "Wife"}])]
    assert links == (spouses if "sex" in sensitive else [])
    if links:
        said = "13,192 of 13,193 rows with Husband are Male; 1,566 of 1,568 rows with Wife are Female; "
        assert links.evidence[0].startswith(said)


@pytest.mark.parametrize("seed", range(8))
def test_planted_roles_are_found(seed):
    assert roles_are_found(seed)


@pytest.mark.parametrize("seed", range(12))
def test_nothing_is_proposed_where_nothing_is_needed(seed):
    assert proposed(*without_roles(seed)) == []


@pytest.mark.slow
def test_planted_roles_are_found_in_95_of_100_data_sets_and_none_in_95_without():
    assert sum(roles_are_found(seed) for seed in range(100)) >= 95
    assert sum(bool(proposed(*without_roles(seed))) for seed in range(100)) <= 5


def test_of_several_roles_each_is_matched():
    frame = pd.DataFrame({"sex": F_OR_M, "job": JOB, "title": pd.Series(F_OR_M).str.upper() + JOB})
    expected = [{"m": f"M{job}", "f": f"F{job}"} for job in sorted(set(JOB))]
    assert roles(frame) == {"title": expected}


def test_a_value_may_play_under_several_sensitive_values(rng):
    faith = rng.choice(["a", "b", "c"], N_LINKED)
    goes = rng.random(N_LINKED) < 0.5
    house = np.where(goes, np.where(faith == "c", "temple", "church"), "none")
    frame = pd.DataFrame({"faith": faith, "house": house, "weekly": np.where(goes, "yes", "no")})
    [[role]] = roles(frame, "faith").values()
    assert role == {"a": "church", "b": "church", "c": "temple"}


def test_what_is_linked_already_is_not_proposed_again():
    frame = pd.DataFrame({"sex": F_OR_M, "title": TITLE})
    domain = Domain.from_frame(frame, sensitive=["sex"], links=[Link("title", "sex", [{"m": "Mr", "f": "Ms"}])])
    assert domain.propose_links(frame) == []


def test_missing_values_play_no_role():
    sex, title = F_OR_M.astype(object), TITLE.astype(object)
    sex[::7], title[::5] = None, None
    frame = pd.DataFrame({"sex": sex, "title": title, "job": JOB})
    assert roles(frame) == {"title": [{"m": "Mr", "f": "Ms"}]}
    domain = Domain.from_frame(frame, sensitive={"sex": ["f", "m", None]})
    assert [list(link.roles.values()) for link in domain.propose_links(frame)] == [[{"m": "Mr", "f": "Ms"}]]


def test_columns_that_say_nothing_of_links():
    frame = pd.DataFrame({"sex": F_OR_M, "constant": "k", "id": [f"id{i}" for i in range(N_LINKED)]})
    assert roles(frame) == {}
    assert roles(frame[["sex"]]) == {}
    domain = Domain([Category("sex", ["f", "m"]), Category("a", ["x", "y"], missing=True)], ["sex"])
    assert domain.propose_links(frame.assign(a=None)) == []


@pytest.mark.parametrize(
    ("title", "proposal"),
    [
        (TITLE, "title with sex (m Mr, f Ms)"),
        (pd.Series(F_OR_M) + JOB, "title with sex (m mbaker, f fbaker; m mcook, f fcook; m mnurse, f fnurse)"),
    ],
)
def test_a_sensitive_parameter_that_is_determined_gets_a_link_proposed(title, proposal):
    frame = pd.DataFrame({"sex": F_OR_M, "job": JOB, "title": title})
    remarks = [text for name, text in health_of_data(frame, Domain.from_frame(frame, sensitive=["sex"]))]
    assert any(text.endswith(f"a link to read and edit, as propose_links gives it: {proposal}") for text in remarks)


def test_columns_as_numbers():
    assert numbered(pd.Series(["b", None, "a", "b", np.nan])).tolist() == [0, 1, 2, 0, 1]
    assert by_quantiles(np.array([1.0, 2, 3, 4, np.nan]), 2).tolist() == [0, 0, 1, 1, 2]
    assert by_quantiles(np.array([1.0, 2, 2, 4]), 2, includes="low").tolist() == [0, 1, 1, 1]
    assert by_quantiles(np.array([np.nan]), 3).tolist() == [1]
