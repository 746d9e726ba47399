"""Factors: how the bins of one column are spread, given those of a few others. Together they are a density.

Which columns a factor looks at is learned: first the tree of Chow and Liu, then the columns that tell most beside those
already looked at. What few rows say is mixed with what is known without the last column looked at, and so on down to
nothing: every combination of bins has some chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairprobe.arrays import Codes, Floats
from fairprobe.domain.bins import strongest

MOST_PARENTS = 3

MOST_CELLS = 500_000
"""Cells of a factor's table; chosen: 4 MB."""

LEAST_GAIN = 0.001
"""Gain in mean log probability per row that another parent must bring; chosen."""

MOST_ROWS = 20_000
"""Rows used to choose parents; chosen for speed. The tables then use all rows."""


@dataclass(frozen=True)
class Factor:
    """The distribution of a column's bins, given the bins of its parents."""

    child: int
    parents: tuple[int, ...]
    """The parents, the most informative first. Where rows are few, the last ones matter less."""
    strengths: tuple[float, ...]
    """Weight, in rows, of what is known without the last parent; the first number is for no parent at all."""
    counts: Codes
    """The number of rows by the parents' bins in their order, then the child's bin."""

    @cached_property
    def chances(self) -> Floats:
        """The probability of the child's bins, by the parents' bins in one number."""
        sums = [self.counts]
        for _ in self.parents:
            sums.append(sums[-1].sum(axis=-2))
        chances = np.full(self.counts.shape[-1], 1 / self.counts.shape[-1])
        for counts, strength in zip(reversed(sums), self.strengths, strict=True):
            below = chances if counts.ndim == 1 else chances[..., None, :]
            chances = (counts + strength * below) / (counts.sum(axis=-1, keepdims=True) + strength)
        return chances.reshape(-1, self.counts.shape[-1])

    @cached_property
    def _logs(self) -> Floats:
        return np.log(self.chances).ravel()

    @cached_property
    def _ends(self) -> Floats:
        """Cumulated probabilities; the row of number r runs from r to r + 1."""
        ends = np.cumsum(self.chances, axis=1)
        ends /= ends[:, -1:]
        return (ends + np.arange(len(ends))[:, None]).ravel()

    def contexts(self, bins: Sequence[Codes]) -> Codes:
        """The parents' bins combined into one number."""
        number: Codes = np.zeros(len(bins[self.child]), dtype=np.int64)
        for parent, n in zip(self.parents, self.counts.shape, strict=False):
            number = number * n + bins[parent]
        return number

    def log_chances(self, bins: Sequence[Codes]) -> Floats:
        """The log probability of the child's bin in each row; `bins` are by column."""
        return self._logs.take(self.contexts(bins) * self.counts.shape[-1] + bins[self.child])

    def draw(self, bins: Sequence[Codes], rng: np.random.Generator) -> Codes:
        """Bins of the child drawn given the parents' bins."""
        contexts, n = self.contexts(bins), self.counts.shape[-1]
        places = np.searchsorted(self._ends, contexts + rng.random(len(contexts)), side="right")
        return (places - contexts * n).clip(0, n - 1)

    def __getstate__(self) -> dict[str, Any]:
        """Without the tables, which are made again where they are needed."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


class _Learner:
    """Learns factors from the bins of rows, and scores them by leave-one-out likelihood."""

    def __init__(self, bins: Codes, sizes: Sequence[int]) -> None:
        self._bins = bins
        self._sizes = list(sizes)

    def fits(self, columns: Sequence[int]) -> bool:
        """Whether a table of these columns is small enough."""
        return float(np.prod([self._sizes[column] for column in columns], dtype=np.float64)) <= MOST_CELLS

    def learn(self, child: int, parents: Sequence[int]) -> tuple[Factor, float]:
        """The factor of a child and its parents, and its leave-one-out log likelihood."""
        columns = [*parents, child]
        sizes = [self._sizes[column] for column in columns]
        cells = np.ravel_multi_index(tuple(self._bins[:, column] for column in columns), sizes)
        counts = np.bincount(cells, minlength=int(np.prod(sizes))).reshape(sizes)
        strengths: list[float] = []
        # What is expected of a row without the last parent, by all other rows: by itself too, any column would tell.
        below, score = np.full(sizes[-1], 1 / sizes[-1]), 0.0
        for n_parents in range(len(parents) + 1):
            some = counts.sum(axis=tuple(range(n_parents, len(parents))))
            totals = some.sum(axis=-1, keepdims=True)
            expected = np.broadcast_to(below[..., None, :], some.shape) if n_parents else below
            filled = np.nonzero(some)
            strength, score = strongest(some[filled], np.broadcast_to(totals, some.shape)[filled], expected[filled])
            strengths.append(strength)
            below = (np.maximum(some - 1, 0) + strength * expected) / (np.maximum(totals - 1, 0) + strength)
        return Factor(child, tuple(parents), tuple(strengths), counts), score


def learned(bins: Codes, sizes: Sequence[int]) -> list[Factor]:
    """Factors for all columns of a table of bins, each behind its parents."""
    some = bins[np.linspace(0, len(bins) - 1, MOST_ROWS).astype(np.int64)] if len(bins) > MOST_ROWS else bins
    parents = _structure(_Learner(some, sizes), len(sizes), LEAST_GAIN * len(some))
    learner = _Learner(bins, sizes)
    return [learner.learn(child, parents[child])[0] for child in _in_order(parents)]


def tree_of(bins: Codes, sizes: Sequence[int]) -> list[Factor]:
    """The factors of the tree of Chow and Liu, for comparison."""
    learner = _Learner(bins, sizes)
    parents, _ = _tree(learner, len(sizes), LEAST_GAIN * len(bins))
    return [learner.learn(child, parents[child])[0] for child in _in_order(parents)]


def _structure(learner: _Learner, n_columns: int, least: float) -> list[list[int]]:
    """The parents of each column: the tree first, then always the parent that adds most, while one adds enough."""
    parents, scores = _tree(learner, n_columns, least)

    def gains(child: int) -> dict[int, float]:
        if len(parents[child]) >= MOST_PARENTS:
            return {}
        more = [other for other in range(n_columns) if other != child and other not in parents[child]]
        return {
            other: learner.learn(child, [*parents[child], other])[1] - scores[child]
            for other in more
            if learner.fits([*parents[child], other, child])
        }

    open_gains = [gains(child) for child in range(n_columns)]
    while True:
        above = [_ancestors(parents, column) for column in range(n_columns)]
        best = max(
            (
                (gain, -child, -other)
                for child, by_other in enumerate(open_gains)
                for other, gain in by_other.items()
                if child not in above[other]
            ),
            default=(0.0, 0, 0),
        )
        if best[0] <= least:
            return parents
        gain, child, other = best[0], -best[1], -best[2]
        parents[child].append(other)
        scores[child] += gain
        open_gains[child] = gains(child)


def _tree(learner: _Learner, n_columns: int, least: float) -> tuple[list[list[int]], list[float]]:
    """The tree of Chow and Liu, rooted at the most informative column, and the columns' scores."""
    alone = [learner.learn(column, [])[1] for column in range(n_columns)]
    given = np.zeros((n_columns, n_columns))
    for child in range(n_columns):
        for other in range(n_columns):
            if other != child and learner.fits([other, child]):
                given[child, other] = learner.learn(child, [other])[1] - alone[child]
    shared = (given + given.T) / 2
    root = int(shared.sum(axis=1).argmax())
    parents: list[list[int]] = [[] for _ in range(n_columns)]
    scores = list(alone)
    placed = np.arange(n_columns) == root
    while not placed.all():
        open_pairs = np.where(~placed[:, None] & placed[None], shared, -np.inf)
        child, other = (int(place) for place in np.unravel_index(int(open_pairs.argmax()), shared.shape))
        placed[child] = True
        if given[child, other] > least:
            parents[child].append(other)
            scores[child] += float(given[child, other])
    return parents, scores


def _ancestors(parents: Sequence[Sequence[int]], column: int) -> set[int]:
    """A column and all its ancestors."""
    found, waiting = set[int](), [column]
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting += parents[each]
    return found


def _in_order(parents: Sequence[Sequence[int]]) -> list[int]:
    """The columns in an order in which each follows its parents."""
    order: list[int] = []
    while len(order) < len(parents):
        order += [c for c in range(len(parents)) if c not in order and all(other in order for other in parents[c])]
    return order
