"""Boxes: regions over the parameters that are neither sensitive nor derived, for example "age 40 to 50 and married".

A box has conditions on some axes. An axis is a parameter by the coordinates that all members of a family share; in a
linked column these are roles. All members of a family are therefore inside, or none. A box can be written as a rule.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairprobe.arrays import Codes, Mask
from fairprobe.domain.constraints import Rule
from fairprobe.domain.domain import Domain
from fairprobe.domain.expressions import Compare, Constant, Formula, Join, Name, Not, joined, missing, none_of, one_of
from fairprobe.domain.links import plain_values
from fairprobe.domain.parameter import Parameter
from fairprobe.domain.rule_text import text_of
from fairprobe.domain.values import plain

Values = frozenset[int]
"""The coordinates that a condition allows on an axis without order."""

LISTED = 12
"""Largest number of values that a rule lists; of more, it lists those left out if these are fewer. Chosen."""


@dataclass(frozen=True)
class Span:
    """The coordinates from `low` to `high`, both inside; a missing value has no place in the order."""

    low: int
    high: int
    missing: bool = False


Condition = Span | Values


@dataclass(frozen=True)
class Axis:
    """A parameter that may have a condition."""

    column: int
    parameter: Parameter
    n: int
    """Number of coordinates."""
    is_ordered: bool
    link: int | None = None
    """Place of the link that changes it, among the domain's links."""

    @property
    def missing(self) -> int | None:
        """The coordinate of a missing value."""
        return self.n - 1 if self.is_ordered and self.parameter.missing else None

    @property
    def last(self) -> int:
        """The highest coordinate in the order."""
        return self.n - 1 - (self.missing is not None)

    def holds(self, condition: Condition, coordinates: Codes) -> Mask:
        """Boolean mask over coordinates: the condition is true."""
        if isinstance(condition, Span):
            inside = (coordinates >= condition.low) & (coordinates <= condition.high)
            if self.missing is None:
                return np.asarray(inside)
            return np.asarray(np.where(coordinates == self.missing, condition.missing, inside))
        allowed = np.zeros(self.n, dtype=bool)
        allowed[list(condition)] = True
        return allowed[coordinates]

    def is_everything(self, condition: Condition) -> bool:
        """The condition is true of all coordinates."""
        if isinstance(condition, Span):
            whole = condition.low <= 0 and condition.high >= self.last
            return whole and (condition.missing or self.missing is None)
        return len(condition) == self.n


