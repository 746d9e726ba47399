"""A vote of compiled models, counted as scikit-learn counts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from fairprobe.arrays import Floats
from fairprobe.standins.compile import Batch, Columns, Compiled, Places, compiled_for, likeliest


def vote(model: Any, columns: Columns) -> Compiled | None:
    """A fitted vote, if all its members can be compiled."""
    n_classes, n_members = len(model.classes_), len(model.estimators_)
    if any(len(getattr(member, "classes_", ())) != n_classes for member in model.estimators_):
        return None
    weights = member_weights(model)
    if (weights < 0).any() or not weights.sum() > 0:
        return None  # a class that nobody votes for could win
    found = [member for member in (compiled_for(each, columns) for each in model.estimators_) if member is not None]
    if len(found) < n_members:
        return None
    names = f"vote of {n_members:,} models: {', '.join(member.name for member in found)}"
    if model.voting == "hard":
        return Compiled(names, partial(_most_votes, found, weights, n_classes))
    likely = [member.probabilities for member in found if member.probabilities is not None]
    mean = partial(_mean, likely, weights)
    return Compiled(f"soft {names}", partial(likeliest, mean), mean) if len(likely) == n_members else None


def member_weights(voting: Any) -> Floats:
    """The weights of the fitted members. The estimator lists also those of members that were dropped."""
    present = [member is not None and not isinstance(member, str) for _, member in voting.estimators]
    weights = np.ones(len(present)) if voting.weights is None else np.asarray(voting.weights, dtype=np.float64)
    return weights[present]


def _most_votes(members: list[Compiled], weights: Floats, n_classes: int, batch: Batch) -> Places:
    """The class with the most votes for each input; in a tie the first."""
    n_combinations, n_inputs = batch.shape
    votes = np.zeros((n_classes, n_combinations * n_inputs))
    for member, weight in zip(members, weights, strict=True):
        found = member.places(batch)
        for place, vote in enumerate(votes):
            vote += weight * (found == place)
    return np.asarray(votes[1] > votes[0] if n_classes == 2 else votes.argmax(axis=0))


def _mean(members: list[Callable[[Batch], Floats]], weights: Floats, batch: Batch) -> Floats:
    return np.average([member(batch) for member in members], axis=0, weights=weights)
