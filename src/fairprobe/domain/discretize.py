"""Columns of data as small whole numbers, how often two of them occur together, and what follows from what."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fairprobe.arrays import Codes, Floats

FIRST_ROWS = 500
"""Rows that are enough to see that most columns do not follow from each other; measured on public tables."""


def numbered(column: Any) -> Codes:
    """The values of a column as numbers from 0 on, in the order in which they come; missing values share a number."""
    import pandas as pd

    return np.asarray(pd.factorize(column, use_na_sentinel=False)[0], dtype=np.int64)


def as_floats(column: Any) -> Floats:
    """The numbers of a column; NaN in the place of anything else."""
    import pandas as pd

    numbers: Floats = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    return numbers


def by_quantiles(numbers: Floats, n_parts: int, *, includes: str = "high") -> Codes:
    """The part of its range that each number lies in, with about as many numbers in each; the last part is of NaN.

    A part includes its high end, or its low one.
    """
    known = numbers[~np.isnan(numbers)]
    ends = np.unique(np.quantile(known, np.arange(1, n_parts) / n_parts)) if len(known) else np.zeros(0)
    parts = np.searchsorted(ends, numbers, side="left" if includes == "high" else "right")
    return np.where(np.isnan(numbers), len(ends) + 1, parts).astype(np.int64)


def joint_counts(one: Codes, other: Codes, shape: tuple[int, int]) -> Codes:
    """How many rows have each pair of numbers; rows with a number below 0 are left out."""
    known = (one >= 0) & (other >= 0)
    pairs = one[known] * shape[1] + other[known]
    return np.bincount(pairs, minlength=shape[0] * shape[1]).reshape(shape).astype(np.int64)


class Dependence(NamedTuple):
    """How closely the values of one column, the target, follow from those of another, the source."""

    n: int
    """Rows with both values."""
    best: Codes
    """By value of the source, the value of the target that most rows have."""
    n_broken: int
    """Rows that have another value of the target than `best`."""
    expected: float
    """Rows that would have another value than `best` if the columns had nothing to do with each other."""
    would_show: float
    """Rows that could contradict by chance: not the first row of a value, nor any if the target has one value."""

    @classmethod
    def of(cls, source: Codes, target: Codes, shape: tuple[int, int]) -> Dependence:
        """The dependence of two columns that are numbered from 0 on; `shape` has the number of values of each."""
        table = joint_counts(source, target, shape)
        n, best = int(table.sum()), table.argmax(axis=1)
        shares = table.sum(axis=0) / max(n, 1)
        n_by_luck = float((table.sum(axis=1) * shares[best]).sum())
        n_kept = int(table.max(axis=1).sum())
        return cls(n, best, n - n_kept, n - n_by_luck, (n - len(table)) * (1 - float(shares.max())))


def follows(source: Codes, target: Codes, least: float) -> bool:
    """Whether the target follows from the source in all rows, where chance would show in `least` rows at least."""
    for rows in (slice(FIRST_ROWS), slice(None)):
        last = np.zeros(int(source[rows].max()) + 1, dtype=np.int64)
        last[source[rows]] = target[rows]
        if (last[source[rows]] != target[rows]).any():
            return False
    return Dependence.of(source, target, (int(source.max()) + 1, int(target.max()) + 1)).would_show >= least
