"""Columns as small whole numbers, and what follows from what."""

import numpy as np
import pandas as pd
import pytest

from fairprobe.domain.values import Dependence, by_quantiles, follows, joint_counts, numbered


def test_columns_as_numbers():
    assert numbered(pd.Series(["b", None, "a", "b", np.nan])).tolist() == [0, 1, 2, 0, 1]
    assert by_quantiles(np.array([1.0, 2, 3, 4, np.nan]), 2).tolist() == [0, 0, 1, 1, 2]
    assert by_quantiles(np.array([1.0, 2, 2, 4]), 2, includes="low").tolist() == [0, 1, 1, 1]
    assert by_quantiles(np.array([np.nan]), 3).tolist() == [1]


def test_pairs_are_counted_without_what_is_unknown():
    counts = joint_counts(np.array([0, 1, 1, -1, 0]), np.array([2, 0, 0, 1, -1]), (2, 3))
    assert counts.tolist() == [[0, 0, 1], [2, 0, 0]]


def test_a_dependence_by_definition():
    rng = np.random.default_rng(0)
    source = rng.integers(0, 7, 900)
    target = np.where(rng.random(900) < 0.05, rng.integers(0, 3, 900), source % 3)
    seen = Dependence.of(source, target, (7, 3))
    best = [np.bincount(target[source == value]).argmax() for value in range(7)]
    assert seen.best.tolist() == best
    assert seen.n_broken == int((np.array(best)[source] != target).sum())
    share = np.bincount(target) / 900
    assert seen.expected == pytest.approx(sum(1 - share[best[value]] for value in source))
    assert seen.would_show == pytest.approx((900 - 7) * (1 - share.max()))
    assert not follows(source, target, 20)
    assert follows(source, source % 3, 20)
    assert not follows(np.arange(900), target, 20)  # nothing would show
    assert not follows(source % 3, source, 20)
