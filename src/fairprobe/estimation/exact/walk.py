"""Exact walk: a domain is cut into boxes in which every combination of sensitive values has one label.

All combinations start at the roots of the trees. In each box one node that still matters is chosen, the box is cut by
its test, and the combinations at that node move on. A box is finished in two cases: no open test can separate the
combinations, or two of them are sure to get different labels. In the second case the other combinations walk on alone,
only to find their labels. Many boxes take a step at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.domain import Domain
from fairprobe.estimation.exact.plan import UNDECIDED, TreePlan
from fairprobe.estimation.exact.trees import Small
from fairprobe.model.asking import Asker
from fairprobe.model.tables import N_RANDOM, MismatchError, UnfitError

_BLOCK_NUMBERS = 1_000_000
"""Approximate number of array entries of the boxes in one step; chosen to bound the memory."""

_N_CONFIRMED = 256
"""Number of discriminatory families, found by the walk, that the model is asked about at the end; chosen."""


@dataclass(frozen=True)
class _Boxes:
    """Boxes (parts of the domain), which the walk cuts until each is decided.

    Each box has the node that every followed combination of sensitive values has reached in each tree.
    """

    cells: Codes
    """Cells (sets of levels) of tested parameters that a box contains, as bits: by box, then parameter, then word."""
    nodes: Small
    """Number of the tree's node that is reached, by box, then combination of sensitive values, then tree."""
    who: Small
    """Numbers of the combinations of sensitive values followed in each box: all of them, or a single one."""

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def are_alone(self) -> bool:
        return self.who.shape[1] == 1

    def take(self, rows: Any) -> _Boxes:
        return _Boxes(*(each[rows] for each in vars(self).values()))

    @classmethod
    def join(cls, parts: Sequence[_Boxes]) -> _Boxes:
        return cls(*map(np.concatenate, zip(*(vars(part).values() for part in parts), strict=True)))


