"""Plan: what a walk over the trees of one model in one domain needs to know of every node."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.domain import Domain
from fairprobe.estimate.exact.axes import Axis, Slots, Tests
from fairprobe.estimate.exact.cells import make_axis
from fairprobe.estimate.exact.outcome import UnfitError, exact_dtype, shown
from fairprobe.estimate.exact.seen import Seen, Table
from fairprobe.estimate.exact.trees import Nodes

MAX_ENTRIES = 100_000_000
"""Nodes times combinations of sensitive values that a plan may have."""

UNDECIDED = -1

Small = NDArray[np.int32]


@dataclass(frozen=True)
class Plan:
    """The nodes that test a free parameter; the others are passed through, as each combination knows its way."""

    domain: Domain
    axes: tuple[Axis, ...]
    parameters: tuple[int, ...]
    """Whose axes these are."""
    axis: Small
    """By node, the axis that it tests."""
    answer: Small
    """By node, its test's answer on that axis."""
    to_left: Small
    """By node, then combination: the next node that tests a free parameter, or a leaf."""
    to_right: Small
    start: Small
    """By combination, then tree: the first such node."""
    touches: Mask
    """By node, whether the way from there depends on the combination."""
    low: Floats
    """By class, then node: the least that a leaf below adds to the class's sum."""
    high: Floats
    spread: Floats
    """By node, how much is open: 0 at a leaf, or where all leaves below are alike."""
    tolerance: float

    @property
    def untested(self) -> int:
        """How many families there are for each one that the axes tell apart."""
        assert self.domain.n_families is not None  # a domain with constraints is not solved
        return self.domain.n_families // self.tested

    @property
    def tested(self) -> int:
        """How many families the axes tell apart."""
        return math.prod(axis.n_levels for axis in self.axes)

    def slots(self) -> list[slice]:
        """Each axis's place among a box's slots."""
        ends = np.cumsum([0, *(axis.n_slots for axis in self.axes)]).tolist()
        return [slice(start, stop) for start, stop in pairwise(ends)]

    def whole(self) -> Slots:
        """The box that is the whole domain."""
        return np.concatenate([np.zeros(0, dtype=np.int64), *(axis.whole() for axis in self.axes)])

    def volumes(self, boxes: Slots) -> NDArray[Any]:
        """How many of the families that the axes tell apart each box holds."""
        volumes = np.ones(len(boxes), dtype=exact_dtype(self.tested))
        for axis, slots in zip(self.axes, self.slots(), strict=True):
            volumes = volumes * axis.count(boxes[:, slots])
        return volumes

    def inputs(self, boxes: Slots) -> Codes:
        """One input out of each box."""
        codes = np.zeros((len(boxes), len(self.domain.levels)), dtype=np.int64)
        for axis, parameter, slots in zip(self.axes, self.parameters, self.slots(), strict=True):
            codes[:, parameter] = axis.level(boxes[:, slots])
        return codes

    def labels(self, nodes: Small) -> Small:
        """By box, then combination: the class sure to win, whatever leaves the trees lead to from these nodes."""
        low = np.stack([values[nodes].sum(axis=2) for values in self.low])
        high = np.stack([values[nodes].sum(axis=2) for values in self.high])
        first = low.argmax(axis=0)[None]
        np.put_along_axis(high, first, -np.inf, axis=0)
        margin = np.take_along_axis(low, first, axis=0)[0] - high.max(axis=0)
        return np.where(margin > self.tolerance, first[0], UNDECIDED).astype(np.int32)


def make_plan(seen: Seen, nodes: Nodes) -> Plan:
    """Find what parameter each node tests, and how."""
    _check_entries(len(nodes.left), len(seen.domain.families))
    spread = (nodes.high - nodes.low).max(axis=1)
    inner = np.flatnonzero(spread > 0)  # below any other node nothing is open
    tables = _tables(seen, nodes.column[inner])
    owner = _owners(tables, len(seen.base))[nodes.column[inner]]

    axis, answer = np.full((2, len(nodes.left)), -1, dtype=np.int32)
    free = [int(parameter) for parameter in np.intersect1d(owner, seen.domain.free_columns)]
    axes = []
    for position, parameter in enumerate(free):
        mine = inner[owner == parameter]
        tests, which = _distinct_tests(nodes, mine)
        made, answers = make_axis(seen, parameter, tests, tables[parameter])
        axis[mine], answer[mine] = position, answers[which]
        axes.append(made)

    fixed, goes_left = _fixed(seen, nodes, inner, owner, tables)
    ahead = _ahead(nodes, fixed, goes_left)
    depends = goes_left.any(axis=1) & ~goes_left.all(axis=1)
    return Plan(
        domain=seen.domain,
        axes=tuple(axes),
        parameters=tuple(free),
        axis=axis,
        answer=answer,
        to_left=ahead[nodes.left],
        to_right=ahead[nodes.right],
        start=ahead[nodes.roots].T,
        touches=_touches(nodes, fixed[depends]),
        low=np.ascontiguousarray(nodes.low.T),
        high=np.ascontiguousarray(nodes.high.T),
        spread=spread,
        tolerance=nodes.tolerance,
    )


