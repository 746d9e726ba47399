"""`semi-directed`: learns the direction in which to move each parameter (the paper's Algorithm 3)."""

from __future__ import annotations

import numpy as np

from fairprobe.arrays import Codes, Mask
from fairprobe.searching.strategy import Walk


class SemiDirected(Walk):
    """Walks in which a direction that gave a case becomes more likely, and one that lost it less likely."""

    def learn(self, chosen: Codes, down: Mask, hits: Mask) -> None:
        """Update the probability of moving down, by parameter: sum the walkers' updates, then clip to [0, 1] once."""
        towards_down = np.where(hits == down, self.settings.delta_v, -self.settings.delta_v)
        change = np.bincount(chosen, weights=towards_down, minlength=len(self.down))
        self.down = np.minimum(np.maximum(self.down + change, 0.0), 1.0)
