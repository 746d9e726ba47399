"""The verdict of an audit: `estimate.verdict` on the shares, and on what each direction of harm has of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fairprobe.auditing.settings import AuditSettings
from fairprobe.errors import SettingError
from fairprobe.estimation import Outcome, Share, Verdict, verdict
from fairprobe.estimation.bounds.intervals import clopper_pearson, lower_bound, split_confidence, upper_bound
from fairprobe.estimation.favourable import Favourable
from fairprobe.estimation.gate import Gate
from fairprobe.estimation.share import as_number
from fairprobe.estimation.verdict import EXIT_CODES, SEVERITY, condition_of, held_against, qualified, unused_words
from fairprobe.wording import percent


@dataclass(frozen=True)
class Direction:
    """Rows where one combination is worse off than another member of its family, held against a limit."""

    combination: str
    limit: float
    share: Share
    verdict: Verdict

    @property
    def twins(self) -> str:
        """Plain or linked."""
        return self.share.compared

    def sentence(self) -> str:
        """The direction in words."""
        share = replace(self.share, plain=None)
        return f"{self.combination} worse off, {percent(self.limit)} allowed: {share.sentence(self.limit)}"

    def jsonable(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        names = ("hits", "n", "low", "high", "lower", "upper", "confidence")
        return {
            "combination": self.combination,
            "twins": self.twins,
            "limit": self.limit,
            "outcome": str(self.verdict.outcome),
            "value": as_number(self.share.value),
            **{name: as_number(getattr(self.share, name)) for name in names},
            "sentence": self.sentence(),
        }


@dataclass(frozen=True)
class Judged:
    """What can be said of the limits."""

    outcome: str
    """violated, passed, inconclusive; or no-limit, where none was given."""
    sentence: str
    population: str
    bound: tuple[str, ...]
    """The ids of the shares that the limit binds."""
    directions: tuple[Direction, ...] = ()
    verdict: Verdict | None = None
    """That of all directions together, where there is a limit for them."""
    outcomes: Mapping[str, str] = field(default_factory=dict)
    """By id, each of them held against the limit by itself."""
    condition: str | None = None
    """Under which the outcome stands."""

    @property
    def exit_code(self) -> int:
        """For the command line."""
        return EXIT_CODES.get(self.outcome, 0)  # type: ignore[call-overload]  # an Outcome is its word

    def jsonable(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "outcome": self.outcome,
            "sentence": self.sentence,
            "exit_code": self.exit_code,
            "population": self.population,
            "bound": list(self.bound),
            "outcomes": dict(self.outcomes),
            "condition": self.condition,
            "why": self.sentence.partition(": ")[2],
            "directions": [each.jsonable() for each in self.directions],
        }

    def __repr__(self) -> str:
        return f"Verdict({self.sentence})"


def id_of(share: Share) -> str:
    """By which a share is known within an audit."""
    return f"{share.population}/{share.compared}/{' x '.join(share.sensitive)}"


def judged(shares: Mapping[str, Share], settings: AuditSettings, good: Favourable | None) -> Judged:
    """Hold the shares, by population, against the limits."""
    if not shares:
        return Judged(str(Outcome.INCONCLUSIVE), "inconclusive: no share was measured", settings.gate or "rows", ())
    # Where nothing is allowed or forbidden, the verdict on any limit still says which share it would be about.
    limit = settings.limit if settings.limit is not None else 0.0
    said = verdict(shares, limit, gate=settings.gate, min_comparable=settings.min_comparable)
    sides = Gate.of(settings.gate).bound(shares[said.population])
    bound = tuple(map(id_of, sides))
    if settings.directions:
        directions = _directions(sides, settings, good)
        worst = max(directions, key=lambda each: SEVERITY.index(each.verdict.outcome))
        outcome = str(worst.verdict.outcome)
        sentence = f"{qualified(outcome, worst.share)}: {worst.sentence()}"
        condition = condition_of(outcome, worst.share)
        return Judged(outcome, sentence, said.population, bound, tuple(directions), condition=condition)
    if settings.limit is None:
        sentence = (
            f"no limit was given, so there is no verdict: {said.share.sentence()}{unused_words(shares, said.share)}"
        )
        return Judged("no-limit", sentence, said.population, bound)
    alone = {id_of(side): str(held_against(side, limit, settings.min_comparable)[0]) for side in sides}
    return Judged(
        str(said.outcome),
        said.sentence,
        said.population,
        bound,
        verdict=said,
        outcomes=alone,
        condition=said.condition,
    )


def _directions(sides: list[Share], settings: AuditSettings, good: Favourable | None) -> list[Direction]:
    """By side and combination: the rows where that one is worse off; the error is split over the combinations."""
    found = []
    for side in sides:
        record = side.record
        if record is None or record.rows is None or good is None:
            raise SettingError.about("max_share", f"by direction is about rows, got the population {side.population!r}")
        # The confidence of a side is split over the sides already.
        confidence = split_confidence(side.confidence, len(settings.directions))
        for combination, limit in settings.directions.items():
            rows, place = record.rows, record.rows.members.index(combination)
            worse = good.denied(rows.outputs, rows.present, place, side.threshold + side.resolution)
            hits = int((worse & record.hits).sum())
            value = hits / side.n if side.n else math.nan
            share = replace(side, value=value, hits=hits, plain=None, **bounds_of(side, hits, confidence))
            said = verdict(share, limit, min_comparable=settings.min_comparable)
            found.append(Direction(combination, limit, share, said))
    return found


def bounds_of(share: Share, hits: int, confidence: float) -> dict[str, Any]:
    """The bounds of so many hits among the inputs of a share, as fields of it; training rows have none."""
    numbers = (hits, share.n, confidence)
    low, high = clopper_pearson(*numbers)
    bounds = {"low": low, "high": high, "lower": lower_bound(*numbers), "upper": upper_bound(*numbers)}
    return {**(dict.fromkeys(bounds, math.nan) if share.is_count else bounds), "confidence": confidence}


def at_confidence(share: Share, confidence: float) -> Share:
    """The counts of a share with bounds at another confidence; exact shares and those with a design stay."""
    if share.method == "exact" or share.design:
        return share
    plain = None if share.plain is None else at_confidence(share.plain, confidence)
    return replace(share, **bounds_of(share, share.hits, confidence), mean_low=None, mean_high=None, plain=plain)
