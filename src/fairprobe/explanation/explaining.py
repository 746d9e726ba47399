"""`explain`: where a model treats twins differently, through which parameters, and what would end it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from fairprobe.arguments import Outcome
from fairprobe.blocks import Block, Remark, Sentence, Table
from fairprobe.checks import checked_count, checked_seed
from fairprobe.clock import Clock
from fairprobe.domain.density import Density
from fairprobe.domain.domain import Domain
from fairprobe.errors import HealthWarning
from fairprobe.explanation.directions import Directions, directions_of
from fairprobe.explanation.evidence import MAX_QUERIES, Evidence, explained_cases, favourable_among
from fairprobe.explanation.finding import Finding
from fairprobe.explanation.influence import Influence, Severity, influence_of, severity_of
from fairprobe.explanation.inside import Inside, inside_of
from fairprobe.explanation.region_learning import MAX_REGIONS, Pool, learn
from fairprobe.explanation.regions import Axes, CaseRegion, measured_regions
from fairprobe.explanation.remedies import Remedies, remedies_of
from fairprobe.explanation.training_data import VERDICTS
from fairprobe.model import Model
from fairprobe.progress import Progress, Status, teller
from fairprobe.searching import Found
from fairprobe.wording import NOT_MEASURED, POPULATIONS, capital, closed, counted, percent

if TYPE_CHECKING:
    import pandas as pd

N_SAMPLED = 20_000
"""Number of fresh inputs of the population that are judged for the share of cases and for the directions; chosen."""

LEARNING_PART = 0.6
"""Fraction of the remaining queries that is spent on learning regions; chosen: the other findings need the rest."""

LEAST_LEARNED = 500
"""Number of judged inputs below which it has no meaning that no region was found; chosen."""

LEAST_MEASURED = 100
"""Number of judged fresh inputs in a region below which its precision is not well known; chosen."""

MOST_REMEDIED = 3
"""Largest number of regions for which remedies are simulated; chosen."""

TOLD = 3
"""Largest number of remedies that sentences state; chosen."""


@dataclass(frozen=True, repr=False, eq=False)
class Explanation(Finding):
    """The result of `explain`: the regions that contain the cases, and the other findings about these cases."""

    regions: tuple[CaseRegion, ...]
    """Measured regions, sorted so that those with the largest fraction of people who are cases in them come first."""
    coverage: float
    """Fraction of the explained cases that are in a region."""
    influence: Influence
    directions: Directions
    severity: Severity
    inside: Inside | None
    """Parts of the model (nodes of a tree or coefficients) that use a column in which twins differ; None if the model's
    inside is not known."""
    remedies: Remedies
    """Simulated shares if the first regions were decided in another way."""
    domain: Domain
    population: str
    """Name of the population on whose inputs the regions were measured."""
    n_given: int
    """Number of cases that the user gave."""
    n_asked: int
    """Number of given cases that the model was asked about again. The limit on queries bounds it."""
    n_cases: int
    """Number of cases that still hold when the model is asked again. The explanation is about them."""
    n_sampled: int
    """Number of comparable inputs among the fresh inputs of the population."""
    n_sampled_cases: int
    n_queries: int
    seconds: float
    seed: int
    health: tuple[Remark, ...] = ()
    not_measured: Mapping[str, str] = field(default_factory=dict)
    """Sentence on each section that was not measured because the limit on queries left no room for it, by section."""

    json_names: ClassVar = {"domain": ""}

    @property
    def rules(self) -> tuple[CaseRegion, ...]:
        """The measured regions; another name of `regions`."""
        return self.regions

    @property
    def table(self) -> pd.DataFrame:
        """Return a table of the measured regions, with a row for each."""
        import pandas as pd

        names = ["text", "precision", "low", "high", "coverage", "of_domain", "of_density", "of_rows", "n_rows"]
        return pd.DataFrame([[getattr(region, name) for name in names] for region in self.regions], columns=names)

    # Words

    def title(self) -> str:
        """Return the number of regions and the fraction of the cases in them as a sentence."""
        if not self.n_given:
            return "No cases were given, so there is nothing to explain. The model may still have cases."
        if not self.n_asked:
            return f"None of the {self.n_given:,} cases given was asked about again, so nothing was measured."
        is_part = self.n_asked < self.n_given
        if not self.n_cases:
            asked = f"{self.n_asked:,} asked about of the " if is_part else ""
            return f"None of the {asked}{self.n_given:,} cases given is one any more: there is nothing to explain."
        cases = counted(self.n_cases, "case") + (f" of {self.n_given:,} given" if is_part else "")
        if "regions" in self.not_measured:
            return f"Regions were not measured for {cases}."
        if not self.regions:
            return f"No region was found that holds {cases}."
        return f"{counted(len(self.regions), 'region holds', 'regions hold')} {percent(self.coverage)} of {cases}."

    def _findings(self) -> dict[str, list[str]]:
        """Return the sentences of all findings except the regions and the remedies, by heading."""
        if not self.n_cases:
            return {}
        return {
            "Who gets what" if self.directions.favourable is None else "Who is worse off": self.directions.sentences(),
            "Through what": self.influence.sentences(),
            "How severe": self.severity.sentences(),
            "What the model looks at": [] if self.inside is None else self.inside.sentences(),
        }

    def sentences(self) -> list[str]:
        """Return all findings as sentences, the most important first."""
        return [
            self.title(),
            *(f"{place}. {region.sentence()}." for place, region in enumerate(self.regions, start=1)),
            *(sentence for sentences in self._findings().values() for sentence in sentences),
            *self.remedies.sentences()[:TOLD],
            *(f"{section}: {why}" for section, why in self.not_measured.items()),
        ]

    def blocks(self) -> Sequence[Block]:
        """Return the explanation for reports: title, regions, other findings, remedies, and what was not measured."""
        return [
            Sentence(self.title()),
            *self._region_blocks(),
            *(Sentence(" ".join(sentences), name) for name, sentences in self._findings().items() if sentences),
            *(self.remedies.blocks() if len(self.remedies) else []),
            *(Sentence(why, capital(section)) for section, why in self.not_measured.items()),
            *self.health,
        ]

    def _region_blocks(self) -> list[Block]:
        """Return a table of the regions for reports, and the meaning of the verdicts in it."""
        if not self.regions:
            return []
        cells = [{"": str(place), **region.cells()} for place, region in enumerate(self.regions, start=1)]
        columns = [name for name in cells[0] if any(each[name] for each in cells)]
        rows = [[each[name] or NOT_MEASURED for name in columns] for each in cells]
        sampled = ""
        if self.n_sampled:
            sampled = f" (of all, {percent(self.n_sampled_cases / self.n_sampled)} are cases)"
        title = (
            f"Where. Precision is the part of a region's inputs in {POPULATIONS[self.population]} that are "
            f"cases{sampled}; coverage is the part of the cases. The 95% intervals hold for all regions at once."
        )
        verdicts = {region.in_data.verdict for region in self.regions if region.in_data is not None}
        legend = [Sentence(closed(words), str(verdict)) for verdict, words in VERDICTS.items() if verdict in verdicts]
        return [Table.of(columns, rows, title), *legend]

    # Figures and files

    def plot(self, folder: str | PathLike[str]) -> list[Path]:
        """Draw influences and directions as SVG files in a folder, and return the paths of the files."""
        into = Path(folder)
        into.mkdir(parents=True, exist_ok=True)
        parts: dict[str, Influence | Directions] = {"influence": self.influence, "directions": self.directions}
        drawn = {into / f"{name}.svg": part for name, part in parts.items() if len(part.table)}
        for path, part in drawn.items():
            part.plot(path)
        return list(drawn)


def explain(
    found: Found | pd.DataFrame,
    model: Model,
    X: pd.DataFrame | Any = None,
    y: Any = None,
    population: str | Density | None = None,
    *,
    domain: Domain | None = None,
    output: str | None = None,
    threshold: float | None = None,
    favourable: Outcome | None = None,
    max_regions: int = MAX_REGIONS,
    max_queries: int = MAX_QUERIES,
    seed: int | None = 0,
    batch: str | None = None,
    progress: bool | Progress = False,
) -> Explanation:
    """Explain cases: their regions, influences, who is worse off, whether it was in the data, what would end it.

    Args:
        found: the result of a search; or a frame of cases, with the `domain` of the search.
        model: the model that was searched. Cases that it no longer treats differently are counted and left out.
        X: real rows, best those that it was trained on; by default those that the search started from.
        y: their labels.
        population: the population whose inputs measure regions: "domain", "valid", a `Density`, or the search's own.
        domain: with a frame of cases, the domain that they were found in.
        output: with a frame of cases, what is compared: "label", "score", "proba" or "value".
        threshold: with a frame of cases, the gap above which an input is discriminatory.
        favourable: the favourable outcome (a label; for scores "highest" or "lowest"), to say who is worse off.
        max_regions: largest number of regions.
        max_queries: largest number of rows sent to the model. A smaller number gives wider intervals. If there are too
            many cases, they are sampled evenly. The result names each section that the limit left no room for.
        seed: the same seed and settings give the same result; None draws one, which the result records.
        batch: "array" or "frame", the form of the model's batches; by default the form on which it was fitted.
        progress: True for lines on the standard error, or a callable that takes a `Status`.

    >>> from fairprobe import Domain, Integer, explain, search
    >>> domain = Domain([Integer("age", 17, 90), Integer("grade", 1, 9), Integer("sex", 0, 1)], sensitive=["sex"])
    >>> model = lambda X: (X[:, 0] >= 40) & (X[:, 1] >= 3) & (X[:, 2] == 1)
    >>> why = explain(search(model, domain, max_cases=100), model)
    >>> why.regions[0].text
    'age >= 40 and grade >= 3'
    """
    clock, tell = Clock(), teller(progress)
    checked_count("max_regions", max_regions)
    asked = {"output": output, "threshold": threshold, "max_queries": max_queries, "batch": batch}
    evidence = explained_cases(found, model, X, y, population, domain=domain, seed=checked_seed(seed), **asked)

    def step(what: str) -> None:
        if tell is not None:
            tell(Status(f"explaining {evidence.n_cases:,} cases: {what}", {"n_queries": evidence.n_queries}))

    step("a sample of the population")
    n_sampled = evidence.budget.inputs(N_SAMPLED, part=0.1)
    sampled = evidence.judge(evidence.population.sample(n_sampled, evidence.rng("sample")))
    evidence = replace(evidence, favourable=favourable_among(favourable, evidence, sampled))
    step("where they are")
    axes = Axes(evidence.domain)
    pool = Pool(replace(evidence, budget=evidence.budget.part(LEARNING_PART)), axes, sampled)
    # Without cases, or without other parameters, there is no region.
    boxes = learn(pool, max_regions) if evidence.n_cases and len(axes) else []
    step("how good the regions are")
    regions = measured_regions(evidence, axes, boxes) if boxes else []
    covered = axes.inside_any(boxes, evidence.coordinates)
    step("through what")
    influence = influence_of(evidence)
    step("who is worse off, and what would end it")
    why = Explanation(
        regions=tuple(regions),
        coverage=float(covered.mean()) if evidence.n_cases else math.nan,
        influence=influence,
        directions=directions_of(evidence, sampled),
        severity=severity_of(evidence),
        inside=inside_of(evidence),
        remedies=remedies_of([region.rule for region in regions[:MOST_REMEDIED]], evidence),
        domain=evidence.domain,
        population=evidence.population.name,
        n_given=evidence.n_given,
        n_asked=evidence.n_cases + evidence.n_gone,
        n_cases=evidence.n_cases,
        n_sampled=int(sampled.comparable.sum()),
        n_sampled_cases=int(sampled.hits.sum()),
        n_queries=evidence.n_queries,
        seconds=clock.seconds,
        seed=evidence.seed,
    )
    missing = _not_measured(evidence, pool, why)
    why = replace(why, not_measured=missing, health=tuple(_health(evidence, pool, why, missing)))
    for name, message in why.health:
        warnings.warn(f"{name}: {message}", HealthWarning, stacklevel=2)
    return why


def _not_measured(evidence: Evidence, pool: Pool, why: Explanation) -> dict[str, str]:
    """Return a sentence for each section that the limit on queries left no room to measure, by section."""
    if not evidence.n_cases and not evidence.n_unasked:
        return {}
    limit = f"Not measured: the limit of {evidence.budget.max_queries:,} queries left"
    n, can_move = len(pool.hits), len(pool.axes)
    few = f"{limit} room for {n:,} inputs to learn regions from, fewer than {LEAST_LEARNED:,}."
    missing = {
        "regions": can_move and not why.regions and n < LEAST_LEARNED,
        "directions": not why.directions.n_found + why.directions.n_sampled,
        "influence": can_move and not why.influence.n_cases,
        "remedies": why.regions and not len(why.remedies),
    }
    return {name: few if name == "regions" else f"{limit} no room for it." for name, lacks in missing.items() if lacks}


def _health(evidence: Evidence, pool: Pool, why: Explanation, missing: Mapping[str, str]) -> Iterator[Remark]:
    """Yield remarks on cases, on missing sections, and on regions with few measurements."""
    yield from evidence.health()
    limit = f"the limit of {evidence.budget.max_queries:,} queries"
    if missing:
        yield Remark("not-measured", f"{limit} left no room to measure {', '.join(missing)}: raise max_queries")
    if evidence.n_cases and not why.regions and "regions" not in missing:
        n, hits = len(pool.hits), int(pool.hits.sum())
        text = f"no region was found that holds cases and few other inputs: {hits:,} of {n:,} fresh inputs are cases"
        alone = "there are no regions, as nothing but the sensitive parameters can be moved"
        yield Remark("no-regions", text if len(pool.axes) else alone)
    texts = {
        "few-measured": f"{limit} left room for fewer than {LEAST_MEASURED} fresh inputs in each",
        "thin-regions": f"fewer than {LEAST_MEASURED} inputs of the population were found in each",
        "few-comparable": f"fewer than {LEAST_MEASURED} of their inputs can be compared with a twin",
    }
    found = [region.few for region in why.regions if region.n < LEAST_MEASURED]
    for few, text in texts.items():
        if few in found:
            rest = f"of {len(why.regions)} regions the precision is little known"
            yield Remark(few, f"of {found.count(few)} {rest}: {text}")
