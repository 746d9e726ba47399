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
from collections.abc import Iterator, Mapping, Sequence
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
DATA = {"label": str, "ignore": list, "missing": list}
"""Keys of [data], which the command line uses: the label's column, ignored columns, texts for missing values."""


@dataclass(frozen=True)
class Content:
    """The content of a domain file."""

    parameters: list[Parameter]
    sensitive: dict[str, list[Any] | None]
    constraints: list[str]
    links: list[Link]
    hidden: list[str]
    data: dict[str, Any]
    """The [data] table, with keys of `DATA`."""


def write(path: str | PathLike[str], domain: Domain, data: Mapping[str, Any] | None = None) -> None:
    """Write the file."""
    try:
        content = text_of(domain, data).encode()
    except UnicodeEncodeError as error:
        got = error.object[error.start : error.end]
        raise DomainError(f"a domain file must be UTF-8, which has no character for {got!r}: rename it") from None
    Path(path).write_bytes(content)


def text_of(domain: Domain, data: Mapping[str, Any] | None = None) -> str:
    """The text of a domain file."""
    import tomli_w

    sensitive = domain.sensitive
    tables = [
        _as_table(p) | ({COMPARE_MISSING: True} if p.missing and p.name in sensitive else {}) for p in domain.parameters
    ]
    content = {
        "format": FORMAT,
        "sensitive": list(sensitive),
        "hidden": list(domain.hidden),
        "constraints": [rule.text for rule in domain.constraints if isinstance(rule, Rule)],
        "data": {name: value for name, value in (data or {}).items() if value},
        "link": [link_table(link) for link in domain.links],
        "parameter": tables,
    }
    needed = {name: value for name, value in content.items() if value or name in ("sensitive", "parameter")}
    return tomli_w.dumps(needed)


def link_table(link: Link) -> dict[str, Any]:
    """A link as a TOML table. Its values are written as two lists, because TOML's keys are texts."""
    table: dict[str, Any] = {"column": link.column, "sensitive": link.sensitive}
    if link.roles is not None:
        table["role"] = [{"name": name, **_two_lists(role, "is")} for name, role in link.roles.items()]
    elif link.shift is not None:
        table["shift"] = _two_lists(link.shift, "by")
    else:
        table["per"] = link.per
    return table


def _two_lists(mapping: Mapping[Any, Any], to: str) -> dict[str, Any]:
    """A mapping as two lists. TOML has no null, so that None as a key or as a value is written under its own key."""
    pairs = {key: value for key, value in mapping.items() if key is not None and value is not None}
    missing_for = [key for key, value in mapping.items() if value is None]
    table = {"of": list(pairs), to: list(pairs.values())}
    table |= {IF_MISSING: mapping[None]} if None in mapping else {}
    return table | ({MISSING_FOR: missing_for} if missing_for else {})


def _as_table(parameter: Parameter) -> dict[str, Any]:
    table: dict[str, Any] = {"name": parameter.name, "kind": parameter.kind}
    if isinstance(parameter, Derived):
        return table | {"source": parameter.source, **_two_lists(parameter.mapping, "is"), "dtype": parameter.dtype}
    for field in dataclasses.fields(parameter):
        value = getattr(parameter, field.name)
        if value != field.default or field.name == "dtype":
            table[field.name] = list(value) if isinstance(value, tuple) else value
    return table


def read(path: str | PathLike[str]) -> Content:
    """Read the file."""
    content = _load(Path(path))
    try:
        return parse(content)
    except DomainError as error:
        raise DomainError(f"{path}: {error}") from None


def parse(content: dict[str, Any]) -> Content:
    """The content from a file's tables."""
    if content.get("format") != FORMAT:
        raise DomainError(f"format must be {FORMAT}, got {content.get('format')!r}")
    known = ("format", "sensitive", "hidden", "constraints", "data", "link", "parameter")
    for name in sorted(set(content) - set(known)):
        raise DomainError(f"a domain file has {', '.join(known)}; got {name}{nearest(name, known)}")
    sensitive, hidden, constraints = (
        _list_of(str, content.get(key, []), f"{key} must be a list of {what}")
        for key, what in (("sensitive", "names"), ("hidden", "names"), ("constraints", "texts"))
    )
    tables, links = (
        _list_of(dict, content.get(key, []), f"{key}s must be [[{key}]] tables") for key in ("parameter", "link")
    )
    check_once(sensitive)
    compare = {name: values for table in tables for name, values in _compared(table, sensitive)}
    return Content(
        [_from_table(table) for table in tables],
        {name: compare.get(name) for name in sensitive},
        constraints,
        [_link_from(table) for table in links],
        hidden,
        _data(content.get("data", {})),
    )


