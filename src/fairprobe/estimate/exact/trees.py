"""Trees: the nodes of a tree, or of an additive ensemble of trees, as flat arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.estimate.exact.outcome import UnfitError
from fairprobe.estimate.exact.seen import Seen
from fairprobe.model.known import known_kind


@dataclass(frozen=True)
class Nodes:
    """All trees' nodes one after another; the label is that of the class with the highest sum over the trees."""

    left: Codes
    """Where to go if the value is at most the threshold; -1 at a leaf."""
    right: Codes
    column: Codes
    threshold: Floats
    missing_left: Mask
    low: Floats
    """By node, then class: the least that a leaf below adds to the class's sum."""
    high: Floats
    roots: Codes
    tolerance: float
    """Sums that are nearer than that are told apart by the model only."""

    def levels(self) -> list[Codes]:
        """The nodes by their depth, the roots first."""
        levels = [self.roots]
        while len(levels[-1]):
            inner = levels[-1][self.left[levels[-1]] >= 0]
            levels.append(np.concatenate([self.left[inner], self.right[inner]]))
        return levels[:-1]


@dataclass(frozen=True)
class _Part:
    """One tree, and what each of its nodes would add to every class's sum as a leaf."""

    tree: Any
    values: Floats


def is_tree(final: Any) -> bool:
    """Whether it is a single tree."""
    return known_kind(final) == "tree"


def is_ensemble(final: Any) -> bool:
    """Whether it may be an additive ensemble of trees."""
    return known_kind(final) in _READERS


def trees_of(final: Any) -> list[Any]:
    """The trees of a tree or an ensemble; raises if it is not made of trees alone."""
    if is_tree(final):
        return [final.tree_]
    if known_kind(final) == "boosting":
        return [member.tree_ for stage in final.estimators_ for member in stage]
    for member in final.estimators_:
        if not is_tree(member):
            raise UnfitError(f"a vote is solved where all that vote are trees, got {type(member).__name__}")
    return [member.tree_ for member in final.estimators_]


def read(seen: Seen) -> Nodes:
    """The nodes of a tree or an ensemble."""
    return _joined(_votes_of_tree(seen) if is_tree(seen.final) else _READERS[known_kind(seen.final)](seen))


def _votes_of_tree(seen: Seen) -> list[_Part]:
    return [_Part(seen.final.tree_, _votes(seen.final.tree_))]


def _forest(seen: Seen) -> list[_Part]:
    return [_Part(member.tree_, _probabilities(member.tree_)) for member in seen.final.estimators_]


def _vote(seen: Seen) -> list[_Part]:
    voting = seen.final
    present = [member is not None and member != "drop" for _, member in voting.estimators]
    weights = np.ones(len(present)) if voting.weights is None else np.asarray(voting.weights, dtype=np.float64)
    values_of = _votes if voting.voting == "hard" else _probabilities
    parts = []
    for member, weight in zip(voting.estimators_, weights[present], strict=True):
        values = np.zeros((member.tree_.node_count, len(voting.classes_)))
        values[:, member.classes_.astype(np.int64)] = weight * values_of(member.tree_)
        parts.append(_Part(member.tree_, values))
    return parts


def _boosting(seen: Seen) -> list[_Part]:
    """The trees of a stage add to one class each; of two classes, to the second, whose sum is held against 0."""
    model = seen.final
    if model.init is not None and model.init != "zero":
        raise UnfitError(f"gradient boosting is solved if it starts from a constant, got init={model.init!r:.60}")
    is_binary = model.estimators_.shape[1] == 1
    parts, start = [], np.zeros(len(model.classes_))
    base = np.zeros((1, len(seen.domain.levels)), dtype=np.int64)
    start[1 if is_binary else slice(None)] = seen.scores(base)[0]
    for stage in model.estimators_:
        for position, member in enumerate(stage):
            values = np.zeros((member.tree_.node_count, len(model.classes_)))
            values[:, position + is_binary] = model.learning_rate * member.tree_.value[:, 0, 0]
            start -= values[member.tree_.apply(seen.base[None])[0]]
            parts.append(_Part(member.tree_, values))
    return [_Part(parts[0].tree, parts[0].values + start), *parts[1:]]


def _probabilities(tree: Any) -> Floats:
    values = tree.value[:, 0, :]
    return np.asarray(values / values.sum(axis=1, keepdims=True))


def _votes(tree: Any) -> Floats:
    return np.eye(tree.value.shape[2])[tree.value[:, 0, :].argmax(axis=1)]


_READERS: dict[str | None, Callable[[Seen], list[_Part]]] = {"boosting": _boosting, "forest": _forest, "vote": _vote}


def _joined(parts: Sequence[_Part]) -> Nodes:
    sizes = [part.tree.node_count for part in parts]
    starts = np.cumsum([0, *sizes])[:-1]
    leaf_values = np.concatenate([part.values for part in parts])
    nodes = Nodes(
        left=_children([part.tree.children_left for part in parts], starts),
        right=_children([part.tree.children_right for part in parts], starts),
        column=np.concatenate([part.tree.feature for part in parts]).astype(np.int64),
        threshold=np.concatenate([part.tree.threshold for part in parts]),
        missing_left=np.concatenate([part.tree.missing_go_to_left for part in parts]).astype(bool),
        low=leaf_values,
        high=leaf_values.copy(),
        roots=starts,
        tolerance=1e-9 * sum(float(np.abs(part.values).max()) for part in parts),
    )
    for level in reversed(nodes.levels()):
        inner = level[nodes.left[level] >= 0]
        left, right = nodes.left[inner], nodes.right[inner]
        nodes.low[inner] = np.minimum(nodes.low[left], nodes.low[right])
        nodes.high[inner] = np.maximum(nodes.high[left], nodes.high[right])
    return nodes


def _children(children: Sequence[Codes], starts: Codes) -> Codes:
    shifted = [np.where(child < 0, -1, child + start) for child, start in zip(children, starts, strict=True)]
    return np.concatenate(shifted).astype(np.int64)
