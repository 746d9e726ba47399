"""How the verdict hangs on what was chosen: bounds, threshold, each link, each rule. On the population of the gate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from fairprobe.auditing.gating import at_confidence, judged
from fairprobe.auditing.settings import AuditSettings
from fairprobe.domain import Domain, Rule
from fairprobe.errors import DomainError
from fairprobe.estimation import Share
from fairprobe.estimation.favourable import Favourable
from fairprobe.estimation.gate import Gate
from fairprobe.estimation.share import as_number
from fairprobe.wording import percent

CONFIDENCES = (0.9, 0.99)
FACTORS = (0.5, 2.0)
"""Of the threshold."""

Estimate = Callable[..., Share]
"""The share of the gate's population, in another domain or with another threshold."""


def sensitivity(
    share: Share, domain: Domain, settings: AuditSettings, good: Favourable | None, estimate: Estimate
) -> Iterator[dict[str, Any]]:
    """One thing changed at a time; a row for each."""
    for confidence in CONFIDENCES:
        if confidence != settings.confidence:
            yield _row(f"bounds at {percent(confidence)}", _at(share, confidence, settings), settings, good)
    if settings.threshold:
        for factor in FACTORS:
            other = factor * settings.threshold
            what = f"threshold {other:g} instead of {settings.threshold:g}"
            yield _row(what, estimate(threshold=other), replace(settings, threshold=other), good)
    for what, changed in _without_one(domain if settings.linked is not False else domain.without_links()):
        try:
            measured = estimate(domain=changed)
        except DomainError:
            continue  # without it nothing is left to compare: the table has no such row
        yield _row(what, measured, settings, good)


def _without_one(domain: Domain) -> Iterator[tuple[str, Domain]]:
    for link in domain.links:
        links = [each for each in domain.links if each is not link]
        yield f"without the link {link.column}", domain.without_links().with_links(links)
    for rule in domain.constraints:
        rules = [each for each in domain.constraints if each is not rule]
        text = rule.text if isinstance(rule, Rule) else getattr(rule, "__name__", "of Python")
        yield f"without the rule {text}", domain.without_constraints().with_constraints(rules)


def _at(share: Share, confidence: float, settings: AuditSettings) -> Share:
    """The share of the gate with bounds at another confidence, split as it was."""
    return at_confidence(share, 1 - (1 - confidence) * (1 - share.confidence) / (1 - settings.confidence))


def _row(what: str, share: Share, settings: AuditSettings, good: Favourable | None) -> dict[str, Any]:
    said = judged({share.population: share}, settings, good)
    share = Gate.of(settings.gate).bound(share)[0]
    return {
        "what": what,
        "outcome": said.outcome,
        **{name: as_number(getattr(share, name)) for name in ("value", "low", "high", "hits", "n")},
    }
