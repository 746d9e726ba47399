"""Axes: the levels of one parameter, grouped into cells that no test of a tree and no rule of the domain separates.

A box holds a set of cells of every axis, as bits in words of 64, so that many boxes are cut at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Mask
from fairprobe.checks import shown
from fairprobe.domain.allowed import Step
from fairprobe.estimation.exact.trees import Nodes
from fairprobe.model.tables import Seen, Table, UnfitError

MAX_BITS = 50_000_000
"""Largest number of tests (of tree nodes) times cells of one parameter; chosen: about a second of work."""


@dataclass(frozen=True)
class Axis:
    """The levels of one parameter, grouped into cells: sets of levels that no test of a tree separates."""

    parameter: int
    counts: Codes
    """Number of the parameter's levels in each cell."""
    levels: Codes
    """For each cell, one level of the parameter that belongs to it."""
    starts: Codes
    """First level of each run, a range of consecutive levels that belong to one cell."""
    cells: Codes
    """For each run of levels (see `starts`), the number of the cell that it belongs to."""

    def cell(self, levels: Codes) -> Codes:
        """Return, for each of these levels of the parameter, the number of the cell that it belongs to."""
        return self.cells[np.searchsorted(self.starts, levels, side="right") - 1]


def make_axis(
    seen: Seen, parameter: int, nodes: Nodes, tests: Codes, table: Table, step: Step | None = None
) -> tuple[Axis, Mask]:
    """Return a parameter's axis (its levels in cells), and a mask by node and cell: True where the test says yes.

    `tests` are the nodes that test the parameter. With `step`, each atom of the parameter (group of levels that no
    rule of the domain separates) is a union of cells.
    """
    n_levels = seen.domain.parameters[parameter].levels
    if not seen.is_searchable(parameter):
        starts, rows = np.arange(n_levels), table.values
    else:
        more = np.zeros(0, dtype=np.int64) if step is None else step.starts
        starts = np.unique(np.concatenate([[0, n_levels - 1], _first_no(seen, parameter, nodes, tests), more]))
        starts = starts[starts < n_levels]
        rows = seen.at(parameter, starts)[:, table.columns]
    # Levels are one cell if in every column the same thresholds lie below them.
    cells = np.zeros(len(starts), dtype=np.int64) if step is None else step.of(starts)
    for column, numbers in zip(table.columns, rows.T.astype(np.float64), strict=True):
        thresholds = np.unique(nodes.threshold[tests][nodes.column[tests] == column])
        rank = np.where(np.isnan(numbers), len(thresholds) + 1, np.searchsorted(thresholds, numbers))
        # Numbered anew for each column, so that the numbers stay as small as there are cells.
        cells = np.unique(cells * (len(thresholds) + 2) + rank, return_inverse=True)[1].reshape(-1)
    _, first, cells = np.unique(cells, return_index=True, return_inverse=True)
    cells = cells.reshape(-1)
    if len(tests) * len(first) > MAX_BITS:
        raise UnfitError(
            f"{len(tests):,} tests of one parameter and {len(first):,} sets of its levels make "
            f"{shown(len(tests) * len(first))} pairs, over the {shown(MAX_BITS)} allowed"
        )
    counts = np.zeros(len(first), dtype=np.int64)
    np.add.at(counts, cells, np.diff(starts, append=n_levels))
    axis = Axis(parameter, counts, starts[first], starts, cells)
    return axis, nodes.answers(tests, rows[first], table.columns)


def _first_no(seen: Seen, parameter: int, nodes: Nodes, tests: Codes) -> Codes:
    """Return the first level of a parameter at which each test (node) says no.

    If a test says no at no level, it is the number of known levels. It is found by bisection, because the tested
    columns rise with the levels.
    """
    kind = seen.domain.parameters[parameter]
    n_values = kind.levels - kind.missing
    low, high = np.zeros_like(tests), np.full_like(tests, n_values)
    while (low < high).any():
        middle = np.minimum((low + high) // 2, n_values - 1)
        yes = seen.at(parameter, middle)[np.arange(len(tests)), nodes.column[tests]] <= nodes.threshold[tests]
        is_open = low < high
        low = np.where(is_open & yes, middle + 1, low)
        high = np.where(is_open & ~yes, middle, high)
    return low


def packed(answers: Mask, n_words: int) -> Codes:
    """Return a mask by row, then cell as words of 64 bits, `n_words` for each row; bit i stands for cell i."""
    octets = np.packbits(np.ascontiguousarray(answers), axis=1, bitorder="little")
    return np.pad(octets, [(0, 0), (0, 8 * n_words - octets.shape[1])]).view(np.int64)


def unpacked(words: Codes, n: int) -> NDArray[np.uint8]:
    """Return the first n bits of each row of 64-bit words, as 0 and 1; the inverse of `packed`."""
    return np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=1, bitorder="little")[:, :n]
