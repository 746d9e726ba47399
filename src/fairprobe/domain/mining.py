"""Mining: rules that data never, or almost never, break, although independent columns would often break them.

If two columns are independent, then values that a part p and a part q of n rows have occur together in about npq rows.
Where npq is large and next to no such rows are seen, the two values form a rule. There are two kinds of rules:

- two values, or sets of values, do not occur together. A number that stands out (a gain of 0) counts as a value;
- a parameter follows from another one, and is then proposed as a `Derived` parameter.

The observed count is compared with the Poisson distribution. Its probability is never smaller than that of the
hypergeometric distribution, which such pairs have. The error is split over all pairs of values that are looked at.

Rules about a column distinguish its atoms: the values, or parts of a range. A listed parameter has an atom for each
value. A number has three if one value of it stands out, as 0 does among capital gains: below, at and above that value.
A missing value is an atom of its own, the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.checks import checked_fraction
from fairprobe.checks import is_number as is_finite
from fairprobe.domain.constraints import MAX_LENGTH, Rule, bind, listed_values, text_of
from fairprobe.domain.derived import Derived, Extended
from fairprobe.domain.expressions import (
    Constant,
    Formula,
    Name,
    Operation,
    is_number,
    joined,
    leaves_of,
    missing,
    names_in,
    negated,
    none_of,
    one_of,
)
from fairprobe.domain.links import plain_values
from fairprobe.domain.parameters import Category, Ordinal, Parameter
from fairprobe.domain.restrictions import Restrictions
from fairprobe.domain.values import Dependence, as_floats, joint_counts
from fairprobe.errors import SettingError

if TYPE_CHECKING:
    import pandas as pd

    from fairprobe.domain.domain import Domain

MOST_OF_EXPECTED = 0.01
"""Largest number of rows that may break a rule, as a fraction of the number expected by chance; chosen."""

MOST_NAMED = 1000
"""Largest number of values of a listed parameter that rules may name; chosen: with more it is an id or free text."""

SPIKE = 0.1
"""Smallest fraction of a column's rows that must have a number for it to stand out; chosen."""
STANDS_OUT = 5
"""Smallest ratio of the rows with a standing-out number to those with the next number on either side; chosen."""

OUTSIDE = -1
"""Number that stands for the atom of a value that the parameter lacks."""

MOST_VALUES = 200
"""Largest number of values of a column from which another may follow; chosen: nobody would read a longer table."""

UNSEEN = 0.2
"""Largest expected number of rows of pairs of values that are unseen but too rare for a rule, as a fraction of the
expected rows of forbidden pairs beside them. Below it, these pairs are forbidden too. Chosen."""

MOST_NEAR = 12
"""Largest number of known rules that are checked together for implying another rule; chosen for speed."""


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
class MinedRule(Rule):
    """A rule mined from data, which never, or almost never, break it, with the evidence for it.

    >>> MinedRule("gain == 0 or loss == 0", support=100, expected=40.0, n_broken=0).words()
    'gain == 0 or loss == 0: 100 rows, about 40 expected to break it by chance, none does'
    """

    support: int = field(kw_only=True)
    """Number of rows for which the premise of the rule holds (the rows that the rule concerns)."""
    expected: float = field(kw_only=True)
    """Number of rows that would be expected to break the rule if its columns were independent."""
    n_broken: int = field(kw_only=True)
    """Number of rows of the data that break the rule."""
    derived: Derived | None = field(default=None, kw_only=True)
    """The derived parameter, if the rule says that one parameter's value follows from another's; else None."""

    @property
    def names(self) -> frozenset[str]:
        """Return the names of the parameters that the rule compares."""
        return names_in(self.formula)

    def evidence(self) -> str:
        """Return the evidence for the rule in words.

        It has the numbers of rows that the rule concerns, that would break it by chance, and that break it.
        """
        seen = f"{self.n_broken:,} {'does' if self.n_broken == 1 else 'do'}" if self.n_broken else "none does"
        return f"{self.support:,} rows, about {self.expected:,.0f} expected to break it by chance, {seen}"

    def words(self) -> str:
        """Return the mined rule and the evidence for it in one line."""
        return f"{self.text}: {self.evidence()}"

    def __repr__(self) -> str:
        return (
            f"MinedRule({self.text!r}, support={self.support}, expected={self.expected:.1f}, n_broken={self.n_broken})"
        )


