"""Names that the user gives to values of columns and to outcomes: checks them, and puts them into what people read.

In an audit's content, values of columns stand under known keys, and in texts as "sex=1". Rules, settings and figures
stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np

from fairprobe.checks import nearest
from fairprobe.domain import Domain
from fairprobe.domain.parameters import Listed, Parameter
from fairprobe.errors import SettingError
from fairprobe.estimation.favourable import favourable_in
from fairprobe.report.content import Content

OUTCOME = "outcome"
"""Name under which the model's outcomes are named. The name of the labels does as well."""

# Names that are given


def checked_names(
    labels: Any, domain: Domain, model: Any, rows: Any, label: str | None, masked: frozenset[str], **asked: Any
) -> dict[str, dict[str, Any]]:
    """Return the names in the argument `labels`, each for a value that exists; refuse all other names.

    Under "columns" are the names by column and text of the value, under "outcome" those by text of the outcome. Names
    for values of a `masked` column are left out. `label` is the name of the labels, if they have one. `model` is None
    in a dry run that must not load it. The other arguments are `output`, `threshold` and `batch`, as in `estimate`.
    """
    told = dict[str, dict[str, Any]](columns={}, outcome={})
    if not isinstance(labels or {}, Mapping):
        raise SettingError.about("labels", f"must be a dict of names by column and value, got {labels!r}")
    known = [*domain.names, *filter(None, [label]), OUTCOME]
    for name, given in (labels or {}).items():
        if not isinstance(given, Mapping) or not given or not all(isinstance(each, str) for each in given.values()):
            raise SettingError.about("labels", f"must have names by value for {name!r}, got {given!r}")
        if name not in known:
            got = f"got {name!r}{nearest(name, known)}"
            raise SettingError.about("labels", f"must be about one of {', '.join(map(str, known))}; {got}")
        parameter = domain[name] if name in domain.names else None
        if parameter is not None:
            found = {_text_of(parameter, value): of for value, of in given.items()}
            told["columns"] |= {} if name in masked else {name: found}
        else:
            found = {_outcome_text(name, value, domain, model, rows, **asked): of for value, of in given.items()}
            told["outcome"] = found
        _check_distinct(name, found, parameter)
    return told


def _text_of(parameter: Parameter, value: Any) -> str:
    """Return the text that stands in reports for a value of a parameter, which may be given as text itself."""
    code = _code(parameter, value)
    if code < 0 and isinstance(parameter, Listed):
        code = next((k for k, each in enumerate(parameter.by_code) if str(each).lower() == str(value).lower()), -1)
    if code >= 0:
        return str(parameter.decode(np.array([code]))[0])
    raise SettingError.about("labels", f"must name values of {parameter.name!r} ({parameter.words()}), got {value!r}")


def _outcome_text(name: str, value: Any, domain: Domain, model: Any, rows: Any, **asked: Any) -> str:
    if model is None:
        return str(value)
    try:
        found = favourable_in(value, model, domain, rows, as_text=isinstance(value, str), **asked)
    except SettingError as error:
        raise error.calling("favourable", f"a value under {name!r} in labels") from None
    return str(None if found is None else found.word)


def _check_distinct(name: str, names: Mapping[str, str], parameter: Parameter | None) -> None:
    """Refuse two values with one name, and a name that is another value of the column."""
    for text, of in names.items():
        is_value = of in names or (parameter is not None and _code(parameter, of) >= 0)
        if of != text and (is_value or list(names.values()).count(of) > 1):
            raise SettingError.about("labels", f"must give each value of {name!r} a name of its own, got {of!r} twice")


def _code(parameter: Parameter, value: Any) -> int:
    return int(parameter.encode(np.array([value], dtype=object))[0])


# Names in place of values

SECTIONS = ("question", "verdict", "shares", "rows", "impact", "cases", "why", "plots", "proxies", "retraining")
"""Names of the sections of the content that hold values, beside that of matched twins. The others stay."""

KEPT = ("labels", "text", "region", "evidence", "condition", "path")
"""Keys under which the given names, a rule or code stand, which stay."""

OUTCOMES = ("favourable", "rated", "first_gets", "second_gets")
"""Keys under which an outcome stands."""

GETS = "(?P<before>\\bgets \u2068?|\\brates of |\\bprobability of |\\d% )(?P<found>{})(?=[,;:).\u2069]|$| where| in )"
"""Pattern of an outcome in a sentence, after the words that come before outcomes."""

LISTED = (
    r"(?<![\w-])(?:{}) (?:held constant at )?(?P<values>(?:{values})(?:(?:, | or )(?:{values}))*)(?![\w-]|\.\d| to )"
)
"""Pattern of a column with a list of its values, as in the words of a region: "town Bree, Shire or Gondor"."""

PAIR = r"(?P<before>)(?<![\w-])(?P<found>{})(?![\w-]|\.\d)"
"""Pattern of a column with its value in a sentence, such as "sex=1"."""

Replace = Callable[[str], str]


