"""Tests and intervals for the difference between two groups, against brute force and simulation."""

import itertools
import math

import pytest

from fairprobe.errors import SettingError
from fairprobe.estimation.bounds.differences import attainable_p, fisher_p, rate_difference


def test_fisher_by_brute_force():
    for n_a, n_b in [(1, 1), (3, 5), (6, 4), (7, 7)]:
        for a, b in itertools.product(range(n_a + 1), range(n_b + 1)):
            ways = {k: math.comb(n_a, k) * math.comb(n_b, a + b - k) for k in range(min(n_a, a + b) + 1)}
            p = sum(each for each in ways.values() if each <= ways[a]) / sum(ways.values())
            assert fisher_p(a, n_a, b, n_b) == pytest.approx(p)
    assert fisher_p(0, 0, 3, 5) == 1.0
    assert 0 < fisher_p(5000, 10_000, 5400, 10_000) < 1e-7
    with pytest.raises(SettingError, match="hits must be at most n"):
        fisher_p(3, 2, 0, 1)
    assert attainable_p(0, 100) == attainable_p(100, 0) == 1.0
    assert attainable_p(3, 3) > 0.05 > attainable_p(4, 4) == pytest.approx(2 / math.comb(8, 4))


def test_the_bounds_of_rates_apart():
    low, high = rate_difference(90, 100, 10, 100, 0.95)
    assert 0.6 < low < 0.8 < high < 0.95