class Axes:
    """The axes of a domain, in domain order."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        links = {domain.names.index(link.column): place for place, link in enumerate(domain.links)}
        self.each = tuple(
            Axis(
                column,
                domain.parameters[column],
                int(domain.families.key_levels[column]),
                # Roles have no order, but numbers that are shifted keep theirs.
                not domain.parameters[column].wraps
                and (column not in links or domain.links[links[column]].roles is None),
                links.get(column),
            )
            for column in domain.free_columns
        )
        self.columns = [axis.column for axis in self.each]

    def __len__(self) -> int:
        return len(self.each)

    def coordinates(self, codes: Codes) -> Codes:
        """The coordinates of inputs: one column for each axis."""
        return self.domain.families.canonical(codes.astype(np.int64, copy=False))[:, self.columns]

    def box(self, conditions: Mapping[int, Condition]) -> Box:
        """A box of conditions by axis; those that are true of everything are left out."""
        kept = {place: each for place, each in conditions.items() if not self.each[place].is_everything(each)}
        return Box(tuple(sorted(kept.items())))

    def inside(self, box: Box, coordinates: Codes) -> Mask:
        """Boolean mask over inputs: in a box."""
        inside = np.ones(len(coordinates), dtype=bool)
        for place, condition in box.conditions:
            inside &= self.each[place].holds(condition, coordinates[:, place])
        return inside

    def inside_any(self, boxes: Iterable[Box], coordinates: Codes) -> Mask:
        """Boolean mask over inputs: in one of the boxes."""
        inside = np.zeros(len(coordinates), dtype=bool)
        for box in boxes:
            inside |= self.inside(box, coordinates)
        return inside

    def rules(self, box: Box) -> list[Rule]:
        """A rule for each condition of a box."""
        return [self._rule(self._formula(self.each[place], each)) for place, each in box.conditions]

    def _rule(self, formula: Formula) -> Rule:
        return Rule(text_of(formula), parameters=self.domain.parameters)

    def rule(self, box: Box) -> Rule:
        """All conditions of a box as one rule; without conditions, a rule that is true of everything."""
        if not box.conditions:
            name = Name(self.each[0].parameter.name)
            return self._rule(Join("or", (Not(missing(name)), missing(name))))
        return self._rule(joined("and", [self._formula(self.each[place], each) for place, each in box.conditions]))

    def _formula(self, axis: Axis, condition: Condition) -> Formula:
        if axis.link is None:
            if isinstance(condition, Span):
                return _interval(axis, condition, condition.low, condition.high)
            return _among(axis.parameter, condition)
        return self._linked(axis, condition)

    def _linked(self, axis: Axis, condition: Condition) -> Formula:
        """Roles as a formula: without the sensitive value if each value has one role under all sensitive values."""
        link = self.domain.links[axis.link or 0]
        sensitive = self.domain[link.sensitive]
        played = {code: self._played(axis, condition, code) for code in range(sensitive.levels)}
        if not isinstance(condition, Span):
            together = frozenset(itertools.chain.from_iterable(played.values()))
            others = {code: self._played(axis, _but(axis, condition), code) for code in played}
            if all(not together & other for other in others.values()):
                return _among(axis.parameter, together)
        values = plain_values(sensitive)
        parts = []
        for code, codes in played.items():
            if not codes:
                continue
            if isinstance(condition, Span):
                numbers = sorted(code for code in codes if code < axis.parameter.levels - axis.parameter.missing)
                bounds = (numbers[0], numbers[-1]) if numbers else (1, 0)
                theirs = _interval(axis, condition, *bounds)
            else:
                theirs = _among(axis.parameter, codes)
            own: Formula = Compare("==", Name(link.sensitive), Constant(values[code]))
            parts.append(Join("and", (own, theirs)))
        return joined("or", parts)

    def _played(self, axis: Axis, condition: Condition, sensitive: int) -> Values:
        """The codes that have the roles with a sensitive value."""
        links = self.domain._links
        assert links is not None
        assert axis.link is not None
        roles = np.flatnonzero(axis.holds(condition, np.arange(axis.n)))
        codes = links.played_by(axis.link, roles, sensitive)
        return frozenset(codes[codes >= 0].tolist())


@dataclass(frozen=True)
class Box:
    """Pairs of an axis, by its place, and its condition; in order of axes."""

    conditions: tuple[tuple[int, Condition], ...]

    @cached_property
    def by_axis(self) -> dict[int, Condition]:
        """The conditions by the place of their axis."""
        return dict(self.conditions)

    def without(self, place: int) -> Box:
        """The larger box without a condition on an axis."""
        return Box(tuple(each for each in self.conditions if each[0] != place))


def _but(axis: Axis, condition: Values) -> Values:
    return frozenset(range(axis.n)) - condition


def _interval(axis: Axis, condition: Span, low: int, high: int) -> Formula:
    """A range of a parameter's codes as a formula."""
    parameter, name = axis.parameter, Name(axis.parameter.name)
    last = parameter.levels - parameter.missing - 1
    if parameter.kind == "ordinal":  # listed, as text has an order of its own
        inside = frozenset(range(low, high + 1))
        return _among(parameter, inside | {last + 1} if condition.missing else inside)
    parts: list[Formula] = []
    if low > high:
        return missing(name)
    if low == high:
        parts.append(Compare("==", name, _number(parameter, low)))
    else:
        parts += [Compare(">=", name, _number(parameter, low))] if low > 0 else []
        parts += [Compare("<=", name, _number(parameter, high))] if high < last else []
    if not parts:
        return Not(missing(name))
    said = joined("and", parts)
    return Join("or", (said, missing(name))) if condition.missing else said


def _number(parameter: Parameter, code: int) -> Constant:
    value = plain(parameter.numbers(np.array([code]))[0])
    return Constant(int(value) if parameter.kind == "integer" else value)


def _among(parameter: Parameter, codes: Iterable[int]) -> Formula:
    """One of some values, or none of the others, whichever is shorter, as a formula."""
    values, inside = plain_values(parameter), set(codes)
    chosen = [value for code, value in enumerate(values) if code in inside]
    left_out = [value for code, value in enumerate(values) if code not in inside]
    n_chosen, n_left_out = (sum(value is not None for value in part) for part in (chosen, left_out))
    if n_chosen > LISTED and n_left_out < n_chosen / 2:
        return none_of(parameter.name, left_out) if left_out else Not(missing(Name(parameter.name)))
    return one_of(parameter.name, chosen or [None])
