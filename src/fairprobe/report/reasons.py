"""Sections of a report on the reasons for cases, and on what would change them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from fairprobe.blocks import Block, Items, Section, Sentence, Table
from fairprobe.report.content import Columns, Content, hits_words, part_of_why, plots_in, population_title
from fairprobe.wording import (
    OUTCOMES,
    POPULATION_TITLES,
    between,
    closed,
    counted,
    figure,
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
    columns: Columns = {
        "Sensitive": lambda row: value(row["sensitive"]),
        "Revealed by": lambda row: value(row["column"]),
        "Value revealed best": lambda row: value(row["value"]),
        "#AUC": lambda row: figure(row["auc"]),
        "Interval": lambda row: f"{figure(row['low'])} to {figure(row['high'])}",
    }
    table = Table.of_records(told["table"][:MOST_PROXIES], columns)
    return [Sentence(closed(told["sentence"])), table, *_others(told["table"], MOST_PROXIES)]


def _others(table: list[Any], shown: int) -> list[Block]:
    return [Sentence(f"audit.json has {len(table) - shown:,} more.")] if len(table) > shown else []


def remedies(content: Content) -> list[Block]:
    """The shares that would be left if the model's answer inside a region were decided otherwise."""
    told = part_of_why(content, "remedies")
    if not told:
        return []
    text = "A simulation of what would be left if the model's answer inside a region were decided otherwise. "
    text += "No model was changed."
    columns: Columns = {
        "Region": lambda each: value(each["region"]),
        "Decided by": lambda each: value(each["decision"]),
        "Measured on": lambda each: f"{population_title(each)}, {each['twins']}",
        "#Now": lambda each: percent(each["before"]),
        "#Simulated": lambda each: percent(each["after"]),
        "Interval": lambda each: between(each["low"], each["high"]),
        "#Accuracy now": lambda each: percent(each["accuracy_before"]),
        "#Accuracy simulated": lambda each: percent(each["accuracy_after"]),
    }
    return [Sentence(text), Table.of_records(told[:MOST_REMEDIES], columns), *_others(told, MOST_REMEDIES)]


def retraining(content: Content) -> list[Block]:
    """Shares and accuracy before and after retraining, and of other ways to train."""
    told = content["retraining"]
    if not told:
        return []
    columns: Columns = {
        "Measured on": lambda name: retrained_rows(told, name),
        "#Before": lambda name: percent(told["before"][name]["value"]),
        "#After": lambda name: percent(told["after"][name]["value"]),
        "Interval after": lambda name: between(told["after"][name]["low"], told["after"][name]["high"]),
    }
    accuracy = {"Accuracy before": percent(told["accuracy_before"]), "after": percent(told["accuracy_after"])}
    return [
        Sentence(retrained_words(told)),
        Table.of_records(told["after"], columns),
        Table.of_facts(accuracy),
        *([Sentence(closed(told["failure"]))] if told["failure"] else []),
        *plots_in(content, "retraining"),
        *_controls(told),
    ]


def _controls(told: Mapping[str, Any]) -> list[Block]:
    columns: Columns = {
        "Another way to train": lambda control: ": ".join(filter(None, [value(control["words"]), control["why_not"]])),
        **{f"#{_control_title(name)}": partial(_share_of, name) for name in told["after"]},
        "#Accuracy": lambda control: percent(control["accuracy"]),
    }
    table = Table.of_records(told["controls"].values(), columns)
    return [Section("Controls", (table,))] if table.rows else []


def _control_title(population: str) -> str:
    return "Linked rows" if population == "linked" else POPULATION_TITLES.get(population, population)


def _share_of(population: str, control: Mapping[str, Any]) -> str:
    return percent(control["shares"].get(population, {}).get("value"))


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
    columns: Columns = {
        "Changed": lambda each: value(each["what"]),
        "Verdict": lambda each: OUTCOMES.get(each["outcome"], each["outcome"]),
        "#Share": lambda each: percent(each["value"]),
        "Interval": lambda each: between(each["low"], each["high"]),
        "#Hits": hits_words,
    }
    table = Table.of_records(content["sensitivity"], columns)
    return [Sentence("The same question, with one thing changed at a time."), table] if table.rows else []
