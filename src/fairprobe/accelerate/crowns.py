"""Crowns: the ends that inputs come to in the crowns of all trees of a forest at once, by tables.

Each end is a bit of a word, and each tree has some words. A test strikes out the ends on the side that is not taken, so
the words of all tests, combined by "and", leave one bit: the end that an input comes to. All tests of a column depend
on its value alone, so they are one table of words, by value and tree (after QuickScorer: Lucchese et al., SIGIR 2015).
In a walk down a tree the processor guesses every other test wrong; the tables give it nothing to guess.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.accelerate.cells import Cells, Words, groups
from fairprobe.accelerate.crown import Crown, grown
from fairprobe.accelerate.rows import Batch, Floats, Rows

BITS = 64
USED = BITS - 1
HALF = BITS // 2
BLOCK = 8_192
"""Words at a time: they stay in the processor's cache."""

# A word with one bit, times this, has another number in its upper six bits for each bit: a de Bruijn sequence.
SEQUENCE = np.uint64(0x03F79D71B4CB0A89)
UPPER_SIX = np.uint64(58)
PLACES = ((np.uint64(1) << np.arange(BITS, dtype=np.uint64)) * SEQUENCE >> UPPER_SIX).astype(np.intp)
"""By bit, that number. No bit at all has the first bit's number, so the first bit is not used."""

Ends = NDArray[np.intp]
"""Places in tables by tree, word and bit; a word without a bit, because another one of the tree has it, is a place."""

Indices = NDArray[np.intp]


class Crowns:
    """The crowns of all trees of a forest of two classes."""

    def __init__(self, trees: list[Any], roots: NDArray[np.intp], rows: Rows, n_words: int) -> None:
        crowns = grown(trees, rows, n_words * USED)
        shape = (len(trees), n_words, BITS)
        self._nodes, self._values = _tables(trees, roots, crowns, shape)
        second = self._values[:, 1]
        self._goes_on = np.isnan(second)
        self._scale = 2**31 // (len(trees) * n_words)
        self.slack = len(trees) / self._scale
        """How far the bounds may be off."""
        low, high = np.where(self._goes_on, 0, second), np.where(self._goes_on, 1, second)
        lows, highs = np.floor(low * self._scale), np.ceil(high * self._scale)
        self._bounds = (lows.astype(np.int64) << HALF) + highs.astype(np.int64)
        self._first = np.arange(len(trees) * n_words, dtype=np.uint64) * np.uint64(BITS)
        cells = [_cells(column, crowns, rows, n_words) for column in range(len(rows.parameters))]
        self._groups = groups([cells[column] for column in rows.free])
        counts = np.array([len(crown.ends) for crown in crowns])
        self._twins = _bits(np.zeros_like(counts), counts, n_words).ravel() & np.bitwise_and.reduce(
            [cells[column].of_values(values) for column, values in zip(rows.sensitive, rows.twins.T, strict=True)]
        )

    def indices(self, batch: Batch) -> Indices:
        """The inputs' rows of the tables, by group of columns."""
        indices = np.empty((len(self._groups), len(batch)), dtype=np.intp)
        for group, row in zip(self._groups, indices, strict=True):
            row[:] = group.indices(batch)
        return indices

    def bounds(self, indices: Indices) -> tuple[Floats, Floats]:
        """The lowest and highest sum of the second class's probabilities that the ends allow, by twin."""
        n = indices.shape[1]
        sums = np.empty((len(self._twins), n), dtype=np.int64)
        size = max(1, BLOCK // self._twins.shape[1])
        for start in range(0, n, size):
            block = slice(start, start + size)
            shared = self._shared(indices[:, block])
            for combination, twin in enumerate(self._twins):
                # Both bounds are whole numbers in one word, so that one sum does for both; einsum sums short rows best.
                np.einsum("ij->i", self._bounds.take(self._ends(shared & twin)), out=sums[combination, block])
        return (sums >> HALF) / self._scale, (sums & 2**HALF - 1) / self._scale

    def ends(self, indices: Indices, combinations: NDArray[np.intp], inputs: NDArray[np.intp]) -> Ends:
        """The ends that some twins come to, by twin and word."""
        return self._ends(self._shared(indices[:, inputs]) & self._twins[combinations])

    def goes_on(self, ends: Ends) -> NDArray[np.bool_]:
        """Whether the tree goes on from an end."""
        return self._goes_on.take(ends)

    def nodes(self, ends: Ends) -> NDArray[np.intp]:
        """The nodes of ends, numbered through from the roots."""
        return self._nodes.take(ends)

    def votes(self, ends: Ends) -> Floats:
        """The classes' probabilities: NaN where the tree goes on, nothing where another word has the tree's end."""
        return self._values.take(ends, axis=0)

    def _shared(self, indices: Indices) -> Words:
        """The ends left by the tests of all columns that are not sensitive."""
        if not self._groups:
            return np.full((indices.shape[1], self._twins.shape[1]), ~np.uint64(0))
        words = self._groups[0].table.take(indices[0], axis=0)
        for group, index in zip(self._groups[1:], indices[1:], strict=True):
            words &= group.table.take(index, axis=0)
        return words

    def _ends(self, words: Words) -> Ends:
        """The places of the one bit left in each word; the words are used up."""
        words *= SEQUENCE
        words >>= UPPER_SIX
        words += self._first
        return words.view(np.intp)


def _tables(
    trees: list[Any], roots: NDArray[np.intp], crowns: list[Crown], shape: tuple[int, int, int]
) -> tuple[NDArray[np.intp], Floats]:
    """The node of each end, and the classes' probabilities there: NaN if it is no leaf."""
    nodes, values = np.zeros(shape, dtype=np.intp), np.zeros((*shape, 2))
    for place, (tree, crown) in enumerate(zip(trees, crowns, strict=True)):
        words, bits = np.divmod(np.arange(len(crown.ends)), USED)
        goes_on = tree.children_left[crown.ends] >= 0
        nodes[place, words, PLACES[bits + 1]] = roots[place] + np.array(crown.ends)
        values[place, words, PLACES[bits + 1]] = np.where(goes_on[:, None], np.nan, tree.value[crown.ends, 0, :])
    return nodes.ravel(), values.reshape(-1, 2)


def _bits(starts: NDArray[np.intp], stops: NDArray[np.intp], n_words: int) -> Words:
    """Words with the bits of the ends from a start to a stop, by row and word."""
    firsts = np.arange(n_words) * USED
    low, high = (np.clip(places[:, None] - firsts, 0, USED).astype(np.uint64) for places in (starts, stops))
    one = np.uint64(1)
    return ((one << high) - (one << low)) << one


def _cells(column: int, crowns: list[Crown], rows: Rows, n_words: int) -> Cells:
    """All tests of one column, as a table."""
    found = [(tree, test) for tree, crown in enumerate(crowns) for test in crown.tests if test.column == column]
    trees = np.array([tree for tree, _ in found], dtype=np.intp)
    sides = np.array([(test.start, test.middle, test.stop) for _, test in found], dtype=np.intp).reshape(-1, 3)
    starts, middles, stops = sides.T
    return Cells(
        column,
        rows,
        trees=trees,
        thresholds=np.array([test.threshold for _, test in found]),
        lefts=_bits(starts, middles, n_words),
        rights=_bits(middles, stops, n_words),
        n_trees=len(crowns),
    )
