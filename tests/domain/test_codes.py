"""Codes and values: decode and encode undo each other, for every kind and dtype."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from fairprobe import Category, Domain, Integer, Real
from fairprobe.errors import DataError, DomainError
from random_domains import domains, inputs, integers, parameters, reals


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


# The grid of a Real: every step a value of its own, written as people write it


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


def test_a_step_too_small_for_floats_at_that_offset_is_refused():
    with pytest.raises(DomainError, match="step"):
        Real("x", 1e16, 1e16 + 10, 1)


def test_values_off_by_rounding_alone_are_inside():
    parameter = Real("x", 0, 1, 0.1)
    assert parameter.encode([0.1 + 0.2, 0.7 + 0.1, 1 - 0.9]).tolist() == [3, 8, 1]
