"""Trees and forests: the mean of the trees' probabilities, summed in scikit-learn's order so that ties fall alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairprobe.arrays import Floats
from fairprobe.standins.protocol import Places
from fairprobe.standins.rows import Batch, Rows


def compiled(model: Any, rows: Rows) -> Trees | None:
    """A fitted tree or forest of one label a row."""
    trees = [member.tree_ for member in getattr(model, "estimators_", [model])]
    return Trees(trees) if model.n_outputs_ == 1 and trees else None


class Trees:
    """Every tree is walked, but without scikit-learn's checks and threads, which take most of the time for few rows."""

    def __init__(self, trees: list[Any]) -> None:
        self.name = f"forest of {len(trees):,} trees" if len(trees) > 1 else f"tree of {trees[0].n_leaves:,} leaves"
        self._trees = trees

    def places(self, batch: Batch) -> Places:
        """The class with the highest mean."""
        likely = self.probabilities(batch)
        return np.asarray(likely[:, 1] > likely[:, 0] if likely.shape[1] == 2 else likely.argmax(axis=1))

    def probabilities(self, batch: Batch) -> Floats:
        """The mean over the trees."""
        singles = batch.singles
        total: Floats = np.zeros((len(singles), self._trees[0].value.shape[2]))
        for tree in self._trees:
            total += tree.predict(singles)
        total /= len(self._trees)
        return total
