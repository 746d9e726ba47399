"""Axes: the levels of one parameter, gathered into cells that no test of a tree tells apart.

A box holds a set of cells of every axis: from one to another where all tests cut the cells in one order, otherwise any
set, as bits. Either is a few machine integers, its slots, so that many boxes are cut at a time. Where rules of the
domain look at the parameter, its cells are told apart by these too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.checks import shown
from fairprobe.domain.allowed import Atoms
from fairprobe.model.tables import Seen, Table, UnfitError

MAX_BITS = 200_000_000
"""Bits that the tests of one parameter may take, one for every test and cell; chosen: 25 MB."""

Slots = Codes
Answers = NDArray[np.int32]
"""Tests' answers, each in the form that its axis takes."""


@dataclass(frozen=True)
class Tests:
    """Distinct tests on the columns of one parameter: whether a column is at most a threshold."""

    columns: Codes
    thresholds: Floats
    missing_left: Mask
    """Mask of the tests whose answer for a missing value is yes."""

    def answers(self, rows: NDArray[Any], columns: Codes) -> Mask:
        """Answers by test, then row. `columns` names the columns of the estimator that the rows have."""
        values = rows[:, np.searchsorted(columns, self.columns)].T
        return np.where(np.isnan(values), self.missing_left[:, None], values <= self.thresholds[:, None])


@dataclass(frozen=True)
class _Cells:
    counts: Codes
    """Number of levels of each cell."""
    levels: Codes
    """One level of each cell."""
    cells: Callable[[Codes], Codes]
    """The cells that levels are in."""

    @property
    def total(self) -> int:
        """Number of all levels."""
        return int(self.counts.sum())


@dataclass(frozen=True)
class RangeAxis(_Cells):
    """Cells in an order that all tests keep: yes up to some cell, no from there on.

    A box's slots are the first cell and the one behind the last. A test's answer is the first cell for which it is no.
    """

    def at(self, levels: Codes) -> Slots:
        """Boxes of one cell each, which holds the level."""
        cells = self.cells(levels)
        return np.column_stack([cells, cells + 1])

    @cached_property
    def _ends(self) -> Codes:
        return np.concatenate([[0], np.cumsum(self.counts)])

    def whole(self) -> Slots:
        """From the first cell to behind the last."""
        return np.array([0, len(self.counts)])

    def count(self, slots: Slots) -> Codes:
        """Number of levels in each box."""
        return np.asarray(self._ends[slots[:, 1]] - self._ends[slots[:, 0]])

    def level(self, slots: Slots) -> Codes:
        """A level of each box's first cell."""
        return self.levels[slots[:, 0]]


@dataclass(frozen=True)
class SetAxis(_Cells):
    """Cells in no order; a box's slots are their bits, in words of 64. A test's answer is the number of its mask."""

    masks: Codes
    """For each test, the cells whose answer is yes."""

    def whole(self) -> Slots:
        """All cells' bits."""
        return _packed(np.ones((1, len(self.counts)), dtype=bool))[0]

    def at(self, levels: Codes) -> Slots:
        """Boxes of one cell each, which holds the level."""
        return _packed(self.cells(levels)[:, None] == np.arange(len(self.counts)))

    def cut(self, slots: Slots, answers: Answers) -> tuple[Slots, Slots]:
        """Boxes cut by a test each: where its answer is yes, and where it is no."""
        return slots & self.masks[answers], slots & ~self.masks[answers]

    def count(self, slots: Slots) -> Codes:
        """Number of levels in each box."""
        return self._bits(slots).astype(np.int64) @ self.counts

    def level(self, slots: Slots) -> Codes:
        """A level of each box's first cell."""
        return self.levels[self._bits(slots).argmax(axis=1)]

    def _bits(self, slots: Slots) -> NDArray[np.uint8]:
        octets = np.ascontiguousarray(slots).view(np.uint8)
        return np.unpackbits(octets, axis=1, bitorder="little")[:, : len(self.counts)]


Axis = RangeAxis | SetAxis


