"""A vote of models: each member compiled, and counted as scikit-learn counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.accelerate.protocol import Evaluator, Likelihoods
from fairprobe.accelerate.rows import Batch, Floats, Rows


def evaluator(model: Any, rows: Rows) -> HardVote | SoftVote | None:
    """A fitted vote, compiled if all its members are."""
    from fairprobe.accelerate.compile import evaluator_of

    n_classes = len(model.classes_)
    if any(len(getattr(member, "classes_", ())) != n_classes for member in model.estimators_):
        return None
    weights = _weights(model)
    members = [evaluator_of(member, rows) for member in model.estimators_]
    found = [member for member in members if member is not None]
    if len(found) < len(members) or weights is None:
        return None
    if model.voting == "hard":
        return HardVote(found, weights, n_classes)
    likely = [member for member in found if isinstance(member, Likelihoods)]
    return SoftVote(likely, weights) if len(likely) == len(found) else None


def _weights(model: Any) -> Floats | None:
    """One for each member; None if one is below 0, as a class that nobody votes for then could win."""
    if model.weights is None:
        return np.ones(len(model.estimators_))
    kept = [
        weight for (_, member), weight in zip(model.estimators, model.weights, strict=True) if not _is_dropped(member)
    ]
    weights = np.asarray(kept, dtype=np.float64)
    return weights if (weights >= 0).all() and weights.sum() > 0 else None


def _is_dropped(member: Any) -> bool:
    return isinstance(member, str) and member == "drop"


class HardVote:
    """The class with the most votes; the first of them in a tie."""

    def __init__(self, members: list[Evaluator], weights: Floats, n_classes: int) -> None:
        self.name = f"vote of {len(members):,} models: {', '.join(member.name for member in members)}"
        self._members = members
        self._weights = weights
        self._n_classes = n_classes

    def positions(self, batch: Batch) -> NDArray[Any]:
        """Count the votes, member by member."""
        votes = np.zeros((self._n_classes, *batch.shape))
        for member, weight in zip(self._members, self._weights, strict=True):
            found = member.positions(batch)
            for place, vote in enumerate(votes):
                vote += weight * (found == place)
        return votes[1] > votes[0] if self._n_classes == 2 else votes.argmax(axis=0)


class SoftVote:
    """The class with the highest mean probability."""

    def __init__(self, members: list[Likelihoods], weights: Floats) -> None:
        self.name = f"soft vote of {len(members):,} models: {', '.join(member.name for member in members)}"
        self._members = members
        self._weights = weights

    def positions(self, batch: Batch) -> NDArray[Any]:
        """Average the probabilities."""
        return self.probabilities(batch).argmax(axis=2)

    def probabilities(self, batch: Batch) -> Floats:
        """The mean over the members."""
        likely = [member.probabilities(batch) for member in self._members]
        return np.average(likely, axis=0, weights=self._weights)
