"""The grid of a Real: every step a value of its own, written as people write it."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from fairprobe import Real
from fairprobe.errors import DomainError


@pytest.mark.parametrize(
    ("low", "high", "step", "values"),
    [
        (0, 0.3, 0.1, [0.0, 0.1, 0.2, 0.3]),
        (-0.3, 0.3, 0.1, [-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3]),
        (0.1, 0.4, 0.1, [0.1, 0.2, 0.3, 0.4]),
        (0, 1, 0.4, [0.0, 0.4, 0.8]),
        (1e-9, 4e-9, 1e-9, [1e-9, 2e-9, 3e-9, 4e-9]),
        (1e6, 1e6 + 0.3, 0.1, [1000000.0, 1000000.1, 1000000.2, 1000000.3]),
        (5, 5, 1, [5.0]),
        (2.5, 7.5, 2.5, [2.5, 5.0, 7.5]),
        (-1e-12, 1e-12, 1e-12, [-1e-12, 0.0, 1e-12]),
    ],
)
def test_grid(low, high, step, values):
    parameter = Real("x", low, high, step)
    assert parameter.levels == len(values)
    decoded = parameter.decode(np.arange(parameter.levels)).tolist()
    assert decoded == (values if step > 1e-6 else pytest.approx(values, rel=1e-12, abs=0))


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


@pytest.mark.parametrize("low", [1e7, 1e9, -1e9])
def test_large_offsets_keep_the_last_step(low):
    parameter = Real("x", low, low + 0.7, 0.1)
    assert parameter.levels == 8
    assert parameter.encode(parameter.decode(np.arange(8))).tolist() == list(range(8))


@pytest.mark.parametrize("dtype", ["float32", "Float32"])
def test_narrow_floats_encode_again(dtype):
    parameter = Real("x", 0, 100, 0.1, dtype=dtype)
    codes = np.arange(parameter.levels)
    assert str(pd.Series(parameter.decode(codes)).dtype) == dtype
    assert parameter.encode(parameter.decode(codes)).tolist() == codes.tolist()


def test_values_off_by_rounding_alone_are_inside():
    parameter = Real("x", 0, 1, 0.1)
    assert parameter.encode([0.1 + 0.2, 0.7 + 0.1, 1 - 0.9]).tolist() == [3, 8, 1]
