"""Shares in plain lines for people: figures, what they say, who gets what, the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.cli.words import WIDTH, aligned, listed, magnitude, note
from fairprobe.errors import SettingError
from fairprobe.estimate import Outcome, Share, Verdict
from fairprobe.estimate.share import POPULATIONS, interval_words, percent
from fairprobe.estimate.survey import worse_off
from fairprobe.estimate.verdict import MIN_COMPARABLE

if TYPE_CHECKING:
    import pandas as pd

METHODS = {"rows": "all rows", "sequential": "until settled"}

ENDS = ("lowest", "highest")
"""The outcomes of a model that gives a number: which end of the family's numbers a member gets."""

MOST_ROWS = 8
MOST_COLUMNS = 5


def figure_parts(
    shares: Mapping[str, Share],
    rows: list[str],
    breakdowns: Mapping[str, Mapping[str, Share]],
    verdict: list[str],
    favourable: str | None,
) -> list[list[str]]:
    """The figures and what they say, part by part; with the lines that say which rows, and the verdict's."""
    together = "  The intervals hold all together; sensitive parameters that are not named stay as they are."
    changed = [
        [f"By what is changed ({population}):", *table_lines(sets, "changed"), together]
        for population, sets in breakdowns.items()
    ]
    who = [lines for share in shares.values() if (lines := outcome_lines(share, favourable))]
    if who and favourable is None:
        who[-1].append("  (--favourable OUTCOME names the good one, to say who is worse off.)")
    sentences = []
    for name, share in side_by_side(shares).items():
        sentences.append(f"{name}: {replace(share, plain=None).sentence()}")
        if share.detail:
            sentences.append(f"  {'exact' if share.method == 'exact' else 'sampled, not exact'}: {share.detail}")
    every = [
        table_lines(shares, "population"),
        sentences,
        rows,
        [unused_line(shares) or ""],
        *changed,
        *who,
        verdict,
    ]
    return [part for part in every if any(part)]


def table_lines(shares: Mapping[str, Share], title: str) -> list[str]:
    """A row for each share."""
    confidence = percent(next(iter(shares.values())).confidence)
    rows = [[title, "share", f"{confidence} interval", "hits", "inputs", "method"]]
    for name, share in side_by_side(shares).items():
        interval = "exact" if share.method == "exact" and share.n else interval_words(share)
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
    if verdict.share.comparable < MIN_COMPARABLE:
        return "Loosen the constraints that forbid twins, or give the sensitive values that are unknown."
    if verdict.max_share == 0:
        return "A limit of 0 can be passed only by an exact share of the domain; no sample shows that there is none."
    if verdict.population == "rows":
        return "More rows would settle it, or another --max-share."
    return "A larger --experiments would settle it, or another --max-share."


# Who gets what


def classes_of_model(model: Any, output: str, favourable: str | None) -> Sequence[Any] | None:
    """The model's classes, in order; None if it does not tell. A good outcome that it cannot give is refused."""
    given = getattr(model, "classes_", None)
    classes = np.asarray(given).tolist() if given is not None and np.ndim(given) == 1 else None
    known = None if output == "score" else classes
    if output == "value" or (output == "score" and len(classes or ()) == 2):
        known = ENDS
    if favourable is not None and known is not None and match(favourable, known) is None:
        raise SettingError(f"--favourable must be an outcome of the model, one of {listed(known)}; got {favourable!r}")
    return classes


def with_outcomes(share: Share, classes: Sequence[Any] | None, output: str, favourable: str | None) -> Share:
    """The share with outcomes under the names of classes, and with who is worse off."""
    if share.plain is not None:
        share = replace(share, plain=with_outcomes(share.plain, classes, output, favourable))
    outcomes = share.outcomes
    if outcomes is None:
        return share
    # Of class probabilities the library knows only the position of the likeliest class.
    if output != "label" and classes is not None and not set(outcomes.columns) & set(ENDS):
        outcomes = outcomes.rename(columns=dict(enumerate(classes)))
    chosen = match(favourable, outcomes.columns) if favourable is not None else None
    if chosen is not None:
        return replace(share, outcomes=outcomes, worse_off=worse_off(outcomes, chosen[0]))
    if favourable is not None:
        seen = f"no discriminatory input gets the outcome {favourable!r}, only {listed(outcomes.columns)}"
        note(f"favourable-unseen: {seen}")
    return replace(share, outcomes=outcomes)


def match(text: str, outcomes: Iterable[Any]) -> tuple[Any] | None:
    """The outcome that a text stands for, in a tuple, as it may be a false one; None if there is none.

    >>> match("1", [0, 1]), match("true", [False, True]), match("1", [0.0, 1.0]), match("yes", ["no"])
    ((1,), (True,), (1.0,), None)
    """
    for reading in (str, lambda outcome: str(outcome).lower(), _as_number):
        wanted = reading(text)
        found = [outcome for outcome in outcomes if wanted is not None and reading(outcome) == wanted]
        if len(found) == 1:
            return (found[0],)
    return None


def _as_number(outcome: Any) -> float | None:
    try:
        return None if isinstance(outcome, bool) else float(outcome)
    except (TypeError, ValueError):
        return None


def outcome_lines(share: Share, favourable: str | None) -> list[str]:
    """What each combination of sensitive values gets, over the discriminatory inputs."""
    outcomes = share.outcomes
    if outcomes is None or outcomes.empty:
        return []
    names = {"rows": "rows", "domain": "inputs of the domain", "density": "inputs drawn from the density"}
    what = names.get(share.population, "inputs that the constraints allow")
    chosen = match(favourable, outcomes.columns) if favourable is not None else None
    along = f", {' and '.join(share.linked)} changed along" if share.linked else ""
    lines = [f"How often each gets which outcome, among the discriminatory {what}{along}:"]
    lines += _outcome_table(outcomes, outcomes.columns[-1] if chosen is None else chosen[0])
    if chosen is not None and share.worse_off is None:
        lines.append(f"  No one of them alone gets {chosen[0]} least often.")
    elif chosen is not None:
        least = f"{share.worse_off} gets {chosen[0]} least often"
        lines.append(f"  {least}: worse off, if {chosen[0]} is the favourable outcome.")
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
