"""`explain`: where a model treats twins differently, through what, who is worse off, and what would end it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fairprobe.arguments import Outcome
from fairprobe.blocks import Remark
from fairprobe.checks import checked_count, checked_seed
from fairprobe.clock import Clock
from fairprobe.domain.density import Density
from fairprobe.domain.domain import Domain
from fairprobe.errors import HealthWarning
from fairprobe.explanation.boxes import Axes
from fairprobe.explanation.case_region import Few, measured_regions
from fairprobe.explanation.directions import directions_of
from fairprobe.explanation.evidence import MAX_QUERIES, Evidence, evidence_of, favourable_among
from fairprobe.explanation.explanation import Explanation
from fairprobe.explanation.influence import influence_of
from fairprobe.explanation.inside import inside_of
from fairprobe.explanation.judged_pool import Pool
from fairprobe.explanation.region_learning import MAX_REGIONS, learn
from fairprobe.explanation.severity import relabelled_of, severity_of
from fairprobe.explanation.simulations import remedies_of
from fairprobe.model import Model
from fairprobe.progress import Progress, Status, teller
from fairprobe.searching import Found

if TYPE_CHECKING:
    import pandas as pd

N_SAMPLED = 20_000
"""Number of fresh inputs of the population: the share of cases, and who is worse off in these. Chosen."""

LEARNING_PART = 0.6
"""Part of the queries left for learning regions; the other findings need the rest. Chosen."""

LEAST_LEARNED = 500
"""Smallest number of judged inputs after which it means something that no region was found. Chosen."""

LEAST_MEASURED = 100
"""Smallest number of fresh inputs in a region for its precision to be well known. Chosen."""

MOST_REMEDIED = 3
"""Number of regions for which remedies are simulated. Chosen."""


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
        found: what a search found; or a frame of cases, with the `domain` they were found in.
        model: the model that was searched. Cases that it no longer treats differently are counted and left out.
        X: real rows, best those that it was trained on; by default those that the search started from.
        y: their labels.
        population: whose inputs regions are measured on: "domain", "valid", a `Density`, or the search's own.
        domain: with a frame of cases, the domain that they were found in.
        output: with a frame of cases, what is compared: "label", "score", "proba" or "value".
        threshold: with a frame of cases, the gap above which an input is discriminatory.
        favourable: the good outcome (a label; for scores "highest" or "lowest"), to say who is worse off.
        max_regions: largest number of regions.
        max_queries: largest number of rows sent to the model. With fewer, less is judged and intervals are wider. Of
            too many cases some are asked about, evenly taken; what there is no room for is said to be not measured.
        seed: the same seed and settings give the same result; None draws one, which the result records.
        batch: "array" or "frame" to say what the model eats; by default as it was fitted.
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
    evidence = evidence_of(
        found,
        model,
        X,
        y,
        population,
        domain=domain,
        output=output,
        threshold=threshold,
        max_queries=max_queries,
        seed=checked_seed(seed),
        batch=batch,
    )

    def step(what: str) -> None:
        if tell is not None:
            tell(Status(f"explaining {evidence.n_cases:,} cases: {what}", {"n_queries": evidence.n_queries}))

    step("a sample of the population")
    n_sampled = evidence.budget.inputs(N_SAMPLED, part=0.1)
    sampled = evidence.judge(evidence.population.sample(n_sampled, evidence.rng("sample")))
    evidence = replace(evidence, favourable=favourable_among(favourable, evidence, sampled))
    step("where they are")
    axes = Axes(evidence.domain)
    learning = replace(evidence, budget=evidence.budget.part(LEARNING_PART))
    pool = Pool(learning, axes, "learning")
    # Without cases, or without other parameters, there is no region.
    boxes = learn(learning, axes, max_regions, pool) if evidence.n_cases and len(axes) else []
    step("how good the regions are")
    regions = measured_regions(evidence, axes, boxes) if boxes else []
    covered = axes.inside_any(boxes, axes.coordinates(evidence.cases.codes))
    step("through what")
    influence = influence_of(evidence)
    step("who is worse off, and what would end it")
    why = Explanation(
        regions=tuple(regions),
        coverage=float(covered.mean()) if evidence.n_cases else math.nan,
        influence=influence,
        directions=directions_of(evidence, sampled),
        severity=severity_of(evidence),
        relabelled=relabelled_of(evidence),
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
    """By section that the limit on queries left no room for, the sentence that says so."""
    if not evidence.n_cases and not evidence.n_unasked:
        return {}
    limit = f"Not measured: the limit of {evidence.budget.max_queries or 0:,} queries left"
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
    """Remarks on cases, on sections that are missing, and on regions of which little is known."""
    yield from evidence.health()
    limit = f"the limit of {evidence.budget.max_queries or 0:,} queries"
    if missing:
        yield Remark("not-measured", f"{limit} left no room to measure {', '.join(missing)}: raise max_queries")
    if evidence.n_cases and not why.regions and "regions" not in missing:
        n, hits = len(pool.hits), int(pool.hits.sum())
        text = f"no region was found that holds cases and few other inputs: {hits:,} of {n:,} fresh inputs are cases"
        alone = "there are no regions, as nothing but the sensitive parameters can be moved"
        yield Remark("no-regions", text if len(pool.axes) else alone)
    texts = {
        Few.BUDGET: f"{limit} left room for fewer than {LEAST_MEASURED} fresh inputs in each",
        Few.THIN: f"fewer than {LEAST_MEASURED} inputs of the population were found in each",
        Few.APART: f"fewer than {LEAST_MEASURED} of their inputs can be compared with a twin",
    }
    found = [region.few for region in why.regions if region.n < LEAST_MEASURED]
    for few, text in texts.items():
        if few in found:
            rest = f"of {len(why.regions)} regions the precision is little known"
            yield Remark(str(few), f"of {found.count(few)} {rest}: {text}")
