"""A verdict on a share against a limit. It never says that a model is free of anything, only what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from fairprobe.checks import is_number
from fairprobe.errors import SettingError
from fairprobe.estimate.share import Share, percent


class Outcome(StrEnum):
    """What can be said of a limit."""

    VIOLATED = "violated"
    PASSED = "passed"
    INCONCLUSIVE = "inconclusive"


EXIT_CODES = {Outcome.PASSED: 0, Outcome.VIOLATED: 1, Outcome.INCONCLUSIVE: 4}


@dataclass(frozen=True)
class Verdict:
    """The outcome, and the sentence that explains it."""

    outcome: Outcome
    sentence: str
    population: str
    max_share: float
    share: Share

    @property
    def exit_code(self) -> int:
        """For the command line."""
        return EXIT_CODES[self.outcome]


def verdict(shares: Share | Mapping[str, Share], max_share: float, *, gate: str | None = None) -> Verdict:
    """Hold a share against the limit `max_share`.

    Of several shares by population, the limit is about `gate`; by default about the rows where there are any, else
    about the domain.
    """
    if not is_number(max_share) or not 0 <= max_share < 1:
        raise SettingError(f"max_share must be at least 0 and below 1, got {max_share!r}")
    by_population = {shares.population: shares} if isinstance(shares, Share) else dict(shares)
    gate = gate or next((name for name in ("rows", "domain", "valid") if name in by_population), None)
    if gate not in by_population:
        raise SettingError(f"gate must be one of {', '.join(by_population) or 'no population'}; got {gate!r}")
    share = by_population[gate]
    outcome = _outcome(share, max_share)
    return Verdict(outcome, _sentence(outcome, share, max_share), gate, max_share, share)


def _outcome(share: Share, limit: float) -> Outcome:
    if share.lower > limit or (limit == 0 and share.hits):
        return Outcome.VIOLATED
    return Outcome.PASSED if share.upper <= limit else Outcome.INCONCLUSIVE


def _sentence(outcome: Outcome, share: Share, limit: float) -> str:
    names = " or ".join(share.sensitive)
    text = {
        Outcome.VIOLATED: f"violated: more than the {percent(limit)} allowed change their outcome with {names}",
        Outcome.PASSED: f"passed: no more than the {percent(limit)} allowed change their outcome with {names}",
        Outcome.INCONCLUSIVE: f"inconclusive: these inputs cannot tell whether the {percent(limit)} allowed are kept",
    }[outcome]
    return f"{text} ({share.sentence()}){_unused(share, names)}"


def _unused(share: Share, names: str) -> str:
    """Without a hit: what that may mean, and what it does not."""
    if share.hits or share.threshold:
        return ""
    use = "does not use" if share.method == "exact" else "may not use"
    return (
        f". The model {use} {names} as a parameter; another may still stand in for it: "
        "look at linked parameters and proxies"
    )
