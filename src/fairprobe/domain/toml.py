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
`compare_missing = true` a missing value is compared with the others too.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from fairprobe.checks import nearest
from fairprobe.domain.parameters import KINDS, Parameter
from fairprobe.domain.rules import check_once
from fairprobe.errors import DomainError

FORMAT = 1
COMPARE, COMPARE_MISSING = "compare", "compare_missing"


def write(path: str | PathLike[str], parameters: tuple[Parameter, ...], sensitive: tuple[str, ...]) -> None:
    """Write the file."""
    import tomli_w

    tables = [_as_table(p) | ({COMPARE_MISSING: True} if p.missing and p.name in sensitive else {}) for p in parameters]
    content = {"format": FORMAT, "sensitive": list(sensitive), "parameter": tables}
    Path(path).write_text(tomli_w.dumps(content), encoding="utf-8")


def _as_table(parameter: Parameter) -> dict[str, Any]:
    table: dict[str, Any] = {"name": parameter.name, "kind": parameter.kind}
    for field in dataclasses.fields(parameter):
        value = getattr(parameter, field.name)
        if value != field.default or field.name == "dtype":
            table[field.name] = list(value) if isinstance(value, tuple) else value
    return table


def read(path: str | PathLike[str]) -> tuple[list[Parameter], dict[str, list[Any] | None]]:
    """Read the parameters and the sensitive ones with the values to compare."""
    content = _load(Path(path))
    try:
        return _parse(content)
    except DomainError as error:
        raise DomainError(f"{path}: {error}") from None


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DomainError(f"the domain file must be readable, got {error.strerror}: {path}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DomainError(f"the domain file must be TOML, got {path}: {error}") from None


def _parse(content: dict[str, Any]) -> tuple[list[Parameter], dict[str, list[Any] | None]]:
    if content.get("format") != FORMAT:
        raise DomainError(f"format must be {FORMAT}, got {content.get('format')!r}")
    unknown = set(content) - {"format", "sensitive", "parameter"}
    if unknown:
        raise DomainError(
            f"a domain file has format, sensitive and [[parameter]] tables, got {', '.join(sorted(unknown))}"
        )
    sensitive, tables = content.get("sensitive", []), content.get("parameter", [])
    if not isinstance(sensitive, list) or not all(isinstance(name, str) for name in sensitive):
        raise DomainError(f"sensitive must be a list of names, got {sensitive!r}")
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise DomainError(f"parameters must be [[parameter]] tables, got {tables!r}")
    check_once(sensitive)
    compare = {name: values for table in tables for name, values in _compared(table, sensitive)}
    return [_from_table(table) for table in tables], {name: compare.get(name) for name in sensitive}


def _compared(table: dict[str, Any], sensitive: list[str]) -> Iterator[tuple[str, list[Any]]]:
    """Which values of a parameter are to be compared, where its table says so; these entries are taken out of it."""
    name, said = table.get("name"), [key for key in (COMPARE, COMPARE_MISSING) if key in table]
    if not said:
        return
    if not isinstance(name, str):
        raise DomainError(f"a parameter's name must be a string that is not empty, got {name!r}")
    if name not in sensitive:
        raise DomainError(f"{said[0]} is for sensitive parameters, got it for {name!r}")
    values, missing = table.pop(COMPARE, None), table.pop(COMPARE_MISSING, False)
    if values is not None and not isinstance(values, list):
        raise DomainError(f"parameter {name!r}: {COMPARE} must be a list, got {values!r}")
    if not isinstance(missing, bool):
        raise DomainError(f"parameter {name!r}: {COMPARE_MISSING} must be true or false, got {missing!r}")
    if values is None and missing:
        values = table.get("values")
        if values is None:
            raise DomainError(f"parameter {name!r}: {COMPARE_MISSING} needs {COMPARE}, the other values, got none")
    if values is not None:
        yield name, [*values, None] if missing else values


def _from_table(table: dict[str, Any]) -> Parameter:
    fields = dict(table)
    name, kind = fields.get("name"), fields.pop("kind", None)
    if not isinstance(kind, str) or kind not in KINDS:
        near = nearest(kind, KINDS)
        raise DomainError(f"parameter {name!r}: kind must be one of {', '.join(KINDS)}, got {kind!r}{near}")
    known = {field.name for field in dataclasses.fields(KINDS[kind])}
    for key in sorted(fields.keys() - known):
        raise DomainError(
            f"parameter {name!r}: {_with_article(kind)} has {', '.join(sorted(known))}; got {key!r}"
            f"{nearest(key, known - fields.keys())}"
        )
    _check_types(name, fields)
    try:
        return KINDS[kind](**fields)
    except TypeError:
        needed = [f.name for f in dataclasses.fields(KINDS[kind]) if f.default is dataclasses.MISSING]
        raise DomainError(
            f"parameter {name!r}: {_with_article(kind)} needs {', '.join(needed)}; got {', '.join(fields)}"
        ) from None


def _with_article(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def _check_types(name: Any, fields: dict[str, Any]) -> None:
    expected = {
        "missing": (bool, "true or false"),
        "moves": (list, "a list"),
        "dtype": (str, "a string"),
        "values": (list, "a list"),
        "categories": (list, "a list"),
    }
    for key, (kind, words) in expected.items():
        if key in fields and not isinstance(fields[key], kind):
            raise DomainError(f"parameter {name!r}: {key} must be {words}, got {fields[key]!r}")
