"""`anchored`: a walker that leaves the discriminatory region steps back to its last case and tries another jump."""

from __future__ import annotations

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask, distinct_rows
from fairprobe.domain.domain import Domain
from fairprobe.oracle import Judgement
from fairprobe.searching.limits import SearchSettings
from fairprobe.searching.strategy import Region, Strategy
from fairprobe.store import Keys

LEAST_REACH = 0.005
"""Smallest reach (longest jump of a walker along a parameter), as a fraction of the range. Chosen: a parameter whose
moves always leave the region is still tried."""

WIDEN, NARROW = 1.3, 0.1
"""`WIDEN`: factor of a walker's reach (its longest jump) after a case. `NARROW`: factor after a miss. Measured: about
nine jumps in ten then stay in the discriminatory region."""

FEWEST = 24
"""Divisor of `n_walkers` that gives the smallest number of walkers that begin in a round, so that batches are not tiny.
With `hurry` all begin, as small batches take as long."""

TOGETHER = 10
"""Number of trials for which walkers from one start case share what they learn, with `hurry`. Chosen."""

RENEW_EVERY = 20
"""Number of trials after which walkers are copied and lost ones are replaced. Chosen: they have then learned enough."""

POOR = 0.15
"""Fraction of cases among the inputs of the last `RENEW_EVERY` trials, below which new start cases are better than
going on. Measured."""

DRY = 0.95
"""Fraction of walkers at an already visited input, above which new start cases are better than going on. Measured."""

MOST_MISSES = 10
"""Number of trials in a row without a case, above which a walker is moved to where another found one. Chosen."""

BITS = 12
"""Number of bits of a cell's number: one for each parameter, which says if the value is in the upper half of its range.
Parameters after the twelfth share bits. Chosen: a rough map is enough."""

REDRAWS = 4
"""Number of further jumps that a walker draws at once if its jump is forbidden. Chosen."""

CROWDED = 2
"""Multiple of the mean number of visits to a cell (see `Visits`) above which a cell is over-represented. Chosen."""

N_PLACES = 1_000_003
"""Number of places in which visited inputs are noted, a prime: an input's place is its key modulo this number. Chosen:
two inputs then rarely share a place."""


CHOSEN, CELLS, PLACES, BEFORE, AFTER = range(5)
"""Positions on the first axis of `Jumps`, for the five numbers of a jump. `CHOSEN`: place of the moved parameter among
the movable ones. `CELLS`: its flat position in tables by parameter, then walker. `PLACES`: its flat position in the
walkers' positions. `BEFORE` and `AFTER`: its code before and after the jump."""

Jumps = Codes
"""Jumps of walkers, by the five numbers of a jump, then moved parameter (first, second, ...), then walker."""


