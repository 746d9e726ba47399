"""Factors of a density: the distribution of one column's bins, given the bins of a few other columns.

A bin is a group of a parameter's levels. The parents of a column are learned: first the tree of Chow and Liu, then the
columns that add most information. A distribution from few rows is mixed with the distribution without the last parent,
which is mixed in the same way, and so on. Every combination of bins therefore has a positive probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairprobe.arrays import Codes, Floats, WithoutTables
from fairprobe.domain.parameters import Parameter

MOST_BINS = 32
"""Largest number of bins (groups of levels) into which a density divides one column; chosen."""

LEAST_ROWS = 40
"""Smallest number of rows in a density's bin of several levels, if the data have enough rows; chosen."""

STRENGTHS = (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 3000, 1e4, 1e5, 1e6, 1e9)
"""Candidate weights of a prior distribution, in rows; chosen to cover data of every size."""

MOST_TABLE = 4_000_000
"""Largest number of levels of a parameter whose bins are looked up in a table; chosen: 32 MB."""

MOST_PARENTS = 3
"""Largest number of other columns (parents) that a column's distribution may depend on; chosen."""

MOST_CELLS = 500_000
"""Largest number of cells in the table of counts of one column and its parents; chosen: 4 MB."""

LEAST_GAIN = 0.001
"""Smallest gain in mean log probability per row for which a column gets another parent; chosen."""

MOST_ROWS = 20_000
"""Largest number of rows used to choose the columns' parents; chosen for speed. The tables then use all rows."""


@dataclass(frozen=True)
class Bins(WithoutTables):
    """A parameter's levels divided into bins, each a run of places.

    A place is a level or, for many levels without an order, a position in a list with the most frequent levels first.
    Within a bin, a level's probability mixes its frequency among the rows with equal probability for all levels. The
    weights are fitted to the data, so that numbers that recur (a capital gain of 7,688) are more likely than their
    neighbours.
    """

    n_levels: int
    starts: Codes
    """The place where each bin begins, in increasing order; a bin is a run of places of a parameter's levels."""
    order: Codes | None
    """The level at each place, for levels that are sorted before they are divided into bins; None if places are
    levels."""
    seen: Codes
    """The places of the levels that occur in the rows, in increasing order."""
    counts: Codes
    """Number of rows with the level at each place of `seen`."""
    strength: float
    """Weight, in rows per bin, of the prior that all levels of a bin are equally likely."""

    @classmethod
    def of_rows(cls, parameter: Parameter, codes: Codes) -> Bins:
        """Return a parameter's levels divided into bins that suit the codes of its values in rows."""
        n_levels = parameter.levels
        levels, counts = np.unique(codes, return_counts=True)
        order = None
        if n_levels <= MOST_BINS:
            starts = np.arange(n_levels)
        elif parameter.wraps:  # no order: the commonest have a bin each, the others one together
            common = levels[np.argsort(-counts, kind="stable")][: MOST_BINS - 1]
            order = np.concatenate([common, np.setdiff1d(np.arange(n_levels), common)])
            starts = np.arange(len(common) + 1)
        else:
            starts = _runs(levels, counts, n_levels, parameter.missing)
        places = _places(order, levels)
        by_place = np.argsort(places)
        made = cls(n_levels, starts.astype(np.int64), order, places[by_place], counts[by_place], strength=1.0)
        bins = made._bin_at(made.seen)
        return replace(made, strength=strongest(made.counts, made.rows[bins], 1 / made.sizes[bins])[0])

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def sizes(self) -> Codes:
        """The number of a parameter's levels in each bin."""
        return np.diff(self.starts, append=self.n_levels)

    @cached_property
    def rows(self) -> Codes:
        """The number of rows of data in each bin of a parameter."""
        rows = np.zeros(len(self), dtype=np.int64)
        np.add.at(rows, self._bin_at(self.seen), self.counts)
        return rows

    def _bin_at(self, places: Codes) -> Codes:
        return np.searchsorted(self.starts, places, side="right") - 1

    @property
    def is_mixed(self) -> bool:
        """Return True if at least one bin of the parameter has several levels."""
        return len(self) < self.n_levels

    @cached_property
    def _tables(self) -> tuple[Codes, Floats] | None:
        """Two tables by code, its bin and its log probability within the bin; None for more than `MOST_TABLE` codes."""
        if self.n_levels > MOST_TABLE:
            return None
        levels = np.arange(self.n_levels)
        return self._bin_at(_places(self.order, levels)), self._logs_of(levels)

    def bins_of(self, codes: Codes) -> Codes:
        """Return the number of the bin that each code of a parameter is in; meaningless for a code below 0."""
        if not self.is_mixed:
            return codes
        return self._bin_at(_places(self.order, codes)) if self._tables is None else self._tables[0].take(codes)

    def log_parts(self, codes: Codes) -> Floats:
        """Return the log probability of each code of a parameter within its bin."""
        return self._logs_of(codes) if self._tables is None else self._tables[1].take(codes)

    def _logs_of(self, codes: Codes) -> Floats:
        places = _places(self.order, codes)
        bins = self._bin_at(places)
        at = np.searchsorted(self.seen, places).clip(max=max(0, len(self.seen) - 1))
        counts = np.where(self.seen[at] == places, self.counts[at], 0)
        return np.log((counts + self.strength / self.sizes[bins]) / (self.rows[bins] + self.strength))

    def draw(self, bins: Codes, rng: np.random.Generator) -> Codes:
        """Return, for each of the given bins, the code of one of its levels, drawn by the levels' probabilities."""
        draws = rng.random((2, len(bins)))
        rows = self.rows[bins]
        ends = np.cumsum(self.counts)
        firsts = np.cumsum(self.rows) - self.rows
        which = np.searchsorted(ends, firsts[bins] + (draws[1] * rows).astype(np.int64), side="right")
        seen = self.seen[which.clip(max=len(self.seen) - 1)]
        anyone = self.starts[bins] + (draws[1] * self.sizes[bins]).astype(np.int64)
        places = np.where(draws[0] * (rows + self.strength) < rows, seen, anyone)
        return places if self.order is None else self.order[places]


