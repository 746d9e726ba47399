"""Parsers that turn the texts of options into values.

A link is a line of text:

    relationship~sex: Male=Husband, Female=Wife; Male=Widower, Female=Widow     roles, with a semicolon between them
    height~sex: Male+13, Female+0                                               a shift for each sensitive value
    tenure~age: 0.5 per unit                                                    a shift for each unit of a number

Names and values that hold one of ~ : ; , = stand in quotes: "...", '...' or `...`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fairprobe.arguments import Argument
from fairprobe.checks import repeated
from fairprobe.cli.words import flag
from fairprobe.domain import Category, Link, Ordinal, Parameter
from fairprobe.errors import SettingError

Compared = dict[str, list[str] | None]
"""Texts of the values to compare, by name of the sensitive parameter; None if all its values are compared."""


def as_options(said: Mapping[str, str | Sequence[str]]) -> str:
    """Return the values of options, by name, as the text of a command line.

    >>> as_options({"label": "income", "missing": ["?", "n/a"]})
    "--label income --missing '?' --missing n/a"
    """
    given = [(name, one) for name, value in said.items() for one in ([value] if isinstance(value, str) else value)]
    return " ".join(f"{flag(name)} {shlex.quote(one)}" for name, one in given)


def names(texts: Iterable[str]) -> list[str]:
    """Return the names in some texts, each of which holds one name or several with commas between them.

    >>> names(["id,name", "zip"])
    ['id', 'name', 'zip']
    """
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]


def compared_values(texts: Sequence[str]) -> Compared:
    """Return the names of sensitive parameters in texts of --sensitive, each with the values to compare, if listed.

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
    """Return the values of a parameter that some texts stand for.

    A text that stands for no known value becomes a number or stays a text, which a later check refuses.
    """
    known = parameter.categories or parameter.values if isinstance(parameter, (Category, Ordinal)) else ()
    by_text = {str(value).lower() if isinstance(value, bool) else str(value): value for value in known}
    return [by_text.get(text, by_text.get(text.lower(), number_or_text(text))) for text in texts]


