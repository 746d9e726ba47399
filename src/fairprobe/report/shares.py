"""Shares of several populations as blocks: figures side by side, sentences, who gets what, the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fairprobe.blocks import Block, Sentence, Table
from fairprobe.estimation import Outcome, Share, Verdict
from fairprobe.estimation.favourable import Favourable
from fairprobe.estimation.verdict import MIN_COMPARABLE
from fairprobe.wording import MEMBERS, POPULATIONS, between, magnitude, percent, value

if TYPE_CHECKING:
    import pandas as pd

METHODS = {"rows": "all rows", "sequential": "until settled"}
"""By method, its name in a table where that differs."""

MOST_ROWS = 8
"""Combinations of sensitive values in a table of outcomes; chosen to fit a terminal."""

MOST_COLUMNS = 5
"""Outcomes in a table of outcomes; chosen to fit a terminal."""

MOST_LETTERS = 40
"""Letters of a name in a table of outcomes; chosen to fit a terminal."""


def side_by_side(shares: Mapping[str, Share]) -> dict[str, Share]:
    """The shares by name; a linked share is followed by the plain one of its population."""
    return {
        f"{name}, {side.compared}" if side.linked or share.plain is not None else name: side
        for name, share in shares.items()
        for side in share.sides
    }


def blocks_of(
    shares: Mapping[str, Share],
    breakdowns: Mapping[str, Mapping[str, Share]],
    rows: Iterable[Block],
    good: Favourable | None,
    limit: float | None,
) -> Iterator[Block]:
    """All shares: figures, sentences, some rows that are hits, shares by set of parameters, and who gets what."""
    every = side_by_side(shares)
    yield shares_table(every, "population", limit)
    for name, share in every.items():
        yield Sentence(replace(share, plain=None).sentence(limit), name)
        if share.detail:
            yield Sentence(f"  {'exact' if share.method == 'exact' else 'sampled, not exact'}: {share.detail}")
    yield from rows
    yield from unused(every.values())
    for population, sets in breakdowns.items():
        yield shares_table(side_by_side(sets), "changed", limit, f"By what is changed ({population}):")
        yield Sentence(
            "Each interval holds by itself. Sensitive parameters that a line does not name keep their value."
        )
    for share in shares.values():
        yield from outcome_blocks(share, good)


def shares_table(shares: Mapping[str, Share], first: str, limit: float | None = None, title: str = "") -> Table:
    """One row per share; intervals have a confidence each where these differ."""
    levels = {percent(share.confidence) for share in shares.values()}

    def interval(share: Share) -> str:
        if share.method == "exact" and share.n:
            return "exact"
        level = f" ({percent(share.confidence)})" if len(levels) > 1 else ""
        return between(share.low, share.high, limit) + level

    rows = [
        (
            name,
            percent(share.value),
            interval(share),
            magnitude(share.hits),
            magnitude(share.n),
            METHODS.get(share.method, share.method),
        )
        for name, share in shares.items()
    ]
    heading = f"{next(iter(levels))} interval" if len(levels) == 1 else "interval"
    return Table.of([first, "#share", heading, "#hits", "#inputs", "method"], rows, title)


def unused(shares: Iterable[Share]) -> Iterator[Sentence]:
    """If no output changed with the sensitive parameters: what that shows, and what it does not."""
    every = list(shares)
    if any(share.hits or not share.n or share.unsteady for share in every):
        return
    share = min(every, key=lambda share: share.method != "exact")
    names, proxy = " or ".join(share.sensitive), f"Another parameter may still stand in for {share.sensitive[0]}"
    if share.threshold:
        yield Sentence(f"No gap above the threshold {share.threshold:g} was seen. Smaller gaps may exist. {proxy}.")
        return
    found = f"The model's output never changed with {names} alone: it may not use {names} at all."
    if share.method == "exact":
        found = f"The model's output never changes with {names} alone: in this domain, it does not use {names}."
    yield Sentence(f"{found} {proxy}: this figure cannot show that.")


def verdict_blocks(verdict: Verdict, which: str | None) -> list[Block]:
    """The verdict on one share, or on both where none is named; if it is open, also what would settle it."""
    both = "linked and plain" if verdict.share.plain is not None else None
    about = f", {which or both}" if which or both else ""
    blocks: list[Block] = [Sentence(verdict.sentence, f"Verdict on {POPULATIONS[verdict.population]}{about}")]
    if verdict.outcome is Outcome.INCONCLUSIVE:
        blocks.append(Sentence(f"  {_remedy(verdict)}"))
    return blocks


def _remedy(verdict: Verdict) -> str:
    share = verdict.share
    if share.unsteady:
        return "Ask the model so that it repeats itself, row by row: without random draws, in evaluation mode."
    if share.is_count:
        return "Give rows that the model was not trained on, and say so: --rows-are held-out."
    if share.has("few-groups"):
        return "More groups would settle it, or weights that differ less."
    if share.comparable < MIN_COMPARABLE:
        return "Loosen the constraints that forbid twins, or give the sensitive values that are unknown."
    if verdict.max_share == 0:
        return "A limit of 0 can be passed only by an exact share of the domain: no sample shows that there is none."
    more = "More rows" if verdict.population == "rows" else "A larger --experiments"
    return f"{more} would settle it, or another --max-share."


def outcome_blocks(share: Share, good: Favourable | None) -> Iterator[Block]:
    """How often each combination of sensitive values gets each outcome, over the discriminatory inputs."""
    outcomes = share.outcomes
    if outcomes is None or outcomes.empty:
        return
    along = f", {' and '.join(share.linked)} changed along" if share.linked else ""
    title = f"How often each gets which outcome, among the discriminatory {MEMBERS[share.population]}{along}:"
    is_seen = good is not None and good.column in outcomes.columns
    yield _rates(outcomes, good.column if good is not None and is_seen else outcomes.columns[-1], title)
    if good is None:
        yield Sentence("(--favourable OUTCOME names the good outcome, to say who is worse off.)")
    elif not is_seen:
        yield Sentence(f"None of them gets {good.column}.")
    else:
        often = "most" if good.is_low and good.place is not None else "least"
        none, worse = f"No one of them alone gets {good.column} {often} often.", share.worse_off
        one = f"{worse} gets {good.column} {often} often: worse off, if {good.word} is the favourable outcome."
        yield Sentence(none if worse is None else one)


def _rates(outcomes: pd.DataFrame, key: Any, title: str) -> Table:
    """Rates of outcomes, ordered by one of them: of many combinations the ends, of many outcomes the most frequent."""
    columns = list(outcomes.columns)
    if len(columns) > MOST_COLUMNS:
        most = outcomes.sum().sort_values(ascending=False, kind="stable").index[:MOST_COLUMNS]
        columns = [column for column in columns if column in {*most, key}]
    rates = outcomes.div(outcomes.sum(axis=1).clip(lower=1), axis=0)
    rates = rates.sort_values(key, kind="stable") if len(rates) > 2 else rates
    rows = [[_cut(name), *(f"{row[column]:.1%}" for column in columns)] for name, row in rates.iterrows()]
    if len(rows) > MOST_ROWS:
        rows[MOST_ROWS // 2 : -MOST_ROWS // 2] = [["...", *("" for _ in columns)]]
    return Table.of(["", *(f"#{_cut(column)}" for column in columns)], rows, title)


def _cut(name: Any) -> str:
    text = f"{name:.6g}" if isinstance(name, float) else str(name)
    return value(text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 3]}...")
