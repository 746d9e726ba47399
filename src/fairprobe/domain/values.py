"""Values of parameters and of columns: checks, missing values, dtypes, values as small integers, and dependences."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fairprobe.arrays import Codes, Floats
from fairprobe.checks import repeated
from fairprobe.errors import DomainError

if TYPE_CHECKING:
    import pandas as pd

FIRST_ROWS = 500
"""Number of first rows that are checked before all rows; on most columns of public tables they already show that one
does not follow from the other."""


def is_missing(value: Any) -> bool:
    """Return True if a value stands for "no value": None, NaN or pandas' NA."""
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def are_same(one: Any, other: Any) -> bool:
    """Return True if two single values are equal; all missing values are equal to each other."""
    if is_missing(one) or is_missing(other):
        return is_missing(one) and is_missing(other)
    return bool(one == other)


def changes_in_words(before: pd.Series, after: pd.Series, first: Sequence[str] = ()) -> list[str]:
    """Return the values that differ between two rows, as texts such as "age 20 -> 30".

    The columns named in `first` come first.
    """
    names = [name for name in dict.fromkeys([*first, *before.index]) if not are_same(before[name], after[name])]
    return [f"{name} {before[name]} -> {after[name]}" for name in names]


def plain(value: Any) -> Any:
    """Return a NumPy scalar as a plain Python value, and any other value unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def plain_or_none(value: Any) -> Any:
    """Return a NumPy scalar as a plain Python value; None for a value that stands for "no value"."""
    return None if is_missing(value) else plain(value)


def hold_to(name: Any, holds: bool, rule: str) -> None:
    """Raise a DomainError about the parameter `name` if `holds` is False; `rule` states the broken rule."""
    if not holds:
        raise DomainError(f"parameter {name!r}: {rule}")


def checked_moves(name: str, moves: Iterable[int]) -> tuple[int, ...]:
    """Return a parameter's moves as a tuple: whole numbers of levels, at least one below 0 and one above 0.

    Anything else is refused.
    """
    hold_to(name, isinstance(moves, Iterable), f"moves must be a list of whole numbers, got {moves!r}")
    checked = tuple(plain(move) for move in moves)
    are_whole = all(isinstance(move, int) and not isinstance(move, bool) and move != 0 for move in checked)
    hold_to(name, are_whole, f"moves must be whole numbers of steps other than 0, got {checked}")
    has_both = any(move < 0 for move in checked) and any(move > 0 for move in checked)
    hold_to(name, has_both, f"moves must have one below 0 and one above 0 at least, got {checked}")
    return checked


def checked_values(name: str, values: Iterable[Any]) -> tuple[Any, ...]:
    """Return a parameter's values as a tuple of plain Python values; they must be distinct, and none may be missing."""
    is_text = isinstance(values, str)
    got = f"the string {values!r}" if is_text else repr(values)
    hold_to(name, isinstance(values, Iterable) and not is_text, f"values must be a list, got {got}")
    checked = tuple(plain(value) for value in values)
    hold_to(name, bool(checked), "values must not be empty, got []")
    for value in checked:
        check_value(name, value)
    twice = ", ".join(map(repr, repeated(checked)))
    hold_to(name, not twice, f"values must be distinct, got {twice} more than once")
    return checked


def check_value(name: str, value: Any) -> None:
    """Refuse a value of a parameter that is missing, or that neither a rule nor a domain file can hold.

    A missing value is allowed by `missing=True` instead.
    """
    hold_to(name, not is_missing(value), f"a missing value is allowed by missing=True, not listed, got {value!r}")
    is_plain = isinstance(value, (str, bool, int, float))
    hold_to(name, is_plain, f"values must be strings, numbers or truth values, got {value!r}")
    is_finite = not isinstance(value, float) or math.isfinite(value)
    hold_to(name, is_finite, f"values must be finite, got {value!r}")


def natural_dtype(values: Iterable[Any], missing: bool) -> str:
    """Return the name of the pandas dtype that a column of the given values gets by default.

    With `missing`, the column may also hold missing values.
    """
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return "boolean" if missing else "bool"
    if kinds == {int}:
        return "float64" if missing else "int64"
    if kinds <= {int, float}:
        return "float64"
    return "str" if kinds == {str} else "object"


def check_once(sensitive: Iterable[str]) -> None:
    """Refuse a list of sensitive parameters that names one of them twice."""
    twice = ", ".join(repeated(sensitive))
    if twice:
        raise DomainError(f"sensitive must name each parameter once, got {twice} more than once")


def in_dtype(values: Any, dtype: Any) -> pd.Series:
    """Return a column converted to a dtype if the conversion changes no value, or else unchanged."""
    import pandas as pd

    series = pd.Series(values)
    if series.dtype == dtype:
        return series
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pandas is about to refuse values that are no category
            cast = series.astype(dtype)
    except (TypeError, ValueError):
        return series
    same = (cast.astype(object) == series.astype(object)) | (series.isna() & cast.isna())
    return cast if bool(same.all()) else series


# Columns of data as small integers


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

    It may be chance if fewer than `least` rows would contradict it in independent columns.
    """
    for rows in (slice(FIRST_ROWS), slice(None)):
        last = np.zeros(int(source[rows].max()) + 1, dtype=np.int64)
        last[source[rows]] = target[rows]
        if (last[source[rows]] != target[rows]).any():
            return False
    return Dependence.of(source, target, (int(source.max()) + 1, int(target.max()) + 1)).would_show >= least
