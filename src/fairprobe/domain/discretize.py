"""Columns of data as small integers, joint counts of two columns, and dependences between columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fairprobe.arrays import Codes, Floats

FIRST_ROWS = 500
"""Number of first rows that are checked before all rows; on most columns of public tables they already show that one
does not follow from the other."""


def numbered(column: Any) -> Codes:
    """Return the values of a column as integers from 0 in order of appearance; missing values share a number."""
    import pandas as pd

    return np.asarray(pd.factorize(column, use_na_sentinel=False)[0], dtype=np.int64)


def as_floats(column: Any) -> Floats:
    """Return the numbers of a column as floats; NaN in the place of anything else."""
    import pandas as pd

    numbers: Floats = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    return numbers


def by_quantiles(numbers: Floats, n_parts: int, *, includes: str = "high") -> Codes:
    """Return the number of the quantile bin that each number is in, from 0; the last bin holds NaN.

    Bins have about equal counts.
    """
    known = numbers[~np.isnan(numbers)]
    ends = np.unique(np.quantile(known, np.arange(1, n_parts) / n_parts)) if len(known) else np.zeros(0)
    parts = np.searchsorted(ends, numbers, side="left" if includes == "high" else "right")
    return np.where(np.isnan(numbers), len(ends) + 1, parts).astype(np.int64)


def joint_counts(one: Codes, other: Codes, shape: tuple[int, int]) -> Codes:
    """Return a table of the given shape with the number of rows for each pair of numbers of two columns.

    Rows with a negative number are left out.
    """
    known = (one >= 0) & (other >= 0)
    pairs = one[known] * shape[1] + other[known]
    return np.bincount(pairs, minlength=shape[0] * shape[1]).reshape(shape).astype(np.int64)


class Dependence(NamedTuple):
    """How far the values of one column, the target, are determined by those of another, the source."""

    n: int
    """Number of rows that have a value in both columns."""
    best: Codes
    """Most frequent value of the target, as a number, by value of the source."""
    n_broken: int
    """Number of rows whose target value is not the most frequent one for their source value (`best`)."""
    expected: float
    """Number of rows that would be expected to have another target value than `best` if the columns were
    independent."""
    would_show: float
    """Expected number of rows that would contradict the dependence by chance; the first row of each source value
    cannot."""

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
    """Return True if the target column follows from the source column in all rows, and this is not by chance.

    It is by chance if fewer than `least` rows would contradict it in independent columns.
    """
    for rows in (slice(FIRST_ROWS), slice(None)):
        last = np.zeros(int(source[rows].max()) + 1, dtype=np.int64)
        last[source[rows]] = target[rows]
        if (last[source[rows]] != target[rows]).any():
            return False
    return Dependence.of(source, target, (int(source.max()) + 1, int(target.max()) + 1)).would_show >= least