def strongest(counts: Codes, totals: Codes, expected: Floats) -> tuple[float, float]:
    """Return (weight, log likelihood): the prior weight with the highest leave-one-out likelihood, and its logarithm.

    `counts` of `totals` rows were seen in each cell, and `expected` are the cells' prior probabilities.
    """
    scores = [float((counts * np.log((counts - 1 + s * expected) / (totals - 1 + s))).sum()) for s in STRENGTHS]
    best = int(np.argmax(scores))
    return float(STRENGTHS[best]), scores[best]


def _places(order: Codes | None, levels: Codes) -> Codes:
    if order is None:
        return levels
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return places[levels]


def _runs(levels: Codes, counts: Codes, n_levels: int, missing: bool) -> Codes:
    """Return the first level of each bin of an ordered parameter.

    A level with a share of the rows of at least 1 / `MOST_BINS`, and the missing level, has a bin of its own. All other
    bins have about equal numbers of rows, at least `LEAST_ROWS`.
    """
    n = counts.sum()
    spike = (counts * MOST_BINS >= n) | (missing & (levels == n_levels - 1))
    before = np.cumsum(np.where(spike, 0, counts)) - np.where(spike, 0, counts)
    n_bins = max(1, MOST_BINS - int(spike.sum()))
    group = before // max(LEAST_ROWS, -(-int(counts[~spike].sum()) // n_bins))
    changes = np.append(True, group[1:] != group[:-1])
    starts = np.concatenate([[0], levels[spike | changes], levels[spike] + 1, [n_levels - 1] if missing else []])
    return np.unique(starts[starts < n_levels]).astype(np.int64)


@dataclass(frozen=True)
class Factor(WithoutTables):
    """The distribution of one column's bins (the child), given the bins of other columns (the parents)."""

    child: int
    parents: tuple[int, ...]
    """The columns (parents) whose bins another column's bins depend on, the most informative first. Where rows are few,
    the last ones matter less."""
    strengths: tuple[float, ...]
    """Prior weights, in rows, one for no parent, then one for each parent added. A distribution is mixed with that
    without its last parent, and this is the weight of the latter."""
    counts: Codes
    """The number of rows of data, by bin of each parent in their order, then bin of the child column."""

    @cached_property
    def chances(self) -> Floats:
        """Return the probabilities of the child's bins, by combination of the parents' bins, then child's bin."""
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
        """Return cumulative probabilities of the child's bins in one array, so that one search serves all rows.

        Row r, for the combination r of the parents' bins, runs from r to r + 1.
        """
        ends = np.cumsum(self.chances, axis=1)
        ends /= ends[:, -1:]
        return (ends + np.arange(len(ends))[:, None]).ravel()

    def contexts(self, bins: Sequence[Codes]) -> Codes:
        """Return, for each row of data, the number of the combination of the parents' bins; `bins` are by column."""
        number: Codes = np.zeros(len(bins[self.child]), dtype=np.int64)
        for parent, n in zip(self.parents, self.counts.shape, strict=False):
            number = number * n + bins[parent]
        return number

    def log_chances(self, bins: Sequence[Codes]) -> Floats:
        """Return the log probability of the child's bin in each row of data; `bins` has each column's bins."""
        return self._logs.take(self.contexts(bins) * self.counts.shape[-1] + bins[self.child])

    def draw(self, bins: Sequence[Codes], rng: np.random.Generator) -> Codes:
        """Draw a bin of the child for each row of data, given the parents' bins."""
        contexts, n = self.contexts(bins), self.counts.shape[-1]
        places = np.searchsorted(self._ends, contexts + rng.random(len(contexts)), side="right")
        return (places - contexts * n).clip(0, n - 1)


