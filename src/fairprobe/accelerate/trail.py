"""A trail: what is asked is mostly one move away from what was asked before, and then most leaves stay the same.

A walker that moves along one column leaves some four leaves in a hundred. Which ones is seen by the leaves' limits,
without a walk down the trees; and they are walked to anew only where they could decide the vote.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.accelerate.known_leaves import SCALE, UNKNOWN, KnownLeaves, Places, in_each_tree
from fairprobe.accelerate.rows import Batch, Floats, Rows, Singles

FEW = 2
"""Columns along which an input may move: a walker that steps back and tries another way moves along two."""

FAR = 0.25
"""If more of the inputs than that moved farther, a batch has nothing to do with the one before."""

MOST = 2**22
"""Leaves, by twin and tree, that are remembered: a bound on memory."""

MANY = 32
"""Leaves of each tree, on average, that are measured at a time."""

AT_ONCE = 2**14
"""Leaves that are walked to at a time: memory that was never used before is dear, so little of it is used again."""

Mask = NDArray[np.bool_]


class Trail:
    """Follows inputs from one batch to the next."""

    def __init__(self, trees: list[Any], rows: Rows) -> None:
        self._trees = trees
        self._rows = rows
        self._n_trees = len(trees)
        self._half = self._n_trees / 2 * SCALE
        self._slack = float(self._n_trees)
        """How far a sum of votes may be off by rounding, scikit-learn's included."""
        self._batch: Batch | None = None
        self._known: KnownLeaves | None = None
        self._twins: Twins | None = None
        self._order: Places = np.empty(0, dtype=np.intp)
        """Twins that were alike when they began side by side: those walk down a tree in less time."""

    def start(self, batch: Batch) -> None:
        """Begin at a batch."""
        is_small = batch.shape[0] * batch.shape[1] * self._n_trees <= MOST
        self._batch, self._twins = batch if is_small else None, None

    def leads_to(self, batch: Batch) -> bool:
        """Whether most inputs of a batch are a move away from those of the last one."""
        if self._batch is None or len(self._batch) != len(batch) or not len(batch):
            return False
        return bool(_went_far(self._batch.singles != batch.singles).mean() <= FAR)

    def follow(self, batch: Batch) -> Mask:
        """Whether the second class has the higher mean, by combination, then input."""
        assert self._batch is not None
        before, self._batch = self._batch.singles, batch
        if self._known is None or self._known.is_full:
            self._known, self._twins = KnownLeaves(self._trees, len(self._rows.parameters)), None
        if self._twins is None:
            self._twins = Twins(self._known, batch.shape[0] * batch.shape[1], self._n_trees)
            self._order = self._twins_of(np.lexsort(batch.singles.T)).T.ravel()
        else:
            self._move(self._twins, before, batch.singles)
        self._find(self._twins, batch)
        return self._decide(self._twins).reshape(batch.shape)

    def _move(self, twins: Twins, before: Singles, after: Singles) -> None:
        """Note which twins leave which leaves, column by column."""
        if twins.known.n_to_measure > MANY * self._n_trees:
            twins.known.measure()
        moved = before != after
        far = _went_far(moved)
        twins.forget(self._twins_of(np.flatnonzero(far)))
        moved[far] = False
        inputs, columns = _where(moved)
        while len(inputs):
            first = np.ones(len(inputs), dtype=bool)
            first[1:] = inputs[1:] != inputs[:-1]
            some = inputs[first], columns[first]
            twins.move(self._twins_of(some[0]), some[1], before[some], after[some])
            inputs, columns = inputs[~first], columns[~first]

    def _twins_of(self, inputs: Places) -> Places:
        assert self._batch is not None
        return np.arange(len(self._rows.twins))[:, None] * len(self._batch) + inputs

    def _find(self, twins: Twins, batch: Batch) -> None:
        """Walk to the leaves that are not known, where they could decide the vote; some trees at a time, if many."""
        n_unknown = int(twins.n_unknown[self._are_open(twins)].sum())
        size = max(1, self._n_trees * AT_ONCE // max(n_unknown, AT_ONCE))
        for first in range(0, self._n_trees, size):
            some = self._order[self._are_open(twins).take(self._order)]
            self._walk(twins, batch, some, slice(first, first + size))

    def _are_open(self, twins: Twins) -> Mask:
        """Which votes may still go either way."""
        low, high = twins.sums, twins.sums + twins.n_unknown * SCALE
        is_open: Mask = (low <= self._half + self._slack) & (high >= self._half - self._slack) & (low < high)
        return is_open

    def _walk(self, twins: Twins, batch: Batch, some: Places, part: slice) -> None:
        """Walk to the leaves of some twins that are not known, in a part of the trees."""
        singles = batch.whole_singles(*np.divmod(some, len(batch)))
        trees, rows = _where(twins.places[some, part].T == UNKNOWN)
        trees += part.start
        leaves, walkers = np.empty_like(rows), singles.take(rows, axis=0)
        for tree, own in in_each_tree(trees, self._n_trees):
            leaves[own] = self._trees[tree].apply(walkers[own])
        twins.come(some[rows], trees, twins.known.places(trees, leaves, rows, singles))

    def _decide(self, twins: Twins) -> Mask:
        """Sums tell; votes that are too close for them are summed one by one, as scikit-learn does."""
        second: Mask = twins.sums > self._half
        close = np.flatnonzero((np.abs(twins.sums - self._half) <= self._slack) & (twins.n_unknown == 0))
        votes = twins.known.values.take(twins.places.take(close, axis=0), axis=0)
        total = np.add.accumulate(votes, axis=1)[:, -1] / self._n_trees
        second[close] = total[:, 1] > total[:, 0]
        return second


class Twins:
    """The leaf that each twin has come to in each tree; UNKNOWN, with no vote, where that is to be found out."""

    def __init__(self, known: KnownLeaves, n: int, n_trees: int) -> None:
        self.known = known
        self.places = np.full((n, n_trees), UNKNOWN)
        self.n_unknown = np.full(n, n_trees)
        self.sums: Floats = np.zeros(n)
        """Of the votes that are known."""

    def forget(self, twins: Places) -> None:
        """Know nothing of some twins any more."""
        self.places[twins], self.n_unknown[twins], self.sums[twins] = UNKNOWN, self.places.shape[1], 0.0

    def move(self, twins: Places, columns: Places, before: Singles, after: Singles) -> None:
        """Let families of twins move, each along one column: some leaves are left."""
        goes_up = after > before
        # The next number up, as one that moves down must stay above its limit, and may not be equal to it.
        values = np.where(goes_up, after, np.nextafter(-after, np.float32(np.inf)))[:, None]
        limits, n_columns = self.known.limits, len(self.known.limits) // 2
        lines = np.where(goes_up, columns, n_columns + columns)[:, None] * limits.shape[1]
        for members in twins:
            places = self.places.take(members, axis=0)
            rows, trees = _where(values > limits.take(places + lines))
            self._count(members[rows], places[rows, trees], -1)
            self.places[members[rows], trees] = UNKNOWN

    def come(self, twins: Places, trees: Places, places: Places) -> None:
        """Let twins come to leaves."""
        self.places[twins, trees] = places
        self._count(twins, places, 1)

    def _count(self, twins: Places, places: Places, sign: int) -> None:
        self.sums += sign * np.bincount(twins, self.known.votes.take(places), len(self.sums))
        self.n_unknown -= sign * np.bincount(twins, minlength=len(self.sums))


def _went_far(moved: Mask) -> Mask:
    return moved.sum(axis=1) > FEW


def _where(mask: Mask) -> tuple[Places, Places]:
    """The rows and columns where a mask is true; `nonzero` takes ten times as long for few of many."""
    rows, columns = np.divmod(np.flatnonzero(mask), mask.shape[1])
    return rows, columns
