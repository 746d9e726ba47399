"""The base of all kinds of parameters: codes, levels, dtypes.

A value is held as its *code*, the integer 0, 1, ... of its level. With `missing=True` one more level, the last, is "no
value".
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fairprobe.arrays import Codes, Floats
from fairprobe.domain.values import checked_moves, hold_to, in_dtype, plain
from fairprobe.errors import DataError, DomainError

if TYPE_CHECKING:
    import pandas as pd


MAX_LEVELS = 10**12


@dataclass(frozen=True)
class Parameter(ABC):
    """The base class of Integer, Real, Category and Ordinal."""

    name: str
    missing: bool = field(default=False, kw_only=True)
    moves: Sequence[int] = field(default=(-1, 1), kw_only=True)
    dtype: str = field(default="", kw_only=True)

    kind: ClassVar[str]
    wraps: ClassVar[bool] = False
    """Whether a move past the last level continues at the first."""

    @abstractmethod
    def _n_values(self) -> int: ...

    @abstractmethod
    def decode(self, codes: Codes) -> Any:
        """The values of a batch of codes, as an array of this parameter's dtype."""

    @abstractmethod
    def numbers(self, codes: Codes) -> Floats:
        """The values as floats, missing ones as NaN; only for a numeric parameter."""

    def _encode(self, series: Any, nearest: bool) -> Codes:
        raise NotImplementedError

    @property
    def levels(self) -> int:
        """The number of values, including the missing one."""
        return self._n_values() + self.missing

    @property
    def own(self) -> Parameter:
        """The parameter without values that were added from rows."""
        return self

    @property
    def is_numeric(self) -> bool:
        """Whether its values are numbers (truth values count as 0 and 1)."""
        return True

    @property
    def affine(self) -> tuple[float, float] | None:
        """(offset, scale) if value = offset + scale * code exactly, else None."""
        return None

    def encode(self, values: Any, *, nearest: bool = False) -> Codes:
        """The codes of values; -1 for a value outside. A number between two steps is outside, unless `nearest`."""
        import pandas as pd

        series = pd.Series(values)
        codes = self._encode(series, nearest)
        if self.missing:
            codes[series.isna().to_numpy()] = self.levels - 1
        return codes

    def typed(self, column: pd.Series) -> pd.Series:
        """A column of real rows in this parameter's dtype if that changes no value, or else as it is."""
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
        """All categories, where the dtype is that of a pandas categorical."""
        return ()

    def _hold_to(self, holds: bool, rule: str) -> None:
        hold_to(self.name, holds, rule)

    def _check_name(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise DomainError(f"a parameter's name must be a string that is not empty, got {self.name!r}")

    def _check(self, dtype: str) -> None:
        """Check the fields that all kinds share and set the default `dtype`."""
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
        """Whether the dtype can hold the values."""
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
