"""Sides of boxes: slices through cases give the first ones, judged inputs then improve them.

A slice has the values of one parameter at which a case remains one while all other values stay. The slices through a
case in a box are the sides of the box, even if the box is thin or others are near.
"""

from __future__ import annotations

import numpy as np

from fairprobe.arrays import Codes, Floats
from fairprobe.explanation.evidence import Evidence
from fairprobe.explanation.regions import Axes, Axis, Box, Condition, Span

SMALL = 64
"""Largest number of values of a parameter that are all tried; chosen. With more, a slice's ends are found by doubling
and halving."""

MISS, HIT, UNKNOWN = 0, 1, -1
"""Status of an input that was judged for a slice: no case, a case, or unknown because it is not allowed or not
comparable."""


def n_inputs_of(axes: Axes) -> int:
    """Return the approximate number of inputs that are judged for the slices through one case."""
    levels = [int(axis.parameter.levels) for axis in axes.each]
    return sum(n if n <= SMALL else 4 * n.bit_length() for n in levels)


def boxes_through(evidence: Evidence, axes: Axes, cases: Codes) -> list[Box]:
    """Return a box for each case, whose sides are the ends of the slices through the case.

    An axis on which no value ends the case gives no side.
    """
    slices = (_Slice(evidence, axes, place, cases) for place in range(len(axes)))
    sides = [each.whole() if each.axis.parameter.levels <= SMALL else each.ends() for each in slices]
    numbered = ({place: side for place, side in enumerate(own) if side is not None} for own in zip(*sides, strict=True))
    return [axes.box(conditions) for conditions in numbered]


class _Slice:
    """Slices through cases along one axis: the model is asked about inputs that differ from a case only there."""

    def __init__(self, evidence: Evidence, axes: Axes, place: int, cases: Codes) -> None:
        self._evidence, self._axes, self._place, self._cases = evidence, axes, place, cases
        self.axis = axes.each[place]
        self._own = cases[:, self.axis.column]

    def _changed(self, which: Codes, values: Codes) -> tuple[Codes, Codes]:
        """Return cases with other values on the axis, as two arrays: their coordinates there, and MISS, HIT or UNKNOWN.

        `which` has the position of each case, and `values` its new code.
        """
        domain = self._evidence.domain
        inputs = self._cases[which]
        inputs[:, self.axis.column] = values
        inputs = domain.completed(inputs)
        status = np.full(len(inputs), UNKNOWN, dtype=np.int64)
        allowed = np.flatnonzero(domain.allows(inputs))
        judgement = self._evidence.judge(inputs[allowed])
        status[allowed] = np.where(judgement.comparable, judgement.hits, UNKNOWN)
        return self._axes.coordinates(inputs)[:, self._place], status

    def whole(self) -> list[Condition | None]:
        """Return the condition of each case's slice along an axis of few values, all of which are tried.

        It is None if the case remains one at all of them.
        """
        n, n_cases = self.axis.parameter.levels, len(self._cases)
        which = np.repeat(np.arange(n_cases), n)
        coordinates, status = self._changed(which, np.tile(np.arange(n), n_cases))
        by_case = np.full((n_cases, self.axis.n), UNKNOWN, dtype=np.int64)
        known = np.flatnonzero((status != UNKNOWN) & (coordinates >= 0))
        by_case[which[known], coordinates[known]] = status[known]
        own = self._axes.coordinates(self._cases)[:, self._place]
        return [_condition(self.axis, each, int(at)) for each, at in zip(by_case, own, strict=True)]

    # Parameters of many values: ever farther from the case, then halving

    def ends(self) -> list[Condition | None]:
        """Return the span of each case's slice along an axis of many values; None if the case's value is missing."""
        axis, own, n = self.axis, self._own, len(self._cases)
        last = axis.parameter.levels - 1 - axis.parameter.missing
        shift = self._axes.coordinates(self._cases)[:, self._place] - own  # where a link shifts the values
        low, high = self._end(last, -1), self._end(last, 1)
        takes_missing = np.zeros(n, dtype=bool)
        if axis.parameter.missing:
            takes_missing = self._changed(np.arange(n), np.full(n, last + 1))[1] != MISS
        low, high = np.where(low == 0, 0, low + shift), np.where(high == last, axis.last, high + shift)
        spans = zip(low.tolist(), high.tolist(), takes_missing.tolist(), strict=True)
        return [Span(*span) if known else None for span, known in zip(spans, own <= last, strict=True)]

    def _end(self, last: int, sign: int) -> Codes:
        """Return, for each case, the farthest code in one direction up to which no judged input was a miss.

        The distance is doubled until a miss, then halved. `last` is the highest code, and `sign` is -1 for down, 1 for
        up.
        """
        own, each = self._own, np.arange(len(self._cases))
        room = np.maximum(last - own if sign > 0 else own, 0)
        hops = 2 ** np.arange(int(last).bit_length() + 1)
        steps = np.minimum(hops[None, :], room[:, None])
        _, status = self._changed(np.repeat(each, len(hops)), (own[:, None] + sign * steps).ravel())
        misses = status.reshape(steps.shape) == MISS
        first = np.where(misses.any(axis=1), misses.argmax(axis=1), len(hops))
        good = np.where(first == 0, 0, steps[each, np.maximum(first - 1, 0)])
        bad = np.where(first < len(hops), steps[each, np.minimum(first, len(hops) - 1)], good + 1)
        while len(some := np.flatnonzero(bad - good > 1)):
            middle = (good + bad)[some] // 2
            is_miss = self._changed(some, own[some] + sign * middle)[1] == MISS
            bad[some[is_miss]] = middle[is_miss]
            good[some[~is_miss]] = middle[~is_miss]
        return np.asarray(own + sign * good)


