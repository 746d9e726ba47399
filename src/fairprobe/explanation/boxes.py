"""Boxes: regions over the parameters that are neither sensitive nor derived, for example "age 40 to 50 and married".

A box has conditions on some axes. An axis is a parameter in coordinates that all members of a family share; in a linked
column the coordinates are roles. A box therefore holds either all members of a family or none. A box can be written as
a rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.constraints import Rule, text_of
from fairprobe.domain.domain import Domain
from fairprobe.domain.expressions import Constant, Formula, Name, Operation, joined, missing, negated, none_of, one_of
from fairprobe.domain.links import plain_values
from fairprobe.domain.parameters import Parameter
from fairprobe.domain.values import plain
from fairprobe.explanation.evidence import are_ordered

Values = frozenset[int]
"""The set of coordinates (codes, or roles in a linked column) that a condition of a region allows on a parameter
without order."""

LISTED = 12
"""Number of values up to which a rule lists the allowed values; chosen. If more are allowed, it may list the excluded
ones instead."""


@dataclass(frozen=True)
class Span:
    """A condition of a region on an ordered parameter: its coordinates from `low` to `high`, both included.

    A missing value has no place in the order; `missing` says if it is allowed.
    """

    low: int
    high: int
    missing: bool = False


Condition = Span | Values


@dataclass(frozen=True)
class Axis:
    """A parameter that a box (region) may have a condition on."""

    column: int
    parameter: Parameter
    n: int
    """Number of coordinates of the parameter: its codes, or its roles if the column is linked."""
    is_ordered: bool
    link: int | None = None
    """Place, among the domain's links, of the link that changes the parameter's column; None if there is none."""

    @property
    def missing(self) -> int | None:
        """The coordinate that stands for a missing value of an ordered parameter; None if there is none."""
        return self.n - 1 if self.is_ordered and self.parameter.missing else None

    @property
    def last(self) -> int:
        """The highest coordinate of the parameter, not counting that of a missing value."""
        return self.n - 1 - (self.missing is not None)

    def holds(self, condition: Condition, coordinates: Codes) -> Mask:
        """Return a boolean mask over coordinates of a parameter: True where a condition of a region allows them."""
        if isinstance(condition, Span):
            inside = (coordinates >= condition.low) & (coordinates <= condition.high)
            if self.missing is None:
                return np.asarray(inside)
            return np.asarray(np.where(coordinates == self.missing, condition.missing, inside))
        allowed = np.zeros(self.n, dtype=bool)
        allowed[list(condition)] = True
        return allowed[coordinates]

    def is_everything(self, condition: Condition) -> bool:
        """Return True if a condition of a region allows all coordinates of its parameter."""
        if isinstance(condition, Span):
            whole = condition.low <= 0 and condition.high >= self.last
            return whole and (condition.missing or self.missing is None)
        return len(condition) == self.n


class Axes:
    """The axes of a domain (parameters that are neither sensitive nor derived), in domain order."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        links = {domain.names.index(link.column): place for place, link in enumerate(domain.links)}
        self.each = tuple(
            Axis(
                column,
                domain.parameters[column],
                int(domain.families.key_levels[column]),
                bool(is_ordered),
                links.get(column),
            )
            for column, is_ordered in zip(domain.free_columns, are_ordered(domain), strict=True)
        )
        self.columns = [axis.column for axis in self.each]

    def __len__(self) -> int:
        return len(self.each)

    def coordinates(self, codes: Codes) -> Codes:
        """Return the coordinates of inputs that are given as codes: one row per input, one column per axis."""
        return self.domain.families.canonical(codes.astype(np.int64, copy=False))[:, self.columns]

    def box(self, conditions: Mapping[int, Condition]) -> Box:
        """Return the box (region) with conditions by place of the axis; a condition that always holds is left out."""
        kept = {place: each for place, each in conditions.items() if not self.each[place].is_everything(each)}
        return Box(tuple(sorted(kept.items())))

    def inside(self, box: Box, coordinates: Codes) -> Mask:
        """Return a boolean mask over inputs, given by their coordinates: True inside the box."""
        inside = np.ones(len(coordinates), dtype=bool)
        for place, condition in box.conditions:
            inside &= self.each[place].holds(condition, coordinates[:, place])
        return inside

    def inside_any(self, boxes: Iterable[Box], coordinates: Codes) -> Mask:
        """Return a boolean mask over inputs, given by their coordinates: True inside at least one of the boxes."""
        inside = np.zeros(len(coordinates), dtype=bool)
        for box in boxes:
            inside |= self.inside(box, coordinates)
        return inside

    def rules(self, box: Box) -> list[Rule]:
        """Return a list of rules, one for each condition of a box (region)."""
        return [self._rule(self._formula(self.each[place], each)) for place, each in box.conditions]

    def _rule(self, formula: Formula) -> Rule:
        return Rule(text_of(formula), parameters=self.domain.parameters)

    def rule(self, box: Box) -> Rule:
        """Return a box (region) as one rule of all its conditions; without conditions, a rule that is always true."""
        if not box.conditions:
            name = Name(self.each[0].parameter.name)
            return self._rule(Operation("or", (negated(missing(name)), missing(name))))
        return self._rule(joined("and", [self._formula(self.each[place], each) for place, each in box.conditions]))

    def _formula(self, axis: Axis, condition: Condition) -> Formula:
        roles = np.flatnonzero(axis.holds(condition, np.arange(axis.n)))
        return _said(axis, roles) if axis.link is None else self._linked(axis, axis.link, roles)

    def _linked(self, axis: Axis, place: int, roles: Codes) -> Formula:
        """Return a condition on the roles of a linked column as a formula.

        The formula names sensitive values only if a value has different roles under different ones.
        """
        link, links = self.domain.links[place], self.domain._links
        sensitive = self.domain[link.sensitive]
        assert links is not None

        def played(roles: Codes) -> list[Codes]:
            """Return the codes of the linked column that play given roles: one array for each sensitive value."""
            codes = [links.played_by(place, roles, value) for value in range(sensitive.levels)]
            return [each[each >= 0] for each in codes]

        inside, others = played(roles), np.setdiff1d(np.arange(axis.n), roles)
        together = np.concatenate(inside)
        if not axis.is_ordered and not np.isin(together, np.concatenate(played(others))).any():
            return _said(axis, together)
        parts = [
            Operation("and", (one_of(link.sensitive, [value]), _said(axis, codes)))
            for value, codes in zip(plain_values(sensitive), inside, strict=True)
            if len(codes)
        ]
        return joined("or", parts)


