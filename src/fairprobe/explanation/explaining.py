"""`explain`: where a model treats twins differently, through which parameters, and what would end it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from fairprobe.arguments import Outcome
from fairprobe.blocks import Block, Code, Remark, Sentence, Table
from fairprobe.checks import checked_count, checked_seed
from fairprobe.clock import Clock
from fairprobe.domain.density import Density
from fairprobe.domain.domain import Domain
from fairprobe.errors import HealthWarning
from fairprobe.explanation.directions import Directions, directions_of
from fairprobe.explanation.evidence import MAX_QUERIES, Evidence, Plan, explained_cases, favourable_among
from fairprobe.explanation.finding import Finding
from fairprobe.explanation.influence import N_MOVED, N_VALUES, Influence, Severity, influence_of, severity_of
from fairprobe.explanation.region_learning import MAX_CONDITIONS, MAX_REGIONS, Pool, learn
from fairprobe.explanation.regions import N_MEASURED, Axes, CaseRegion, measured_regions
from fairprobe.explanation.remedies import N_ROWS, N_SIMULATED, Remedies, remedies_of
from fairprobe.explanation.training_data import VERDICTS
from fairprobe.model import Model
from fairprobe.progress import Progress, Status, teller
from fairprobe.searching import Found
from fairprobe.wording import NOT_MEASURED, POPULATIONS, capital, closed, counted, percent

if TYPE_CHECKING:
    import pandas as pd

N_SAMPLED = 20_000
"""Number of fresh inputs of the population that are judged for the share of cases and for the directions; chosen."""

N_LEARNED = 25_000
"""Number of inputs, beside those of the sample, that learning regions needs; measured on models of the census."""

LEAST_LEARNED = 500
"""Number of judged inputs below which it has no meaning that no region was found; chosen."""

LEAST_MEASURED = 220
"""Number of judged fresh inputs in a region below which the interval of its precision may be 20 percentage points wide
or wider; computed for ten regions of precision one half."""

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

        names = [
            "words",
            "text",
            "precision",
            "low",
            "high",
            "coverage",
            "of_domain",
            "of_density",
            "of_rows",
            "n_rows",
        ]
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
        numbered = list(enumerate(self.regions, start=1))
        cells = [{"": str(place), **region.cells()} for place, region in numbered]
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
        texts = "\n".join(f"{place}. {region.text}" for place, region in numbered)
        costs = [Sentence(each.left_out.sentences()[0], f"Region {i}") for i, each in numbered if each.left_out]
        return [Table.of(columns, rows, title), *costs, *legend, Code(texts, "As rules", is_folded=True)]


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
    max_conditions: int = MAX_CONDITIONS,
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
        max_conditions: largest number of conditions of a region. The result states what leaving out others costs.
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
    checked_count("max_conditions", max_conditions)
    asked = {"output": output, "threshold": threshold, "max_queries": max_queries, "batch": batch}
    evidence = explained_cases(found, model, X, y, population, domain=domain, seed=checked_seed(seed), **asked)

    def step(what: str) -> None:
        if tell is not None:
            tell(Status(f"explaining {evidence.n_cases:,} cases: {what}", {"n_queries": evidence.n_queries}))

    step("a sample of the population")
    plan = _plan(evidence, max_regions)
    n_sampled = plan.of("sample").inputs(N_SAMPLED)
    sampled = evidence.judge(evidence.population.sample(n_sampled, evidence.rng("sample")))
    evidence = replace(evidence, favourable=favourable_among(favourable, evidence, sampled))
    step("where they are")
    axes = Axes(evidence.domain)
    pool = Pool(evidence.within(plan.of("learning")), axes, sampled)
    # Without cases, or without other parameters, there is no region.
    boxes = learn(pool, max_regions, max_conditions) if evidence.n_cases and len(axes) else []
    step("how good the regions are")
    regions = measured_regions(evidence.within(plan.of("precision")), axes, boxes) if boxes else []
    covered = axes.inside_any(boxes, evidence.coordinates)
    step("through what")
    influence = influence_of(evidence.within(plan.of("influence")))
    step("who is worse off, and what would end it")
    why = Explanation(
        regions=tuple(regions),
        coverage=float(covered.mean()) if evidence.n_cases else math.nan,
        influence=influence,
        directions=directions_of(evidence, sampled),
        severity=severity_of(evidence.within(plan.of("severity"))),
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


def _plan(evidence: Evidence, max_regions: int) -> Plan:
    """Return the plan by which the findings of an explanation share the budget of queries.

    Each finding gets queries in proportion to the number of inputs that it needs; those for precision are reserved.
    """
    n_rows, cost = 0 if evidence.rows is None else len(evidence.rows), evidence.budget.cost
    needs = {
        "sample": N_SAMPLED,
        "learning": N_LEARNED,
        "precision": max_regions * N_MEASURED + min(n_rows, N_ROWS) // cost,
        "influence": N_MOVED * N_VALUES * len(evidence.domain.free_columns),
        "severity": 2 * evidence.n_cases // cost,
        "remedies": N_SIMULATED + min(n_rows, N_ROWS),
    }
    return Plan(evidence.budget, needs, first="precision")


def _not_measured(evidence: Evidence, pool: Pool, why: Explanation) -> dict[str, str]:
    """Return a sentence for each section that the limit on queries left no room to measure, by section."""
    if not evidence.n_cases and not evidence.n_unasked:
        return {}
    n, can_move = len(pool.hits), len(pool.axes)
    missing = {
        f"regions were learned: {LEAST_LEARNED:,} inputs are needed, and it paid for {n:,}": (
            "regions",
            can_move and not why.regions and n < LEAST_LEARNED,
        ),
        "a case was asked about again": ("directions", not why.directions.n_found + why.directions.n_sampled),
        "a case was moved to other values": ("influence", can_move and not why.influence.n_cases),
        "remedies were simulated": ("remedies", why.n_cases and not len(why.remedies)),
    }
    spent = f"The budget of {evidence.budget.max_queries:,} queries was spent before"
    return {name: f"{spent} {what}." for what, (name, lacks) in missing.items() if lacks}


def _health(evidence: Evidence, pool: Pool, why: Explanation, missing: Mapping[str, str]) -> Iterator[Remark]:
    """Yield remarks on cases, on missing sections, and on regions with few measurements."""
    yield from evidence.health()
    limit = f"the limit of {evidence.budget.max_queries:,} queries"
    if missing:
        yield Remark(
            "not-measured", f"{limit} was spent before {', '.join(missing)} could be measured: raise max_queries"
        )
    if evidence.n_cases and not why.regions and "regions" not in missing:
        n, hits = len(pool.hits), int(pool.hits.sum())
        text = f"no region was found that holds cases and few other inputs: {hits:,} of {n:,} fresh inputs are cases"
        alone = "there are no regions, as nothing but the sensitive parameters can be moved"
        yield Remark("no-regions", text if len(pool.axes) else alone)
    texts = {
        "few-measured": f"{limit} pays for fewer than {LEAST_MEASURED} fresh inputs in each",
        "thin-regions": f"fewer than {LEAST_MEASURED} inputs of the population were found in each",
        "few-comparable": f"fewer than {LEAST_MEASURED} of their inputs can be compared with a twin",
    }
    found = [region.few for region in why.regions if region.n < LEAST_MEASURED]
    for few, text in texts.items():
        if few in found:
            rest = f"of {len(why.regions)} regions the precision is little known"
            yield Remark(few, f"of {found.count(few)} {rest}: {text}")
