"""Cells: the values of a column between two thresholds, which all tests treat alike, and the ends that they leave."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairprobe.accelerate.rows import Batch, Floats, Rows

Words = NDArray[np.uint64]

MOST_LEVELS = 2**16
"""Up to that many levels, a column's cells are looked up by its codes."""
GROUP_BYTES = 2**21
"""Columns share a table up to that size: fewer tables to combine, but they should stay in the processor's cache."""


class Cells:
    """One column: which cell a value is in, and the ends that its tests leave, by cell and tree."""

    def __init__(
        self,
        column: int,
        rows: Rows,
        *,
        trees: NDArray[np.intp],
        thresholds: Floats,
        lefts: Words,
        rights: Words,
        n_trees: int,
    ) -> None:
        self.column = column
        self._place = rows.places[column]
        self._bounds, places = np.unique(thresholds, return_inverse=True)
        self.table = _table(places, trees, lefts, rights, (len(self._bounds) + 1, n_trees, lefts.shape[1]))
        parameter = rows.parameters[column]
        self._by_code = (
            self._of(parameter.numbers(np.arange(parameter.levels))) if parameter.levels <= MOST_LEVELS else None
        )

    def _of(self, values: NDArray[np.floating]) -> NDArray[np.intp]:
        """A value goes left at every threshold that is not below it; trees compare float32."""
        return np.searchsorted(self._bounds, values.astype(np.float32).astype(np.float64), side="left")

    def of_values(self, values: Floats) -> Words:
        """The words for some values."""
        return self.table[self._of(values)]

    def of_batch(self, batch: Batch) -> NDArray[np.intp]:
        """The cell of each input."""
        if self._by_code is None:
            return self._of(batch.singles[:, self.column])
        return self._by_code.take(batch.codes[:, self._place])


def _table(
    places: NDArray[np.intp], trees: NDArray[np.intp], lefts: Words, rights: Words, shape: tuple[int, int, int]
) -> Words:
    """Struck out in cell c: the right sides of tests from the c-th threshold on, the left sides of those before."""
    going_left, going_right = np.full((2, *shape), ~np.uint64(0))
    np.bitwise_and.at(going_left, (places, trees), ~rights)
    np.bitwise_and.at(going_right, (places + 1, trees), ~lefts)
    going_left = np.bitwise_and.accumulate(going_left[::-1], axis=0)[::-1]
    table = going_left & np.bitwise_and.accumulate(going_right, axis=0)
    return table.reshape(len(table), -1)


class Group:
    """Some columns with one table for all combinations of their cells."""

    def __init__(self, first: Cells) -> None:
        self._columns = [first]
        self._sizes = [len(first.table)]
        self.table = first.table

    def takes(self, cells: Cells) -> bool:
        """Whether the table stays small with that column too."""
        return self.table.nbytes * len(cells.table) <= GROUP_BYTES

    def add(self, cells: Cells) -> None:
        """Combine the table with that of another column."""
        self._columns.append(cells)
        self._sizes.append(len(cells.table))
        self.table = (self.table[:, None, :] & cells.table).reshape(-1, self.table.shape[1])

    def indices(self, batch: Batch) -> NDArray[np.intp]:
        """The row of the table for each input."""
        index = self._columns[0].of_batch(batch)
        for cells, size in zip(self._columns[1:], self._sizes[1:], strict=True):
            index = index * size + cells.of_batch(batch)
        return index


def groups(columns: list[Cells]) -> list[Group]:
    """Columns that are tested at all, in as few tables as stay small; the largest ones first."""
    found: list[Group] = []
    for cells in sorted(columns, key=lambda cells: -len(cells.table)):
        if len(cells.table) == 1:
            continue
        group = next((group for group in found if group.takes(cells)), None)
        if group is None:
            found.append(Group(cells))
        else:
            group.add(cells)
    return found
