"""The real row nearest to an input, by Gower's distance: the mean over the columns of how far apart they are.

A column of names is 0 or 1 apart, one of numbers in terms of the rows' range, and 1 where one of the two is missing.
What is sensitive, derived or changes along does not count: roles are compared.
"""

from __future__ import annotations

import numpy as np

from fairprobe.arrays import Codes, Floats
from fairprobe.domain.domain import Domain

PAIRS = 4_000_000
"""Pairs of an input and a row compared at a time; chosen: 32 MB."""


def nearest_rows(domain: Domain, inputs: Codes, rows: Codes) -> tuple[Codes, Floats]:
    """The nearest row of each input, the first of several, and its distance."""
    columns = list(domain.free_columns)
    if not columns:
        return np.zeros(len(inputs), dtype=np.int64), np.zeros(len(inputs))
    ours, theirs = (coordinates(domain, codes) for codes in (inputs, rows))
    gower = Gower(domain, theirs)
    here, there = gower.scaled(ours), gower.scaled(theirs)
    if not gower.named and not (np.isnan(here).any() or np.isnan(there).any()):  # which a tree does not know
        found, far = _by_tree(here, there)
    else:
        found, far = _by_blocks(ours[:, gower.named], theirs[:, gower.named], here, there)
    return found, far / len(columns)


def coordinates(domain: Domain, codes: Codes) -> Codes:
    """The compared coordinates of inputs: their roles in columns that are neither sensitive nor derived."""
    return domain.families.canonical(codes.astype(np.int64))[:, list(domain.free_columns)]


class Gower:
    """Gower's distance between coordinates of inputs, with numbers scaled by the range of rows or of the domain."""

    def __init__(self, domain: Domain, rows: Codes | None = None) -> None:
        columns = domain.free_columns
        has_order = [not domain.parameters[column].wraps for column in columns]
        self.named = [place for place, ordered in enumerate(has_order) if not ordered]
        self.numbers = [place for place, ordered in enumerate(has_order) if ordered]
        levels = domain.families.key_levels[list(columns)]
        missing = np.array([domain.parameters[column].missing for column in columns], dtype=bool)
        self.last = np.where(missing, levels - 1, -1)
        """The code of a missing value, by column; -1 where there is none."""
        self._spans = (
            levels - missing - 1
            if rows is None
            else np.array([_span(*each) for each in zip(rows.T, self.last, strict=True)])
        )

    def scaled(self, codes: Codes) -> Floats:
        """The scaled levels of numeric columns; NaN for a missing value."""
        numbers = codes[:, self.numbers]
        return np.where(numbers == self.last[self.numbers], np.nan, numbers / np.maximum(1, self._spans[self.numbers]))

    def by_column(self, ours: Codes, theirs: Codes) -> Floats:
        """The distance of each pair in each column."""
        apart = (ours != theirs).astype(np.float64)
        for place, here, there in zip(self.numbers, self.scaled(ours).T, self.scaled(theirs).T, strict=True):
            apart[:, place] = _apart(here, there)
        return apart

    def distance(self, ours: Codes, theirs: Codes) -> Floats:
        """The distance of each pair: the mean over the columns."""
        return self.by_column(ours, theirs).sum(axis=1) / max(1, ours.shape[1])


def _span(column: Codes, last: int) -> int:
    """The range of a column's levels that are known."""
    known = column[column != last]
    return int(known.max() - known.min()) if len(known) else 1


def _by_tree(here: Floats, there: Floats) -> tuple[Codes, Floats]:
    from scipy.spatial import cKDTree

    unique, firsts = np.unique(there, axis=0, return_index=True)
    far, found = cKDTree(unique).query(here, p=1)
    return firsts[found].astype(np.int64), far


def _by_blocks(ours: Codes, theirs: Codes, here: Floats, there: Floats) -> tuple[Codes, Floats]:
    """Search by blocks. Names are compared first; numbers only for rows that differ in few enough names."""
    # In 8 bits a role that nobody plays (-1) is 255, which no other value may then be.
    small = np.uint8 if max(ours.max(initial=0), theirs.max(initial=0)) < 255 else np.int64
    counter = np.min_scalar_type(ours.shape[1])
    ours, theirs = ours.astype(small), np.ascontiguousarray(theirs.astype(small).T)
    here, there = np.asfortranarray(here), np.asfortranarray(there)
    found, far = np.zeros(len(ours), dtype=np.int64), np.zeros(len(ours))
    size = max(1, PAIRS // theirs.shape[1])
    for first in range(0, len(ours), size):
        some = ours[first : first + size]
        differ = np.zeros((len(some), theirs.shape[1]), dtype=counter)
        for column, values in enumerate(theirs):
            differ += some[:, [column]] != values[None]
        within = differ.min(axis=1)
        left = np.arange(len(some))
        while len(left):
            # A row that differs in more names than the best is far in all is farther: numbers only add.
            which, row = np.nonzero(differ[left] <= within[left, None])
            total = differ[left[which], row].astype(np.float64)
            for column in range(here.shape[1]):
                total += _apart(here[first + left, column].take(which), there[:, column].take(row))
            best = np.minimum.reduceat(total, np.searchsorted(which, np.arange(len(left))))
            is_best = np.flatnonzero(total == best[which])
            place = is_best[np.searchsorted(which[is_best], np.arange(len(left)))]
            found[first + left], far[first + left] = row[place], best
            more = np.minimum(np.floor(best), len(theirs)).astype(counter)
            is_open = more > within[left]
            within[left] = np.maximum(within[left], more)
            left = left[is_open]
    return found, far


def _apart(here: Floats, there: Floats) -> Floats:
    """The distance of each pair in one column of numbers."""
    apart = np.abs(here - there)
    unknown = np.flatnonzero(np.isnan(apart))
    if len(unknown):
        apart[unknown] = np.isnan(here[unknown]) != np.isnan(there[unknown])
    return apart
