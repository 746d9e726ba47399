"""Detection of altered objects: a method of their class, or a function that it calls, was replaced or wrapped."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any, Final

PACKAGES: Final = frozenset(
    ("fairprobe", "joblib", "lightgbm", "narwhals", "numpy", "pandas", "pyarrow", "scipy", "sklearn", "threadpoolctl")
) | {"xgboost", *(sys.stdlib_module_names - {"unittest"})}
"""Packages that define the known classes of models, and packages whose functions and classes these classes use."""

_IMMUTABLE = 1 << 8
"""Flag of classes whose attributes cannot be replaced: Py_TPFLAGS_IMMUTABLETYPE of Python's C API."""

_DATA = frozenset({bool, bytes, dict, float, int, str, type(None)})
"""Types of values that contain no function, so they need not be followed."""


def is_altered(thing: Any, seen: dict[Any, Any]) -> bool:
    """Return True if a method of an object, or of an object fitted in it, was replaced.

    Only attributes with a leading or trailing underscore are followed, because settings are copied before they are
    fitted. Attributes that no method of the class names are not followed, because they are never called. `seen`
    collects what was looked at.
    """
    cls = type(thing)
    if cls not in seen:
        seen[cls], seen[cls, "names"] = _is_class_altered(cls), _used_names(cls)
    mine = {} if isinstance(thing, type | FunctionType) or id(thing) in seen else getattr(thing, "__dict__", {})
    seen[id(thing)] = True
    if seen[cls] or any(hasattr(getattr(cls, name, None), "__get__") for name in mine):
        return True
    fitted = [value for name, value in mine.items() if "_" in (name[:1], name[-1:]) and name in seen[cls, "names"]]
    return any(is_altered(each, seen) for each in _flat(fitted) if type(each) not in _DATA)


def _used_names(cls: type) -> frozenset[str]:
    """Return the names of the attributes and globals that the methods of a class and of its bases use."""
    methods = (value for base in cls.__mro__ for value in vars(base).values())
    functions = (getattr(each, "fget", getattr(each, "fn", each)) for each in methods)
    codes = (code for each in functions if hasattr(each, "__code__") for code in codes_of(each.__code__))
    return frozenset(name for code in codes for name in code.co_names)


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        yield from _flat(value) if type(value) in (list, tuple) else (value,)


def _is_class_altered(cls: type) -> bool:
    """Return True if an attribute of a class or of its bases was replaced or calls code from outside `PACKAGES`."""
    seen: set[Any] = set()
    for base in (each for each in cls.__mro__ if not each.__flags__ & _IMMUTABLE):
        mangled = f"_{base.__name__.lstrip('_')}__"
        values = [(value, f"{base.__qualname__}.{name.replace(mangled, '__')}") for name, value in vars(base).items()]
        values += [(base, ""), (type(base), "")]
        if any(_is_foreign(value, place, seen) for value, place in values):
            return True
    return False


def _is_foreign(value: Any, place: str, seen: set[Any]) -> bool:
    """Return True if a class attribute is not the one that its package defined, or calls a function from elsewhere.

    `place` is the attribute's qualified name, such as "Tree.predict"; it is "" for values that are no attributes.
    """
    if (id(value), place) in seen:
        return False
    seen.add((id(value), place))
    if isinstance(value, FunctionType):
        return not is_shipped(value, place) or any(_is_foreign(each, "", seen) for each in _called(value))
    if isinstance(value, type) or not (callable(value) or hasattr(value, "__get__")):
        return isinstance(value, type) and package_of(value.__module__) not in PACKAGES
    is_misplaced = isinstance(value, BuiltinFunctionType) and not place.endswith(f".{value.__name__}")
    if is_misplaced or package_of(type(value).__module__) not in PACKAGES:
        return True
    inner = (getattr(value, name, None) for name in ("__func__", "__wrapped__", "fget", "fn", "func", "check"))
    return any(_is_foreign(each, "", seen) for each in inner if each is not None)


def is_shipped(function: FunctionType, place: str) -> bool:
    """Return True if a function was defined in one of `PACKAGES`, and as the method named by `place`.

    `place` is a qualified name such as "Tree.predict". With "", or for a function outside classes, any name is
    accepted.

    `__module__` and `__wrapped__` prove nothing, because `functools.wraps` copies them. The function's globals and the
    file of its code are checked instead.
    """
    names, file, own = function.__globals__, function.__code__.co_filename, function.__code__.co_qualname
    if names is not getattr(sys.modules.get(names.get("__name__", "")), "__dict__", None):
        return False
    is_as_written = file == names.get("__file__") or file.startswith("<frozen")
    is_in_place = not place or own == place or "." not in own or "<" in own
    return package_of(names["__name__"]) in PACKAGES and is_as_written and is_in_place


def _called(function: FunctionType) -> Iterator[Any]:
    """Return what is written in Python that a function may call: in its closure, and among the globals that it names.

    Classes, partial functions and objects with a method `__call__` are callable too, such as those of unittest.mock.
    """
    values = [function.__globals__.get(name) for code in codes_of(function.__code__) for name in code.co_names]
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # an empty one
            values.append(cell.cell_contents)
    kinds = FunctionType, MethodType, partial, type
    return (
        value
        for value in filter(callable, values)
        if isinstance(value, kinds) or hasattr(value, "__wrapped__") or isinstance(type(value).__call__, kinds)
    )


def codes_of(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and, recursively, the code objects of the functions defined in it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from codes_of(each)


def package_of(module: Any) -> str:
    """Return the top-level package of a module's dotted name; "" if the name is not a string."""
    return module.partition(".")[0] if isinstance(module, str) else ""
