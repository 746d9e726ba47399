"""Walkers of `anchored` and its kin: where they begin, when one gives up, and when they are copied."""

from __future__ import annotations

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask, distinct_rows
from fairprobe.domain.domain import Domain
from fairprobe.searching.limits import SearchSettings
from fairprobe.searching.strategy import Region, Strategy
from fairprobe.store import Keys

FEWEST = 24
"""Divisor of `n_walkers` that gives the smallest number of walkers that begin in a round, so that batches are not tiny.
With `hurry` all begin, as small batches take as long."""

RENEW_EVERY = 20
"""Number of trials after which walkers are copied and lost ones are replaced. Chosen: they have then learned enough."""

DRY = 0.95
"""Fraction of walkers that stand at already visited inputs, above which a local search ends: new start cases then find
more. Measured."""

MOST_MISSES = 10
"""Number of trials in a row without a case, above which a walker is moved to where another found one. Chosen."""

BITS = 12
"""Number of bits of a cell's number: one for each parameter, which says if the value is in the upper half of its range.
Parameters after the twelfth share bits. Chosen: a rough map is enough."""

CROWDED = 2
"""Multiple of the mean number of visits to a cell (see `Visits`) above which a cell is over-represented. Chosen."""

N_PLACES = 1_000_003
"""Number of places in which visited inputs are noted, a prime: an input's place is its key modulo this number. Chosen:
two inputs then rarely share a place."""


class Walkers(Strategy):
    """Base class of strategies whose walkers stay beside those of later rounds; a subclass moves them.

    Few walkers begin in a round. Every `RENEW_EVERY` trials they are copied, until there are `n_walkers`. They walk on
    beside the walkers that begin in the next global round. One that finds no case for `MOST_MISSES` trials gives up.
    """

    is_eager = True

    def __init__(self, domain: Domain, settings: SearchSettings, rng: np.random.Generator) -> None:
        super().__init__(domain, settings, rng)
        self.position: Codes = np.empty((0, len(domain.levels)), dtype=np.int64)
        self.reach = np.empty((len(self.columns), 0))
        """Reach (longest jump, as a fraction of the range) by parameter, then walker."""
        self.misses = np.empty(0, dtype=np.int64)
        """Number of trials in a row without a case, by walker."""
        self._visits = Visits(domain)
        self._n_seeds = self._n_together = 0
        """`_n_seeds`: number of start cases of all rounds. `_n_together`: number of start cases of this round with
        `hurry`, when several walkers begin at each; otherwise 0."""
        self._likely: Floats | None = None
        """Log probability of each walker's input by the density; None if not known, or without a density."""

    def _start(self, seeds: Codes) -> None:
        seeds = distinct_rows(seeds)
        n_new, n_kept = self._shares(len(seeds))
        self._n_together = len(seeds) if self.settings.hurry else 0
        usual = self.reach.mean(axis=1) if len(self.position) else np.ones(len(self.columns))
        self.take(self.rng.permutation(len(self.position))[:n_kept])
        self._new = len(self.position) + np.arange(n_new)
        self.admit(seeds[np.arange(n_new) % len(seeds)], usual)
        self._n_trials = self._n_hits = self._n_asked = 0
        self.is_spent = self.is_dry = False

    def _shares(self, n_seeds: int) -> tuple[int, int]:
        """Return two numbers of walkers: those to begin at the new start cases, and those of earlier rounds to keep.

        They give all start cases so far equal numbers of walkers. Otherwise the first few start cases would have nearly
        all walkers, and cases far from them would never be found.
        """
        n, n_before = self.settings.n_walkers, self._n_seeds
        self._n_seeds += n_seeds
        # One walker for each, as several would learn the same. But batches should not be tiny.
        n_new = max(n_seeds, n // FEWEST)
        if self.settings.hurry:  # as many as there may be
            n_new = n_seeds * max(1, n // self._n_seeds)
        return n_new, min(n_new * n_before // n_seeds, max(0, n - n_new))

    def take(self, walkers: Codes) -> None:
        """Replace the walkers by those at the positions `walkers`; one whose position is listed twice is copied."""
        self.position = self.position[walkers]
        self.reach = self.reach.take(walkers, axis=1)
        self.misses = self.misses[walkers]
        self._likely = None

    def admit(self, seeds: Codes, reach: Floats) -> None:
        """Add a walker at each of the start cases `seeds`.

        `reach` has, by parameter, the largest fraction of the parameter's span by which the walker moves at once.
        """
        self.position = np.concatenate([self.position, seeds])
        self.reach = np.concatenate([self.reach, np.repeat(reach[:, None], len(seeds), axis=1)], axis=1)
        self.misses = np.concatenate([self.misses, np.zeros(len(seeds), dtype=np.int64)])
        self._likely = None

    def _renew(self) -> None:
        """Move walkers that are lost to where another walker found a case in the last trial.

        A walker is lost after more than `MOST_MISSES` trials in a row without a case. With `diversify`, walkers at
        visited inputs and, without a density, in crowded cells are moved too. Then all are copied, until there are
        `n_walkers`.
        """
        leaves, weights = self.misses > MOST_MISSES, np.ones(len(self.position))
        if self.settings.diversify:
            again, crowded, visits = self._visits.add(self.position)
            self.is_dry = bool(again.mean() > DRY)
            leaves |= again
            if not isinstance(self.domain, Region):  # where people are, it may be crowded
                leaves, weights = leaves | crowded, 1 / visits
        walkers = np.arange(len(self.position))
        well = np.flatnonzero(~leaves & (self.misses == 0))
        if len(well):
            chances = weights[well] / weights[well].sum()
            walkers[leaves] = self.rng.choice(well, int(leaves.sum()), p=chances)
        self.take(np.tile(walkers, 2)[: max(len(walkers), self.settings.n_walkers)])


class Visits:
    """Memory of the inputs that walkers visited, and numbers of visits to the cells of a coarse grid, for a shard.

    A cell is a combination of lower or upper halves of the parameters, as a number of `BITS` bits.
    """

    def __init__(self, domain: Domain) -> None:
        self._columns = list(domain.free_columns)
        self._levels = domain.levels[self._columns]
        self._bits = 1 << (np.arange(len(self._columns)) % BITS)
        self._counts = np.zeros(1 << BITS, dtype=np.int64)
        self._keys = Keys(domain)
        self._stood = np.full(N_PLACES, -1, dtype=np.int32)

    def add(self, codes: Codes) -> tuple[Mask, Mask, Codes]:
        """Count a visit for each walker, and return three arrays by walker.

        They are a mask of the walkers at an already visited input, a mask of those in a cell with more than `CROWDED`
        times the mean number of visits, and the number of visits to the walker's cell so far.
        """
        cells = (codes[:, self._columns] * 2 >= self._levels) @ self._bits % len(self._counts)
        self._counts += np.bincount(cells, minlength=len(self._counts))
        visits = self._counts[cells]
        return ~self._are_first(codes), visits > CROWDED * self._counts[self._counts > 0].mean(), visits

    def _are_first(self, codes: Codes) -> Mask:
        """Return a mask: True for a walker whose input was never visited before; for one of them if several arrive."""
        places, each = self._keys.of(codes).sum(axis=1) % N_PLACES, np.arange(len(codes), dtype=np.int32)
        is_new = self._stood[places] == -1
        self._stood[places] = each
        return is_new & (self._stood[places] == each)
