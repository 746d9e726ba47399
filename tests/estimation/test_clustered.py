"""Intervals of weighted and grouped rows hold the share as often as they say, by simulation."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from fairprobe import Category, Domain, Integer, estimate, verdict
from fairprobe.errors import HealthWarning
from fairprobe.estimation.bounds.clustered import clustered
from fairprobe.estimation.bounds.intervals import clopper_pearson, lower_bound, upper_bound


@pytest.mark.parametrize(("hits", "n"), [(0, 100), (1, 30), (3, 100), (50, 500), (500, 500), (1, 3)])
def test_rows_that_count_alike_have_the_exact_interval(hits, n):
    said = clustered(np.arange(n) < hits, None, None, 0.95)
    one_sided = (lower_bound(hits, n, 0.95), upper_bound(hits, n, 0.95))
    assert said.share == hits / n
    assert said.two_sided == pytest.approx(clopper_pearson(hits, n, 0.95), rel=0.005, abs=6e-4)
    assert said.one_sided == pytest.approx(one_sided, rel=0.005, abs=6e-4)


@pytest.mark.parametrize("confidence", [0.05, 0.5, 0.95])
def test_the_bounds_are_a_bootstrap_over_groups_with_one_more(confidence):
    """By drawing: the weights of groups at random, and of one more group, all hits."""
    rng = np.random.default_rng(3)
    hits, weights, groups = persons(rng, 25, "unequal", 0.3, 0.3, 0.5)
    each, mine = np.bincount(groups, weights=weights), np.bincount(groups, weights=weights * hits)
    further = (each**3).sum() / (each**2).sum()
    draws = rng.exponential(size=(100_000, 26))
    shares = draws @ np.append(mine, further) / (draws @ np.append(each, further))
    upper = clustered(hits, weights, groups, confidence).one_sided[1]
    assert upper == pytest.approx(np.quantile(shares, confidence), abs=0.004)


@pytest.mark.parametrize(
    "groups", [np.arange(100) % 10, np.arange(100), np.repeat(np.arange(40), np.arange(40) % 4 + 1)]
)
@pytest.mark.parametrize("spread", [0.0, 0.5, 1.5])
def test_without_hits_each_group_counts_as_one(groups, spread):
    """Never shorter than the exact interval of as many rows that count alike, nor than with a hit less."""
    weights = np.exp(spread * np.random.default_rng(0).normal(size=len(groups)))
    by_group = np.bincount(groups, weights=weights)
    effective = by_group.sum() ** 2 / (by_group**2).sum()
    none = np.zeros(len(groups), dtype=bool)
    said = clustered(none, weights, groups, 0.95)
    assert said.two_sided[1] >= 1 - 0.025 ** (1 / effective) - 1e-12
    assert said.effective_n == pytest.approx(effective)
    one = none.copy()
    one[0] = True
    assert clustered(one, weights, groups, 0.95).two_sided[1] >= said.two_sided[1]


def persons(rng, n_persons, sizes, share, icc, weight_spread):
    """Rows of persons: each has a rate of its own around the share, as alike as said, some rows, and their weights."""
    rates = {0: lambda: np.full(n_persons, share), 1: lambda: (rng.random(n_persons) < share).astype(float)}
    strength = 1 / icc - 1 if icc else 0
    rate = rates.get(icc, lambda: rng.beta(share * strength, (1 - share) * strength, size=n_persons))()
    n_rows = {
        "one": lambda: np.ones(n_persons, dtype=np.int64),
        "equal": lambda: np.full(n_persons, 15),
        "unequal": lambda: 1 + (8 * np.exp(1.1 * rng.normal(size=n_persons))).astype(np.int64),
    }[sizes]()
    groups = np.repeat(np.arange(n_persons), n_rows)
    hits = rng.random(len(groups)) < rate[groups]
    return hits, np.exp(weight_spread * rng.normal(size=len(groups))), groups


FEW_SETTINGS = [(40, "equal", 0.02, 0.3, 0), (100, "unequal", 0.005, 0.3, 0.5), (500, "one", 0.02, 0, 1.5)]


def check_coverage(settings, n, interval=clustered):
    """Where a pass can be given, the bounds hold the share at least as often as they say."""
    numbers = [len(each) if isinstance(each, str) else int(100 * each) for each in settings]
    rng = np.random.default_rng([n, *numbers])
    share, missed = settings[2], np.zeros(4)
    for _ in range(n):
        said = interval(*persons(rng, *settings), 0.95)
        if not said.is_few:
            (low, high), (lower, upper) = said.two_sided, said.one_sided
            missed += [not low <= share <= high, lower > share, upper < share, high < share]
    most = binom.isf(1e-4, n, [0.05, 0.05, 0.05, 0.025])
    assert (missed <= most).all(), (settings, missed / n)


@pytest.mark.parametrize("settings", FEW_SETTINGS)
def test_coverage_with_a_few_surveys(settings):
    check_coverage(settings, 150)


DOMAIN = Domain([Integer("x", 0, 1), Category("sex", ["f", "m"])], sensitive=["sex"])


def flips(frame):
    """The outcome follows sex where x is 1."""
    return ((frame["x"] == 1) & (frame["sex"] == "m")).astype(int)


@pytest.mark.parametrize(
    ("n_groups", "n_each", "weights"),
    [(29, 20, None), (29, 20, np.ones(580)), (None, 400, np.exp(3 * np.random.default_rng(0).normal(size=400)))],
)
def test_few_groups_never_pass(n_groups, n_each, weights):
    n = n_each * (n_groups or 1)
    rows = pd.DataFrame({"x": np.zeros(n, dtype=int), "sex": "f"})
    groups = None if n_groups is None else np.arange(n) % n_groups
    with pytest.warns(HealthWarning, match="few-groups"):
        share = estimate(flips, DOMAIN, rows, sample_weight=weights, groups=groups, rows_are="held-out")
    said = verdict(share, 0.9)
    assert (share.high < 0.9, said.outcome, share.has("few-groups")) == (True, "inconclusive", True)
    assert "too few groups" in said.sentence