class _Learner:
    """Learner of the parents of each column from the bins of rows; factors are scored by leave-one-out likelihood."""

    def __init__(self, bins: Codes, sizes: Sequence[int]) -> None:
        self._bins = bins
        self._sizes = list(sizes)
        self._scores: list[float] = []
        self._above = np.eye(len(sizes), dtype=bool)
        """Boolean mask by column, then other column: True where the other is the column itself or an ancestor of it."""
        self.parents: list[list[int]] = [[] for _ in sizes]

    def learn(self, child: int, parents: Sequence[int]) -> tuple[Factor, float]:
        """Return the factor of a column and given parents, and its leave-one-out log likelihood."""
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

    def find_parents(self, most: int) -> None:
        """Choose at most `most` parents of each column.

        The first parents are those of the tree of Chow and Liu. Then the parent with the largest gain is added, one
        after the other, while the gain is above `LEAST_GAIN` for each row.
        """
        n, least = len(self._sizes), LEAST_GAIN * len(self._bins)
        self._scores = [self.learn(column, [])[1] for column in range(n)]
        gains = np.array([self._gains(child, most) for child in range(n)])
        shared = (gains + gains.T) / 2
        placed = np.arange(n) == shared.sum(axis=1).argmax()
        while not placed.all():
            child, other = divmod(int(np.where(~placed[:, None] & placed[None], shared, -np.inf).argmax()), n)
            placed[child] = True
            if gains[child, other] > least:
                self._add(child, other, gains[child, other])
        gains = np.array([self._gains(child, most) for child in range(n)])
        while True:
            child, other = divmod(int(np.where(self._above.T, -np.inf, gains).argmax()), n)
            if self._above[other, child] or gains[child, other] <= least:
                return
            self._add(child, other, gains[child, other])
            gains[child] = self._gains(child, most)

    def _gains(self, child: int, most: int) -> Floats:
        """Return the gain in log likelihood of each other column as an additional parent; 0 where it cannot be one."""
        gains, known = np.zeros(len(self._sizes)), self.parents[child]
        for other in range(len(gains)) if len(known) < most else ():
            n_cells = np.prod([self._sizes[column] for column in (*known, other, child)], dtype=np.float64)
            if other != child and other not in known and n_cells <= MOST_CELLS:
                gains[other] = self.learn(child, [*known, other])[1] - self._scores[child]
        return gains

    def _add(self, child: int, other: int, gain: float) -> None:
        self.parents[child].append(other)
        self._scores[child] += gain
        self._above[self._above[:, child]] |= self._above[other]


def learned(bins: Codes, sizes: Sequence[int], most_parents: int = MOST_PARENTS) -> list[Factor]:
    """Return one factor for each column of a table of bins (by row, then column), sorted so that parents come first.

    `sizes` has the number of bins of each column. Parents are chosen by up to `MOST_ROWS` rows; the factors are learned
    from all rows. With at most one parent for each column, the factors form a tree.
    """
    some = bins[np.linspace(0, len(bins) - 1, MOST_ROWS).astype(np.int64)] if len(bins) > MOST_ROWS else bins
    learner = _Learner(some, sizes)
    learner.find_parents(most_parents)
    parents, order = learner.parents, list[int]()
    while len(order) < len(parents):
        order += [c for c in range(len(parents)) if c not in order and all(other in order for other in parents[c])]
    learner = _Learner(bins, sizes)
    return [learner.learn(child, parents[child])[0] for child in order]
