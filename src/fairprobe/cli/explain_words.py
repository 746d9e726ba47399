"""Explanations in plain lines for people: the regions, then what else is known, a line or a small table each."""

from __future__ import annotations

import math

from fairprobe.cli.words import Line, aligned
from fairprobe.explanation import CaseRegion, Explanation
from fairprobe.explanation.explanation import nothing_held
from fairprobe.explanation.remedies import Decision, Remedy
from fairprobe.explanation.training_data import InData
from fairprobe.wording import POPULATIONS, counted, percent

DECISIONS = {
    Decision.MEAN: "the twins' mean outcome",
    Decision.FAVOURABLE: "the favourable one",
    Decision.CONSTANT: "a constant sensitive value",
}
"""The ways to decide a region otherwise, in the order of columns."""

MOST_SAMPLES = 2
"""Of so many shares side by side, intervals are shown."""

MOST_NODES = 2


def title_of(why: Explanation, found: str) -> str:
    """How many regions hold which part of the cases, in a sentence."""
    if not why.n_cases:
        if why.n_given:
            return nothing_held(why.n_asked, why.n_given, f"{counted(why.n_given, 'case')} {found}")
        return f"No case was {found}: there is nothing to explain, which does not say that there is none."
    among = "" if why.n_asked == why.n_given else f" of {why.n_given:,}"
    cases = f"{counted(why.n_cases, 'case')}{among} {found}"
    if not why.rules:
        return f"No region was found that holds {cases}."
    holds = "holds" if len(why.rules) == 1 else "hold"
    return f"{counted(len(why.rules), 'region')} {holds} {percent(why.coverage)} of {cases}."


def figure_parts(why: Explanation, is_told: bool) -> list[list[Line]]:
    """All there is to say below the title; tables and what is to be copied are not wrapped, so they have no indent."""
    missing: list[Line] = [
        (f"{section[:1].upper()}{section[1:]}: {said}", 2) for section, said in why.not_measured.items()
    ]
    if not why.n_cases:
        return [missing] if missing else []
    parts = [_region_lines(why), _other_lines(why, is_told), _remedy_lines(why), missing]
    return [part for part in parts if part]


# Where


def _region_lines(why: Explanation) -> list[Line]:
    if not why.rules:
        return []
    sampled = f" (of all, {percent(why.n_sampled_cases / why.n_sampled)} are cases)" if why.n_sampled else ""
    said = f"Where. Precision is of a region's inputs in {POPULATIONS[why.population]}{sampled}, coverage of the cases."
    lines: list[Line] = [(f"{said} The 95% intervals hold for all regions at once.", 2)]
    columns = [column for column in _COLUMNS if any(_COLUMNS[column](region) for region in why.rules)]
    rows = [["", *columns]]
    rows += [
        [str(place), *(_COLUMNS[column](region) or "not measured" for column in columns)]
        for place, region in enumerate(why.rules, start=1)
    ]
    header, *table = aligned(rows, left=(0, 2, len(columns)) if "in the data" in columns else (0, 2))
    indent = " " * (4 + len(str(len(why.rules))))
    lines.append((header, 0))
    for line, region in zip(table, why.rules, strict=True):
        lines += [(line, 0), (f"{indent}{region.text}", 0)]
    verdicts = {region.in_data.verdict for region in why.rules if region.in_data is not None}
    legend = [f"{verdict}: {verdict.sentence}" for verdict in InData if verdict in verdicts]
    return [*lines, *([(f"  ({'; '.join(legend)})", 3)] if legend else [])]


def _rows_inside(region: CaseRegion) -> str:
    if region.n_rows is None or region.of_rows is None:
        return ""
    return f"{region.n_rows:,} ({percent(region.of_rows)})"


def _verdict(region: CaseRegion) -> str:
    return "" if region.in_data is None or region.in_data.verdict is None else str(region.in_data.verdict)


_COLUMNS = {
    "precision": lambda region: percent(region.precision) if region.n else "",
    "interval": lambda region: f"{percent(region.low)} to {percent(region.high)}" if region.n else "",
    "coverage": lambda region: percent(region.coverage),
    "real rows": _rows_inside,
    "of the domain": lambda region: "" if region.of_domain is None else percent(region.of_domain),
    "of the density": lambda region: "" if region.of_density is None else percent(region.of_density),
    "in the data": _verdict,
}
"""What a table of regions tells of each; a column that would be empty is left out."""


# What else


def _other_lines(why: Explanation, is_told: bool) -> list[Line]:
    directions = why.directions.sentences()
    if not is_told:
        directions[-1] += " (--favourable OUTCOME says which is worse.)"
    inside = [] if why.inside is None else why.inside.sentences()[:MOST_NODES]
    said = {
        "Who is worse off" if is_told else "Who gets what": directions,
        "Through what": why.influence.sentences(),
        "How severe": [*why.severity.sentences(), *why.label_sentences()],
        "What the model looks at": [f"{'; '.join(inside)}."] if inside else [],
    }
    return [(f"{title}: {' '.join(sentences)}", 2) for title, sentences in said.items() if sentences]


# What would end it


def _remedy_lines(why: Explanation) -> list[Line]:
    if not why.remedies:
        return []
    samples = list(dict.fromkeys((each.population, each.twins) for each in why.remedies))
    decisions = [decision for decision in DECISIONS if any(_has_accuracy(r, decision) for r in why.remedies)]
    is_linked = any(twins == "linked" for _, twins in samples)
    titles = [f"{name}, {twins}" if is_linked else name for name, twins in samples]
    rows = [["", *titles, *(f"accuracy {letter}" for letter in "ABC"[: len(decisions)])]]
    first = {(each.population, each.twins): each for each in reversed(why.remedies)}
    now = [percent(each.accuracy_before) for each in why.remedies if not math.isnan(each.accuracy_before)][:1]
    rows.append(["as it is", *(percent(first[sample].before) for sample in samples), *(now * len(decisions))])
    for region in dict.fromkeys(each.region for each in why.remedies):
        own = [each for each in why.remedies if each.region == region]
        cells = [_most_left([each for each in own if (each.population, each.twins) == s], samples) for s in samples]
        after = [next(percent(each.accuracy_after) for each in own if _has_accuracy(each, d)) for d in decisions]
        rows.append([region, *cells, *after])
    title = "What would end it, simulated: the share left if all twins in a region got one outcome"
    ways = [f"{letter} {DECISIONS[decision]}" for letter, decision in zip("ABC", decisions, strict=False)]
    accuracy = f"; accuracy on the rows, by {', '.join(ways)}" if ways else ""
    return [(f"{title}{accuracy}.", 2), *((line, 0) for line in aligned(rows))]


def _has_accuracy(remedy: Remedy, decision: Decision) -> bool:
    return remedy.decision is decision and not math.isnan(remedy.accuracy_after)


def _most_left(remedies: list[Remedy], samples: list[tuple[str, str]]) -> str:
    """The share that would be left; a constant value may leave families as they are, so the largest."""
    most = max(remedies, key=lambda remedy: remedy.after)
    interval = f" ({percent(most.low)} to {percent(most.high)})" if len(samples) <= MOST_SAMPLES else ""
    return f"{percent(most.after)}{interval}"