def _load(path: Path) -> dict[str, Any]:
    try:
        return read_toml(path)
    except OSError as error:
        raise DomainError(f"the domain file must be readable, got {error.strerror}: {path}") from None
    except ValueError as error:
        raise DomainError(f"the domain file must be TOML, got {path}: {error}") from None


def _list_of(kind: type, value: Any, rule: str) -> list[Any]:
    """A list of texts or tables; anything else breaks the rule."""
    if not isinstance(value, list) or not all(isinstance(each, kind) for each in value):
        raise DomainError(f"{rule}, got {value!r}")
    return value


def _data(table: Any) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise DomainError(f"data must be a table, got {table!r}")
    for name, value in table.items():
        if name not in DATA:
            raise DomainError(f"data has {', '.join(DATA)}; got {name!r}{nearest(name, DATA)}")
        if DATA[name] is list:
            _list_of(str, value, f"data.{name} must be a list of texts")
        elif not isinstance(value, str):
            raise DomainError(f"data.{name} must be a text, got {value!r}")
    return table


def _link_from(table: dict[str, Any]) -> Link:
    table = dict(table)
    column, sensitive = table.pop("column", None), table.pop("sensitive", None)
    if not isinstance(column, str) or not isinstance(sensitive, str):
        raise DomainError(f"a link must have column and sensitive, two names, got {column!r} and {sensitive!r}")
    roles, shift, per = table.pop("role", None), table.pop("shift", None), table.pop("per", None)
    _check_known(table, ("role", "shift", "per"), f"the link of {column!r}")
    if roles is not None:
        roles = _list_of(dict, roles, f"the link of {column!r} must have a list of tables as role")
        names = [str(role.get("name", place)) for place, role in enumerate(roles)]
        if len(set(names)) < len(names):
            raise DomainError(f"the link of {column!r} must have roles of distinct names, got {', '.join(names)}")
        return Link(column, sensitive, dict(zip(names, (_pairs(role, "is", column) for role in roles), strict=True)))
    if shift is not None:
        return Link(column, sensitive, shift=_pairs(shift, "by", column))
    return Link(column, sensitive, per=per)


def _check_known(table: Mapping[str, Any], known: Sequence[str], what: str) -> None:
    for name in sorted(set(table) - set(known)):
        raise DomainError(f"{what} has {', '.join(known)}; got {name!r}{nearest(name, known)}")


def _pairs(table: Any, to: str, name: str) -> dict[Any, Any]:
    """The mapping from two lists; the reverse of `_two_lists`."""
    table = table if isinstance(table, dict) else {}
    _check_known(table, ("name", "source", "dtype", "of", to, IF_MISSING, MISSING_FOR), f"the table of {name!r}")
    keys, values, missing_for = table.get("of"), table.get(to), table.get(MISSING_FOR, [])
    if not isinstance(keys, list) or not isinstance(values, list) or len(keys) != len(values):
        raise DomainError(f"{name!r}: of and {to} must be two lists of the same length, got {keys!r} and {values!r}")
    every = [*keys, *missing_for] if isinstance(missing_for, list) else [missing_for, missing_for]
    if len({key for key in every if isinstance(key, (str, bool, int, float))}) < len(every):
        raise DomainError(f"{name!r}: of and {MISSING_FOR} must list texts, numbers and truth values once, got {every}")
    pairs = dict(zip(keys, values, strict=True)) | dict.fromkeys(missing_for)
    return pairs | ({None: table[IF_MISSING]} if IF_MISSING in table else {})


def _compared(table: dict[str, Any], sensitive: list[str]) -> Iterator[tuple[str, list[Any]]]:
    """The values of a sensitive parameter to compare, if its table lists them; these entries are removed."""
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
    if kind == Derived.kind:
        mapping = _pairs(fields, "is", str(name))
        return Derived(fields.get("name"), fields.get("source"), mapping, dtype=fields.get("dtype", ""))  # type: ignore[arg-type]  # made sure of there
    if not isinstance(kind, str) or kind not in KINDS:
        near = nearest(kind, [*KINDS, Derived.kind])
        raise DomainError(
            f"parameter {name!r}: kind must be one of {', '.join([*KINDS, Derived.kind])}, got {kind!r}{near}"
        )
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
