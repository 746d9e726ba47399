"""Puts the names that the user gave to values in place of the values, in an audit's content, before people read it.

Values of columns stand under known keys, and in texts as "sex=1". Rules, settings and figures stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fairprobe.report.content import Content

SECTIONS = ("verdict", "shares", "rows", "matched", "impact", "cases", "why", "plots", "proxies", "retraining")
"""Names of the sections of the content that hold values. The others are for the record, and stay."""

RULES = ("text", "region", "evidence", "condition", "path")
"""Keys under which a text is a rule or code, which stays."""

OUTCOMES = ("favourable", "rated", "first_gets", "second_gets")
"""Keys under which a text is an outcome."""

GETS = "(?P<before>\\bgets \u2068?|\\brates of |\\bprobability of |\\d% )(?P<found>{})(?=[,;:).\u2069]|$| where| in )"
"""Pattern of an outcome in a sentence, after the words that come before outcomes."""

LISTED = (
    r"(?<![\w-])(?:{}) (?:held constant at )?(?P<values>(?:{values})(?:(?:, | or )(?:{values}))*)(?![\w-]|\.\d| to )"
)
"""Pattern of a column with a list of its values, as in the words of a region: "town Bree, Shire or Gondor"."""

PAIR = r"(?P<before>)(?<![\w-])(?P<found>{})(?![\w-]|\.\d)"
"""Pattern of a column with its value in a sentence, such as "sex=1"."""


def named(content: Content) -> Content:
    """Return an audit's content as people read it: names in place of values, sensitive columns before the others."""
    given, sensitive = content["question"].get("labels"), content["question"]["sensitive"]
    told = _Names(given["columns"], given["outcome"]).content(content) if given else content

    def first(columns: Any) -> Any:
        return sorted(columns, key=lambda each: each[0] not in sensitive)

    cases = [
        {**case, "case": dict(first(case["case"].items())), "twin": dict(first(case["twin"].items()))}
        for case in told["cases"]
    ]
    flips = [{**flip, "changes": first(flip["changes"])} for flip in told["rows"]["flips"]]
    return {**told, "cases": cases, "rows": {**told["rows"], "flips": flips}}


def named_text(text: str, labels: Mapping[str, Any]) -> str:
    """Return a sentence with names in place of the values and outcomes in it; `labels` are as in `audit.json`."""
    return _Names(labels["columns"], labels["outcome"]).text(text)


class _Names:
    """The names of values: by column, then by the value's text; and those of outcomes, by their text."""

    def __init__(self, columns: Mapping[str, Mapping[str, str]], outcome: Mapping[str, str]) -> None:
        self._columns, self._outcomes = columns, outcome
        pairs = {f"{name}={text}": f"{name}={of}" for name, names in columns.items() for text, of in names.items()}
        quoted = {repr(text): of for text, of in outcome.items()} | dict(outcome)
        self._replace = [_replacer(PAIR, pairs), _replacer(GETS, quoted)]
        self._replace_listed = [_list_replacer(*each) for each in columns.items()]

    def content(self, content: Content) -> Content:
        question = content["question"]
        told = {name: self.walked(content[name]) for name in SECTIONS} | {"question": {**question}}
        sensitive = question["sensitive"].items()
        told["question"] |= {
            "sensitive": {column: [self.value(column, each) for each in values] for column, values in sensitive},
            "favourable": self.outcome(question["favourable"]),
            "directions": {self.text(who): limit for who, limit in question["directions"].items()},
        }
        told["matched"] = [self.matched(each) for each in told["matched"]]
        return {**content, **told}

    def value(self, column: Any, of: Any) -> Any:
        """Return the name of a column's value, or the value itself if it has none."""
        return self._columns.get(column, {}).get(str(of), of)

    def outcome(self, of: Any) -> Any:
        """Return the name of an outcome, or the outcome itself if it has none."""
        return self._outcomes.get(str(of), of)

    def text(self, text: str) -> str:
        """Return a text with names in place of the values and outcomes that it mentions."""
        for replace in self._replace:
            text = replace(text)
        return text

    def listed(self, text: str) -> str:
        """Return the words of a region or of a decision with names in place of the values after a column's name."""
        for replace in self._replace_listed:
            text = replace(text)
        return text

    def walked(self, each: Any, key: str = "") -> Any:
        """Return a part of the content, which stands under a key, with names in place of values."""
        if key in RULES or each is None:
            return each
        if key in OUTCOMES:
            return self.outcome(each)
        if isinstance(each, str):
            return self.listed(each) if key in ("words", "decision") else self.text(each)
        if isinstance(each, list):
            return [self.row_of(one, key) if key in ("changes", "outputs") else self.walked(one, key) for one in each]
        return self.walked_object(each, key) if isinstance(each, dict) else each

    def row_of(self, each: Any, key: str) -> Any:
        """Return a change (column, value before and after) or an output with names."""
        return [each[0], *(self.value(each[0], of) for of in each[1:])] if key == "changes" else self.outcome(each)

    def walked_object(self, each: Mapping[str, Any], key: str) -> Any:
        """Return an object with names: a row by column, answers by combination, counts by outcome, or any other."""
        if key in ("case", "twin", "values"):
            return {column: self.value(column, of) for column, of in each.items()}
        if key == "answers":
            return {self.text(who): self.outcome(of) for who, of in each.items()}
        if key == "outcomes" and "combination" in each:
            return {self.outcome(name): self.walked(of) for name, of in each.items()}
        told = {name: self.walked(of, name) for name, of in each.items()}
        if "sensitive" in each and "value" in each and isinstance(each["sensitive"], str):
            told["value"] = self.value(each["sensitive"], each["value"])
        if {"directions", "sensitive", "sentences"} <= each.keys():
            alone = {text: of for column in each["sensitive"] for text, of in self._columns.get(column, {}).items()}
            replace = _replacer(PAIR, {text: of for text, of in alone.items() if text[:1].isalpha()})
            told["sentences"] = [*map(replace, told["sentences"])]  # in which a word stands without its column
        return told

    def matched(self, told: Mapping[str, Any]) -> dict[str, Any]:
        """Return the share by matched twins of an attribute with names: its values stand alone, marked in sentences."""
        names = self._columns.get(told["attribute"], {})
        pairs = [{**pair, "groups": [names.get(str(each), each) for each in pair["groups"]]} for pair in told["pairs"]]
        rates = [{**rate, "group": names.get(str(rate["group"]), rate["group"])} for rate in told["rates"]]
        sentence = re.sub(
            "\u2068(.*?)\u2069", lambda found: f"\u2068{names.get(found[1], found[1])}\u2069", told["sentence"]
        )
        outcome = told["outcome"] if told["outcome"] is None else self.outcome(told["outcome"])
        return {**told, "pairs": pairs, "rates": rates, "sentence": sentence, "outcome": outcome}


def _replacer(pattern: str, names: Mapping[str, str]) -> Callable[[str], str]:
    """Return a function that puts names in place of the texts that they are for, of which the longest comes first."""
    if not names:
        return lambda text: text
    texts: Sequence[str] = sorted(names, key=len, reverse=True)
    found = re.compile(pattern.format("|".join(map(re.escape, texts))))
    return lambda text: found.sub(lambda match: match["before"] + names[match["found"]], text)


def _list_replacer(column: str, names: Mapping[str, str]) -> Callable[[str], str]:
    """Return a function that puts names in place of the values of one column that are listed after its name."""
    replace = _replacer(PAIR, names)
    values = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    found = re.compile(LISTED.format(re.escape(column), values=values))
    return lambda text: found.sub(lambda of: of[0][: -len(of["values"])] + replace(of["values"]), text)
