"""Moves: one free parameter, one step, always another input, always inside."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

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


def test_the_last_draw_below_one_takes_the_last_size():
    moves = Moves(Domain([Integer("x", 0, 99, moves=(-5, -3, -1, 1, 2)), SEX], sensitive=["sex"]))
    draws = np.array([0.0, np.nextafter(1.0, 0.0)])
    assert moves.steps(np.zeros(2, int), np.array([True, True]), draws).tolist() == [-5, -1]
    assert moves.steps(np.zeros(2, int), np.array([False, False]), draws).tolist() == [1, 2]
