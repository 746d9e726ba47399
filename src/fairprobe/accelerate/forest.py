"""A forest: the mean of its trees' probabilities, summed in scikit-learn's order so that ties fall alike."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.accelerate.rows import Batch, Floats, Rows
from fairprobe.accelerate.tree import Paths

FEW = 10
"""Up to so many trees, walking down them all is as fast as looking up their crowns."""

PURE = 1e-12
"""How far from 1 the sum of a leaf's two probabilities may be."""


def evaluator(model: Any, rows: Rows) -> Forest | None:
    """A fitted forest, compiled; many trees of two classes have a faster way."""
    trees = [member.tree_ for member in model.estimators_]
    if model.n_outputs_ != 1 or not trees:
        return None
    if model.n_classes_ != 2 or len(trees) <= FEW or not all(map(_adds_up, trees)):
        return Forest(trees, rows)
    from fairprobe.accelerate.two_classes import TwoClassForest

    return TwoClassForest(trees, rows)


def _adds_up(tree: Any) -> bool:
    """Whether one of a leaf's probabilities tells the other; a leaf of no weight has neither."""
    value = tree.value
    return bool((np.abs(value[:, 0, 0] + value[:, 0, 1] - 1) < PURE).all())


class Forest:
    """Any number of classes: every tree is walked."""

    def __init__(self, trees: list[Any], rows: Rows) -> None:
        self.name = f"forest of {len(trees):,} trees"
        self._trees = trees
        self._rows = rows

    @cached_property
    def _paths(self) -> list[Paths]:
        return [Paths(tree, self._rows) for tree in self._trees]

    @cached_property
    def _values(self) -> list[Floats]:
        return [tree.value[:, 0, :] for tree in self._trees]

    def positions(self, batch: Batch) -> NDArray[Any]:
        """The class with the highest mean."""
        return self.probabilities(batch).argmax(axis=2)

    def probabilities(self, batch: Batch) -> Floats:
        """The mean over the trees."""
        total = np.zeros((*batch.shape, self._values[0].shape[1]))
        for paths, values in zip(self._paths, self._values, strict=True):
            total += values.take(paths.leaves(batch), axis=0)
        total /= len(self._trees)
        return total
