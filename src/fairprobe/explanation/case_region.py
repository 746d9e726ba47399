"""Measured regions: each region is measured on fresh inputs that were not used to learn it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes, Mask
from fairprobe.blocks import Sentence, written
from fairprobe.domain.constraints import Rule
from fairprobe.estimation.bounds.intervals import clopper_pearson
from fairprobe.explanation.boxes import Axes, Box
from fairprobe.explanation.directions import Directions, directions_of
from fairprobe.explanation.evidence import Evidence
from fairprobe.explanation.finding import as_json, figures_of
from fairprobe.explanation.training_data import RegionInData, region_in_data
from fairprobe.wording import percent

if TYPE_CHECKING:
    import pandas as pd

CONFIDENCE = 0.95
"""Confidence with which the intervals of all regions hold together; chosen."""
N_MEASURED = 2_000
"""Number of fresh inputs that are judged in each region; chosen."""

MOST_DRAWN = 400_000
"""Largest number of inputs drawn from a population to find enough in each region; chosen."""

BATCH = 50_000
"""Number of inputs drawn from a population at a time; chosen."""

N_DENSITY = 100_000
"""Number of inputs drawn from a density to measure its fraction in each region; chosen."""


class Few(StrEnum):
    """Reasons why few fresh inputs of a region were judged or comparable; the values are names of remarks."""

    BUDGET = "few-measured"
    THIN = "thin-regions"
    """Few of the inputs drawn from the population lie in the region."""
    APART = "few-comparable"
    """Few of the judged inputs of the region are comparable."""


@dataclass(frozen=True, repr=False, eq=False)
class CaseRegion:
    """A part of the domain that holds cases, as a rule over the non-sensitive parameters, with its measurements."""

    rule: Rule
    """The region as a rule that is true inside it."""
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
    few: Few | None = None
    """Reason why fewer inputs than planned were judged or comparable; None if none were lacking."""

    @property
    def precision(self) -> float:
        """The fraction of the region's comparable judged inputs that are cases; NaN without any."""
        return self.hits / self.n if self.n else float("nan")

    @property
    def touches(self) -> float:
        """The fraction of people who are in the region and cases, by which regions are sorted.

        It is the precision times the fraction of the rows that are in the region, else of the density, else of the
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
        said = f"{self.text}: {said}, {percent(self.coverage)} of the cases found"
        if self.n_rows is not None and self.of_rows is not None:
            said += f", {self.n_rows:,} real rows ({percent(self.of_rows)})"
        return said

    def sentences(self) -> list[str]:
        """Return sentences on the region, on who is worse off in it, and on its training rows."""
        in_data = [] if self.in_data is None else self.in_data.sentences()
        return [f"{self.sentence()}.", *self.directions.sentences(), *in_data]

    def cells(self) -> dict[str, str]:
        """Return the region's cells of the table of all regions, by column; empty where a figure is not known."""
        return {
            "precision": percent(self.precision) if self.n else "",
            "interval": f"{percent(self.low)} to {percent(self.high)}" if self.n else "",
            "coverage": percent(self.coverage),
            "real rows": "" if self.of_rows is None else f"{self.n_rows:,} ({percent(self.of_rows)})",
            "of the domain": "" if self.of_domain is None else percent(self.of_domain),
            "of the density": "" if self.of_density is None else percent(self.of_density),
            "in the data": "" if self.in_data is None else str(self.in_data.verdict or ""),
            "region": self.text,
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
    n = evidence.budget.inputs(N_MEASURED * len(boxes), part=0.5) // max(1, len(boxes))
    fresh = _fresh(evidence, axes, boxes, n)
    likely = None
    if evidence.density is not None:
        likely = axes.coordinates(evidence.density.sample_codes(N_DENSITY, evidence.rng("density")))
    regions = [
        _measured(evidence, axes, box, inputs, len(boxes), likely, n) for box, inputs in zip(boxes, fresh, strict=True)
    ]
    # With few queries a region may be an accident: one without a case, found or fresh, says nothing.
    kept = [region for region in regions if region.hits or region.coverage]
    return sorted(kept, key=lambda region: -region.touches)


def _fresh(evidence: Evidence, axes: Axes, boxes: Sequence[Box], n: int) -> list[Codes]:
    """Draw up to `n` inputs of each region from the population, as codes, one array for each region."""
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
    evidence: Evidence, axes: Axes, box: Box, inputs: Codes, n_regions: int, likely: Codes | None, n_wanted: int
) -> CaseRegion:
    """Judge fresh inputs of a region and return the region with its figures.

    `likely` has the coordinates of inputs drawn from the density. `n_wanted` is the planned number of inputs.
    """
    rule, rows, domain = axes.rule(box), evidence.rows, evidence.domain
    judgement = evidence.judge(inputs)
    n, hits = int(judgement.comparable.sum()), int(judgement.hits.sum())
    low, high = clopper_pearson(hits, n, 1 - (1 - CONFIDENCE) / n_regions)
    cases = axes.inside(box, axes.coordinates(evidence.cases.codes))
    n_inside = domain.part(axes.rules(box)).n_valid
    matches = None if rows is None else rule.matches(rows.frame)
    return CaseRegion(
        rule,
        n=n,
        hits=hits,
        low=low,
        high=high,
        coverage=float(cases.mean()),
        of_domain=n_inside / domain.n_valid if domain.n_valid and n_inside is not None else None,
        of_density=None if likely is None else float(axes.inside(box, likely).mean()),
        n_rows=None if matches is None else int(matches.sum()),
        of_rows=None if matches is None else float(matches.mean()),
        directions=directions_of(evidence, judgement),
        in_data=region_in_data(rule, evidence, n_regions=n_regions),
        few=_why_few(n, len(inputs), n_wanted),
    )


def _why_few(n: int, n_drawn: int, n_wanted: int) -> Few | None:
    """Return the reason why only `n` comparable inputs were judged in a region; None if none are lacking."""
    if n_drawn < n_wanted:
        return Few.THIN
    if n_wanted < N_MEASURED:
        return Few.BUDGET
    return Few.APART if n < n_drawn else None