def mine(domain: Domain, rows: Any, *, min_expected: float, tolerance: float, error: float) -> list[MinedRule]:
    """Return the rules that the rows (almost) never break, with their evidence; see `Domain.mine_constraints`."""
    if not is_finite(min_expected) or min_expected < 1:
        raise SettingError.about("min_expected", f"must be a number of at least 1, got {min_expected!r}")
    tolerance = checked_fraction("tolerance", tolerance, from_zero=True)
    standard = Standard(float(min_expected), tolerance, checked_fraction("error", error))
    frame = domain.rows(rows, called={"X": "rows"}, may_be_empty=True).frame
    if len(frame) < rows_needed(standard.min_expected):
        return []
    follow = dependencies(domain, frame, standard)
    free = [column for column in columns_of(domain, frame) if column.parameter.name not in follow]
    return _chosen(domain, frame, [*follow.values(), *_exclusions(free, standard)], standard)


def rows_needed(min_expected: float) -> int:
    """Return the number of rows needed to find a rule about two values that half of the rows have each.

    `min_expected` is the number of rows that must be expected to break a rule by chance.
    """
    return int(np.ceil(4 * min_expected))


# Columns divided into atoms


@dataclass(frozen=True)
class AtomColumn:
    """A parameter's column of data divided into atoms, the parts that rules can distinguish.

    An atom is one value of a listed parameter. A numeric parameter has three atoms: below, at and above the number that
    stands out (its spike). Without such a number, all its numbers have the atom "at".
    """

    parameter: Any
    atoms: Codes
    """Number of the atom (value, or part of the range) of each row's value; OUTSIDE for a value that the parameter
    lacks."""
    n_atoms: int
    has_ranges: bool = False
    """True if atoms are ranges of a number, False if each value is an atom (value that rules distinguish)."""
    spike: float | None = None

    @cached_property
    def counts(self) -> Codes:
        """The number of rows of the column with each atom (value, or part of the range)."""
        return np.bincount(self.atoms[self.atoms >= 0], minlength=self.n_atoms).astype(np.int64)

    def literal(self, forbidden: Mask, *, prefer_allowed: bool) -> Formula:
        """Return the formula about a column that is true of all atoms (values or ranges) except the forbidden ones.

        `forbidden` is a boolean mask over the atoms. The formula names the allowed or the forbidden values, whichever
        are fewer; if they are as many, `prefer_allowed` decides.
        """
        return self._compared(forbidden) if self.has_ranges else self._listed(forbidden, prefer_allowed)

    def _listed(self, forbidden: Mask, prefer_allowed: bool) -> Formula:
        """Return the formula of a listed column that names the shorter list: the allowed or the forbidden values."""
        known = [*zip(plain_values(self.parameter), forbidden, strict=True)]
        good, bad = ([value for value, is_bad in known if value is not None and is_bad == is_] for is_ in (False, True))
        if not good or not bad:
            return self._missing(bool(good))
        prefer_allowed |= isinstance(good[0], bool)  # "employed" reads better than "employed != False"
        by_allowed = len(good) < len(bad) or (len(good) == len(bad) and prefer_allowed)
        if by_allowed and not (self.atoms == OUTSIDE).any():
            return self._with_missing(one_of(self.parameter.name, good), forbidden, holds_for_missing=False)
        return self._with_missing(none_of(self.parameter.name, bad), forbidden, holds_for_missing=True)

    def _compared(self, forbidden: Mask) -> Formula:
        """Return the formula of a numeric column: a comparison with the number that stands out."""
        below, at, above = (~forbidden[:3]).tolist()
        if self.spike is None or below == at == above:
            return self._missing(at)
        # Nothing lies below the lowest number, so that "== 0" says what "<= 0" would.
        symbol = "<" * (below and self.spike > self.parameter.low) + ">" * (above and self.spike < self.parameter.high)
        symbol = {"": "==", "<>": "!="}.get(symbol, symbol + "=" * at)
        is_whole = self.spike.is_integer() and abs(self.spike) < 2**53
        number = Constant(int(self.spike) if is_whole else self.spike)
        compared = Operation(symbol, (Name(self.parameter.name), number))
        return self._with_missing(compared, forbidden, holds_for_missing=symbol == "!=")

    def _missing(self, is_not: bool) -> Formula:
        absent = missing(Name(self.parameter.name))
        return negated(absent) if is_not else absent

    def _with_missing(self, formula: Formula, forbidden: Mask, holds_for_missing: bool) -> Formula:
        """Return a formula, extended if needed, so that it is true of a missing value only if that is allowed.

        `holds_for_missing` says if the given formula is true of a missing value.
        """
        if not self.parameter.missing or bool(forbidden[-1]) != holds_for_missing:
            return formula
        return Operation("and" if holds_for_missing else "or", (formula, self._missing(holds_for_missing)))


