"""A domain as a TOML file: for people to read, change and keep beside their model.

    format = 1
    sensitive = ["sex"]

    [[parameter]]
    name = "age"
    kind = "integer"
    low = 17
    high = 90
    dtype = "int64"

A sensitive parameter may have `compare = [25, 45, 65]`: only these of its values are compared. With
`compare_missing = true` a missing value is compared with the others too. What cannot be, what follows from another
parameter and what changes along with a sensitive one:

    constraints = ["`capital-gain` == 0 or `capital-loss` == 0"]

    [[parameter]]
    name = "education-num"
    kind = "derived"
    source = "education"
    of = ["HS-grad", "Bachelors"]
    is = [9, 13]

    [[link]]
    column = "relationship"
    sensitive = "sex"
    role = [{name = "spouse", of = ["Male", "Female"], is = ["Husband", "Wife"]}]

    [data]
    label = "income"

Beside `of` and `is`, `if_missing = 0` is the value where the source is missing, and `missing_for = ["other"]` lists the
source's values for which there is none. `hidden = ["sex"]` names sensitive parameters that the model does not take.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairprobe.checks import nearest, read_toml
from fairprobe.domain.constraints import Rule
from fairprobe.domain.derived import Derived
from fairprobe.domain.links import Link
from fairprobe.domain.parameters import KINDS, Parameter
from fairprobe.domain.values import check_once
from fairprobe.errors import DomainError

if TYPE_CHECKING:
    from fairprobe.domain.domain import Domain

FORMAT = 1
COMPARE, COMPARE_MISSING = "compare", "compare_missing"
IF_MISSING, MISSING_FOR = "if_missing", "missing_for"
MAPPING = ("of", "is", IF_MISSING, MISSING_FOR)
TYPES: dict[type, tuple[type, str]] = {bool: (bool, "true or false"), str: (str, "a string"), tuple: (list, "a list")}
"""Python type that a value in the file must have, and its name in messages, by the type of the default of a parameter's
field."""
DATA = {"label": str, "ignore": list, "missing": list}
"""Keys of the file's [data] table and their types: the label's column, ignored columns, texts for missing values. Only
the command line uses them."""


@dataclass(frozen=True)
class Content:
    """The content of a domain file: the parts of a domain, and the [data] table for the command line."""

    parameters: list[Parameter]
    sensitive: dict[str, list[Any] | None]
    constraints: list[str]
    links: list[Link]
    hidden: list[str]
    data: dict[str, Any]
    """The [data] table of a domain file, for the command line, with some of the keys of `DATA`."""


def write(path: str | PathLike[str], domain: Domain, data: Mapping[str, Any] | None = None) -> None:
    """Write a domain to a TOML file, with the [data] table of the command line if given."""
    Path(path).write_bytes(utf8_text_of(domain, data).encode())


def utf8_text_of(domain: Domain, data: Mapping[str, Any] | None = None) -> str:
    """Return a domain as the text of a TOML file; a text that UTF-8 cannot hold is refused."""
    text = text_of(domain, data)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        got = error.object[error.start : error.end]
        raise DomainError(f"a domain file must be UTF-8, which has no character for {got!r}: rename it") from None
    return text


def text_of(domain: Domain, data: Mapping[str, Any] | None = None) -> str:
    """Return a domain, with the [data] table of the command line if given, as the text of a TOML file."""
    import tomli_w

    content = {
        "format": FORMAT,
        "sensitive": list(domain.sensitive),
        "hidden": list(domain.hidden),
        "constraints": [rule.text for rule in domain.constraints if isinstance(rule, Rule)],
        "data": {name: value for name, value in (data or {}).items() if value},
        "link": [link_table(link) for link in domain.links],
        "parameter": [_as_table(p, p.name in domain.sensitive) for p in domain.parameters],
    }
    return tomli_w.dumps(
        {name: value for name, value in content.items() if value or name in ("sensitive", "parameter")}
    )


def link_table(link: Link) -> dict[str, Any]:
    """Return a link as a TOML table. Its values are written as two lists, because TOML's keys are texts."""
    table: dict[str, Any] = {"column": link.column, "sensitive": link.sensitive}
    if link.roles is not None:
        table["role"] = [{"name": name, **_two_lists(role, "is")} for name, role in link.roles.items()]
    elif link.shift is not None:
        table["shift"] = _two_lists(link.shift, "by")
    else:
        table["per"] = link.per
    return table


