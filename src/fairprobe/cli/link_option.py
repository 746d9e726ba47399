"""`--link`: what changes along with a sensitive value, in a line of text.

    relationship~sex: Male=Husband, Female=Wife; Male=Widower, Female=Widow     roles, with a semicolon between them
    height~sex: Male+13, Female+0                                               a shift for each sensitive value
    tenure~age: 0.5 per unit                                                    a shift for each unit of a number

Names and values that hold one of ~ : ; , = stand in quotes: "...", '...' or `...`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from fairprobe.domain import Link
from fairprobe.errors import SettingError

EXAMPLES = (
    "'relationship~sex: Male=Husband, Female=Wife' (with a semicolon before another role), "
    "'height~sex: Male+13, Female+0' or 'tenure~age: 0.5 per unit'"
)

MARKS = "~:;,="
QUOTES = "\"'`"

_NUMBER = r"[+-]?\s*(?:\d+\.?\d*|\.\d+)"
_PER = re.compile(rf"({_NUMBER})\s+per\s+unit")
_SHIFT = re.compile(r"(.*\S)\s*([+-]\s*(?:\d+\.?\d*|\.\d+))", re.DOTALL)

Value = Callable[[str, str], Any]
"""The value of a parameter, by its name, that a text stands for."""


def parse_link(text: str, value: Value) -> Link:
    """The link that a text says.

    >>> parse_link("relationship ~ sex: Male=Husband, Female=Wife", lambda name, text: text).words()
    'relationship with sex (Male Husband, Female Wife)'
    >>> parse_link("height~sex: Male+4, Female+0", lambda name, text: text).words()
    'height with sex (Male +4, Female +0)'
    >>> parse_link("tenure~age: 0.5 per unit", lambda name, text: text).words()
    'tenure with age (+0.5 per unit)'
    """
    who, *how = _split(text, ":", 1)
    names = [_bare(name) for name in _split(who, "~", 1)]
    if not how or len(names) != 2 or not all(names) or not how[0].strip():
        raise SettingError(f"--link must be COLUMN~SENSITIVE: and what changes, as in {EXAMPLES}; got {text!r}")
    column, sensitive = names
    per = _PER.fullmatch(how[0].strip())
    if per is not None:
        return Link(column, sensitive, per=_number(per[1]))
    if len(_split(how[0], "=")) > 1:
        return Link(column, sensitive, list(_roles(text, how[0], column, sensitive, value)))
    return Link(column, sensitive, shift=_shift(text, how[0], sensitive, value))


def link_text(link: Link) -> str:
    """A link by roles, as it is said to --link.

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


def _roles(text: str, said: str, column: str, sensitive: str, value: Value) -> Iterator[dict[Any, Any]]:
    for part in _split(said, ";"):
        role: dict[Any, Any] = {}
        for cell in _split(part, ","):
            key, *player = _split(cell, "=")
            if len(player) != 1 or not _bare(key):
                rule = f"a role must be VALUE=VALUE, a value of {sensitive!r} and one of {column!r}"
                raise SettingError(f"--link {text!r}: {rule}, got {cell.strip()!r}")
            played = _bare(player[0])
            _add(role, text, value(sensitive, _bare(key)), value(column, played) if played else None)
        yield {key: played for key, played in role.items() if played is not None}  # nobody plays an empty cell


def _shift(text: str, said: str, sensitive: str, value: Value) -> dict[Any, float]:
    shift: dict[Any, float] = {}
    for cell in _split(said, ","):
        found = _SHIFT.fullmatch(cell.strip())
        if found is None:
            rule = f"what changes must be VALUE=VALUE, VALUE+NUMBER or NUMBER per unit, as in {EXAMPLES}"
            raise SettingError(f"--link {text!r}: {rule}; got {cell.strip()!r}")
        _add(shift, text, value(sensitive, _bare(found[1])), _number(found[2]))
    return shift


def _add(cells: dict[Any, Any], text: str, key: Any, cell: Any) -> None:
    if key in cells:
        raise SettingError(f"--link {text!r}: a sensitive value must stand once in a role or shift, got {key!r} twice")
    cells[key] = cell


def _number(text: str) -> int | float:
    number = float(text.replace(" ", ""))
    return int(number) if number.is_integer() else number


def _split(text: str, mark: str, most: int = -1) -> list[str]:
    """The parts between marks that stand in no quotes. A quote opens only where a name begins: not in "driver's"."""
    parts, quote, before = [[]], "", MARKS[0]  # type: ignore[var-annotated]  # letters
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in QUOTES and before in MARKS:
            quote = letter
        elif letter == mark and len(parts) - 1 != most:
            parts.append([])
            before = letter
            continue
        parts[-1].append(letter)
        before = before if letter.isspace() else letter
    return ["".join(part) for part in parts]


def _bare(text: str) -> str:
    """A name without the quotes around it."""
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] in QUOTES and text[-1] == text[0] else text
