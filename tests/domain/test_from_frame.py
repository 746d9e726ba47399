"""Domains inferred from frames: kinds, bounds, dtypes and moves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given, note
from hypothesis import strategies as st

from fairprobe import Category, Domain, Integer, Ordinal, Real
from fairprobe.datasets import load_census
from fairprobe.errors import DataError, DomainError
from random_domains import domains, inputs


def infer(column, name="x", **options):
    frame = pd.DataFrame({name: column})
    frame["s"] = [0, 1] * (len(frame) // 2) + [0] * (len(frame) % 2) if len(frame) > 1 else [0]
    return Domain.from_frame(frame, sensitive=["s"], parameters=[Integer("s", 0, 1)], **options)["x"]


# The census


@pytest.mark.parametrize("encoded", [False, True])
@pytest.mark.parametrize("split", ["train", "test"])
def test_census_frames_survive_encode_and_decode(encoded, split):
    frame, _ = load_census(encoded=encoded, split=split)
    domain = Domain.from_frame(frame, sensitive=["sex"])
    codes = domain.encode(frame)
    assert (codes >= 0).all()
    pd.testing.assert_frame_equal(domain.decode(codes), frame)


# Kinds

STRINGS = str(pd.Series(["a"]).dtype)  # "object" in pandas 2


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([3, 1, 7], Integer("x", 1, 7)),
        (np.array([3, 1, 7], dtype=np.int8), Integer("x", 1, 7, dtype="int8")),
        (np.array([0, 200], dtype=np.uint8), Integer("x", 0, 200, dtype="uint8", moves=(-20, -2, 2, 20))),
        (pd.array([3, None, 7], dtype="Int64"), Integer("x", 3, 7, missing=True, dtype="Int64")),
        ([3.0, np.nan, 7.0], Integer("x", 3, 7, missing=True, dtype="float64")),
        ([0.5, 0.1, 0.9], Real("x", 0.1, 0.9, 0.1)),
        ([0.25, np.nan, 0.5], Real("x", 0.25, 0.5, 0.01, missing=True)),
        ([True, False], Category("x", [False, True])),
        ([True, True], Category("x", [False, True])),
        (pd.array([True, None], dtype="boolean"), Category("x", [False, True], missing=True, dtype="boolean")),
        (["b", "a", "b"], Category("x", ["a", "b"], dtype=STRINGS)),
        (["b", None, "a"], Category("x", ["a", "b"], missing=True, dtype=STRINGS)),
        (pd.Categorical(["b", "a"], categories=["b", "a", "c"]), Category("x", ["b", "a", "c"], dtype="category")),
        (
            pd.Categorical(["lo", "hi"], categories=["lo", "mid", "hi"], ordered=True),
            Ordinal("x", ["lo", "mid", "hi"], dtype="category"),
        ),
        (pd.Categorical([1, None], categories=[1, 2]), Category("x", [1, 2], missing=True, dtype="category")),
    ],
)
def test_kind(column, expected):
    assert infer(column) == expected


@given(st.data(), domains())
def test_what_a_domain_gives_it_can_be_inferred_from(data, domain):
    """The frame of any domain is inferred to one that holds it, with the same dtypes, value by value."""
    frame = domain.decode(data.draw(inputs(domain, min_size=2)))
    floats = frame.select_dtypes("float")
    assume(not frame.isna().all().any())
    assume(((floats - floats.round(6)).abs().max() < 1e-12).all())  # finer ones are put on a grid of their own
    overrides = [domain[name] for name in domain.sensitive]
    again = Domain.from_frame(frame, sensitive=domain.sensitive, parameters=overrides)
    note(f"{frame.to_dict('list')} inferred as {again.parameters}")
    codes = again.encode(frame)
    assert (codes >= 0).all()
    pd.testing.assert_frame_equal(again.decode(codes), frame)


@example([3, 7], 1)
@given(st.lists(st.integers(-999, 999), min_size=2, max_size=30, unique=True), st.integers(1, 4))
def test_fractions_get_their_own_bounds_and_step(numbers, decimals):
    """Bounds are those of the data, and the step is the power of ten that all values are multiples of."""
    values = [float(f"{number}e-{decimals}") for number in numbers]
    if all(value == int(value) for value in values):
        return
    parameter = infer(values)
    assert isinstance(parameter, Real)
    assert parameter.low == min(values)
    assert parameter.high == pytest.approx(max(values), abs=parameter.step / 1e6)
    assert (parameter.encode(values) >= 0).all()
    assert parameter.decode(parameter.encode(values)).tolist() == values


@pytest.mark.parametrize("values", [[0.0, 1e-6], [30.000001, 30.000009], [-0.00002, 0.00001, 5.0]])
def test_small_differences_are_no_rounding(values):
    parameter = infer(values)
    assert (parameter.encode(values) >= 0).all()
    assert len(set(parameter.encode(values))) == len(values)


def test_unruly_fractions_get_a_thousandth_of_the_range():
    values = np.random.default_rng(0).normal(size=500)
    parameter = infer(values)
    assert isinstance(parameter, Real)
    assert parameter.low <= values.min()
    assert parameter.high >= values.max()
    assert 1_000 <= parameter.levels <= 10_100
    assert parameter.moves == (
        -round(parameter.levels / 10),
        -round(parameter.levels / 100),
        round(parameter.levels / 100),
        round(parameter.levels / 10),
    )


@pytest.mark.parametrize(("levels", "wide"), [(99, False), (100, False), (101, True), (1000, True)])
def test_above_100_levels_moves_are_wide(levels, wide):
    moves = infer(list(range(levels))).moves
    assert moves == (
        (-round(levels / 10), -round(levels / 100), round(levels / 100), round(levels / 10)) if wide else (-1, 1)
    )


# Overrides


def test_parameters_given_replace_the_inferred():
    frame = pd.DataFrame({"age": [20, 30], "job": ["a", "b"], "sex": [0, 1]})
    age = Integer("age", 0, 120, 5)
    domain = Domain.from_frame(frame, sensitive=["sex"], parameters=[age])
    assert domain.parameters == (age, Category("job", ["a", "b"], dtype=str(frame["job"].dtype)), Integer("sex", 0, 1))


def test_values_to_compare_keep_the_dtype_of_the_data():
    """A categorical stays the categorical that the model was fitted on, whichever values are compared."""
    frame = pd.DataFrame({"age": [20, 30], "race": pd.Categorical(["a", "b"], categories=["c", "b", "a"])})
    domain = Domain.from_frame(frame, sensitive={"race": ["a", "b"]})
    assert domain.decode(domain.encode(frame))["race"].dtype == frame["race"].dtype


# Bad frames


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ([1, 2], r"must have two axes, got the shape \(2,\) of list"),
        (pd.DataFrame({"x": []}), r"one row and one column at least, got the shape \(0, 1\)"),
        (pd.DataFrame({0: [1, 2]}), "columns must be named by strings, got 0"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), "columns must have distinct names, got x more than once"),
        (pd.DataFrame({"x": [None, None]}), "column 'x' must hold a value, got only missing ones: leave it out"),
        (pd.DataFrame({"x": [1.0, np.inf]}), "column 'x' must hold finite numbers, got an infinite one"),
        (pd.DataFrame({"x": pd.to_datetime(["2020-01-01"])}), "column 'x' must hold numbers, strings or truth values"),
        (pd.DataFrame({"x": [1 + 2j]}), "column 'x' must hold numbers, strings or truth values"),
    ],
)
def test_bad_frame(frame, message):
    with pytest.raises(DataError, match=message):
        Domain.from_frame(frame, sensitive=["x"])


def test_unknown_override():
    with pytest.raises(DomainError, match="must be a column of the frame, got y"):
        Domain.from_frame(pd.DataFrame({"x": [1, 2]}), sensitive=["x"], parameters=[Integer("y", 0, 1)])


def test_a_frame_is_not_changed():
    frame = pd.DataFrame({"x": [1.5, None], "s": ["a", "b"]}, index=[7, 9])
    before = frame.copy(deep=True)
    Domain.from_frame(frame, sensitive=["s"]).encode(frame)
    pd.testing.assert_frame_equal(frame, before)
