"""Two groups of rows that are not the same: whether a rate or a mean differs between them, and by how much at most."""

from __future__ import annotations

import math

import numpy as np

from fairprobe.arrays import Floats
from fairprobe.checks import checked_count
from fairprobe.errors import SettingError
from fairprobe.estimation.bounds.intervals import checked_confidence, clopper_pearson


def fisher_p(hits_a: int, n_a: int, hits_b: int, n_b: int) -> float:
    """The two-sided p-value of Fisher's exact test that two groups have the same rate.

    Given how many hits there are in all, those of the first group are hypergeometric if the rates are the same; the
    p-value is the chance of a number that is no likelier than the one seen.

    >>> round(fisher_p(3, 4, 1, 4), 4)
    0.4857
    """
    a, b = (checked_count(*named, at_least=0) for named in (("hits_a", hits_a), ("hits_b", hits_b)))
    rows_a, rows_b = (checked_count(*named, at_least=0) for named in (("n_a", n_a), ("n_b", n_b)))
    if a > rows_a or b > rows_b:
        raise SettingError(f"hits must be at most n, got {a} of {rows_a} and {b} of {rows_b}")
    from scipy.special import gammaln

    def log_choose(n: int, k: Floats) -> Floats:
        return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)

    hits = a + b
    seen = np.arange(max(0, hits - rows_b), min(hits, rows_a) + 1, dtype=np.float64)
    logs = log_choose(rows_a, seen) + log_choose(rows_b, hits - seen)
    chances = np.exp(logs - logs.max())
    mine = chances[a - int(seen[0])]
    # Equal chances may differ in their last digits.
    return min(1.0, float(chances[chances <= mine * (1 + 1e-7)].sum() / chances.sum()))


def attainable_p(n_a: int, n_b: int) -> float:
    """The smallest p-value that two groups of these sizes can show: all rows of one are hits, and none of the other.

    By a test of permutations that is so for means too, when all of one group lie above all of the other.

    >>> round(attainable_p(3, 3), 3), round(attainable_p(4, 4), 3)
    (0.1, 0.029)
    """
    return fisher_p(n_a, n_a, 0, n_b) if n_a and n_b else 1.0


def rate_difference(hits_a: int, n_a: int, hits_b: int, n_b: int, confidence: float) -> tuple[float, float]:
    """The interval of rate A - rate B: that of each by Clopper and Pearson, the error split; valid at every n."""
    each = 1 - (1 - checked_confidence(confidence)) / 2
    (low_a, high_a), (low_b, high_b) = (clopper_pearson(hits_a, n_a, each), clopper_pearson(hits_b, n_b, each))
    return low_a - high_b, high_a - low_b


def welch(a: Floats, b: Floats, confidence: float) -> tuple[float, float, float]:
    """Welch's test that two groups have the same mean, and the interval of mean A - mean B: p, low, high.

    As `mean_bounds`, it is exact for normal values only. With fewer than two values in a group it tells nothing.
    """
    error = 1 - checked_confidence(confidence)
    if min(len(a), len(b)) < 2:
        return 1.0, -math.inf, math.inf
    from scipy.special import stdtr, stdtrit

    difference = float(a.mean() - b.mean())
    parts = np.array([a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)])
    variance = float(parts.sum())
    if not variance:
        return float(difference == 0), difference, difference
    freedom = variance**2 / float((parts**2 / [len(a) - 1, len(b) - 1]).sum())
    deviation = math.sqrt(variance)
    reach = -float(stdtrit(freedom, error / 2)) * deviation
    return 2 * float(stdtr(freedom, -abs(difference) / deviation)), difference - reach, difference + reach
