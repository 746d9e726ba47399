"""`explain`: why a model treats twins differently: where, through what, who is worse off, and what would end it."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from fairprobe.arguments import Outcome
from fairprobe.blocks import Remark
from fairprobe.checks import checked_count, checked_seed
from fairprobe.domain.density import Density
from fairprobe.domain.domain import Domain
from fairprobe.errors import HealthWarning
from fairprobe.explanation.box import Axes, Box
from fairprobe.explanation.case_region import CaseRegion, Few, measured_regions
from fairprobe.explanation.directions import directions_of
from fairprobe.explanation.evidence import DrawnFrom, Evidence, base_domain, checked_rows, favourable_among
from fairprobe.explanation.explanation import Explanation
from fairprobe.explanation.given_cases import given_cases
from fairprobe.explanation.influence import influence_of
from fairprobe.explanation.inside import inside_of
from fairprobe.explanation.learning import MAX_REGIONS, learn
from fairprobe.explanation.pool import Pool
from fairprobe.explanation.remedies import remedies_of
from fairprobe.explanation.severity import relabelled_of, severity_of
from fairprobe.model import Model
from fairprobe.progress import Progress, Status, teller
from fairprobe.searching import Found

if TYPE_CHECKING:
    import pandas as pd

MAX_QUERIES = 1_000_000
N_SAMPLED = 20_000
"""Fresh inputs of the population: how many of them are cases, and who is worse off in these."""

LEARNING_PART = 0.6
"""Of the queries left, to learn regions by: what follows needs the others."""

LEAST_LEARNED = 500
"""With fewer judged inputs to learn from, that no region was found says nothing; regions are learned from 50,000."""

LEAST_MEASURED = 100
"""With fewer fresh inputs in a region, its precision is little known."""

MOST_REMEDIED = 3
"""Regions for which it is simulated what would end the cases there."""

Result = TypeVar("Result")


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
    """Explain cases: where they are, through what, who is worse off, whether it was in the data, what would end it.

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
        max_regions: no more regions.
        max_queries: never send the model more rows: with fewer, less is judged, and intervals are wider. Of too many
            cases some are asked about, evenly taken; what there is no room for is said to be not measured.
        seed: the same seed and settings give the same result; None draws one, which the result records.
        batch: "array" or "frame" to say what the model eats; by default as it was fitted.
        progress: True for lines on the standard error, or a callable that takes a `Status`.

    >>> from fairprobe import Domain, Integer, explain, search
    >>> domain = Domain([Integer("age", 17, 90), Integer("grade", 1, 9), Integer("sex", 0, 1)], sensitive=["sex"])
    >>> model = lambda X: (X[:, 0] >= 40) & (X[:, 1] >= 3) & (X[:, 2] == 1)
    >>> why = explain(search(model, domain, max_cases=100), model)
    >>> why.rules[0].text
    'age >= 40 and grade >= 3'
    """
    begun, tell = time.monotonic(), teller(progress)
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

    def part(what: str, make: Callable[[], Result]) -> Result:
        if tell is not None:
            tell(Status(f"explaining {evidence.n_cases:,} cases: {what}", {"n_queries": evidence.n_queries}))
        return make()

    sampled = part("a sample of the population", lambda: _sampled(evidence))
    evidence = replace(evidence, favourable=favourable_among(favourable, evidence, sampled))
    axes = Axes(evidence.domain)
    learning = replace(evidence, budget=evidence.budget.part(LEARNING_PART))
    pool = Pool(learning, axes, "learning")
    boxes: list[Box] = []
    if evidence.n_cases and len(axes):  # where nothing but the sensitive parameters can be moved there is no region
        boxes = part("where they are", lambda: learn(learning, axes, max_regions, pool))
    regions: list[CaseRegion] = []
    if boxes:
        regions = part("how good the regions are", lambda: measured_regions(evidence, axes, boxes, sampled))
    covered = axes.inside_any(boxes, axes.coordinates(evidence.cases.codes))
    why = Explanation(
        rules=tuple(regions),
        coverage=float(covered.mean()) if evidence.n_cases else math.nan,
        influence=part("through what", lambda: influence_of(evidence)),
        directions=part("who is worse off", lambda: directions_of(evidence, sampled)),
        severity=part("how severe they are", lambda: severity_of(evidence)),
        relabelled=part("whether labels change", lambda: relabelled_of(evidence)),
        inside=part("what the model looks at", lambda: inside_of(evidence)),
        remedies=part(
            "what would end it",
            lambda: remedies_of([region.rule for region in regions[:MOST_REMEDIED]], evidence),
        ),
        domain=evidence.domain,
        population=evidence.population.name,
        n_given=evidence.n_given,
        n_asked=evidence.n_cases + evidence.n_gone,
        n_cases=evidence.n_cases,
        n_sampled=int(sampled.comparable.sum()),
        n_sampled_cases=int(sampled.hits.sum()),
        n_queries=evidence.n_queries,
        seconds=time.monotonic() - begun,
        seed=evidence.seed,
    )
    missing = _not_measured(evidence, pool, why)
    why = replace(why, not_measured=missing, health=tuple(_health(evidence, pool, why, missing)))
    for name, message in why.health:
        warnings.warn(f"{name}: {message}", HealthWarning, stacklevel=2)
    return why


def evidence_of(
    found: Found | pd.DataFrame,
    model: Model,
    X: Any = None,
    y: Any = None,
    population: str | Density | None = None,
    *,
    domain: Domain | None = None,
    output: str | None = None,
    threshold: float | None = None,
    max_queries: int = MAX_QUERIES,
    seed: int = 0,
    batch: str | None = None,
) -> Evidence:
    """What all parts stand on; the arguments are those of `explain`."""
    own, kept = found if isinstance(found, Found) else None, None
    if own is not None and (base := base_domain(own.domain)) is not own.domain:
        # A search from rows keeps values that are none of the domain's; regions are about the domain's own.
        codes = base.encode(own.cases, nearest=True)
        kept = (codes >= 0).all(axis=1)
        found = base.decode(codes[kept])
        domain, output, threshold = base, own.output, own.threshold
    asked: dict[str, Any] = {"output": output, "threshold": threshold, "max_queries": max_queries, "batch": batch}
    given = given_cases(found, model, domain, **asked)
    n_off = 0 if kept is None else int((~kept).sum())
    who = DrawnFrom.of(own, given.domain, population)
    if X is None and own is not None and own.start is not None:
        X = own.start.frame
    rows, labels = checked_rows(given.domain, X, y)
    density = who.density
    if density is None and own is not None and own.density is not None:
        density = own.density.within(given.domain)
    return Evidence(
        model=model,
        domain=given.domain,
        oracle=given.oracle,
        budget=given.budget,
        cases=given.cases,
        n_given=len(given) + given.n_gone + given.n_unasked + n_off,
        population=who,
        density=density,
        rows=rows,
        labels=labels,
        seed=seed,
        n_unasked=given.n_unasked,
        n_off=n_off,
        places=given.numbers if kept is None else np.flatnonzero(kept)[given.numbers],
    )


def _sampled(evidence: Evidence) -> Any:
    """Fresh inputs of the population, judged."""
    n = evidence.budget.inputs(N_SAMPLED, part=0.1)
    return evidence.judge(evidence.population.sample(n, evidence.rng("sample")))


def _not_measured(evidence: Evidence, pool: Pool, why: Explanation) -> dict[str, str]:
    """By section, what to say in its place where the limit on queries left no room to measure it."""
    limit = f"Not measured: the limit of {evidence.budget.max_queries or 0:,} queries left "
    n, can_move = len(pool.hits), len(pool.axes)
    missing = {
        "regions": bool(can_move and not why.rules and n < LEAST_LEARNED),
        "directions": not why.directions.n_found + why.directions.n_sampled,
        "influence": bool(can_move and not why.influence.n_cases),
        "remedies": bool(why.rules and not why.remedies),
    }
    said = {"regions": f"{limit}room for {n:,} inputs to learn regions from, fewer than {LEAST_LEARNED:,}."}
    if not evidence.n_cases and not evidence.n_unasked:
        return {}
    return {name: said.get(name, f"{limit}no room for it.") for name, lacks in missing.items() if lacks}


def _health(evidence: Evidence, pool: Pool, why: Explanation, missing: Mapping[str, str]) -> list[Remark]:
    remarks = [*evidence.oracle.health]
    limit = f"the limit of {evidence.budget.max_queries or 0:,} queries"
    if evidence.n_unasked:
        text = (
            f"{evidence.n_unasked:,} of {evidence.n_given:,} cases were not asked about, as {limit} leaves no room: a "
            f"case and its twins take {evidence.budget.cost:,}. Those that were are evenly taken"
        )
        remarks.append(Remark("fewer-cases", text))
    if evidence.n_off:
        text = f"{evidence.n_off:,} of {evidence.n_given:,} cases hold values of rows that are none of the domain's"
        remarks.append(Remark("cases-outside", f"{text}: they were not asked about"))
    if evidence.n_gone and not evidence.oracle.health:
        text = (
            f"{evidence.n_gone:,} of {evidence.n_given:,} cases are none any more, as the model treats them and their "
            "twins alike. They are left out: is it the model that was searched?"
        )
        remarks.append(Remark("cases-gone", text))
    if missing:
        remarks.append(
            Remark("not-measured", f"{limit} left no room to measure {', '.join(missing)}: raise max_queries")
        )
    if evidence.n_cases and not why.rules and "regions" not in missing:
        remarks.append(Remark("no-regions", _no_region(pool)))
    return remarks + _little_known(why.rules, limit)


def _no_region(pool: Pool) -> str:
    """Why there is none."""
    n, hits = len(pool.hits), int(pool.hits.sum())
    if not len(pool.axes):
        return "there are no regions, as nothing but the sensitive parameters can be moved"
    if not hits:
        return f"none of {n:,} fresh inputs was a case: where cases are cannot be told from so few"
    return f"no region was found that holds cases and few other inputs, by {n:,} fresh inputs, {hits:,} of them cases"


def _little_known(regions: Sequence[CaseRegion], limit: str) -> list[Remark]:
    """The regions whose precision is little known, by the reason."""
    said = {
        Few.BUDGET: Remark("few-measured", f"{limit} left room for fewer than {LEAST_MEASURED} fresh inputs in each"),
        Few.THIN: Remark(
            "thin-regions",
            f"they are so thin in the population that fewer than {LEAST_MEASURED} inputs were found there",
        ),
        Few.APART: Remark("few-comparable", f"of their inputs fewer than {LEAST_MEASURED} can be compared with a twin"),
    }
    found = [region.few for region in regions if region.n < LEAST_MEASURED]
    rest = f"of {len(regions)} regions the precision is little known"
    return [Remark(name, f"of {found.count(why)} {rest}: {text}") for why, (name, text) in said.items() if why in found]
