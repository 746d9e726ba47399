"""Columns of real rows as codes, including values that are not the parameter's: off the grid, or not listed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fairprobe.arrays import Codes, Floats
from fairprobe.domain.discretize import as_floats
from fairprobe.domain.parameter import Parameter
from fairprobe.domain.values import in_dtype, plain_or_none


@dataclass(frozen=True)
class Extended(Parameter):
    """A parameter with extra values, whose codes follow its own. No search draws them or moves to them."""

    base: Parameter
    extras: tuple[Any, ...]

    kind: ClassVar[str] = "extended"

    @property
    def own(self) -> Parameter:
        """The parameter without its extra values."""
        return self.base

    @property
    def levels(self) -> int:
        """The number of its own values and of the extra ones."""
        return self.base.levels + len(self.extras)

    def _n_values(self) -> int:
        return self.levels - self.missing

    @property
    def is_numeric(self) -> bool:
        """Whether all values are numbers."""
        return self.base.is_numeric and all(value is None or isinstance(value, (int, float)) for value in self.extras)

    def decode(self, codes: Codes) -> Any:
        """The values of a batch of codes, in the parameter's dtype where that can hold them."""
        import pandas as pd

        more = codes >= self.base.levels
        own = self.base.decode(np.where(more, 0, codes))
        if not more.any():
            return own
        values = pd.Series(own).astype(object)
        values.iloc[np.flatnonzero(more)] = [self.extras[code - self.base.levels] for code in codes[more].tolist()]
        if self.base.is_numeric:
            return in_dtype(pd.to_numeric(values), self.dtype)
        return in_dtype(values, pd.Series(own).dtype)

    @cached_property
    def _numbers(self) -> Floats:
        import pandas as pd

        return as_floats(pd.Series(self.extras, dtype=object))

    def numbers(self, codes: Codes) -> Floats:
        """The values as floats, missing ones as NaN."""
        more = codes >= self.base.levels
        numbers = self.base.numbers(np.where(more, 0, codes))
        numbers[more] = self._numbers[codes[more] - self.base.levels]
        return numbers

    def encode(self, values: Any, *, nearest: bool = False) -> Codes:
        """The codes of values, own or extra. With `nearest`, a number that is neither gets the nearest step."""
        import pandas as pd

        codes = self.base.encode(values)
        places = {value: self.base.levels + place for place, value in enumerate(self.extras)}
        outside = np.flatnonzero(codes < 0)
        found = pd.Series(values).astype(object).iloc[outside]
        codes[outside] = [places.get(plain_or_none(value), -1) for value in found]
        return np.where(codes < 0, self.base.encode(values, nearest=True), codes) if nearest else codes

    def _encode(self, series: Any, nearest: bool) -> Codes:
        return self.encode(series, nearest=nearest)

    def _categories(self) -> Sequence[Any]:
        return [*self.base._categories(), *self.extras] if self.dtype == "category" else ()


class Held(NamedTuple):
    """A column of real rows as codes, and the parameter that has all of the column's values."""

    parameter: Parameter
    codes: Codes

    @classmethod
    def of(cls, parameter: Parameter, column: Any) -> Held:
        """The codes of a column. Values that are not the parameter's get codes behind its own."""
        import pandas as pd

        base, extras = (parameter.base, parameter.extras) if isinstance(parameter, Extended) else (parameter, ())
        codes = parameter.encode(column)
        outside = np.flatnonzero(codes < 0)
        if not len(outside):
            return cls(parameter, codes)
        places = {value: place for place, value in enumerate(extras)}
        for row, value in zip(outside, pd.Series(column).astype(object).iloc[outside], strict=True):
            codes[row] = base.levels + places.setdefault(plain_or_none(value), len(places))
        made = Extended(base.name, base, tuple(places), missing=base.missing, moves=base.moves, dtype=base.dtype)
        return cls(made, codes)

    @property
    def extras(self) -> tuple[Any, ...]:
        """The values that are not the parameter's own, in the order of their codes."""
        return self.parameter.extras if isinstance(self.parameter, Extended) else ()

    def also(self, values: Any) -> Held:
        """The codes of this column, then those of more values."""
        more = Held.of(self.parameter, values)
        return Held(more.parameter, np.concatenate([self.codes, more.codes]))
