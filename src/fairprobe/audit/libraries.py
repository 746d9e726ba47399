"""The versions of what a model is made of: its own class, what it wraps, and what a function refers to."""

from __future__ import annotations

import platform
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from types import CodeType, ModuleType
from typing import Any

from fairprobe._version import __version__

PACKAGES = ("numpy", "pandas", "scikit-learn", "scipy")
"""Always told."""

MOST_LOOKED_AT, MOST_OF_A_LIST = 5_000, 20
"""Objects that are looked at in a model, and members of a list or a mapping in it; chosen."""


def versions_of(model: Any) -> dict[str, str]:
    """By name: this package, Python, the packages that every audit uses, and those that the model comes from."""
    names = {*PACKAGES}
    for root in _roots(model) - {"fairprobe"}:
        names |= {*_by_module().get(root, ())}
    found = {name: told for name in sorted(names) if (told := _version(name)) is not None}
    return {"fairprobe": __version__, "python": platform.python_version(), **found}


@cache
def _by_module() -> Mapping[str, list[str]]:
    return packages_distributions()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _roots(model: Any) -> set[str]:
    """The first names of the modules that the classes of a model and of its parts come from."""
    roots, seen, queue = set(), {id(model)}, deque([model])
    while queue and len(seen) < MOST_LOOKED_AT:
        each = queue.popleft()
        if isinstance(each, ModuleType):
            names, parts = [each.__name__], iter(())
        else:
            names = [getattr(one, "__module__", None) for one in (*type(each).__mro__, each)]
            parts = _parts(each)
        roots |= {name.partition(".")[0] for name in names if isinstance(name, str)}
        for part in parts:
            if id(part) not in seen:
                seen.add(id(part))
                queue.append(part)
    return roots - sys.stdlib_module_names


def _parts(of: Any) -> Iterator[Any]:
    """What an object holds, or a function refers to."""
    if isinstance(of, Mapping):
        yield from [*of.values()][:MOST_OF_A_LIST]
    elif isinstance(of, (list, tuple, set, frozenset)):
        yield from [*of][:MOST_OF_A_LIST]
    attributes = getattr(of, "__dict__", None)
    if isinstance(attributes, dict) and not isinstance(of, type):
        yield from attributes.values()
    yield from (getattr(of, name, None) for name in ("__self__", "__wrapped__", "func", "args"))
    for cell in getattr(of, "__closure__", None) or ():
        yield from () if cell is None else _content(cell)
    code = getattr(of, "__code__", None)
    if isinstance(code, CodeType):
        known = getattr(of, "__globals__", {})
        yield from (known[name] for name in _names(code) if name in known)


def _content(cell: Any) -> Iterator[Any]:
    try:
        yield cell.cell_contents
    except ValueError:  # it is empty as yet
        return


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
