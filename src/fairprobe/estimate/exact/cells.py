"""Cells: which levels of a parameter the tests of a tree tell apart."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairprobe.arrays import Codes, Mask
from fairprobe.estimate.exact.axes import Answers, Axis, RangeAxis, SetAxis, Tests, pack
from fairprobe.estimate.exact.outcome import UnfitError, shown
from fairprobe.estimate.exact.seen import Seen, Table

MAX_BITS = 200_000_000
"""What the tests of one parameter may take, a bit for every cell."""


@dataclass(frozen=True)
class _Row:
    """Cells in the order of their values, where each test says yes up to one of them."""

    counts: Codes
    levels: Codes
    cuts: Codes
    """By test, the first cell for which the answer is no."""


def make_axis(seen: Seen, parameter: int, tests: Tests, table: Table) -> tuple[Axis, Answers]:
    """A parameter's axis, and each test's answer in the form that its `cut` takes."""
    if seen.is_searchable(parameter):
        return _searched(seen, parameter, tests)
    return _one_column(table, tests) if len(table.columns) == 1 else _many_columns(table, tests)


def _searched(seen: Seen, parameter: int, tests: Tests) -> tuple[Axis, Answers]:
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
    ends = np.unique(np.concatenate([[0, n_values], low]))
    row = _Row(np.diff(ends), ends[:-1], np.searchsorted(ends, low))
    if not kind.missing:
        return _in_a_row(row)
    last = np.array([kind.levels - 1])
    answers = tests.answers(seen.at(parameter, last), np.arange(len(seen.base)))[:, 0]
    return _with_missing(row, 1, kind.levels - 1, answers)


def _one_column(table: Table, tests: Tests) -> tuple[Axis, Answers]:
    values = table.values[:, 0].astype(np.float64)
    missing = np.isnan(values)
    present = np.flatnonzero(~missing)
    thresholds = np.unique(tests.thresholds)
    _, first, counts = np.unique(np.searchsorted(thresholds, values[present]), return_index=True, return_counts=True)
    levels = present[first]
    row = _Row(counts, levels, np.searchsorted(values[levels], tests.thresholds, side="right"))
    if not missing.any():
        return _in_a_row(row)
    return _with_missing(row, int(missing.sum()), int(missing.argmax()), tests.missing_left)


def _many_columns(table: Table, tests: Tests) -> tuple[Axis, Answers]:
    """Levels are one cell if in every column the same thresholds lie below them."""
    cell = np.zeros(len(table.values), dtype=np.int64)
    for position, column in enumerate(table.columns):
        thresholds = np.unique(tests.thresholds[tests.columns == column])
        values = table.values[:, position].astype(np.float64)
        rank = np.where(np.isnan(values), len(thresholds) + 1, np.searchsorted(thresholds, values))
        cell = np.unique(cell * (len(thresholds) + 2) + rank, return_inverse=True)[1].reshape(-1)
    _, levels, counts = np.unique(cell, return_index=True, return_counts=True)
    _check_bits(len(tests.columns), len(levels))
    return _in_sets(counts, levels, tests.answers(table.values[levels], table.columns))


def _with_missing(row: _Row, count: int, level: int, answers: Mask) -> tuple[Axis, Answers]:
    """The cell of missing values goes to the end where all tests say no to it, or to the start where all say yes."""
    if not answers.any():
        return _in_a_row(replace(row, counts=np.append(row.counts, count), levels=np.append(row.levels, level)))
    counts, levels = np.append(count, row.counts), np.append(level, row.levels)
    if answers.all():
        return _in_a_row(_Row(counts, levels, row.cuts + 1))
    _check_bits(len(answers), len(levels))
    is_below = np.arange(len(row.counts)) < row.cuts[:, None]
    return _in_sets(counts, levels, np.column_stack([answers, is_below]))


def _in_a_row(row: _Row) -> tuple[Axis, Answers]:
    return RangeAxis(row.counts, row.levels), row.cuts.astype(np.int32)


def _in_sets(counts: Codes, levels: Codes, answers: Mask) -> tuple[Axis, Answers]:
    return SetAxis(counts, levels, pack(answers)), np.arange(len(answers), dtype=np.int32)


def _check_bits(n_tests: int, n_cells: int) -> None:
    if n_tests * n_cells > MAX_BITS:
        raise UnfitError(
            f"{n_tests:,} tests of one parameter and {n_cells:,} sets of its levels make {shown(n_tests * n_cells)} "
            f"pairs, over the {shown(MAX_BITS)} allowed"
        )