def columns_of(domain: Domain, frame: pd.DataFrame) -> list[AtomColumn]:
    """Return the columns of a frame, divided into atoms, that mined rules can name.

    Derived parameters, listed parameters with more than `MOST_NAMED` values, and names with a backtick are left out.
    """
    kept = [p.own for p in domain.parameters if not isinstance(p, Derived) and "`" not in p.name]
    return [column_of(p, frame[p.name]) for p in kept if not (_is_listed(p) and p.levels > MOST_NAMED)]


def _is_listed(parameter: Parameter) -> bool:
    return isinstance(parameter, (Category, Ordinal))


def column_of(parameter: Parameter, column: pd.Series[Any]) -> AtomColumn:
    """Return a parameter's column of data divided into atoms."""
    if _is_listed(parameter) or parameter.levels - parameter.missing <= 2:
        return AtomColumn(parameter, parameter.encode(column), parameter.levels)
    numbers = as_floats(column)
    is_known = np.isfinite(numbers)
    spike = _spike(numbers[is_known])
    atoms = np.ones(len(numbers), dtype=np.int64)
    if spike is not None:
        atoms += (numbers > spike).astype(np.int64) - (numbers < spike)
    atoms[~is_known] = 3 if parameter.missing else OUTSIDE
    return AtomColumn(parameter, atoms, 3 + parameter.missing, True, spike)


def _spike(numbers: Floats) -> float | None:
    """Return the number that stands out in a column, as 0 does among capital gains; None if no number does.

    It has at least the part `SPIKE` of the rows, and `STANDS_OUT` times as many as the next smaller and larger numbers.
    """
    values, counts = np.unique(numbers, return_counts=True)
    if len(values) < 2:
        return None
    place = int(counts.argmax())
    beside = counts[[other for other in (place - 1, place + 1) if 0 <= other < len(counts)]]
    stands_out = counts[place] >= SPIKE * len(numbers) and counts[place] >= STANDS_OUT * beside.max()
    return float(values[place]) if stands_out else None


# What follows from what


class _Numbered(NamedTuple):
    """A column of data whose values are numbered from 0, with the number of each row's value; -1 for no value."""

    parameter: Parameter
    name: str
    numbers: Codes
    values: list[Any]


def dependencies(domain: Domain, frame: pd.DataFrame, standard: Standard) -> dict[str, Candidate]:
    """Return the rules that one parameter's value follows from another's, by the name of the parameter that follows.

    If two parameters follow from each other, the source is the sensitive one, else the one with text values, else the
    first.
    """

    def rank(column: _Numbered) -> tuple[bool, bool, int]:
        return column.name not in domain.sensitive, is_number(column.parameter), len(column.values)

    columns = sorted(_numbered(domain, frame), key=rank)
    found: dict[str, dict[str, Candidate]] = {column.name: {} for column in columns}
    for source, target in permutations(columns, 2):
        if len(source.values) >= len(target.values) and target.name not in found[source.name]:
            dependency = _dependency(source, target, standard)
            if dependency is not None:
                found[target.name][source.name] = dependency
    for name in (*domain.sensitive, *(link.column for link in domain.links)):
        found.pop(name, None)
    # What follows from something can have nothing follow from it: all hangs on the first of a chain.
    first = {
        target: [candidate for source, candidate in sources.items() if not found.get(source)]
        for target, sources in found.items()
    }
    return {target: candidates[0] for target, candidates in first.items() if candidates}


def _numbered(domain: Domain, frame: pd.DataFrame) -> Iterator[_Numbered]:
    """Yield the columns of a frame with 2 to `MOST_VALUES` values, between which dependences are looked for."""
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
            yield _Numbered(parameter, parameter.name, numbers, plain_values(parameter, seen))


