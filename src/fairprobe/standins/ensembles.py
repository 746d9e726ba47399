"""Stand-ins for trees, forests and votes: scikit-learn's own arithmetic without its checks and threads.

For a few rows, the checks and threads take most of the time. The results are equal to the last bit, so that ties are
decided alike.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from fairprobe.arrays import Floats
from fairprobe.standins.compile import Batch, Columns, Compiled, Places, compiled_for, quietly


def trees(model: Any, columns: Columns) -> Compiled | None:
    """Return fast functions for the answers of a fitted tree or forest; None if it gives several labels per row."""
    members = [member.tree_ for member in getattr(model, "estimators_", [model])]
    if model.n_outputs_ != 1 or not members:
        return None
    name = f"forest of {len(members):,} trees" if len(members) > 1 else f"tree of {members[0].n_leaves:,} leaves"
    return _by_probabilities(name, partial(_mean, members))


def vote(model: Any, columns: Columns) -> Compiled | None:
    """Return fast functions for the answers of a fitted VotingClassifier; None if it cannot be compiled.

    Members that cannot be compiled are asked themselves. The result is None if no member compiles, the weights are
    negative or all 0, members differ in their number of classes, or a soft vote has a member without probabilities.
    """
    n_classes, n_members = len(model.classes_), len(model.estimators_)
    weights = member_weights(model)
    if (weights < 0).any() or not weights.sum() > 0:
        return None  # a class that nobody votes for could win
    if any(len(getattr(member, "classes_", ())) != n_classes for member in model.estimators_):
        return None
    compiled = [compiled_for(each, columns) for each in model.estimators_]
    if not any(compiled):
        return None
    members = [mine or _asked(each) for mine, each in zip(compiled, model.estimators_, strict=True)]
    name = f"vote of {n_members:,} models: {', '.join(member.name for member in members)}"
    if model.voting == "hard":
        return Compiled(name, partial(_most_votes, members, weights, n_classes))
    likely = [member.probabilities for member in members if member.probabilities is not None]
    return _by_probabilities(f"soft {name}", partial(_weighted, likely, weights)) if len(likely) == n_members else None


def member_weights(voting: Any) -> Floats:
    """Return the weights of a vote's fitted members, without the weights of dropped members."""
    present = [member is not None and not isinstance(member, str) for _, member in voting.estimators]
    weights = np.ones(len(present)) if voting.weights is None else np.asarray(voting.weights, dtype=np.float64)
    return weights[present]


def _asked(model: Any) -> Compiled:
    """Return functions for the answers of a vote's member that ask the member itself, because it cannot be compiled."""
    likely = partial(_of_rows, model.predict_proba) if hasattr(model, "predict_proba") else None
    return Compiled(type(model).__name__, partial(_of_rows, model.predict), likely)


def _of_rows(method: Callable[[Any], Any], batch: Batch) -> Any:
    return quietly(method, batch.doubles)


def _mean(trees: list[Any], batch: Batch) -> Floats:
    """Return the mean of the trees' probabilities, by row, then class.

    They are summed in scikit-learn's order, so that rounding is the same.
    """
    total: Floats = np.zeros((len(batch.singles), trees[0].value.shape[2]))
    for tree in trees:
        total += tree.predict(batch.singles)
    total /= len(trees)
    return total


def _by_probabilities(name: str, probabilities: Callable[[Batch], Floats]) -> Compiled:
    return Compiled(name, partial(_likeliest, probabilities), probabilities)


def _likeliest(probabilities: Callable[[Batch], Floats], batch: Batch) -> Places:
    """Return the position of the class with the highest probability for each row; in a tie the first."""
    likely = probabilities(batch)
    # For two classes a comparison is quicker.
    return np.asarray(likely[:, 1] > likely[:, 0] if likely.shape[1] == 2 else likely.argmax(axis=1))


def _most_votes(members: list[Compiled], weights: Floats, n_classes: int, batch: Batch) -> Places:
    """Return the position of the class with the most votes for each row; in a tie the first."""
    n_combinations, n_inputs = batch.shape
    votes = np.zeros((n_classes, n_combinations * n_inputs))
    for member, weight in zip(members, weights, strict=True):
        found = member.places(batch)
        for place, each in enumerate(votes):
            each += weight * (found == place)
    return np.asarray(votes[1] > votes[0] if n_classes == 2 else votes.argmax(axis=0))


def _weighted(members: list[Callable[[Batch], Floats]], weights: Floats, batch: Batch) -> Floats:
    return np.average([member(batch) for member in members], axis=0, weights=weights)
