"""The real row nearest to an input by Gower's distance, which is the mean of the distances in the columns.

The distance in a column of names is 0 or 1. In a column of numbers it is a fraction of the rows' range; if one of the
two values is missing, it is 1. Sensitive and derived columns do not count, and roles replace the values of linked
columns.
"""

from __future__ import annotations

import numpy as np

from fairprobe.arrays import Codes, Floats
from fairprobe.domain.domain import Domain

PAIRS = 500_000
"""Number of pairs of an input and a row compared at a time; chosen: 4 MB, which fits a processor's cache."""


def nearest_rows(domain: Domain, inputs: Codes, rows: Codes) -> tuple[Codes, Floats]:
    """Return (position of the nearest row, Gower's distance) for each input; of equally near rows, the first counts."""
    columns = list(domain.free_columns)
    if not columns:
        return np.zeros(len(inputs), dtype=np.int64), np.zeros(len(inputs))
    ours, theirs = (coordinates(domain, codes) for codes in (inputs, rows))
    gower = Gower(domain, theirs)
    here, there = gower.scaled(ours), gower.scaled(theirs)
    small = np.int16 if max(ours.max(initial=0), theirs.max(initial=0)) < 2**15 else np.int64
    ours, theirs = ours.astype(small), np.asfortranarray(theirs.astype(small))
    found, far = np.zeros(len(ours), dtype=np.int64), np.zeros(len(ours))
    size = max(1, PAIRS // len(theirs))
    for block in (slice(first, first + size) for first in range(0, len(ours), size)):
        differ = np.zeros((len(ours[block]), len(theirs)), dtype=np.min_scalar_type(len(columns)))
        for column in gower.named:
            differ += ours[block, column, None] != theirs[:, column]
        apart = differ.astype(np.float64)
        for mine, numbers in zip(here[block].T, there.T, strict=True):
            apart += _apart(mine[:, None], numbers)
        found[block] = apart.argmin(axis=1)
        far[block] = apart.min(axis=1)
    return found, far / len(columns)


def coordinates(domain: Domain, codes: Codes) -> Codes:
    """Return the codes of inputs that distances compare, by input, then column that can be moved.

    Sensitive and derived columns are left out, and roles replace the values of linked columns.
    """
    return domain.families.canonical(codes.astype(np.int64))[:, list(domain.free_columns)]


class Gower:
    """Gower's distance between inputs, with numbers scaled by the range of given rows or of the domain."""

    def __init__(self, domain: Domain, rows: Codes | None = None) -> None:
        columns = domain.free_columns
        has_order = [not domain.parameters[column].wraps for column in columns]
        self.named = [place for place, ordered in enumerate(has_order) if not ordered]
        self.numbers = [place for place, ordered in enumerate(has_order) if ordered]
        levels = domain.families.key_levels[list(columns)]
        missing = np.array([domain.parameters[column].missing for column in columns], dtype=bool)
        self.last = np.where(missing, levels - 1, -1)
        """The code of a missing value in each column that can be moved; -1 in a column without missing values."""
        self._spans = (
            levels - missing - 1
            if rows is None
            else np.array([_span(*each) for each in zip(rows.T, self.last, strict=True)])
        )

    def scaled(self, codes: Codes) -> Floats:
        """Return the levels of numeric columns, divided by the columns' ranges, by input, then numeric column.

        They are NaN where a value is missing.
        """
        numbers = codes[:, self.numbers]
        return np.where(numbers == self.last[self.numbers], np.nan, numbers / np.maximum(1, self._spans[self.numbers]))

    def by_column(self, ours: Codes, theirs: Codes) -> Floats:
        """Return the distance in each column between inputs paired by position, by pair, then column."""
        apart = (ours != theirs).astype(np.float64)
        for place, here, there in zip(self.numbers, self.scaled(ours).T, self.scaled(theirs).T, strict=True):
            apart[:, place] = _apart(here, there)
        return apart

    def distance(self, ours: Codes, theirs: Codes) -> Floats:
        """Return the distance between inputs paired by position: the mean over the columns."""
        return self.by_column(ours, theirs).sum(axis=1) / max(1, ours.shape[1])


def _span(column: Codes, last: int) -> int:
    """Return the range (highest minus lowest level) of a column's levels, without the missing one."""
    known = column[column != last]
    return int(known.max() - known.min()) if len(known) else 1


def _apart(here: Floats, there: Floats) -> Floats:
    """Return the distance of each pair of scaled numbers in one column; 1 where one of the two is missing."""
    apart = np.abs(here - there)
    if np.isnan(here).any() or np.isnan(there).any():
        apart = np.where(np.isnan(apart), np.isnan(here) != np.isnan(there), apart)
    return apart
