"""Columns of data divided into atoms, and relations of two columns that rows keep.

Atoms are the values, or parts of a range, that rules about a column can distinguish. A listed parameter has an atom for
each value. A number has three if one value of it stands out, as 0 does among capital gains: below, at and above that
value. A missing value is an atom of its own, the last.

Two columns may have one of two relations: one column follows from the other, or one number is never above the other. If
low numbers of one column never occur with high numbers of another, this is no rule in itself: two correlated numbers
may have no row with the lowest of one and the highest of the other. A rule has a sharp edge: rows are as dense next to
its bound as further inside, and none lies past it. The rows next to an edge are therefore divided into a nearer and a
farther half, and the densities of the halves are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.constraints import MAX_LENGTH, listed_values, text_of
from fairprobe.domain.derived import Derived, Extended
from fairprobe.domain.discretize import Dependence, as_floats
from fairprobe.domain.expressions import (
    Constant,
    Formula,
    Name,
    Operation,
    is_number,
    joined,
    missing,
    negated,
    none_of,
    one_of,
)
from fairprobe.domain.links import plain_values
from fairprobe.domain.parameters import Category, Ordinal, Parameter

if TYPE_CHECKING:
    import pandas as pd

    from fairprobe.domain.domain import Domain

MOST_NAMED = 1000
"""Largest number of values of a listed parameter that rules may name; chosen: with more it is an id or free text."""

SPIKE = 0.1
"""Smallest fraction of a column's rows that must have a number for it to stand out; chosen."""
STANDS_OUT = 5
"""Smallest ratio of the rows with a standing-out number to those with the next number on either side; chosen."""

OUTSIDE = -1
"""Number that stands for the atom of a value that the parameter lacks."""

_SYMBOLS = {
    (False, True, False): "==",
    (True, False, False): "<",
    (False, False, True): ">",
    (True, True, False): "<=",
    (False, True, True): ">=",
    (True, False, True): "!=",
}
"""The comparison symbol for a number and a constant, by three truth values: numbers below, at and above it are
allowed."""


MOST_OF_EXPECTED = 0.01
"""Largest number of rows that may break a rule, as a fraction of the number expected by chance; chosen."""


class Standard(NamedTuple):
    """The conditions that a mined rule must meet; `Domain.mine_constraints` describes them."""

    min_expected: float
    tolerance: float
    error: float

    def most_broken(self, support: Any, expected: Any) -> Any:
        """Return the largest number of rows that may break a rule.

        `support` is the number of rows that the rule concerns, `expected` the number that would break it by chance.
        """
        return np.minimum(self.tolerance * support, MOST_OF_EXPECTED * expected)


class Candidate(NamedTuple):
    """A rule that may hold in the data, with its number of rows and the number that would break it by chance."""

    formula: Formula
    support: int
    """Number of rows for which the premise of the rule holds (the rows that the rule concerns)."""
    expected: float
    """Number of rows that would be expected to break the rule if its columns were independent."""
    derived: Derived | None = None
    """The derived parameter, if the rule says that one parameter's value follows from another's; else None."""


