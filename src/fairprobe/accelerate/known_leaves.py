"""Leaves that were met: how far an input may move and still come to them, and how they vote."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.accelerate.rows import Floats, Singles
from fairprobe.accelerate.walks import at_most

UNKNOWN = 0
"""The place of no leaf: no move leads out of it, and it has no vote."""

SCALE = 2.0**32
"""Votes are counted in whole numbers of this part, whose sums are exact in any order."""

FIRST, MOST = 2**19, 2**24
"""Limits that there is room for at first, which is enough for most searches, and at most: a bound on memory."""

Places = NDArray[np.intp]


class KnownLeaves:
    """Each leaf is described once, when an input first comes to it."""

    def __init__(self, trees: list[Any], n_columns: int) -> None:
        self._trees = trees
        counts = np.array([tree.node_count for tree in trees])
        self._roots = np.cumsum(counts) - counts
        self._leaf_values = [tree.value[:, 0, :] for tree in trees]
        self._place_of = np.zeros(counts.sum(), dtype=np.int32)
        self._n = self._n_measured = UNKNOWN + 1
        self._reached: list[tuple[Places, Singles]] = []
        """Of leaves that are not measured, the tree and a row that came to it, in the order of their places."""
        room = FIRST // (2 * n_columns) + self._n
        self.limits: Singles = np.full((2 * n_columns, room), np.inf, dtype=np.float32)
        """How far a row may move along one column and stay, by place.

        First by column the highest value; then by column what a lower value must stay above, both with their signs
        turned. Any move leads out of a leaf that is not measured.
        """
        self.values: Floats = np.zeros((room, 2))
        """The classes' parts."""
        self.votes: Floats = np.zeros(room)
        """For the second class, in parts of `SCALE`."""

    @property
    def is_full(self) -> bool:
        """Whether it is time to forget them all."""
        return self.limits.size > MOST

    @property
    def n_to_measure(self) -> int:
        """Leaves without limits."""
        return self._n - self._n_measured

    def places(self, trees: Places, leaves: Places, rows: Places, singles: Singles) -> Places:
        """The places of the leaves that some rows came to, tree after tree."""
        nodes = self._roots.take(trees) + leaves
        places = self._place_of.take(nodes)
        new = np.flatnonzero(places == UNKNOWN)
        if len(new):
            self._meet(nodes[new], trees[new], leaves[new], singles, rows[new])
            places[new] = self._place_of.take(nodes[new])
        return places

    def _meet(self, nodes: Places, trees: Places, leaves: Places, singles: Singles, rows: Places) -> None:
        each = np.arange(len(nodes))
        self._place_of[nodes] = each
        once = np.flatnonzero(self._place_of.take(nodes) == each)  # of several that came to a leaf, the last
        some = slice(self._n, self._n + len(once))
        self._make_room(some.stop)
        self._place_of[nodes[once]] = np.arange(some.start, some.stop)
        values, leaves = self.values[some], leaves[once]
        for tree, own in in_each_tree(trees[once], len(self._trees)):
            values[own] = self._leaf_values[tree].take(leaves[own], axis=0)
        self.votes[some] = np.rint(self.values[some, 1] * SCALE)
        self.limits[:, some] = -np.inf
        self._reached.append((trees[once], singles[rows[once]]))
        self._n = some.stop

    def _make_room(self, n: int) -> None:
        room = len(self.votes)
        if n <= room:
            return
        more = max(n, 2 * room) - room
        self.limits = np.pad(self.limits, ((0, 0), (0, more)))
        self.values = np.pad(self.values, ((0, more), (0, 0)))
        self.votes = np.pad(self.votes, (0, more))

    def measure(self) -> None:
        """Find the limits of all leaves: worth its while for many at a time."""
        trees, rows = (np.concatenate(parts) for parts in zip(*self._reached, strict=True))
        self.limits[:, self._n_measured : self._n] = limits(self._trees, trees, rows).T
        self._n_measured = self._n
        self._reached = []


def limits(trees: list[Any], places: Places, rows: Singles) -> Singles:
    """The limits (see `KnownLeaves`) of the leaves that rows come to, each in one of the trees."""
    order = np.argsort(places, kind="stable")
    rows, n_columns = rows[order], rows.shape[1]
    parts = [_tests(trees[place], rows[some]) for place, some in in_each_tree(places[order], len(trees))]
    lengths, columns, thresholds = (np.concatenate(fields) for fields in zip(*parts, strict=True))
    inner = np.flatnonzero(columns >= 0)
    steps, columns = np.repeat(np.arange(len(rows)), lengths)[inner], columns[inner]
    thresholds = at_most(thresholds[inner])
    goes_left = rows[steps, columns] <= thresholds
    found = np.full(len(rows) * 2 * n_columns, np.inf, dtype=np.float32)
    cells = (2 * order[steps] + ~goes_left) * n_columns + columns
    np.minimum.at(found, cells, np.where(goes_left, thresholds, -thresholds))
    return found.reshape(len(rows), -1)


def _tests(tree: Any, rows: Singles) -> tuple[Places, Places, Floats]:
    """How many nodes each row passes, their columns (below 0: a leaf) and thresholds."""
    paths = tree.decision_path(rows)
    return np.diff(paths.indptr), tree.feature[paths.indices], tree.threshold[paths.indices]


def in_each_tree(trees: Places, n_trees: int) -> Iterator[tuple[int, slice]]:
    """The trees that are named at all, in order, and where: each tree's places must be side by side."""
    stops = np.cumsum(np.bincount(trees, minlength=n_trees)).tolist()
    for tree, (start, stop) in enumerate(pairwise([0, *stops])):
        if start < stop:
            yield tree, slice(start, stop)