def make_axis(
    seen: Seen, parameter: int, tests: Tests, table: Table, atoms: Atoms | None = None
) -> tuple[Axis, Answers]:
    """A parameter's axis, and each test's answer in the form that it takes.

    With atoms, each of their sets is one of cells, in a form that the axis's slots can hold.
    """
    if seen.is_searchable(parameter):
        row, missing, rank = _searched(seen, parameter, tests, atoms)
    elif len(table.columns) == 1:
        row, missing, rank = _one_column(table, tests, atoms)
    else:
        return _many_columns(table, tests, atoms)
    counts, levels, cuts = row
    if missing is not None:
        # Their cells go to the end where all tests say no to them, and to the start where all say yes.
        more, where, answers = missing
        if not answers.any():
            counts, levels = np.append(counts, more), np.append(levels, where)
        else:
            counts, levels, cuts = np.append(more, counts), np.append(where, levels), cuts + len(more)
            if not answers.all():
                _check_bits(len(answers), len(levels))
                yes = np.arange(len(counts)) < cuts[:, None]
                yes[:, : len(more)] = answers[:, None]
                return _in_sets(counts, levels, _finder(levels, rank, atoms), yes)
    cells = _finder(levels, rank, atoms)
    if atoms is None or _are_runs(_in_cells(atoms, levels)):
        return RangeAxis(counts, levels, cells), cuts.astype(np.int32)
    _check_bits(len(cuts), len(levels))
    return _in_sets(counts, levels, cells, np.arange(len(counts)) < cuts[:, None])


def _finder(levels: Codes, rank: _Rank, atoms: Atoms | None) -> Callable[[Codes], Codes]:
    """Finds the cells of levels, given one level of each cell and what makes levels one cell."""
    keys = _key(rank(levels), levels, atoms)
    order = np.argsort(keys)
    return lambda wanted: order[np.searchsorted(keys[order], _key(rank(wanted), wanted, atoms))]


def _key(rank: Codes, levels: Codes, atoms: Atoms | None) -> Codes:
    """A number for each level: those of one rank and, if there are any, of one atom have the same."""
    return rank if atoms is None else rank * atoms.sets.shape[1] + atoms.of(levels)


def slots_of(axis: Axis, atoms: Atoms) -> Slots:
    """Slots for each set of atoms."""
    cells = _in_cells(atoms, axis.levels)
    if isinstance(axis, SetAxis):
        return _packed(cells)
    first = cells.argmax(axis=1)
    return np.column_stack([first, first + cells.sum(axis=1)])


def _in_cells(atoms: Atoms, levels: Codes) -> Mask:
    """Mask of the cells of each set of atoms, given one level of each cell."""
    _check_bits(len(atoms.sets), len(levels))
    return atoms.sets[:, atoms.of(levels)]


def _are_runs(cells: Mask) -> bool:
    """True if the cells of each row follow one another."""
    return bool(((cells[:, 1:] & ~cells[:, :-1]).sum(axis=1) + cells[:, 0] <= 1).all())


_Row = tuple[Codes, Codes, Codes]
"""Cells in the order of their values: how many levels each has, one of these, and by test the first that says no."""

_Rank = Callable[[Codes], Codes]
"""A number for each level, which is the same for levels that no test tells apart."""

_Missing = tuple[Codes, Codes, Mask]
"""Cells of levels that look missing: how many each has, one of them, and by test whether it says yes."""


