"""The confidence sequence: against its definition in fifty digits, and what must hold for all counts."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from fairprobe.errors import SettingError
from fairprobe.estimation.bounds import sequence
from fairprobe.estimation.bounds.sequence import PRIOR, ConfidenceSequence, time_uniform_interval

confidences = st.floats(0.01, 0.9999)
SOME = [(0, 1), (1, 1), (1, 2), (5, 10), (0, 10**6), (1, 10**4), (1, 10**9)]
SOME += [(hits, 10**12) for hits in (1, 1000, 10**9, 3 * 10**11, 10**12 - 1, 10**12)]


@st.composite
def counts(draw, max_n=10**12):
    n = draw(st.one_of(st.integers(1, 50), st.integers(1, max_n)))
    return draw(st.one_of(st.integers(0, min(n, 1000)), st.integers(0, n))), n


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
    expected = math.fsum(map(math.log, chances)) - float(
        special.xlogy(hits, hits / n) + special.xlogy(n - hits, 1 - hits / n)
    )
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


@given(counts(), confidences)
def test_the_estimate_is_inside_and_the_ends_in_range(count, confidence):
    hits, n = count
    low, high = time_uniform_interval(hits, n, confidence)
    assert 0 <= low <= hits / n <= high <= 1
    assert (low == 0) == (hits == 0)
    assert hits < n or high == 1


# The class


@given(st.lists(counts(max_n=10**6), min_size=1, max_size=8), confidences)
def test_only_the_sums_of_the_batches_count(batches, confidence):
    in_batches, at_once = ConfidenceSequence(confidence), ConfidenceSequence(confidence)
    for hits, n in batches:
        in_batches.update(hits, n)
    at_once.update(sum(hits for hits, _ in batches), sum(n for _, n in batches))
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