class Anchored(Strategy):
    """Walkers that each learn a reach for every parameter: the longest jump, as a fraction of the range.

    A case widens the reach along the moved parameter, and a miss narrows it. Parameters are moved in proportion to
    their reach. Parameters without influence near the walker are thus soon redrawn over their whole range, and cases
    are both frequent and far apart. Few walkers begin in a round. Every `RENEW_EVERY` trials they are copied, until
    there are `n_walkers`. They walk on beside the walkers that begin in the next global round.
    """

    is_eager = True

    def __init__(self, domain: Domain, settings: SearchSettings, rng: np.random.Generator) -> None:
        super().__init__(domain, settings, rng)
        self.levels: Codes = domain.levels[self.columns]
        self.spans = (self.levels - 1).astype(np.float64)
        self.wraps: Mask = np.array([domain.parameters[c].wraps for c in self.columns], dtype=bool)
        self.position: Codes = np.empty((0, len(domain.levels)), dtype=np.int64)
        self.reach = np.empty((len(self.columns), 0))
        """Reach (longest jump, as a fraction of the range) by parameter, then walker."""
        self.misses = np.empty(0, dtype=np.int64)
        self._visits = Visits(domain)
        self._n_seeds = self._n_together = 0
        """`_n_seeds`: number of start cases of all rounds. `_n_together`: number of start cases of this round with
        `hurry`, when several walkers begin at each; otherwise 0."""
        self._sums = np.tri(len(self.columns))
        self._likely: Floats | None = None
        """Log probability of each walker's input by the density; None if not known, or without a density."""
        self._drawn, self._allowed = np.full(len(self.columns), 2.0), np.ones(len(self.columns))
        """In a restricted domain, by parameter: `_drawn` is the number of drawn jumps, `_allowed` that of allowed
        ones."""

    # Walkers come and go

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
        """Add a walker at each of these start cases, with this reach by parameter."""
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

    # Trials

    def _ask(self) -> Codes:
        self._asked = np.arange(len(self.position))
        self._jumps = self.draw(self._asked)
        if self.wants is not None and not self._n_trials:  # hints are needed about the places where they begin
            self._jumps[AFTER][:, self._new] = self._jumps[BEFORE][:, self._new]
        proposal = self.position.copy()
        proposal.put(self._jumps[PLACES], self._jumps[AFTER])
        return self._retry(proposal) if self.domain.is_restricted else proposal

    def draw(self, walkers: Codes) -> Jumps:
        """Return a jump for each walker: a parameter drawn in proportion to its reach, and another value within it."""
        draws = self.rng.random((3, len(walkers)))
        sums = self._sums
        if self.domain.is_restricted:  # what is rarely allowed is rarely tried
            sums = sums * (self._allowed / self._drawn)
        sums = sums @ self.reach.take(walkers, axis=1)
        # The smallest dtype takes half the time.
        chosen = (sums[:-1] <= draws[0] * sums[-1]).sum(axis=0, dtype=np.int16).astype(np.int64)
        cells, places = self.cells(chosen, walkers), self.places(chosen, walkers)
        before = self.position.take(places)
        spans = self.spans.take(chosen)
        # A jump spans the whole range of values without order.
        within = np.where(self.wraps.take(chosen), spans, self.reach.take(cells) * spans)
        steps = 1 + (draws[1] * within).astype(np.int64)
        after = _land(before, np.where(self.goes_down(cells, draws[2]), -steps, steps), self.levels.take(chosen))
        return np.stack([chosen, cells, places, before, after])[:, None]

    def goes_down(self, cells: Codes, draws: Floats) -> Mask:
        """Return a boolean mask: True where the chosen parameter is moved down."""
        return draws < 0.5

    def cells(self, chosen: Codes, walkers: Codes) -> Codes:
        """Return, for each walker, the flat position of its chosen parameter in tables by parameter, then walker."""
        return chosen * len(self.position) + walkers

    def places(self, chosen: Codes, walkers: Codes) -> Codes:
        """Return, for each walker, the flat position of its chosen parameter in the array `position`."""
        return self.columns.take(chosen) + walkers * self.position.shape[1]

    def _retry(self, proposal: Codes) -> Codes:
        """Return the inputs to judge, after up to `REDRAWS` new jumps were drawn for walkers whose jump is forbidden.

        A walker without an allowed jump is not asked about. If no walker has one, all present inputs are judged again.
        """
        if isinstance(self.domain, Region) and self._likely is None:
            self._likely = self.domain.density.log_chances(self.position)
        may, self._then = self._may_go(self._asked, self._jumps, proposal)
        stuck = np.flatnonzero(~may)
        if not len(stuck):
            return proposal
        several = np.repeat(stuck, REDRAWS)
        jumps, there = self.draw(several), self.position[several]
        for chosen, after in zip(jumps[CHOSEN], jumps[AFTER], strict=True):
            there[np.arange(len(there)), self.columns[chosen]] = after
        may, then = self._may_go(several, jumps, there)
        may = may.reshape(-1, REDRAWS)
        found = may.any(axis=1)
        first, free = np.flatnonzero(found) * REDRAWS + may[found].argmax(axis=1), stuck[found]
        self._jumps[:, :, free], proposal[free], self._then[free] = jumps[:, :, first], there[first], then[first]
        stuck = stuck[~found]
        if len(stuck) == len(proposal):  # where nobody can move, all are asked about again, so that the search goes on
            self._jumps[AFTER], self._likely = self._jumps[BEFORE], None
            return self.position.copy()
        self.misses[stuck] += 1
        self._asked = np.delete(self._asked, stuck)
        self._jumps = self._jumps[:, :, self._asked]
        return proposal[self._asked]

    def _may_go(self, walkers: Codes, jumps: Jumps, there: Codes) -> tuple[Mask, Floats]:
        """Return a mask of the walkers whose jump is allowed, and the log probability of the input it leads to.

        `there` has that input for each walker. The counts of drawn and allowed jumps by parameter are updated. Without
        a density, the log probabilities are 0.
        """
        if isinstance(self.domain, Region) and self._likely is not None:
            then = self.domain.density.log_chances(there)
            may = self.domain.takes(self._likely[walkers], then, there, self.rng)
        else:
            then, may = np.zeros(len(there)), self.domain.allows(there)
        chosen, n = jumps[CHOSEN, 0], len(self.columns)
        self._drawn += np.bincount(chosen, minlength=n)
        self._allowed += np.bincount(chosen[may], minlength=n)
        return may, then

    def _tell(self, judgement: Judgement) -> None:
        jumps = self._jumps
        self.learn(judgement, jumps)
        self.position.put(jumps[PLACES], np.where(judgement.hits, jumps[AFTER], jumps[BEFORE]))
        self.misses[self._asked] = np.where(judgement.hits, 0, self.misses[self._asked] + 1)
        if self._likely is not None:
            moved = self._asked[judgement.hits]
            self._likely[moved] = self._then[moved]
        self._n_trials += 1
        self._n_hits += int(judgement.hits.sum())
        self._n_asked += len(judgement.hits)
        if self._n_trials % RENEW_EVERY == 0:
            is_poor = self._n_hits < POOR * self._n_asked
            self._n_hits = self._n_asked = 0
            self._renew()
            self.is_spent = is_poor or self.is_dry

    def learn(self, judgement: Judgement, jumps: Jumps) -> None:
        """Widen each walker's reach along its moved parameters if its input is a case; otherwise narrow it."""
        cells = jumps[CELLS]
        reach = self.reach.take(cells)
        learned = np.maximum(np.minimum(reach * np.where(judgement.hits, WIDEN, NARROW), 1.0), LEAST_REACH)
        self.reach.put(cells, np.where(jumps[BEFORE] == jumps[AFTER], reach, learned))
        if self._n_together and self._n_trials < TOGETHER and len(self._asked) == len(self.position):
            self._learn_together(jumps)

    def _learn_together(self, jumps: Jumps) -> None:
        """Give all new walkers of one start case the same reach along each parameter that at least one of them moved.

        It is the geometric mean of the reaches of the walkers that moved this parameter.
        """
        n, new = self._n_together, self._new
        chosen = jumps[CHOSEN, 0, new]
        cells = chosen * n + np.arange(len(new)) % n  # they began in turn at the seeds
        counts = np.bincount(cells, minlength=len(self.reach) * n)
        logs = np.bincount(cells, np.log(self.reach[chosen, new]), minlength=len(counts))
        learned = np.exp(logs / np.maximum(counts, 1))
        n_each = len(new) // n
        shared, is_new = (np.tile(each.reshape(-1, n), n_each) for each in (learned, counts > 0))
        self.reach[:, new] = np.where(is_new, shared, self.reach[:, new])


def _land(before: Codes, steps: Codes, levels: Codes) -> Codes:
    """Return the codes after each walker's step.

    A step past a bound is reflected; if still outside, it wraps around.
    """
    after, reflected = before + steps, before - steps
    after = np.where((after < 0) | (after >= levels), reflected, after)
    return np.where((after < 0) | (after >= levels), (before + steps) % levels, after)


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
