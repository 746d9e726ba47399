"""Shares in plain lines for people: figures, what they say, who gets what, the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fairprobe.cli.words import WIDTH, aligned
from fairprobe.estimation import Outcome, Share, Verdict
from fairprobe.estimation.favourable import Favourable
from fairprobe.estimation.verdict import MIN_COMPARABLE
from fairprobe.wording import POPULATIONS, magnitude, percent
from fairprobe.wording import between as interval_words

if TYPE_CHECKING:
    import pandas as pd

METHODS = {"rows": "all rows", "sequential": "until settled"}

MOST_ROWS = 8
MOST_COLUMNS = 5


def figure_parts(
    shares: Mapping[str, Share],
    rows: list[str],
    breakdowns: Mapping[str, Mapping[str, Share]],
    verdict: list[str],
    favourable: Favourable | None,
    limit: float | None = None,
) -> list[list[str]]:
    """The figures and what they say, part by part; with the lines that say which rows, and the verdict's."""
    others = "  Each interval holds by itself. Sensitive parameters that a line does not name stay as they are."
    changed = [
        [f"By what is changed ({population}):", *table_lines(sets, "changed", limit), others]
        for population, sets in breakdowns.items()
    ]
    who = [lines for share in shares.values() if (lines := outcome_lines(share, favourable))]
    if who and favourable is None:
        who[-1].append("  (--favourable OUTCOME names the good one, to say who is worse off.)")
    sentences = []
    for name, share in side_by_side(shares).items():
        sentences.append(f"{name}: {replace(share, plain=None).sentence(limit)}")
        if share.detail:
            sentences.append(f"  {'exact' if share.method == 'exact' else 'sampled, not exact'}: {share.detail}")
    every = [
        table_lines(shares, "population", limit),
        sentences,
        rows,
        [unused_line(shares) or ""],
        *changed,
        *who,
        verdict,
    ]
    return [part for part in every if any(part)]


def table_lines(shares: Mapping[str, Share], title: str, limit: float | None = None) -> list[str]:
    """A row for each share; each interval has its confidence where these differ."""
    every = side_by_side(shares)
    levels = {percent(share.confidence) for share in every.values()}
    heading = f"{next(iter(levels))} interval" if len(levels) == 1 else "interval"
    rows = [[title, "share", heading, "hits", "inputs", "method"]]
    for name, share in every.items():
        interval = "exact" if share.method == "exact" and share.n else interval_words(share.low, share.high, limit)
        if len(levels) > 1 and interval != "exact":
            interval += f" ({percent(share.confidence)})"
        method = METHODS.get(share.method, share.method)
        rows.append([name, percent(share.value), interval, magnitude(share.hits), magnitude(share.n), method])
    return aligned(rows, left=(0, 2, 5))


def side_by_side(shares: Mapping[str, Share]) -> dict[str, Share]:
    """The shares by name; where something is linked, the linked and the plain one of each."""
    every: dict[str, Share] = {}
    for name, share in shares.items():
        every[f"{name}, linked" if share.linked else name] = share
        if share.plain is not None:
            every[f"{name}, plain"] = share.plain
    return every


def between(low: float, high: float) -> str:
    """An interval."""
    return f"{percent(low)} to {percent(high)}"


def unused_line(shares: Mapping[str, Share]) -> str | None:
    """If nothing depends on the sensitive parameters: that, and what it does not mean."""
    every = side_by_side(shares).values()
    if any(share.hits or not share.n or share.unsteady for share in every):
        return None
    share = min(every, key=lambda share: share.method != "exact")
    names, proxy = " or ".join(share.sensitive), f"Another parameter may still stand in for {share.sensitive[0]}"
    if share.threshold:
        return f"No gap above the threshold {share.threshold:g} was seen; smaller ones may be there. {proxy}."
    if share.method == "exact":
        unused = f"The model's output never changes with {names} alone: in this domain, it does not use {names}."
    else:
        unused = f"The model's output never changed with {names} alone: it may not use {names} at all."
    return f"{unused} {proxy}: this figure cannot show that."