class BoxWalk:
    """Counter of the inputs in discriminatory families. It cuts the domain into boxes until each is decided."""

    def __init__(self, plan: TreePlan, asker: Asker, classes: NDArray[Any], max_boxes: int) -> None:
        self._plan = plan
        self._asker = asker
        self._classes = classes
        self._max_boxes = max_boxes
        n_combinations, n_trees = plan.ahead.shape[1], len(plan.nodes.roots)
        n_numbers = n_combinations * n_trees * len(classes) + len(plan.axes) * plan.n_words
        self._block = max(64, _BLOCK_NUMBERS // n_numbers)
        self._pending: list[_Boxes] = []
        self._by_label = np.zeros((len(classes), n_combinations), dtype=plan.weight.dtype)
        self._shown: list[tuple[Codes, Small, Small]] = []
        self.hits = 0
        self.n_boxes = 0

    def run(self) -> list[list[int]]:
        """Cut boxes until all are decided, and return the numbers of discriminatory inputs.

        They are by label, then by the combination of sensitive values that gets the label.
        """
        self.n_boxes += 1
        self._push(self._started(self._plan.whole))
        while self._pending:
            self._step(self._next())
        return [[int(count) for count in counts] for counts in self._by_label]

    def _started(self, cells: Codes) -> _Boxes:
        """Return boxes of these cells, with the nodes that all combinations reach from the trees' roots.

        A combination moves on while a node's test has one answer in the whole box.
        """
        who = np.tile(np.arange(self._plan.ahead.shape[1]), (len(cells), 1))
        nodes = self._plan.ahead[self._plan.nodes.roots, who[:, :, None]]
        boxes = _Boxes(cells, nodes, who.astype(np.int32))
        return self._advanced(boxes, np.ones(boxes.nodes.shape, dtype=bool))

    def confirm(self, domain: Domain) -> None:
        """Raise a MismatchError unless the model gives the walk's labels in up to `_N_CONFIRMED` counted families.

        It is also asked about `N_RANDOM` random families, and about each with one parameter moved to the edge of a
        cell.
        """
        for codes, who, labels in self._shown:
            answers = self._ask_families(codes, who) if len(codes) else labels
            if ((answers != labels) & (labels != UNDECIDED)).any():
                raise MismatchError("the model's labels are not those that its trees, walked here, give")
        # A fixed seed: whether a model is solved must not depend on chance.
        rng = np.random.default_rng(N_RANDOM)
        codes = domain.sample_codes(N_RANDOM, rng)
        edges = codes.copy()
        for row in edges if self._plan.axes else ():
            axis = self._plan.axes[rng.integers(len(self._plan.axes))]
            row[axis.parameter] = max(0, rng.choice(axis.levels) - rng.integers(2))
        members = domain.families.of(np.concatenate([codes, edges]))
        blocks = np.split(members.codes, range(self._block, len(members), self._block))
        labels = np.concatenate([*map(self._labels, blocks)]).T.ravel()
        answers = self._numbers(self._asker.ask(members.rows))
        if ((answers != labels) & (labels != UNDECIDED)).any():
            raise MismatchError("the model's labels of random inputs are not those that its trees, walked here, give")

    def _labels(self, codes: Codes) -> Small:
        """Return the position among the classes of the walk's label, by input, then combination of sensitive values.

        It is `UNDECIDED` where only the model can tell.
        """
        return self._plan.labels(self._started(self._plan.cells_of(codes)).nodes)

    def _push(self, boxes: _Boxes) -> None:
        if len(boxes):
            self._pending.append(boxes)

    def _next(self) -> _Boxes:
        """Take boxes for the next step from the end of the queue.

        All of them follow the same number of combinations of sensitive values.
        """
        # The last first, so that few are pending at a time: the walk goes deep before it goes wide.
        parts = [self._pending.pop()]
        n_members = parts[0].who.shape[1]
        while self._pending and self._pending[-1].who.shape[1] == n_members and sum(map(len, parts)) < self._block:
            parts.append(self._pending.pop())
        boxes = _Boxes.join(parts)
        self._push(boxes.take(slice(self._block, None)))
        return boxes.take(slice(self._block))

    def _step(self, boxes: _Boxes) -> None:
        """Take one step with some boxes: drop those without effect, count the finished ones, and cut the rest in two.

        A box has no effect if the combination of sensitive values cannot change its label.
        """
        plan = self._plan
        if not boxes.are_alone:
            apart = (boxes.nodes != boxes.nodes[:, :1]).any(axis=1)
            may_depend = (apart | plan.touches[boxes.nodes[:, 0]]).any(axis=1)
            boxes = boxes.take(may_depend)
        labels = plan.labels(boxes.nodes)
        is_open = ~self._count(boxes, labels) & (labels == UNDECIDED).any(axis=1)
        boxes, labels = boxes.take(is_open), labels[is_open]
        # Each box is cut where it matters most for what is undecided.
        pull = plan.nodes.spread[boxes.nodes] * (labels == UNDECIDED)[:, :, None]
        if not boxes.are_alone:
            # While no combination has left the others, only a node that may part them matters.
            together = (boxes.nodes == boxes.nodes[:, :1]).all(axis=(1, 2))
            pull[together] *= plan.touches[boxes.nodes[together]]
        self._cut(boxes, pull.reshape(len(boxes), -1) if len(boxes) else np.zeros((0, 1)))

    def _cut(self, boxes: _Boxes, pull: Floats) -> None:
        """Cut each box in two by the test of the node with the largest `pull`, and queue both halves.

        `pull` is by box, then combination and tree: how much the node's leaves differ, or 0 if it does not matter.
        Where all are 0, the trees' sums are too close, and the model is asked for the labels. Raise an UnfitError above
        `max_boxes`.
        """
        stuck = pull.max(axis=1, initial=0) == 0
        if stuck.any():
            left = boxes.take(stuck)
            self._count(left, self._ask_families(self._plan.inputs(left.cells), left.who))
        boxes, choice = boxes.take(~stuck), pull[~stuck].argmax(axis=1)
        self.n_boxes += len(boxes)
        if self.n_boxes > self._max_boxes:
            raise UnfitError(f"the boxes that the trees cut the domain into exceed the limit of {self._max_boxes:,}")
        plan, n_trees, every = self._plan, boxes.nodes.shape[2], np.arange(len(boxes))
        node = boxes.nodes[every, choice // n_trees, choice % n_trees]
        axis, mask = plan.axis[node], plan.masks[plan.test[node]]
        # A cut can settle other nodes that test the same axis, in any tree and combination, but none of another axis.
        affected = plan.axis[boxes.nodes] == axis[:, None, None]
        for half in (mask, ~mask):
            cells = boxes.cells.copy()
            cells[every, axis] &= half
            self._push(self._advanced(_Boxes(cells, boxes.nodes.copy(), boxes.who), affected))

    def _advanced(self, boxes: _Boxes, affected: Mask) -> _Boxes:
        """Move each combination on past all nodes whose test has one answer in its box, and return the same boxes.

        `affected` is a mask by box, combination and tree of the nodes to look at; the nodes that follow are looked at
        too. The array of nodes is changed in place.
        """
        plan = self._plan
        box, combination, tree = np.nonzero(affected)
        while len(box):
            node = boxes.nodes[box, combination, tree]
            inner = np.flatnonzero(plan.axis[node] >= 0)
            box, combination, tree, node = box[inner], combination[inner], tree[inner], node[inner]
            cells, mask = boxes.cells[box, plan.axis[node]], plan.masks[plan.test[node]]
            goes_left, goes_right = (np.any(part, axis=1) for part in (cells & mask, cells & ~mask))
            settled = np.flatnonzero(goes_left != goes_right)
            box, combination, tree, node = box[settled], combination[settled], tree[settled], node[settled]
            who = boxes.who[box, combination]
            child = np.where(goes_left[settled], plan.nodes.left[node], plan.nodes.right[node])
            boxes.nodes[box, combination, tree] = plan.ahead[child, who]
        return boxes

    def _count(self, boxes: _Boxes, labels: Small) -> Mask:
        """Count the finished boxes, and return a mask of them by box.

        A box is finished if two combinations have different labels, or if it follows a single one, whose label is
        known. Each combination of a finished box without a known label is queued as a box that follows it alone.
        """
        known = labels != UNDECIDED
        is_counted = known[:, 0] if boxes.are_alone else _differ(labels, known)
        boxes, labels, known = boxes.take(is_counted), labels[is_counted], known[is_counted]
        volumes = self._plan.volumes(boxes.cells)
        if not boxes.are_alone:
            self.hits += int(volumes.sum())
            n_more = max(0, _N_CONFIRMED - sum(len(codes) for codes, _, _ in self._shown))
            self._shown.append((self._plan.inputs(boxes.cells[:n_more]), boxes.who[:n_more], labels[:n_more]))
        rows, places = np.nonzero(known)
        np.add.at(self._by_label, (labels[rows, places], boxes.who[rows, places]), volumes[rows])
        rows, places = np.nonzero(~known)
        nodes, who = boxes.nodes[rows, places][:, None], boxes.who[rows, places][:, None]
        self._push(_Boxes(boxes.cells[rows], nodes, who))
        return is_counted

    def _ask_families(self, codes: Codes, who: Small) -> Small:
        """Ask the model for the labels of families; return their positions by input, then combination in `who`."""
        return np.take_along_axis(self._numbers(self._asker.ask_families(codes)).T, who, axis=1)

    def _numbers(self, labels: NDArray[Any]) -> Small:
        return np.searchsorted(self._classes, labels).astype(np.int32)


def _differ(labels: Small, known: Mask) -> Mask:
    """Return a mask of the boxes in which two combinations of sensitive values have different known labels."""
    lowest = np.where(known, labels, np.iinfo(np.int32).max).min(axis=1)
    return np.asarray(known.any(axis=1) & (lowest < labels.max(axis=1)))
