"""Regions: boxes over the parameters that are neither sensitive nor derived, for example "age 40 to 50 and married".

A box has conditions on some axes. An axis is a parameter in coordinates that all members of a family share; in a linked
column the coordinates are roles. A box therefore holds either all members of a family or none. A box can be written as
a rule. Each learned region is measured on fresh inputs that were not used to learn it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes, Mask
from fairprobe.blocks import Sentence, written
from fairprobe.domain.constraints import Rule, text_of
from fairprobe.domain.domain import Domain
from fairprobe.domain.expressions import Constant, Formula, Name, Operation, joined, missing, negated, none_of, one_of
from fairprobe.domain.links import plain_values
from fairprobe.domain.nearest import coordinates
from fairprobe.domain.parameters import Parameter
from fairprobe.domain.values import plain
from fairprobe.estimation.bounds.intervals import clopper_pearson
from fairprobe.explanation.directions import Directions, directions_of
from fairprobe.explanation.evidence import Evidence, are_ordered
from fairprobe.explanation.finding import CONFIDENCE, as_json, figures_of
from fairprobe.explanation.training_data import RegionInData, region_in_data
from fairprobe.oracle import Judgement
from fairprobe.wording import percent, shown

if TYPE_CHECKING:
    import pandas as pd

N_MEASURED = 800
"""Number of fresh inputs that are judged in each region; chosen: the interval of the precision is then at most 10
percentage points wide."""

MOST_DRAWN = 200_000
"""Largest number of inputs drawn from a population to find enough in each region; chosen."""

BATCH = 25_000
"""Number of inputs drawn from a population at a time; chosen."""

N_DENSITY = 25_000
"""Number of inputs drawn from a density to measure its fraction in each region; chosen."""

Values = frozenset[int]
"""The set of coordinates (codes, or roles in a linked column) that a condition of a region allows on a parameter
without order."""

LISTED = 12
"""Number of values up to which a rule lists the allowed values; chosen. If more are allowed, it may list the excluded
ones instead."""


WORDED = 5
"""Largest number of values that the words for a region list for one parameter; chosen. The rule lists all."""


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
    """A parameter that is neither sensitive nor derived, so that the conditions of a region may restrict it."""

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
        levels = domain.families.key_levels.tolist()
        self.each = tuple(
            Axis(column, domain.parameters[column], levels[column], is_ordered, links.get(column))
            for column, is_ordered in zip(domain.free_columns, are_ordered(domain).tolist(), strict=True)
        )

    def __len__(self) -> int:
        return len(self.each)

    def coordinates(self, codes: Codes) -> Codes:
        """Return the coordinates of inputs that are given as codes: one row per input, one column per axis."""
        return coordinates(self.domain, codes)

    def box(self, conditions: Mapping[int, Condition]) -> Box:
        """Return the region with these conditions, given by position of the parameter among the axes.

        A condition that allows every value is left out.
        """
        kept = {place: each for place, each in conditions.items() if not self.each[place].is_everything(each)}
        return Box(tuple(sorted(kept.items())))

    def inside(self, box: Box, coordinates: Codes) -> Mask:
        """Return a boolean mask over inputs, given by their coordinates: True for inputs in the region `box`."""
        inside = np.ones(len(coordinates), dtype=bool)
        for place, condition in box.conditions:
            inside &= self.each[place].holds(condition, coordinates[:, place])
        return inside

    def inside_any(self, boxes: Iterable[Box], coordinates: Codes) -> Mask:
        """Return a boolean mask over inputs, given by their coordinates: True for inputs in at least one region."""
        inside = np.zeros(len(coordinates), dtype=bool)
        for box in boxes:
            inside |= self.inside(box, coordinates)
        return inside

    def rules(self, box: Box) -> list[Rule]:
        """Return the conditions of a region as rules about the parameters' values, one rule for each condition."""
        return [self._rule(self._formula(self.each[place], each)) for place, each in box.conditions]

    def _rule(self, formula: Formula) -> Rule:
        return Rule(text_of(formula), parameters=self.domain.parameters)

    def rule(self, box: Box) -> Rule:
        """Return a box (region) as one rule of all its conditions; without conditions, a rule that is always true."""
        if not box.conditions:
            name = Name(self.each[0].parameter.name)
            return self._rule(Operation("or", (negated(missing(name)), missing(name))))
        return self._rule(joined("and", [self._formula(self.each[place], each) for place, each in box.conditions]))

    def words(self, box: Box) -> str:
        """Return a box (region) in words, such as "age 34 to 71, education Masters or Doctorate"."""
        return ", ".join(self._words(self.each[place], each) for place, each in box.conditions) or "everybody"

    def _words(self, axis: Axis, condition: Condition) -> str:
        parts = self._codes(axis, condition)
        return " or ".join(
            f"{axis.parameter.name} {_in_words(axis, codes)}"
            + ("" if value is None else f" with {name} {shown(value)}")
            for name, value, codes in parts
        )

    def _formula(self, axis: Axis, condition: Condition) -> Formula:
        parts = self._codes(axis, condition)
        if parts[0][1] is None and len(parts) == 1:
            return _said(axis, parts[0][2])
        each = [Operation("and", (one_of(name, [value]), _said(axis, codes))) for name, value, codes in parts]
        return joined("or", each)

    def _codes(self, axis: Axis, condition: Condition) -> list[tuple[str, Any, Codes]]:
        """Return the codes that a condition allows as triples (sensitive parameter, its value, codes).

        There is one triple, without a name and a value, unless the column is linked and a value has different roles
        with different sensitive values.
        """
        roles = np.flatnonzero(axis.holds(condition, np.arange(axis.n)))
        if axis.link is None:
            return [("", None, roles)]
        place = axis.link
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
            return [("", None, np.unique(together))]
        return [
            (link.sensitive, value, codes)
            for value, codes in zip(plain_values(sensitive), inside, strict=True)
            if len(codes)
        ]


