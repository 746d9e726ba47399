"""Parameters and domains: what they hold, and every rule for what they take."""

import itertools
import math
import pickle
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from chance import SURPRISING, p_if_uniform
from fairprobe import Category, Domain, Integer, Ordinal, Real
from fairprobe.domain import Derived
from fairprobe.errors import DataError, DomainError, FairprobeError, InputError, SettingError
from random_domains import domains, every_input, inputs, integers, parameters, reals

SEX = Category("sex", ["Female", "Male"])
AGE = Integer("age", 17, 90)
BOTH = Domain([AGE, SEX, Category("race", ["a", "b"])], sensitive=["sex", "race"])


@given(parameters())
def test_parameters_are_values(parameter):
    again = pickle.loads(pickle.dumps(parameter))
    assert again == parameter
    assert hash(again) == hash(parameter)
    assert eval(repr(parameter), globals()) == parameter
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


def all_codes(parameter):
    return np.arange(parameter.levels)


@given(parameters())
def test_decoded_column_has_the_dtype(parameter):
    domain = Domain([parameter, Integer("s", 0, 1)], sensitive=["s"])
    column = domain.decode(np.column_stack([all_codes(parameter), np.zeros_like(all_codes(parameter))]))["x"]
    assert str(column.dtype) == parameter.dtype
    assert column.isna().sum() == parameter.missing
    if parameter.missing:
        assert column.isna().iloc[-1]


@given(st.data(), domains())
def test_frames_survive_encode_and_decode(data, domain):
    frame = domain.decode(data.draw(inputs(domain)))
    again = domain.decode(domain.encode(frame))
    pd.testing.assert_frame_equal(frame, again)


@given(st.one_of(integers(), reals()))
def test_numbers_are_the_decoded_values(parameter):
    codes = all_codes(parameter)
    values = pd.Series(parameter.decode(codes)).to_numpy(dtype=np.float64, na_value=np.nan)
    np.testing.assert_array_equal(parameter.numbers(codes), values)


@given(parameters())
def test_encode_says_minus_one_outside(parameter):
    if isinstance(parameter, (Integer, Real)):
        outside = [parameter.low - parameter.step, parameter.high + 1.5 * parameter.step, float("inf"), -1e18]
    else:
        outside = ["no such word", 10**10 + 7, 0.123456789e-3]
    assert (parameter.encode(pd.Series(outside, dtype=object)) == -1).all()


@pytest.mark.parametrize("absent", [None, np.nan, pd.NA])
@pytest.mark.parametrize("parameter", [Integer("x", 0, 5), Category("x", ["a", "b"]), Category("x", [False, True])])
def test_a_missing_value_is_outside_unless_it_is_allowed(parameter, absent):
    column = pd.Series([absent], dtype=object)
    assert parameter.encode(column).tolist() == [-1]
    allowed = replace(parameter, missing=True, dtype="")
    assert allowed.encode(column).tolist() == [allowed.levels - 1]


def test_a_value_between_two_steps_is_outside():
    assert Integer("x", 0, 10, 2).encode([0, 1, 2, 3, 10]).tolist() == [0, -1, 1, -1, 5]
    assert Real("x", 0, 1, 0.1).encode([0.1, 0.15, 0.2]).tolist() == [1, -1, 2]


def test_encode_takes_arrays_in_domain_order():
    domain = Domain([Integer("age", 17, 90), Integer("sex", 0, 1)], sensitive=["sex"])
    assert domain.encode(np.array([[17, 1], [90, 0], [91, 0]])).tolist() == [[0, 1], [73, 0], [-1, 0]]
    assert domain.encode([[18.0, 1.0]]).tolist() == [[1, 1]]


@pytest.mark.parametrize("rows", [np.zeros((3, 3)), np.zeros(2), np.zeros((1, 2, 2)), "text"])
def test_encode_refuses_arrays_of_another_shape(rows):
    domain = Domain([Integer("age", 17, 90), Integer("sex", 0, 1)], sensitive=["sex"])
    with pytest.raises(DataError, match="2 columns in domain order, got the shape"):
        domain.encode(rows)


@given(st.integers(-(10**8), 10**8), st.integers(1, 400), st.integers(0, 6), st.sampled_from([1, 2, 5, 25]))
def test_decimal_grids_are_what_people_write(offset, n, decimals, digit):
    """Low, step and high as decimals: all steps are there, the last is high, each is the nearest float."""
    step = Decimal(digit).scaleb(-decimals)
    low = Decimal(offset).scaleb(-decimals)
    high = low + (n - 1) * step
    parameter = Real("x", float(low), float(high), float(step))
    assert parameter.levels == n
    values = parameter.decode(np.arange(n)).tolist()
    assert values == [float(low + k * step) for k in range(n)]


