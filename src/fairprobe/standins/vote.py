"""A vote of models: each member compiled, and counted as scikit-learn counts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from fairprobe.arrays import Floats
from fairprobe.standins.compile import Batch, Columns, Compiled, Places, compiled_for


def vote(model: Any, columns: Columns) -> Compiled | None:
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
    names = f"vote of {n_members:,} models: {', '.join(member.name for member in found)}"
    if model.voting == "hard":
        return Compiled(names, partial(_most_votes, found, weights, n_classes))
    likely = [member.probabilities for member in found if member.probabilities is not None]
    soft = partial(_likeliest, likely, weights), partial(_mean, likely, weights)
    return Compiled(f"soft {names}", *soft) if len(likely) == n_members else None


def _most_votes(members: list[Compiled], weights: Floats, n_classes: int, batch: Batch) -> Places:
    """The class with the most votes; the first of them in a tie."""
    n_combinations, n_inputs = batch.shape
    votes = np.zeros((n_classes, n_combinations * n_inputs))
    for member, weight in zip(members, weights, strict=True):
        found = member.places(batch)
        for place, vote in enumerate(votes):
            vote += weight * (found == place)
    return np.asarray(votes[1] > votes[0] if n_classes == 2 else votes.argmax(axis=0))


def _mean(members: list[Callable[[Batch], Floats]], weights: Floats, batch: Batch) -> Floats:
    return np.average([member(batch) for member in members], axis=0, weights=weights)


def _likeliest(members: list[Callable[[Batch], Floats]], weights: Floats, batch: Batch) -> Places:
    return _mean(members, weights, batch).argmax(axis=1)
