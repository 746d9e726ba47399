"""Walks: many inputs go down many trees in step, each from a node of its own.

One at a time, as scikit-learn does it, each step into a rarely visited part of a large forest waits for the memory.
Here all wait together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.accelerate.rows import Floats, Singles

Nodes = NDArray[np.int32]

THRESHOLD, COLUMN, LEFT, RIGHT = range(4)


STEPS = 3
"""Taken before those that came to a leaf are left out: leaving out costs about as much as a step."""


class Walks:
    """All nodes of a forest, numbered through; a node's four numbers lie side by side, so a step fetches them once."""

    def __init__(self, trees: list[Any]) -> None:
        counts = [tree.node_count for tree in trees]
        self.roots = np.cumsum([0, *counts[:-1]])
        self.values: Floats = np.concatenate([tree.value[:, 0, :] for tree in trees])
        self._nodes = np.empty((sum(counts), 4), dtype=np.int32)
        for tree, root, count in zip(trees, self.roots, counts, strict=True):
            _write(tree, root, self._nodes[root : root + count])

    def leaves(self, nodes: NDArray[np.integer], rows: NDArray[np.intp], singles: Singles) -> NDArray[np.integer]:
        """The leaves that some rows come to, each from a node."""
        leaves = nodes.copy()
        walking = np.arange(len(nodes))
        numbers, firsts = singles.ravel(), rows * singles.shape[1]
        while len(walking):
            reached = nodes
            for _ in range(STEPS):
                reached = self._step(reached, firsts, numbers)
            leaves[walking] = reached
            on = np.flatnonzero(reached != nodes)
            walking, nodes, firsts = walking[on], reached[on], firsts[on]
        return leaves

    def _step(self, nodes: NDArray[np.integer], firsts: NDArray[np.intp], numbers: Singles) -> NDArray[np.integer]:
        fields = self._nodes.take(nodes, axis=0)
        goes_left = numbers.take(firsts + fields[:, COLUMN]) <= fields.view(np.float32)[:, THRESHOLD]
        return np.where(goes_left, fields[:, LEFT], fields[:, RIGHT])


def _write(tree: Any, root: int, nodes: Nodes) -> None:
    """Write a tree's nodes; a leaf leads to itself, whatever its column holds."""
    nodes.view(np.float32)[:, THRESHOLD] = at_most(tree.threshold)
    nodes[:, COLUMN] = tree.feature
    lefts = tree.children_left
    nodes[:, LEFT], nodes[:, RIGHT] = lefts, tree.children_right
    nodes[:, LEFT:] += root
    leaves = np.flatnonzero(lefts < 0)
    nodes[leaves, COLUMN] = 0
    nodes[leaves, LEFT] = nodes[leaves, RIGHT] = leaves + root


def at_most(thresholds: Floats) -> Singles:
    """The same thresholds for float32: the largest number that is not above each."""
    singles = thresholds.astype(np.float32)
    above = np.flatnonzero(singles > thresholds)
    singles[above] = np.nextafter(singles[above], np.float32(-np.inf))
    return singles
