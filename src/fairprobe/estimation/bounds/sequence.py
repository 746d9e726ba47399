"""Intervals of a share that are valid at every moment of a growing sample, so that one may look and stop at any time.

An interval for a fixed n loses its confidence if one looks repeatedly and stops at will. A confidence sequence does
not: with probability `confidence` or more, *all* its intervals contain the share.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairprobe.arrays import Floats
from fairprobe.estimation.bounds.intervals import checked_confidence, checked_counts, checked_share

PRIOR = (0.2, 1.0)
"""Parameters a and b of the Beta prior of shares in the mixture. Chosen: nearly uniform on the log scale, because
shares of 0.0001 are as common here as of 0.1.

Width, as a multiple of Clopper-Pearson's at the same n, with this prior | with the usual (1/2, 1/2):

    share    0             0.0001        0.01          0.3
    n = 10^4 1.34 | 2.22   1.57 | 2.03   1.85 | 1.97   2.04 | 2.01
    n = 10^6 1.58 | 2.84   1.97 | 2.25   2.19 | 2.29   2.33 | 2.30
"""

_HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)


class ConfidenceSequence:
    """The interval (`low`, `high`) of a share, valid at every moment of a growing sample.

    `low` and `high` are the ends of `time_uniform_interval` for all inputs so far, instead of the intersection of all
    earlier intervals. They therefore depend on the counts alone, not on the batches, they always contain hits / n, and
    the interval is never empty. The intersection would be valid too, but at best slightly narrower.

    >>> sequence = ConfidenceSequence(0.95)
    >>> sequence.update(3, 1000)
    >>> sequence.update(9, 1000)
    >>> sequence.hits, sequence.n, round(sequence.low, 4), round(sequence.high, 4)
    (12, 2000, 0.0018, 0.014)
    >>> sequence.settles(0.001), sequence.settles(0.01)
    (True, False)
    """

    def __init__(self, confidence: float = 0.95) -> None:
        self.confidence = checked_confidence(confidence)
        self.hits, self.n, self.n_lost = 0, 0, 0
        self.low, self.high = 0.0, 1.0

    def update(self, hits: int, n: int) -> None:
        """Add a batch of n judged inputs, `hits` of them discriminatory; then `low` and `high` are for all so far."""
        checked_counts(hits, n)
        self.hits += hits
        self.n += n
        self._narrow()

    def lose(self, n: int) -> None:
        """Add `n` inputs with unknown results: `low` counts all of them as misses, `high` counts all of them as hits.

        A further hit never lowers an end of the interval, and a further miss never raises one. The interval with the
        actual results therefore lies within.
        """
        self.n_lost += n
        self._narrow()

    def _narrow(self) -> None:
        ends = [self.hits, self.hits + self.n_lost]
        lows, highs = time_uniform_interval(ends, self.n + self.n_lost, self.confidence)
        self.low, self.high = float(lows[0]), float(highs[1])

    def settles(self, limit: float) -> bool:
        """Return True if it is decided whether the share exceeds a limit: `low` is above it, or `high` is not.

        It may be asked at any time, as often as wanted, and for any limits: the probability that the interval is ever
        on the wrong side is at most 1 - confidence.
        """
        checked_share("limit", limit)
        return self.low > limit or self.high <= limit


def time_uniform_interval(
    hits: ArrayLike, n: ArrayLike, confidence: float, prior: tuple[float, float] = PRIOR
) -> tuple[Any, Any]:
    """Return the interval of a confidence sequence at one moment: the beta-binomial mixture of Robbins (1970).

    The likelihood averaged over shares drawn from a Beta prior, divided by the likelihood of the true share, is a
    martingale that starts at 1. By Ville's inequality, it ever reaches 1 / (1 - confidence) with a probability of at
    most 1 - confidence. The interval is the set of shares at which it has not. The prior affects only the width, never
    the validity. The result has numbers for numbers and arrays for arrays.
    """
    hit, total = checked_counts(hits, n)
    error = 1 - checked_confidence(confidence)
    a, b = prior
    known = total > 0
    safe = np.where(known, total, 1.0)
    budget = -np.log(error) - _log_ratio(hit, safe, a, b)
    misses = safe - hit
    value = hit / safe
    low = np.where(known, value * np.exp(_log_fall(hit, misses, budget)), 0.0)
    high = np.where(known, value - misses / safe * np.expm1(_log_fall(misses, hit, budget)), 1.0)
    high = np.minimum(high, 1.0)
    return (float(low), float(high)) if low.ndim == 0 else (low, high)


def _log_ratio(hits: Floats, n: Floats, a: float, b: float) -> Floats:
    """Return the log of a likelihood ratio: `hits` in `n` under a Beta(a, b) mixture of shares, to the share hits / n.

    The result is at most 0. It uses Stirling's formula, as differences of log-gammas keep only two digits at n = 10^12.
    """
    from scipy.special import betaln

    misses = n - hits
    main = (
        _power_ratio(hits, a)
        + _power_ratio(misses, b)
        - n * np.log1p((a + b) / n)
        + (a - 0.5) * np.log(hits + a)
        + (b - 0.5) * np.log(misses + b)
        - (a + b - 0.5) * np.log(n + a + b)
    )
    rest = _stirling_rest(hits + a) + _stirling_rest(misses + b) - _stirling_rest(n + a + b)
    return main + rest + _HALF_LOG_TAU - betaln(a, b)


def _power_ratio(count: Floats, more: float) -> Floats:
    """Return count * log((count + more) / count), a term of Stirling's formula; 0 for a count of 0."""
    return count * np.log1p(more / np.maximum(count, 1.0)) * (count > 0)


def _stirling_rest(x: Floats) -> Floats:
    """Return the remainder of Stirling's formula for log-gamma: log Γ(x) - (x - 1/2) log x + x - log(2π) / 2."""
    from scipy.special import gammaln

    small = np.minimum(x, 20.0)
    exact = gammaln(small) - (small - 0.5) * np.log(small) + small - _HALF_LOG_TAU
    y = 1 / np.maximum(x, 20.0)
    series = y / 12 - y**3 / 360 + y**5 / 1260 - y**7 / 1680
    return np.where(x < 20, exact, series)


def _log_fall(hits: Floats, misses: Floats, budget: Floats) -> Floats:
    """Return the log of the interval's lower end divided by the estimate hits / n; -inf for no hits.

    At the lower end, n times the Kullback-Leibler divergence from the estimate equals `budget`. Newton's method starts
    outside the interval and, as the function is convex, approaches the end from there, so that an unfinished result is
    on the safe side. It works with the log of the share, which loses no digits for rare or for common hits.
    """
    k = np.maximum(hits, 1.0)
    odds = k / np.maximum(misses, 1.0)
    # With d = n (value - share), n KL is at least d²/2k, d²/2(misses + d), and -k y - misses log(1 + odds).
    reach = np.minimum(np.sqrt(2 * k * budget), budget + np.sqrt(budget * (budget + 2 * misses)))
    y = -(budget + misses * np.log1p(odds)) / k
    y = np.maximum(y, np.where(reach < k / 2, np.log1p(-np.minimum(reach / k, 0.5)), -np.inf))
    for _ in range(100):
        fall = np.expm1(y)
        rest = 1 - odds * fall
        excess = -k * y - misses * np.log1p(-odds * fall) - budget
        step = excess * rest / (-k * fall * (1 + odds))
        y = y + np.maximum(step, 0.0)
        if np.all(step <= -1e-13 * y):
            break
    return np.where(hits > 0, y, -np.inf)
