"""How figures and values are said in every form of a report."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

POPULATIONS = {
    "rows": "Real rows",
    "density": "Density fitted to rows",
    "valid": "Allowed part of the domain",
    "domain": "Whole domain",
}
TWINS = {"plain": "plain twins", "linked": "linked twins"}
OUTCOMES = {"violated": "Violated", "passed": "Passed", "inconclusive": "Inconclusive", "no-limit": "No limit given"}
ROLES = {
    "training": "training rows: the model was fitted to them",
    "held-out": "held out: the model was not fitted to them",
    "unknown": "not told whether the model was fitted to them",
}
MISSING = "(missing)"
NOT_MEASURED = "not measured"

_INVISIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_OVERRIDES = re.compile("[\u202a-\u202e]")
DIRECTIONAL = re.compile("[\u061c\u200e\u200f\u202a-\u202e]")
"""What can turn the direction of text around, and may stand in a value, which is isolated."""


def visible(text: str) -> str:
    r"""Text without what no form can hold or no reader could see: controls, halves of characters, isolates.

    They are written out, so that two values that differ in nothing else can still be told apart.

    >>> print(visible("a\x00b\u2067c"))
    a\u0000b\u2067c
    """
    return _INVISIBLE.sub(_escape, text)


def said(text: Any) -> str:
    r"""A sentence, in which somebody's value may stand: what would turn the rest of it around is written out.

    >>> print(said("'\u202ebad' is worse off"))
    '\u202ebad' is worse off
    """
    return _OVERRIDES.sub(_escape, visible(str(text)))


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found.group()):04x}"


def shown(value: Any) -> str:
    """A value of a parameter, or what identifies a row, as text.

    >>> shown(None), shown(40), shown(0.5), shown("Wife")
    ('(missing)', '40', '0.5', 'Wife')
    """
    return MISSING if value is None else visible(str(value))


def answer(output: Any) -> str:
    """What a model answered.

    >>> answer(0.123456), answer([0.25, 0.75]), answer("no"), answer(None)
    ('0.1235', '(0.25, 0.75)', 'no', '(missing)')
    """
    if isinstance(output, list | tuple):
        return f"({', '.join(map(answer, output))})"
    return f"{output:.4g}" if isinstance(output, float) else shown(output)


def percent(fraction: float | None) -> str:
    """A fraction as a percentage, with as many digits as it takes to tell it from none and from all.

    >>> percent(0.0623), percent(7.489e-6), percent(0.9999), percent(0.0), percent(None)
    ('6.23%', '0.00075%', '99.99%', '0%', 'not measured')
    """
    if fraction is None:
        return NOT_MEASURED
    number = 100 * fraction
    distance, digits = min(number, 100 - number), 2
    while 0 < distance < 10.0 ** (1 - digits) and digits < 20:
        digits += 1
    return f"{number:.{digits}f}".rstrip("0").rstrip(".") + "%"


def count(number: int | str | None) -> str:
    """A count; one of very many digits is rounded.

    >>> count(12345), count("123456789012345678901"), count(None)
    ('12,345', 'about 1.2e+20', 'not measured')
    """
    if number is None:
        return NOT_MEASURED
    digits = str(number)
    # Of thousands of digits Python would make neither an integer nor a float.
    return f"{int(digits):,}" if len(digits) <= 15 else f"about {digits[0]}.{digits[1]}e+{len(digits) - 1}"


def figure(number: float | None) -> str:
    """A number that is neither count nor fraction."""
    return NOT_MEASURED if number is None else f"{number:.4g}"


def number_of(n: int, one: str, more: str | None = None) -> str:
    """So many of something.

    >>> number_of(1, "case"), number_of(1200, "case"), number_of(0, "query", "queries")
    ('1 case', '1,200 cases', '0 queries')
    """
    return f"{n:,} {one if n == 1 else more or one + 's'}"


def between(of: Mapping[str, Any]) -> str:
    """The interval of anything that has one."""
    return "none: training rows" if of["low"] is None else f"{percent(of['low'])} to {percent(of['high'])}"


def outcome_words(verdict: Mapping[str, Any]) -> str:
    """The outcome with the condition that it stands under, if there is one.

    >>> outcome_words({"outcome": "passed", "condition": "if the model was not trained on these rows"})
    'Passed, if the model was not trained on these rows'
    """
    return _on_condition(OUTCOMES.get(verdict["outcome"], verdict["outcome"]), verdict)


def confidence(of: Mapping[str, Any]) -> str:
    """The confidence of the interval of a share; what is exact or a count has none.

    >>> confidence({"low": 0.1, "confidence": 0.975}), confidence({"low": None, "confidence": 0.95})
    ('97.5%', '')
    """
    return "" if of["low"] is None or of.get("method") == "exact" else percent(of["confidence"])


def retrained_rows(told: Mapping[str, Any], population: str) -> str:
    """What the shares before and after retraining are of."""
    if population not in ("rows", "linked"):
        return POPULATIONS.get(population, population)
    seen = "that it was fitted to" if told["on_fitted_rows"] else "held back from fitting"
    return f"{number_of(told['before'][population]['n'], 'row')} {seen}{', linked twins' * (population == 'linked')}"


def retrained_words(told: Mapping[str, Any]) -> str:
    """Whose figures stand before and after, and on which rows, so that nobody takes them for the audit's shares."""
    said = "A retrained model was accepted" if told["accepted"] else "No retrained model was shown to be better"
    after = "the new model" if told["accepted"] else "the model given"
    unseen = "; figures come from rows and inputs that neither fitting nor choosing has seen"
    unseen *= told["is_reported"] and not told["on_fitted_rows"]
    return (
        f"{said}, after {number_of(len(told['rounds']), 'round')}. Before is {told['before_is']}; after is {after}"
        f"{unseen}. These are other figures than the shares of the audited model on all rows."
    )


def verdict_words(verdict: Mapping[str, Any]) -> str:
    """The verdict's sentence without the outcome, which stands before it.

    >>> verdict_words({"outcome": "passed", "condition": None, "sentence": "passed: at most 1% change"})
    'At most 1% change.'
    """
    sentence = str(verdict["sentence"]).removeprefix(f"{_on_condition(verdict['outcome'], verdict)}: ")
    return closed(sentence[:1].upper() + sentence[1:])


def _on_condition(outcome: str, verdict: Mapping[str, Any]) -> str:
    """An outcome's word, followed by the verdict's condition if it has one."""
    return ", ".join(filter(None, [outcome, verdict["condition"]]))


def closed(sentence: str) -> str:
    """A sentence with its full stop."""
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."


def share_words(share: Mapping[str, Any]) -> str:
    """Which share it is."""
    twins = TWINS.get(share["twins"], share["twins"])
    population = POPULATIONS.get(share["population"], share["population"])
    return f"{population}, {twins}: {' and '.join(map(shown, share['sensitive']))}"


def flips_words(content: Mapping[str, Any]) -> str:
    """How many real rows would get another answer. Of numbers: how many one so far away, and how many another label."""
    rows, question = content["rows"], content["question"]
    told = f"{number_of(rows['n_flipped'], 'real row')} would get "
    if question["output"] == "label":
        return f"{told}another answer"
    n = rows.get("n_relabelled")
    labels = "" if n is None else f", and {number_of(n, 'real row')} another label,"
    return f"{told}an answer more than {question['threshold']:g} away{labels}"
