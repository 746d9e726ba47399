"""Columns of data as small whole numbers, how often two of them occur together, and what follows from what."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

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


@dataclass(frozen=True)
class Dependence:
    """How closely the values of one column, the target, follow from those of another, the source."""

    table: Codes
    """Rows with each value of the source, then of the target."""

    @classmethod
    def of(cls, source: Codes, target: Codes) -> Dependence:
        """The dependence of two columns that are numbered from 0 on."""
        return cls(joint_counts(source, target, (int(source.max()) + 1, int(target.max()) + 1)))

    @cached_property
    def n(self) -> int:
        """Rows with both values."""
        return int(self.table.sum())

    @cached_property
    def best(self) -> Codes:
        """By value of the source, the value of the target that most rows have."""
        return self.table.argmax(axis=1)

    @cached_property
    def n_broken(self) -> int:
        """Rows that have another value of the target than `best`."""
        return self.n - int(self.table.max(axis=1).sum())

    @cached_property
    def _shares(self) -> Floats:
        return self.table.sum(axis=0) / self.n

    @cached_property
    def expected(self) -> float:
        """Rows that would have another value than `best` if the columns had nothing to do with each other."""
        return float(self.n - (self.table.sum(axis=1) * self._shares[self.best]).sum())

    @cached_property
    def would_show(self) -> float:
        """Rows that could contradict by chance: not the first row of a value, nor any if the target has one value."""
        return (self.n - len(self.table)) * (1 - float(self._shares.max()))


def follows(source: Codes, target: Codes, least: float) -> bool:
    """Whether the target follows from the source in all rows, where chance would show in `least` rows at least."""
    for rows in (slice(FIRST_ROWS), slice(None)):
        last = np.zeros(int(source[rows].max()) + 1, dtype=np.int64)
        last[source[rows]] = target[rows]
        if (last[source[rows]] != target[rows]).any():
            return False
    return Dependence.of(source, target).would_show >= least
