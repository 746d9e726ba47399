"""Sections of a report on findings, explanations and remedies; each function makes blocks from an audit's content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    same_words,
    scale_of,
    table_of,
)
from fairprobe.wording import POPULATION_TITLES, answer, between, closed, counted, figure, magnitude, percent, value

MOST_CASES = 20
"""Largest number of cases, or of rows with another answer, in a table; chosen. A page lists all of them."""

MOST_PROXIES = 12
"""Largest number of columns in the table of proxies; chosen. `audit.json` has all of them."""

MOST_REMEDIES = 16
"""Largest number of rows in the table of simulated remedies; chosen. `audit.json` has all of them."""


# What was found


def rows(content: Content) -> Iterator[Block]:
    """Yield the section on real rows that get another answer if a sensitive value changes."""
    flips, is_linked = content["rows"]["flips"], content["domain"]["links"]
    changed = "a sensitive value and what is linked to it were" if is_linked else "only a sensitive value was"
    text = f"{flips_words(content)} if {changed} another."
    if len(flips) < content["rows"]["n_flipped"]:
        text += f" The report has {magnitude(len(flips))} of them."
    if not content["about"]["shows_rows"]:
        text += " Rows are people: the report names them and shows what differs, not their other values."
    columns: Columns = {
        "Row": ("row", value),
        "What differs": ("changes", changes_words),
        "Answers": ("answers", _answers),
    }
    yield from table_of(flips, columns, text, most=MOST_CASES, name="flips")


def _answers(given: Mapping[str, Any]) -> str:
    return ", ".join(f"{value(who)}: {value(answer(output))}" for who, output in given.items())


def shares(content: Content) -> Iterator[Block]:
    """Yield the section on all shares, and on the shares with limits by who is worse off."""
    limit, end = content["question"]["max_share"], scale_of(content)
    text = "The share of each population whose answer changes with a sensitive value, with its interval."
    text += f" The limit is {percent(limit)}; the last column marks the shares that it binds." if limit else ""
    yield from shares_table(content, content["shares"], text)
    for share in content["shares"]:
        if share["is_main"]:
            worse_off = f" Most often worse off: {value(share['worse_off'])}." if share["worse_off"] else ""
            title = f"{population_title(share)}, {share['twins']} twins"
            yield Sentence(closed(share["sentence"]) + worse_off, title)
    columns: Columns = {
        "Worse off": ("combination", value),
        "Twins": ("twins", value),
        "#Limit": ("limit", percent),
        "#Share": lambda side: percent(side["value"], side["limit"]),
        "Interval": lambda side: interval_of(side, end, side["limit"]),
        "#Confidence": confidence,
        "Verdict": outcome_of,
    }
    sides = tuple(table_of(content["verdict"]["directions"], columns))
    if sides and content["shares"]:
        yield Section("Limits for one side", sides)


def shares_table(content: Content, shown: Sequence[Mapping[str, Any]], text: str = "") -> Iterator[Block]:
    """Yield the sentence `text` and a table of the `shown` shares with intervals.

    The table marks the shares that the limit binds.
    """
    limit, end = content["question"]["max_share"], scale_of(content)
    bound = {} if limit is None else dict.fromkeys(content["verdict"]["bound"], limit)
    columns: Columns = {
        "Population": population_title,
        "Twins": ("twins", value),
        "Sensitive": ("sensitive", names),
        "#Share": lambda share: percent(share["value"], bound.get(share["id"])),
        "Interval": lambda share: interval_of(share, end, bound.get(share["id"])),
        "#Confidence": confidence,
        "#Hits": hits_words,
    }
    marks: Columns = {"Limit": lambda share: "bound" if share["id"] in bound else ""} if bound else {}
    yield from table_of(shown, columns | marks, text)


def hits_words(of: Mapping[str, Any]) -> str:
    """Return a share's number of discriminatory inputs and number of comparable inputs as text, as in "5 of 100"."""
    return f"{magnitude(of['hits'])} of {magnitude(of['n'])}"


def regions(content: Content) -> Iterator[Block]:
    """Yield the section on the regions of inputs that hold most cases, each with its rule and figures."""
    found, why = part_of_why(content, "regions"), content["why"]
    if not found:
        return
    holding = counted(len(found), "region holds", "regions hold")
    text = f"{holding} {percent(why['coverage'])} of {counted(why['n_cases'], 'case')}. Those that touch most people "
    yield Sentence(f"{text}come first. fairprobe takes a rule as it is.")
    rows_are = "training data" if content["about"]["data"]["role"] == "training" else "rows"
    for place, region in enumerate(found, start=1):
        yield Section(f"Region {place}", tuple(_region(region, rows_are)))


def _region(region: Mapping[str, Any], rows_are: str) -> Iterator[Block]:
    text = percent(region["precision"]) + (f" ({_between(region)})" if region["n"] else "")
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
    yield Code(region["text"])
    yield Table((), tuple(facts.items()))
    if region["directions"] and region["directions"]["sentences"]:
        yield Sentence(" ".join(region["directions"]["sentences"]), "Who is worse off")
    if region["in_data"]:
        yield Sentence(closed(region["in_data"]["sentence"]), f"In the {rows_are}")


def cases(content: Content) -> Iterator[Block]:
    """Yield the section on the cases of the search, with what differs in their twins."""
    found = content["cases"]
    is_ranked = found and found[0]["severity"] is not None
    text = "Each case is an input with a twin that the model answers differently, though only the marked values differ."
    text += " The most severe and plausible cases come first." if is_ranked else ""
    text += f" The report has {counted(len(found), 'case')}. A directed search found them, so their number does not "
    text += "say how common such inputs are."
    columns: Columns = {
        "Case": ("id", value),
        "What differs": lambda case: changes_words(changes_of(case)),
        "Answers": lambda case: " → ".join(value(answer(output)) for output in case["outputs"]),
        "#Severity": ("severity", figure),
        "Equal in both": same_words,
    }
    yield from table_of(found, columns, text, most=MOST_CASES, name="cases")