@dataclass(frozen=True)
class Box:
    """A region: the inputs that meet all its conditions.

    A condition is a pair: the position of a parameter among the axes, and the values that it may have. The pairs are
    sorted by position.
    """

    conditions: tuple[tuple[int, Condition], ...]
    left_out: tuple[tuple[int, Condition], ...] = ()
    """Further conditions that were learned and left out to keep the region readable."""

    @cached_property
    def by_axis(self) -> dict[int, Condition]:
        """Return the conditions of this region, by the position of the restricted parameter among the axes."""
        return dict(self.conditions)

    def without(self, place: int) -> Box:
        """Return a larger region, which lacks the condition on the parameter at position `place` among the axes."""
        return Box(tuple(each for each in self.conditions if each[0] != place))


def _said(axis: Axis, codes: Codes) -> Formula:
    """Return a set of a parameter's codes as a formula.

    It is a range of numbers, or a list of values or of excluded values. A set of numbers must be a range.
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
        parts.append(Operation(sign, (name, Constant(_number(parameter, code)))))
    said = joined("and", parts) if parts else negated(missing(name))
    return Operation("or", (said, missing(name))) if len(numbers) < len(codes) else said


def _number(parameter: Parameter, code: int) -> Any:
    """Return the number of a code, as in the data: whole numbers without a decimal point."""
    value = plain(parameter.numbers(np.array([code]))[0])
    return int(value) if float(value).is_integer() else value


def _in_words(axis: Axis, codes: Codes) -> str:
    """Return a set of a parameter's codes in words: a range, or values, or the excluded ones if these are fewer."""
    parameter = axis.parameter
    last = int(parameter.levels) - 1 - (1 if parameter.missing else 0)
    known, missing = np.unique(codes[codes <= last]), (codes > last).any()
    is_range = axis.is_ordered and len(known) and known[-1] - known[0] == len(known) - 1
    if not len(known):
        return "not known"
    if len(known) == last + 1:
        said = "known"
    elif is_range and (parameter.kind != "ordinal" or len(known) > 2):
        low, high = (shown(_value(parameter, int(code))) for code in (known[0], known[-1]))
        said = low if low == high else f"up to {high}" if not known[0] else f"{low} to {high}"
        said = f"{low} or more" if known[-1] == last and low != high else said
    else:
        left_out = np.setdiff1d(np.arange(last + 1), known)
        is_other = len(known) > WORDED and len(left_out) < len(known)
        names = [shown(_value(parameter, code)) for code in (left_out if is_other else known).tolist()]
        names = [*names[:WORDED], f"{len(names) - WORDED:,} more"] if len(names) > WORDED + 1 else names
        said = ("other than " if is_other else "") + " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"{said} (or not known)" if missing else said


