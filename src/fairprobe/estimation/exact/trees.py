"""Trees of a model as flat arrays of nodes: a single tree, or an additive ensemble of trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.model.known import known_kind
from fairprobe.model.tables import Seen, UnfitError
from fairprobe.standins.ensembles import member_weights

Small = NDArray[np.int32]


@dataclass(frozen=True)
class Nodes:
    """Nodes of all trees of a model, in one list; the model's label is the class with the highest sum over trees."""

    left: Codes
    """Next node if the tested value is at most the threshold, by node; -1 at a leaf."""
    right: Codes
    column: Codes
    threshold: Floats
    missing_left: Mask
    low: Floats
    """Smallest contribution of a leaf below a node to the sum of a class, by class, then node; `high` is the
    largest."""
    high: Floats
    roots: Codes
    tolerance: float
    """Largest difference of two classes' sums that rounding may cause; the model itself is asked if it is no larger."""

    def answers(self, which: Codes, rows: NDArray[Any], columns: Codes) -> Mask:
        """Return a mask by node (those in `which`), then row: True where the node's test sends the row left.

        `columns` are the columns that the rows have.
        """
        values = rows[:, np.searchsorted(columns, self.column[which])].T
        return np.where(np.isnan(values), self.missing_left[which, None], values <= self.threshold[which, None])

    @cached_property
    def spread(self) -> Floats:
        """By node, the range of the contributions of the leaves below it, for the class where this range is largest.

        It is 0 at a leaf, and where all leaves below are alike.
        """
        return np.asarray((self.high - self.low).max(axis=0))

    def from_below(self) -> list[Codes]:
        """Return a list with the inner (non-leaf) nodes of each depth of the trees, the deepest first."""
        levels, below = [], self.roots
        while len(below):
            levels.append(below[self.left[below] >= 0])
            below = np.concatenate([self.left[levels[-1]], self.right[levels[-1]]])
        return levels[::-1]


# Reading a model


def are_trees(final: Any) -> bool:
    """Return True for a model of a kind that may be solved: a tree, a forest, gradient boosting or a vote."""
    return known_kind(final) in _READERS


def trees_of(final: Any) -> list[Any]:
    """Return scikit-learn's tree structures of a tree or an ensemble; raise an UnfitError if it has other parts."""
    kind = known_kind(final)
    if kind == "tree":
        return [final.tree_]
    if kind == "boosting":
        return [member.tree_ for stage in final.estimators_ for member in stage]
    seen_before: dict[Any, bool] = {}
    for member in final.estimators_:
        if known_kind(member, seen_before) != "tree":
            raise UnfitError(f"a vote is solved where all that vote are trees, got {type(member).__name__}")
    return [member.tree_ for member in final.estimators_]


def read(seen: Seen) -> Nodes:
    """Return the nodes of all trees of a model's last step, which is a tree or an ensemble of trees."""
    trees = trees_of(seen.final)
    values = _READERS[known_kind(seen.final)](seen, trees)
    starts = np.cumsum([0, *(tree.node_count for tree in trees)])[:-1]

    def joined(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(tree, name) for tree in trees])

    def children(name: str) -> Codes:
        moved = [getattr(tree, name) + start for tree, start in zip(trees, starts, strict=True)]
        return np.where(joined(name) < 0, -1, np.concatenate(moved)).astype(np.int64)

    nodes = Nodes(
        left=children("children_left"),
        right=children("children_right"),
        column=joined("feature").astype(np.int64),
        threshold=joined("threshold"),
        missing_left=joined("missing_go_to_left").astype(bool),
        low=np.concatenate(values).T.copy(),  # a class in a row, as that is how sums are taken
        high=np.concatenate(values).T.copy(),
        roots=starts,
        tolerance=1e-9 * sum(float(np.abs(part).max()) for part in values),
    )
    for inner in nodes.from_below():
        left, right = nodes.left[inner], nodes.right[inner]
        nodes.low[:, inner] = np.minimum(nodes.low[:, left], nodes.low[:, right])
        nodes.high[:, inner] = np.maximum(nodes.high[:, left], nodes.high[:, right])
    return nodes


def _vote(seen: Seen, trees: Sequence[Any]) -> list[Floats]:
    voting = seen.final
    values_of = _votes if voting.voting == "hard" else _probabilities
    values = [np.zeros((tree.node_count, len(voting.classes_))) for tree in trees]
    for mine, member, weight in zip(values, voting.estimators_, member_weights(voting), strict=True):
        # Members are fitted on the numbers of the labels.
        mine[:, member.classes_.astype(np.int64)] = weight * values_of(member.tree_)
    return values


def _boosting(seen: Seen, trees: Sequence[Any]) -> list[Floats]:
    """Return, for each tree of a boosting model, the contributions of its nodes if they were leaves: node by class.

    The trees of a stage add to one class each. With two classes, they add to the second, whose sum is compared with 0.
    """
    model = seen.final
    if model.init is not None and model.init != "zero":
        raise UnfitError(f"gradient boosting is solved if it starts from a constant, got init={model.init!r:.60}")
    n_of_stage = model.estimators_.shape[1]
    is_binary = n_of_stage == 1
    # What it starts from is what its own score of one input has besides that input's leaves; the first tree takes it.
    values, start = [], np.zeros(len(model.classes_))
    base = np.zeros((1, len(seen.domain.levels)), dtype=np.int64)
    start[1 if is_binary else slice(None)] = seen.scores(base)[0]
    for place, tree in enumerate(trees):
        values.append(np.zeros((tree.node_count, len(model.classes_))))
        values[-1][:, place % n_of_stage + is_binary] = model.learning_rate * tree.value[:, 0, 0]
        start -= values[-1][tree.apply(seen.base[None])[0]]
    values[0] += start
    return values


def _probabilities(tree: Any) -> Floats:
    values = tree.value[:, 0, :]
    return np.asarray(values / values.sum(axis=1, keepdims=True))


def _votes(tree: Any) -> Floats:
    return np.eye(tree.value.shape[2])[tree.value[:, 0, :].argmax(axis=1)]


_READERS: dict[str | None, Callable[[Seen, Sequence[Any]], list[Floats]]] = {
    "boosting": _boosting,
    "forest": lambda _, trees: list(map(_probabilities, trees)),
    "tree": lambda _, trees: list(map(_votes, trees)),
    "vote": _vote,
}
"""By kind of model, the function that returns for each tree an array of contributions, by node, then class: what the
node, if it were a leaf, adds to the sum of the class."""
