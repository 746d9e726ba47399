"""Intervals for rows that do not count alike: survey weights, and several rows of one person."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.errors import DataError
from fairprobe.estimate.bounds.intervals import checked_confidence


def checked_weights(weights: Any, n: int) -> Floats:
    """A number for each row, none negative, not all zero."""
    try:
        numbers = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError.about("weights", f"must be numbers, got {type(weights).__name__}") from None
    if numbers.shape != (n,):
        raise DataError.about("weights", f"must be one number for each of the {n:,} rows, got {numbers.shape}")
    bad = np.flatnonzero(~np.isfinite(numbers) | (numbers < 0))
    if len(bad):
        raise DataError.about(
            "weights", f"must be finite and not negative, got {numbers[bad[0]]} in row {bad[0] + 1:,}"
        )
    if not numbers.any():
        raise DataError.about("weights", "must not all be zero")
    return numbers


def checked_groups(groups: Any, n: int) -> Codes:
    """A number for each row, the same for rows of one group."""
    import pandas as pd

    values = pd.Series(groups).reset_index(drop=True)
    if values.shape != (n,):
        raise DataError.about("groups", f"must be one name for each of the {n:,} rows, got {len(values):,}")
    if values.isna().any():
        raise DataError.about("groups", f"must be known for every row, got {int(values.isna().sum()):,} missing")
    return np.asarray(pd.factorize(values)[0], dtype=np.int64)


def clustered(
    hits: Mask, weights: Floats | None, groups: Codes | None, confidence: float
) -> tuple[float, tuple[float, float], tuple[float, float]]:
    """The weighted share, its two-sided interval and its one-sided bounds.

    Korn and Graubard (1998): the exact interval of Clopper and Pearson at the number of rows that would tell as much if
    all counted alike, given how much the weighted hits vary between groups (rows, where there are none), with Student's
    t for the number of groups. It is an approximation: with few groups, or where a few weigh most, less sure than said.
    Without hits, or with nothing else, the variation tells nothing: then each group counts as one, by its weight.
    """
    error = 1 - checked_confidence(confidence)
    n = len(hits)
    weight = np.ones(n) if weights is None else weights
    total = float(weight.sum())
    if not n or not total:
        return math.nan, (0.0, 1.0), (0.0, 1.0)
    share = float((weight * hits).sum()) / total
    group = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1].reshape(-1)
    by_group = np.bincount(group, weights=weight)
    n_groups = len(by_group)
    telling = total**2 / float((by_group**2).sum())
    if 0 < share < 1 and n_groups > 1:
        off = np.bincount(group, weights=weight * (hits - share)) / total
        variance = n_groups / (n_groups - 1) * float((off**2).sum())
        telling = min(n, share * (1 - share) / variance) if variance else n
    two, one = error / 2, error
    return share, _bounds(share, telling, n, n_groups, two), _bounds(share, telling, n, n_groups, one)


def _bounds(share: float, telling: float, n: int, n_groups: int, error: float) -> tuple[float, float]:
    """Each bound at an error: exact for as many rows as tell as much, less what few groups cost."""
    from scipy.special import betainccinv, betaincinv, stdtrit

    if n_groups < 2:
        return 0.0, 1.0
    rows = min(telling, telling * (float(stdtrit(n - 1, error)) / float(stdtrit(n_groups - 1, error))) ** 2)
    hits = share * rows  # no whole number, and maybe less than one
    low = float(betaincinv(hits, rows - hits + 1, error)) if share > 0 else 0.0
    high = float(betainccinv(hits + 1, rows - hits, error)) if share < 1 else 1.0
    return low, high