# Why


def directions(content: Content) -> Iterator[Block]:
    """Yield the section on who is worse off, and how often."""
    told = part_of_why(content, "directions")
    sentences = told["sentences"] if told and told["directions"] else []
    yield from map(Sentence, sentences)
    yield from plots_in(content, "directions", sentences) if sentences else ()


def influence(content: Content) -> Iterator[Block]:
    """Yield the section on the parameters whose changes end a case, and on the severity of cases."""
    told = part_of_why(content, "influence")
    if told and told["parameters"]:
        severity = part_of_why(content, "severity").get("sentences", [])
        yield from map(Sentence, [*told["sentences"], *severity, *part_of_why(content, "label_sentences")])
        yield from plots_in(content, "influence", told["sentences"])


def inside(content: Content) -> Iterator[Block]:
    """Yield the section on the parts inside the model, such as nodes of trees, that use the sensitive parameters."""
    told = part_of_why(content, "inside").get("sentences")
    if told:
        yield Items(tuple(told))


def proxies(content: Content) -> Iterator[Block]:
    """Yield the section on columns that reveal the sensitive parameters (proxies)."""
    told = content["proxies"]
    columns: Columns = {
        "Sensitive": ("sensitive", value),
        "Revealed by": ("column", value),
        "Value revealed best": ("value", value),
        "#AUC": ("auc", figure),
        "Interval": lambda row: f"{figure(row['low'])} to {figure(row['high'])}",
    }
    if told:
        yield Sentence(closed(told["sentence"]))
        yield from table_of(told["table"], columns, most=MOST_PROXIES)


# What would change it


def remedies(content: Content) -> Iterator[Block]:
    """Yield the section on simulated shares: those that would be left if a region's inputs were decided otherwise."""
    text = "A simulation of what would be left if the model's answer inside a region were decided otherwise. "
    text += "No model was changed."
    columns: Columns = {
        "Region": ("region", value),
        "Decided by": ("decision", value),
        "Measured on": lambda each: f"{population_title(each)}, {each['twins']}",
        "#Inputs": ("n", magnitude),
        "#Now": ("before", percent),
        "#Simulated": ("after", percent),
        "Interval": _between,
        "#Accuracy now": ("accuracy_before", percent),
        "#Accuracy simulated": ("accuracy_after", percent),
    }
    yield from table_of(part_of_why(content, "remedies"), columns, text, most=MOST_REMEDIES)


def retraining(content: Content) -> Iterator[Block]:
    """Yield the section on shares and accuracy before and after retraining, and on other ways to train."""
    told = content["retraining"]
    if not told:
        return
    yield Sentence(_retrained_words(told))
    rows = [
        [retrained_rows(told, name), percent(told["before"][name]["value"]), percent(share["value"]), _between(share)]
        for name, share in told["after"].items()
    ]
    rows.append(["Accuracy", percent(told["accuracy_before"]), percent(told["accuracy_after"]), ""])
    yield Table.of(["Measured on", "#Before", "#After", "Interval after"], rows)
    if told["failure"]:
        yield Sentence(closed(told["failure"]))
    yield from plots_in(content, "retraining")
    controls = [
        [
            ": ".join(filter(None, [value(control["words"]), control["why_not"]])),
            *(percent(control["shares"].get(name, {}).get("value")) for name in told["after"]),
            percent(control["accuracy"]),
        ]
        for control in told["controls"].values()
    ]
    columns = ["Another way to train", *(f"#{_title(name)}" for name in told["after"]), "#Accuracy"]
    if controls:
        yield Section("Controls", (Table.of(columns, controls),))


def _between(of: Mapping[str, Any]) -> str:
    return between(of["low"], of["high"])


def _title(population: str) -> str:
    return "Linked rows" if population == "linked" else POPULATION_TITLES.get(population, population)


def retrained_rows(told: Mapping[str, Any], population: str) -> str:
    """Return words on the rows or the population on which shares before and after retraining were measured."""
    if population not in ("rows", "linked"):
        return _title(population)
    seen = "that it was fitted to" if told["on_fitted_rows"] else "held back from fitting"
    return f"{counted(told['before'][population]['n'], 'row')} {seen}{', linked twins' * (population == 'linked')}"


def _retrained_words(told: Mapping[str, Any]) -> str:
    """Return sentences on the result of retraining, and on the models to which the figures before and after belong."""
    accepted = "A retrained model was accepted" if told["accepted"] else "No retrained model was shown to be better"
    after = "the new model" if told["accepted"] else "the model given"
    text = f"{accepted}, after {counted(len(told['rounds']), 'round')}. "
    text += f"Before is {told['before_is']}; after is {after}."
    if told["is_reported"] and not told["on_fitted_rows"]:
        text += " The rows and inputs of these figures were used neither to fit nor to choose a model."
    return f"{text} The shares of the audited model on all rows stand in another section."


def sensitivity(content: Content) -> Iterator[Block]:
    """Yield the section on the verdict with one setting changed at a time."""
    columns: Columns = {
        "Changed": ("what", value),
        "Verdict": outcome_of,
        "#Share": ("value", percent),
        "Interval": _between,
        "#Hits": hits_words,
    }
    yield from table_of(content["sensitivity"], columns, "The same question, with one thing changed at a time.")
