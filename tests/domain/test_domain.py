"""Parameters and domains: what they hold, and every rule for what they take."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from fairprobe import Category, Domain, Integer, Link, Ordinal, Real, Rule
from fairprobe.domain import Derived
from fairprobe.errors import DomainError, FairprobeError, InputError, SettingError
from random_domains import domains, every_input, parameters

SEX = Category("sex", ["Female", "Male"])
AGE = Integer("age", 17, 90)

# Values


@given(parameters())
def test_parameters_are_values(parameter):
    again = pickle.loads(pickle.dumps(parameter))
    assert again == parameter
    assert hash(again) == hash(parameter)
    assert (
        eval(repr(parameter), {"Integer": Integer, "Real": Real, "Category": Category, "Ordinal": Ordinal}) == parameter
    )
    with pytest.raises(AttributeError):
        parameter.name = "other"


@given(domains())
def test_domains_are_values(domain):
    again = pickle.loads(pickle.dumps(domain))
    assert again == domain
    assert hash(again) == hash(domain)
    assert again != Domain(domain.parameters, domain.sensitive, [len])
    assert domain != "domain"


@given(domains(max_parameters=3, max_levels=5))
def test_sizes_by_brute_force(domain):
    everything = every_input(domain)
    assert domain.size == len(everything)
    free = {tuple(row[list(domain.free_columns)]) for row in everything}
    assert domain.n_families == len(free)
    assert len(domain.combinations) == domain.size // domain.n_families
    combinations = list(itertools.product(*(range(domain[name].levels) for name in domain.sensitive)))
    assert [tuple(row) for row in domain.combinations.tolist()] == combinations


def test_sizes_past_64_bits():
    domain = Domain([*(Integer(f"x{i}", 1, 10**9) for i in range(8)), SEX], sensitive=["sex"])
    assert domain.size == 2 * 10**72
    assert domain.n_families == 10**72
    assert "2.0e+72 inputs" in repr(domain)
    assert domain.sample_codes(3, np.random.default_rng(0)).shape == (3, 9)


def test_columns():
    domain = Domain([Integer("a", 0, 1), Integer("b", 0, 2), Integer("c", 0, 3)], sensitive=["c", "a"])
    assert domain.names == ("a", "b", "c")
    assert domain.sensitive == ("c", "a")
    assert domain.sensitive_columns == (2, 0)
    assert domain.free_columns == (1,)
    assert domain.levels.tolist() == [2, 3, 4]
    assert domain["b"] == Integer("b", 0, 2)
    with pytest.raises(DomainError, match="must be one of a, b, c, got 'd'"):
        domain["d"]
    assert repr(domain) == "Domain(3 parameters, 24 inputs, sensitive: c, a)"


def test_lists_become_tuples():
    assert Category("x", ["a", "b"]).values == ("a", "b")
    assert Category("x", np.array([1, 2])).values == (1, 2)
    assert Integer("x", np.int64(0), np.float64(5.0)) == Integer("x", 0, 5)
    assert Integer("x", 0, 9, moves=[-2, 1]).moves == (-2, 1)


def test_values_to_compare_narrow_a_sensitive_parameter():
    domain = Domain([Integer("age", 0, 10**6), Real("rate", 0, 1, 0.1), SEX], sensitive={"age": [30, 60], "sex": None})
    assert domain.size == 2 * 11 * 2
    assert domain.decode(np.array([[0, 0, 0], [1, 0, 0]]))["age"].tolist() == [30, 60]
    assert domain.encode(pd.DataFrame({"age": [60, 61], "rate": [0, 0], "sex": ["Male"] * 2}))[:, 0].tolist() == [1, -1]


# Rules of parameters


RACE = Category("race", ["a", "b"])
BOTH = Domain([AGE, SEX, RACE], sensitive=["sex", "race"])
VALUES = {
    "shift": lambda order: Link("age", "sex", shift={key: {"Male": 1, "Female": 0}[key] for key in order}),
    "whole shift": lambda order: Link("age", "sex", shift={key: {"Male": 1.0, "Female": 0}[key] for key in order}),
    "table": lambda order: Link("race", "sex", {"r": {key: {"Male": "a", "Female": "b"}[key] for key in order}}),
    "per": lambda order: Link("age", "sex", per=1.0 if order[0] == "Male" else 1),
    "derived": lambda order: Derived("y", "sex", {key: {"Male": 1, "Female": 2.0}[key] for key in order}),
    "integer": lambda order: Integer("x", 0, 4, moves=[-1, 1] if order[0] == "Male" else (-1, 1)),
    "real": lambda order: Real("x", 0, 1, 1) if order[0] == "Male" else Real("x", 0.0, 1.0, 1.0),
    "category": lambda order: Category("x", [0, 1] if order[0] == "Male" else (0.0, True), dtype="float64"),
    "rule": lambda order: Rule("age > 3"),
}


@pytest.mark.parametrize("make", VALUES.values(), ids=VALUES)
def test_what_is_equal_has_one_hash(make):
    first, second = make(["Male", "Female"]), make(["Female", "Male"])
    assert first == second
    assert hash(first) == hash(second)
    assert len({first, second}) == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Integer("", 0, 1), "name must be a string that is not empty, got ''"),
        (lambda: Integer("x", 2, 1), "'x': low must be at most high, got low=2, high=1"),
        (lambda: Integer("x", 0.5, 1), "'x': low must be a whole number, got 0.5: use Real"),
        (lambda: Integer("x", 0, 1, 0.5), "'x': step must be a whole number, got 0.5: use Real"),
        (lambda: Integer("x", 0, 1, 0), "'x': step must be above 0, got 0"),
        (lambda: Integer("x", "0", 1), "'x': low must be a number, got '0'"),
        (lambda: Integer("x", False, True), "'x': low must be a number, got False"),
        (lambda: Integer("x", 0, math.inf), "'x': high must be finite, got inf"),
        (lambda: Integer("x", 0, 2**53 + 1), "'x': high must lie within 2\\^53, got 9007199254740993"),
        (lambda: Integer("x", 0, 2**52), "'x': at most 1,000,000,000,000 levels are allowed, got .*: widen the step"),
        (lambda: Real("x", -math.inf, 1, 0.1), "'x': low must be finite, got -inf"),
        (lambda: Real("x", 0, 1, 1e-13), "'x': at most 1,000,000,000,000 levels are allowed, got .*: widen the step"),
        (lambda: Category("x", []), "'x': values must not be empty, got \\[\\]"),
        (lambda: Category("x", "ab"), "'x': values must be a list, got the string 'ab'"),
        (lambda: Category("x", 5), "'x': values must be a list, got 5"),
        (lambda: Category("x", ["a", "b", "a"]), "'x': values must be distinct, got 'a' more than once"),
        (lambda: Category("x", [1, True]), "'x': values must be distinct, got 1 more than once"),
        (lambda: Category("x", ["a", None]), "'x': a missing value is allowed by missing=True, not listed, got None"),
        (lambda: Category("x", [pd.NA]), "'x': a missing value is allowed by missing=True, not listed, got <NA>"),
        (lambda: Category("x", [math.inf]), "'x': values must be finite, got inf"),
        (lambda: Category("x", [(1, 2)]), "'x': values must be strings, numbers or truth values, got \\(1, 2\\)"),
        (lambda: Integer("x", 0, 5, moves=()), "'x': moves must have one below 0 and one above 0 at least, got \\(\\)"),
        (lambda: Integer("x", 0, 5, moves=(-1, 0, 1)), "'x': moves must be whole numbers of steps other than 0"),
        (lambda: Integer("x", 0, 5, moves=3), "'x': moves must be"),
        (lambda: Category("x", [1, 2, 3], moves=(-3, 1)), "'x': a move must change the value, got -3 for 3 levels"),
        (lambda: Integer("x", 0, 300, dtype="int8"), "'x'.*int8"),
        (lambda: Integer("x", 0, 5, missing=True, dtype="int64"), "'x'.*int64"),
        (lambda: Category("x", [False, True], missing=True, dtype="bool"), "'x'.*bool"),
    ],
)
def test_rule_of_a_parameter(make, message):
    with pytest.raises(DomainError, match=message) as caught:
        make()
    assert isinstance(caught.value, (InputError, ValueError, FairprobeError))
    assert caught.value.exit_code == 2


# Rules of domains


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Domain([AGE, SEX], sensitive="sex"), r"a list of names, got the string 'sex': write \['sex'\]"),
        (lambda: Domain([AGE, SEX], sensitive=[]), "must name one parameter at least, got none"),
        (lambda: Domain([AGE, SEX], sensitive=["race"]), "must be one of age, sex; got 'race'"),
        (lambda: Domain([AGE, SEX], sensitive=["sex", "sex"]), "name each parameter once, got sex more than once"),
        (lambda: Domain([AGE, SEX], sensitive=None), "sensitive must be a list of names, got None"),
        (lambda: Domain([], sensitive=["sex"]), "must be one of no parameter; got 'sex'"),
        (lambda: Domain(["age", SEX], sensitive=["sex"]), "an Integer, Real, Category or Ordinal, got 'age'"),
        (lambda: Domain([AGE, AGE, SEX], sensitive=["sex"]), "distinct names, got age more than once"),
        (lambda: Domain([AGE, Category("s", ["a"])], sensitive=["s"]), "two values at least, got one for 's'"),
        (
            lambda: Domain([Integer("x", 0, 1000), SEX], sensitive=["x"]),
            r"1,000 combinations at most, got 1,001: list the values to compare, as in sensitive=\{'x': \[...\]\}",
        ),
        (lambda: Domain([AGE, SEX], sensitive={"age": [20, 91]}), r"must lie in the domain of 'age', got \[91\]"),
        (lambda: Domain([AGE, SEX], sensitive={"age": [20, 20]}), "values must be distinct, got 20 more than once"),
        (lambda: Domain([AGE, SEX], sensitive={"age": 20}), "'age': values must be a list, got 20"),
        (lambda: Domain([AGE, SEX], sensitive={"sex": "Male"}), "values must be a list, got the string 'Male'"),
        (lambda: Domain([AGE, SEX], sensitive=["sex"], constraints=[5]), "must be a text, or a callable .* got 5"),
        (lambda: BOTH.with_sensitive("sex"), "must be a list of names, got the string 'sex'"),
        (lambda: BOTH.with_sensitive(["nope"]), "sensitive must name sensitive parameters, sex, race; got 'nope'"),
        (lambda: BOTH.with_sensitive(["age"]), "sensitive must name sensitive parameters, sex, race; got 'age'"),
        (lambda: BOTH.hiding(["age"]), "hidden must name sensitive parameters, sex, race; got 'age'"),
        (lambda: BOTH.hiding("sex"), "hidden must be a list of names, got 'sex'"),
        (lambda: Derived("y", "sex", {"Male": 1, "Female": ()}), r"strings, numbers or truth values, got \(\)"),
        (lambda: Derived("y", "sex", {"Male": 1}, moves=(-2, 2)), "is derived, so it is not moved"),
    ],
)
def test_rule_of_a_domain(make, message):
    with pytest.raises(DomainError, match=message):
        make()


@pytest.mark.parametrize("n", [-1, 2.5, "3", None, True])
def test_sample_refuses_other_than_whole_numbers(n):
    domain = Domain([AGE, SEX], sensitive=["sex"])
    with pytest.raises(SettingError, match="n must be a whole number of at least 0, got"):
        domain.sample(n)
    with pytest.raises(SettingError, match="seed must be"):
        domain.sample(3, seed=-1)