@example(99999999497.0, 503.3125, (2, 1))
@given(
    st.floats(-1e12, 1e12),
    st.floats(1e-9, 1e9),
    st.integers(1, 1000).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 1))),
)
def test_every_step_is_told_apart_or_refused(low, step, size):
    n, code = size
    high = low + (n - 1) * step
    try:
        parameter = Real("x", low, high, step)
    except DomainError:
        return
    assume(code < parameter.levels)
    codes = np.unique([0, code, parameter.levels - 1])
    assert parameter.encode(parameter.decode(codes)).tolist() == codes.tolist()
    assert len(np.unique(parameter.decode(np.arange(parameter.levels)))) == parameter.levels


def test_values_off_by_rounding_alone_are_inside():
    parameter = Real("x", 0, 1, 0.1)
    assert parameter.encode([0.1 + 0.2, 0.7 + 0.1, 1 - 0.9]).tolist() == [3, 8, 1]


N = 40_000

MIXED = Domain(
    [
        Integer("age", 17, 30, 3),
        Real("rate", 0, 1, 0.25, missing=True),
        Category("job", ["a", "b", "c"], dtype="category"),
        Ordinal("size", ["S", "M", "L"], missing=True),
        Category("owner", [False, True]),
        Category("sex", ["Female", "Male"]),
    ],
    sensitive=["sex"],
)


def test_inputs_are_uniform():
    """All 1,200 x 2 inputs are equally likely, so parameters are independent too. By luck: one in a million."""
    codes = MIXED.sample_codes(N, np.random.default_rng(0))
    cells = np.ravel_multi_index(tuple(codes.T), tuple(MIXED.levels))
    assert p_if_uniform(cells, MIXED.size) > SURPRISING


def triangle(rows):
    return rows["x"] >= rows["y"]


def not_both(rows):
    return ~((rows["s"] == 1) & (rows["y"] > 5))


CONSTRAINED = Domain([Integer("x", 0, 9), Integer("y", 0, 9), Integer("s", 0, 1)], ["s"], [triangle, not_both])


def allowed_by_hand():
    return [(x, y, s) for x, y, s in every_input(CONSTRAINED).tolist() if x >= y and not (s == 1 and y > 5)]


def test_forbidden_inputs_are_never_sampled_and_allowed_ones_uniformly():
    """Chance of failing by luck: one in a million."""
    allowed = allowed_by_hand()
    codes = CONSTRAINED.sample_codes(N, np.random.default_rng(0))
    assert len(codes) == N
    assert p_if_uniform([allowed.index(tuple(row)) for row in codes.tolist()], len(allowed)) > SURPRISING


def test_constraints_get_frames_with_the_domains_dtypes():
    seen = []

    def spy(rows):
        seen.append((tuple(rows.columns), tuple(map(str, rows.dtypes))))
        return np.ones(len(rows), dtype=bool)

    domain = Domain(MIXED.parameters, ["sex"], [spy])
    domain.sample_codes(3, np.random.default_rng(0))
    assert set(seen) == {(MIXED.names, tuple(map(str, MIXED.sample(1).dtypes)))}


@pytest.mark.parametrize("keeps", [0, 1e-6])
def test_a_domain_too_thin_to_sample_is_refused_soon(keeps):
    limit, drawn = int(keeps * 10**9), []

    def rare(rows):
        drawn.append(len(rows))
        return rows["x"] <= limit

    domain = Domain([Integer("x", 1, 10**9), Integer("s", 0, 1)], ["s"], [rare])
    with pytest.raises(DomainError, match=r"must allow 1 in 10,000 inputs at least, got [0-9]+ allowed of .* drawn"):
        domain.sample(10, seed=0)
    assert sum(drawn) < 10**7


@pytest.mark.parametrize(
    ("constraint", "got"),
    [
        (lambda rows: True, r"got the shape \(\) of bool"),
        (lambda rows: np.ones(len(rows) + 1, dtype=bool), r"got the shape \(1025,\) of bool"),
        (lambda rows: np.ones(len(rows)), r"got the shape \(1024,\) of float64"),
        (lambda rows: None, r"got the shape \(\) of object"),
    ],
)
def test_a_constraint_must_answer_truth_values(constraint, got):
    domain = Domain([Integer("x", 0, 9), Integer("s", 0, 1)], ["s"], [constraint])
    with pytest.raises(DomainError, match=r"constraint <lambda> must return one truth value a row, " + got):
        domain.sample(5, seed=0)


def test_a_raising_constraint_is_named():
    def broken(rows):
        return rows["no such column"] > 0

    domain = Domain([Integer("x", 0, 9), Integer("s", 0, 1)], ["s"], [broken])
    with pytest.raises(DomainError, match="constraint broken raised KeyError: 'no such column'") as caught:
        domain.sample(5, seed=0)
    assert isinstance(caught.value.__cause__, KeyError)
