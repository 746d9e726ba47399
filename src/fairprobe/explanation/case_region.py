"""Regions as they are reported: measured afresh, on inputs that none was learned from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes, Mask
from fairprobe.domain.constraints import Rule
from fairprobe.domain.parameter import Parameter
from fairprobe.estimation.bounds.intervals import clopper_pearson
from fairprobe.explanation.box import Axes, Box
from fairprobe.explanation.directions import Directions, directions_of
from fairprobe.explanation.evidence import Evidence
from fairprobe.explanation.training_data import RegionInData, region_in_data
from fairprobe.oracle import Judgement
from fairprobe.wording import percent

if TYPE_CHECKING:
    import pandas as pd

CONFIDENCE = 0.95
N_MEASURED = 2_000
"""Fresh inputs of each region."""

MOST_DRAWN = 400_000
"""From a density, of which only some are in a region."""

BATCH = 50_000
N_DENSITY = 100_000
"""Drawn to tell how much of a density is in a region."""


class Few(StrEnum):
    """Why few fresh inputs of a region were judged."""

    BUDGET = "budget"
    THIN = "thin"
    """Few of the inputs drawn from the population lie in it."""
    APART = "not-comparable"
    """Few of its inputs have a twin that counts."""


@dataclass(frozen=True, repr=False, eq=False)
class CaseRegion:
    """Where cases are: a rule over the other parameters, and how good it is."""

    text: str
    """As a constraint is written: paste it into a domain file, or use it as a query."""
    n: int
    """Fresh inputs of the region that were judged."""
    hits: int
    """The cases among them."""
    low: float
    high: float
    """The interval of the precision; those of all regions hold at once, at 95% confidence."""
    coverage: float
    """The part of the cases explained that are in it."""
    share_of_population: float
    """The part of the population's cases that are in it, by a fresh sample; NaN where that has none."""
    of_domain: float | None
    """The part of the allowed domain that is in it; None where that cannot be counted."""
    of_density: float | None
    """The part of the density; None without one."""
    n_rows: int | None
    """Real rows in it; None without rows."""
    of_rows: float | None
    directions: Directions
    """Who is worse off there."""
    example: pd.DataFrame | None
    """A case in it and its twin: the most plausible one, where plausibility is known."""
    in_data: RegionInData | None = None
    """What the training rows in it say."""
    parameters: tuple[Parameter, ...] = ()
    """Those of the domain that it is a region of."""
    few: Few | None = None
    """Why fewer inputs were judged than should have been; None if all were."""

    @property
    def precision(self) -> float:
        """The part of the region's inputs that are cases."""
        return self.hits / self.n if self.n else float("nan")

    @property
    def touches(self) -> float:
        """What regions are ordered by: the part of rows (else of the density, else the domain) that are cases in it."""
        inside = self.of_rows if self.of_rows is not None else self.of_density
        inside = inside if inside is not None else self.of_domain
        return (inside or 0.0) * (self.precision if self.n else 0.0)

    @property
    def rule(self) -> Rule:
        """The text as a rule of the domain."""
        return Rule(self.text, parameters=self.parameters)

    def matches(self, frame: pd.DataFrame) -> Mask:
        """Which rows are in it."""
        return self.rule.matches(frame)

    def sentence(self) -> str:
        """The region in a line."""
        said = "how many of its inputs are cases was not measured"
        if self.n:
            said = f"{percent(self.precision)} of its inputs are cases ({percent(self.low)} to {percent(self.high)})"
        said = f"{self.text}: {said}, {percent(self.coverage)} of the cases found"
        if self.n_rows is not None and self.of_rows is not None:
            said += f", {self.n_rows:,} real rows ({percent(self.of_rows)})"
        return said

    def summary(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        names = ("text", "n", "hits", "low", "high", "coverage", "of_domain", "of_density", "n_rows", "of_rows")
        figures = {name: getattr(self, name) for name in names}
        share = self.share_of_population
        return {
            **figures,
            "precision": self.precision if self.n else None,
            "few": self.few,
            "share_of_population": None if np.isnan(share) else share,
            "directions": self.directions.summary(),
            "in_data": None if self.in_data is None else self.in_data.summary(),
        }

    def __repr__(self) -> str:
        return f"CaseRegion({self.sentence()})"


def measured_regions(evidence: Evidence, axes: Axes, boxes: Sequence[Box], sampled: Judgement) -> list[CaseRegion]:
    """Regions with what fresh inputs say of them, those first that touch most people."""
    n = evidence.budget.inputs(N_MEASURED * len(boxes), part=0.5) // max(1, len(boxes))
    fresh = _fresh(evidence, axes, boxes, n)
    codes = _density_codes(evidence)
    regions = [
        _measured(evidence, axes, box, inputs, len(boxes), sampled, codes, n)
        for box, inputs in zip(boxes, fresh, strict=True)
    ]
    # With few queries a region may be an accident: one without a case, found or fresh, says nothing.
    kept = [region for region in regions if region.hits or region.coverage]
    return sorted(kept, key=lambda region: -region.touches)


def _fresh(evidence: Evidence, axes: Axes, boxes: Sequence[Box], n: int) -> list[Codes]:
    """Up to n inputs of each region, drawn from the population."""
    population, rng = evidence.population, evidence.rng("measuring")
    parts = [None if population.density is not None else population.domain.part(axes.rules(box)) for box in boxes]
    if all(part is not None and part.n_valid for part in parts):
        return [part.sample_codes(n, rng) for part in parts if part is not None]
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


def _density_codes(evidence: Evidence) -> Codes | None:
    if evidence.density is None:
        return None
    return evidence.density.sample_codes(N_DENSITY, evidence.rng("density"))


def _measured(
    evidence: Evidence,
    axes: Axes,
    box: Box,
    inputs: Codes,
    n_regions: int,
    sampled: Judgement,
    likely: Codes | None,
    n_wanted: int,
) -> CaseRegion:
    rule, rows = axes.rule(box), evidence.rows
    judgement = evidence.judge(inputs)
    n, hits = int(judgement.comparable.sum()), int(judgement.hits.sum())
    low, high = clopper_pearson(hits, n, 1 - (1 - CONFIDENCE) / n_regions)
    cases = axes.inside(box, axes.coordinates(evidence.cases.codes))
    theirs = axes.inside(box, axes.coordinates(sampled.codes[sampled.hits]))
    domain, part = evidence.domain, evidence.domain.part(axes.rules(box))
    counted = domain.n_valid and part.n_valid is not None
    matches = None if rows is None else rule.matches(rows)
    directions = directions_of(evidence, judgement)
    return CaseRegion(
        text=rule.text,
        n=n,
        hits=hits,
        low=low,
        high=high,
        coverage=float(cases.mean()),
        share_of_population=float(theirs.mean()) if len(theirs) else float("nan"),
        of_domain=part.n_valid / domain.n_valid if counted else None,  # type: ignore[operator]
        of_density=None if likely is None else float(axes.inside(box, axes.coordinates(likely)).mean()),
        n_rows=None if matches is None else int(matches.sum()),
        of_rows=None if matches is None else float(matches.mean()),
        directions=directions,
        example=_example(evidence, cases, judgement),
        in_data=region_in_data(rule, evidence, n_regions=n_regions),
        parameters=domain.parameters,
        few=_why_few(n, len(inputs), n_wanted),
    )


def _why_few(n: int, n_drawn: int, n_wanted: int) -> Few | None:
    """Why n inputs were judged and not more."""
    if n_drawn < n_wanted:
        return Few.THIN
    if n_wanted < N_MEASURED:
        return Few.BUDGET
    return Few.APART if n < n_drawn else None


def _example(evidence: Evidence, cases: Mask, judgement: Judgement) -> pd.DataFrame | None:
    """The most plausible of the cases found in a region, else of the fresh ones, with its twin."""
    known = evidence.cases.take(np.flatnonzero(cases), np.dtype(np.int64))
    some = known if len(known.codes) else judgement.take(np.flatnonzero(judgement.hits), np.dtype(np.int64))
    if not len(some.codes):
        return None
    place = 0 if evidence.density is None else int(evidence.density.plausibility_of(some.codes).argmax())
    ends = evidence.oracle.ends(some.take(np.array([place]), np.dtype(np.int64)))
    shown = evidence.domain.decode(np.concatenate([ends.case, ends.twin]))
    return shown.assign(output=list(ends.outputs[0])).set_axis(["case", "twin"])
