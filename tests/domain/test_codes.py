"""Codes and values: decode and encode undo each other, for every kind and dtype."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairprobe import Category, Domain, Integer, Ordinal, Real
from fairprobe.errors import DataError
from random_domains import domains, inputs, integers, listed, parameters, reals


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


@given(st.data(), parameters())
def test_decode_takes_any_selection_of_codes(data, parameter):
    codes = np.array(data.draw(st.lists(st.integers(0, parameter.levels - 1), max_size=20)), dtype=np.int64)
    values = parameter.decode(codes)
    assert len(values) == len(codes)
    assert parameter.encode(values).tolist() == codes.tolist()


@given(st.one_of(integers(), reals()))
def test_numbers_are_the_decoded_values(parameter):
    codes = all_codes(parameter)
    values = pd.Series(parameter.decode(codes)).to_numpy(dtype=np.float64, na_value=np.nan)
    np.testing.assert_array_equal(parameter.numbers(codes), values)


@given(listed().filter(lambda p: p.is_numeric))
def test_numbers_of_listed_values_are_the_values(parameter):
    numbers = parameter.numbers(all_codes(parameter))
    np.testing.assert_array_equal(numbers[: len(parameter.values)], np.array(parameter.values, dtype=float))
    assert np.isnan(numbers[len(parameter.values) :]).all()


@given(integers())
def test_integer_grid_is_exact(parameter):
    numbers = parameter.numbers(np.arange(parameter.levels - parameter.missing))
    expected = list(range(parameter.low, parameter.high + 1, parameter.step))
    assert numbers.tolist() == expected


@given(parameters())
def test_encode_says_minus_one_outside(parameter):
    if isinstance(parameter, (Integer, Real)):
        outside = [parameter.low - parameter.step, parameter.high + 1.5 * parameter.step, float("inf"), -1e18]
    else:
        outside = ["no such word", 10**10 + 7, 0.123456789e-3]
    assert (parameter.encode(pd.Series(outside, dtype=object)) == -1).all()


@pytest.mark.parametrize("absent", [None, np.nan, pd.NA])
@pytest.mark.parametrize(
    "parameter",
    [
        Integer("x", 0, 5),
        Real("x", 0, 1, 0.1),
        Category("x", ["a", "b"]),
        Ordinal("x", [1, 2, 3]),
        Category("x", [False, True]),
    ],
)
def test_a_missing_value_is_outside_unless_it_is_allowed(parameter, absent):
    from dataclasses import replace

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


def test_encode_takes_arrays_of_objects():
    domain = Domain([Integer("age", 17, 90), Category("sex", ["Female", "Male"])], sensitive=["sex"])
    assert domain.encode(np.array([[17, "Male"], ["x", "Female"]], dtype=object)).tolist() == [[0, 1], [-1, 0]]


@pytest.mark.parametrize("rows", [np.zeros((3, 3)), np.zeros(2), np.zeros((1, 2, 2)), "text"])
def test_encode_refuses_arrays_of_another_shape(rows):
    domain = Domain([Integer("age", 17, 90), Integer("sex", 0, 1)], sensitive=["sex"])
    with pytest.raises(DataError, match="2 columns in domain order, got the shape"):
        domain.encode(rows)
