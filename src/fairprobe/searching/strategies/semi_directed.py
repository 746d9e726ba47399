"""`semi-directed`: learns the direction in which to move each parameter (the paper's Algorithm 3)."""

from __future__ import annotations

import numpy as np

from fairprobe.arrays import Codes, Mask
from fairprobe.searching.strategy import Walk


class SemiDirected(Walk):
    """Walks in which the direction of a move that gave a case becomes more likely, and that of a miss less likely."""

    def learn(self, chosen: Codes, down: Mask, hits: Mask) -> None:
        """Change the probability of moving down, by parameter, by `delta_v` for each walker, then clip to [0, 1]."""
        towards_down = np.where(hits == down, self.settings.delta_v, -self.settings.delta_v)
        change = np.bincount(chosen, weights=towards_down, minlength=len(self.down))
        self.down = np.minimum(np.maximum(self.down + change, 0.0), 1.0)
