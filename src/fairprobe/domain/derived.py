"""The parameters of a domain together: derived ones, sensitive ones with fewer values, and ones with values of rows.

The source of a derived parameter decides its value, so a derived parameter is neither sampled nor moved. Real rows may
hold values off a parameter's grid or outside its list. Such values get codes after the parameter's own codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fairprobe.arrays import Codes, Floats
from fairprobe.checks import nearest, repeated
from fairprobe.domain.parameters import Category, Listed, Ordinal, Parameter
from fairprobe.domain.values import (
    as_floats,
    check_value,
    checked_moves,
    in_dtype,
    is_missing,
    natural_dtype,
    plain_or_none,
)
from fairprobe.errors import DomainError


@dataclass(frozen=True)
class Derived(Listed):
    """A parameter whose value another parameter, its source, decides, as `education` decides `education-num`.

    Its code is the code of its source. A real row keeps its own value of the column unless the source changes.

    Args:
        name: the column.
        source: the parameter whose value decides this one's.
        mapping: the value for each value of the source; for None, where the source is missing (missing too, by
            default).

    >>> years = Derived("education-num", "education", {"HS-grad": 9, "Bachelors": 13})
    >>> years.of(["Bachelors", "HS-grad", None])
    [13, 9, None]
    """

    source: str
    mapping: Mapping[Any, Any]
    """The value for each value of the source; for None, where the source is missing (missing too, by default)."""
    by_code: Sequence[Any] = field(default=(), kw_only=True, repr=False, compare=False)
    """The value for each code of the source; filled in when a domain binds the two."""

    kind: ClassVar[str] = "derived"
    wraps: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._check_name()
        is_other = isinstance(self.source, str) and self.source != self.name
        self._hold_to(is_other, f"source must name another parameter, got {self.source!r}")
        is_mapping = isinstance(self.mapping, Mapping) and bool(self.mapping)
        self._hold_to(is_mapping, f"mapping must have a value for each of {self.source!r}'s")
        is_still = checked_moves(self.name, self.moves) == (-1, 1)
        self._hold_to(is_still, f"it is derived, so it is not moved; got moves={self.moves!r}")
        known = {plain_or_none(key): plain_or_none(value) for key, value in self.mapping.items()}
        self._set(mapping={key: value for key, value in known.items() if (key, value) != (None, None)})
        for value in [*self.mapping, *self.mapping.values()]:
            if value is not None:
                check_value(self.name, value)

    def bound(self, source: Parameter) -> Derived:
        """Return the parameter with `by_code` filled in: its value for every code of the given source."""
        values = [*map(plain_or_none, np.asarray(source.decode(np.arange(source.levels)), dtype=object))]
        absent = [repr(value) for value in values if value is not None and value not in self.mapping]
        shown = ", ".join(absent[:5]) + (" and others" if len(absent) > 5 else "")
        self._hold_to(not absent, f"mapping must have a value for each of {self.source!r}'s, got none for {shown}")
        by_code = tuple(self.of(values))
        missing = any(value is None for value in by_code)
        dtype = self.dtype or natural_dtype([value for value in by_code if value is not None], missing)
        return replace(self, by_code=by_code, dtype=dtype, missing=missing)

    def of(self, values: Sequence[Any]) -> list[Any]:
        """Return the values that follow from values of the source; None for a value that the mapping lacks."""
        return [self.mapping.get(plain_or_none(value)) for value in values]

    @cached_property
    def value_ids(self) -> Codes:
        """Return a number for each code of the source, equal for codes with the same derived value."""
        return np.array([self._first_codes[value] for value in self.by_code], dtype=np.int64)

    def words(self) -> str:
        """Return the parameter's possible values in words: the name of the source that they follow from."""
        return f"follows from {self.source}"

    def _categories(self) -> Sequence[Any]:
        return list(dict.fromkeys(value for value in self.by_code if value is not None))

    @cached_property
    def _first_codes(self) -> dict[Any, int]:
        return {value: code for code, value in reversed([*enumerate(self.by_code)])}

    def encode(self, values: Any, *, nearest: bool = False) -> Codes:
        """Return the lowest code of the source that gives each derived value; -1 for a value that no code gives."""
        codes = [self._first_codes.get(plain_or_none(value), -1) for value in values]
        return np.array(codes, dtype=np.int64)

    def __hash__(self) -> int:
        return hash((self.name, self.source, frozenset(self.mapping.items())))