@dataclass(frozen=True)
class Column:
    """A parameter's column of data divided into atoms, the parts that rules can distinguish.

    An atom is one value of a listed parameter. A numeric parameter has the atoms below, at and above the number that
    stands out; if none does, all its numbers have the atom "at".
    """

    parameter: Parameter
    atoms: Codes
    """Number of the atom (value, or part of the range) of each row's value; OUTSIDE for a value that the parameter
    lacks."""
    n_atoms: int
    numbers: Floats | None = None
    """Number in each row of the column, NaN where missing; None if each value is an atom (value that rules
    distinguish)."""
    spike: float | None = None

    @property
    def name(self) -> str:
        """The name of the column's parameter."""
        return self.parameter.name

    @cached_property
    def counts(self) -> Codes:
        """The number of rows of the column with each atom (value, or part of the range)."""
        return np.bincount(self.atoms[self.atoms >= 0], minlength=self.n_atoms).astype(np.int64)

    def literal(self, forbidden: Mask, *, prefer_allowed: bool) -> Formula:
        """Return the formula about a column that is true of all atoms (values or ranges) except the forbidden ones.

        `forbidden` is a boolean mask over the atoms. If as many values are allowed as forbidden, `prefer_allowed`
        decides which of them the formula names.
        """
        return self._listed(forbidden, prefer_allowed) if self.numbers is None else self._compared(forbidden)

    def _listed(self, forbidden: Mask, prefer_allowed: bool) -> Formula:
        """Return the formula of a listed column that names the shorter list: the allowed or the forbidden values."""
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
        """Return the formula of a numeric column: a comparison with the number that stands out."""
        if self.spike is None or forbidden[:3].all() or not forbidden[:3].any():
            return self._missing(not forbidden[1])
        below, at, above = (not bad for bad in forbidden[:3])
        if self.spike <= getattr(self.parameter, "low", -np.inf):
            below = False  # nothing is, so "== 0" says what "<= 0" would
        if self.spike >= getattr(self.parameter, "high", np.inf):
            above = False
        symbol = _SYMBOLS[below, at, above]
        compared = Operation(symbol, (Name(self.name), Constant(constant(self.spike))))
        return self._with_missing(compared, forbidden, holds_for_missing=symbol == "!=")

    def _missing(self, is_not: bool) -> Formula:
        absent = missing(Name(self.name))
        return negated(absent) if is_not else absent

    def _with_missing(self, formula: Formula, forbidden: Mask, holds_for_missing: bool) -> Formula:
        """Return a formula, extended if needed, so that it is true of a missing value only if that is allowed.

        `holds_for_missing` says if the given formula is true of a missing value.
        """
        if not self.parameter.missing or bool(forbidden[-1]) != holds_for_missing:
            return formula
        return Operation("and" if holds_for_missing else "or", (formula, self._missing(holds_for_missing)))


def constant(number: float) -> int | float:
    """Return a number for a rule's text: an int if it is whole, otherwise a float."""
    return int(number) if float(number).is_integer() and abs(number) < 2**53 else float(number)


def columns_of(domain: Domain, frame: pd.DataFrame) -> list[Column]:
    """Return the columns of a frame, divided into atoms, that mined rules can name.

    Derived parameters, listed parameters with very many values, and names with a backtick are left out.
    """
    kept = [p.own for p in domain.parameters if not isinstance(p, Derived) and "`" not in p.name]
    return [column_of(p, frame[p.name]) for p in kept if not (_is_listed(p) and p.levels > MOST_NAMED)]


def _is_listed(parameter: Parameter) -> bool:
    return isinstance(parameter, (Category, Ordinal))


def column_of(parameter: Parameter, column: pd.Series[Any]) -> Column:
    """Return a parameter's column of data divided into atoms."""
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
    """Return the number that stands out in a column, as 0 does among capital gains; None if none does."""
    values, counts = np.unique(numbers, return_counts=True)
    if len(values) < 2:
        return None
    place = int(counts.argmax())
    beside = counts[[other for other in (place - 1, place + 1) if 0 <= other < len(counts)]]
    stands_out = counts[place] >= SPIKE * len(numbers) and counts[place] >= STANDS_OUT * beside.max()
    return float(values[place]) if stands_out else None


# What follows from what


MOST_VALUES = 200
"""Largest number of values of a column from which another may follow; chosen: nobody would read a longer table."""


class _Numbered(NamedTuple):
    """A column of data whose values are numbered from 0, with the number of each row's value; -1 for no value."""

    name: str
    numbers: Codes
    values: list[Any]
    is_numeric: bool


