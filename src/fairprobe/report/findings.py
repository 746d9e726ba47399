"""Sections of a report on what was found, why, and what would change it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fairprobe.blocks import Block, Code, Interval, Items, Section, Sentence, Table
from fairprobe.report.content import (
    Columns,
    Content,
    changes_of,
    changes_words,
    confidence,
    flips_words,
    interval_of,
    names,
    outcome_of,
    part_of_why,
    plots_in,
    population_title,
    scale_of,
    table_of,
)
from fairprobe.wording import POPULATION_TITLES, answer, between, closed, counted, figure, magnitude, percent, value

MOST_CASES = 20
"""Cases, and rows that get another answer, in a table; chosen. A page lists all of them."""

MOST_PROXIES = 12
"""Columns in the table of proxies; chosen. `audit.json` has all of them."""

MOST_REMEDIES = 16
"""Rows in the table of simulated remedies; chosen. `audit.json` has all of them."""


# What was found


def rows(content: Content) -> list[Block]:
    """Rows that get another answer."""
    flips = content["rows"]["flips"]
    changed = (
        "a sensitive value and what is linked to it were"
        if content["domain"]["links"]
        else "only a sensitive value was"
    )
    text = f"{flips_words(content)} if {changed} another."
    if len(flips) < content["rows"]["n_flipped"]:
        text += f" The report has {magnitude(len(flips))} of them."
    if not content["about"]["shows_rows"]:
        text += " Rows are people: the report names them and shows what differs, not their other values."
    columns: Columns = {
        "Row": "row",
        "What differs": lambda flip: changes_words(flip["changes"]),
        "Answers": lambda flip: ", ".join(f"{value(who)}: {value(answer(of))}" for who, of in flip["answers"].items()),
    }
    return [Sentence(text), *table_of(flips[:MOST_CASES], columns, "flips")] if flips else []


def shares(content: Content) -> list[Block]:
    """All shares, and the limits for one side."""
    if not content["shares"]:
        return []
    limit = content["question"]["max_share"]
    text = "The share of each population whose answer changes with a sensitive value, with its interval."
    text += f" The limit is {percent(limit)}; the last column marks the shares that it binds." if limit else ""
    blocks: list[Block] = [Sentence(text), *shares_table(content, content["shares"])]
    for share in content["shares"]:
        if share["is_main"]:
            worse_off = f" Most often worse off: {value(share['worse_off'])}." if share["worse_off"] else ""
            title = f"{population_title(share)}, {share['twins']} twins"
            blocks.append(Sentence(closed(share["sentence"]) + worse_off, title))
    sides = _sides(content)
    return [*blocks, Section("Limits for one side", tuple(sides))] if sides else blocks


def shares_table(content: Content, shown: Iterable[Mapping[str, Any]]) -> list[Block]:
    """Shares with their intervals; those that the limit binds are marked."""
    limit, end = content["question"]["max_share"], scale_of(content)
    bound = {} if limit is None else dict.fromkeys(content["verdict"]["bound"], limit)
    columns: Columns = {
        "Population": population_title,
        "Twins": "twins",
        "Sensitive": lambda share: names(share["sensitive"]),
        "#Share": lambda share: percent(share["value"], bound.get(share["id"])),
        "Interval": lambda share: interval_of(share, end, bound.get(share["id"])),
        "#Confidence": confidence,
        "#Hits": hits_words,
    }
    marks: Columns = {"Limit": lambda share: "bound" if share["id"] in bound else ""}
    return table_of(shown, columns | marks if bound else columns)


def hits_words(of: Mapping[str, Any]) -> str:
    """The hits of a share and the inputs that were compared."""
    return f"{magnitude(of['hits'])} of {magnitude(of['n'])}"


def _sides(content: Content) -> list[Block]:
    """Limits by who is worse off."""
    end = scale_of(content)
    columns: Columns = {
        "Worse off": "combination",
        "Twins": "twins",
        "#Limit": lambda side: percent(side["limit"]),
        "#Share": lambda side: percent(side["value"], side["limit"]),
        "Interval": lambda side: interval_of(side, end, side["limit"]),
        "#Confidence": confidence,
        "Verdict": outcome_of,
    }
    return table_of(content["verdict"]["directions"], columns)


def regions(content: Content) -> list[Block]:
    """The regions that hold most of the cases, each with its rule."""
    found, why = part_of_why(content, "regions"), content["why"]
    if not found:
        return []
    holding = counted(len(found), "region holds", "regions hold")
    text = f"{holding} {percent(why['coverage'])} of {counted(why['n_cases'], 'case')}. Those that touch most people "
    text += "come first. fairprobe takes a rule as it is."
    rows_are = "training data" if content["about"]["data"]["role"] == "training" else "rows"
    return [Sentence(text), *(_region(place, each, rows_are) for place, each in enumerate(found, start=1))]


def _region(place: int, region: Mapping[str, Any], rows_are: str) -> Section:
    text = percent(region["precision"])
    if region["n"]:
        text += f" ({_between(region)})"
    facts: dict[str, Any] = {
        "Cases among its inputs": Interval(text, region["low"], region["precision"], region["high"]),
        "Of the cases found": percent(region["coverage"]),
    }
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
        "Case": "id",
        "What differs": lambda case: changes_words(changes_of(case)),
        "Answers": lambda case: " → ".join(value(answer(output)) for output in case["outputs"]),
        "#Severity": lambda case: figure(case["severity"]),
        "Equal in both": lambda case: ", ".join(
            f"{value(name)} {value(of)}" for name, of in case["case"].items() if name not in case["twin"]
        ),
    }
    return [Sentence(text), *table_of(found[:MOST_CASES], columns, "cases")]


# Why


def directions(content: Content) -> list[Block]:
    """Who is worse off, and how often."""
    told = part_of_why(content, "directions") or {}
    sentences = told["sentences"] if told.get("directions") else []
    return [*map(Sentence, sentences), *plots_in(content, "directions", sentences)] if sentences else []


def influence(content: Content) -> list[Block]:
    """Which parameters end a case when they change, and how severe cases are."""
    told = part_of_why(content, "influence") or {}
    if not told.get("parameters"):
        return []
    severity = (part_of_why(content, "severity") or {}).get("sentences", [])
    labels = part_of_why(content, "label_sentences") or []
    said = map(Sentence, [*told["sentences"], *severity, *labels])
    return [*said, *plots_in(content, "influence", told["sentences"])]


def inside(content: Content) -> list[Block]:
    """Where the model itself uses the sensitive parameters."""
    told = (part_of_why(content, "inside") or {}).get("sentences")
    return [Items(tuple(told))] if told else []


def proxies(content: Content) -> list[Block]:
    """Columns from which the sensitive parameters can be told."""
    told = content["proxies"]
    columns: Columns = {
        "Sensitive": "sensitive",
        "Revealed by": "column",
        "Value revealed best": "value",
        "#AUC": lambda row: figure(row["auc"]),
        "Interval": lambda row: f"{figure(row['low'])} to {figure(row['high'])}",
    }
    return [Sentence(closed(told["sentence"])), *_first(told["table"], MOST_PROXIES, columns)] if told else []


def _first(records: list[Any], most: int, columns: Columns) -> list[Block]:
    """A table of the first records, and how many more there are."""
    more = [Sentence(f"audit.json has {len(records) - most:,} more.")] if len(records) > most else []
    return [*table_of(records[:most], columns), *more]


# What would change it


def remedies(content: Content) -> list[Block]:
    """The shares that would be left if the model's answer inside a region were decided otherwise."""
    told = part_of_why(content, "remedies")
    text = "A simulation of what would be left if the model's answer inside a region were decided otherwise. "
    text += "No model was changed."
    columns: Columns = {
        "Region": "region",
        "Decided by": "decision",
        "Measured on": lambda each: f"{population_title(each)}, {each['twins']}",
        "#Now": lambda each: percent(each["before"]),
        "#Simulated": lambda each: percent(each["after"]),
        "Interval": _between,
        "#Accuracy now": lambda each: percent(each["accuracy_before"]),
        "#Accuracy simulated": lambda each: percent(each["accuracy_after"]),
    }
    return [Sentence(text), *_first(told, MOST_REMEDIES, columns)] if told else []


