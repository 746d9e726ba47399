"""Functions that take parts of an audit's content (the object in `audit.json`) for several sections and forms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from fairprobe.blocks import Block, Column, Interval, Sentence, Table
from fairprobe.estimation.rates import rates_table
from fairprobe.wording import OUTCOMES, POPULATION_TITLES, between, counted, figure, magnitude, percent, value

Content = Mapping[str, Any]
Columns = dict[str, Column]


def table_of(
    records: Sequence[Any], columns: Mapping[str, Column], text: str = "", *, most: int | None = None, name: str = ""
) -> Iterator[Block]:
    """Yield the sentence `text` and a table of the first `most` records; nothing if there are no records.

    A table with a `name` is shown in full by a page. Without a name, a sentence says how many records are left out.
    """
    if records and text:
        yield Sentence(text)
    if records:
        yield Table.of_records(records[:most], columns, name=name)
    if most is not None and len(records) > most and not name:
        yield Sentence(f"audit.json has {len(records) - most:,} more.")


def part_of_why(content: Content, name: str) -> Any:
    """Return the part of the content's explanation that has a name; an empty dict if there is none."""
    return (content["why"] or {}).get(name) or {}


def health_of(content: Content) -> list[Mapping[str, Any]]:
    """Return the remarks of the audit and of its shares, each once, as dicts with "check" and "message"."""
    told = [*content["health"], *(each for share in content["shares"] for each in share["health"])]
    return list({(each["check"], each["message"]): each for each in told}.values())


def held_of(content: Content) -> Iterator[Mapping[str, Any]]:
    """Yield dicts of the shares that the limit binds, or of those by direction, then of those by matched twins.

    Each has its "limit", which is None if none binds it, and, as "who", words on what it is about.
    """
    bound, limit = content["verdict"]["bound"], content["question"]["max_share"]
    for side in content["verdict"]["directions"]:
        yield {**side, "who": f"{value(side['combination'])} worse off, {side['twins']} twins"}
    for share in content["shares"]:
        if share["id"] in bound and not content["verdict"]["directions"]:
            yield {**share, "who": compared_words(content, share), "limit": limit}
    for told in content["matched"]:
        who, is_bound = told["attribute"], f"matched/{told['attribute']}" in bound
        yield {**told, "who": f"matched twins of the other {value(who)}", "limit": limit if is_bound else None}


def compared_words(content: Content, share: Mapping[str, Any]) -> str:
    """Return words on what differs in the twins of a share, such as "sex alone" or "sex, with linked columns"."""
    if not content["domain"]["links"]:
        return names(share["sensitive"])
    return f"{names(share['sensitive'])}{', with linked columns' if share['twins'] == 'linked' else ' alone'}"


def limit_words(question: Mapping[str, Any]) -> str:
    """Return the limit that a verdict compares with, in words, from the question of an audit."""
    if question["min_ratio"] is not None:
        return f"lowest observed rate at least {percent(question['min_ratio'])} of the highest"
    if question["max_share"] is not None:
        return percent(question["max_share"])
    return "by side" if question["directions"] else "none given"


def scale_of(content: Content) -> float:
    """Return the end of the axis on which shares are drawn: a round fraction beyond all intervals and limits."""
    held = [*held_of(content)]
    measured = [each for each in (*content["shares"], *held) if each["n"]]
    limits = (1.2 * (each["limit"] or 0) for each in held)
    return round_end([*(each["value" if each["high"] is None else "high"] for each in measured), *limits])


def round_end(fractions: Iterable[float]) -> float:
    """Return the end of an axis for fractions: a round fraction, at most 1, that is no less than any of them."""
    most = max([*fractions, 1e-6])
    size = 10.0 ** math.floor(math.log10(most))
    return min(1.0, next(step * size for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if step * size >= most))


def rates_of(share: Mapping[str, Any]) -> Table:
    """Return the table of a share's rates, by combination of sensitive values."""
    return rates_table(share["rates"], share["rated"], share["is_last_class"])


def interval_of(of: Mapping[str, Any], end: float, limit: float | None = None) -> Interval:
    """Return a table cell with the interval of a share, or of another record that has "low", "high" and "value".

    `end` is the end of the axis on which a page draws it.
    """
    if not of["n"]:
        return Interval("", None, None, None, end, limit)
    text = "exact" if of.get("method") == "exact" else between(of["low"], of["high"], limit)
    return Interval(text, of["low"], of["value"], of["high"], end, limit)


def figures(end: float, limit_of: Callable[[Mapping[str, Any]], float | None]) -> Columns:
    """Return table columns with the value, the interval and the confidence of a share.

    `end` is the end of the axis on which a page draws intervals. The function `limit_of` gives the limit that binds a
    share, from which its figures must differ; None for no limit.
    """
    return {
        "#Share": lambda share: percent(share["value"], limit_of(share)),
        "Interval": lambda share: interval_of(share, end, limit_of(share)),
        "#Confidence": confidence,
    }


def hits_words(of: Mapping[str, Any]) -> str:
    """Return a share's number of discriminatory inputs and number of comparable inputs as text, as in "5 of 100"."""
    return f"{magnitude(of['hits'])} of {magnitude(of['n'])}"


def confidence(of: Mapping[str, Any]) -> str:
    """Return the confidence of a share's interval in percent; an empty text for an exact share or one without interval.

    >>> confidence({"low": 0.1, "confidence": 0.975}), confidence({"low": None, "confidence": 0.95})
    ('97.5%', '')
    """
    return "" if of["low"] is None or of.get("method") == "exact" else percent(of["confidence"])


def population_title(share: Mapping[str, Any]) -> str:
    """Return the name of the population of a share, or of another record with "population", for a table."""
    return POPULATION_TITLES.get(share["population"]) or value(share["population"])


def outcome_of(of: Mapping[str, Any]) -> str:
    """Return in words the "outcome" of a verdict, of a share by direction or of an attempt."""
    return OUTCOMES.get(of["outcome"], of["outcome"])


def names(parameters: Iterable[Any]) -> str:
    """Return names of parameters as text, with "and" between them."""
    return " and ".join(map(value, parameters))


def changes_words(changes: Iterable[Iterable[Any]]) -> str:
    """Return changes (column, value before, value after) as text, as in "sex Female → Male"."""
    return ", ".join(f"{value(name)} {value(before)} → {value(after)}" for name, before, after in changes)


def changes_of(case: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return the columns in which a case and its twin differ: tuples of name, value of the case and of the twin."""
    return [(name, case["case"].get(name), after) for name, after in case["twin"].items()]


def same_words(case: Mapping[str, Any]) -> str:
    """Return as text the columns in which a case and its twin agree, with their values."""
    return ", ".join(f"{value(name)} {value(of)}" for name, of in case["case"].items() if name not in case["twin"])


def change_words(content: Content, *, is_plural: bool = False) -> str:
    """Return words on what a person gets whose sensitive value is changed, such as "gets another answer"."""
    get, question = "get" if is_plural else "gets", content["question"]
    if question["output"] == "label":
        return f"{get} another answer"
    return f"{get} an answer that moves by more than {figure(question['threshold'])}"


def flips_words(content: Content) -> str:
    """Return words on how many real rows get another answer.

    If numbers are compared, it is the number of rows whose answer moves by more than the threshold, followed by the
    number of rows whose label changes.
    """
    rows = content["rows"]
    n = rows.get("n_relabelled")
    labels = "" if n is None else f", and {counted(n, 'real row')} another label,"
    return f"{counted(rows['n_flipped'], 'real row')} would {change_words(content, is_plural=True)}{labels}"
