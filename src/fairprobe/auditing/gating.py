"""The verdict of an audit: compares shares with one limit, or with limits by who is worse off."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fairprobe.errors import SettingError
from fairprobe.estimation import Matched, Outcome, Share, verdict
from fairprobe.estimation.bounds.intervals import exact_bounds, split_confidence
from fairprobe.estimation.favourable import Favourable
from fairprobe.estimation.group_rates import GroupRates
from fairprobe.estimation.share import as_number
from fairprobe.estimation.verdict import (
    EXIT_CODES,
    SEVERITY,
    UNTRAINED,
    WITHIN,
    Gate,
    condition_of,
    fitted,
    held_against,
    qualified,
    worst_of,
)
from fairprobe.wording import POPULATIONS, TWINS, between, percent

if TYPE_CHECKING:
    from fairprobe.auditing.state import AuditSettings


@dataclass(frozen=True)
class Direction:
    """The share of rows where one combination of sensitive values is worse off than a twin, compared with its limit."""

    combination: str
    limit: float
    share: Share
    outcome: Outcome

    def sentence(self) -> str:
        """Return the share that is worse off as this combination, with its interval, and the limit as a sentence."""
        share, limit = self.share, self.limit
        interval = f"{percent(share.confidence)} interval {between(share.low, share.high, limit)}"
        told = f"{share.hits:,} of {share.n:,}, {TWINS[share.compared]}, {interval}"
        return f"{self.worse_off} than as another ({told}); the limit is {percent(limit)}"

    @property
    def worse_off(self) -> str:
        """The share of the rows that get a worse outcome as this combination of sensitive values, in words."""
        whole, share = POPULATIONS[self.share.population], self.share
        by = f" by more than {share.threshold:g}" if share.threshold else ""
        return f"{percent(share.value, self.limit)} of {whole} get a worse outcome{by} as {self.combination}"

    def jsonable(self) -> dict[str, Any]:
        """Return the combination, limit, outcome and figures of the share as a dict for JSON."""
        names = ("value", "hits", "n", "low", "high", "lower", "upper", "confidence")
        return {
            "combination": self.combination,
            "twins": self.share.compared,
            "limit": self.limit,
            "outcome": self.outcome,
            **{name: as_number(getattr(self.share, name)) for name in names},
            "sentence": self.sentence(),
        }


@dataclass(frozen=True)
class Judged:
    """The verdict of an audit on all its limits."""

    outcome: str
    """One of violated, passed, inconclusive and, if no limit was given, no-limit."""
    sentence: str
    population: str
    bound: tuple[str, ...] = ()
    """Ids (see `id_of`) of the shares that the limit binds."""
    directions: tuple[Direction, ...] = ()
    """Shares by who is worse off, each with its limit; empty if no such limits were given."""
    outcomes: Mapping[str, str] = field(default_factory=dict)
    """Outcome of comparing one share with the limit, by id of each share that the limit binds."""
    condition: str | None = None
    """Condition under which the outcome holds; None if it holds without one."""
    details: tuple[str, ...] = ()
    """Sentences on the shares that the limit binds: their intervals, and the inputs that do not count."""

    @property
    def exit_code(self) -> int:
        """The exit code of `fairprobe audit` for the outcome; 0 if no limit was given."""
        return EXIT_CODES.get(self.outcome, 0)  # type: ignore[call-overload]  # an Outcome is its word

    def jsonable(self) -> dict[str, Any]:
        """Return the verdict as a dict for JSON."""
        return {
            **vars(self),
            "bound": list(self.bound),
            "outcomes": dict(self.outcomes),
            "details": list(self.details),
            "directions": [each.jsonable() for each in self.directions],
            "exit_code": self.exit_code,
            "why": self.sentence.partition(": ")[2],
        }

    def __repr__(self) -> str:
        return f"Verdict({self.sentence})"


def id_of(share: Share) -> str:
    """Return the id of a share within an audit: its population, kind of twins and sensitive parameters."""
    return f"{share.population}/{share.compared}/{' x '.join(share.sensitive)}"


def judged(shares: Mapping[str, Share], settings: AuditSettings, good: Favourable | None) -> Judged:
    """Return the verdict on the shares, by population, under the limits in the settings.

    `good` is the favourable outcome, which limits by who is worse off need.
    """
    if not shares:
        return Judged(Outcome.INCONCLUSIVE, "inconclusive: no share was measured", settings.gate or "rows")
    # Without a limit for all directions, the verdict on any limit still tells which share it would be about.
    limit = 0.0 if settings.limit is None else settings.limit
    said = verdict(shares, limit, gate=settings.gate, min_comparable=settings.min_comparable)
    sides = Gate.of(settings.gate).bound(shares[said.population])
    about = (said.population, tuple(map(id_of, sides)))
    if settings.directions:
        directions = _directions(sides, settings, good)
        worst = max(directions, key=lambda each: SEVERITY.index(each.outcome))
        sentence = f"{qualified(worst.outcome, worst.share)}: {worst.worse_off}; the limit is {percent(worst.limit)}"
        condition = condition_of(worst.outcome, worst.share)
        return Judged(worst.outcome, sentence, *about, directions=directions, condition=condition)
    if settings.limit is None:
        sentence = fitted("no limit was given: ", said.share, None, "")
        return Judged("no-limit", sentence, *about, details=said.details)
    alone = {id_of(side): held_against(side, limit, settings.min_comparable)[0] for side in sides}
    return Judged(said.outcome, said.sentence, *about, outcomes=alone, condition=said.condition, details=said.details)


def judged_by(found: Sequence[Matched] | Sequence[GroupRates], settings: AuditSettings) -> Judged:
    """Return the verdict on the shares by matched twins or on the ratios of observed rates, one for each parameter."""
    if not found:
        said = "inconclusive: the figure that the gate names was not measured, see the remarks"
        return Judged(Outcome.INCONCLUSIVE, said, "rows")
    bound = tuple(f"{Gate.of(settings.gate).twins}/{each.attribute}" for each in found)
    shown = settings.limit if settings.min_ratio is None else settings.min_ratio
    limit = shown if settings.min_ratio is None else 1 - settings.min_ratio
    details = tuple(said for each in found for said in each.sentences(shown))
    if limit is None:
        return Judged("no-limit", "no limit was given: matched twins have no verdict", "rows", bound, details=details)
    worst, told = worst_of(found, limit, settings.min_comparable)
    (outcome, why), clause = told[worst], found[worst].clause(shown)
    condition = UNTRAINED if outcome == Outcome.PASSED and settings.rows_are == "unknown" else None
    end = f"; the limit of {percent(shown)} {WITHIN}" if why == WITHIN else f"; the limit is {percent(shown)}"
    said = why if why and why != WITHIN else f"{clause}{end}"
    sentence = f"{', '.join(filter(None, [str(outcome), condition]))}: {said}"
    outcomes = {name: alone for name, (alone, _) in zip(bound, told, strict=True)}
    return Judged(outcome, sentence, "rows", bound, outcomes=outcomes, condition=condition, details=details)


def _directions(sides: list[Share], settings: AuditSettings, good: Favourable | None) -> tuple[Direction, ...]:
    """Return the share of rows where each combination with a limit is worse off, by linked and by plain twins.

    `sides` are the shares of the rows. The error (1 - confidence) of a share is split evenly over the combinations.
    """
    found = []
    for side in sides:
        rows = None if side.record is None else side.record.rows
        if side.record is None or rows is None or good is None:
            raise SettingError.about("max_share", f"by direction is about rows, got the population {side.population!r}")
        # The confidence of a side is split over the sides already.
        confidence = split_confidence(side.confidence, len(settings.directions))
        for combination, limit in settings.directions.items():
            place = rows.members.index(combination)
            worse = good.denied(rows.outputs, rows.present, place, side.threshold + side.resolution)
            share = with_bounds(side, int((worse & side.record.hits).sum()), confidence)
            found.append(Direction(combination, limit, share, held_against(share, limit, settings.min_comparable)[0]))
    return tuple(found)


def with_bounds(share: Share, hits: int, confidence: float) -> Share:
    """Return a share with another number of hits and exact bounds at a confidence; for training rows they are NaN.

    The plain share beside a linked one is left out.
    """
    ends = (math.nan,) * 4 if share.is_count else exact_bounds(hits, share.n, confidence)
    bounds: dict[str, Any] = dict(zip(("low", "high", "lower", "upper"), ends, strict=True))
    value = hits / share.n if share.n else math.nan
    return replace(share, value=value, hits=hits, confidence=confidence, plain=None, **bounds)


def at_confidence(share: Share, confidence: float) -> Share:
    """Return a share with bounds at another confidence; exact, sequential and weighted shares stay unchanged."""
    if share.method in ("exact", "sequential") or share.design:
        return share
    plain = None if share.plain is None else at_confidence(share.plain, confidence)
    other = with_bounds(share, share.hits, confidence)
    return replace(other, mean_low=None, mean_high=None, plain=plain)
