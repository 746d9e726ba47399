"""Sections of a report on what was found: rows, shares, regions, cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fairprobe.blocks import Block, Code, Interval, Section, Sentence, Table
from fairprobe.report.content import (
    Columns,
    Content,
    answers_words,
    changes_of,
    changes_words,
    confidence,
    flips_words,
    hits_words,
    interval_of,
    names,
    part_of_why,
    population_title,
    scale_of,
)
from fairprobe.wording import OUTCOMES, answer, between, closed, counted, figure, magnitude, percent, value

MOST_CASES = 20
"""Cases, and rows that get another answer, in a table; chosen. A page lists all of them."""


def rows(content: Content) -> list[Block]:
    """Rows that get another answer."""
    flips, is_linked = content["rows"]["flips"], bool(content["domain"]["links"])
    if not flips:
        return []
    changed = "a sensitive value and what is linked to it were" if is_linked else "only a sensitive value was"
    text = f"{flips_words(content)} if {changed} another."
    if len(flips) < content["rows"]["n_flipped"]:
        text += f" The report has {magnitude(len(flips))} of them."
    if not content["about"]["shows_rows"]:
        text += " Rows are people: the report names them and shows what differs, not their other values."
    columns: Columns = {
        "Row": lambda flip: value(flip["row"]),
        "What differs": lambda flip: changes_words(flip["changes"]),
        "Answers": lambda flip: answers_words(flip["answers"]),
    }
    return [Sentence(text), Table.of_records(flips[:MOST_CASES], columns, name="flips")]


def shares(content: Content) -> list[Block]:
    """All shares, and the limits for one side."""
    if not content["shares"]:
        return []
    limit = content["question"]["max_share"]
    text = "The share of each population whose answer changes with a sensitive value, with its interval."
    text += f" The limit is {percent(limit)}; the last column marks the shares that it binds." if limit else ""
    main = [share for share in content["shares"] if share["is_main"]]
    return [
        Sentence(text),
        shares_table(content, content["shares"]),
        *(Sentence(_share_words(share), f"{population_title(share)}, {share['twins']} twins") for share in main),
        *_sides(content),
    ]


def shares_table(content: Content, shown: Iterable[Mapping[str, Any]]) -> Table:
    """Shares with their intervals; those that the limit binds are marked."""
    limit, end = content["question"]["max_share"], scale_of(content)
    bound = content["verdict"]["bound"] if limit is not None else []

    def limit_of(share: Mapping[str, Any]) -> float | None:
        return limit if share["id"] in bound else None

    columns: Columns = {
        "Population": population_title,
        "Twins": lambda share: share["twins"],
        "Sensitive": lambda share: names(share["sensitive"]),
        "#Share": lambda share: percent(share["value"], limit_of(share)),
        "Interval": lambda share: interval_of(share, end, limit_of(share)),
        "#Confidence": confidence,
        "#Hits": hits_words,
        **({"Limit": lambda share: "bound" if share["id"] in bound else ""} if bound else {}),
    }
    return Table.of_records(shown, columns)


def _share_words(share: Mapping[str, Any]) -> str:
    worse_off = f" Most often worse off: {value(share['worse_off'])}." if share["worse_off"] else ""
    left_out = f" {counted(share['n_left_out'], 'input')} left out." if share["n_left_out"] else ""
    return closed(share["sentence"]) + worse_off + left_out


def _sides(content: Content) -> list[Block]:
    """Limits by who is worse off."""
    sides, end = content["verdict"]["directions"], scale_of(content)
    columns: Columns = {
        "Worse off": lambda side: value(side["combination"]),
        "Twins": lambda side: side["twins"],
        "#Limit": lambda side: percent(side["limit"]),
        "#Share": lambda side: percent(side["value"], side["limit"]),
        "Interval": lambda side: interval_of(side, end, side["limit"]),
        "#Confidence": confidence,
        "Verdict": lambda side: OUTCOMES.get(side["outcome"], side["outcome"]),
    }
    return [Section("Limits for one side", (Table.of_records(sides, columns),))] if sides else []


def regions(content: Content) -> list[Block]:
    """The regions that hold most of the cases, each with its rule."""
    found = part_of_why(content, "regions")
    if not found:
        return []
    why = content["why"]
    holding = counted(len(found), "region holds", "regions hold")
    text = f"{holding} {percent(why['coverage'])} of {counted(why['n_cases'], 'case')}. Those that touch most people "
    text += "come first. fairprobe takes a rule as it is."
    rows_are = "training data" if content["about"]["data"]["role"] == "training" else "rows"
    return [Sentence(text), *(_region(place, each, rows_are) for place, each in enumerate(found, start=1))]


def _region(place: int, region: Mapping[str, Any], rows_are: str) -> Section:
    facts: dict[str, Any] = {"Cases among its inputs": percent(region["precision"])}
    if region["n"]:
        text = f"{percent(region['precision'])} ({between(region['low'], region['high'])})"
        facts["Cases among its inputs"] = Interval(text, region["low"], region["precision"], region["high"])
    facts["Of the cases found"] = percent(region["coverage"])
    if region["n_rows"] is not None:
        facts["Real people in it"] = f"{magnitude(region['n_rows'])} ({percent(region['of_rows'])} of the rows)"
    elif region["of_density"] is not None:
        facts["Of the density"] = percent(region["of_density"])
    if region["of_domain"] is not None:
        facts["Of the domain"] = percent(region["of_domain"])
    blocks: list[Block] = [Code(region["text"]), Table((), tuple(facts.items()))]
    if region["directions"] and region["directions"]["sentences"]:
        blocks.append(Sentence(" ".join(region["directions"]["sentences"]), "Who is worse off"))
    if region["in_data"]:
        blocks.append(Sentence(closed(region["in_data"]["sentence"]), f"In the {rows_are}"))
    return Section(f"Region {place}", tuple(blocks))


def cases(content: Content) -> list[Block]:
    """Cases with their twins."""
    found = content["cases"]
    if not found:
        return []
    text = "Each case is an input with a twin that the model answers differently, though only the marked values differ."
    text += " The most severe and plausible cases come first." if found[0]["severity"] is not None else ""
    text += f" The report has {counted(len(found), 'case')}. A directed search found them, so their number does not "
    text += "say how common such inputs are."
    columns: Columns = {
        "Case": lambda case: value(case["id"]),
        "What differs": lambda case: changes_words(changes_of(case)),
        "Answers": lambda case: " → ".join(value(answer(output)) for output in case["outputs"]),
        "#Severity": lambda case: figure(case["severity"]),
        "Equal in both": _equal_in_both,
    }
    return [Sentence(text), Table.of_records(found[:MOST_CASES], columns, name="cases")]


def _equal_in_both(case: Mapping[str, Any]) -> str:
    return ", ".join(f"{value(name)} {value(of)}" for name, of in case["case"].items() if name not in case["twin"])