@dataclass(frozen=True)
class Box:
    """A region as a list of conditions: pairs of an axis's place and the condition on it, sorted by place."""

    conditions: tuple[tuple[int, Condition], ...]

    @cached_property
    def by_axis(self) -> dict[int, Condition]:
        """Return the conditions of a box (region) by the place of their axis (parameter)."""
        return dict(self.conditions)

    def without(self, place: int) -> Box:
        """Return a larger box (region): the same without the condition on the axis (parameter) at a place."""
        return Box(tuple(each for each in self.conditions if each[0] != place))


def _said(axis: Axis, codes: Codes) -> Formula:
    """Return a set of a parameter's codes as a formula.

    It is a range of numbers, or a list of values or of excluded values.
    """
    parameter, name = axis.parameter, Name(axis.parameter.name)
    if not axis.is_ordered or parameter.kind == "ordinal":  # listed, as text has an order of its own
        return _among(parameter, set(codes.tolist()))
    last = parameter.levels - parameter.missing - 1
    numbers = codes[codes <= last]
    if not len(numbers):
        return missing(name)
    low, high = int(numbers.min()), int(numbers.max())
    bounds = [("==", low)] if low == high else [(">=", low)] * (low > 0) + [("<=", high)] * (high < last)
    parts: list[Formula] = []
    for sign, code in bounds:
        value = plain(parameter.numbers(np.array([code]))[0])
        parts.append(Operation(sign, (name, Constant(int(value) if parameter.kind == "integer" else value))))
    said = joined("and", parts) if parts else negated(missing(name))
    return Operation("or", (said, missing(name))) if len(numbers) < len(codes) else said


