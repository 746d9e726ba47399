"""A vote of models: each member compiled, and counted as scikit-learn counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairprobe.arrays import Floats
from fairprobe.standins.compile import Batch, Columns, Compiled, GivesProbabilities, Places, compiled_for


def vote(model: Any, columns: Columns) -> HardVote | SoftVote | None:
    """A fitted vote, if all its members can be compiled."""
    n_classes, n_members = len(model.classes_), len(model.estimators_)
    if any(len(getattr(member, "classes_", ())) != n_classes for member in model.estimators_):
        return None
    weights = np.ones(n_members)
    if model.weights is not None:
        named = zip(model.estimators, model.weights, strict=True)
        kept = [weight for (_, member), weight in named if not (isinstance(member, str) and member == "drop")]
        weights = np.asarray(kept, dtype=np.float64)
    if (weights < 0).any() or not weights.sum() > 0:
        return None  # a class that nobody votes for could win
    found = [member for member in (compiled_for(each, columns) for each in model.estimators_) if member is not None]
    if len(found) < n_members:
        return None
    if model.voting == "hard":
        return HardVote(found, weights, n_classes)
    likely = [member for member in found if isinstance(member, GivesProbabilities)]
    return SoftVote(likely, weights) if len(likely) == n_members else None


class HardVote:
    """The class with the most votes; the first of them in a tie."""

    def __init__(self, members: list[Compiled], weights: Floats, n_classes: int) -> None:
        self.name = f"vote of {len(members):,} models: {', '.join(member.name for member in members)}"
        self._members = members
        self._weights = weights
        self._n_classes = n_classes

    def places(self, batch: Batch) -> Places:
        """Count the votes, member by member."""
        n_combinations, n_inputs = batch.shape
        votes = np.zeros((self._n_classes, n_combinations * n_inputs))
        for member, weight in zip(self._members, self._weights, strict=True):
            found = member.places(batch)
            for place, vote in enumerate(votes):
                vote += weight * (found == place)
        return np.asarray(votes[1] > votes[0] if self._n_classes == 2 else votes.argmax(axis=0))


class SoftVote:
    """The class with the highest mean probability."""

    def __init__(self, members: list[GivesProbabilities], weights: Floats) -> None:
        self.name = f"soft vote of {len(members):,} models: {', '.join(member.name for member in members)}"
        self._members = members
        self._weights = weights

    def places(self, batch: Batch) -> Places:
        """Average the probabilities."""
        return self.probabilities(batch).argmax(axis=1)

    def probabilities(self, batch: Batch) -> Floats:
        """The mean over the members."""
        likely = [member.probabilities(batch) for member in self._members]
        return np.average(likely, axis=0, weights=self._weights)
