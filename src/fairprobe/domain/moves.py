"""Moves: the steps of a search's walker from one input to a neighbour in one parameter.

Strategies such as `anchored` jump instead.
"""

from __future__ import annotations

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.domain import Domain


class Moves:
    """Moves (steps to other values) of the parameters that a search can move.

    A parameter with a single value is left out.
    """

    def __init__(self, domain: Domain) -> None:
        self.columns = np.array([c for c in domain.free_columns if domain.levels[c] > 1], dtype=np.int64)
        parameters = [domain.parameters[column] for column in self.columns]
        self.levels: Codes = domain.levels[self.columns]
        self.wraps: Mask = np.array([p.wraps for p in parameters], dtype=bool)
        self._any_wraps = bool(self.wraps.any())
        self._may_leave_both_ways = any(2 * max(map(abs, p.moves)) > p.levels for p in parameters)
        self._downs, self._n_downs = _table([[m for m in p.moves if m < 0] for p in parameters])
        self._ups, self._n_ups = _table([[m for m in p.moves if m > 0] for p in parameters])
        self.sizes_vary = bool((self._n_downs > 1).any() or (self._n_ups > 1).any())
        """True if a parameter has several moves in one direction, so that a move needs a third draw, for its size."""
        self._only_moves = np.column_stack([self._ups[:, 0], self._downs[:, 0]]).ravel()
        self._row_starts = np.empty(0, dtype=np.int64)

    def steps(self, chosen: Codes, down: Mask, size_draws: Floats | None) -> Codes:
        """Return the step of each walker, in levels: the number by which its chosen parameter moves.

        `chosen` is the parameter's position in `columns`, and `down` is True for a move down. `size_draws` are uniform
        numbers from 0 to 1; None if all steps have one size.
        """
        if size_draws is None:
            return self._only_moves.take(chosen + chosen + down)
        low = self._downs[chosen, (size_draws * self._n_downs[chosen]).astype(np.int64)]
        high = self._ups[chosen, (size_draws * self._n_ups[chosen]).astype(np.int64)]
        return np.where(down, low, high)

    def apply(self, codes: Codes, chosen: Codes, steps: Codes) -> tuple[Codes, Mask]:
        """Return the moved inputs as codes, and a boolean mask of the inputs that were moved down.

        A move past a bound is reflected; in a parameter without order it continues at the other end.
        """
        moved = codes.copy()
        if len(self._row_starts) != len(codes):
            self._row_starts = np.arange(0, codes.size, codes.shape[1])
        cells = self._row_starts + self.columns.take(chosen)
        after, down = self._move(codes.take(cells), chosen, steps)
        moved.put(cells, after)
        return moved, down

    def _move(self, before: Codes, chosen: Codes, steps: Codes) -> tuple[Codes, Mask]:
        levels = self.levels.take(chosen)
        after = before + steps
        out = _is_outside(after, levels)
        if not out.any():
            return after, steps < 0
        if self._any_wraps:
            around = out & self.wraps.take(chosen)
            after = np.where(around, after % levels, after)
            out &= ~around
        after -= 2 * steps * out
        down = (steps < 0) ^ out
        if self._may_leave_both_ways:
            still = out & _is_outside(after, levels)
            after = np.where(still, np.where(before * 2 < levels - 1, levels - 1, 0), after)  # to the farther bound
            down = np.where(still, after < before, down)
        return after, down


def _is_outside(codes: Codes, levels: Codes) -> Mask:
    return codes.view(np.uint64) >= levels.view(np.uint64)  # below 0 or past the last, in one comparison


def _table(moves: list[list[int]]) -> tuple[Codes, Codes]:
    counts = np.array([len(row) for row in moves], dtype=np.int64)
    table = np.zeros((len(moves), max(counts, default=1)), dtype=np.int64)
    for row, values in enumerate(moves):
        table[row, : len(values)] = values
    return table, counts
