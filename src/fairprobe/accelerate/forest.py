"""A forest: the mean of its trees' probabilities, summed in scikit-learn's order so that ties fall alike."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.accelerate.crowns import Crowns, Ends
from fairprobe.accelerate.rows import Batch, Floats, Rows, Singles
from fairprobe.accelerate.tree import Paths
from fairprobe.accelerate.walks import Walks

CHUNK = 2048
"""Inputs at a time: a search's batch in one go, and a bound on memory."""

FEW = 32
"""Up to so many trees two words each are worth their while: most of the time is spent on calls."""

PART = 64
"""Words of ends looked into before asking which votes are settled."""

PURE = 1e-12
"""How far from 1 the sum of a leaf's two probabilities may be."""


def evaluator(model: Any, rows: Rows) -> Forest | None:
    """A fitted forest, compiled; two classes have a faster way."""
    trees = [member.tree_ for member in model.estimators_]
    if model.n_outputs_ != 1 or not trees:
        return None
    halves = model.n_classes_ == 2 and all(_adds_up(tree) for tree in trees)
    return HalvedForest(trees, rows) if halves else Forest(trees, rows)


def _adds_up(tree: Any) -> bool:
    """Whether one of a leaf's probabilities tells the other; a leaf of no weight has neither."""
    value = tree.value
    return bool((np.abs(value[:, 0, 0] + value[:, 0, 1] - 1) < PURE).all())


class Forest:
    """Any number of classes: every tree is walked."""

    def __init__(self, trees: list[Any], rows: Rows) -> None:
        self.name = f"forest of {len(trees):,} trees"
        self._trees = trees
        self._half = len(trees) / 2
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


class HalvedForest(Forest):
    """Two classes: the trees' crowns settle most votes, and only close ones need the trees themselves."""

    @cached_property
    def _crowns(self) -> Crowns:
        return Crowns(self._trees, self._walks.roots, self._rows, 2 if len(self._trees) <= FEW else 1)

    @cached_property
    def _walks(self) -> Walks:
        return Walks(self._trees)

    def positions(self, batch: Batch) -> NDArray[np.bool_]:
        """Whether the mean of the second class is the higher one."""
        if len(batch) <= CHUNK:
            return self._chunk(batch)
        codes = [batch.codes[start : start + CHUNK] for start in range(0, len(batch), CHUNK)]
        return np.concatenate([self._chunk(self._rows.batch(part)) for part in codes], axis=1)

    def _chunk(self, batch: Batch) -> NDArray[np.bool_]:
        indices = self._crowns.indices(batch)
        low, high = self._crowns.bounds(indices)
        second: NDArray[np.bool_] = low > self._half
        close = self._are_open(low, high).nonzero()
        if len(close[0]):
            ends = self._crowns.ends(indices, *close)
            second[close] = self._count(batch.whole_singles(*close), ends, low[close], high[close])
        return second

    def _are_open(self, low: Floats, high: Floats) -> NDArray[np.bool_]:
        """Whether votes that lie between these sums may still go either way."""
        slack = self._crowns.slack
        return (low <= self._half + slack) & (high >= self._half - slack)

    def _count(self, singles: Singles, ends: Ends, low: Floats, high: Floats) -> NDArray[np.bool_]:
        """Walk on from the ends that are no leaves, a part of the words at a time, until the votes are settled."""
        rows = np.arange(len(ends))
        goes_on = self._crowns.goes_on(ends)
        walked = []
        for first in range(0, ends.shape[1], PART):
            places, words = goes_on[rows, first : first + PART].nonzero()
            some = rows[places]
            words += first
            leaves = self._walks.leaves(self._crowns.nodes(ends[some, words]), some, singles)
            votes = self._walks.values.take(leaves, axis=0)
            low += np.bincount(some, votes[:, 1], len(low))
            high -= np.bincount(some, votes[:, 0], len(high))
            rows = rows[self._are_open(low[rows], high[rows])]
            walked.append((some, words, votes))
        second: NDArray[np.bool_] = low > self._half
        second[rows] = self._exactly(ends, rows, *map(np.concatenate, zip(*walked, strict=True)))
        return second

    def _exactly(self, ends: Ends, rows: Any, walked: Any, words: Any, found: Floats) -> NDArray[np.bool_]:
        """Sum the votes of some rows one by one, as scikit-learn does, since rounding decides ties."""
        votes = self._crowns.votes(ends[rows].T)
        places = np.full(len(ends), -1)
        places[rows] = np.arange(len(rows))
        known = places[walked] >= 0
        votes[words[known], places[walked[known]]] = found[known]
        total = np.zeros((len(rows), 2))
        for vote in votes:
            total += vote
        total /= len(self._trees)
        return total[:, 1] > total[:, 0]
