"""Bins: groups of a parameter's levels, and how rows are spread within each group."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairprobe.arrays import Codes, Floats
from fairprobe.domain.parameter import Parameter

MOST_BINS = 32

LEAST_ROWS = 40
"""Smallest number of rows in a bin of several levels, if the data have as many; chosen."""

STRENGTHS = (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 3000, 1e4, 1e5, 1e6, 1e9)
"""Weights of the prior, in rows, that are tried; chosen to cover every size of data."""

MOST_TABLE = 4_000_000
"""Levels up to which bins are looked up in a table; chosen: 32 MB."""


@dataclass(frozen=True)
class Bins:
    """A parameter's levels in bins, each a run of places. An unordered parameter's levels are first put in an order.

    Within a bin, a level's probability mixes its frequency among the rows with equal probability for all levels. The
    data decide the weights, so that numbers which recur (a capital gain of 7,688) differ from numbers that do not.
    """

    n_levels: int
    starts: Codes
    """The first place of each bin."""
    order: Codes | None
    """The level at each place; None where places are levels."""
    seen: Codes
    """The places that occur in rows, in order."""
    counts: Codes
    """The number of rows at each of these places."""
    strength: float
    """Weight, in rows per bin, of equal probability for all levels."""

    @classmethod
    def of_rows(cls, parameter: Parameter, codes: Codes) -> Bins:
        """Bins made from the codes of rows."""
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
        made = cls(n_levels, starts.astype(np.int64), order, *_sorted(_places(order, levels), counts), strength=1.0)
        return cls(**{**vars_of(made), "strength": made.best_strength()})

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def sizes(self) -> Codes:
        """The number of levels in each bin."""
        return np.diff(self.starts, append=self.n_levels)

    @cached_property
    def rows(self) -> Codes:
        """The number of rows in each bin."""
        rows = np.zeros(len(self), dtype=np.int64)
        np.add.at(rows, self._bin_at(self.seen), self.counts)
        return rows

    def _bin_at(self, places: Codes) -> Codes:
        return np.searchsorted(self.starts, places, side="right") - 1

    @property
    def is_mixed(self) -> bool:
        """Whether a bin has several levels."""
        return len(self) < self.n_levels

    @cached_property
    def _levels(self) -> Codes | None:
        return np.arange(self.n_levels) if self.n_levels <= MOST_TABLE else None

    @cached_property
    def _bin_table(self) -> Codes | None:
        return None if self._levels is None else self._bin_at(_places(self.order, self._levels))

    @cached_property
    def _log_table(self) -> Floats | None:
        return None if self._levels is None else self._logs_of(self._levels)

    def bins_of(self, codes: Codes) -> Codes:
        """The bin of each code; meaningless for a code below 0."""
        if not self.is_mixed:
            return codes
        return self._bin_at(_places(self.order, codes)) if self._bin_table is None else self._bin_table.take(codes)

    def log_parts(self, codes: Codes) -> Floats:
        """The log probability of each code within its bin."""
        return self._logs_of(codes) if self._log_table is None else self._log_table.take(codes)

    def _logs_of(self, codes: Codes) -> Floats:
        places = _places(self.order, codes)
        bins = self._bin_at(places)
        at = np.searchsorted(self.seen, places).clip(max=max(0, len(self.seen) - 1))
        counts = np.where(self.seen[at] == places, self.counts[at], 0)
        return np.log((counts + self.strength / self.sizes[bins]) / (self.rows[bins] + self.strength))

    def best_strength(self) -> float:
        """The strength with the highest leave-one-out likelihood."""
        bins = self._bin_at(self.seen)
        return strongest(self.counts, self.rows[bins], 1 / self.sizes[bins])[0]

    def draw(self, bins: Codes, rng: np.random.Generator) -> Codes:
        """A level drawn from each bin."""
        draws = rng.random((2, len(bins)))
        rows = self.rows[bins]
        ends = np.cumsum(self.counts)
        firsts = np.cumsum(self.rows) - self.rows
        which = np.searchsorted(ends, firsts[bins] + (draws[1] * rows).astype(np.int64), side="right")
        seen = self.seen[which.clip(max=len(self.seen) - 1)]
        anyone = self.starts[bins] + (draws[1] * self.sizes[bins]).astype(np.int64)
        places = np.where(draws[0] * (rows + self.strength) < rows, seen, anyone)
        return places if self.order is None else self.order[places]

    def __getstate__(self) -> dict[str, Any]:
        """The fields without the tables, which are computed again where they are needed."""
        return vars_of(self)


def vars_of(bins: Bins) -> dict[str, Any]:
    """The fields by name."""
    return {name: getattr(bins, name) for name in Bins.__dataclass_fields__}


def strongest(counts: Codes, totals: Codes, expected: Floats) -> tuple[float, float]:
    """The strength with the highest leave-one-out likelihood, and the logarithm of that likelihood.

    `counts` of `totals` rows were seen, and `expected` are the prior probabilities.
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


def _sorted(places: Codes, counts: Codes) -> tuple[Codes, Codes]:
    order = np.argsort(places)
    return places[order], counts[order]


def _runs(levels: Codes, counts: Codes, n_levels: int, missing: bool) -> Codes:
    """The first levels of an ordered parameter's bins: a frequent level is a bin alone, the others have equal rows."""
    n = counts.sum()
    spike = (counts * MOST_BINS >= n) | (missing & (levels == n_levels - 1))
    before = np.cumsum(np.where(spike, 0, counts)) - np.where(spike, 0, counts)
    n_bins = max(1, MOST_BINS - int(spike.sum()))
    group = before // max(LEAST_ROWS, -(-int(counts[~spike].sum()) // n_bins))
    changes = np.append(True, group[1:] != group[:-1])
    starts = np.concatenate([[0], levels[spike | changes], levels[spike] + 1, [n_levels - 1] if missing else []])
    return np.unique(starts[starts < n_levels]).astype(np.int64)
