"""Intervals of weighted and grouped rows hold the share as often as they say, by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from fairprobe.estimate.bounds.clustered import clustered
from fairprobe.estimate.bounds.intervals import clopper_pearson


def test_rows_that_count_alike_have_nearly_the_exact_interval():
    hits = np.arange(500) % 10 == 0
    share, two_sided, one_sided = clustered(hits, None, None, 0.95)
    assert share == 0.1
    assert two_sided == pytest.approx(clopper_pearson(50, 500, 0.95), rel=0.02)
    assert two_sided[0] < one_sided[0] < share < one_sided[1] < two_sided[1]


def test_nothing_and_everything():
    none, all_of_it = np.zeros(100, dtype=bool), np.ones(100, dtype=bool)
    assert clustered(none, None, None, 0.95)[1] == pytest.approx(clopper_pearson(0, 100, 0.95))
    assert clustered(all_of_it, None, None, 0.95)[1] == pytest.approx(clopper_pearson(100, 100, 0.95))
    groups = np.arange(100) % 10
    assert clustered(none, None, groups, 0.95)[1][1] > clopper_pearson(0, 10, 0.95)[1] - 1e-9
    assert clustered(none, None, np.zeros(100, dtype=np.int64), 0.95)[1] == (0.0, 1.0)
    assert clustered(np.zeros(0, dtype=bool), None, None, 0.95)[1] == (0.0, 1.0)


def persons(rng, n_persons, share, spread, weight_spread):
    """Rows of persons who are alike: each has a rate of its own around the share, some rows, and a weight."""
    strength = 1 / spread**2 - 1
    rates = rng.beta(share * strength, (1 - share) * strength, size=n_persons)
    n_rows = rng.integers(1, 8, size=n_persons)
    groups = np.repeat(np.arange(n_persons), n_rows)
    hits = rng.random(len(groups)) < rates[groups]
    weights = np.exp(weight_spread * rng.normal(size=n_persons))[groups]
    return hits, weights, groups


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.03, 0.1, 0.3])
@pytest.mark.parametrize(("n_persons", "spread"), [(60, 0.5), (300, 0.3), (300, 0.7)])
@pytest.mark.parametrize("weight_spread", [0.0, 0.7])
def test_coverage(share, n_persons, spread, weight_spread):
    """At 95%, of 2,000 surveys at least 93% hold the share: what it loses with few groups is stated, and no more.

    Ignoring whose rows they are holds it far less often where persons are alike.
    """
    rng = np.random.default_rng(1)
    n, held, ignored = 2000, 0, 0
    for _ in range(n):
        hits, weights, groups = persons(rng, n_persons, share, spread, weight_spread)
        low, high = clustered(hits, weights, groups, 0.95)[1]
        held += low <= share <= high
        low, high = clopper_pearson(int(hits.sum()), len(hits), 0.95)
        ignored += low <= share <= high
    assert held >= binom.ppf(1e-4, n, 0.93)
    if spread >= 0.5:
        assert ignored < held


def test_coverage_with_a_few_surveys():
    rng = np.random.default_rng(2)
    held = 0
    for _ in range(150):
        low, high = clustered(*persons(rng, 200, 0.2, 0.5, 0.5), 0.95)[1]
        held += low <= 0.2 <= high
    assert held >= binom.ppf(1e-6, 150, 0.93)