def _two_lists(mapping: Mapping[Any, Any], to: str) -> dict[str, Any]:
    """Return a mapping as a TOML table with a list of keys and a list of values.

    TOML has no null, so that None as a key or as a value is written under a key of its own.
    """
    pairs = {key: value for key, value in mapping.items() if key is not None and value is not None}
    missing_for = [key for key, value in mapping.items() if value is None]
    table = {"of": list(pairs), to: list(pairs.values())}
    table |= {IF_MISSING: mapping[None]} if None in mapping else {}
    return table | ({MISSING_FOR: missing_for} if missing_for else {})


def _as_table(parameter: Parameter, is_sensitive: bool) -> dict[str, Any]:
    table: dict[str, Any] = {"name": parameter.name, "kind": parameter.kind}
    if isinstance(parameter, Derived):
        return table | {"source": parameter.source, **_two_lists(parameter.mapping, "is"), "dtype": parameter.dtype}
    for field in dataclasses.fields(parameter):
        value = getattr(parameter, field.name)
        if value != field.default or field.name == "dtype":
            table[field.name] = list(value) if isinstance(value, tuple) else value
    return table | ({COMPARE_MISSING: True} if parameter.missing and is_sensitive else {})


def read(path: str | PathLike[str]) -> Content:
    """Return the content of a domain file; errors name the file."""
    try:
        return parse(read_toml(path))
    except DomainError as error:
        raise DomainError(f"{path}: {error}") from None
    except OSError as error:
        raise DomainError(f"the domain file must be readable, got {error.strerror}: {path}") from None
    except ValueError as error:
        raise DomainError(f"the domain file must be TOML, got {path}: {error}") from None


def parse(content: dict[str, Any]) -> Content:
    """Return the content of a domain file from its parsed TOML tables, checked."""
    if content.get("format") != FORMAT:
        raise DomainError(f"format must be {FORMAT}, got {content.get('format')!r}")
    _check_known(
        content, ("format", "sensitive", "hidden", "constraints", "data", "link", "parameter"), "a domain file"
    )
    sensitive, hidden, constraints = (
        _list_of(str, content.get(key, []), f"{key} must be a list of {what}")
        for key, what in (("sensitive", "names"), ("hidden", "names"), ("constraints", "texts"))
    )
    tables, links = (
        _list_of(dict, content.get(key, []), f"{key}s must be [[{key}]] tables") for key in ("parameter", "link")
    )
    check_once(sensitive)
    compared: dict[str, list[Any] | None] = dict.fromkeys(sensitive)
    return Content(
        [_from_table(table, compared) for table in tables],
        compared,
        constraints,
        [_link_from(table) for table in links],
        hidden,
        _data(content.get("data", {})),
    )


def _list_of(kind: type, value: Any, rule: str) -> list[Any]:
    """Return a value if it is a list of texts or tables; anything else is refused with the rule."""
    if not isinstance(value, list) or not all(isinstance(each, kind) for each in value):
        raise DomainError(f"{rule}, got {value!r}")
    return value


def _data(table: Any) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise DomainError(f"data must be a table, got {table!r}")
    _check_known(table, tuple(DATA), "data")
    for name, value in table.items():
        if DATA[name] is list:
            _list_of(str, value, f"data.{name} must be a list of texts")
        elif not isinstance(value, str):
            raise DomainError(f"data.{name} must be a text, got {value!r}")
    return table


def _link_from(table: dict[str, Any]) -> Link:
    column, sensitive = table.get("column"), table.get("sensitive")
    if not isinstance(column, str) or not isinstance(sensitive, str):
        raise DomainError(f"a link must have column and sensitive, two names, got {column!r} and {sensitive!r}")
    _check_known(table, ("column", "sensitive", "role", "shift", "per"), f"the link of {column!r}")
    roles = shift = None
    if "role" in table:
        given = _list_of(dict, table["role"], f"the link of {column!r} must have a list of tables as role")
        names = [str(role.get("name", place)) for place, role in enumerate(given)]
        if len(set(names)) < len(names):
            raise DomainError(f"the link of {column!r} must have roles of distinct names, got {', '.join(names)}")
        roles = dict(zip(names, (_pairs(role, "is", column) for role in given), strict=True))
    if "shift" in table:
        shift = _pairs(table["shift"], "by", column)
    return Link(column, sensitive, roles, shift=shift, per=table.get("per"))


