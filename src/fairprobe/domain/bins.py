"""Bins: the levels of a parameter in a few groups that rows fill, and how rows are spread within each of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairprobe.arrays import Codes, Floats
from fairprobe.domain.parameter import Parameter

MOST_BINS = 32

LEAST_ROWS = 40
"""A bin of several levels has so many rows at least, where there are as many."""

STRENGTHS = (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 3000, 1e4, 1e5, 1e6, 1e9)
"""As how many rows what is expected counts beside what was seen: tried one by one."""

MOST_TABLE = 4_000_000
"""Up to so many levels are looked up in a table."""


@dataclass(frozen=True)
class Bins:
    """A parameter's levels in bins, each a run of places; of an unordered parameter, levels are put into places first.

    Within a bin, levels that rows have are as likely as these make them, mixed with all levels alike. For what part
    each of the two counts is learned: numbers that come again (a capital gain of 7,688) are told from others.
    """

    n_levels: int
    starts: Codes
    """The first place of each bin."""
    order: Codes | None
    """The level at each place; None where places are levels."""
    seen: Codes
    """The places that rows have, in order."""
    counts: Codes
    """How many rows have each of these."""
    strength: float
    """As how many rows of each bin "all levels alike" counts."""

    @classmethod
    def of_rows(cls, parameter: Parameter, codes: Codes) -> Bins:
        """Bins that rows with these codes fill."""
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
        """How many levels each bin has."""
        return np.diff(self.starts, append=self.n_levels)

    @cached_property
    def rows(self) -> Codes:
        """How many rows each bin has."""
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
        """The bin of each code; of none that is below 0, anything."""
        if not self.is_mixed:
            return codes
        return self._bin_at(_places(self.order, codes)) if self._bin_table is None else self._bin_table.take(codes)

    def log_parts(self, codes: Codes) -> Floats:
        """The logarithm of each code's part of its bin."""
        return self._logs_of(codes) if self._log_table is None else self._log_table.take(codes)

    def _logs_of(self, codes: Codes) -> Floats:
        places = _places(self.order, codes)
        bins = self._bin_at(places)
        at = np.searchsorted(self.seen, places).clip(max=max(0, len(self.seen) - 1))
        counts = np.where(self.seen[at] == places, self.counts[at], 0)
        return np.log((counts + self.strength / self.sizes[bins]) / (self.rows[bins] + self.strength))

    def best_strength(self) -> float:
        """What makes each row likeliest by all the others."""
        bins = self._bin_at(self.seen)
        return strongest(self.counts, self.rows[bins], 1 / self.sizes[bins])[0]

    def draw(self, bins: Codes, rng: np.random.Generator) -> Codes:
        """A level of each bin: as a row of it has, or any, by the strength."""
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
        """Without the tables, which are made again where they are needed."""
        return vars_of(self)


def vars_of(bins: Bins) -> dict[str, Any]:
    """The fields by name."""
    return {name: getattr(bins, name) for name in Bins.__dataclass_fields__}


def strongest(counts: Codes, totals: Codes, expected: Floats) -> tuple[float, float]:
    """The strength that makes rows likeliest, each by all the others, and the logarithm of their chances then.

    Rows are counts out of totals; what is expected counts beside them.
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
    """Where bins of an ordered parameter begin: a spike has one of its own, the others about as many rows each."""
    n = counts.sum()
    spike = (counts * MOST_BINS >= n) | (missing & (levels == n_levels - 1))
    before = np.cumsum(np.where(spike, 0, counts)) - np.where(spike, 0, counts)
    n_bins = max(1, MOST_BINS - int(spike.sum()))
    group = before // max(LEAST_ROWS, -(-int(counts[~spike].sum()) // n_bins))
    changes = np.append(True, group[1:] != group[:-1])
    starts = np.concatenate([[0], levels[spike | changes], levels[spike] + 1, [n_levels - 1] if missing else []])
    return np.unique(starts[starts < n_levels]).astype(np.int64)
