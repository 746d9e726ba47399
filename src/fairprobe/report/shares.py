"""Makes blocks on the shares of one or more populations: figures side by side, sentences, outcomes and the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fairprobe.blocks import Block, Sentence, Table
from fairprobe.estimation import Outcome, Share, Verdict
from fairprobe.estimation.favourable import Favourable
from fairprobe.estimation.verdict import MIN_COMPARABLE, PROXIES, unused_words
from fairprobe.report.content import Columns, figures, hits_words
from fairprobe.wording import MEMBERS, POPULATIONS, capital, value

if TYPE_CHECKING:
    import pandas as pd

METHODS = {"rows": "all rows", "sequential": "until settled"}
"""Words for a method in a table of shares, by name of the method, if they differ from the name."""

MOST_ROWS = 8
"""Largest number of rows in a table of outcomes; chosen to fit a terminal."""

MOST_COLUMNS = 5
"""Largest number of columns in a table of outcomes; chosen to fit a terminal."""

MOST_LETTERS = 40
"""Largest number of characters of a name in a table of outcomes; chosen to fit a terminal."""


def side_by_side(shares: Mapping[str, Share]) -> dict[str, Share]:
    """Return shares by name, with the plain share of a population after its linked share, under a name of its own."""
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
    """Yield blocks on all shares: figures, sentences, shares by set of parameters, and outcomes by sensitive values.

    `shares` and `breakdowns` are by population, and `rows` are blocks on discriminatory rows.
    """
    every = side_by_side(shares)
    yield _table(every, "Population", limit)
    for name, share in every.items():
        yield Sentence(replace(share, plain=None).sentence(limit), name)
        if share.detail:
            yield Sentence(f"  {'exact' if share.method == 'exact' else 'sampled, not exact'}: {share.detail}")
    yield from rows
    if not any(share.hits or not share.n or share.unsteady for share in every.values()):
        unused = unused_words(shares, min(every.values(), key=lambda share: share.method != "exact"))
        yield Sentence(f"{capital(unused or 'smaller gaps than the threshold may exist')}; {PROXIES}.")
    for population, sets in breakdowns.items():
        yield _table(side_by_side(sets), "Changed", limit, f"By what is changed ({population}):")
        text = "Each interval holds by itself. Sensitive parameters that a line does not name keep their value."
        yield Sentence(text)
    for share in shares.values():
        yield from _outcome_blocks(share, good)


def _table(shares: Mapping[str, Share], first: str, limit: float | None, title: str = "") -> Table:
    """Return a table with one row per share, by name; `first` is the title of the column of names."""
    records = [{**share.jsonable(), first: name} for name, share in shares.items()]
    columns: Columns = {first: first, **figures(1.0, lambda _: limit), "#Hits": hits_words}
    return Table.of_records(
        records, {**columns, "Method": ("method", lambda name: str(METHODS.get(name, name)))}, title
    )


def verdict_blocks(verdict: Verdict, which: str | None) -> list[Block]:
    """Return blocks with a verdict and, if it is inconclusive, advice on how to settle it.

    `which` is "linked" or "plain" if the verdict is on one of these shares only; None means all there are.
    """
    about = which or ("linked and plain" if verdict.share.plain is not None else "")
    title = ", ".join(filter(None, [f"Verdict on {POPULATIONS[verdict.population]}", about]))
    remedy = [Sentence(f"  {_remedy(verdict)}")] if verdict.outcome is Outcome.INCONCLUSIVE else []
    return [Sentence(verdict.sentence, title), *remedy]


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


def _outcome_blocks(share: Share, good: Favourable | None) -> Iterator[Block]:
    """Yield a table of how often each combination of sensitive values gets each outcome among discriminatory inputs.

    A sentence says who is worse off, if the favourable outcome `good` is known.
    """
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
        often = f"gets {good.column} {'most' if good.is_low and good.place is not None else 'least'} often"
        worse = f"{share.worse_off} {often}: worse off, if {good.word} is the favourable outcome."
        yield Sentence(f"No one of them alone {often}." if share.worse_off is None else worse)


def _rates(outcomes: pd.DataFrame, key: Any, title: str) -> Table:
    """Return a table of the fraction of each outcome (column) per combination (row), ordered by the outcome `key`.

    A large table keeps only its first and last rows and the most frequent outcomes.
    """
    rates = outcomes.div(outcomes.sum(axis=1).clip(lower=1), axis=0)
    rates = rates.sort_values(key, kind="stable") if len(rates) > 2 else rates
    kept = {*outcomes.sum().nlargest(MOST_COLUMNS).index, key}
    rates = rates[[column for column in rates.columns if column in kept]]
    rows = [[_cut(name), *(f"{rate:.1%}" for rate in row)] for name, row in rates.iterrows()]
    if len(rows) > MOST_ROWS:
        rows[MOST_ROWS // 2 : -MOST_ROWS // 2] = [["...", *("" for _ in rates.columns)]]
    return Table.of(["", *(f"#{_cut(column)}" for column in rates.columns)], rows, title)


def _cut(name: Any) -> str:
    text = f"{name:.6g}" if isinstance(name, float) else str(name)
    return value(text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 3]}...")
