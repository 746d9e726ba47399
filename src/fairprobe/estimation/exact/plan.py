"""The plan of an exact walk over trees: each parameter's cells, and the next node after each node's test.

An axis has the levels of one parameter, grouped into cells that no test of a tree separates.
A box is a part of the domain: a set of cells of every axis, as bits in words of 64, so that many are cut at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Mask
from fairprobe.checks import shown
from fairprobe.domain.domain import Domain
from fairprobe.estimation.exact.trees import Nodes, Small
from fairprobe.model.tables import LevelTable, Seen, check_fits

MAX_ENTRIES = 100_000_000
"""Largest number of tree nodes times combinations of sensitive values in a plan; chosen."""

MAX_BITS = 50_000_000
"""Largest number of tests (of tree nodes) times cells of one parameter; chosen: about a second of work."""

UNDECIDED = -1

WORD = 64
"""Number of bits in a word; each bit stands for a cell."""


@dataclass(frozen=True)
class ParameterCells:
    """The levels of one parameter, grouped into cells: sets of levels that no test of a tree separates."""

    parameter: int
    counts: Codes
    """Number of the parameter's levels in each cell."""
    levels: Codes
    """For each cell, one level of the parameter that belongs to it."""
    cells: Codes
    """For each level of the parameter, the number of the cell that it belongs to."""


def make_axis(parameter: int, nodes: Nodes, tests: Codes, table: LevelTable) -> tuple[ParameterCells, Mask]:
    """Return a parameter's axis (its levels in cells), and a mask by node and cell: True where the test says yes.

    `tests` are the nodes that test the parameter.
    """
    # Levels are one cell if in every column the same thresholds lie below them.
    cells = np.zeros(len(table.values), dtype=np.int64)
    for column, numbers in zip(table.columns, table.values.T.astype(np.float64), strict=True):
        thresholds = np.unique(nodes.threshold[tests][nodes.column[tests] == column])
        rank = np.where(np.isnan(numbers), len(thresholds) + 1, np.searchsorted(thresholds, numbers))
        # Numbered anew for each column, so that the numbers stay as small as there are cells.
        cells = np.unique(cells * (len(thresholds) + 2) + rank, return_inverse=True)[1].reshape(-1)
    _, first, cells = np.unique(cells, return_index=True, return_inverse=True)
    cells = cells.reshape(-1)
    n_pairs = len(tests) * len(first)
    both = f"{len(tests):,} tests of one parameter and {len(first):,} sets of its levels"
    check_fits(n_pairs, MAX_BITS, f"{both} make {shown(n_pairs)} pairs")
    axis = ParameterCells(parameter, np.bincount(cells), first, cells)
    return axis, nodes.answers(tests, table.values[first], table.columns)


def packed(answers: Mask, n_words: int) -> Codes:
    """Return a mask by row, then cell as words of 64 bits, `n_words` for each row; bit i stands for cell i."""
    octets = np.packbits(np.ascontiguousarray(answers), axis=1, bitorder="little")
    return np.pad(octets, [(0, 0), (0, 8 * n_words - octets.shape[1])]).view(np.int64)


def unpacked(words: Codes, n: int) -> NDArray[np.uint8]:
    """Return the first n bits of each row of 64-bit words, as 0 and 1; the inverse of `packed`."""
    return np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=1, bitorder="little")[:, :n]


