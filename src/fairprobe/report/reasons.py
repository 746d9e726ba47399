"""Sections of a report on the reasons for cases, and on what would change them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairprobe.blocks import Block, Items, Section, Sentence, Table
from fairprobe.report.content import Content, interval_of, part_of_why, plots_in, population_title
from fairprobe.wording import (
    NOT_MEASURED,
    OUTCOMES,
    POPULATION_TITLES,
    between,
    closed,
    counted,
    figure,
    magnitude,
    percent,
    value,
)

MOST_PROXIES = 12
"""Columns in the table of proxies; chosen. `audit.json` has all of them."""

MOST_REMEDIES = 16
"""Rows in the table of simulated remedies; chosen. `audit.json` has all of them."""


def directions(content: Content) -> list[Block]:
    """Who is worse off, and how often."""
    told = part_of_why(content, "directions")
    if not told or not told.get("directions"):
        return []
    return [*map(Sentence, told["sentences"]), *plots_in(content, "directions", told["sentences"])]


def influence(content: Content) -> list[Block]:
    """Which parameters end a case when they change, and how severe cases are."""
    told = part_of_why(content, "influence")
    if not told or not told.get("parameters"):
        return []
    severity = (part_of_why(content, "severity") or {}).get("sentences", [])
    more = [*severity, *content["why"].get("label_sentences", [])]
    figures = plots_in(content, "influence", told["sentences"])
    return [*map(Sentence, [*told["sentences"], *more]), *figures]


def inside(content: Content) -> list[Block]:
    """Where the model itself uses the sensitive parameters."""
    told = (part_of_why(content, "inside") or {}).get("sentences")
    return [Items(tuple(told))] if told else []


def proxies(content: Content) -> list[Block]:
    """Columns from which the sensitive parameters can be told."""
    told = content["proxies"]
    if not told:
        return []
    cells = [
        (value(row["sensitive"]), value(row["column"]), value(row["value"]), figure(row["auc"]), _figures(row))
        for row in told["table"][:MOST_PROXIES]
    ]
    columns = ["Sensitive", "Revealed by", "Value revealed best", "AUC", "Interval"]
    table = Table.of(columns, cells, numbers="...#.")
    return [Sentence(closed(told["sentence"])), table, *_others(told["table"], MOST_PROXIES)]


def _figures(row: Mapping[str, Any]) -> str:
    return f"{figure(row['low'])} to {figure(row['high'])}"


def _others(table: list[Any], shown: int) -> list[Block]:
    return [Sentence(f"audit.json has {len(table) - shown:,} more.")] if len(table) > shown else []


def remedies(content: Content) -> list[Block]:
    """The shares that would be left if the model's answer inside a region were decided otherwise."""
    told = part_of_why(content, "remedies")
    if not told:
        return []
    text = "A simulation of what would be left if the model's answer inside a region were decided otherwise. "
    text += "No model was changed."
    cells = [
        (
            value(each["region"]),
            value(each["decision"]),
            f"{population_title(each)}, {each['twins']}",
            percent(each["before"]),
            percent(each["after"]),
            between(each["low"], each["high"]),
            percent(each["accuracy_before"]),
            percent(each["accuracy_after"]),
        )
        for each in told[:MOST_REMEDIES]
    ]
    columns = ["Region", "Decided by", "Measured on", "Now", "Simulated", "Interval", "Accuracy now", "Simulated "]
    return [Sentence(text), Table.of(columns, cells, numbers="...##.##"), *_others(told, MOST_REMEDIES)]


def retraining(content: Content) -> list[Block]:
    """Shares and accuracy before and after retraining, and of other ways to train."""
    told = content["retraining"]
    if not told:
        return []
    cells = [
        (
            retrained_rows(told, name),
            percent(told["before"][name]["value"]),
            percent(after["value"]),
            between(after["low"], after["high"]),
        )
        for name, after in told["after"].items()
    ]
    cells.append(("Accuracy", percent(told["accuracy_before"]), percent(told["accuracy_after"]), ""))
    return [
        Sentence(retrained_words(told)),
        Table.of(["Measured on", "Before", "After", "Interval after"], cells, numbers=".##."),
        *([Sentence(closed(told["failure"]))] if told["failure"] else []),
        *plots_in(content, "retraining"),
        *_controls(told),
    ]


def _controls(told: Mapping[str, Any]) -> list[Block]:
    cells = [
        (
            value(control["words"]) + (f" ({control['why_not']})" if control["why_not"] else ""),
            *(percent(control["shares"].get(name, {}).get("value")) for name in told["after"]),
            percent(control["accuracy"]),
        )
        for control in told["controls"].values()
    ]
    titles = ["Linked rows" if name == "linked" else POPULATION_TITLES.get(name, name) for name in told["after"]]
    columns = ["Another way to train", *titles, "Accuracy"]
    table = Table.of(columns, cells, numbers="." + "#" * len(columns))
    return [Section("Controls", (table,))] if cells else []


def retrained_rows(told: Mapping[str, Any], population: str) -> str:
    """The rows or the population that the shares before and after retraining were measured on."""
    if population not in ("rows", "linked"):
        return POPULATION_TITLES.get(population, population)
    seen = "that it was fitted to" if told["on_fitted_rows"] else "held back from fitting"
    return f"{counted(told['before'][population]['n'], 'row')} {seen}{', linked twins' * (population == 'linked')}"


def retrained_words(told: Mapping[str, Any]) -> str:
    """Which models the figures before and after belong to, so that nobody takes them for the audit's shares."""
    accepted = "A retrained model was accepted" if told["accepted"] else "No retrained model was shown to be better"
    after = "the new model" if told["accepted"] else "the model given"
    text = (
        f"{accepted}, after {counted(len(told['rounds']), 'round')}. Before is {told['before_is']}; after is {after}."
    )
    if told["is_reported"] and not told["on_fitted_rows"]:
        text += " The rows and inputs of these figures were used neither to fit nor to choose a model."
    return f"{text} The shares of the audited model on all rows stand in another section."


def sensitivity(content: Content) -> list[Block]:
    """The verdict with one thing changed at a time."""
    cells = [
        (
            value(each["what"]),
            OUTCOMES.get(each["outcome"], each["outcome"]),
            percent(each["value"]),
            interval_of(each, 1.0).text,
            f"{magnitude(each['hits'])} of {magnitude(each['n'])}" if each["hits"] is not None else NOT_MEASURED,
        )
        for each in content["sensitivity"]
    ]
    table = Table.of(["Changed", "Verdict", "Share", "Interval", "Hits"], cells, numbers="..#.#")
    return [Sentence("The same question, with one thing changed at a time."), table] if cells else []
