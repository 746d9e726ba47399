"""Turns numbers, values and names of populations into text, for all results and all forms of a report."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

# Names

POPULATIONS = {
    "domain": "the domain",
    "valid": "the allowed part of the domain",
    "rows": "the rows",
    "density": "the density fitted to rows",
}
"""Name of each population (the inputs that a share is measured on) within a sentence."""

POPULATION_TITLES = {
    "rows": "Real rows",
    "density": "Density fitted to rows",
    "valid": "Allowed part of the domain",
    "domain": "Whole domain",
}
"""Name of each population in a table or a heading."""

MEMBERS = {
    "rows": "rows",
    "density": "inputs drawn from the density",
    "valid": "inputs that the constraints allow",
    "domain": "inputs of the domain",
}
"""Plural noun for the inputs of each population, as in "5 of 100 inputs of the domain"."""

DRAWN = {
    "rows": "all rows given",
    "density": "drawn from the density fitted to the rows",
    "valid": "uniform over the allowed part of the domain",
    "domain": "uniform over the domain",
}
"""Words on how the inputs of each population are chosen, such as "uniform over the domain"."""

ROLES = {
    "held-out": "held out: the model was not fitted to them",
    "training": "training rows: the model was fitted to them",
    "unknown": "not told whether the model was fitted to them",
}
"""Words on whether the model was fitted to the given rows, by the role that the user states for them."""

TWINS = {"plain": "plain twins", "linked": "linked twins"}

OUTCOMES = {"violated": "Violated", "passed": "Passed", "inconclusive": "Inconclusive", "no-limit": "No limit given"}
"""Heading for each outcome of a verdict."""

MISSING = "(missing)"
NOT_MEASURED = "not measured"

MOST_LISTED = 30
"""Largest number of names that `listed` writes in full; chosen."""

EXACT_BELOW = 10**12
"""Smallest count that is not written with all digits; chosen, because larger ones are hard to read."""

# Numbers


def percent(fraction: float | None, limit: float | None = None) -> str:
    """Return a fraction (0 to 1) as a text in percent, with enough digits to differ from 0% and 100%.

    >>> percent(0.0623), percent(7.489e-6), percent(0.95), percent(0.9999), percent(0.0)
    ('6.23%', '0.00075%', '95%', '99.99%', '0%')

    With a limit, also a fraction, the text has enough digits to differ from that of the limit:

    >>> percent(0.010004), percent(0.010004, 0.01)
    ('1%', '1.0004%')

    A fraction of nothing is not measured:

    >>> percent(math.nan), percent(None)
    ('not measured', 'not measured')
    """
    if fraction is None or math.isnan(fraction):
        return NOT_MEASURED
    number = 100 * fraction
    distance = min(number, 100 - number)
    digits = 2
    while 0 < distance < 10.0 ** (1 - digits) and digits < 20:
        digits += 1
    while limit not in (None, fraction) and digits < 20 and f"{number:.{digits}f}" == f"{100 * limit:.{digits}f}":
        digits += 1
    text = f"{number:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.')}%"


def between(low: float | None, high: float | None, limit: float | None = None) -> str:
    """Return an interval of fractions (0 to 1) as a text in percent, with enough digits to differ from the limit.

    Bounds of None or NaN stand for a share of training rows, which has no interval.

    >>> between(0.01, 0.025), between(None, None)
    ('1% to 2.5%', 'none: training rows')
    """
    if low is None or math.isnan(low):
        return "none: training rows"
    return f"{percent(low, limit)} to {percent(high, limit)}"


def magnitude(number: int | str | None) -> str:
    """Return a count as text: with commas and all digits below `EXACT_BELOW`, otherwise rounded to two digits.

    The count may also be a text of digits, of any length. None gives "not measured".

    >>> magnitude(2_000_000), magnitude(25 * 10**12), magnitude(10**400), magnitude("12345"), magnitude(None)
    ('2,000,000', '2.5e+13', '1.0e+400', '12,345', 'not measured')
    """
    if number is None:
        return NOT_MEASURED
    whole = Decimal(number)  # which, unlike an integer, has no limit of digits as text
    return f"{whole:,}" if whole < EXACT_BELOW else f"{whole:.1e}"


def counted(n: int, noun: str, plural: str = "") -> str:
    """Return a count and its noun as text; the noun is in the plural unless the count is 1.

    >>> counted(1, "case"), counted(2500, "case"), counted(2, "query"), counted(2, "region holds", "regions hold")
    ('1 case', '2,500 cases', '2 queries', '2 regions hold')
    """
    plural = plural or (f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s")
    return f"{magnitude(n)} {noun if n == 1 else plural}"


def figure(number: float | None) -> str:
    """Return a number, such as a gap or a threshold, as text with four significant digits; None is "not measured"."""
    return NOT_MEASURED if number is None else f"{number:.4g}"


def signed(number: float) -> str:
    """Return a difference as text with its sign: with two decimals, or two significant digits if it is below 0.1.

    >>> signed(-17.4), signed(0.381), signed(-0.00075), signed(-0.0)
    ('-17.40', '+0.38', '-0.00075', '+0.00')
    """
    return f"{number or 0.0:+.2f}" if abs(number) >= 0.1 or not number else f"{number:+.2g}"


def duration(seconds: float) -> str:
    """Return a number of seconds as a rough duration in words, in seconds, minutes, hours or days.

    >>> duration(0.2), duration(42), duration(600), duration(10_000), duration(300_000)
    ('under a second', 'about 42 s', 'about 10 min', 'about 2.8 h', 'about 3.5 days')
    """
    if seconds < 1:
        return "under a second"
    if seconds < 100:
        return f"about {seconds:.0f} s"
    if seconds < 6000:
        return f"about {seconds / 60:.0f} min"
    return f"about {seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"about {seconds / 86400:.1f} days"


# Sentences


def listed(names: Iterable[object]) -> str:
    """Return names as text, separated by commas; beyond `MOST_LISTED`, only the first and the number of all."""
    texts = [str(name) for name in names]
    return ", ".join(texts) if len(texts) <= MOST_LISTED else f"{', '.join(texts[:MOST_LISTED])}, ... ({len(texts):,})"


def closed(sentence: str) -> str:
    """Return a sentence with a full stop at its end, unless it ends in a full stop, "!" or "?" already."""
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."


def capital(sentence: str) -> str:
    """Return a sentence with its first letter as a capital."""
    return f"{sentence[:1].upper()}{sentence[1:]}"


# Values of somebody's data, which may hold any character

_ISOLATED = re.compile("\u2068([^\u2066-\u2069]*)\u2069")
"""Pattern of a value that `value` marked with the two characters that isolate its text direction."""

_INVISIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_OVERRIDES = re.compile("[\u202a-\u202e]")
_TURNING = re.compile("[\r\u061c\u200e\u200f\u202a-\u202e]")
DIRECTIONAL = re.compile("[\u061c\u200e\u200f\u202a-\u202e]")
"""Pattern of characters that change the direction of text. They may occur only in a marked value."""


def visible(text: str) -> str:
    r"""Return a text in which invisible characters are written as escapes such as \u0000.

    These are control characters other than tabs and line ends, lone surrogates, and the characters that isolate a text
    direction. Two values that differ only in such characters can still be distinguished.

    >>> print(visible("a\x00b\u2067c"))
    a\u0000b\u2067c
    """
    return _INVISIBLE.sub(_escape, text)


def said(text: Any) -> str:
    r"""Return a text in which invisible characters and those that force a text direction are written as escapes.

    >>> print(said("'\u202ebad' is worse off"))
    '\u202ebad' is worse off
    """
    return _OVERRIDES.sub(_escape, visible(str(text)))


def for_terminal(text: str) -> str:
    r"""Return a text for a terminal: characters that control it or change the text direction are escaped.

    >>> print(for_terminal("sex" + chr(27) + "[2J"))
    sex\u001b[2J
    """
    return _TURNING.sub(_escape, visible(text))


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found.group()):04x}"


def shown(value: Any) -> str:
    """Return a parameter's value, or a row's index label, as text; None is "(missing)".

    A whole number is written without a decimal point, also where its column holds other numbers.

    >>> shown(None), shown(40), shown(40.0), shown(0.5), shown("Wife")
    ('(missing)', '40', '40', '0.5', 'Wife')
    """
    if isinstance(value, float) and value.is_integer() and abs(value) < EXACT_BELOW:
        return str(int(value))
    return MISSING if value is None else visible(str(value))


def answer(output: Any) -> str:
    """Return an output of the model (a label, a number or class probabilities) as text.

    >>> answer(0.123456), answer([0.25, 0.75]), answer("no"), answer(None)
    ('0.1235', '(0.25, 0.75)', 'no', '(missing)')
    """
    if isinstance(output, list | tuple):
        return f"({', '.join(map(answer, output))})"
    return f"{output:.4g}" if isinstance(output, float) else shown(output)


def value(of: Any) -> str:
    r"""Return a value of the user's data as text between two marks.

    The marks tell a writer to keep the value's text direction from changing the text around it.

    >>> value("Wife")
    '\u2068Wife\u2069'
    """
    return f"\u2068{shown(of)}\u2069"


def parted(text: Any) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a text, each with True if `value` marked it as a value of data.

    Invisible characters in the parts are written as escapes, because not every form of a report can hold them.
    """
    for place, part in enumerate(_ISOLATED.split(str(text))):
        if part:
            yield (visible(part), True) if place % 2 else (said(part), False)


def unmarked(text: Any) -> str:
    """Return a text without the marks that `value` puts around values of data, for a terminal or an attribute."""
    return _ISOLATED.sub(r"\1", str(text))


def isolated(text: Any) -> str:
    r"""Return a text for a form without markup, such as XML: marks stay only around values that need them.

    A value needs the marks of `value` if it holds characters that change the direction of text.

    >>> print(isolated(f"sex is {value('Female')}"))
    sex is Female
    """
    parts = (
        f"\u2068{part}\u2069" if is_value and DIRECTIONAL.search(part) else part for part, is_value in parted(text)
    )
    return "".join(parts)


def outcome_words(verdict: Mapping[str, Any]) -> str:
    """Return the outcome of a verdict as a heading, followed by the condition under which it holds, if there is one.

    >>> outcome_words({"outcome": "passed", "condition": "if the model was not trained on these rows"})
    'Passed, if the model was not trained on these rows'
    """
    outcome = OUTCOMES.get(verdict["outcome"], str(verdict["outcome"]))
    return ", ".join(filter(None, [outcome, verdict["condition"]]))
