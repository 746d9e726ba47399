"""The texts of options as values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from fairprobe.domain import Category, Ordinal, Parameter
from fairprobe.errors import SettingError

NONE = "none"
"""What is written for "no limit", or for "any seed"."""


def whole(text: str) -> int:
    """A whole number.

    >>> whole("1_000_000"), whole("1e6")
    (1000000, 1000000)
    """
    import typer

    value = _number(str(text))
    if value is None or not math.isfinite(value) or value != int(value):
        raise typer.BadParameter(f"must be a whole number, got {text!r}")
    return int(value)


def number(text: str) -> float:
    """A number."""
    import typer

    value = _number(str(text))
    if value is None:
        raise typer.BadParameter(f"must be a number, got {text!r}")
    return value


def truth(text: str) -> bool | str:
    """Yes or no.

    >>> truth("yes"), truth("No")
    (True, False)
    """
    import typer

    answers = {"yes": True, "true": True, "no": False, "false": False}
    if str(text).lower() not in answers:
        raise typer.BadParameter(f"must be yes or no, got {text!r}")
    return answers[str(text).lower()]


def whole_or_none(text: str) -> int | str:
    """A whole number, or "none"."""
    return NONE if str(text).lower() == NONE else whole(text)


def number_or_none(text: str) -> float | str:
    """A number, or "none"."""
    return NONE if str(text).lower() == NONE else number(text)


def names(texts: Iterable[str]) -> list[str]:
    """Names given one at a time or with commas between them.

    >>> names(["id,name", "zip"])
    ['id', 'name', 'zip']
    """
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]


def sensitive(texts: Sequence[str]) -> dict[str, list[str] | None]:
    """Sensitive parameters, with the texts of the values to compare where they are listed.

    >>> sensitive(["sex,race", "age=25,45"])
    {'sex': None, 'race': None, 'age': ['25', '45']}
    """
    compared: dict[str, list[str] | None] = {}
    for text in texts:
        name, equals, listed = text.partition("=")
        for single in [name.strip()] if equals else names([name]):
            if single in compared:
                raise SettingError(f"--sensitive must name each parameter once, got {single!r} more than once")
            compared[single] = names([listed]) if equals else None
        if equals and not compared[name.strip()]:
            raise SettingError(f"--sensitive NAME=VALUE,VALUE must list the values to compare, got {text!r}")
    return compared


def values_of(parameter: Parameter, texts: list[str]) -> list[Any]:
    """The parameter's values that the texts stand for; what stands for none is left to be refused."""
    listed = parameter.values if isinstance(parameter, (Category, Ordinal)) else ()
    by_text = {str(value).lower() if isinstance(value, bool) else str(value): value for value in listed}
    return [by_text.get(text, by_text.get(text.lower(), _plain(text))) for text in texts]


def _plain(text: str) -> Any:
    value = _number(text)
    return text if value is None else value


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None