def number_or_text(text: str) -> int | float | str:
    """Return the int or float that a text stands for, or the text itself if it is no number."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def as_given(argument: Argument, value: Any) -> Any:
    """Return the value of an option as the library takes it: a list of NAME=VALUE becomes a dict, others stay."""
    if value is None or argument.kind is None or "=" not in (argument.kind.metavar or ""):
        return value
    made: dict[str, str] = {}
    for each in value:
        left, _, right = each.partition("=")
        if not left or not right:
            raise SettingError(f"{flag(argument.name)} must be NAME=VALUE, got {each!r}")
        made[left.strip()] = right.strip()
    return made


# Links

EXAMPLES = (
    "'relationship~sex: Male=Husband, Female=Wife' (with a semicolon before another role), "
    "'height~sex: Male+13, Female+0' or 'tenure~age: 0.5 per unit'"
)

MARKS = "~:;,="
QUOTES = "\"'`"
HIDDEN = str.maketrans({mark: chr(0xE000 + place) for place, mark in enumerate(MARKS)})
SHOWN = {hidden: ord(mark) for mark, hidden in zip(MARKS, map(ord, HIDDEN.values()), strict=True)}
"""Translation table that restores separators within quotes, which are hidden while a text is split."""

_QUOTED = re.compile(r"(?:\A|(?<=[~:;,=]))\s*(?:\"[^\"]*\"|'[^']*'|`[^`]*`)")
"""Pattern of a quoted name. A quote opens only where a name begins: not in "driver's"."""

_NUMBER = r"[+-]?\s*(?:\d+\.?\d*|\.\d+)"
_PER = re.compile(rf"({_NUMBER})\s+per\s+unit")
_SHIFT = re.compile(r"(.*\S)\s*([+-]\s*(?:\d+\.?\d*|\.\d+))", re.DOTALL)


def parse_link(text: str, value: Callable[[str, str], Any]) -> Link:
    """Return the link that a text of --link describes.

    `value` is a function from a parameter's name and a text to the parameter's value that the text stands for.

    >>> parse_link("relationship ~ sex: Male=Husband, Female=Wife", lambda name, text: text).words()
    'relationship with sex (Male Husband, Female Wife)'
    >>> parse_link("height~sex: Male+4, Female+0", lambda name, text: text).words()
    'height with sex (Male +4, Female +0)'
    >>> parse_link("tenure~age: 0.5 per unit", lambda name, text: text).words()
    'tenure with age (+0.5 per unit)'
    """
    who, _, how = _QUOTED.sub(lambda quoted: quoted[0].translate(HIDDEN), text).partition(":")
    column, sensitive = map(_bare, who.partition("~")[::2])
    if not (column and sensitive and how.strip()):
        raise SettingError(f"--link must be COLUMN~SENSITIVE: and what changes, as in {EXAMPLES}; got {text!r}")
    per = _PER.fullmatch(how.strip())
    if per is not None:
        return Link(column, sensitive, per=_step(per[1]))
    if "=" not in how:
        shifts = [_shift(text, cell) for cell in how.split(",")]
        return Link(column, sensitive, shift=_once(text, [(value(sensitive, who), step) for who, step in shifts]))
    roles = []
    for part in how.split(";"):
        cells = [_cell(text, cell) for cell in part.split(",")]
        role = _once(text, [(value(sensitive, who), value(column, player)) for who, player in cells])
        roles.append({who: player for who, player in role.items() if player != ""})  # nobody plays an empty cell
    return Link(column, sensitive, roles)


def _shift(text: str, cell: str) -> tuple[str, float]:
    found = _SHIFT.fullmatch(cell.strip())
    if found is None:
        rule = f"what changes must be VALUE=VALUE, VALUE+NUMBER or NUMBER per unit, as in {EXAMPLES}"
        raise SettingError(f"--link {text!r}: {rule}; got {cell.strip()!r}")
    return _bare(found[1]), _step(found[2])


def _cell(text: str, cell: str) -> tuple[str, str]:
    who, *player = map(_bare, cell.split("="))
    if len(player) != 1 or not who:
        raise SettingError(f"--link {text!r}: a role must be VALUE=VALUE, got {cell.strip()!r}")
    return who, player[0]


def _once(text: str, cells: list[tuple[Any, Any]]) -> dict[Any, Any]:
    for who in repeated(who for who, _ in cells):
        raise SettingError(f"--link {text!r}: a sensitive value must stand once in a role or shift, got {who!r} twice")
    return dict(cells)


def link_text(link: Link) -> str:
    """Return a link with roles as a text that `parse_link` reads.

    >>> link_text(Link("relationship", "sex", [{"Male": "Husband", "Female": "Wife"}, {"Male": "son, in law"}]))
    'relationship~sex: Male=Husband, Female=Wife; Male="son, in law"'
    """
    table = (link.roles or {}).values()
    roles = [", ".join(f"{_quoted(key)}={_quoted(player)}" for key, player in role.items()) for role in table]
    return f"{_quoted(link.column)}~{_quoted(link.sensitive)}: {'; '.join(roles)}"


def _quoted(value: Any) -> str:
    text = str(value)
    if text.strip() == text and text and not set(MARKS) & set(text) and text[0] not in QUOTES:
        return text
    quote = next((quote for quote in QUOTES if quote not in text), QUOTES[0])
    return f"{quote}{text}{quote}"


def _step(text: str) -> int | float:
    step = float(text.replace(" ", ""))
    return int(step) if step.is_integer() else step


def _bare(text: str) -> str:
    """Return a name or value without spaces and quotes around it, with hidden separators restored."""
    text = text.strip().translate(SHOWN)
    return text[1:-1] if len(text) > 1 and text[0] in QUOTES and text[-1] == text[0] else text
