"""Trees: a tree, or an additive ensemble of trees, as flat arrays, and what a walk over them needs to know."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.checks import shown
from fairprobe.domain.boxes import Part
from fairprobe.domain.domain import Domain
from fairprobe.estimation.exact.axes import Axis, Slots, Tests, make_axis
from fairprobe.estimation.exact.regions import Regions, make_regions
from fairprobe.estimation.exact.solved import exact_dtype
from fairprobe.model.known import known_kind
from fairprobe.model.tables import Seen, Table, UnfitError
from fairprobe.standins.trees import member_weights

MAX_ENTRIES = 100_000_000
"""Nodes times combinations of sensitive values that a plan may have."""

UNDECIDED = -1

Small = NDArray[np.int32]


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
    """The least that a leaf below a node adds to the sum of a class, by class, then node."""
    high: Floats
    roots: Codes
    tolerance: float
    """Sums that are nearer than that are told apart by the model only."""

    def tests(self, which: Codes) -> Tests:
        """The tests of some nodes."""
        return Tests(self.column[which], self.threshold[which], self.missing_left[which])


def inner_levels(left: Codes, right: Codes, roots: Codes) -> list[Codes]:
    """The nodes that are no leaves by their depth, the roots first."""
    levels, below = [], roots
    while len(below):
        levels.append(below[left[below] >= 0])
        below = np.concatenate([left[levels[-1]], right[levels[-1]]])
    return levels


# Reading a model


def are_trees(final: Any) -> bool:
    """True for a tree, and for what may be an additive ensemble of trees."""
    return known_kind(final) in _READERS


def trees_of(final: Any) -> list[Any]:
    """The trees of a tree or an ensemble; raises if it is not made of trees alone."""
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
    """The nodes of a tree or an ensemble."""
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
    for inner in reversed(inner_levels(nodes.left, nodes.right, nodes.roots)):
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
    """The trees of a stage add to one class each; of two classes, to the second, whose sum is held against 0."""
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
"""For each kind of model, a function that gives what each node would add to the sum of every class as a leaf."""


# Preparing a walk


@dataclass(frozen=True)
class TreePlan:
    """The nodes that test a free parameter; the others are passed through, as each combination knows its way."""

    domain: Domain
    nodes: Nodes
    axes: tuple[Axis, ...]
    parameters: tuple[int, ...]
    """Whose axes these are."""
    axis: Small
    """The axis that each node tests."""
    answer: Small
    """The answer of each node's test on that axis."""
    to_left: Small
    """The next node that tests a free parameter, or a leaf, by node, then combination."""
    to_right: Small
    start: Small
    """The first such node, by combination, then tree."""
    touches: Mask
    """Mask of the nodes below which the way depends on the combination."""
    spread: Floats
    """For each node, how far apart its leaves are: 0 at a leaf, or where all leaves below are alike."""

    regions: Regions | None = None
    """The boxes that rules leave of the domain; None if all is allowed."""

    @cached_property
    def tested(self) -> int:
        """Number of families that the axes tell apart."""
        return math.prod(axis.total for axis in self.axes)

    @property
    def untested(self) -> int:
        """Families for each one that the axes tell apart, or that the regions count."""
        n_weighed = 1 if self.regions is None else self.regions.n_untested
        return self.domain.families.n_keys // (self.tested * n_weighed)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The type that holds the counts of all boxes."""
        return exact_dtype(self.tested * (1 if self.regions is None else self.regions.most))

    @cached_property
    def whole(self) -> Slots:
        """The box that is the whole domain."""
        return np.concatenate([np.zeros(0, dtype=np.int64), *(axis.whole() for axis in self.axes)])

    def starts(self) -> list[tuple[Slots, Codes]]:
        """The boxes to start from, those whose families have as many members together, and by box the members."""
        if self.regions is None:
            return [(self.whole[None], np.arange(len(self.start))[None])]
        return self.regions.starts()

    @cached_property
    def slots(self) -> list[slice]:
        """Each axis's place among a box's slots."""
        ends = np.cumsum([0, *(len(axis.whole()) for axis in self.axes)]).tolist()
        return [slice(start, stop) for start, stop in pairwise(ends)]

    def volumes(self, boxes: Slots) -> NDArray[Any]:
        """Families on the axes in each box; with rules, the inputs that these stand for."""
        volumes = np.ones(len(boxes), dtype=self.dtype)
        for axis, slots in zip(self.axes, self.slots, strict=True):
            volumes = volumes * axis.count(boxes[:, slots])
        return volumes if self.regions is None else volumes * self.regions.weights[boxes[:, -1]]

    def n_inputs(self) -> tuple[int, int]:
        """Inputs in the regions: the comparable ones and the others."""
        assert self.regions is not None
        volumes, alone = self.volumes(self.regions.slots), self.regions.sizes == 1
        return int(volumes[~alone].sum()) * self.untested, int(volumes[alone].sum()) * self.untested

    def inputs(self, boxes: Slots) -> Codes:
        """One input out of each box."""
        codes = np.zeros((len(boxes), len(self.domain.levels)), dtype=np.int64)
        for axis, parameter, slots in zip(self.axes, self.parameters, self.slots, strict=True):
            codes[:, parameter] = axis.level(boxes[:, slots])
        return codes

    def boxes(self, codes: Codes) -> Slots:
        """For each input a box that no test cuts."""
        slots = [axis.at(codes[:, parameter]) for axis, parameter in zip(self.axes, self.parameters, strict=True)]
        return np.concatenate([np.zeros((len(codes), 0), dtype=np.int64), *slots], axis=1)

    def labels(self, nodes: Small) -> Small:
        """The class sure to win from these nodes on, whatever leaves follow, by box, then combination."""
        low = np.stack([values[nodes].sum(axis=2) for values in self.nodes.low])
        high = np.stack([values[nodes].sum(axis=2) for values in self.nodes.high])
        first = low.argmax(axis=0)[None]
        np.put_along_axis(high, first, -np.inf, axis=0)
        margin = np.take_along_axis(low, first, axis=0)[0] - high.max(axis=0)
        return np.where(margin > self.nodes.tolerance, first[0], UNDECIDED).astype(np.int32)