def retraining(content: Content) -> list[Block]:
    """Shares and accuracy before and after retraining, and of other ways to train."""
    told = content["retraining"]
    if not told:
        return []
    before, after = told["before"], told["after"]
    rows = [
        [retrained_rows(told, name), percent(before[name]["value"]), percent(share["value"]), _between(share)]
        for name, share in after.items()
    ]
    rows.append(["Accuracy", percent(told["accuracy_before"]), percent(told["accuracy_after"]), ""])
    blocks: list[Block] = [Sentence(_retrained_words(told))]
    blocks.append(Table.of(["Measured on", "#Before", "#After", "Interval after"], rows))
    blocks += [Sentence(closed(told["failure"]))] if told["failure"] else []
    blocks += plots_in(content, "retraining")
    controls = [
        [
            ": ".join(filter(None, [value(control["words"]), control["why_not"]])),
            *(percent(control["shares"].get(name, {}).get("value")) for name in after),
            percent(control["accuracy"]),
        ]
        for control in told["controls"].values()
    ]
    columns = ["Another way to train", *(f"#{_title(name)}" for name in after), "#Accuracy"]
    return [*blocks, Section("Controls", (Table.of(columns, controls),))] if controls else blocks


def _between(of: Mapping[str, Any]) -> str:
    return between(of["low"], of["high"])


def _title(population: str) -> str:
    return "Linked rows" if population == "linked" else POPULATION_TITLES.get(population, population)


def retrained_rows(told: Mapping[str, Any], population: str) -> str:
    """The rows or the population that the shares before and after retraining were measured on."""
    if population not in ("rows", "linked"):
        return _title(population)
    seen = "that it was fitted to" if told["on_fitted_rows"] else "held back from fitting"
    return f"{counted(told['before'][population]['n'], 'row')} {seen}{', linked twins' * (population == 'linked')}"


def _retrained_words(told: Mapping[str, Any]) -> str:
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
        "Changed": "what",
        "Verdict": outcome_of,
        "#Share": lambda each: percent(each["value"]),
        "Interval": _between,
        "#Hits": hits_words,
    }
    table = table_of(content["sensitivity"], columns)
    return [Sentence("The same question, with one thing changed at a time."), *table] if table else []