def _value(parameter: Parameter, code: int) -> Any:
    """Return the value of a code, as in the data."""
    is_number = parameter.kind in ("integer", "real")
    return _number(parameter, code) if is_number else plain_values(parameter)[code]


def _among(parameter: Parameter, inside: set[int]) -> Formula:
    """Return a set of a parameter's codes as a list of values, or of the excluded values.

    Values are excluded if more than `LISTED` are in the set, and less than half as many are not.
    """
    values = plain_values(parameter)
    chosen = [value for code, value in enumerate(values) if code in inside]
    left_out = [value for code, value in enumerate(values) if code not in inside]
    n_chosen, n_left_out = (sum(value is not None for value in part) for part in (chosen, left_out))
    if n_chosen > LISTED and n_left_out < n_chosen / 2:
        return none_of(parameter.name, left_out) if left_out else negated(missing(Name(parameter.name)))
    return one_of(parameter.name, chosen or [None])


# Measured regions


@dataclass(frozen=True)
class LeftOut:
    """Conditions that were learned for a region and left out of it so that people can read it, and what that costs."""

    n_conditions: int
    """Number of conditions that were left out."""
    n: int
    """Number of the region's judged inputs that meet them as well."""
    precision: float | None
    """Fraction of these inputs that are cases; None without any."""
    coverage: float
    """Fraction of the explained cases that are in the region and meet them."""

    def sentences(self) -> list[str]:
        """Return a list with one sentence: what the precision and the coverage would be with all conditions."""
        cases = "it was not measured how many" if self.precision is None else percent(self.precision)
        which, them = ("condition was", "it") if self.n_conditions == 1 else ("conditions were", "them")
        return [
            f"{self.n_conditions} more {which} left out to keep this short: with {them}, {cases} of its inputs are "
            f"cases ({self.n:,} measured), and it holds {percent(self.coverage)} of the cases found."
        ]

    def jsonable(self) -> dict[str, Any]:
        """Return the figures and the sentence as values for JSON."""
        return {**figures_of(self, {}), "sentence": self.sentences()[0]}