def named(content: Content) -> Content:
    """Return an audit's content as people read it: names in place of values, sensitive columns before the others."""
    given, sensitive = content["question"].get("labels"), content["question"]["sensitive"]
    told = Names(given["columns"], given["outcome"]).content(content) if given else content

    def first(columns: Any) -> Any:
        return sorted(columns, key=lambda each: each[0] not in sensitive)

    cases = [{**case, **{end: dict(first(case[end].items())) for end in ("case", "twin")}} for case in told["cases"]]
    flips = [{**flip, "changes": first(flip["changes"])} for flip in told["rows"]["flips"]]
    return {**told, "cases": cases, "rows": {**told["rows"], "flips": flips}}


class Names:
    """The names of values: by column, then by the value's text; and those of outcomes, by their text."""

    def __init__(self, columns: Mapping[str, Mapping[str, str]], outcome: Mapping[str, str]) -> None:
        self._columns, self._outcome = columns, outcome
        pairs = {f"{name}={text}": f"{name}={of}" for name, names in columns.items() for text, of in names.items()}
        quoted = {repr(text): of for text, of in outcome.items()} | dict(outcome)
        self._replace_pairs, self._replace_outcomes = _replacer(PAIR, pairs), _replacer(GETS, quoted)
        self._replace_listed = [_list_replacer(*each) for each in columns.items()]

    def content(self, content: Content) -> Content:
        """Return an audit's content with names in place of values."""
        told = {name: self.walked(content[name]) for name in SECTIONS}
        return {**content, **told, "matched": [self._matched(each) for each in content["matched"]]}

    def text(self, text: str) -> str:
        """Return a text with names in place of the values and outcomes that it mentions."""
        return self._replace_outcomes(self._replace_pairs(text))

    def _listed(self, words: str) -> str:
        """Return the words of a region or of a decision with names in place of the values after a column's name."""
        return reduce(lambda told, replace: replace(told), self._replace_listed, words)

    def walked(self, each: Any, key: str = "") -> Any:
        """Return a part of the content, which stands under a key, with names in place of values."""
        if key in KEPT or each is None:
            return each
        if key in OUTCOMES:
            return self._outcome.get(str(each), each)
        if isinstance(each, list) and key == "changes":
            return [[column, *self._value(column, ends)] for column, *ends in each]
        if isinstance(each, list):
            return [self.walked(one, OUTCOMES[0] if key == "outputs" else key) for one in each]
        if isinstance(each, str):
            return self._listed(each) if key in ("words", "decision") else self.text(each)
        return self._object(each, key) if isinstance(each, dict) else each

    def _value(self, column: Any, of: Any) -> Any:
        """Return the name of a column's value, or the value itself if it has none; of a list, each."""
        if isinstance(of, list):
            return [self._value(column, each) for each in of]
        return self._columns.get(column, {}).get(str(of), of)

    def _object(self, each: Mapping[str, Any], key: str) -> Any:
        """Return an object with names: a row by column, answers by combination, counts by outcome, or any other."""
        if key in ("case", "twin", "values", "sensitive"):
            return {column: self._value(column, of) for column, of in each.items()}
        if key == "outcomes" and "combination" in each:
            return {self._outcome.get(name, name): self.walked(of) for name, of in each.items()}
        told = {
            self.text(name): self.walked(of, OUTCOMES[0] if key == "answers" else name) for name, of in each.items()
        }
        if isinstance(each.get("sensitive"), str) and "value" in each:
            told["value"] = self._value(each["sensitive"], each["value"])
        if {"directions", "sensitive", "sentences"} <= each.keys():
            alone = {text: of for column in each["sensitive"] for text, of in self._columns.get(column, {}).items()}
            replace = _replacer(PAIR, {text: of for text, of in alone.items() if text[:1].isalpha()})
            told["sentences"] = [*map(replace, told["sentences"])]  # in which a word stands without its column
        return told

    def _matched(self, told: Mapping[str, Any]) -> dict[str, Any]:
        """Return the share by matched twins of an attribute with names: its values stand alone, marked in sentences."""
        column = told["attribute"]
        pairs = [{**pair, "groups": self._value(column, pair["groups"])} for pair in told["pairs"]]
        rates = [{**rate, "group": self._value(column, rate["group"])} for rate in told["rates"]]
        sentence = re.sub("(?<=\u2068)(.*?)(?=\u2069)", lambda found: self._value(column, found[1]), told["sentence"])
        outcome = self._outcome.get(str(told["outcome"]), told["outcome"])
        return {**told, "pairs": pairs, "rates": rates, "sentence": sentence, "outcome": outcome}


def _replacer(pattern: str, names: Mapping[str, str]) -> Replace:
    """Return a function that puts names in place of the texts that they are for, of which the longest comes first."""
    if not names:
        return lambda text: text
    found = re.compile(pattern.format(_any_of(names)))
    return lambda text: found.sub(lambda match: match["before"] + names[match["found"]], text)


def _list_replacer(column: str, names: Mapping[str, str]) -> Replace:
    """Return a function that puts names in place of the values of one column that are listed after its name."""
    replace, found = _replacer(PAIR, names), re.compile(LISTED.format(re.escape(column), values=_any_of(names)))
    return lambda text: found.sub(lambda of: of[0][: -len(of["values"])] + replace(of["values"]), text)


def _any_of(texts: Mapping[str, Any]) -> str:
    return "|".join(map(re.escape, sorted(texts, key=len, reverse=True)))
