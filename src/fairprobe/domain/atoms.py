"""Columns of data cut into atoms, the values or parts of a range that rules about them can tell apart.

A listed parameter has an atom for each value. A number has three if one value of it stands out, as 0 does among capital
gains: below, at and above that. A missing value is an atom of its own, the last.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.derived import Derived
from fairprobe.domain.discretize import as_floats
from fairprobe.domain.expressions import Compare, Constant, Formula, Join, Name, Not, missing, none_of, one_of
from fairprobe.domain.links import plain_values
from fairprobe.domain.parameters import Category, Ordinal, Parameter

if TYPE_CHECKING:
    import pandas as pd

    from fairprobe.domain.domain import Domain

MOST_VALUES = 1000
"""Values of a listed parameter up to which rules may name them; chosen: with more it is an id or free text."""

SPIKE = 0.1
"""Smallest fraction of rows with a number that stands out; chosen."""
STANDS_OUT = 5
"""Smallest ratio of its rows to those of the next value on either side; chosen."""

OUTSIDE = -1
"""The atom of a value that is not the parameter's."""

_SYMBOLS = {
    (False, True, False): "==",
    (True, False, False): "<",
    (False, False, True): ">",
    (True, True, False): "<=",
    (False, True, True): ">=",
    (True, False, True): "!=",
}
"""The comparison for a number, by whether values below, at and above it are allowed."""


MOST_OF_EXPECTED = 0.01
"""Largest ratio of the rows that break a rule to the number expected by chance; chosen."""


class Standard(NamedTuple):
    """The conditions that a rule must meet."""

    min_expected: float
    tolerance: float
    error: float

    def most_broken(self, support: Any, expected: Any) -> Any:
        """The number of rows that may break a rule."""
        return np.minimum(self.tolerance * support, MOST_OF_EXPECTED * expected)


class Candidate(NamedTuple):
    """A rule that rows may keep."""

    formula: Formula
    support: int
    """Rows for which its premise holds."""
    expected: float
    """Rows that would break it if its columns were independent."""
    derived: Derived | None = None
    """The derived parameter, if the rule says that one follows from another."""


@dataclass(frozen=True)
class Column:
    """A parameter's column as atoms: its values, or a number below, at and above the value that stands out.

    Without a number that stands out, all numbers are "at".
    """

    parameter: Parameter
    atoms: Codes
    """The atom of each row; OUTSIDE for a value that is not the parameter's."""
    n_atoms: int
    numbers: Floats | None = None
    """The number of each row; None where each value is an atom."""
    spike: float | None = None

    @property
    def name(self) -> str:
        """The parameter's name."""
        return self.parameter.name

    @cached_property
    def counts(self) -> Codes:
        """The number of rows with each atom."""
        return np.bincount(self.atoms[self.atoms >= 0], minlength=self.n_atoms).astype(np.int64)

    def literal(self, forbidden: Mask, *, prefer_allowed: bool) -> Formula:
        """The formula that is true of all atoms except the forbidden ones."""
        return self._listed(forbidden, prefer_allowed) if self.numbers is None else self._compared(forbidden)

    def _listed(self, forbidden: Mask, prefer_allowed: bool) -> Formula:
        """The formula with the shorter list: the values allowed, or those forbidden."""
        known = [*zip(plain_values(self.parameter), forbidden, strict=True)]
        good, bad = ([value for value, is_bad in known if value is not None and is_bad == is_] for is_ in (False, True))
        if not good or not bad:
            return self._missing(bool(good))
        prefer_allowed |= isinstance(good[0], bool)  # "employed" reads better than "employed != False"
        by_allowed = len(good) < len(bad) or (len(good) == len(bad) and prefer_allowed)
        if by_allowed and not (self.atoms == OUTSIDE).any():
            return self._with_missing(one_of(self.name, good), forbidden, holds_for_missing=False)
        return self._with_missing(none_of(self.name, bad), forbidden, holds_for_missing=True)

    def _compared(self, forbidden: Mask) -> Formula:
        """A comparison with the value that stands out."""
        if self.spike is None or forbidden[:3].all() or not forbidden[:3].any():
            return self._missing(not forbidden[1])
        below, at, above = (not bad for bad in forbidden[:3])
        if self.spike <= getattr(self.parameter, "low", -np.inf):
            below = False  # nothing is, so "== 0" says what "<= 0" would
        if self.spike >= getattr(self.parameter, "high", np.inf):
            above = False
        symbol = _SYMBOLS[below, at, above]
        compared = Compare(symbol, Name(self.name), Constant(constant(self.spike)))
        return self._with_missing(compared, forbidden, holds_for_missing=symbol == "!=")

    def _missing(self, is_not: bool) -> Formula:
        absent = missing(Name(self.name))
        return Not(absent) if is_not else absent

    def _with_missing(self, formula: Formula, forbidden: Mask, holds_for_missing: bool) -> Formula:
        """The formula, changed where needed so that it is true of a missing value only if that is allowed."""
        if not self.parameter.missing or bool(forbidden[-1]) != holds_for_missing:
            return formula
        return Join("and" if holds_for_missing else "or", (formula, self._missing(holds_for_missing)))


def constant(number: float) -> int | float:
    """The number as an int if it is whole."""
    return int(number) if float(number).is_integer() and abs(number) < 2**53 else float(number)


def columns_of(domain: Domain, frame: pd.DataFrame) -> list[Column]:
    """The columns that rules can name. Derived ones, very wide ones and names with a backtick are left out."""
    kept = [p.own for p in domain.parameters if not isinstance(p, Derived) and "`" not in p.name]
    return [column_of(p, frame[p.name]) for p in kept if not (_is_listed(p) and p.levels > MOST_VALUES)]


def _is_listed(parameter: Parameter) -> bool:
    return isinstance(parameter, (Category, Ordinal))


def column_of(parameter: Parameter, column: pd.Series[Any]) -> Column:
    """A column as atoms."""
    if _is_listed(parameter) or parameter.levels - parameter.missing <= 2:
        return Column(parameter, parameter.encode(column), parameter.levels)
    numbers = as_floats(column)
    numbers = np.where(np.isfinite(numbers), numbers, np.nan)
    spike = _spike(numbers[~np.isnan(numbers)])
    atoms = np.ones(len(numbers), dtype=np.int64)
    if spike is not None:
        atoms += (numbers > spike).astype(np.int64) - (numbers < spike)
    atoms[np.isnan(numbers)] = 3 if parameter.missing else OUTSIDE
    return Column(parameter, atoms, 3 + parameter.missing, numbers, spike)


def _spike(numbers: Floats) -> float | None:
    """The number that stands out; None if none does."""
    values, counts = np.unique(numbers, return_counts=True)
    if len(values) < 2:
        return None
    place = int(counts.argmax())
    beside = counts[[other for other in (place - 1, place + 1) if 0 <= other < len(counts)]]
    stands_out = counts[place] >= SPIKE * len(numbers) and counts[place] >= STANDS_OUT * beside.max()
    return float(values[place]) if stands_out else None