@dataclass(frozen=True, repr=False, eq=False)
class CaseRegion:
    """A part of the domain that holds cases, as a rule over the non-sensitive parameters, with its measurements."""

    words: str
    """The region in words, such as "age 34 to 71, education Masters or Doctorate"."""
    rule: Rule
    """The region as a rule that is true inside it. All figures are about this rule."""
    n: int
    """Number of comparable inputs among the fresh inputs of the region that were judged."""
    hits: int
    """Number of cases among the comparable inputs of the region that were judged."""
    low: float
    high: float
    """Upper end of the interval of the precision, whose lower end is `low`. The intervals of all regions hold together
    at 95% confidence."""
    coverage: float
    """Fraction of the explained cases that are in the region."""
    of_domain: float | None
    """Fraction of the allowed domain that is in the region; None if it cannot be counted."""
    of_density: float | None
    """Fraction of inputs drawn from the density that are in the region; None without a density."""
    n_rows: int | None
    """Number of real rows in the region; None without rows."""
    of_rows: float | None
    directions: Directions
    """Outcomes of the two twins in the cases of the region, which show who is worse off."""
    in_data: RegionInData | None = None
    """The training rows in the region, compared with the model's treatment; None without rows."""
    left_out: LeftOut | None = None
    """Conditions that were learned and left out of the region, with their cost; None if none was left out."""
    few: str | None = None
    """Name of the remark on why fewer inputs than planned were judged or comparable; None if none were lacking."""

    @property
    def precision(self) -> float:
        """The fraction of the region's comparable judged inputs that are cases; NaN without any."""
        return self.hits / self.n if self.n else float("nan")

    @property
    def touches(self) -> float:
        """The fraction of people who are in the region and are cases, by which regions are sorted.

        It is the precision times the fraction of the rows in the region; without rows, of the density, else of the
        domain.
        """
        inside = next((each for each in (self.of_rows, self.of_density, self.of_domain) if each is not None), 0.0)
        return inside * self.precision if self.n else 0.0

    @property
    def text(self) -> str:
        """The rule of the region as text, which can be pasted into a domain file as a constraint."""
        return self.rule.text

    def matches(self, frame: pd.DataFrame) -> Mask:
        """Return a boolean mask of the rows of a frame that are in the region."""
        return self.rule.matches(frame)

    def sentence(self) -> str:
        """Return the rule of the region and its measurements in one line."""
        said = "the part of its inputs that are cases was not measured"
        if self.n:
            said = f"{percent(self.precision)} of its inputs are cases ({percent(self.low)} to {percent(self.high)})"
        said = f"{self.words}: {said}, {percent(self.coverage)} of the cases found"
        if self.n_rows is not None and self.of_rows is not None:
            said += f", {self.n_rows:,} real rows ({percent(self.of_rows)})"
        return said

    def sentences(self) -> list[str]:
        """Return sentences on the region, on who is worse off in it, and on its training rows."""
        parts = (self.left_out, self.in_data)
        more = [sentence for part in parts if part is not None for sentence in part.sentences()]
        return [f"{self.sentence()}.", *self.directions.sentences(), *more]

    def cells(self) -> dict[str, str]:
        """Return the texts of this region's row in a table of regions, by column; empty where a figure is not known."""
        return {
            "precision": percent(self.precision) if self.n else "",
            "interval": f"{percent(self.low)} to {percent(self.high)}" if self.n else "",
            "coverage": percent(self.coverage),
            "real rows": "" if self.of_rows is None else f"{self.n_rows:,} ({percent(self.of_rows)})",
            "of the domain": "" if self.of_domain is None else percent(self.of_domain),
            "of the density": "" if self.of_density is None else percent(self.of_density),
            "in the data": "" if self.in_data is None else str(self.in_data.verdict or ""),
            "region": self.words,
        }

    def jsonable(self) -> dict[str, Any]:
        """Return the figures and the sentences of the region as values for JSON."""
        figures = figures_of(self, {"rule": "text"})
        return {**figures, "precision": as_json(self.precision), "sentences": self.sentences()}

    def __repr__(self) -> str:
        return f"CaseRegion({self.sentence()})"

    def _repr_html_(self) -> str:
        return written([Sentence(" ".join(self.sentences()))], "notebook")


def measured_regions(evidence: Evidence, axes: Axes, boxes: Sequence[Box]) -> list[CaseRegion]:
    """Measure regions, given as boxes, on fresh inputs, and return those with a case.

    Regions with the largest fraction of people who are cases in them come first.
    """
    n = evidence.budget.inputs(N_MEASURED * len(boxes)) // max(1, len(boxes))
    fresh = _fresh(evidence, axes, boxes, n)
    likely = None
    if evidence.density is not None:
        likely = axes.coordinates(evidence.density.sample_codes(N_DENSITY, evidence.rng("density")))
    judgement, ends = evidence.judge(np.concatenate(fresh)), np.cumsum([0, *map(len, fresh)])
    regions = [
        _measured(evidence, axes, box, judgement.take(np.arange(*between)), len(boxes), likely, n)
        for box, between in zip(boxes, itertools.pairwise(ends), strict=True)
    ]
    # With few queries a region may be an accident: one without a case, found or fresh, says nothing.
    kept = [region for region in regions if region.hits or region.coverage]
    return sorted(kept, key=lambda region: -region.touches)


