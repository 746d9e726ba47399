"""The kinds of parameters: what values one column may take.

A value is held as its *code*, the integer 0, 1, ... of its level. `Integer` and `Real` count levels by steps from
`low`; `Category` and `Ordinal` number their values. With `missing=True` one more level, the last, is "no value".
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairprobe.domain.rules import checked_moves, checked_values, natural_dtype, plain
from fairprobe.errors import DomainError

Codes = NDArray[np.int64]

MAX_LEVELS = 10**12

MOST_BLUR = 0.25
"""In steps: above that, rounding could take a number of a grid for its neighbour."""


@dataclass(frozen=True)
class Parameter(ABC):
    """What the four kinds share; use one of them."""

    name: str
    missing: bool = field(default=False, kw_only=True)
    moves: Sequence[int] = field(default=(-1, 1), kw_only=True)
    dtype: str = field(default="", kw_only=True)

    kind: ClassVar[str]
    wraps: ClassVar[bool] = False
    """Whether a move past the last level goes on from the first."""

    @abstractmethod
    def _n_values(self) -> int: ...

    @abstractmethod
    def decode(self, codes: Codes) -> Any:
        """The values of a batch of codes, as an array of this parameter's dtype."""

    @abstractmethod
    def numbers(self, codes: Codes) -> NDArray[np.float64]:
        """The values as floats, missing ones as NaN; only for a numeric parameter."""

    @abstractmethod
    def _encode(self, series: Any, nearest: bool) -> Codes: ...

    @property
    def levels(self) -> int:
        """How many values it may take, a missing one included."""
        return self._n_values() + self.missing

    @property
    def is_numeric(self) -> bool:
        """Whether its values are numbers (truth values count as 0 and 1)."""
        return True

    @property
    def affine(self) -> tuple[float, float] | None:
        """(offset, scale) if value = offset + scale * code exactly, else None."""
        return None

    def encode(self, values: Any, *, nearest: bool = False) -> Codes:
        """The codes of values; -1 where one is outside, or between two steps unless the `nearest` is meant."""
        import pandas as pd

        series = pd.Series(values)
        codes = self._encode(series, nearest)
        if self.missing:
            codes[series.isna().to_numpy()] = self.levels - 1
        return codes

    def _check(self, dtype: str) -> None:
        """Check what all kinds share; `dtype` is the one by default."""
        if not isinstance(self.name, str) or not self.name:
            raise DomainError(f"a parameter's name must be a string that is not empty, got {self.name!r}")
        self._check_levels()
        self._set(moves=checked_moves(self.name, self.moves))
        idle = [move for move in self.moves if self.wraps and self.levels > 1 and move % self.levels == 0]
        if idle:
            raise DomainError(
                f"parameter {self.name!r}: a move must change the value, got {idle[0]} for {self.levels} levels"
            )

        if self.dtype in ("", dtype):
            self._set(dtype=dtype)
        else:
            self._check_dtype()

    def _check_levels(self) -> None:
        if self.levels > MAX_LEVELS:
            raise DomainError(
                f"parameter {self.name!r} must have at most {MAX_LEVELS:,} levels, got {self.levels:,}: widen the step"
            )

    def _check_dtype(self) -> None:
        """A dtype that was given must be able to hold the values."""
        import pandas as pd

        codes = np.unique([0, self._n_values() - 1, self.levels - 1])
        try:
            with warnings.catch_warnings(action="error"):
                column = pd.Series(self.decode(codes))
            fits = str(column.dtype) == self.dtype and self.encode(column).tolist() == codes.tolist()
        except (TypeError, ValueError, OverflowError, Warning):
            fits = False
        if not fits:
            raise DomainError(f"parameter {self.name!r}: dtype must hold all its values, got {self.dtype!r}")

    def _set(self, **fields: Any) -> None:
        for key, value in fields.items():
            object.__setattr__(self, key, value)