def _condition(axis: Axis, status: Codes, own: int) -> Condition | None:
    """Return the condition of a slice through a case: the coordinates around its own that are no misses.

    `status` has MISS, HIT or UNKNOWN by coordinate, and `own` is the coordinate of the case. It is None without misses.
    """
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


# The condition of the highest worth on one axis


def best_condition(axis: Axis, values: Codes, gains: Floats, now: Condition | None) -> tuple[Condition, float] | None:
    """Return (condition, gain): the condition on one parameter with the highest gain; None if there is none.

    `values` and `gains` are by input, and `now` is the present condition; None for no condition. There is none without
    inputs and, in a parameter without order, without a value of positive gain.
    """
    if not axis.is_ordered:
        return _best_values(axis, values, gains, now)
    was = now if isinstance(now, Span) else Span(0, axis.last)
    return _best_span(axis, values, gains, was) if len(values) else None


def _best_values(axis: Axis, values: Codes, gains: Floats, now: Condition | None) -> tuple[Condition, float] | None:
    """Return the set of values whose summed gain is positive, and their gain; None if the set is empty.

    A value without inputs stays as in the condition `now`.
    """
    by_value, n = np.bincount(values, gains, axis.n), np.bincount(values, minlength=axis.n)
    before = np.ones(axis.n, dtype=bool) if now is None else axis.holds(now, np.arange(axis.n))
    inside = np.where(n > 0, by_value > 0, before)
    if not inside.any():
        return None
    return frozenset(np.flatnonzero(inside).tolist()), float(by_value[inside].sum())


def _best_span(axis: Axis, values: Codes, gains: Floats, now: Span) -> tuple[Condition, float]:
    """Return the range of an ordered parameter with the highest gain, and the gain.

    An end of the range `now` does not move if no input lies in between.
    """
    at, worth = _by_value(values, gains, axis.n)
    missing_worth = 0.0
    if at[-1] == axis.missing:
        missing_worth, at, worth = float(worth[-1]), at[:-1], worth[:-1]
    if not len(at):
        return Span(1, 0, True), missing_worth
    sums = np.concatenate([[0.0], np.cumsum(worth)])
    end = int(np.argmax(sums[1:] - np.minimum.accumulate(sums[:-1])))
    start = int(np.argmin(sums[: end + 1]))
    gain = float(sums[end + 1] - sums[start])
    below = int(at[start - 1]) if start else -1
    above = int(at[end + 1]) if end + 1 < len(at) else axis.last + 1
    low, high = int(at[start]), int(at[end])
    low = now.low if below < now.low <= low else (0 if below < 0 else (below + low + 1) // 2)
    high = now.high if high <= now.high < above else (axis.last if above > axis.last else (high + above) // 2)
    return Span(low, high, missing_worth > 0), gain + max(missing_worth, 0.0)


def _by_value(values: Codes, gains: Floats, n: int) -> tuple[Codes, Floats]:
    """Return the values that inputs have, in increasing order, and the summed gain of the inputs with each."""
    if n > len(values):
        at, places = np.unique(values, return_inverse=True)
        return at, np.asarray(np.bincount(places, gains), dtype=np.float64)
    at = np.flatnonzero(np.bincount(values, minlength=n))
    return at, np.asarray(np.bincount(values, gains, n)[at], dtype=np.float64)