def dependencies(domain: Domain, frame: pd.DataFrame, standard: Standard) -> dict[str, Candidate]:
    """Return the rules that one parameter's value follows from another's, by the name of the parameter that follows.

    If each of two parameters follows from the other, the source is the sensitive one, else the one with text values,
    else the first.
    """
    columns = list(_candidates(domain, frame))
    found: dict[tuple[str, str], Candidate] = {}
    for source, target in permutations(columns, 2):
        if len(source.values) >= len(target.values):
            dependency = _dependency(source, target, domain, standard)
            if dependency is not None:
                found[source.name, target.name] = dependency
    rank = {
        column.name: (column.name not in domain.sensitive, column.is_numeric, len(column.values), place)
        for place, column in enumerate(columns)
    }
    fixed = {*domain.sensitive, *(link.column for link in domain.links)}
    sources: dict[str, list[str]] = {target: [] for _, target in found if target not in fixed}
    for source_name, target_name in sorted(found, key=lambda pair: rank[pair[0]]):
        is_back = (target_name, source_name) in found and rank[source_name] > rank[target_name]
        if target_name in sources and not is_back:
            sources[target_name].append(source_name)
    # What follows from something can have nothing follow from it: all hangs on the first of a chain.
    first = {target: [name for name in names if not sources.get(name)] for target, names in sources.items()}
    return {target: found[names[0], target] for target, names in first.items() if names}


def _candidates(domain: Domain, frame: pd.DataFrame) -> Iterator[_Numbered]:
    import pandas as pd

    for parameter in domain.parameters:
        if isinstance(parameter, (Derived, Extended)) or "`" in parameter.name:
            continue
        column = frame[parameter.name]
        if column.iloc[: 50 * MOST_VALUES].nunique() > MOST_VALUES:
            continue
        numbers, seen = pd.factorize(parameter.encode(column), sort=True)
        is_outside = int(len(seen) > 0 and seen[0] < 0)  # values that are not the parameter's, which no rule can name
        numbers, seen = numbers.astype(np.int64) - is_outside, seen[is_outside:]
        if 2 <= len(seen) <= MOST_VALUES:
            yield _Numbered(parameter.name, numbers, plain_values(parameter, seen), is_number(parameter))


def _dependency(source: _Numbered, target: _Numbered, domain: Domain, standard: Standard) -> Candidate | None:
    seen = Dependence.of(source.numbers, target.numbers, (len(source.values), len(target.values)))
    if not seen.n or seen.would_show < standard.min_expected:
        return None
    if seen.n_broken > standard.most_broken(seen.n, min(seen.expected, seen.would_show)):
        return None
    mapping = {value: target.values[place] for value, place in zip(source.values, seen.best.tolist(), strict=True)}
    is_whole = _is_whole(mapping, domain[source.name])
    formula = _formula(source.name, target.name, mapping, is_whole and bool((source.numbers >= 0).all()))
    if len(text_of(formula)) > MAX_LENGTH:
        return None
    derived = Derived(target.name, source.name, mapping, dtype=domain[target.name].dtype) if is_whole else None
    return Candidate(formula, seen.n, seen.expected, derived)


def _is_whole(mapping: Mapping[Any, Any], source: Parameter) -> bool:
    """Return True if `mapping` has an entry for every value of its source parameter, missing values aside.

    Values that are not compared count too.
    """
    if source.levels > MOST_VALUES + 1:
        return False
    values = [*plain_values(source), *([] if is_number(source) else listed_values(source))]
    return all(value in mapping for value in values if value is not None)


def _formula(source: str, target: str, mapping: Mapping[Any, Any], is_whole: bool) -> Formula:
    """Return the rule that lists which values of a source and a target column occur together.

    Unless `is_whole`, the rule allows everything for values of the source that no row has.
    """
    by_target: dict[Any, list[Any]] = {}
    for value, follows in mapping.items():
        by_target.setdefault(follows, []).append(value)
    parts = [
        joined("and", [one_of(source, values), one_of(target, [follows])]) for follows, values in by_target.items()
    ]
    return joined("or", [*parts, *([] if is_whole else [none_of(source, list(mapping))])])


# Sharp edges of numbers


