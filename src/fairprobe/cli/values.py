"""Texts of options, and the values that they stand for."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import typer

from fairprobe.arguments import NUMBER, WHOLE
from fairprobe.cli.flags import NONE, flag
from fairprobe.domain import Category, Ordinal, Parameter
from fairprobe.errors import SettingError

Compared = dict[str, list[str] | None]
"""By sensitive parameter, the texts of the values to compare, where they are listed."""


def as_options(said: Mapping[str, str | Sequence[str]]) -> str:
    """Options as they would be given.

    >>> as_options({"label": "income", "missing": ["?", "n/a"]})
    "--label income --missing '?' --missing n/a"
    """
    given = [(name, one) for name, value in said.items() for one in ([value] if isinstance(value, str) else value)]
    return " ".join(f"{flag(name)} {shlex.quote(one)}" for name, one in given)


def names(texts: Iterable[str]) -> list[str]:
    """Names given one at a time or with commas between them.

    >>> names(["id,name", "zip"])
    ['id', 'name', 'zip']
    """
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]


def compared_values(texts: Sequence[str]) -> Compared:
    """Sensitive parameters, with the texts of the values to compare where they are listed.

    >>> compared_values(["sex,race", "age=25,45"])
    {'sex': None, 'race': None, 'age': ['25', '45']}
    """
    compared: Compared = {}
    for text in texts:
        name, equals, values = text.partition("=")
        for single in [name.strip()] if equals else names([name]):
            if single in compared:
                raise SettingError(f"--sensitive must name each parameter once, got {single!r} more than once")
            compared[single] = names([values]) if equals else None
        if equals and not compared[name.strip()]:
            raise SettingError(f"--sensitive NAME=VALUE,VALUE must list the values to compare, got {text!r}")
    return compared


def values_of(parameter: Parameter, texts: list[str]) -> list[Any]:
    """The parameter's values that the texts stand for; what stands for none is left to be refused."""
    known = parameter.categories or parameter.values if isinstance(parameter, (Category, Ordinal)) else ()
    by_text = {str(value).lower() if isinstance(value, bool) else str(value): value for value in known}
    return [by_text.get(text, by_text.get(text.lower(), number_or_text(text))) for text in texts]


def number_or_text(text: str) -> int | float | str:
    """The number that a text stands for, or the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def whole(text: str) -> int:
    """The whole number that a text stands for.

    >>> whole("1_000_000"), whole("1e6")
    (1000000, 1000000)
    """
    value = number_or_text(str(text))
    if isinstance(value, str) or not math.isfinite(value) or value != int(value):
        raise typer.BadParameter(f"must be a whole number, got {text!r}")
    return int(value)


def number(text: str) -> float:
    """The number that a text stands for."""
    value = number_or_text(str(text))
    if isinstance(value, str):
        raise typer.BadParameter(f"must be a number, got {text!r}")
    return value


PARSERS: dict[str, Callable[[str], Any]] = {WHOLE: whole, NUMBER: number}
"""By what a value must be, the function that makes it of a text; any other value stays a text."""


def or_none(parser: Callable[[str], Any]) -> Callable[[str], Any]:
    """A parser that takes "none" as well."""
    return lambda text: NONE if str(text).lower() == NONE else parser(text)


def pairs(name: str, given: Sequence[str] | None) -> dict[str, str] | None:
    """A mapping that was given as NAME=VALUE, once for each of its entries."""
    split = [each.partition("=") for each in given or ()]
    bad = next((each for each, (left, _, right) in zip(given or (), split, strict=True) if not left or not right), None)
    if bad is not None:
        raise SettingError(f"{flag(name)} must be NAME=VALUE, got {bad!r}")
    return {left.strip(): right.strip() for left, _, right in split} or None
