"""Columns of data as small integers, joint counts of two columns, and dependences between columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fairprobe.arrays import Codes, Floats

FIRST_ROWS = 500
"""Number of rows that show for most columns that they do not follow from each other; measured on public tables."""


def numbered(column: Any) -> Codes:
    """Return the values of a column numbered from 0 in order of appearance; missing values share a number."""
    import pandas as pd

    return np.asarray(pd.factorize(column, use_na_sentinel=False)[0], dtype=np.int64)


def as_floats(column: Any) -> Floats:
    """Return the numbers of a column as floats; NaN in the place of anything else."""
    import pandas as pd

    numbers: Floats = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    return numbers


def by_quantiles(numbers: Floats, n_parts: int, *, includes: str = "high") -> Codes:
    """Return the quantile bin of each number; the bins have about equal counts, and the last bin holds NaN.

    `includes` says which end of its range a bin contains.
    """
    known = numbers[~np.isnan(numbers)]
    ends = np.unique(np.quantile(known, np.arange(1, n_parts) / n_parts)) if len(known) else np.zeros(0)
    parts = np.searchsorted(ends, numbers, side="left" if includes == "high" else "right")
    return np.where(np.isnan(numbers), len(ends) + 1, parts).astype(np.int64)


def joint_counts(one: Codes, other: Codes, shape: tuple[int, int]) -> Codes:
    """Return the number of rows with each pair of numbers; rows with a negative number are left out."""
    known = (one >= 0) & (other >= 0)
    pairs = one[known] * shape[1] + other[known]
    return np.bincount(pairs, minlength=shape[0] * shape[1]).reshape(shape).astype(np.int64)


class Dependence(NamedTuple):
    """The dependence of the values of one column, the target, on those of another, the source."""

    n: int
    """Number of rows with both values."""
    best: Codes
    """Most frequent value of the target, by value of the source."""
    n_broken: int
    """Number of rows whose target value is not `best`."""
    expected: float
    """Expected number of rows whose target value is not `best` if the columns were independent."""
    would_show: float
    """Number of rows that could contradict the dependence; the first row of each source value cannot."""

    @classmethod
    def of(cls, source: Codes, target: Codes, shape: tuple[int, int]) -> Dependence:
        """Measure the dependence of two columns that are numbered from 0; `shape` has the number of values of each."""
        table = joint_counts(source, target, shape)
        n, best = int(table.sum()), table.argmax(axis=1)
        shares = table.sum(axis=0) / max(n, 1)
        n_by_luck = float((table.sum(axis=1) * shares[best]).sum())
        n_kept = int(table.max(axis=1).sum())
        return cls(n, best, n - n_kept, n - n_by_luck, (n - len(table)) * (1 - float(shares.max())))


def follows(source: Codes, target: Codes, least: float) -> bool:
    """Return True if the target follows from the source in all rows and chance would show in `least` rows or more."""
    for rows in (slice(FIRST_ROWS), slice(None)):
        last = np.zeros(int(source[rows].max()) + 1, dtype=np.int64)
        last[source[rows]] = target[rows]
        if (last[source[rows]] != target[rows]).any():
            return False
    return Dependence.of(source, target, (int(source.max()) + 1, int(target.max()) + 1)).would_show >= least