def _fresh(evidence: Evidence, axes: Axes, boxes: Sequence[Box], n: int) -> list[Codes]:
    """Draw up to `n` inputs of each region from the population, as codes, one array for each region.

    Where regions cannot be drawn from directly, at most about `MOST_DRAWN` inputs of the whole population are drawn,
    and those inside a region are taken.
    """
    population, rng = evidence.population, evidence.rng("measuring")
    if population.density is None:
        parts = [population.domain.part(axes.rules(box)) for box in boxes]
        if all(part.n_valid for part in parts):
            return [part.sample_codes(n, rng) for part in parts]
    inside: list[Codes] = [np.empty((0, len(population.domain.levels)), dtype=np.int64) for _ in boxes]
    n_drawn = 0
    while n_drawn < MOST_DRAWN and min(map(len, inside), default=n) < n:
        codes = population.sample(BATCH, rng)
        coordinates = axes.coordinates(codes)
        n_drawn += len(codes)
        inside = [
            np.concatenate([have, codes[axes.inside(box, coordinates)]])[:n]
            for have, box in zip(inside, boxes, strict=True)
        ]
    return inside


def _measured(
    evidence: Evidence, axes: Axes, box: Box, judgement: Judgement, n_regions: int, likely: Codes | None, n_wanted: int
) -> CaseRegion:
    """Return a region with its figures, given a judgement of fresh inputs of it.

    `likely` has the coordinates of inputs drawn from the density. `n_wanted` is the planned number of inputs.
    """
    rule, rows, domain = axes.rule(box), evidence.rows, evidence.domain
    n, hits = int(judgement.comparable.sum()), int(judgement.hits.sum())
    low, high = clopper_pearson(hits, n, 1 - (1 - CONFIDENCE) / n_regions)
    n_inside = domain.part(axes.rules(box)).n_valid
    matches = None if rows is None else rule.matches(rows.frame)
    return CaseRegion(
        axes.words(box),
        rule,
        n=n,
        hits=hits,
        low=low,
        high=high,
        coverage=float(axes.inside(box, evidence.coordinates).mean()),
        of_domain=n_inside / domain.n_valid if domain.n_valid and n_inside is not None else None,
        of_density=None if likely is None else float(axes.inside(box, likely).mean()),
        n_rows=None if matches is None else int(matches.sum()),
        of_rows=None if matches is None else float(matches.mean()),
        directions=directions_of(evidence, judgement),
        in_data=region_in_data(rule, evidence, n_regions=n_regions),
        left_out=_left_out(evidence, axes, box, judgement),
        few=_why_few(n, len(judgement.codes), n_wanted),
    )


def _left_out(evidence: Evidence, axes: Axes, box: Box, judgement: Judgement) -> LeftOut | None:
    """Measure what a region would be with the conditions that were left out of it; None if none were."""
    if not box.left_out:
        return None
    whole, known = Box(box.left_out), judgement.comparable
    inside = known & axes.inside(whole, axes.coordinates(judgement.codes))
    n, both = int(inside.sum()), Box((*box.conditions, *box.left_out))
    precision = float(judgement.hits[inside].mean()) if n else None
    return LeftOut(len(box.left_out), n, precision, float(axes.inside(both, evidence.coordinates).mean()))


def _why_few(n: int, n_drawn: int, n_wanted: int) -> str | None:
    """Return the name of the remark on why only `n` comparable inputs of a region were judged; None if none is lacking.

    The reasons are, in this order: fewer inputs of the region were drawn than wanted; the budget was too small for
    `N_MEASURED`; not all drawn inputs are comparable.
    """
    if n_drawn < n_wanted:
        return "thin-regions"
    few = "few-comparable" if n < n_drawn else None
    return "few-measured" if n_wanted < N_MEASURED else few
