"""Slices: along each parameter, how far a case stays one, all others held.

Through a case in a box the slices are the box's own sides, however thin it is and whatever else there is: so they give
the first boxes, which data then make better or drop.
"""

from __future__ import annotations

import numpy as np

from fairprobe.arrays import Codes
from fairprobe.explanation.boxes import Axes, Axis, Box, Condition, Span
from fairprobe.explanation.evidence import Evidence

SMALL = 64
"""Up to so many values of a parameter are all tried; of more, ever farther ones, then the bound by halving."""

MISS, HIT, UNKNOWN = 0, 1, -1
"""What is unknown is not allowed, or cannot be compared."""


class Slices:
    """Asks about inputs that differ from cases along one axis."""

    def __init__(self, evidence: Evidence, axes: Axes) -> None:
        self._evidence = evidence
        self._axes = axes
        self._small = [axis for axis in axes.each if axis.parameter.levels <= SMALL]
        self._wide = [axis for axis in axes.each if axis.parameter.levels > SMALL]

    @property
    def n_inputs(self) -> int:
        """About how many inputs the slices through one case take."""
        return sum(axis.parameter.levels for axis in self._small) + sum(
            4 * int(axis.parameter.levels).bit_length() for axis in self._wide
        )

    def boxes(self, cases: Codes) -> list[Box]:
        """A box for each case: the sides of its slices."""
        conditions: list[dict[int, Condition]] = [{} for _ in cases]
        for axis, found in [*self._all_of_small(cases), *((axis, self._ends(axis, cases)) for axis in self._wide)]:
            place = self._axes.each.index(axis)
            for each, condition in zip(conditions, found, strict=True):
                if condition is not None:
                    each[place] = condition
        return [self._axes.box(each) for each in conditions]

    def _judged(self, inputs: Codes) -> Codes:
        """MISS, HIT or UNKNOWN."""
        domain = self._evidence.domain
        inputs = domain.completed(inputs)
        status = np.full(len(inputs), UNKNOWN, dtype=np.int64)
        allowed = np.flatnonzero(domain.allows(inputs))
        if len(allowed):
            judgement = self._evidence.judge(inputs[allowed])
            status[allowed] = np.where(judgement.comparable, judgement.hits, UNKNOWN)
        return status

    # Parameters of few values: all of them

    def _all_of_small(self, cases: Codes) -> list[tuple[Axis, list[Condition | None]]]:
        """All values along all such axes in one go."""
        if not self._small:
            return []
        blocks = []
        for axis in self._small:
            moved = np.repeat(cases, axis.parameter.levels, axis=0)
            moved[:, axis.column] = np.tile(np.arange(axis.parameter.levels), len(cases))
            blocks.append(moved)
        status = self._judged(np.concatenate(blocks))
        found, first = [], 0
        for axis, block in zip(self._small, blocks, strict=True):
            part = status[first : first + len(block)]
            first += len(block)
            found.append((axis, self._conditions(axis, cases, block, part)))
        return found

    def _conditions(self, axis: Axis, cases: Codes, inputs: Codes, status: Codes) -> list[Condition | None]:
        """By case, what its slice along an axis says; None where nothing is a miss."""
        place = self._axes.each.index(axis)
        coordinates = self._axes.coordinates(inputs)[:, place]
        by_case = np.full((len(cases), axis.n), UNKNOWN, dtype=np.int64)
        which = np.repeat(np.arange(len(cases)), axis.parameter.levels)
        known = np.flatnonzero((status != UNKNOWN) & (coordinates >= 0))
        by_case[which[known], coordinates[known]] = status[known]
        own = self._axes.coordinates(cases)[:, place]
        return [_sides(axis, each, int(at)) for each, at in zip(by_case, own, strict=True)]

    # Parameters of many values: ever farther from the case, then halving

    def _ends(self, axis: Axis, cases: Codes) -> list[Condition | None]:
        last = axis.parameter.levels - 1 - axis.parameter.missing
        own = cases[:, axis.column]
        shift = self._shifts(axis, cases)
        ends = [self._end(axis, cases, own, last, up) for up in (False, True)]
        missing = self._with(axis, cases, np.full(len(cases), last + 1)) if axis.parameter.missing else None
        found: list[Condition | None] = []
        for place in range(len(cases)):
            low, high = int(ends[0][place]), int(ends[1][place])
            takes = missing is not None and missing[place] != MISS
            if own[place] > last:  # the case itself is missing there: nothing is known of an order
                found.append(None)
                continue
            to_low = 0 if low == 0 else low + shift[place]
            to_high = axis.last if high == last else high + shift[place]
            found.append(Span(to_low, to_high, takes))
        return found

    def _shifts(self, axis: Axis, cases: Codes) -> Codes:
        """How far the coordinates are from the codes, where a link shifts them."""
        place = self._axes.each.index(axis)
        return self._axes.coordinates(cases)[:, place] - cases[:, axis.column]

    def _end(self, axis: Axis, cases: Codes, own: Codes, last: int, up: bool) -> Codes:
        """The farthest code, one way, that the case stays one up to."""
        room = np.maximum(last - own if up else own, 0)
        sign = 1 if up else -1
        hops = 2 ** np.arange(int(last).bit_length() + 1)
        steps = np.minimum(hops[None, :], room[:, None])
        status = self._with(axis, np.repeat(cases, len(hops), axis=0), (own[:, None] + sign * steps).ravel())
        misses = status.reshape(steps.shape) == MISS
        first = np.where(misses.any(axis=1), misses.argmax(axis=1), len(hops))
        good = np.where(first == 0, 0, steps[np.arange(len(cases)), np.maximum(first - 1, 0)])
        bad = np.where(first < len(hops), steps[np.arange(len(cases)), np.minimum(first, len(hops) - 1)], good + 1)
        while (bad - good > 1).any():
            middle = np.where(bad - good > 1, (good + bad) // 2, good)
            open_ = np.flatnonzero(bad - good > 1)
            is_miss = self._with(axis, cases[open_], (own + sign * middle)[open_]) == MISS
            bad[open_[is_miss]] = middle[open_[is_miss]]
            good[open_[~is_miss]] = middle[open_[~is_miss]]
        return np.asarray(own + sign * good)

    def _with(self, axis: Axis, cases: Codes, values: Codes) -> Codes:
        moved = cases.copy()
        moved[:, axis.column] = values
        return self._judged(moved)


def _sides(axis: Axis, status: Codes, own: int) -> Condition | None:
    """What a slice through a case says: where it is a miss, the condition is false."""
    if not (status == MISS).any():
        return None
    if not axis.is_ordered:
        return frozenset(np.flatnonzero(status != MISS).tolist())
    if own == axis.missing:
        return Span(1, 0, True)
    misses = np.flatnonzero(status[: axis.last + 1] == MISS)
    below, above = misses[misses < own], misses[misses > own]
    low = int(below[-1]) + 1 if len(below) else 0
    high = int(above[0]) - 1 if len(above) else axis.last
    return Span(low, high, axis.missing is not None and bool(status[axis.missing] != MISS))
