"""How figures and values are said in every form of a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairprobe.wording import NOT_MEASURED, TWINS, closed, percent, shown
from fairprobe.wording import POPULATION_TITLES as POPULATIONS


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


def number_of(n: int, one: str, more: str | None = None) -> str:
    """So many of something.

    >>> number_of(1, "case"), number_of(1200, "case"), number_of(0, "query", "queries")
    ('1 case', '1,200 cases', '0 queries')
    """
    return f"{n:,} {one if n == 1 else more or one + 's'}"


def between(of: Mapping[str, Any]) -> str:
    """The interval of anything that has one."""
    return "none: training rows" if of["low"] is None else f"{percent(of['low'])} to {percent(of['high'])}"


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