def _check_known(table: Mapping[str, Any], known: Sequence[str], what: str) -> None:
    for name in sorted(set(table) - set(known)):
        raise DomainError(f"{what} has {', '.join(known)}; got {name!r}{nearest(name, known)}")


def _pairs(table: Any, to: str, name: str) -> dict[Any, Any]:
    """Return the mapping that `_two_lists` wrote as a TOML table with a list of keys and a list of values."""
    table = table if isinstance(table, dict) else {}
    _check_known(table, ("name", "of", to, *MAPPING[2:]), f"the table of {name!r}")
    keys, values, missing_for = table.get("of"), table.get(to), table.get(MISSING_FOR, [])
    if not isinstance(keys, list) or not isinstance(values, list) or len(keys) != len(values):
        raise DomainError(f"{name!r}: of and {to} must be two lists of the same length, got {keys!r} and {values!r}")
    every = [*keys, *missing_for] if isinstance(missing_for, list) else [missing_for, missing_for]
    if len({key for key in every if isinstance(key, (str, bool, int, float))}) < len(every):
        raise DomainError(f"{name!r}: of and {MISSING_FOR} must list texts, numbers and truth values once, got {every}")
    pairs = dict(zip(keys, values, strict=True)) | dict.fromkeys(missing_for)
    return pairs | ({None: table[IF_MISSING]} if IF_MISSING in table else {})


def _from_table(table: dict[str, Any], compared: dict[str, list[Any] | None]) -> Parameter:
    """Return the parameter that a TOML table describes; its values to compare, if listed, are stored in `compared`."""
    fields = dict(table)
    name, kind = fields.get("name"), fields.pop("kind", None)
    kinds: dict[Any, type[Parameter]] = {**KINDS, Derived.kind: Derived}
    if not isinstance(kind, str) or kind not in kinds:
        known = ", ".join(kinds)
        raise DomainError(f"parameter {name!r}: kind must be one of {known}, got {kind!r}{nearest(kind, kinds)}")
    expected = {field.name: field for field in dataclasses.fields(kinds[kind])}
    said = {key: fields.pop(key) for key in (COMPARE, COMPARE_MISSING) if key in fields}
    if said:
        compared[str(name)] = _compared(name, said, fields.get("values"), [*compared])
    if kind == Derived.kind:
        _check_known(fields, ("name", "source", "dtype", *MAPPING), f"parameter {name!r}: a derived one")
        mapping = {key: fields.pop(key) for key in MAPPING if key in fields}
        fields["mapping"] = _pairs(mapping, "is", str(name))
    what = f"parameter {name!r}: {'an' if kind[0] in 'aeiou' else 'a'} {kind}"
    _check_known(fields, sorted(expected), what)
    for key, value in fields.items():
        _check_type(name, key, value, type(expected[key].default))
    try:
        return kinds[kind](**fields)
    except TypeError:
        needed = [each.name for each in expected.values() if each.default is dataclasses.MISSING]
        raise DomainError(f"{what} needs {', '.join(needed)}; got {', '.join(fields)}") from None


def _compared(name: Any, said: Mapping[str, Any], values: Any, sensitive: Sequence[str]) -> list[Any] | None:
    """Return the values of a sensitive parameter that a file says to compare; None for all of them."""
    for key, value in said.items():
        if name not in sensitive:
            raise DomainError(f"{key} is for sensitive parameters, got it for {name!r}")
        _check_type(name, key, value, tuple if key == COMPARE else bool)
    if not said.get(COMPARE_MISSING):
        return said.get(COMPARE)
    values = said.get(COMPARE, values)
    if values is None:
        raise DomainError(f"parameter {name!r}: {COMPARE_MISSING} needs {COMPARE}, the other values, got none")
    return [*values, None]


def _check_type(name: Any, key: str, value: Any, default: type) -> None:
    """Refuse a parameter's value in a file if it has another type than the default of its field."""
    file_type, words = TYPES.get(default, (object, ""))
    if not isinstance(value, file_type):
        raise DomainError(f"parameter {name!r}: {key} must be {words}, got {value!r}")
