"""Where walkers have stood, to spread them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairprobe.domain.domain import Domain
from fairprobe.domain.parameters import Codes
from fairprobe.search.strategy import Mask
from fairprobe.store import Distinct, Keys

BITS = 12
"""Parameters past the twelfth share a bit of the cell's number with another: a rough map is enough."""

CROWDED = 2
"""Times the mean of all cells: a cell visited more often is over-represented."""


class Visits:
    """Each input where a walker stood, and how often walkers stood in each cell of a coarse grid.

    The cells are the lower and upper halves of all parameters.
    """

    def __init__(self, domain: Domain) -> None:
        self._columns = list(domain.free_columns)
        self._levels = domain.levels[self._columns]
        self._places = 1 << (np.arange(len(self._columns)) % BITS)
        self._counts = np.zeros(1 << BITS, dtype=np.int64)
        self._keys = Keys(domain)
        self._stood = Distinct(self._keys.n_words)

    def add(self, codes: Codes) -> tuple[Mask, NDArray[np.int64]]:
        """Who stands where someone stood before or in a crowded cell; and the visits to each one's cell."""
        is_new = self._stood.add(self._keys.of(codes))
        cells = (codes[:, self._columns] * 2 // self._levels) @ self._places % len(self._counts)
        self._counts += np.bincount(cells, minlength=len(self._counts))
        visits = self._counts[cells]
        return ~is_new | (visits > CROWDED * self._counts[self._counts > 0].mean()), visits
