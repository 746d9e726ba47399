"""Do the intervals contain the share as often as they say? At a confidence of 95%, by exact sums and by simulation.

Sums over the binomial distribution have no chance in them. A simulation fails if so many misses have a chance below
1 in 10,000 at a coverage of exactly 95%; coverage is above that, so a right interval fails less often still, and
since seeds are fixed, never twice by luck.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy import stats

from fairprobe.estimation.bounds.differences import paired_difference
from fairprobe.estimation.bounds.intervals import clopper_pearson, lower_bound, upper_bound
from fairprobe.estimation.bounds.sequence import time_uniform_interval

CONFIDENCE = 0.95
FALSE_ALARM = 1e-4
EXPECTED_HITS = [0.5, 1, 3.01, 3.3, 3.7, 8, 100]
N = 1000
SHARES = [expected / N for expected in EXPECTED_HITS] + [0.3, 1.0]


def check_coverage(covered):
    misses = int((~covered).sum())
    assert stats.binom.sf(misses - 1, covered.size, 1 - CONFIDENCE) > FALSE_ALARM, f"{misses} of {covered.size} missed"


def contains(ends, share):
    """Whether the interval contains the share, but for rounding."""
    return (ends[0] <= share * (1 + 1e-12)) & (share <= ends[1] * (1 + 1e-12))


# A fixed number of inputs


def exact_coverage(interval, n, share):
    low, high = stats.binom.ppf([1e-13, 1 - 1e-13], n, share)
    hits = np.arange(max(0, int(low) - 1), min(n, int(high) + 1) + 1)
    return stats.binom.pmf(hits, n, share)[contains(interval(hits, n, CONFIDENCE), share)].sum()


INTERVALS = {
    "two-sided": clopper_pearson,
    "at least": lambda hits, n, confidence: (lower_bound(hits, n, confidence), 1.0),
    "at most": lambda hits, n, confidence: (0.0, upper_bound(hits, n, confidence)),
    "at one moment": time_uniform_interval,
}


@pytest.mark.parametrize("interval", INTERVALS.values(), ids=INTERVALS)
@pytest.mark.parametrize("n", [30, N, 400_000])
def test_exact_coverage_is_never_below(interval, n):
    for share in [expected / n for expected in EXPECTED_HITS if expected < n] + [0.3, 1.0]:
        assert exact_coverage(interval, n, share) >= CONFIDENCE - 1e-9


def simulate_fixed_n(repetitions, share):
    hits = np.random.default_rng(7).binomial(N, share, repetitions)
    for interval in INTERVALS.values():
        check_coverage(contains(interval(hits, N, CONFIDENCE), share))


@pytest.mark.parametrize("share", SHARES)
def test_coverage_of_a_fixed_number_of_inputs(share):
    simulate_fixed_n(2_000, share)


# Looking again and again


@functools.cache
def paths(repetitions, share, batch=1000, n_batches=200):
    """Hits so far after each batch, by repetition."""
    rng = np.random.default_rng([11, repetitions])
    return rng.binomial(batch, share, (repetitions, n_batches)).cumsum(axis=1), batch * np.arange(1, n_batches + 1)


def always_covered(interval, repetitions, share, **sizes):
    hits, n = paths(repetitions, share, **sizes)
    parts = np.array_split(hits, max(1, repetitions // 1000))
    return np.concatenate([contains(interval(part, n, CONFIDENCE), share).all(axis=1) for part in parts])


@pytest.mark.parametrize("share", [1e-4, 0.01, 0.3])
def test_coverage_with_a_look_after_every_batch(share):
    check_coverage(always_covered(time_uniform_interval, 500, share))


def test_an_interval_for_a_fixed_n_does_not_survive_the_looking():
    assert always_covered(clopper_pearson, 200, 0.01).mean() < 0.85


def decisions(repetitions, share, limit):
    """How many repetitions decide above, and below, at any time."""
    hits, n = paths(repetitions, share, n_batches=100)
    low, high = time_uniform_interval(hits, n, CONFIDENCE)
    return (low > limit).any(axis=1), (high <= limit).any(axis=1)


def test_decisions_are_seldom_wrong_and_often_made():
    above, below = decisions(1000, 0.01, 0.01)
    check_coverage(~above)
    above, below = decisions(1000, 0.02, 0.01)
    assert above.all()
    check_coverage(~below)
    above, below = decisions(1000, 0.005, 0.01)
    assert below.all()
    check_coverage(~above)


# Two models on the same inputs


@functools.cache
def differences(n):
    """All outcomes with their intervals."""
    outcomes = np.array([(b, c, n - b - c) for b in range(n + 1) for c in range(n + 1 - b)])
    ends = np.array([paired_difference(b, c, n, CONFIDENCE) for b, c, _ in outcomes.tolist()]).T
    return outcomes, ends


def least_exact_coverage_of_differences(n, n_grid):
    outcomes, (low, high) = differences(n)
    least = 1.0
    grid = np.linspace(0, 1, n_grid) ** 2
    for only_a in grid:
        for only_b in grid[grid <= 1 - only_a]:
            chances = stats.multinomial.pmf(outcomes, n, [only_a, only_b, max(0.0, 1 - only_a - only_b)])
            inside = (low <= only_a - only_b + 1e-12) & (only_a - only_b <= high + 1e-12)
            least = min(least, chances[inside].sum())
    return least


@pytest.mark.parametrize("n", [1, 4, 15])
def test_exact_coverage_of_differences(n):
    assert least_exact_coverage_of_differences(n, 16) >= CONFIDENCE
