"""`anchored`: a walker that leaves the discriminatory region steps back to its last case and tries another jump."""

from __future__ import annotations

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.domain import Domain
from fairprobe.oracle import Judgement
from fairprobe.searching.limits import SearchSettings
from fairprobe.searching.strategies.walkers import RENEW_EVERY, Walkers
from fairprobe.searching.strategy import Region

LEAST_REACH = 0.005
"""Smallest reach (longest jump of a walker along a parameter), as a fraction of the range. Chosen: a parameter whose
moves always leave the region is still tried."""

WIDEN, NARROW = 1.3, 0.1
"""`WIDEN`: factor of a walker's reach (its longest jump) after a case. `NARROW`: factor after a miss. Measured: about
nine jumps in ten then stay in the discriminatory region."""

TOGETHER = 10
"""Number of trials for which walkers from one start case share what they learn, with `hurry`. Chosen."""

POOR = 0.15
"""Fraction of cases among the inputs of the last `RENEW_EVERY` trials, below which a local search ends: new start cases
then find more. Measured."""

REDRAWS = 4
"""Number of further jumps that a walker draws at once if its jump is forbidden. Chosen."""

CHOSEN, CELLS, PLACES, BEFORE, AFTER = range(5)
"""Positions on the first axis of `Jumps`, for the five numbers of a jump. `CHOSEN`: place of the moved parameter among
the movable ones. `CELLS`: its flat position in tables by parameter, then walker. `PLACES`: its flat position in the
walkers' positions. `BEFORE` and `AFTER`: its code before and after the jump."""

Jumps = Codes
"""Jumps of walkers, by the five numbers of a jump, then moved parameter (first, second, ...), then walker."""


class Anchored(Walkers):
    """Walkers that each learn a reach for every parameter: the longest jump, as a fraction of the range.

    A case widens the reach along the moved parameter, and a miss narrows it. Parameters are moved in proportion to
    their reach. Parameters without influence near the walker are thus soon redrawn over their whole range, and cases
    are both frequent and far apart.
    """

    def __init__(self, domain: Domain, settings: SearchSettings, rng: np.random.Generator) -> None:
        super().__init__(domain, settings, rng)
        self.levels: Codes = domain.levels[self.columns]
        self.spans = (self.levels - 1).astype(np.float64)
        self.wraps: Mask = np.array([domain.parameters[c].wraps for c in self.columns], dtype=bool)
        self._sums = np.tri(len(self.columns))
        self._drawn, self._allowed = np.full(len(self.columns), 2.0), np.ones(len(self.columns))
        """In a restricted domain, by parameter: `_drawn` is the number of drawn jumps, `_allowed` that of allowed
        ones."""

    # Trials

    def _ask(self) -> Codes:
        self._asked = np.arange(len(self.position))
        self._jumps = self.draw(self._asked)
        if self.wants_scores and not self._n_trials:  # scores are needed about the places where they begin
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
