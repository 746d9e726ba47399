"""The condition of the highest worth on one axis."""

from __future__ import annotations

import numpy as np

from fairprobe.arrays import Codes, Floats
from fairprobe.explanation.boxes import Axis, Condition, Span


def best_values(axis: Axis, values: Codes, gains: Floats, now: Condition | None) -> tuple[Condition, float] | None:
    """The values of positive worth; a value without inputs stays as it was before."""
    by_value, n = np.bincount(values, gains, axis.n), np.bincount(values, minlength=axis.n)
    before = np.ones(axis.n, dtype=bool)
    if isinstance(now, frozenset):
        before = np.zeros(axis.n, dtype=bool)
        before[list(now)] = True
    inside = np.where(n > 0, by_value > 0, before)
    if not inside.any():
        return None
    return frozenset(np.flatnonzero(inside).tolist()), float(by_value[inside].sum())


def _by_value(values: Codes, gains: Floats, n: int) -> tuple[Codes, Floats]:
    """The values that occur, in order, and the worth of their inputs."""
    if n > len(values):
        at, places = np.unique(values, return_inverse=True)
        return at, np.asarray(np.bincount(places, gains), dtype=np.float64)
    at = np.flatnonzero(np.bincount(values, minlength=n))
    return at, np.asarray(np.bincount(values, gains, n)[at], dtype=np.float64)


def best_span(axis: Axis, values: Codes, gains: Floats, now: Condition | None) -> tuple[Condition, float] | None:
    """The span of the highest worth. An end stays where it was if no input lies in between."""
    if not len(values):
        return None
    at, worth = _by_value(values, gains, axis.n)
    missing_worth = 0.0
    if axis.missing is not None and at[-1] == axis.missing:
        missing_worth, at, worth = float(worth[-1]), at[:-1], worth[:-1]
    takes = missing_worth > 0
    if not len(at):
        return Span(1, 0, True), missing_worth
    sums = np.concatenate([[0.0], np.cumsum(worth)])
    lowest = np.minimum.accumulate(sums[:-1])
    end = int(np.argmax(sums[1:] - lowest))
    start = int(np.argmin(sums[: end + 1]))
    gain = float(sums[end + 1] - sums[start])
    below = int(at[start - 1]) if start else -1
    above = int(at[end + 1]) if end + 1 < len(at) else axis.last + 1
    low, high = int(at[start]), int(at[end])
    was = now if isinstance(now, Span) else Span(0, axis.last)
    low = was.low if below < was.low <= low else (0 if below < 0 else (below + low + 1) // 2)
    high = was.high if high <= was.high < above else (axis.last if above > axis.last else (high + above) // 2)
    return Span(low, high, takes), gain + (missing_worth if takes else 0.0)
