"""A forest of two classes, in the way that is fastest for what is asked.

Walkers are followed from batch to batch. For other inputs crowns bound the votes, which settles most, and for close
votes the trees are walked; the first few are walked at once, as growing the crowns takes time.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.accelerate.crowns import Crowns, Ends
from fairprobe.accelerate.forest import Forest
from fairprobe.accelerate.rows import Batch, Floats, Rows, Singles
from fairprobe.accelerate.trail import Trail
from fairprobe.accelerate.walks import Walks

FEW_TWINS = 2**14
"""Growing the crowns takes about as long as scikit-learn's walks of so many."""

SETTLE_EVERY = 4
"""So many trees after each other are walked before asking which votes are settled."""

CHUNK = 4096
"""Twins at a time: a search's batch of inputs in one go, and a bound on memory."""

FEW = 32
"""Up to so many trees, two words for each are worth their while: most of the time goes into calls."""

PART = 64
"""Words looked into before asking which votes are settled."""


class TwoClassForest(Forest):
    """Two classes: whether the second one is ahead is all there is to say."""

    def __init__(self, trees: list[Any], rows: Rows) -> None:
        super().__init__(trees, rows)
        self._trail = Trail(trees, rows)
        self._n_walked = 0

    @property
    def _half(self) -> float:
        return len(self._trees) / 2

    @cached_property
    def _walks(self) -> Walks:
        return Walks(self._trees)

    @cached_property
    def _crowns(self) -> Crowns:
        n_words = 2 if len(self._trees) <= FEW else 1
        return Crowns(self._trees, self._walks.roots, self._rows, n_words)

    def positions(self, batch: Batch) -> NDArray[np.bool_]:
        """Whether the mean of the second class is the higher one."""
        if self._trail.leads_to(batch):
            return self._trail.follow(batch)
        self._trail.start(batch)
        self._n_walked += batch.shape[0] * batch.shape[1]
        return self._by_walks(batch) if self._n_walked <= FEW_TWINS else self._by_crowns(batch)

    def _by_walks(self, batch: Batch) -> NDArray[np.bool_]:
        """Sum tree by tree, as scikit-learn does, but leave out those whose votes are settled."""
        twins = np.indices(batch.shape[::-1]).reshape(2, -1)  # side by side, as most go the same way
        singles, rows = batch.whole_singles(twins[1], twins[0]), np.arange(twins.shape[1])
        second, total = np.empty(len(rows), dtype=bool), np.zeros((len(rows), 2))
        for left, tree in zip(reversed(range(len(self._trees))), self._trees, strict=True):
            total += tree.value[:, 0, :].take(tree.apply(singles), axis=0)
            if left and left % SETTLE_EVERY == 0 and left < self._half:
                lead = total[:, 1] - total[:, 0]
                second[rows] = lead > 0
                on = np.abs(lead) <= left + 1
                singles, rows, total = singles[on], rows[on], total[on]
        total /= len(self._trees)
        second[rows] = total[:, 1] > total[:, 0]
        return second.reshape(batch.shape[::-1]).T

    def _by_crowns(self, batch: Batch) -> NDArray[np.bool_]:
        """The trees' crowns settle most votes, and only close ones need the trees themselves."""
        size = max(1, CHUNK // len(self._rows.twins))
        if len(batch) <= size:
            return self._chunk(batch)
        codes = [batch.codes[start : start + size] for start in range(0, len(batch), size)]
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
