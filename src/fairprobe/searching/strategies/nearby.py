"""`nearby`: real rows with a few values replaced by those of other rows, so that cases stay near real people."""

from __future__ import annotations

import numpy as np

from fairprobe.arrays import Codes, Mask
from fairprobe.domain.domain import Domain
from fairprobe.oracle import Judgement
from fairprobe.searching.limits import SearchSettings
from fairprobe.searching.strategy import Strategy

AGAIN = 0.5
"""Probability that a walker with a case redraws the columns whose change last gave it a case, instead of random
columns. Chosen."""


class Nearby(Strategy):
    """Walkers that each keep their row and propose it with 1 to `max_changes` columns redrawn in each trial."""

    starts_anywhere = True

    def __init__(self, domain: Domain, settings: SearchSettings, rng: np.random.Generator) -> None:
        super().__init__(domain, settings, rng)
        self.most = min(settings.max_changes or 0, len(self.columns))
        self.own_levels = np.array([domain.own_levels[c] for c in self.columns], dtype=np.int64)
        """Number of values of each column that may be drawn, without values that only rows have."""
        self.trials, self.hits = np.full(len(self.columns), 2.0), np.ones(len(self.columns))

    def _start(self, seeds: Codes) -> None:
        self.rows = seeds
        self.good = np.full((len(seeds), self.most), -1)
        """Columns whose change last gave a case, by walker; -1 for none."""

    def _ask(self) -> Codes:
        proposal, self.changed = self._propose(np.arange(len(self.rows)))

        def redraw(stuck: Codes) -> Codes:
            rows, self.changed[stuck] = self._propose(stuck)
            return rows

        self.asked = self.redrawn(proposal, redraw)
        if not len(self.asked):  # where no row may change, they are asked about as they are
            self.asked = np.arange(len(proposal))
            self.changed[:] = -1
            return self.rows.copy()
        self.changed = self.changed[self.asked]
        return proposal[self.asked]

    def allows(self, codes: Codes) -> Mask:
        """Return a mask of the inputs that may be judged, after filling in the derived columns."""
        return self.domain.allows(self.domain.completed(codes))

    def _propose(self, walkers: Codes) -> tuple[Codes, Codes]:
        """Return a changed copy of the row of each walker (given by number), and the positions of the redrawn columns.

        The positions, in `columns`, are by walker, filled up with -1. A redrawn value may equal the old one.
        """
        n, rng = len(walkers), self.rng
        # The columns with the highest weight times luck are a draw without replacement by the weights.
        luck = np.log(self.hits / self.trials) + rng.gumbel(size=(n, len(self.columns)))
        changed = np.argsort(-luck, axis=1)[:, : self.most]
        changed[np.arange(self.most) >= rng.integers(1, self.most + 1, size=n)[:, None]] = -1
        again = (rng.random(n) < AGAIN) & (self.good[walkers] >= 0).any(axis=1)
        changed[again] = self.good[walkers[again]]
        proposal = self.rows[walkers].copy()
        each = np.arange(n)
        for place in range(self.most):
            which = changed[:, place]
            columns = self.columns[which]
            others = self.rows[rng.integers(0, len(self.rows), size=n), columns]
            drawn = rng.integers(0, self.own_levels[which])
            value = np.where(others == proposal[each, columns], drawn, others)
            proposal[each, columns] = np.where(which >= 0, value, proposal[each, columns])
        return proposal, changed

    def _tell(self, judgement: Judgement) -> None:
        used = self.changed[self.changed >= 0]
        hit = self.changed[judgement.hits]
        self.trials += np.bincount(used, minlength=len(self.columns))
        self.hits += np.bincount(hit[hit >= 0], minlength=len(self.columns))
        self.good[self.asked[judgement.hits]] = hit
