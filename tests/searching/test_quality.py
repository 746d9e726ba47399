"""Does the search still find? Statistical tests, each with the chance that it fails or passes by luck.

Seeds are fixed, so nothing fluctuates from run to run; the chances are those of a change that only shuffles the draws.
"""

import numpy as np
import pytest
from scipy.special import bdtr, bdtrc

import hard_toys
from fairprobe import search, testing

pytestmark = pytest.mark.usefixtures("taken_at_its_word")

BUDGET = {"max_cases": None, "n_walkers": 1000, "n_global": 1000, "n_local": 300, "max_inputs": 301_000}


def yields(model, domain, strategy, **settings):
    return np.array(
        [search(model, domain, strategy=strategy, seed=seed, **(BUDGET | settings)).yield_ for seed in range(10)]
    )


def mean_log_ratio(better, worse):
    return np.log(better / worse).mean()


@pytest.mark.slow
def test_directed_beats_random_beats_uniform_on_the_census_tree(census_tree):
    """1,000 walkers x 300 trials, ten paired seeds. Over 800 other seeds the logarithm of the ratio of yields was

    - random to uniform: 2.76, standard deviation 0.24; so a mean of ten below 1.4 is 17 standard errors away;
    - fully-directed to random: 1.17 and 0.44; a mean below 0.4 is 5.6 standard errors away: one in 10^8 by luck. If
      nothing were learned it would be 0 and 0.31, and 0.4 is 4.1 standard errors away: one in 50,000.
    """
    uniform, random, fully = (yields(*census_tree, name) for name in ("uniform", "random", "fully-directed"))
    assert uniform.mean() == pytest.approx(0.0057, abs=0.0003)  # 0.57 %, standard error 0.004 %
    assert mean_log_ratio(random, uniform) > 1.4
    assert mean_log_ratio(fully, random) > 0.4
    assert uniform.mean() < random.mean() < fully.mean()


LARGE = {
    "box": testing.box(n_free=6, levels=20, low=2, high=13),
    "checkerboard": hard_toys.checkerboard(n_free=5, levels=21, every=7),
    "sparse": hard_toys.sparse(n_cases=9_000, levels=100),
    "odd-one-out": testing.odd_one_out(levels=400, n_free=3),
    "pair": testing.pair(levels=9, n_free=8),
    "score": testing.score(levels=2**12, threshold=0.25),
    "proba": testing.proba(levels=2**12, threshold=0.45),
}


@pytest.mark.parametrize("name", LARGE)
def test_uniform_sampling_finds_the_share(name):
    """Hits among independent uniform inputs are binomial: each test fails by luck once in a million."""
    toy = LARGE[name]
    n = 20_000
    hits = []

    def counting(batch):
        outputs = toy.model(batch)
        rows = batch[: len(batch) // len(toy.domain.combinations)]
        hits.append(int(toy.is_case(rows).sum()))
        return outputs

    found = search(counting, toy.domain, strategy="uniform", max_cases=None, max_inputs=n, **toy.settings)
    assert found.n_judged == n
    total = sum(hits)
    share = float(toy.share)
    assert bdtr(total, n, share) > 0.5e-6
    assert bdtrc(total - 1, n, share) > 0.5e-6