def _dependency(source: _Numbered, target: _Numbered, standard: Standard) -> Candidate | None:
    seen = Dependence.of(source.numbers, target.numbers, (len(source.values), len(target.values)))
    if not seen.n or seen.would_show < standard.min_expected:
        return None
    if seen.n_broken > standard.most_broken(seen.n, min(seen.expected, seen.would_show)):
        return None
    mapping = {value: target.values[place] for value, place in zip(source.values, seen.best.tolist(), strict=True)}
    is_whole = _is_whole(mapping, source.parameter)
    formula = _formula(source.name, target.name, mapping, is_whole and bool((source.numbers >= 0).all()))
    if len(text_of(formula)) > MAX_LENGTH:
        return None
    derived = Derived(target.name, source.name, mapping, dtype=target.parameter.dtype) if is_whole else None
    return Candidate(formula, seen.n, seen.expected, derived)


def _is_whole(mapping: Mapping[Any, Any], source: Parameter) -> bool:
    """Return True if `mapping` has an entry for every value of its source parameter, missing values aside.

    Values that are not compared count too. False for a source with more than `MOST_VALUES` values.
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


# Values that do not go together


class _AtomPair(NamedTuple):
    """Two columns with the number of rows for each pair of atoms (values or ranges), seen and expected by chance."""

    one: AtomColumn
    other: AtomColumn
    seen: Codes
    expected: Floats

    @classmethod
    def of(cls, one: AtomColumn, other: AtomColumn) -> _AtomPair:
        seen = joint_counts(one.atoms, other.atoms, (one.n_atoms, other.n_atoms))
        by_chance = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / max(int(seen.sum()), 1)
        return cls(one, other, seen, by_chance)


def _forbidden(seen: Codes, expected: Floats, standard: Standard, error: float) -> Mask:
    """Return a boolean mask, by pair of atoms, of pairs that rows lack although independent columns would give them."""
    from scipy.special import pdtr

    support = np.minimum.outer(seen.sum(axis=1), seen.sum(axis=0))
    rare = (expected >= standard.min_expected) & (seen <= standard.most_broken(support, expected))
    rare[rare] = pdtr(seen[rare], expected[rare]) <= error
    if not rare.any():
        return rare
    return rare | _unseen(seen, expected, rare) | _unseen(seen.T, expected.T, rare.T).T


def _unseen(seen: Codes, expected: Floats, rare: Mask) -> Mask:
    """Return a boolean mask of pairs of atoms that no row has, but too rare for a test to forbid them alone.

    They are forbidden with the `rare` pairs of the same row of the table if they add at most the part `UNSEEN` to the
    expected number of rows, and if no more pairs of this row stay allowed than are rare.
    """
    unseen = (seen == 0) & ~rare
    weight = (expected * unseen).sum(axis=1) <= UNSEEN * (expected * rare).sum(axis=1)
    n_left = (~rare & ~unseen).sum(axis=1)
    return unseen & (weight & (n_left <= rare.sum(axis=1)))[:, None]


def _exclusions(columns: Sequence[AtomColumn], standard: Standard) -> Iterator[Candidate]:
    """Yield rules that forbid a set of atoms (values or ranges) of one column with a set of atoms of another column.

    No rows, or almost none, have an atom of each set, although independent columns would give such rows.
    """
    pairs = [_AtomPair.of(one, other) for one, other in combinations(columns, 2)]
    n_looked_at = sum(int((pair.expected >= standard.min_expected).sum()) for pair in pairs)
    for pair in pairs:
        forbidden = _forbidden(pair.seen, pair.expected, standard, standard.error / max(n_looked_at, 1))
        for some, others in _kept(pair, forbidden, standard):
            candidate = _as_candidate(pair, some, others)
            if candidate.expected >= standard.min_expected:
                yield candidate


def _kept(pair: _AtomPair, forbidden: Mask, standard: Standard) -> Iterator[tuple[Mask, Mask]]:
    """Yield rectangles of forbidden pairs that few enough rows break: a mask of one column's atoms, and of the other's.

    A rectangle that too many rows break is cut into the part that no row has and single cells.
    """
    for some, others in _cover(forbidden, pair.expected):
        cells = np.ix_(some, others)
        support = min(pair.seen[some].sum(), pair.seen[:, others].sum())
        if pair.seen[cells].sum() <= standard.most_broken(support, pair.expected[cells].sum()):
            yield some, others
            continue
        part = np.outer(some, others)
        yield from _cover(part & (pair.seen == 0), pair.expected)
        for row, column in np.argwhere(part & (pair.seen > 0)).tolist():
            yield np.arange(len(some)) == row, np.arange(len(others)) == column


def _cover(forbidden: Mask, weight: Floats) -> Iterator[tuple[Mask, Mask]]:
    """Yield rectangles (mask of rows, mask of columns) that together cover exactly the forbidden cells of a table.

    The heaviest rectangle comes first.
    """
    left = forbidden.copy()
    while left.any():
        open_weight = weight * left
        rectangles = [*_around(forbidden, left), *((some, others) for others, some in _around(forbidden.T, left.T))]
        weights = [float(open_weight[np.ix_(*rectangle)].sum()) for rectangle in rectangles]
        best = rectangles[int(np.argmax(weights))]
        yield best
        left[np.ix_(*best)] = False


def _around(forbidden: Mask, left: Mask) -> Iterator[tuple[Mask, Mask]]:
    """Yield, for each row of a table with cells left, a rectangle of forbidden cells: masks of rows and columns.

    Its columns are those that are forbidden in the row, and its rows are all rows where these columns are forbidden.
    """
    for row in np.unique(forbidden[left.any(axis=1)], axis=0):
        yield np.asarray(forbidden[:, row].all(axis=1)), row


def _as_candidate(pair: _AtomPair, some: Mask, others: Mask) -> Candidate:
    """Return the rule that forbids two sets of atoms together: the premise first, then the conclusion."""
    sides = sorted([(pair.one, some), (pair.other, others)], key=lambda side: _place(*side))
    (premise, is_premise), (conclusion, is_excluded) = sides
    parts = premise.literal(is_premise, prefer_allowed=False), conclusion.literal(is_excluded, prefer_allowed=True)
    expected = float(pair.expected[np.ix_(some, others)].sum())
    return Candidate(joined("or", parts), int(premise.counts[is_premise].sum()), expected)


def _place(column: AtomColumn, forbidden: Mask) -> tuple[bool, int]:
    """Return a sort key for the two sides of a rule, given as a column and its forbidden atoms.

    The conclusion is a numeric column, or the side with fewer allowed than forbidden atoms, or else the one with more
    rows.
    """
    if column.has_ranges:
        return True, 0
    return bool(forbidden.sum() >= (~forbidden).sum()), int(column.counts[forbidden].sum())


# Which to keep


def _chosen(
    domain: Domain, frame: pd.DataFrame, candidates: Sequence[Candidate], standard: Standard
) -> list[MinedRule]:
    """Return the candidate rules that rows keep and other rules do not imply, as rules with their evidence.

    Rules with a sensitive parameter come last.
    """
    sensitive = set(domain.sensitive)
    order = sorted(candidates, key=lambda c: (bool(names_in(c.formula) & sensitive), c.derived is None, -c.expected))
    kept: list[MinedRule] = []
    known = [bind(rule, domain.parameters) for rule in domain.constraints if isinstance(rule, Rule)]
    for candidate in order:
        text = text_of(candidate.formula)
        if len(text) > MAX_LENGTH:
            continue
        rule = Rule(text, parameters=domain.parameters)
        formula, n_broken = bind(rule, domain.parameters), int((~rule.matches(frame)).sum())
        may_break = standard.most_broken(candidate.support, candidate.expected)
        if n_broken <= may_break and not _is_implied(domain, known, formula):
            known.append(formula)
            evidence: dict[str, Any] = {**candidate._asdict(), "n_broken": n_broken}
            evidence.pop("formula")
            kept.append(MinedRule(text, parameters=domain.parameters, **evidence))
    return kept


def _is_implied(domain: Domain, known: Sequence[Formula], formula: Formula) -> bool:
    """Return True if the known rules of a domain are found to imply a formula.

    Only the `MOST_NEAR` rules that share most parameters with it are considered, and none that compare parameters with
    each other, because these make tables of states slow.
    """
    if formula in known:
        return True
    names = names_in(formula)
    near = [
        rule for rule in known if names_in(rule) & names and all(len(names_in(leaf)) == 1 for leaf in leaves_of(rule))
    ]
    nearest = sorted(near, key=lambda rule: -len(names_in(rule) & names))[:MOST_NEAR]
    return bool(near) and Restrictions(domain.parameters, [*nearest, negated(formula)], ()).n == 0