def _searched(seen: Seen, parameter: int, tests: Tests, atoms: Atoms | None) -> tuple[_Row, _Missing | None, _Rank]:
    """The columns rise with the levels, so each test's last yes is found by halving."""
    kind = seen.domain.parameters[parameter]
    n_values = kind.levels - kind.missing
    every = np.arange(len(tests.columns))
    low, high = np.zeros_like(every), np.full_like(every, n_values)
    while (low < high).any():
        middle = np.minimum((low + high) // 2, n_values - 1)
        yes = seen.at(parameter, middle)[every, tests.columns] <= tests.thresholds
        is_open = low < high
        low = np.where(is_open & yes, middle + 1, low)
        high = np.where(is_open & ~yes, middle, high)
    # A new cell begins wherever some test's answer turns to no.
    ends = np.unique(np.concatenate([[0, n_values], low]))
    row = np.diff(ends), ends[:-1], np.searchsorted(ends, low)

    def rank(levels: Codes) -> Codes:
        return np.searchsorted(ends, levels, side="right")

    if atoms is not None:
        row = _parted(ends, low, atoms)
    if not kind.missing:
        return row, None, rank
    last = np.array([kind.levels - 1])
    answers = tests.answers(seen.at(parameter, last), np.arange(len(seen.base)))[:, 0]
    return row, (np.ones_like(last), last, answers), rank


def _parted(ends: Codes, low: Codes, atoms: Atoms) -> _Row:
    """Cells that are ranges of levels, parted by atoms; a part need not be a range."""
    starts = np.unique(np.concatenate([ends[:-1], atoms.starts[atoms.starts < ends[-1]]]))
    cell = _key(np.searchsorted(ends, starts, side="right"), starts, atoms)
    _, first, same = np.unique(cell, return_index=True, return_inverse=True)
    counts = np.zeros(len(first), dtype=np.int64)
    np.add.at(counts, same.reshape(-1), np.diff(starts, append=ends[-1]))
    order = np.argsort(starts[first])
    # The first level of a part lies in its cell: the cells' order is kept.
    levels = starts[first][order]
    return counts[order], levels, np.searchsorted(levels, low)


def _one_column(table: Table, tests: Tests, atoms: Atoms | None) -> tuple[_Row, _Missing | None, _Rank]:
    values = table.values[:, 0].astype(np.float64)
    missing = np.isnan(values)
    present = np.flatnonzero(~missing)
    ranks = np.where(missing, -1, np.searchsorted(np.unique(tests.thresholds), values))
    levels, counts = _cells(ranks[present], present, atoms)
    if atoms is not None:
        order = np.argsort(values[levels], kind="stable")
        levels, counts = levels[order], counts[order]
    # Cells come in the order of their values, which need not be that of the levels.
    row = counts, levels, np.searchsorted(values[levels], tests.thresholds, side="right")
    if not missing.any():
        return row, None, ranks.take
    absent = np.flatnonzero(missing)
    levels, counts = _cells(ranks[absent], absent, atoms)
    return row, (counts, levels, tests.missing_left), ranks.take


def _cells(cell: Codes, levels: Codes, atoms: Atoms | None) -> tuple[Codes, Codes]:
    """One level of each cell, and how many it has: levels of one number and, if there are any, of one atom."""
    _, first, counts = np.unique(_key(cell, levels, atoms), return_index=True, return_counts=True)
    return levels[first], counts


def _many_columns(table: Table, tests: Tests, atoms: Atoms | None) -> tuple[SetAxis, Answers]:
    """Levels are one cell if in every column the same thresholds lie below them."""
    cell = np.zeros(len(table.values), dtype=np.int64)
    for position, column in enumerate(table.columns):
        thresholds = np.unique(tests.thresholds[tests.columns == column])
        values = table.values[:, position].astype(np.float64)
        rank = np.where(np.isnan(values), len(thresholds) + 1, np.searchsorted(thresholds, values))
        # Numbered anew for each column, so that the numbers stay as small as there are cells.
        cell = np.unique(cell * (len(thresholds) + 2) + rank, return_inverse=True)[1].reshape(-1)
    levels, counts = _cells(cell, np.arange(len(cell)), atoms)
    _check_bits(len(tests.columns), len(levels))
    return _in_sets(
        counts, levels, _finder(levels, cell.take, atoms), tests.answers(table.values[levels], table.columns)
    )


def _in_sets(counts: Codes, levels: Codes, cells: Callable[[Codes], Codes], answers: Mask) -> tuple[SetAxis, Answers]:
    return SetAxis(counts, levels, cells, _packed(answers)), np.arange(len(answers), dtype=np.int32)


def _packed(answers: Mask) -> Codes:
    """Rows of truth values as words of 64 bits."""
    octets = np.packbits(np.ascontiguousarray(answers), axis=1, bitorder="little")
    n_missing = -octets.shape[1] % 8
    return np.pad(octets, [(0, 0), (0, n_missing)]).view(np.int64)


def _check_bits(n_tests: int, n_cells: int) -> None:
    if n_tests * n_cells > MAX_BITS:
        raise UnfitError(
            f"{n_tests:,} tests of one parameter and {n_cells:,} sets of its levels make {shown(n_tests * n_cells)} "
            f"pairs, over the {shown(MAX_BITS)} allowed"
        )
