"""A decision tree: one walk down for a whole family, which parts only where a sensitive parameter is tested."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.accelerate.rows import Batch, Floats, Rows

Nodes = NDArray[np.intp]

AT_ONCE = 8_192
"""Rows of twins that part: fewer calls, but they should stay in the processor's cache."""


def evaluator(model: Any, rows: Rows) -> Tree | None:
    """A fitted tree, compiled."""
    return Tree(model.tree_, rows) if model.n_outputs_ == 1 else None


class Paths:
    """The leaves that families end in, by one tree."""

    def __init__(self, tree: Any, rows: Rows) -> None:
        self._tree = tree
        self._parting = _below(tree, parting(tree, rows))

    def leaves(self, batch: Batch) -> Nodes:
        """By combination, then input."""
        leaves: Nodes = np.empty(batch.shape, dtype=np.intp)
        leaves[:] = self._tree.apply(batch.singles)
        parted = np.flatnonzero(self._parting.take(leaves[0]))
        if len(parted):
            self._part(batch, parted, leaves)
        return leaves

    def _part(self, batch: Batch, parted: Nodes, leaves: Nodes) -> None:
        """Walk again for the other combinations, some of them at a time."""
        some = batch.singles.take(parted, axis=0)
        size = max(1, AT_ONCE // len(parted))
        for start in range(1, len(leaves), size):
            twins = batch.rows.twins[start : start + size]
            rows = np.repeat(some[None], len(twins), axis=0)
            rows[:, :, batch.rows.sensitive] = twins[:, None]
            found = self._tree.apply(rows.reshape(-1, rows.shape[2]))
            leaves[start : start + size, parted] = found.reshape(len(twins), -1)


class Tree:
    """One tree."""

    def __init__(self, tree: Any, rows: Rows) -> None:
        self.name = f"tree of {tree.n_leaves:,} leaves"
        self._paths = Paths(tree, rows)
        self._values: Floats = tree.value[:, 0, :]
        self._best = self._values.argmax(axis=1)

    def positions(self, batch: Batch) -> Nodes:
        """The likeliest class of each leaf."""
        return self._best.take(self._paths.leaves(batch))

    def probabilities(self, batch: Batch) -> Floats:
        """The classes' parts of each leaf."""
        return self._values.take(self._paths.leaves(batch), axis=0)


def parting(tree: Any, rows: Rows) -> NDArray[np.bool_]:
    """Which tests do not go the same way for all combinations of sensitive values."""
    parts = np.zeros(tree.node_count, dtype=bool)
    for column, values in zip(rows.sensitive, rows.twins.T.astype(np.float32), strict=True):
        between = (tree.threshold >= values.min()) & (tree.threshold < values.max())
        parts |= (tree.feature == column) & between
    return parts


def _below(tree: Any, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which nodes have a marked one above them, level by level."""
    below = np.zeros(tree.node_count, dtype=bool)
    level = np.zeros(1, dtype=np.intp)
    while len(level):
        inner = level[tree.children_left[level] >= 0]
        children = np.stack([tree.children_left[inner], tree.children_right[inner]])
        below[children] = marked[inner] | below[inner]
        level = children.ravel()
    return below
