"""`fully-directed`: learns both the direction and the choice of the parameter to move (the paper's Algorithm 4)."""

from __future__ import annotations

import numpy as np

from fairprobe.arrays import Codes, Mask
from fairprobe.searching.strategies.semi_directed import SemiDirected


class FullyDirected(SemiDirected):
    """Walks in which a parameter whose move gave a case becomes more likely to be moved again."""

    def learn(self, chosen: Codes, down: Mask, hits: Mask) -> None:
        """Add `delta_pr` to the probability of each hit's parameter, and normalise once; update the directions too."""
        super().learn(chosen, down, hits)
        if hits.any():
            gain = self.settings.delta_pr * np.bincount(chosen.compress(hits), minlength=len(self.choose))
            self.choose = self.choose + gain
            self.choose /= self.choose.sum()
