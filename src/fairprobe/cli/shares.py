"""Shares, in plain lines for people and as data for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairprobe.cli.outcomes import outcome_lines
from fairprobe.cli.tables import aligned
from fairprobe.cli.words import counted, in_flags, magnitude
from fairprobe.errors import RunError
from fairprobe.estimate import Outcome, Share, Verdict
from fairprobe.estimate.share import POPULATIONS, percent

METHODS = {"rows": "all rows", "sequential": "until settled"}


@dataclass
class SoFar:
    """The estimate under way."""

    population: str
    n: int = 0
    hits: int = 0
    low: float = 0.0
    high: float = 1.0

    def update(self, n: int, hits: int, low: float, high: float) -> None:
        """Take note of the figures of this moment."""
        self.n, self.hits, self.low, self.high = n, hits, low, high

    def words(self) -> str:
        """The figures in words."""
        share = percent(self.hits / self.n) if self.n else "0%"
        return f"{self.population}: {share} so far, {between(self.low, self.high)}, {counted(self.n, 'input')}"


@dataclass
class Estimated:
    """What came of it."""

    shares: dict[str, Share] = field(default_factory=dict)
    """By population."""
    breakdowns: dict[str, dict[str, Share]] = field(default_factory=dict)
    """By population, then set of sensitive parameters; empty if none was asked for."""
    verdict: Verdict | None = None
    unfinished: SoFar | None = None
    """The population that was under way when it ended."""
    failure: RunError | None = None
    interrupted: bool = False

    def kept(self) -> str:
        """What is there although it did not end well."""
        parts = list(self.shares)
        if self.unfinished is not None and self.unfinished.n:
            parts.append(self.unfinished.words())
        return "; ".join(parts) or "nothing"

    def as_json(self, plot: str | None) -> str:
        """One object."""
        unfinished, verdict = self.unfinished, self.verdict
        content = {
            "shares": {name: share.summary() for name, share in self.shares.items()},
            "breakdown": {name: _summaries(sets) for name, sets in self.breakdowns.items()} or None,
            "verdict": None if verdict is None else verdict_as_dict(verdict),
            "plot": plot,
            "unfinished": None if unfinished is None else dict(vars(unfinished)),
            "interrupted": self.interrupted,
            "error": None if self.failure is None else in_flags(str(self.failure)),
        }
        return json.dumps(content, default=str)


def _summaries(shares: Mapping[str, Share]) -> dict[str, Any]:
    return {name: share.summary() for name, share in shares.items()}


def verdict_as_dict(verdict: Verdict) -> dict[str, Any]:
    """A verdict, for JSON."""
    return {
        "outcome": str(verdict.outcome),
        "sentence": verdict.sentence,
        "population": verdict.population,
        "max_share": verdict.max_share,
        "exit_code": verdict.exit_code,
    }


# For people


def parts(found: Estimated, favourable: str | None) -> list[list[str]]:
    """The figures and what they say, part by part."""
    unused = unused_line(found.shares)
    every = [
        table_lines(found.shares),
        sentence_lines(found.shares),
        [unused] if unused else [],
        *breakdown_parts(found.breakdowns),
        *who_parts(found.shares, favourable),
        verdict_lines(found.verdict) if found.verdict is not None else [],
    ]
    return [part for part in every if part]


def table_lines(shares: Mapping[str, Share], title: str = "population") -> list[str]:
    """A row for each share."""
    confidence = percent(next(iter(shares.values())).confidence)
    rows = [[title, "share", f"{confidence} interval", "hits", "inputs", "method"]]
    for name, share in shares.items():
        interval = "exact" if share.method == "exact" else between(share.low, share.high)
        method = METHODS.get(share.method, share.method)
        rows.append([name, percent(share.value), interval, magnitude(share.hits), magnitude(share.n), method])
    return aligned(rows, left=(0, 2, 5))


def between(low: float, high: float) -> str:
    """An interval."""
    return f"{percent(low)} to {percent(high)}"


def sentence_lines(shares: Mapping[str, Share]) -> list[str]:
    """Each share as a sentence, and how it was found."""
    lines = []
    for name, share in shares.items():
        lines.append(f"{name}: {share.sentence()}")
        if share.detail:
            how = "exact" if share.method == "exact" else "sampled, not exact"
            lines.append(f"  {how}: {share.detail}")
    return lines


def unused_line(shares: Mapping[str, Share]) -> str | None:
    """If nothing depends on the sensitive parameters: that, and what it does not mean."""
    if any(share.hits for share in shares.values()):
        return None
    share = min(shares.values(), key=lambda share: share.method != "exact")
    names, proxy = " or ".join(share.sensitive), f"Another parameter may still stand in for {share.sensitive[0]}"
    if share.threshold:
        return f"No gap above the threshold {share.threshold:g} was seen; smaller ones may be there. {proxy}."
    if share.method == "exact":
        unused = f"The model's output never changes with {names} alone: in this domain, it does not use {names}."
    else:
        unused = f"The model's output never changed with {names} alone: it may not use {names} at all."
    return f"{unused} {proxy}: this figure cannot show that."


def breakdown_parts(breakdowns: Mapping[str, Mapping[str, Share]]) -> list[list[str]]:
    """A table for each population, a row for each set of sensitive parameters."""
    together = "  The intervals hold all together; sensitive parameters that are not named stay as they are."
    return [
        [f"By what is changed ({population}):", *table_lines(shares, "changed"), together]
        for population, shares in breakdowns.items()
    ]


def who_parts(shares: Mapping[str, Share], favourable: str | None) -> list[list[str]]:
    """Who gets what, for each population."""
    found = [lines for share in shares.values() if (lines := outcome_lines(share, favourable))]
    if found and favourable is None:
        found[-1].append("  (--favourable OUTCOME names the good one, to say who is worse off.)")
    return found


def verdict_lines(verdict: Verdict) -> list[str]:
    """The verdict and, where it is open, what would settle it."""
    said = verdict.sentence.removesuffix(f" ({verdict.share.sentence()})")  # which stands above
    lines = [f"Verdict on {POPULATIONS[verdict.population]}: {said}"]
    if verdict.outcome is Outcome.INCONCLUSIVE:
        lines.append(f"  {_remedy(verdict)}")
    return lines


def _remedy(verdict: Verdict) -> str:
    if verdict.max_share == 0:
        return "A limit of 0 can be passed only by an exact share of the domain; no sample shows that there is none."
    if verdict.population == "rows":
        return "More rows would settle it, or another --max-share."
    return "A larger --experiments would settle it, or another --max-share."


def cost_line(shares: Sequence[Share], seed: int) -> str:
    """What it took."""
    n_queries, seconds = sum(share.n_queries for share in shares), sum(share.seconds for share in shares)
    return f"{counted(n_queries, 'query')}, {seconds:.2f} s, seed {seed}"