def _check_entries(n_nodes: int, n_combinations: int) -> None:
    if n_nodes * n_combinations > MAX_ENTRIES:
        raise UnfitError(
            f"{n_nodes:,} nodes and {n_combinations:,} combinations of sensitive values make "
            f"{shown(n_nodes * n_combinations)} pairs, over the {shown(MAX_ENTRIES)} allowed"
        )


def _tables(seen: Seen, columns: Codes) -> list[Table]:
    """Every parameter's levels in those of the columns that it changes; of a wide one, its ends."""
    wanted = np.zeros(len(seen.base), dtype=bool)
    wanted[columns] = True
    return [
        seen.outline(parameter, wanted) if seen.is_searchable(parameter) else seen.table(parameter, wanted)
        for parameter in range(len(seen.domain.parameters))
    ]


def _owners(tables: Sequence[Table], n_columns: int) -> Codes:
    """By column, the parameter that changes it; -1 if none does."""
    owners = np.full(n_columns, -1)
    for parameter, table in enumerate(tables):
        owners[table.columns] = parameter
    return owners


def _tests(nodes: Nodes, which: Codes) -> Tests:
    return Tests(nodes.column[which], nodes.threshold[which], nodes.missing_left[which])


def _distinct_tests(nodes: Nodes, which: Codes) -> tuple[Tests, Codes]:
    """The tests of some nodes without repeats, and the number of each node's among them."""
    tests = _tests(nodes, which)
    order = np.lexsort((tests.missing_left, tests.thresholds, tests.columns))  # 6 times faster than np.unique of rows
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = False
    for values in (tests.columns, tests.thresholds, tests.missing_left):
        is_new[1:] |= values[order[1:]] != values[order[:-1]]
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.cumsum(is_new) - 1
    return _tests(nodes, which[order[is_new]]), number


def _fixed(seen: Seen, nodes: Nodes, inner: Codes, owner: Codes, tables: Sequence[Table]) -> tuple[Codes, Mask]:
    """The nodes that a combination of sensitive values decides, and by node, then combination, whether it goes left."""
    domain = seen.domain
    constant = inner[owner < 0]
    answers = _tests(nodes, constant).answers(seen.base[None], np.arange(len(seen.base)))
    which, goes_left = [constant], [np.repeat(answers, len(domain.families), axis=1)]
    base = np.zeros((1, len(domain.levels)), dtype=np.int64)
    for parameter, codes in domain.families.varied(base):
        mine = inner[owner == parameter]
        table = tables[parameter]
        answers = _tests(nodes, mine).answers(table.values, table.columns)
        which.append(mine)
        goes_left.append(answers[:, codes[:, 0]])
    return np.concatenate(which), np.concatenate(goes_left)


def _ahead(nodes: Nodes, fixed: Codes, goes_left: Mask) -> Small:
    """By node, then combination: the node itself or, if it is a fixed one, the first behind it that is not."""
    n_combinations = goes_left.shape[1]
    ahead = np.repeat(np.arange(len(nodes.left), dtype=np.int32)[:, None], n_combinations, axis=1)
    ahead[fixed] = np.where(goes_left, nodes.left[fixed, None], nodes.right[fixed, None])
    combinations = np.arange(n_combinations)
    while True:
        further = ahead[ahead, combinations]
        if (further == ahead).all():
            return ahead
        ahead = further


def _touches(nodes: Nodes, dependent: Codes) -> Mask:
    """Whether there is a dependent node below each node, or it is one."""
    touches = np.zeros(len(nodes.left), dtype=bool)
    touches[dependent] = True
    for level in reversed(nodes.levels()):
        inner = level[nodes.left[level] >= 0]
        touches[inner] |= touches[nodes.left[inner]] | touches[nodes.right[inner]]
    return touches
