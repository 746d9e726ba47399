"""Derived parameters: another parameter decides their value, so they are neither sampled nor moved."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from fairprobe.arrays import Codes, Floats
from fairprobe.domain.parameter import Parameter
from fairprobe.domain.values import check_value, checked_moves, natural_dtype, plain_or_none
from fairprobe.errors import DomainError


@dataclass(frozen=True)
class Derived(Parameter):
    """A function of another parameter, as `education-num` is of `education`.

    Its code is its source's. In real rows its values stay as they are, unless what its source is changes.

    Args:
        name: the column.
        source: the parameter that it follows from.
        mapping: the value for each of the source's; for None, where that is missing (missing too, by default).

    >>> years = Derived("education-num", "education", {"HS-grad": 9, "Bachelors": 13})
    >>> years.of(["Bachelors", "HS-grad", None])
    [13, 9, None]
    """

    source: str
    mapping: Mapping[Any, Any]
    """The value for each value of the source; for None, where that is missing (missing too, by default)."""
    by_code: Sequence[Any] = field(default=(), kw_only=True, repr=False, compare=False)
    """The value for each code of the source, once the domain has both."""

    kind: ClassVar[str] = "derived"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise DomainError(f"a parameter's name must be a string that is not empty, got {self.name!r}")
        if not isinstance(self.source, str) or self.source == self.name:
            raise DomainError(f"parameter {self.name!r}: source must name another parameter, got {self.source!r}")
        if not isinstance(self.mapping, Mapping) or not self.mapping:
            raise DomainError(f"parameter {self.name!r}: mapping must have a value for each of {self.source!r}'s")
        if checked_moves(self.name, self.moves) != (-1, 1):
            raise DomainError(f"parameter {self.name!r} is derived, so it is not moved; got moves={self.moves!r}")
        known = {plain_or_none(key): plain_or_none(value) for key, value in self.mapping.items()}
        self._set(mapping={key: value for key, value in known.items() if (key, value) != (None, None)})
        for value in [*self.mapping, *self.mapping.values()]:
            if value is not None:
                check_value(self.name, value)

    def bound(self, source: Parameter) -> Derived:
        """The parameter with its value for every code of the source."""
        values = [*map(plain_or_none, np.asarray(source.decode(np.arange(source.levels)), dtype=object))]
        absent = [value for value in values if value is not None and value not in self.mapping]
        if absent:
            raise DomainError(
                f"parameter {self.name!r}: mapping must have a value for each of {self.source!r}'s, got none for "
                f"{', '.join(map(repr, absent[:5]))}{' and others' if len(absent) > 5 else ''}"
            )
        by_code = tuple(self.of(values))
        missing = any(value is None for value in by_code)
        dtype = self.dtype or natural_dtype([value for value in by_code if value is not None], missing)
        return replace(self, by_code=by_code, dtype=dtype, missing=missing)

    def of(self, values: Sequence[Any]) -> list[Any]:
        """The values that follow from values of the source; None for a value that the mapping lacks."""
        return [self.mapping.get(plain_or_none(value)) for value in values]

    @cached_property
    def value_ids(self) -> Codes:
        """A number for each code of the source; codes with equal numbers have the same derived value."""
        ids = {value: number for number, value in enumerate(dict.fromkeys(self.by_code))}
        return np.array([ids[value] for value in self.by_code], dtype=np.int64)

    def _n_values(self) -> int:
        return len(self.by_code) - self.missing

    @property
    def is_numeric(self) -> bool:
        """Whether its values are numbers (truth values count as 0 and 1)."""
        return all(isinstance(value, (bool, int, float)) for value in self.by_code if value is not None)

    def decode(self, codes: Codes) -> Any:
        """The values of a batch of the source's codes."""
        import pandas as pd

        values = np.array(self.by_code, dtype=object)[codes]
        if self.dtype in ("object", "category"):
            return (
                pd.Series(values, dtype=object)
                if self.dtype == "object"
                else pd.Categorical(values, self._categories())
            )
        return pd.array(values, dtype=self.dtype) if self.dtype[:1].isupper() else pd.Series(values).astype(self.dtype)

    def _categories(self) -> Sequence[Any]:
        return list(dict.fromkeys(value for value in self.by_code if value is not None))

    def numbers(self, codes: Codes) -> Floats:
        """The values as floats, missing ones as NaN."""
        return np.array([math.nan if value is None else value for value in self.by_code], dtype=np.float64)[codes]

    @cached_property
    def _first_codes(self) -> dict[Any, int]:
        return {value: code for code, value in reversed([*enumerate(self.by_code)])}

    def encode(self, values: Any, *, nearest: bool = False) -> Codes:
        """The first code of the source that each value follows from; -1 for a value that follows from none."""
        return self._encode(values, nearest)

    def _encode(self, series: Any, nearest: bool) -> Codes:
        codes = [self._first_codes.get(plain_or_none(value), -1) for value in series]
        return np.array(codes, dtype=np.int64)

    def __hash__(self) -> int:
        return hash((self.name, self.source, frozenset(self.mapping.items())))