@dataclass(frozen=True)
class Extended(Parameter):
    """A parameter extended by extra values from real rows, whose codes follow its own codes.

    No search draws extra values.
    """

    base: Parameter
    extras: tuple[Any, ...]

    kind: ClassVar[str] = "extended"

    @property
    def own(self) -> Parameter:
        """The parameter without its extra values."""
        return self.base

    @property
    def levels(self) -> int:
        """Return the number of the parameter's own values and extra values."""
        return self.base.levels + len(self.extras)

    def _n_values(self) -> int:
        return self.levels - self.missing

    @property
    def is_numeric(self) -> bool:
        """Return True if all values, own and extra, are numbers or missing."""
        return self.base.is_numeric and all(value is None or isinstance(value, (int, float)) for value in self.extras)

    def decode(self, codes: Codes) -> Any:
        """Return the values of a batch of codes, in the parameter's dtype where it can hold them."""
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
        """Return the values of a batch of codes as floats, missing ones as NaN."""
        more = codes >= self.base.levels
        numbers = self.base.numbers(np.where(more, 0, codes))
        numbers[more] = self._numbers[codes[more] - self.base.levels]
        return numbers

    def encode(self, values: Any, *, nearest: bool = False) -> Codes:
        """Return the codes of values, own or extra; -1 for a value that is neither.

        With `nearest`, a number that is neither gets the code of the nearest step.
        """
        import pandas as pd

        codes = self.base.encode(values)
        places = {value: self.base.levels + place for place, value in enumerate(self.extras)}
        outside = np.flatnonzero(codes < 0)
        found = pd.Series(values).astype(object).iloc[outside]
        codes[outside] = [places.get(plain_or_none(value), -1) for value in found]
        return np.where(codes < 0, self.base.encode(values, nearest=True), codes) if nearest else codes

    def _categories(self) -> Sequence[Any]:
        return [*self.base._categories(), *self.extras] if self.dtype == "category" else ()


class Held(NamedTuple):
    """One column of real rows as codes, and a parameter extended so that it has all of the column's values."""

    parameter: Parameter
    codes: Codes

    @classmethod
    def of(cls, parameter: Parameter, column: Any) -> Held:
        """Return a column as codes; values that the parameter lacks get codes after its own codes."""
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
        """Return the column's values that the original parameter lacks, in the order of their codes."""
        return self.parameter.extras if isinstance(self.parameter, Extended) else ()

    def also(self, values: Any) -> Held:
        """Return this column continued by more values: its codes, then theirs, and a parameter that has them all."""
        more = Held.of(self.parameter, values)
        return Held(more.parameter, np.concatenate([self.codes, more.codes]))


# The parameters of one domain


def checked_parameters(
    parameters: Iterable[Parameter], compared: Mapping[str, Sequence[Any] | None]
) -> tuple[Parameter, ...]:
    """Return a domain's parameters, with each sensitive one restricted to the values to compare."""
    given = tuple(parameters)
    for parameter in given:
        if not isinstance(parameter, Parameter):
            raise DomainError(f"a parameter must be an Integer, Real, Category or Ordinal, got {parameter!r}")
    names = [p.name for p in given]
    twice = repeated(names)
    if twice:
        raise DomainError(f"parameters must have distinct names, got {', '.join(twice)} more than once")
    unknown = [name for name in compared if name not in names]
    if unknown:
        raise DomainError(
            f"a sensitive parameter must be one of {', '.join(names) or 'no parameter'}; "
            f"got {', '.join(map(repr, unknown))}{nearest(unknown[0], names)}"
        )
    return all_bound(_restricted(p, p.name in compared, compared.get(p.name)) for p in given)


def all_bound(parameters: Iterable[Parameter]) -> tuple[Parameter, ...]:
    """Return the parameters, with each derived one holding its value for every code of its source."""
    by_name = {parameter.name: parameter for parameter in parameters}
    for parameter in by_name.values():
        if isinstance(parameter, Derived):
            source = by_name.get(parameter.source)
            if source is None or isinstance(source, Derived):
                near = nearest(parameter.source, [name for name in by_name if name != parameter.name])
                raise DomainError(
                    f"parameter {parameter.name!r}: source must name a parameter that is not derived, "
                    f"got {parameter.source!r}{near}"
                )
            by_name[parameter.name] = parameter.bound(source)
    return tuple(by_name.values())


def _restricted(parameter: Parameter, name_is_sensitive: bool, values: Sequence[Any] | None) -> Parameter:
    """Return a sensitive parameter restricted to the values to compare: the listed ones, or all but the missing one."""
    if not name_is_sensitive:
        return parameter
    if isinstance(parameter, Derived):
        raise DomainError(
            f"a sensitive parameter must not be derived, got {parameter.name!r}: name {parameter.source!r}"
        )
    if values is None:
        return replace(parameter, missing=False) if parameter.missing else parameter
    if isinstance(values, str) or not isinstance(values, Iterable):
        Ordinal(parameter.name, values)  # which says what is wrong
    unknown = [value for value in values if is_missing(value)]
    missing = bool(unknown)
    if missing and not parameter.missing:
        raise DomainError(
            f"a missing value is compared only where there are any: {parameter.name!r} has none, got {unknown[0]!r} "
            "among the values to compare: leave it out, or give the parameter missing=True"
        )
    listed = Ordinal(parameter.name, [value for value in values if not is_missing(value)])
    outside = [value for value, code in zip(listed.values, parameter.encode(listed.values), strict=True) if code < 0]
    if outside:
        near = nearest(outside[0], getattr(parameter, "values", ()))
        raise DomainError(f"the values to compare must lie in the domain of {parameter.name!r}, got {outside}{near}")
    if isinstance(parameter, (Category, Ordinal)):
        every = parameter.categories or parameter.values
        return replace(parameter, values=listed.values, categories=every, missing=missing, moves=(-1, 1))
    # With a missing value it is read from a file as one of those listed, whose categories are said.
    every = listed.values if missing else ()
    return replace(listed, dtype=parameter.dtype, missing=missing, categories=every)