def _among(parameter: Parameter, inside: set[int]) -> Formula:
    """Return a set of a parameter's codes as a list of values, or of the excluded values if they are clearly fewer."""
    values = plain_values(parameter)
    chosen = [value for code, value in enumerate(values) if code in inside]
    left_out = [value for code, value in enumerate(values) if code not in inside]
    n_chosen, n_left_out = (sum(value is not None for value in part) for part in (chosen, left_out))
    if n_chosen > LISTED and n_left_out < n_chosen / 2:
        return none_of(parameter.name, left_out) if left_out else negated(missing(Name(parameter.name)))
    return one_of(parameter.name, chosen or [None])


# The condition of the highest worth on one axis


def best_condition(axis: Axis, values: Codes, gains: Floats, now: Condition | None) -> tuple[Condition, float] | None:
    """Return (condition, gain): the condition of a region with the highest gain on a parameter; None if there is none.

    `values` and `gains` are by input, and `now` is the present condition.
    """
    if not axis.is_ordered:
        return _best_values(axis, values, gains, now)
    was = now if isinstance(now, Span) else Span(0, axis.last)
    return _best_span(axis, values, gains, was) if len(values) else None


def _best_values(axis: Axis, values: Codes, gains: Floats, now: Condition | None) -> tuple[Condition, float] | None:
    """Return the values whose summed gain is positive, and their gain; None if there are none.

    A value without inputs stays as in the condition `now`.
    """
    by_value, n = np.bincount(values, gains, axis.n), np.bincount(values, minlength=axis.n)
    before = np.ones(axis.n, dtype=bool) if now is None else axis.holds(now, np.arange(axis.n))
    inside = np.where(n > 0, by_value > 0, before)
    if not inside.any():
        return None
    return frozenset(np.flatnonzero(inside).tolist()), float(by_value[inside].sum())


def _best_span(axis: Axis, values: Codes, gains: Floats, now: Span) -> tuple[Condition, float]:
    """Return the range of an ordered parameter with the highest gain, and the gain.

    An end of the range `now` does not move if no input lies in between.
    """
    at, worth = _by_value(values, gains, axis.n)
    missing_worth = 0.0
    if at[-1] == axis.missing:
        missing_worth, at, worth = float(worth[-1]), at[:-1], worth[:-1]
    if not len(at):
        return Span(1, 0, True), missing_worth
    sums = np.concatenate([[0.0], np.cumsum(worth)])
    end = int(np.argmax(sums[1:] - np.minimum.accumulate(sums[:-1])))
    start = int(np.argmin(sums[: end + 1]))
    gain = float(sums[end + 1] - sums[start])
    below = int(at[start - 1]) if start else -1
    above = int(at[end + 1]) if end + 1 < len(at) else axis.last + 1
    low, high = int(at[start]), int(at[end])
    low = now.low if below < now.low <= low else (0 if below < 0 else (below + low + 1) // 2)
    high = now.high if high <= now.high < above else (axis.last if above > axis.last else (high + above) // 2)
    return Span(low, high, missing_worth > 0), gain + max(missing_worth, 0.0)


def _by_value(values: Codes, gains: Floats, n: int) -> tuple[Codes, Floats]:
    """Return the values that inputs have, in increasing order, and the summed gain of the inputs with each."""
    if n > len(values):
        at, places = np.unique(values, return_inverse=True)
        return at, np.asarray(np.bincount(places, gains), dtype=np.float64)
    at = np.flatnonzero(np.bincount(values, minlength=n))
    return at, np.asarray(np.bincount(values, gains, n)[at], dtype=np.float64)