class _Number(Parameter):
    """A number on a grid of steps."""

    low: Any
    high: Any
    step: Any

    @abstractmethod
    def _grid(self, codes: Codes) -> NDArray[Any]: ...

    def _blur(self) -> float:
        """How far from the grid a number may be, in steps, and still be meant: the rounding of its dtype."""
        precision = np.finfo("float32" if self.dtype.lower() == "float32" else "float64").eps
        return max(1e-6, 4 * float(precision) * max(abs(self.low), abs(self.high)) / self.step)

    def _check_bounds(self) -> None:
        for what in ("low", "high", "step"):
            value = plain(getattr(self, what))
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise DomainError(f"parameter {self.name!r}: {what} must be a number, got {value!r}")
            if isinstance(value, float) and not math.isfinite(value):
                raise DomainError(f"parameter {self.name!r}: {what} must be finite, got {value!r}")
            if abs(value) > 2**53 and self.kind == "integer":
                raise DomainError(f"parameter {self.name!r}: {what} must lie within 2^53, got {value!r}")
            self._set(**{what: value})
        if self.step <= 0:
            raise DomainError(f"parameter {self.name!r}: step must be above 0, got {self.step!r}")
        if self.low > self.high:
            raise DomainError(
                f"parameter {self.name!r}: low must be at most high, got low={self.low!r}, high={self.high!r}"
            )

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

    def numbers(self, codes: Codes) -> NDArray[np.float64]:
        numbers = self._grid(codes).astype(np.float64)
        if self.missing:
            numbers[codes == self.levels - 1] = np.nan
        return numbers

    def _encode(self, series: Any, nearest: bool) -> Codes:
        import pandas as pd

        numbers = pd.to_numeric(series, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        steps = (np.where(np.isfinite(numbers), numbers, self.low - self.step) - self.low) / self.step
        codes = np.rint(steps)
        inside = (
            (np.abs(codes - steps) <= (0.5 if nearest else self._blur())) & (codes >= 0) & (codes < self._n_values())
        )
        return np.where(inside, codes, -1).astype(np.int64)


@dataclass(frozen=True)
class Integer(_Number):
    """Whole numbers low, low + step, ... up to high.

    >>> Integer("age", 17, 90).levels
    74
    """

    low: int
    high: int
    step: int = 1

    kind: ClassVar[str] = "integer"

    def __post_init__(self) -> None:
        self._check_bounds()
        for what in ("low", "high", "step"):
            value = getattr(self, what)
            if value != int(value):
                raise DomainError(f"parameter {self.name!r}: {what} must be a whole number, got {value!r}: use Real")
            self._set(**{what: int(value)})
        self._check("float64" if self.missing else "int64")

    def _n_values(self) -> int:
        return (self.high - self.low) // self.step + 1

    @property
    def affine(self) -> tuple[float, float] | None:
        """(low, step), unless a missing value breaks the line."""
        return None if self.missing else (float(self.low), float(self.step))

    def _grid(self, codes: Codes) -> NDArray[Any]:
        return self.low + self.step * codes


@dataclass(frozen=True)
class Real(_Number):
    """Numbers on the grid low, low + step, ... up to high.

    >>> Real("rate", 0, 1, 0.25).decode(np.arange(5)).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """

    low: float
    high: float
    step: float

    kind: ClassVar[str] = "real"

    def __post_init__(self) -> None:
        self._check_bounds()
        for what in ("low", "high", "step"):
            self._set(**{what: float(getattr(self, what))})
        self._check_levels()
        if self._blur() > MOST_BLUR:
            raise DomainError(
                f"parameter {self.name!r}: step must be large enough to tell two numbers of that size apart, "
                f"got step={self.step!r} for {self.low!r} to {self.high!r}"
            )
        self._check("float64")

    def _n_values(self) -> int:
        return int(min((self.high - self.low) / self.step + min(self._blur(), MOST_BLUR), 1e15)) + 1

    @cached_property
    def _decimals(self) -> int:
        """Few enough to read 0.3 where 3 * 0.1 gives 0.30000000000000004, enough to tell two steps apart."""
        largest = max(self.step, abs(self.low), abs(self.high))
        return max(0, 14 - math.floor(math.log10(largest)), 1 + math.ceil(-math.log10(self.step)))

    def _blur(self) -> float:
        return max(super()._blur(), 0.51 * 10.0**-self._decimals / self.step)

    def _grid(self, codes: Codes) -> NDArray[Any]:
        return np.round(self.low + self.step * codes, self._decimals)


@dataclass(frozen=True)
class _Listed(Parameter):
    """One of the values listed."""

    values: Sequence[Any]
    categories: Sequence[Any] = field(default=(), kw_only=True)
    """All categories of a pandas categorical, where the values are only some of them."""

    def __post_init__(self) -> None:
        self._set(values=checked_values(self.name, self.values))
        if self.categories:
            self._set(categories=tuple(plain(category) for category in self.categories))
        absent = [value for value in self.values if self.categories and value not in self.categories]
        if absent:
            raise DomainError(f"parameter {self.name!r}: values must be among its categories, got {absent[0]!r}")
        self._check(natural_dtype(self.values, self.missing))

    def _n_values(self) -> int:
        return len(self.values)

    @property
    def is_numeric(self) -> bool:
        return all(isinstance(value, (bool, int, float)) for value in self.values)

    @cached_property
    def _table(self) -> Any:
        """All values by code, ready to be taken from."""
        import pandas as pd

        values = [*self.values, None] if self.missing else list(self.values)
        strings_are_objects = self.dtype == "str" and isinstance(pd.api.types.pandas_dtype("str"), np.dtype)  # pandas 2
        if self.dtype == "object" or strings_are_objects:
            return np.array(values, dtype=object)
        return pd.array(values, dtype=self.dtype) if self._is_extension else np.array(values, dtype=self.dtype)

    @property
    def _is_extension(self) -> bool:
        return self.dtype not in ("bool", "int64", "float64")

    def decode(self, codes: Codes) -> Any:
        import pandas as pd

        if self.dtype == "category":
            categories = self.categories or self.values
            places = np.array([*map(categories.index, self.values), -1])
            return pd.Categorical.from_codes(places[codes], categories=list(categories), ordered=not self.wraps)
        values = self._table.take(codes)
        return pd.Series(values, dtype=object) if self.dtype == "object" else values  # else pandas would guess a dtype

    @cached_property
    def _number_table(self) -> NDArray[np.float64]:
        values = [float(value) for value in self.values]
        return np.array([*values, math.nan] if self.missing else values)

    def numbers(self, codes: Codes) -> NDArray[np.float64]:
        return self._number_table[codes]

    def _encode(self, series: Any, nearest: bool) -> Codes:
        import pandas as pd

        codes: Codes = pd.Index(list(self.values), dtype=object).get_indexer(series.astype(object)).astype(np.int64)
        return codes

    def __getstate__(self) -> dict[str, Any]:
        """Without the tables, which are made again where they are needed."""
        return {key: value for key, value in self.__dict__.items() if not key.endswith("_table")}


@dataclass(frozen=True)
class Category(_Listed):
    """One of the values, in no order; a move past the last goes on from the first.

    >>> Category("sex", ["Female", "Male"]).levels
    2
    """

    kind: ClassVar[str] = "category"
    wraps: ClassVar[bool] = True


@dataclass(frozen=True)
class Ordinal(_Listed):
    """One of the values, in their order.

    >>> list(Ordinal("size", ["S", "M", "L"]).decode(np.array([2, 0])))
    ['L', 'S']
    """

    kind: ClassVar[str] = "ordinal"


KINDS: dict[str, type[Integer | Real | Category | Ordinal]] = {
    kind.kind: kind for kind in (Integer, Real, Category, Ordinal)
}