@dataclass(frozen=True)
class TreePlan:
    """All that a walk over trees needs: the nodes, the axes, and the tests of nodes as sets of cells.

    Only nodes that test a free parameter cut boxes. The sensitive values alone decide the tests of all other nodes.
    """

    domain: Domain
    nodes: Nodes
    axes: tuple[ParameterCells, ...]
    axis: Small
    """Position in `axes` of the parameter that each node tests; -1 for a leaf and for a node that no box is cut by."""
    test: Small
    """For each node, the row of `masks` that holds its test; -1 for a node that no box is cut by."""
    masks: Codes
    """Cells of its axis in which a test says yes, as bits, by test, then word."""
    ahead: Small
    """First node that tests a free parameter or is a leaf, on the way down from a node (itself included), by node, then
    combination of sensitive values."""
    touches: Mask
    """Boolean mask by node: True if the way from it down depends on the combination of sensitive values."""

    @property
    def n_words(self) -> int:
        """The number of 64-bit words that hold the cells of one axis in a box."""
        return self.masks.shape[1]

    @property
    def whole(self) -> Codes:
        """The whole domain as one box: all cells of tested parameters, as bits, by box, then parameter, then word."""
        every = [packed(np.ones((1, len(axis.counts)), dtype=bool), self.n_words)[0] for axis in self.axes]
        return np.array(every, dtype=np.int64).reshape(1, len(self.axes), self.n_words)

    @property
    def weight(self) -> NDArray[Any]:
        """The number of inputs in a box in which every tested parameter has a single level.

        It is the number of combinations of sensitive values, times the numbers of levels of the free parameters that no
        tree tests.
        """
        size, n_cut = self.domain.size, prod(int(axis.counts.sum()) for axis in self.axes)
        # Machine integers, if they are wide enough for all inputs; else Python's.
        return np.array(size // n_cut, dtype=np.int64 if size < 2**63 else object)

    def volumes(self, cells: Codes) -> NDArray[Any]:
        """Return the number of inputs in each box (part of the domain); `cells` are its cells as bits."""
        weights = np.repeat(self.weight, len(cells))
        for place, axis in enumerate(self.axes):
            weights = weights * (unpacked(cells[:, place], len(axis.counts)).astype(np.int64) @ axis.counts)
        return weights

    def inputs(self, cells: Codes) -> Codes:
        """Return one input of each box (part of the domain), as a row of codes."""
        codes = np.zeros((len(cells), len(self.domain.levels)), dtype=np.int64)
        for place, axis in enumerate(self.axes):
            codes[:, axis.parameter] = axis.levels[unpacked(cells[:, place], len(axis.counts)).argmax(axis=1)]
        return codes

    def cells_of(self, codes: Codes) -> Codes:
        """Return, for each input, the cells (as bits) of the smallest box that holds it: one cell on each axis."""
        cells = np.repeat(self.whole, len(codes), axis=0)
        for place, axis in enumerate(self.axes):
            is_mine = axis.cells[codes[:, axis.parameter]][:, None] == np.arange(len(axis.counts))
            cells[:, place] = packed(is_mine, self.n_words)
        return cells

    def labels(self, nodes: Small) -> Small:
        """Return, by box, then combination, the position of the class that wins whatever leaves follow.

        -1 if more than one class may win, or the sums are closer than rounding can tell. `nodes` are the nodes reached,
        by box, then combination of sensitive values, then tree.
        """
        low = np.stack([values[nodes].sum(axis=2) for values in self.nodes.low])
        high = np.stack([values[nodes].sum(axis=2) for values in self.nodes.high])
        first = low.argmax(axis=0)[None]
        np.put_along_axis(high, first, -np.inf, axis=0)
        margin = np.take_along_axis(low, first, axis=0)[0] - high.max(axis=0)
        return np.where(margin > self.nodes.tolerance, first[0], UNDECIDED).astype(np.int32)


def make_plan(seen: Seen, nodes: Nodes) -> TreePlan:
    """Return the plan by which the inputs of a model made of trees are counted.

    It says which tests cut the domain into boxes, and in which sets of levels each test says yes.
    """
    n_nodes, n_combinations = len(nodes.left), len(seen.domain.families)
    both = f"{n_nodes:,} nodes and {n_combinations:,} combinations of sensitive values"
    check_fits(n_nodes * n_combinations, MAX_ENTRIES, f"{both} make {shown(n_nodes * n_combinations)} pairs")
    inner = np.flatnonzero(nodes.spread > 0)  # below any other node nothing is open
    tables, owner = _owners(seen, nodes.column[inner])

    # Nodes that test a free parameter are cut by; all others are decided by the combination alone.
    axis, test = np.full((2, n_nodes), -1, dtype=np.int32)
    axes: list[ParameterCells] = []
    answers: list[Mask] = []
    for position, parameter in enumerate(np.intersect1d(owner, seen.domain.free_columns).tolist()):
        mine = inner[owner == parameter]
        first, number = _distinct(nodes, mine)
        axis[mine], test[mine] = position, number + sum(map(len, answers))
        made, yes = make_axis(parameter, nodes, mine[first], tables[parameter])
        axes.append(made)
        answers.append(yes)
    n_words = max((-(-yes.shape[1] // WORD) for yes in answers), default=1)
    masks = np.concatenate([np.zeros((0, n_words), dtype=np.int64), *(packed(yes, n_words) for yes in answers)])

    fixed, goes_left = _fixed(seen, nodes, inner, owner, tables)
    touches = np.zeros(n_nodes, dtype=bool)
    touches[fixed[goes_left.any(axis=1) & ~goes_left.all(axis=1)]] = True
    for level in nodes.from_below():
        touches[level] |= touches[nodes.left[level]] | touches[nodes.right[level]]
    return TreePlan(seen.domain, nodes, tuple(axes), axis, test, masks, _ahead(nodes, fixed, goes_left), touches)


def _owners(seen: Seen, columns: Codes) -> tuple[list[LevelTable], Codes]:
    """Return a table for each parameter, and for each of these model columns the parameter it is made of; -1 for none.

    A table holds the numbers that the estimator gets for each level of a parameter.
    """
    wanted = np.zeros(len(seen.base), dtype=bool)
    wanted[columns] = True
    tables, owners = [], np.full(len(seen.base), -1)
    for parameter in range(len(seen.domain.parameters)):
        table = seen.table(parameter, wanted)
        owners[table.columns] = parameter
        tables.append(table)
    return tables, owners[columns]


def _distinct(nodes: Nodes, which: Codes) -> tuple[Codes, Codes]:
    """Return, for some nodes, the position of the first node of each distinct test, and the test's number by node."""
    import pandas as pd

    tests = [nodes.column[which], nodes.threshold[which], nodes.missing_left[which]]
    number = pd.DataFrame(dict(enumerate(tests))).groupby([0, 1, 2], sort=False).ngroup().to_numpy()
    return np.unique(number, return_index=True)[1], number


def _fixed(seen: Seen, nodes: Nodes, inner: Codes, owner: Codes, tables: Sequence[LevelTable]) -> tuple[Codes, Mask]:
    """Return the nodes whose tests do not depend on free parameters: the sensitive values alone decide them.

    With them comes a mask by node, then combination of sensitive values: True where the test sends the input left.
    """
    constant = inner[owner < 0]
    answers = nodes.answers(constant, seen.base[None], np.arange(len(seen.base)))
    which, goes_left = [constant], [np.repeat(answers, len(seen.domain.families), axis=1)]
    for parameter, codes in zip(seen.domain.sensitive_columns, seen.domain.combinations.T, strict=True):
        mine = inner[owner == parameter]
        answers = nodes.answers(mine, tables[parameter].values, tables[parameter].columns)
        which.append(mine)
        goes_left.append(answers[:, codes])
    return np.concatenate(which), np.concatenate(goes_left)


def _ahead(nodes: Nodes, fixed: Codes, goes_left: Mask) -> Small:
    """Return the first node from each node downwards whose test the sensitive values alone do not decide.

    It is by node, then combination of sensitive values.
    """
    n_combinations = goes_left.shape[1]
    ahead = np.repeat(np.arange(len(nodes.left), dtype=np.int32)[:, None], n_combinations, axis=1)
    ahead[fixed] = np.where(goes_left, nodes.left[fixed, None], nodes.right[fixed, None])
    while True:
        # Ways double in length each time, so a deep tree takes few turns.
        further = ahead[ahead, np.arange(n_combinations)]
        if (further == ahead).all():
            return ahead
        ahead = further
