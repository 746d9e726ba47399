"""Parameters with listed values; a code is a value's place in the list."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from fairprobe.arrays import Codes, Floats
from fairprobe.domain.parameter import Parameter
from fairprobe.domain.values import checked_values, natural_dtype, plain
from fairprobe.errors import DomainError


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
        # By all categories: rows may hold a value that is not listed to be compared.
        return all(isinstance(value, (bool, int, float)) for value in self._categories())

    @cached_property
    def _table(self) -> Any:
        """The values by code, as an array in the parameter's dtype."""
        import pandas as pd

        values = [*self.values, None] if self.missing else list(self.values)
        strings_are_objects = isinstance(pd.api.types.pandas_dtype("str"), np.dtype)  # pandas 2
        if self.dtype == "object" or (self.dtype == "str" and strings_are_objects):
            if self.missing and strings_are_objects:
                values[-1] = math.nan  # as pandas 2 reads it; to an encoder None is another value
            return np.array(values, dtype=object)
        return pd.array(values, dtype=self.dtype) if self._is_extension else np.array(values, dtype=self.dtype)

    @property
    def _is_extension(self) -> bool:
        return self.dtype not in ("bool", "int64", "float64")

    def _categories(self) -> Sequence[Any]:
        return self.categories or self.values

    def decode(self, codes: Codes) -> Any:
        import pandas as pd

        if self.dtype == "category":
            categories = self._categories()
            places = np.array([*map(categories.index, self.values), -1])
            return pd.Categorical.from_codes(places[codes], categories=list(categories), ordered=not self.wraps)
        values = self._table.take(codes)
        return pd.Series(values, dtype=object) if self.dtype == "object" else values  # else pandas would guess a dtype

    @cached_property
    def _number_table(self) -> Floats:
        values = [float(value) for value in self.values]
        return np.array([*values, math.nan] if self.missing else values)

    def numbers(self, codes: Codes) -> Floats:
        return self._number_table[codes]

    def _encode(self, series: Any, nearest: bool) -> Codes:
        import pandas as pd

        codes: Codes = pd.Index(list(self.values), dtype=object).get_indexer(series.astype(object)).astype(np.int64)
        return codes

    def __getstate__(self) -> dict[str, Any]:
        """The fields without the tables, which are computed again where they are needed."""
        return {key: value for key, value in self.__dict__.items() if not key.endswith("_table")}


@dataclass(frozen=True)
class Category(_Listed):
    """One of the values, in no order; a move past the last goes on from the first.

    Args:
        name: the column.
        values: all that it may be.
        missing: whether a value may be missing.
        moves: the steps of a search, up and down.
        dtype: of the column that the model is given; by default what fits the values.
        categories: all categories of a pandas categorical, where the values are only some of them.

    >>> Category("sex", ["Female", "Male"]).levels
    2
    """

    kind: ClassVar[str] = "category"
    wraps: ClassVar[bool] = True


@dataclass(frozen=True)
class Ordinal(_Listed):
    """One of the values, in their order.

    Args:
        name: the column.
        values: all that it may be.
        missing: whether a value may be missing.
        moves: the steps of a search, up and down.
        dtype: of the column that the model is given; by default what fits the values.
        categories: all categories of a pandas categorical, where the values are only some of them.

    >>> list(Ordinal("size", ["S", "M", "L"]).decode(np.array([2, 0])))
    ['L', 'S']
    """

    kind: ClassVar[str] = "ordinal"
