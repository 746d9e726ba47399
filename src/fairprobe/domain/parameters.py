"""The kinds of parameters: numbers on a grid and listed values.

A value is held as its *code*, the integer 0, 1, ... of its level. The level of a number counts steps from `low`; the
level of a listed value is its place in the list. With `missing=True`, one more level, the last, means "no value".
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, WithoutTables
from fairprobe.domain.values import as_floats, checked_moves, checked_values, hold_to, in_dtype, natural_dtype, plain
from fairprobe.errors import DataError, DomainError

if TYPE_CHECKING:
    import pandas as pd

MAX_LEVELS = 10**12

MOST_BLUR = 0.25
"""Largest rounding error of a grid number that is accepted, in steps; chosen: with more, neighbours could be
confused."""


@dataclass(frozen=True)
class Parameter(ABC):
    """The base class of the kinds of parameters: Integer, Real, Category and Ordinal."""

    name: str
    missing: bool = field(default=False, kw_only=True)
    moves: Sequence[int] = field(default=(-1, 1), kw_only=True)
    dtype: str = field(default="", kw_only=True)

    kind: ClassVar[str]
    wraps: ClassVar[bool] = False
    """True if a move past the last level continues at the first; otherwise it is reflected."""

    @abstractmethod
    def _n_values(self) -> int: ...

    @abstractmethod
    def decode(self, codes: Codes) -> Any:
        """Return the values of a batch of codes, as an array of this parameter's dtype."""

    @abstractmethod
    def numbers(self, codes: Codes) -> Floats:
        """Return the values of a batch of codes as floats, missing ones as NaN; only for a numeric parameter."""

    def _encode(self, series: Any, nearest: bool) -> Codes:
        raise NotImplementedError

    def _words(self) -> str:
        return self.kind

    def words(self) -> str:
        """Return the parameter's possible values in words.

        >>> Integer("age", 17, 90).words()
        '17 to 90'
        """
        return self._words() + (", or missing" if self.missing else "")

    @property
    def levels(self) -> int:
        """The number of values of the parameter; "missing" counts as one if it is allowed."""
        return self._n_values() + self.missing

    @property
    def own(self) -> Parameter:
        """The parameter without values that `Domain.holding` added from rows."""
        return self

    @property
    def is_numeric(self) -> bool:
        """Return True if the parameter's values are numbers; truth values count as 0 and 1."""
        return True

    @property
    def affine(self) -> tuple[float, float] | None:
        """The pair (offset, scale) if value = offset + scale * code exactly, else None."""
        return None

    def encode(self, values: Any, *, nearest: bool = False) -> Codes:
        """Return the codes of values; -1 for a value that the parameter does not have.

        A number between two steps gets -1 too; with `nearest`, it gets the code of the nearer step.
        """
        import pandas as pd

        series = pd.Series(values)
        codes = self._encode(series, nearest)
        if self.missing:
            codes[series.isna().to_numpy()] = self.levels - 1
        return codes

    def typed(self, column: pd.Series) -> pd.Series:
        """Return a column of real rows in this parameter's dtype if that changes no value, or else unchanged."""
        import pandas as pd

        typed = in_dtype(column, self._pandas_dtype())
        if self.dtype == "category" and not isinstance(typed.dtype, pd.CategoricalDtype):
            unknown = column[(self.encode(column) < 0) & ~column.isin(list(self._categories())) & column.notna()]
            raise DataError(
                f"column {self.name!r} must hold the categories of its parameter, got {plain(unknown.iloc[0])!r} and "
                f"the like in {len(unknown):,} of {len(column):,} rows: add it to the domain's categories, or leave "
                "these rows out"
            )
        return typed

    def _pandas_dtype(self) -> Any:
        import pandas as pd

        if self.dtype != "category":
            return self.dtype
        return pd.CategoricalDtype(list(self._categories()), ordered=not self.wraps)

    def _categories(self) -> Sequence[Any]:
        """Return all categories of the column's pandas categorical dtype; empty for a number."""
        return ()

    def _hold_to(self, holds: bool, rule: str) -> None:
        hold_to(self.name, holds, rule)

    def _check_name(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise DomainError(f"a parameter's name must be a string that is not empty, got {self.name!r}")

    def _check(self, dtype: str) -> None:
        """Check the fields that all kinds of parameters share; an empty `dtype` becomes the default given."""
        self._check_name()
        self._check_levels()
        self._set(moves=checked_moves(self.name, self.moves))
        for move in self.moves if self.wraps and self.levels > 1 else ():
            changes = move % self.levels != 0
            self._hold_to(changes, f"a move must change the value, got {move} for {self.levels} levels")
        if self.dtype in ("", dtype):
            self._set(dtype=dtype)
        else:
            self._hold_to(self._dtype_fits(), f"dtype must hold all its values, got {self.dtype!r}")

    def _check_levels(self) -> None:
        n = self.levels
        self._hold_to(n <= MAX_LEVELS, f"at most {MAX_LEVELS:,} levels are allowed, got {n:,}: widen the step")

    def _dtype_fits(self) -> bool:
        """Return True if a column of the dtype holds the first, last and missing value unchanged."""
        import pandas as pd

        codes = np.unique([0, self._n_values() - 1, self.levels - 1])
        try:
            with warnings.catch_warnings(action="error"):
                column = pd.Series(self.decode(codes))
            return str(column.dtype) == self.dtype and self.encode(column).tolist() == codes.tolist()
        except (TypeError, ValueError, OverflowError, Warning):
            return False

    def _set(self, **fields: Any) -> None:
        for key, value in fields.items():
            object.__setattr__(self, key, value)


class _Number(Parameter):
    """A parameter whose values are numbers on a grid of equal steps."""

    low: Any
    high: Any
    step: Any

    @abstractmethod
    def _grid(self, codes: Codes) -> NDArray[Any]: ...

    def _blur(self) -> float:
        """Distance from the grid, in steps, within which a number counts as on it: the rounding error of its dtype."""
        precision = np.finfo("float32" if self.dtype.lower() == "float32" else "float64").eps
        return max(1e-6, 4 * float(precision) * max(abs(self.low), abs(self.high)) / self.step)

    def _check_bounds(self, kind: type[int] | type[float]) -> None:
        for what in ("low", "high", "step"):
            value = plain(getattr(self, what))
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            self._hold_to(is_number, f"{what} must be a number, got {value!r}")
            self._hold_to(isinstance(value, int) or math.isfinite(value), f"{what} must be finite, got {value!r}")
            if kind is int:
                self._hold_to(abs(value) <= 2**53, f"{what} must lie within 2^53, got {value!r}")
                self._hold_to(value == int(value), f"{what} must be a whole number, got {value!r}: use Real")
            self._set(**{what: kind(value)})
        self._hold_to(self.step > 0, f"step must be above 0, got {self.step!r}")
        self._hold_to(self.low <= self.high, f"low must be at most high, got low={self.low!r}, high={self.high!r}")

    def _words(self) -> str:
        return f"{self.low} to {self.high}" + (f" by {self.step:g}" if self.step != 1 else "")

    def decode(self, codes: Codes) -> Any:
        if not self.missing:
            return self._typed(self._grid(codes))
        absent = codes == self.levels - 1
        if not self._is_nullable:
            return self._typed(np.where(absent, np.nan, self._grid(codes)))
        values = self._typed(self._grid(np.where(absent, 0, codes)))
        values[absent] = None
        return values

    @property
    def _is_nullable(self) -> bool:
        return self.dtype[:1].isupper()  # pandas writes Int64 for the nullable int64

    def _typed(self, numbers: NDArray[Any]) -> Any:
        import pandas as pd

        return pd.array(numbers, dtype=self.dtype) if self._is_nullable else numbers.astype(self.dtype, copy=False)

    def numbers(self, codes: Codes) -> Floats:
        numbers = self._grid(codes).astype(np.float64)
        if self.missing:
            numbers[codes == self.levels - 1] = np.nan
        return numbers

    def _encode(self, series: Any, nearest: bool) -> Codes:
        numbers = as_floats(series)
        steps = (np.where(np.isfinite(numbers), numbers, self.low - self.step) - self.low) / self.step
        codes = np.rint(steps)
        inside = (
            (np.abs(codes - steps) <= (0.5 if nearest else self._blur())) & (codes >= 0) & (codes < self._n_values())
        )
        return np.where(inside, codes, -1).astype(np.int64)


@dataclass(frozen=True)
class Integer(_Number):
    """Whole numbers low, low + step, ... up to high.

    Args:
        name: the column.
        low: the smallest value.
        high: the upper bound of the values.
        step: difference between neighbouring values.
        missing: True if a value may be missing.
        moves: numbers of levels by which a search moves, up (positive) and down (negative).
        dtype: dtype of the column that the model gets; by default one that fits the values.

    >>> Integer("age", 17, 90).levels
    74
    """

    low: int
    high: int
    step: int = 1

    kind: ClassVar[str] = "integer"

    def __post_init__(self) -> None:
        self._check_bounds(int)
        self._check("float64" if self.missing else "int64")

    def _n_values(self) -> int:
        return (self.high - self.low) // self.step + 1

    @property
    def affine(self) -> tuple[float, float] | None:
        """Return (low, step), or None if the parameter may be missing: the missing level is not on the line."""
        return None if self.missing else (float(self.low), float(self.step))

    def _grid(self, codes: Codes) -> NDArray[Any]:
        return self.low + self.step * codes


@dataclass(frozen=True)
class Real(_Number):
    """Numbers on the grid low, low + step, ... up to high.

    Args:
        name: the column.
        low: the smallest value.
        high: the upper bound of the values.
        step: difference between neighbouring values.
        missing: True if a value may be missing.
        moves: numbers of levels by which a search moves, up (positive) and down (negative).
        dtype: dtype of the column that the model gets; by default one that fits the values.

    >>> Real("rate", 0, 1, 0.25).decode(np.arange(5)).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """

    low: float
    high: float
    step: float

    kind: ClassVar[str] = "real"

    def __post_init__(self) -> None:
        self._check_bounds(float)
        self._check_levels()
        self._hold_to(
            self._blur() <= MOST_BLUR,
            "step must be large enough to tell two numbers of that size apart, "
            f"got step={self.step!r} for {self.low!r} to {self.high!r}",
        )
        self._check("float64")

    def _n_values(self) -> int:
        return int(min((self.high - self.low) / self.step + min(self._blur(), MOST_BLUR), 1e15)) + 1

    @cached_property
    def _decimals(self) -> int:
        """Number of decimals to which grid values are rounded.

        They are few enough to give 0.3 for 3 * 0.1, and enough to separate two steps.
        """
        largest = max(self.step, abs(self.low), abs(self.high))
        return max(0, 14 - math.floor(math.log10(largest)), 1 + math.ceil(-math.log10(self.step)))

    def _blur(self) -> float:
        return max(super()._blur(), 0.51 * 10.0**-self._decimals / self.step)

    def _grid(self, codes: Codes) -> NDArray[Any]:
        return np.round(self.low + self.step * codes, self._decimals)


class Listed(WithoutTables, Parameter):
    """A parameter with listed values; a value's code is its place in the list."""

    @property
    @abstractmethod
    def by_code(self) -> Sequence[Any]:
        """The values of the parameter by code; the value at a code is None if that code means "missing"."""

    @abstractmethod
    def _categories(self) -> Sequence[Any]: ...

    def _n_values(self) -> int:
        return len(self.by_code) - self.missing

    @property
    def is_numeric(self) -> bool:
        """Return True if all categories are numbers, including categories that are not among the parameter's values."""
        return all(isinstance(value, (bool, int, float)) for value in self._categories())

    @cached_property
    def _table(self) -> Any:
        """The parameter's values by code, as an array in the parameter's dtype."""
        import pandas as pd

        values = list(self.by_code)
        if self.dtype == "category":
            categories = list(self._categories())
            places = [-1 if value is None else categories.index(value) for value in values]
            return pd.Categorical.from_codes(places, categories=categories, ordered=not self.wraps)
        strings_are_objects = isinstance(pd.api.types.pandas_dtype("str"), np.dtype)  # pandas 2
        if self.dtype == "object" or (self.dtype == "str" and strings_are_objects):
            absent = (
                math.nan if strings_are_objects else None
            )  # as pandas reads it; to an encoder None is another value
            table = np.empty(len(values), dtype=object)
            table[:] = [absent if value is None else value for value in values]
            return table
        is_plain = self.dtype in ("bool", "int64", "float64")
        return np.array(values, dtype=self.dtype) if is_plain else pd.array(values, dtype=self.dtype)

    def decode(self, codes: Codes) -> Any:
        """Return the values of a batch of codes, in this parameter's dtype."""
        import pandas as pd

        values = self._table.take(codes)
        return pd.Series(values, dtype=object) if self.dtype == "object" else values  # else pandas would guess a dtype

    @cached_property
    def _number_table(self) -> Floats:
        return np.array([math.nan if value is None else float(value) for value in self.by_code])

    def numbers(self, codes: Codes) -> Floats:
        """Return the values of a batch of codes as floats, missing ones as NaN."""
        return self._number_table[codes]


@dataclass(frozen=True)
class _Named(Listed):
    """A parameter whose values are the list given by the user, in the order of their codes."""

    values: Sequence[Any]
    categories: Sequence[Any] = field(default=(), kw_only=True)
    """All categories of the column's pandas categorical dtype, if `values` has only some of them."""

    def __post_init__(self) -> None:
        self._set(values=checked_values(self.name, self.values))
        if self.categories:
            self._set(categories=tuple(plain(category) for category in self.categories))
        for value in self.values if self.categories else ():
            self._hold_to(value in self.categories, f"values must be among its categories, got {value!r}")
        self._check(natural_dtype(self.values, self.missing))

    @property
    def by_code(self) -> Sequence[Any]:
        return (*self.values, None) if self.missing else self.values

    def _categories(self) -> Sequence[Any]:
        return self.categories or self.values

    def _words(self) -> str:
        return ", ".join(map(str, self.values))

    def _encode(self, series: Any, nearest: bool) -> Codes:
        import pandas as pd

        codes: Codes = pd.Index(list(self.values), dtype=object).get_indexer(series.astype(object)).astype(np.int64)
        return codes


@dataclass(frozen=True)
class Category(_Named):
    """A parameter with listed values that have no order; a move past the last value goes on from the first.

    Args:
        name: the column.
        values: all values of the column.
        missing: True if a value may be missing.
        moves: numbers of levels by which a search moves, up (positive) and down (negative).
        dtype: dtype of the column that the model gets; by default one that fits the values.
        categories: all categories of a pandas categorical, where the values are only some of them.

    >>> Category("sex", ["Female", "Male"]).levels
    2
    """

    kind: ClassVar[str] = "category"
    wraps: ClassVar[bool] = True


@dataclass(frozen=True)
class Ordinal(_Named):
    """A parameter with listed values, whose order in the list has a meaning.

    Args:
        name: the column.
        values: all values of the column.
        missing: True if a value may be missing.
        moves: numbers of levels by which a search moves, up (positive) and down (negative).
        dtype: dtype of the column that the model gets; by default one that fits the values.
        categories: all categories of a pandas categorical, where the values are only some of them.

    >>> list(Ordinal("size", ["S", "M", "L"]).decode(np.array([2, 0])))
    ['L', 'S']
    """

    kind: ClassVar[str] = "ordinal"


KINDS: dict[str, type[Integer | Real | Category | Ordinal]] = {
    kind.kind: kind for kind in (Integer, Real, Category, Ordinal)
}
