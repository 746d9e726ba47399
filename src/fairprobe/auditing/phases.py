"""The phases of an audit: each is a function that adds to the state what it measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairprobe.auditing import gating
from fairprobe.auditing.sensitivity import sensitivity
from fairprobe.auditing.state import AuditState
from fairprobe.domain import Domain
from fairprobe.errors import DataError, FairprobeError, ModelError, SettingError
from fairprobe.estimation import Share, breakdown, estimate, proxies
from fairprobe.estimation.gate import UNBOUND
from fairprobe.estimation.populations import known_rows
from fairprobe.explanation import explain
from fairprobe.model.asking import Asker
from fairprobe.searching import search
from fairprobe.searching.settings import StopReason

MOST_SETS = 3
"""Sensitive parameters of which every set has a share; with more of them, each alone and all together. Chosen."""


def measure_shares(run: AuditState) -> None:
    """Measure the shares, population after population, the one of the gate first."""
    for name, population in run.populations.items():
        try:
            run.sets[name] = estimated(run, population, name)
        except Exception as error:
            if not run.sets:
                raise  # without the share of the gate there is no verdict
            run.remark("no-share", f"{name}: {in_words(error)}", "shares")
            continue
        run.tell(f"{name}: {run.main[name].sentence()}", is_over=True)
    if "rows" in run.sets:
        run.n_relabelled = _relabelled(run)


def estimated(run: AuditState, population: Any, name: str, **changes: Any) -> list[Share]:
    """The shares of a population by set of sensitive parameters; the last is of all of them together."""
    settings, domain = run.settings, changes.get("domain", run.domain)
    names = list(domain.sensitive)
    found = breakdown(
        run.model,
        domain,
        population,
        sets=None if len(names) <= MOST_SETS else [*([each] for each in names), names],
        n_experiments=settings.n_experiments,
        n_samples=settings.n_samples,
        confidence=settings.confidence,
        method=settings.method,
        threshold=changes.get("threshold", settings.threshold),
        output=settings.output,
        seed=run.seed,
        batch=settings.batch,
        linked=settings.linked if domain.links else None,
        favourable=run.favourable,
        rows_are=settings.rows_are,
        gate=settings.gate if name == next(iter(run.populations)) else UNBOUND,
        store=run.next_store(name),
        model_id=run.model_id if run.store else None,
        progress=run.under_way(name),
    )
    *apart, together = found.values()
    return [*(gating.at_confidence(share, settings.confidence) for share in apart), together]


def _relabelled(run: AuditState) -> int | None:
    """Count the rows whose label changes; None where it is known already, or where the model gives no labels."""
    settings, linked = run.settings, run.settings.linked if run.domain.links else None
    if settings.output not in ("score", "proba") or run.asker is None or run.asker.adapter.is_function:
        return None
    rows = run.rows.reset_index(drop=True)
    try:
        share = estimate(run.model, run.domain, rows, linked=linked, seed=run.seed, batch=settings.batch)
    except (ModelError, SettingError):
        return None
    run.sampled("shares", "labels", "all rows given", share.n_queries, share.n)
    return len(set().union(*(side.cases.index for side in share.sides if side.cases is not None)))


def measure_impact(run: AuditState) -> None:
    """Measure how often real rows get the good outcome as they are, by sensitive value."""
    if run.favourable is None or not run.favourable.is_label:
        return
    asker = Asker(run.model, run.domain, output="label", batch=run.settings.batch)
    rows, _ = known_rows(run.domain.rows(run.rows))  # as for shares: rows of an unknown value are not asked about
    good = np.asarray(asker.ask_frame(rows) == run.favourable.word)
    run.sampled("impact", "rows as they are", "all rows given", len(rows))
    for name in run.domain.sensitive:
        column = rows[name].astype(object)
        masks = {value: (column == value).to_numpy() for value in sorted(column.dropna().unique(), key=_type_and_value)}
        rates = {value: float(good[mask].mean()) for value, mask in masks.items()}
        best = max(rates.values(), default=0.0)
        run.impact += [
            {
                "sensitive": name,
                "value": value,
                "n": int(mask.sum()),
                "favourable": int(good[mask].sum()),
                "rate": rates[value],
                "ratio": rates[value] / best if best else None,
            }
            for value, mask in masks.items()
        ]


def _type_and_value(value: Any) -> tuple[str, Any]:
    return str(type(value)), value


def search_cases(run: AuditState) -> None:
    """Search for cases from the rows, within the density where there is one."""
    settings = run.settings
    if not _can_differ(run.domain):
        text = "no twin differs to the model, so there is nothing to search for"
        run.remark("nothing-to-compare", text, "search")
        return
    density = run.fit_density()
    arguments: dict[str, Any] = {
        "max_cases": settings.search_cases,
        "max_judged": settings.max_judged,
        "max_barren": settings.max_barren,
        "threshold": settings.threshold,
        "output": settings.output,
        "seed": run.seed,
        "batch": settings.batch,
        "linked": settings.linked is not False,
        "progress": run.under_way("search") or False,
        "store": run.next_store("search"),
        "model_id": run.model_id if run.store else None,
        **({} if density is None else {"density": density, "min_plausibility": settings.min_plausibility}),
    }
    try:
        run.found = search(run.model, run.domain, start=run.rows, **arguments)
    except DataError as error:  # no row can be started from
        run.remark("not-from-rows", f"{error}", "search")
        run.found = search(run.model, run.domain, **arguments)
    if run.found.stop_reason is StopReason.INTERRUPTED:
        run.interrupted = run.phase
    run.tell(f"search: {run.found.n_cases:,} cases in {run.found.n_distinct:,} inputs", is_over=True)


def _can_differ(domain: Domain) -> bool:
    """Whether twins can be different rows to the model at all."""
    return bool(domain.links) or set(domain.sensitive) != set(domain.hidden)


def explain_cases(run: AuditState) -> None:
    """Explain the cases that were found."""
    if run.found is None or not run.found.n_cases:
        return
    run.why = explain(
        run.found,
        run.model,
        run.rows,
        run.labels,
        favourable=run.favourable,
        max_queries=run.settings.explain_queries,
        seed=run.seed,
        batch=run.settings.batch,
        progress=run.under_way("why") or False,
    )
    run.tell(f"why: {run.why.sentences()[0]}", is_over=True)


def measure_proxies(run: AuditState) -> None:
    """Measure which of the other columns reveal the sensitive ones."""
    rows, names = run.rows[list(run.domain.names)], run.domain.sensitive
    run.proxies = proxies(rows, names, confidence=run.settings.confidence, seed=run.seed)


def measure_sensitivity(run: AuditState) -> None:
    """Ask the question again with one thing changed at a time, on the population of the gate."""
    name = run.judged.population
    population = run.populations[name]

    def changed(**changes: Any) -> Share:
        share = estimated(run, population, name, **changes)[-1]
        run.sampled("sensitivity", "the same inputs again", name, share.n_queries, share.n)
        return share

    run.sensitivity = list(sensitivity(run.main[name], run.domain, run.settings, run.favourable, changed))


def retrain_model(run: AuditState) -> None:
    """Try whether training can make the shares smaller."""
    from fairprobe.retraining import retrain

    settings, good = run.settings, run.favourable
    run.retrained = retrain(
        run.model,
        run.rows,
        run.labels,
        run.domain,
        max_seconds=settings.retrain_seconds,
        favourable=None if good is None else good.label,
        seed=run.seed,
        confidence=settings.confidence,
        threshold=settings.threshold,
        output=settings.output,
        batch=settings.batch,
        search_seconds=None,
        progress=run.under_way("retraining") or False,
    )


def in_words(error: Exception) -> str:
    """An error as the text of a remark."""
    return str(error) if isinstance(error, FairprobeError) else f"{type(error).__name__}: {error}"


PHASES: dict[str, Callable[[AuditState], None]] = {
    "shares": measure_shares,
    "impact": measure_impact,
    "search": search_cases,
    "why": explain_cases,
    "proxies": measure_proxies,
    "sensitivity": measure_sensitivity,
    "retraining": retrain_model,
}
"""By name, the phases in order."""