def make_plan(seen: Seen, nodes: Nodes, parts: Sequence[Part] = (), max_boxes: int = 0) -> TreePlan:
    """Find what parameter each node tests, and how; with parts, also what they leave, in so many boxes at most."""
    n_nodes, n_combinations = len(nodes.left), len(seen.domain.families)
    if n_nodes * n_combinations > MAX_ENTRIES:
        raise UnfitError(
            f"{n_nodes:,} nodes and {n_combinations:,} combinations of sensitive values make "
            f"{shown(n_nodes * n_combinations)} pairs, over the {shown(MAX_ENTRIES)} allowed"
        )
    spread = (nodes.high - nodes.low).max(axis=0)
    inner = np.flatnonzero(spread > 0)  # below any other node nothing is open
    wanted = np.zeros(len(seen.base), dtype=bool)
    wanted[nodes.column[inner]] = True
    tables, owners = [], np.full(len(seen.base), -1)
    for parameter in range(len(seen.domain.parameters)):
        # Of a wide parameter its ends are enough to know which columns it changes.
        table = (seen.outline if seen.is_searchable(parameter) else seen.table)(parameter, wanted)
        owners[table.columns] = parameter
        tables.append(table)
    owner = owners[nodes.column[inner]]

    # Nodes that test a free parameter are cut by; all others are decided by the combination alone.
    axis, answer = np.full((2, n_nodes), -1, dtype=np.int32)
    free = [int(parameter) for parameter in np.intersect1d(owner, seen.domain.free_columns)]
    atoms = {each.column: each for part in parts for each in part.atoms}
    axes = []
    for position, parameter in enumerate(free):
        mine = inner[owner == parameter]
        tests, which = _distinct_tests(nodes, mine)
        made, answers = make_axis(seen, parameter, tests, tables[parameter], atoms.get(parameter))
        axis[mine], answer[mine] = position, answers[which]
        axes.append(made)

    fixed, goes_left = _fixed(seen, nodes, inner, owner, tables)
    ahead = _ahead(nodes, fixed, goes_left)
    touches = np.zeros(n_nodes, dtype=bool)
    touches[fixed[goes_left.any(axis=1) & ~goes_left.all(axis=1)]] = True
    for level in reversed(inner_levels(nodes.left, nodes.right, nodes.roots)):
        touches[level] |= touches[nodes.left[level]] | touches[nodes.right[level]]
    plan = TreePlan(
        domain=seen.domain,
        nodes=nodes,
        axes=tuple(axes),
        parameters=tuple(free),
        axis=axis,
        answer=answer,
        to_left=ahead[nodes.left],
        to_right=ahead[nodes.right],
        start=ahead[nodes.roots].T,
        touches=touches,
        spread=spread,
    )
    if not parts:
        return plan
    return replace(plan, regions=make_regions(parts, plan, n_combinations, max_boxes))


def _distinct_tests(nodes: Nodes, which: Codes) -> tuple[Tests, Codes]:
    """The tests of some nodes without repeats, and the number of each node's among them."""
    tests = nodes.tests(which)
    order, is_new = in_order(tests.columns, tests.thresholds, tests.missing_left)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.cumsum(is_new) - 1
    return nodes.tests(which[order[is_new]]), number


def in_order(*columns: NDArray[Any]) -> tuple[Codes, Mask]:
    """The order of rows, given as columns, and where in it a row is not equal to the one before."""
    order = np.lexsort(columns[::-1])  # 6 times faster than np.unique of rows
    is_new = np.zeros(len(order), dtype=bool)
    is_new[:1] = True
    for values in columns:
        is_new[1:] |= values[order[1:]] != values[order[:-1]]
    return order, is_new


def _fixed(seen: Seen, nodes: Nodes, inner: Codes, owner: Codes, tables: Sequence[Table]) -> tuple[Codes, Mask]:
    """The nodes that a combination of sensitive values decides, and by node, then combination, whether it goes left."""
    constant = inner[owner < 0]
    answers = nodes.tests(constant).answers(seen.base[None], np.arange(len(seen.base)))
    which, goes_left = [constant], [np.repeat(answers, len(seen.domain.families), axis=1)]
    base = np.zeros((1, len(seen.domain.levels)), dtype=np.int64)
    for parameter, codes in seen.domain.families.varied(base):
        mine = inner[owner == parameter]
        answers = nodes.tests(mine).answers(tables[parameter].values, tables[parameter].columns)
        which.append(mine)
        goes_left.append(answers[:, codes[:, 0]])
    return np.concatenate(which), np.concatenate(goes_left)


def _ahead(nodes: Nodes, fixed: Codes, goes_left: Mask) -> Small:
    """The node itself or, if it is a fixed one, the first behind it that is not, by node, then combination."""
    n_combinations = goes_left.shape[1]
    ahead = np.repeat(np.arange(len(nodes.left), dtype=np.int32)[:, None], n_combinations, axis=1)
    ahead[fixed] = np.where(goes_left, nodes.left[fixed, None], nodes.right[fixed, None])
    combinations = np.arange(n_combinations)
    while True:
        # Ways double in length each time, so a deep tree takes few turns.
        further = ahead[ahead, combinations]
        if (further == ahead).all():
            return ahead
        ahead = further
