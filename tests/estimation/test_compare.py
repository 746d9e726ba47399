"""`compare`: two models on the same inputs."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from fairprobe import Domain, Integer, compare
from fairprobe.blocks import Remark
from fairprobe.estimation.bounds.differences import paired_difference

pytestmark = pytest.mark.usefixtures("taken_at_its_word")

DOMAIN = Domain([Integer("x", 0, 99), Integer("y", 0, 99), Integer("s", 0, 1)], ["s"])


class Below:
    """Discriminatory where a column is below a bound; keeps what it is asked."""

    def __init__(self, column, bound):
        self.column = column
        self.bound = bound
        self.batches = []

    def is_case(self, X):
        return X[:, self.column] < self.bound

    def __call__(self, X):
        self.batches.append(X.copy())
        return self.is_case(X) & (X[:, -1] == 1)


def first_members(batches):
    return np.concatenate([batch[: len(batch) // 2] for batch in batches])


def test_what_makes_a_share_doubtful_stands_beside_the_comparison():
    result = compare(Below(0, 30), Below(1, 20), DOMAIN, n_experiments=2)
    remark = Remark("stochastic-model", "the model answers the same row differently")
    doubtful = replace(result, b=replace(result.b, health=(remark,)))
    assert (remark in result.blocks(), remark in doubtful.blocks()) == (False, True)


@pytest.mark.parametrize("population", ["domain", "valid"])
def test_both_are_judged_on_the_same_inputs(population):
    a, b = Below(0, 30), Below(1, 20)
    result = compare(a, b, DOMAIN, population, n_experiments=30, n_samples=1000, seed=4)
    assert len(a.batches) == len(b.batches) > 1
    for mine, theirs in zip(a.batches, b.batches, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    inputs = first_members(a.batches)
    in_a, in_b = a.is_case(inputs), b.is_case(inputs)
    assert result.n == len(inputs) == 30_000
    assert result.only_a == (in_a & ~in_b).sum()
    assert result.only_b == (in_b & ~in_a).sum()
    assert (result.a.hits, result.b.hits) == (in_a.sum(), in_b.sum())
    assert "30,000 inputs: " in result.sentence()
    assert result.difference == pytest.approx(result.a.value - result.b.value, abs=1e-12)
    assert (result.low, result.high) == paired_difference(result.only_a, result.only_b, result.n, 0.95)
    assert result.low < 0.1 < result.high
    expected = stats.binomtest(int(result.only_a), int(result.only_a + result.only_b)).pvalue
    assert result.p_value == pytest.approx(expected, rel=1e-9)
