"""The phases of an audit: each is a function that adds its results to the state of the audit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from fairprobe.auditing.gating import at_confidence, judged
from fairprobe.auditing.state import AuditState
from fairprobe.domain import Domain
from fairprobe.domain.constraints import rule_words
from fairprobe.domain.values import plain
from fairprobe.errors import DataError, DomainError, FairprobeError, ModelError, SettingError
from fairprobe.estimation import Share, breakdown, estimate, proxies
from fairprobe.estimation.bounds.intervals import split_confidence
from fairprobe.estimation.favourable import in_order
from fairprobe.estimation.group_rates import FEWEST, group_rates
from fairprobe.estimation.matched import matched_share
from fairprobe.estimation.populations import known_rows
from fairprobe.estimation.share import as_number
from fairprobe.estimation.verdict import IMPACT, UNBOUND, Gate
from fairprobe.explanation import explain
from fairprobe.model.asking import Asker
from fairprobe.model.known import is_repeatable
from fairprobe.searching import search
from fairprobe.searching.limits import StopReason
from fairprobe.wording import counted, listed, percent

MOST_SETS = 3
"""Largest number of sensitive parameters with which a share is measured for every set of them; chosen.

With more, shares are measured for each parameter alone and for all together."""

CONFIDENCES = (0.9, 0.99)
"""Confidences (probabilities) at which the verdict is recomputed, to show how it depends on them; chosen."""

TO_POPULATION, TO_SEARCH = 0.25, 0.5
"""Part of the queries left that one further population may take, and that the search may; chosen. The explanation may
take all that is left then."""

FACTORS = (0.5, 2.0)
"""Factors by which the threshold is multiplied to recompute the verdict; chosen."""


def measure_shares(run: AuditState) -> None:
    """Measure the shares of each population and add them to the state.

    The first population is the one that the limit binds. An error in it is raised; for any other population, it becomes
    a remark. Further populations are left out if no twins differ to the model.
    """
    for name in run.populations:
        if run.sets and _nothing_differs(run.domain):
            continue
        try:
            population, is_first = run.population(name), not run.sets
            if population is None:
                continue
            run.sets[name] = estimated(run, population, name)
        except Exception as error:
            if not run.sets:
                raise  # without the share of the gate there is no verdict
            run.remark("no-share", f"{name}: {in_words(error)}", "shares")
            continue
        if is_first and Gate.of(run.settings.gate).is_of_twins:
            run.tell(run.judged.sentence, is_over=True)
        run.tell(f"{name}: {run.main[name].sentence()}", is_over=True)
        if is_first:
            run.tell_each(rates_words(run.main[name]))
    if "rows" in run.sets:
        run.n_relabelled = _relabelled(run)


def estimated(run: AuditState, population: Any, name: str, **changes: Any) -> list[Share]:
    """Return the shares of a population, one for each set of sensitive parameters, the set of all parameters last.

    `changes` replace arguments of `breakdown`, which measures the shares.
    """
    settings = run.settings
    some = ("n_experiments", "n_samples", "confidence", "method", "threshold", "output", "batch", "rows_are", "seed")
    asked = {"domain": run.domain, **settings.some(*some), **run.next_store(name), **changes}
    names, is_bound = list(asked["domain"].sensitive), name == next(iter(run.populations))
    asked |= {
        "sets": None if len(names) <= MOST_SETS else [*([each] for each in names), names],
        "linked": settings.linked if asked["domain"].links else None,
        "gate": settings.gate if is_bound and Gate.of(settings.gate).is_of_twins else UNBOUND,
        "width": None if is_bound else settings.width,
    }
    if not is_bound and name != "rows":
        asked["n_experiments"] = _affordable(run, name, len(asked["domain"].families))
    told: dict[str, Any] = {"favourable": run.favourable, "progress": run.under_way(name)}
    *apart, together = breakdown(run.model, population=population, **asked, **told).values()
    is_wide = settings.width is None or together.width > settings.width
    if asked["n_experiments"] < settings.n_experiments and is_wide and together.method != "exact":
        n = counted(asked["n_experiments"], "experiment")
        run.remark("short-budget", f"{name}: the queries left for it allow {n}, fewer than asked", "shares")
    return [*(at_confidence(share, settings.confidence) for share in apart), together]


def _affordable(run: AuditState, name: str, n_members: int) -> int:
    """Return the number of experiments of a sample that its part of the budget of queries allows."""
    settings = run.settings
    n_sides, part = 2 if run.domain.links and settings.linked is None else 1, int(run.n_left * TO_POPULATION)
    n = part // (n_sides * n_members * settings.n_samples)
    if n < 1:
        raise SettingError.about("max_queries", f"leaves {part:,} queries for {name}, too few for one experiment")
    return min(n, settings.n_experiments)


def rates_words(share: Share) -> list[str]:
    """Return a sentence on the highest and the lowest rate of the favourable outcome by combination, if known."""
    known = None if share.rates is None else share.rates[share.rates["n"] > 0].sort_values("rate", kind="stable")
    if known is None or len(known) < 2:
        return []
    (low, least), (high, most) = (known[["combination", "rate"]].iloc[place] for place in (0, -1))
    return [f"rates of {share.rated}: {percent(most)} if everybody were {high}, {percent(least)} if {low}"]


def _relabelled(run: AuditState) -> int | None:
    """Return the number of rows whose label changes with a sensitive parameter, in an audit of scores or probabilities.

    None means that another output is compared or that the model gives no labels.
    """
    settings, linked = run.settings, run.settings.linked if run.domain.links else None
    if settings.output not in ("score", "proba") or run.asker is None or run.asker.adapter.is_function:
        return None
    rows = run.rows.reset_index(drop=True)
    try:
        share = estimate(run.model, run.domain, rows, linked=linked, **settings.some("seed", "batch"))
    except (ModelError, SettingError):
        return None
    n_queries = sum(side.n_queries for side in share.sides)
    run.sampling.append(("shares", "labels", "all rows given", share.n, n_queries))
    return len(set().union(*(side.cases.index for side in share.sides if side.cases is not None)))


def measure_matched(run: AuditState) -> None:
    """Measure the share by matched twins for each sensitive parameter that the model does not take."""
    settings = run.settings
    asked = settings.some("keep", "seed", "output", "threshold", "batch", "rows_are")
    names = [name for name in run.domain.hidden if name in run.domain.sensitive]
    for name in names:
        asked["confidence"] = split_confidence(settings.confidence, len(names))
        given = None if run.favourable is None else run.favourable.word
        found = matched_share(run.model, run.domain, run.rows, attribute=name, favourable=given, **asked)
        run.matched.append(found)
        for check, message in found.health:
            run.remark(check, message, "matched")
        what = f"matched twins of the other {name}"
        run.sampling.append(("matched", what, "all rows given", found.n, found.n_queries))
        run.tell(f"matched: {found.sentence()}", is_over=True)


def measure_impact(run: AuditState) -> None:
    """Measure how often the rows, unchanged, get the favourable label, by value of each sensitive parameter.

    Where the verdict is about the ratio of these rates, the error of intervals is split over the parameters.
    """
    settings, good, names = run.settings, run.favourable, run.domain.sensitive
    if good is None or not good.is_label:
        return
    rows, _ = known_rows(run.domain.rows(run.rows))  # as for shares: rows of an unknown value are not asked about
    asker = Asker(run.model, run.domain, output="label", batch=settings.batch)
    gets = np.asarray(asker.ask_frame(rows) == good.word)
    run.sampling.append(("impact", "rows as they are", "all rows given", len(rows), len(rows)))
    is_bound = Gate.of(settings.gate).twins == IMPACT
    confidence = split_confidence(settings.confidence, len(names) if is_bound else 1)
    unsteady = next((each for share in run.main.values() if (each := share.unsteady)), None)
    for name in names:
        values = [plain(each) for each in rows[name].astype(object)]
        groups = in_order(values)
        own = np.array([*map({each: place for place, each in enumerate(groups)}.get, values)])
        is_count = settings.rows_are == "training"
        found = group_rates(name, own, groups, gets, good.word, confidence, is_count=is_count)
        run.impact.append(replace(found, unsteady=unsteady))
        if found.small:
            text = f"{name}: a group with fewer than {FEWEST} rows is not compared: {listed(found.small)}"
            run.remark("small-group", text, "impact")
        run.tell(f"impact: {found.sentences()[0]}", is_over=True)


def _nothing_differs(domain: Domain) -> bool:
    """Return True if all twins are the same to the model: it takes no sensitive parameter, and none has a link."""
    return not domain.links and set(domain.sensitive) == set(domain.hidden)


def search_cases(run: AuditState) -> None:
    """Search for cases from the rows, among plausible inputs if a density was fitted, and add them to the state."""
    settings, domain = run.settings, run.domain
    if _nothing_differs(domain):
        text = "no twin differs to the model, so there is nothing to search for"
        run.remark("nothing-to-compare", text, "search")
        return
    density, store = run.fit_density(), run.next_store("search")
    asked: dict[str, Any] = settings.some("max_judged", "max_barren", "threshold", "output", "batch", "seed") | store
    n_left = int(run.n_left * TO_SEARCH)
    n_judged = n_left // (len(domain.families) * (1 if is_repeatable(run.model) else 2))
    if n_judged < 1:
        run.remark("short-budget", f"not searched: {n_left:,} queries are left for it, too few for one input", "search")
        return
    if n_judged < settings.max_judged:
        text = f"the {n_left:,} queries left for the search allow {n_judged:,} of {settings.max_judged:,} judged inputs"
        run.remark("short-budget", text, "search")
        asked["max_judged"] = n_judged
    asked |= {"max_cases": settings.search_cases, "linked": settings.linked is not False}
    asked |= {} if density is None else {"density": density, "min_plausibility": settings.min_plausibility}
    asked["progress"] = run.under_way("search")
    try:
        run.found = search(run.model, domain, start=run.rows, **asked)
    except DataError as error:  # no row can be started from
        run.remark("not-from-rows", f"{error}", "search")
        run.found = search(run.model, domain, **asked)
    if run.found.stop_reason is StopReason.INTERRUPTED:
        run.interrupted = run.phase
    run.tell(f"search: {run.found.n_cases:,} cases in {run.found.n_distinct:,} inputs", is_over=True)


def explain_cases(run: AuditState) -> None:
    """Explain the cases that the search found, and add the explanation to the state."""
    if run.found is None or not run.found.n_cases:
        return
    most = run.settings.explain_queries
    if run.n_left < most:
        text = f"{run.n_left:,} queries are left for the explanation, fewer than its {most:,}"
        run.remark("short-budget", text, "why")
        if run.n_left < 1:
            return
    asked = {**run.settings.some("seed", "batch"), "max_queries": min(most, run.n_left)}
    asked |= {"favourable": run.favourable, "progress": run.under_way("why")}
    run.why = explain(run.found, run.model, run.rows, run.labels, **asked)
    run.tell(f"why: {run.why.sentences()[0]}", is_over=True)


def measure_proxies(run: AuditState) -> None:
    """Measure how well other columns reveal the sensitive ones, and add the result to the state."""
    rows, names = run.rows[list(run.domain.names)], run.domain.sensitive
    run.proxies = proxies(rows, names, confidence=run.settings.confidence, seed=run.settings.seed)


def measure_sensitivity(run: AuditState) -> None:
    """Recompute the verdict with one confidence, threshold, link or constraint changed at a time.

    The population is the one that the limit binds. Each change adds a row to `run.sensitivity`.
    """
    settings = run.settings
    if not Gate.of(settings.gate).is_of_twins:
        return  # what is changed here is not what the verdict rests on
    population = run.judged.population
    share = run.main[population]
    rest = (1 - share.confidence) / (1 - settings.confidence)  # the part of the error that this share has
    for confidence in CONFIDENCES:
        if confidence != settings.confidence:
            other = at_confidence(share, 1 - (1 - confidence) * rest)
            _add_row(run, f"bounds at {percent(confidence)}", other)
    changes: list[tuple[str, dict[str, Any]]] = []
    if now := settings.threshold:
        changes = [(f"threshold {each * now:g} instead of {now:g}", {"threshold": each * now}) for each in FACTORS]
    domain = run.domain.without_links() if settings.linked is False else run.domain
    changes += [(f"without the {what}", {"domain": changed}) for what, changed in _without_one(domain)]
    as_plain = f"without the link {domain.links[0].column}" if len(domain.links) == 1 else ""
    for what, change in changes:
        if share.plain is not None and what == as_plain:
            _add_row(run, what, at_confidence(share.plain, settings.confidence))
            continue
        needed = (share.n + share.n_not_comparable) * len(run.domain.families)
        if run.n_left < needed:
            text = f"{what}: not recomputed, {run.n_left:,} queries are left of the {needed:,} that it takes"
            run.remark("short-budget", text, "sensitivity")
            continue
        try:
            other = estimated(run, run.population(population), population, **change)[-1]
        except DomainError:
            continue  # without it nothing is left to compare: the table has no such row
        n_queries = sum(side.n_queries for side in other.sides)
        run.sampling.append(("sensitivity", "the same inputs again", population, other.n, n_queries))
        _add_row(run, what, other)


def _without_one(domain: Domain) -> Iterator[tuple[str, Domain]]:
    for link in domain.links:
        links = [each for each in domain.links if each is not link]
        yield f"link {link.column}", domain.without_links().with_links(links)
    for rule in domain.constraints:
        rules = [each for each in domain.constraints if each is not rule]
        yield f"rule {rule_words(rule)}", domain.without_constraints().with_constraints(rules)


def _add_row(run: AuditState, what: str, share: Share) -> None:
    outcome = judged({share.population: share}, run.settings, run.favourable).outcome
    bound = Gate.of(run.settings.gate).bound(share)[0]
    figures = {name: as_number(getattr(bound, name)) for name in ("value", "low", "high", "hits", "n")}
    run.sensitivity.append({"what": what, "outcome": outcome, **figures})


def retrain_model(run: AuditState) -> None:
    """Retrain the model to see if its shares can become smaller, and add the result to the state."""
    from fairprobe.retraining import retrain

    settings = run.settings
    asked = settings.some("confidence", "threshold", "output", "batch", "seed")
    asked |= {"max_seconds": settings.retrain_seconds, "search_seconds": None, "progress": run.under_way("retraining")}
    favourable = None if run.favourable is None else run.favourable.label
    run.retrained = retrain(run.model, run.rows, run.labels, run.domain, favourable=favourable, **asked)


def check_installation(run: AuditState) -> None:
    """Check that fairprobe measures correctly on this machine, or take the result that was given."""
    asked = run.settings.selfcheck
    run.selfcheck = _selfchecked() if asked is True else asked or None


@cache
def _selfchecked() -> dict[str, Any]:
    from fairprobe.testing.selfcheck import selfcheck

    said = selfcheck()
    return {"ok": said.ok, "line": said.line}


def in_words(error: Exception) -> str:
    """Return the text of a remark about an error; the type comes first if it is not an error of fairprobe."""
    return str(error) if isinstance(error, FairprobeError) else f"{type(error).__name__}: {error}"


PHASES: dict[str, Callable[[AuditState], None]] = {
    "shares": measure_shares,
    "matched": measure_matched,
    "impact": measure_impact,
    "search": search_cases,
    "why": explain_cases,
    "proxies": measure_proxies,
    "sensitivity": measure_sensitivity,
    "retraining": retrain_model,
    "selfcheck": check_installation,
}
"""Functions of the phases by name, in the order in which an audit runs them."""
