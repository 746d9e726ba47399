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
"""Largest number of values of a parameter that are all tried; chosen. Of more, those at doubling distances from the
case are tried, or evenly spread ones if they have no order."""

MISS, HIT, UNKNOWN = 0, 1, -1
"""Status of an input that was judged for a slice: no case, a case, or unknown because it is not allowed or not
comparable."""


def n_inputs_of(axes: Axes) -> int:
    """Return the number of inputs that are judged for the slices through one case."""
    return sum(_tried(axis, np.zeros(1, dtype=np.int64)).shape[1] for axis in axes.each)


def boxes_through(evidence: Evidence, axes: Axes, cases: Codes) -> list[Box]:
    """Return a box for each case, whose sides are the ends of the slices through the case.

    An axis on which no value ends the case gives no side. All slices are judged together, because each call of a model
    has a fixed cost.
    """
    domain, own = evidence.domain, axes.coordinates(cases)
    tried = [_tried(axis, cases[:, axis.column]) for axis in axes.each]
    changed = []
    for axis, values in zip(axes.each, tried, strict=True):
        changed.append(np.repeat(cases, values.shape[1], axis=0))
        changed[-1][:, axis.column] = values.ravel()
    inputs = domain.completed(np.concatenate(changed))
    allowed = np.flatnonzero(domain.allows(inputs))
    judgement = evidence.judge(inputs[allowed])
    status = np.full(len(inputs), UNKNOWN, dtype=np.int64)
    status[allowed] = np.where(judgement.comparable, judgement.hits, UNKNOWN)
    conditions: list[dict[int, Condition]] = [{} for _ in cases]
    ends = np.cumsum([values.size for values in tried])[:-1]
    slices = zip(np.split(axes.coordinates(inputs), ends), np.split(status, ends), strict=True)
    for place, (coordinates, found) in enumerate(slices):
        each = zip(coordinates[:, place].reshape(tried[place].shape), found.reshape(tried[place].shape), strict=True)
        for case, (at, of) in enumerate(each):
            side = _side(axes.each[place], at[at >= 0], of[at >= 0], int(own[case, place]))
            if side is not None:
                conditions[case][place] = side
    return [axes.box(each) for each in conditions]


def _tried(axis: Axis, own: Codes) -> Codes:
    """Return the codes of one parameter that replace its own code in each case, by case, then value.

    `own` has the parameter's own code in each case.
    """
    n, missing = int(axis.parameter.levels), axis.parameter.missing
    if n <= SMALL or not axis.is_ordered:
        return np.tile(np.unique(np.linspace(0, n - 1, min(n, SMALL)).astype(np.int64)), (len(own), 1))
    last = n - 1 - missing
    hops = 2 ** np.arange(last.bit_length() + 1)
    known = np.minimum(own, last)[:, None]
    return np.column_stack(
        [np.maximum(known - hops, 0), known, np.minimum(known + hops, last), *[np.full(len(own), n - 1)] * missing]
    )


def _side(axis: Axis, at: Codes, status: Codes, own: int) -> Condition | None:
    """Return the condition of a slice through a case: the coordinates around its own that are no misses.

    `at` has the coordinates that were tried, `status` has MISS, HIT or UNKNOWN for each, and `own` is the coordinate of
    the case. A side lies halfway between a miss and the next coordinate that is none. It is None without misses.
    """
    misses = at[status == MISS]
    if not len(misses):
        return None
    if not axis.is_ordered:
        return frozenset(range(axis.n)) - frozenset(misses.tolist())
    if own == axis.missing:
        return Span(1, 0, True)
    good, numbers = np.append(at[status != MISS], own), misses[misses <= axis.last]
    low, high = 0, axis.last
    if (numbers < own).any():
        miss = int(numbers[numbers < own].max())
        low = (miss + int(good[good > miss].min()) + 1) // 2
    if (numbers > own).any():
        miss = int(numbers[numbers > own].min())
        high = (miss + int(good[good < miss].max())) // 2
    return Span(low, high, axis.missing is not None and axis.missing not in misses)


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
