"""Finds the versions of the packages that a model uses, through its class, its parts and names in its functions."""

from __future__ import annotations

import gc
import platform
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import packages_distributions, version
from types import CodeType, FunctionType, ModuleType
from typing import Any

from fairprobe._version import __version__

PACKAGES = ("numpy", "pandas", "scikit-learn", "scipy")
"""Names of the packages whose versions every audit states."""

MOST_LOOKED_AT = 5_000
"""Largest number of objects within a model whose classes are looked at, the nearest to the model first; chosen."""


def versions_of(model: Any) -> dict[str, str]:
    """Return versions by name: those of fairprobe, Python, the packages of every audit, and the model's packages."""
    roots = _roots(model) - {"fairprobe", *sys.stdlib_module_names}
    names = {*PACKAGES}.union(*(_by_module().get(root, ()) for root in roots))
    told = {"fairprobe": __version__, "python": platform.python_version()}
    return told | {name: version(name) for name in sorted(names)}


@cache
def _by_module() -> dict[str, Sequence[str]]:
    return {**packages_distributions()}


def _roots(model: Any) -> set[str]:
    """Return the names of the top-level modules that the classes of a model and of its parts come from."""
    roots, seen, queue = set(), {id(model): model}, deque([model])
    while queue and len(seen) < MOST_LOOKED_AT:
        each = queue.popleft()
        names = [getattr(one, "__module__", None) for one in (*type(each).__mro__, each)]
        names += [each.__name__] if isinstance(each, ModuleType) else []
        roots |= {name.partition(".")[0] for name in names if isinstance(name, str)}
        new = {id(part): part for part in _parts(each) if id(part) not in seen}
        seen |= new
        queue.extend(new.values())
    return roots


def _parts(of: Any) -> Sequence[Any]:
    """Return the objects that an object holds, or that a function refers to; none for a class or a module."""
    if isinstance(of, FunctionType):
        named = [of.__globals__[name] for name in _names(of.__code__) if name in of.__globals__]
        return [*named, *(of.__closure__ or ()), *(of.__defaults__ or ())]
    return () if isinstance(of, (type, ModuleType)) else gc.get_referents(of)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
