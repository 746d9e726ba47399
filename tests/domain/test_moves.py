"""Moves: one free parameter, one step, always another input, always inside."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from chance import SURPRISING, p_if_uniform
from fairprobe import Category, Domain, Integer
from fairprobe.domain.moves import Moves
from random_domains import domains, inputs

SEX = Category("sex", ["Female", "Male"])


def move(code, step, levels, wraps):
    """What the design says of one move: where it ends, and whether it went down."""
    if 0 <= code + step < levels:
        return code + step, step < 0
    if wraps:
        return (code + step) % levels, step < 0
    if 0 <= code - step < levels:
        return code - step, step > 0
    return (levels - 1, False) if 2 * code < levels - 1 else (0, True)


def one_parameter(parameter):
    return Moves(Domain([parameter, SEX], sensitive=["sex"]))


@given(st.data(), domains())
def test_a_move_changes_one_free_parameter_and_stays_inside(data, domain):
    moves = Moves(domain)
    if not len(moves.columns):
        return
    codes = data.draw(inputs(domain))
    before = codes.copy()
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    chosen = rng.integers(0, len(moves.columns), len(codes))
    wanted_down = rng.random(len(codes)) < 0.5
    steps = moves.steps(chosen, wanted_down, rng.random(len(codes)) if moves.sizes_vary else None)
    moved, down = moves.apply(codes, chosen, steps)
    assert (codes == before).all()
    assert moved.dtype == np.int64
    assert ((moved >= 0) & (moved < domain.levels)).all()
    changed = moved != codes
    assert (changed.sum(axis=1) == 1).all()
    columns = changed.argmax(axis=1)
    assert (columns == moves.columns[chosen]).all()
    assert set(columns) <= set(domain.free_columns)
    for row, column in enumerate(columns):
        parameter = domain.parameters[column]
        assert steps[row] in parameter.moves
        assert (steps[row] < 0) == wanted_down[row]
        expected = move(codes[row, column], steps[row], parameter.levels, parameter.wraps)
        assert (moved[row, column], bool(down[row])) == expected
        if not parameter.wraps:
            assert down[row] == (moved[row, column] < codes[row, column])


def test_sizes_are_uniform_among_the_moves_of_a_sign():
    """Chance of failing by luck: four tests at one in a million each."""
    parameters = [Integer("x", 0, 999, moves=(-50, 1, -10, 10, -1)), Integer("y", 0, 9), SEX]
    moves = Moves(Domain(parameters, sensitive=["sex"]))
    rng = np.random.default_rng(0)
    n = 60_000
    chosen, down = rng.integers(0, 2, n), rng.random(n) < 0.5
    steps = moves.steps(chosen, down, rng.random(n))
    for column, parameter in enumerate(parameters[:2]):
        for is_down in (True, False):
            allowed = [size for size in parameter.moves if (size < 0) == is_down]
            got = steps[(chosen == column) & (down == is_down)]
            assert set(got) == set(allowed)
            if len(allowed) > 1:
                assert p_if_uniform([allowed.index(step) for step in got], len(allowed)) > SURPRISING


def test_the_last_draw_below_one_takes_the_last_size():
    moves = one_parameter(Integer("x", 0, 99, moves=(-5, -3, -1, 1, 2)))
    draws = np.array([0.0, np.nextafter(1.0, 0.0)])
    assert moves.steps(np.zeros(2, int), np.array([True, True]), draws).tolist() == [-5, -1]
    assert moves.steps(np.zeros(2, int), np.array([False, False]), draws).tolist() == [1, 2]