NEXT_TO = 60
"""Number of rows nearest to an edge (bound that no row passes) that show if the edge is sharp; chosen."""
SHARP = 0.58
"""Smallest ratio of two numbers of rows for an edge (bound that no row passes) to be sharp: in the nearer and in the
farther half of the range next to it. With 22 of 60 rows in the nearer half, a flat density reaches it in 98.6% of the
cases, the tail of a normal one in 0.03%."""
LOCALLY_EXPECTED = 15
"""Smallest number of rows expected past an edge (bound of b - a) if they were as dense there as next to it; chosen."""
LEAST_ROWS = 150
"""Smallest number of rows for which an order of two columns is looked for; chosen: with fewer, most rows lie next to
the edge."""
LEAST_VALUES = 12
"""Smallest number of different values of a numeric column that is compared with another; chosen."""
OFTEN = 0.01
"""Smallest fraction of the rows that would have to break an order of two columns by chance for it to be a rule;
chosen."""


def orders(columns: Sequence[Column], standard: Standard) -> list[Candidate]:
    """Return the rules a <= b or a < b that hold between two numeric columns.

    Orders that follow from two others are left out.
    """
    found = dict(_orders(columns, standard))
    offsets = {pair: offset for pair, (offset, _) in found.items()}

    def follows(low: str, high: str, offset: float) -> bool:
        between = [other for first, other in offsets if first == low and (other, high) in offsets]
        return any(offsets[low, other] + offsets[other, high] >= offset for other in between)

    return [order for pair, (offset, order) in found.items() if not follows(*pair, offset)]


def _orders(columns: Sequence[Column], standard: Standard) -> Iterator[tuple[tuple[str, str], tuple[float, Candidate]]]:
    import pandas as pd

    numbers = [(column, column.numbers) for column in columns if column.numbers is not None]
    varied = [each for each in numbers if pd.Series(each[1]).nunique() >= LEAST_VALUES]
    for (low, lows), (high, highs) in permutations(varied, 2):
        known = ~(np.isnan(lows) | np.isnan(highs))
        n = int(known.sum())
        if n < LEAST_ROWS:
            continue
        a, b = lows[known], highs[known]
        step = float(max(getattr(column.parameter, "step", 1) for column in (low, high)))
        for offset, symbol in ((0.0, "<="), (step, "<")):
            n_broken = int((b - a < offset - step / 2).sum())
            if n_broken > standard.most_broken(n, n):
                continue
            expected = _order(a, b, step, offset, max(standard.min_expected, OFTEN * n))
            if expected and n_broken <= standard.most_broken(n, expected):
                absent = [missing(Name(column.name)) for column in (low, high) if column.parameter.missing]
                formula = joined("or", [Operation(symbol, (Name(low.name), Name(high.name))), *absent])
                yield (low.name, high.name), (offset, Candidate(formula, n, expected))
                break


def _order(a: Floats, b: Floats, step: float, offset: float, least: float) -> float:
    """Return the number of rows expected to break b - a >= offset by chance; 0 if that is no rule.

    It is no rule if the expected number is below `least`, or if the edge at `offset` is not sharp. `step` is the larger
    step of the two grids.
    """
    everyone = np.sort(b)

    def by_chance(bound: float) -> float:
        return float(np.searchsorted(everyone, a + bound).mean())  # each a stands beside each b

    expected = by_chance(offset - step / 2)
    if expected < least:
        return 0.0
    distance = np.sort(b - a)
    distance = distance[np.searchsorted(distance, offset - step / 2) :]
    if len(distance) < NEXT_TO or distance[-1] - distance[0] < step:
        return 0.0  # no rows, or a number in other words
    far = distance[NEXT_TO - 1] - offset
    half = max(1, round((far + step) / step / 2))  # whole steps
    ends = offset + step * (np.array([0, half, 2 * half]) - 0.5)
    nearer, farther = np.diff(np.searchsorted(distance, ends))
    locally = nearer * expected / max(by_chance(ends[1]) - expected, 1e-9)
    is_sharp = nearer >= SHARP * farther and locally >= LOCALLY_EXPECTED
    return expected if is_sharp else 0.0