def verdict_lines(verdict: Verdict, which: str | None) -> list[str]:
    """The verdict on one share, or on both where none is named; where it is open, what would settle it."""
    both = "linked and plain" if verdict.share.plain is not None else None
    said = verdict.sentence
    for share in (verdict.share, replace(verdict.share, plain=None)):  # what stands above
        said = said.removesuffix(f" ({share.sentence(verdict.max_share)})")
    about = f", {which or both}" if which or both else ""
    lines = [f"Verdict on {POPULATIONS[verdict.population]}{about}: {said}"]
    if verdict.outcome is Outcome.INCONCLUSIVE:
        lines.append(f"  {_remedy(verdict)}")
    return lines


def _remedy(verdict: Verdict) -> str:
    if verdict.share.unsteady:
        return (
            "Ask the model in a way in which it repeats itself, row by row: without random draws, in evaluation mode."
        )
    if verdict.share.is_count:
        return "Give rows that the model was not trained on, and say so: --rows-are held-out."
    if verdict.share.is_few:
        return "More groups would settle it, or weights that differ less."
    if verdict.share.comparable < MIN_COMPARABLE:
        return "Loosen the constraints that forbid twins, or give the sensitive values that are unknown."
    if verdict.max_share == 0:
        return "A limit of 0 can be passed only by an exact share of the domain; no sample shows that there is none."
    if verdict.population == "rows":
        return "More rows would settle it, or another --max-share."
    return "A larger --experiments would settle it, or another --max-share."


# Who gets what


def outcome_lines(share: Share, good: Favourable | None) -> list[str]:
    """What each combination of sensitive values gets, over the discriminatory inputs."""
    outcomes = share.outcomes
    if outcomes is None or outcomes.empty:
        return []
    names = {"rows": "rows", "domain": "inputs of the domain", "density": "inputs drawn from the density"}
    what = names.get(share.population, "inputs that the constraints allow")
    along = f", {' and '.join(share.linked)} changed along" if share.linked else ""
    lines = [f"How often each gets which outcome, among the discriminatory {what}{along}:"]
    is_seen = good is not None and good.column in outcomes.columns
    lines += _outcome_table(outcomes, good.column if good is not None and is_seen else outcomes.columns[-1])
    if good is None:
        return lines
    often = "most" if good.is_low and good.place is not None else "least"
    if not is_seen:
        lines.append(f"  None of them gets {good.column}.")
    elif share.worse_off is None:
        lines.append(f"  No one of them alone gets {good.column} {often} often.")
    else:
        what = f"{share.worse_off} gets {good.column} {often} often"
        lines.append(f"  {what}: worse off, if {good.word} is the favourable outcome.")
    return lines


def _outcome_table(outcomes: pd.DataFrame, key: Any) -> list[str]:
    """Rows ordered by an outcome; of many the first and the last, of many outcomes the most frequent."""
    columns = list(outcomes.columns)
    if len(columns) > MOST_COLUMNS:
        most = outcomes.sum().sort_values(ascending=False, kind="stable").index[:MOST_COLUMNS]
        columns = [column for column in columns if column in {*most, key}]
    rates = outcomes.div(outcomes.sum(axis=1).clip(lower=1), axis=0)
    rates = rates.sort_values(key, kind="stable") if len(rates) > 2 else rates
    titles = [_cut(f"{column:.6g}" if isinstance(column, float) else str(column), 14) for column in columns]
    rows = [["", *titles], *([str(name), *(f"{rates.loc[name, c]:.1%}" for c in columns)] for name in rates.index)]
    if len(rates) > MOST_ROWS:
        rows[1 + MOST_ROWS // 2 : -MOST_ROWS // 2] = [["...", *("" for _ in columns)]]
    width = max(6, *(len(cell) for row in rows for cell in row[1:]))
    most_of_name = max(20, WIDTH - 2 - (width + 2) * len(columns))
    return aligned([[_cut(name, most_of_name), *(f"{cell:>{width}}" for cell in cells)] for name, *cells in rows])


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
