"""Intervals from counts: against SciPy, against their definitions, and what must hold for all counts."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from fairprobe.errors import SettingError
from fairprobe.estimation.bounds import differences, sequence
from fairprobe.estimation.bounds.differences import mcnemar_p, paired_difference
from fairprobe.estimation.bounds.intervals import (
    checked_confidence,
    clopper_pearson,
    lower_bound,
    mean_interval,
    upper_bound,
)
from fairprobe.estimation.bounds.sequence import PRIOR, ConfidenceSequence, time_uniform_interval

CONFIDENCES = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999999)
confidences = st.floats(0.01, 0.9999)


@st.composite
def counts(draw, max_n=10**12):
    n = draw(st.one_of(st.integers(1, 50), st.integers(1, max_n)))
    return draw(st.one_of(st.integers(0, min(n, 3000)), st.integers(0, n))), n


@st.composite
def pairs(draw, max_n=10**7):
    n = draw(st.one_of(st.integers(1, 30), st.integers(1, max_n)))
    b = draw(st.one_of(st.integers(0, min(n, 30)), st.integers(0, n)))
    return b, draw(st.one_of(st.integers(0, min(n - b, 30)), st.integers(0, n - b))), n


@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("n", [1, 2, 3, 10, 37, 1000, 400_000, 10**7])
@pytest.mark.thinned(3)
def test_clopper_pearson_agrees_with_scipy(n, confidence):
    some = sorted({0, 1, 2, 3, 9, 100, 999, n // 3, n // 2, n - 2, n - 1, n})
    for hits in [hits for hits in some if 0 <= hits <= n]:
        expected = stats.binomtest(hits, n).proportion_ci(confidence, method="exact")
        assert clopper_pearson(hits, n, confidence) == pytest.approx((expected.low, expected.high), rel=1e-7)
        at_least, at_most = (stats.binomtest(hits, n, alternative=side) for side in ("greater", "less"))
        low, high = (each.proportion_ci(confidence, method="exact") for each in (at_least, at_most))
        assert lower_bound(hits, n, confidence) == pytest.approx(low.low, rel=1e-7)
        assert upper_bound(hits, n, confidence) == pytest.approx(high.high, rel=1e-7)


@pytest.mark.parametrize("n", [63_673_509, 400_000_000, 3_121_315_751, 10**12])
@pytest.mark.parametrize("hits", [1, 30, 998, 999, 1000, 1001, 5000])
def test_bounds_are_right_where_scipys_inverse_is_not(hits, n):
    # betaincinv(1000, 4e8, 0.025) of SciPy 1.17 is 3.8e-6, above 1000 / 4e8. For so few of so many, the limit is the
    # Poisson interval, from the gamma distribution, whose inverse is right.
    low, high = clopper_pearson(hits, n, 0.95)
    assert low * n == pytest.approx(special.gammaincinv(hits, 0.025), rel=1e-4)
    assert high * n == pytest.approx(special.gammainccinv(hits + 1, 0.025), rel=1e-4)


@pytest.mark.parametrize("interval", [clopper_pearson, time_uniform_interval])
@given(counts(), confidences)
def test_the_estimate_is_inside_and_the_ends_in_range(interval, count, confidence):
    hits, n = count
    low, high = interval(hits, n, confidence)
    assert 0 <= low <= high <= 1
    if confidence >= 0.5 or interval is time_uniform_interval:
        assert low <= hits / n <= high
    if confidence >= 0.5:
        assert lower_bound(hits, n, confidence) <= hits / n <= upper_bound(hits, n, confidence)
    assert (low == 0) == (hits == 0)
    assert hits < n or high == 1


def test_arrays_give_what_numbers_give():
    hits, n = np.array([0, 1, 5, 1000, 0]), np.array([10, 10, 5, 400_000_000, 0])
    low, high = clopper_pearson(hits, n, 0.95)
    for i in range(len(hits)):
        one = clopper_pearson(int(hits[i]), int(n[i]), 0.95)
        assert (low[i], high[i]) == one
        assert all(type(end) is float for end in one)
    assert lower_bound(hits.reshape(5, 1), 400_000_000, 0.9).shape == (5, 1)


@pytest.mark.parametrize("function", [clopper_pearson, lower_bound, upper_bound])
@pytest.mark.parametrize(
    ("hits", "n", "message"),
    [
        (5, 3, r"hits must be at most n, got hits=5, n=3"),
        (-1, 3, r"hits must be whole numbers of at least 0, got -1"),
        (0, -3, r"n must be whole numbers of at least 0, got -3"),
        (1.0, 3, r"hits must be whole numbers of at least 0, got 1.0"),
        (1, 3.5, r"n must be whole numbers of at least 0, got 3.5"),
        (True, 3, r"hits must be whole numbers of at least 0, got True"),
        ("1", 3, r"hits must be whole numbers of at least 0, got '1'"),
        ([1, 2], [3, 4, 5], r"hits and n must be as many, got hits=\[1, 2\], n=\[3, 4, 5\]"),
        ([1, 5], 3, r"hits must be at most n"),
    ],
)
def test_bad_counts_are_refused(function, hits, n, message):
    with pytest.raises(SettingError, match=message):
        function(hits, n, 0.95)


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 95, math.nan, "0.95", None, True])
def test_bad_confidence_is_refused(confidence):
    for call in (
        lambda: checked_confidence(confidence),
        lambda: clopper_pearson(1, 2, confidence),
        lambda: lower_bound(1, 2, confidence),
        lambda: mean_interval([0.1, 0.2], confidence),
        lambda: paired_difference(1, 2, 5, confidence),
    ):
        with pytest.raises(SettingError, match=r"confidence must be a number between 0 and 1, both excluded, got"):
            call()


@pytest.mark.parametrize("n_experiments", [2, 3, 10, 400])
@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_mean_interval_is_students(n_experiments, confidence):
    rates = np.random.default_rng(n_experiments).uniform(0.4, 0.6, n_experiments)
    expected = stats.t.interval(confidence, n_experiments - 1, rates.mean(), stats.sem(rates))
    assert mean_interval(rates, confidence) == pytest.approx(np.clip(expected, 0, 1), rel=1e-9)


@pytest.mark.parametrize("rates", [[0.5, 1.5], [-0.1, 0.2], [math.nan, 0.2], [[0.1, 0.2]], 0.5])
def test_bad_rates_are_refused(rates):
    with pytest.raises(SettingError, match="rates must be a list of numbers between 0 and 1"):
        mean_interval(rates, 0.95)


@pytest.mark.parametrize("b", [0, 1, 2, 5, 17, 100, 1000, 30_000])
@pytest.mark.parametrize("c", [0, 1, 3, 17, 120, 1001, 30_500])
def test_mcnemar_agrees_with_scipy(b, c):
    expected = stats.binomtest(b, b + c).pvalue if b + c else 1
    assert mcnemar_p(b, c) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@given(pairs(), st.sampled_from([0.8, 0.95, 0.99]))
def test_paired_difference_contains_the_estimate_and_is_mirrored(pair, confidence):
    b, c, n = pair
    low, high = paired_difference(b, c, n, confidence)
    assert -1 <= low <= (b - c) / n <= high <= 1
    assert paired_difference(c, b, n, confidence) == (-high, -low)


def test_paired_difference_at_the_ends():
    assert paired_difference(0, 0, 0, 0.95) == (-1, 1)
    low, high = paired_difference(50, 0, 50, 0.95)
    assert 0.8 < low < 1
    assert high == 1
    low, high = paired_difference(0, 0, 10_000, 0.95)
    assert 3 / 10_000 < high < 5 / 10_000
    assert low == -high


@pytest.mark.parametrize("spread", [0.02, 0.1, 0.3, 0.5])
@pytest.mark.parametrize("n", [3, 20, 150])
def test_tail_of_the_surplus_is_that_of_the_convolution(n, spread):
    for difference in np.array([-0.95, -0.4, 0, 0.3, 0.95]) * spread:
        steps = np.array([(spread - difference) / 2, 1 - spread, (spread + difference) / 2])
        chances = np.ones(1)
        for _ in range(n):
            chances = np.convolve(chances, steps)
        for surplus in range(math.ceil((n - 1) * difference) + 1, n):
            exact = chances[surplus + n :].sum()
            arguments = surplus, n, spread, np.array([difference])
            assert differences._surplus_tail(*arguments)[0] == pytest.approx(exact, rel=1e-8, abs=1e-14)
            assert differences._surplus_chernoff(*arguments)[0] >= exact * (1 - 1e-9)


@pytest.mark.parametrize(
    ("b", "c", "n", "message"),
    [
        (3, 3, 5, "b \\+ c must be at most n, got b=3, c=3, n=5"),
        (-1, 3, 5, "b must be a whole number of at least 0, got -1"),
        (1, 0.5, 5, "c must be a whole number of at least 0, got 0.5"),
        (1, 1, True, "n must be a whole number of at least 0, got True"),
    ],
)
def test_bad_pairs_are_refused(b, c, n, message):
    with pytest.raises(SettingError, match=message):
        paired_difference(b, c, n, 0.95)


SOME = [(0, 1), (1, 1), (1, 2), (5, 10), (0, 10**6), (1, 10**4), (1, 10**9)]
SOME += [(hits, 10**12) for hits in (1, 1000, 10**9, 3 * 10**11, 10**12 - 1, 10**12)]


def n_divergence(hits, n, share):
    """The log of the likelihood of hits / n over that of the share, in fifty digits."""
    with localcontext() as context:
        context.prec = 50
        total = Decimal(0)
        for count, chance in ((hits, Decimal(share)), (n - hits, 1 - Decimal(share))):
            if count:
                total += count * (Decimal(count) / n / chance).ln()
        return float(total)


@pytest.mark.parametrize(("hits", "n"), [(hits, n) for hits, n in SOME if n <= 10**4] + [(400, 1000), (0, 7)])
@pytest.mark.parametrize("prior", [PRIOR, (0.5, 0.5), (1, 1), (3.7, 40.2)])
def test_log_ratio_is_the_product_of_predictions(hits, n, prior):
    # The mixture's likelihood, input by input: each hit and miss as likely as it is after those before it.
    a, b = prior
    chances = [(a + i) / (a + b + i) for i in range(hits)]
    chances += [(b + i) / (a + b + hits + i) for i in range(n - hits)]
    best = float(special.xlogy(hits, hits / n) + special.xlogy(n - hits, 1 - hits / n))
    expected = math.fsum(map(math.log, chances)) - best
    assert sequence._log_ratio(np.float64(hits), np.float64(n), a, b) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("hits", "n"), SOME)
@pytest.mark.parametrize("confidence", [0.5, 0.95, 1 - 1e-12])
def test_at_the_ends_the_ratio_is_one_over_the_error(hits, n, confidence):
    log_ratio = float(sequence._log_ratio(np.float64(hits), np.float64(n), *PRIOR))
    low, high = time_uniform_interval(hits, n, confidence)
    if hits:
        assert n_divergence(hits, n, low) + log_ratio == pytest.approx(-math.log(1 - confidence), rel=1e-3)
    if 1 - high > 1e-13:
        assert n_divergence(hits, n, high) + log_ratio == pytest.approx(-math.log(1 - confidence), rel=1e-3)


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 10**6)), min_size=1, max_size=8), confidences)
def test_only_the_sums_of_the_batches_count(batches, confidence):
    in_batches, at_once = ConfidenceSequence(confidence), ConfidenceSequence(confidence)
    for hits, misses in batches:
        in_batches.update(hits, hits + misses)
    n_hits, n_misses = map(sum, zip(*batches, strict=True))
    at_once.update(n_hits, n_hits + n_misses)
    assert vars(in_batches) == vars(at_once)


def test_what_is_settled():
    counted = ConfidenceSequence()
    assert (counted.settles(0), counted.settles(1)) == (False, True)
    counted.update(1, 10)
    assert (counted.settles(0), counted.settles(counted.low), counted.settles(counted.high)) == (True, False, True)
    counted.update(99_990 // 10, 99_990)
    assert [counted.settles(limit) for limit in (0.09, 0.1, 0.11)] == [True, False, True]


@pytest.mark.parametrize("limit", [-0.1, 1.1, math.nan, None, "0.1"])
def test_bad_limits_are_refused(limit):
    with pytest.raises(SettingError, match="limit must be a number from 0 to 1, got"):
        ConfidenceSequence().settles(limit)


@pytest.mark.parametrize(("hits", "n"), [(2, 1), (-1, 1), (0, -1), (0.5, 1), (1, 1.0), (True, 1)])
def test_bad_batches_are_refused_and_change_nothing(hits, n):
    counted = ConfidenceSequence()
    with pytest.raises(SettingError, match=r"hits must be|n must be whole numbers of at least 0, got"):
        counted.update(hits, n)
    assert (counted.hits, counted.n, counted.low, counted.high) == (0, 0, 0, 1)


CONFIDENCE = 0.95
EXPECTED_HITS = [0.5, 1, 3.01, 3.3, 3.7, 8, 100]
N = 1000


def contains(ends, share):
    return (ends[0] <= share * (1 + 1e-12)) & (share <= ends[1] * (1 + 1e-12))


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


def always_covered(interval, repetitions, share):
    """Whether the interval holds the share after each of 200 batches, by repetition."""
    rng = np.random.default_rng([11, repetitions])
    hits, n = rng.binomial(1000, share, (repetitions, 200)).cumsum(axis=1), 1000 * np.arange(1, 201)
    return contains(interval(hits, n, CONFIDENCE), share).all(axis=1)


@pytest.mark.parametrize("share", [1e-4, 0.01, 0.3])
def test_coverage_with_a_look_after_every_batch(share):
    """By luck a miss too many once in 10,000 times, and the seed is fixed."""
    missed = ~always_covered(time_uniform_interval, 500, share)
    assert stats.binom.sf(missed.sum() - 1, 500, 1 - CONFIDENCE) > 1e-4


def test_an_interval_for_a_fixed_n_does_not_survive_the_looking():
    assert always_covered(clopper_pearson, 200, 0.01).mean() < 0.85


@pytest.mark.parametrize("n", [1, 4, 15])
def test_exact_coverage_of_differences(n):
    outcomes = np.array([(b, c, n - b - c) for b in range(n + 1) for c in range(n + 1 - b)])
    low, high = np.array([paired_difference(b, c, n, CONFIDENCE) for b, c, _ in outcomes.tolist()]).T
    grid = np.linspace(0, 1, 16) ** 2
    for only_a in grid:
        for only_b in grid[grid <= 1 - only_a]:
            chances = stats.multinomial.pmf(outcomes, n, [only_a, only_b, max(0.0, 1 - only_a - only_b)])
            inside = (low <= only_a - only_b + 1e-12) & (only_a - only_b <= high + 1e-12)
            assert chances[inside].sum() >= CONFIDENCE
