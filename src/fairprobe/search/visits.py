"""Where walkers have stood, to spread them."""

from __future__ import annotations

import numpy as np

from fairprobe.arrays import Codes, Mask
from fairprobe.domain.domain import Domain
from fairprobe.store import Keys

BITS = 12
"""Parameters past the twelfth share a bit of the cell's number with another: a rough map is enough."""

NOBODY = -1

CROWDED = 2
"""Times the mean of all cells: a cell visited more often is over-represented."""

PLACES = 1_000_003
"""Inputs are told apart by their keys modulo this prime: now and then a walker leaves for no reason."""


class Visits:
    """The inputs where walkers stood, and how often they stood in each cell of a coarse grid.

    The cells are the lower and upper halves of all parameters.
    """

    def __init__(self, domain: Domain) -> None:
        self._columns = list(domain.free_columns)
        self._levels = domain.levels[self._columns]
        self._bits = 1 << (np.arange(len(self._columns)) % BITS)
        self._counts = np.zeros(1 << BITS, dtype=np.int64)
        self._keys = Keys(domain)
        self._stood = np.full(PLACES, NOBODY, dtype=np.int32)

    def add(self, codes: Codes) -> tuple[Mask, Codes]:
        """Who stands where someone stood before or in a crowded cell; and the visits to each one's cell."""
        cells = (codes[:, self._columns] * 2 >= self._levels) @ self._bits % len(self._counts)
        self._counts += np.bincount(cells, minlength=len(self._counts))
        visits = self._counts[cells]
        return ~self._are_first(codes) | (visits > CROWDED * self._counts[self._counts > 0].mean()), visits

    def _are_first(self, codes: Codes) -> Mask:
        """Who is the first at a place; of several that come at once, one."""
        places, each = self._keys.of(codes).sum(axis=1) % PLACES, np.arange(len(codes), dtype=np.int32)
        is_new = self._stood[places] == NOBODY
        self._stood[places] = each
        return is_new & (self._stood[places] == each)
