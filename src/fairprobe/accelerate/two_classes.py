"""A forest of two classes: crowns bound the votes, which settles most; for close ones the trees are walked."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.accelerate.crowns import Crowns, Ends
from fairprobe.accelerate.forest import Forest
from fairprobe.accelerate.rows import Batch, Floats, Singles
from fairprobe.accelerate.walks import Walks

CHUNK = 4096
"""Twins at a time: a search's batch of inputs in one go, and a bound on memory."""

FEW = 32
"""Up to so many trees, two words for each are worth their while: most of the time goes into calls."""

PART = 64
"""Words looked into before asking which votes are settled."""


class TwoClassForest(Forest):
    """Two classes: the trees' crowns settle most votes, and only close ones need the trees themselves."""

    @property
    def _half(self) -> float:
        return len(self._trees) / 2

    @cached_property
    def _crowns(self) -> Crowns:
        n_words = 2 if len(self._trees) <= FEW else 1
        return Crowns(self._trees, self._walks.roots, self._rows, n_words)

    @cached_property
    def _walks(self) -> Walks:
        return Walks(self._trees)

    def positions(self, batch: Batch) -> NDArray[np.bool_]:
        """Whether the mean of the second class is the higher one."""
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
