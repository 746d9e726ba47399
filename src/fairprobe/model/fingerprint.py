"""The fingerprint of a model: a hash, by value, of everything that its answers depend on.

The hash of a pickle would not do. Its bytes differ between equal copies: they record which parts are one object, and
the padding of structured arrays. A pickle also holds no code, only the names of functions and classes.
"""

from __future__ import annotations

import copyreg
import dis
import hashlib
import pickle
import platform
import re
import secrets
import sys
import sysconfig
import types
from collections.abc import Iterator
from functools import cache, lru_cache, reduce
from importlib import import_module
from importlib.util import find_spec
from threading import Lock, RLock
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe._version import __version__
from fairprobe.model.known import codes_of, package_of

SCALARS: Final = (type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented))
UNTOLD: Final = "untold"
"""Prefix of the fingerprint of a model whose content cannot be read. Such a fingerprint is random, so it matches no
other."""

_MADE_OF: Final = {
    classmethod: "__func__",
    property: "fget fset fdel",
    staticmethod: "__func__",
    type(Lock()): "",  # it decides who goes first, and no answer
    type(RLock()): "",
    type(lru_cache(len)): "__wrapped__",
    types.CellType: "cell_contents",
    # What code does, without where it is written and what it is called.
    types.CodeType: "co_code co_exceptiontable co_flags co_argcount co_posonlyargcount co_kwonlyargcount co_names "
    "co_varnames co_freevars co_consts",
    types.GetSetDescriptorType: "__qualname__",
    types.MemberDescriptorType: "__qualname__",
    types.MethodType: "__func__ __self__",
}
"""Names of the attributes that are hashed for an object, by its type."""

_LOOKS_ANYWHERE: Final = ("eval", "exec", "globals", "__import__")
"""Functions that can use any object, so that the content of a function that calls them cannot be determined."""

_BY_NAME: Final = frozenset({"attrgetter", "getattr", "vars", "__dict__"})
"""Names in code that can reach all of a module, so that all of it is hashed."""

_READS: Final = re.compile(r"environ|fromfile|genfromtxt|getenv|import_module|load|loadtxt|memmap|open|read_\w+")
"""Pattern of names in code that bring in what is not part of the model, such as a file that may change."""

_ANSWERS: Final = re.compile(r"([^.]+|.*<locals>\.[^.]+|.*\.(predict\w*|decision_function|transform|forward|__call__))")
"""Pattern of the qualified names of functions, and of the methods that compute a model's answers. Other methods, as
`save`, may use files."""

_ASKS: Final = frozenset(
    {"aiohttp", "http", "httpx", "requests", "socket", "sqlalchemy", "sqlite3", "subprocess", "urllib", "urllib3"}
)
"""Packages by which a model may ask services, databases and programs, whose answers may change."""


def fingerprint(model: Any) -> str:
    """Return the hash of a model in hexadecimal digits.

    If the content of a part cannot be read, such as that of an open file, the result begins with `UNTOLD` and matches
    no other.
    """
    try:
        return _Hasher().of(model).hex()
    except Exception as error:  # whatever a part's own way to be stored may raise
        return f"{UNTOLD} ({' '.join(str(error).split())[:100] or type(error).__name__}) {secrets.token_hex(8)}"


class _Hasher:
    """One walk over all objects that a model consists of, each of which is hashed once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, bytes]] = {}
        """Each object and its hash, by the object's id. The object is kept so that its id is not reused. While an
        object is being walked, the hash of its depth stands in place of its own."""
        self._depth = 0

    def of(self, part: Any) -> bytes:
        if type(part) in SCALARS:
            return _hash(type(part).__name__, repr(part))
        if id(part) in self._known:
            return self._known[id(part)][1]
        self._known[id(part)] = part, _hash("itself", str(self._depth))
        self._depth += 1
        made = _hash(type(part).__name__, *self._pieces(part))
        self._depth -= 1
        self._known[id(part)] = part, made
        return made

    def _pieces(self, part: Any) -> Iterator[bytes | str]:
        kind = type(part)
        if kind in (dict, types.MappingProxyType):
            yield from (self.of(key) + self.of(value) for key, value in part.items())
        elif kind in (list, tuple):
            yield from map(self.of, part)
        elif kind in (set, frozenset):
            yield from sorted(map(self.of, part))
        elif kind in _MADE_OF:
            yield from (self.of(getattr(part, name)) for name in _MADE_OF[kind].split())
        elif kind is types.FunctionType:
            yield from self._function(part)
        elif kind is types.ModuleType:
            content = {name: value for name, value in sorted(vars(part).items()) if not name.startswith("__")}
            yield from (part.__name__, _release(part.__name__) or self.of(content))
        elif isinstance(part, type):
            yield from self._class(part)
        else:
            yield from self._object(part)

    def _object(self, part: Any) -> Iterator[bytes | str]:
        if type(part) is np.ndarray or isinstance(part, np.generic):  # a subclass may hold more, such as a mask
            yield from self._array(np.asarray(part))
        elif isinstance(part, np.random.RandomState):
            # By its state: its own way also tells what it was seeded with, long ago.
            yield self.of(part.get_state(legacy=False))
        elif isinstance(part, np.random.Generator):
            yield self.of(part.bit_generator.state)
        elif hasattr(type(part), "detach") and hasattr(type(part), "cpu"):
            yield self.of(part.detach().cpu().numpy())  # torch: a tensor's own way is not by value
        else:
            yield from self._reduced(part)

    def _array(self, array: NDArray[Any]) -> Iterator[bytes | str]:
        yield f"{array.dtype} {array.shape}"
        if array.dtype.names is not None:  # field by field, without what lies between them
            for name in array.dtype.names:
                yield from self._array(array[name])
        elif array.dtype.hasobject:
            yield from map(self.of, array.ravel().tolist())
        else:
            yield np.ascontiguousarray(array).tobytes()

    def _function(self, part: types.FunctionType) -> Iterator[bytes | str]:
        """Yield the pieces to hash that identify a function: its code and all that it uses.

        A function of an installed package is identified by its name and the package's version.
        """
        where = part.__globals__.get("__name__", "")
        release = _release(where)
        yield from (where, part.__code__.co_qualname, release) if release else self._worked_with(part)
        yield from map(self.of, (part.__defaults__, part.__kwdefaults__, part.__closure__, vars(part)))

    def _worked_with(self, part: types.FunctionType) -> Iterator[bytes]:
        """Yield the hashes of a function's code, of the globals that it names, and of the modules that it imports."""
        yield self.of(part.__code__)
        known, codes = part.__globals__, list(codes_of(part.__code__))
        names = {name for code in codes for name in code.co_names}
        for name in filter(_READS.fullmatch, sorted(names) if _ANSWERS.fullmatch(part.__qualname__) else ()):
            raise TypeError(f"what a function reads by {name} cannot be told")
        for step in (step for code in codes for step in dis.get_instructions(code)):
            if step.opname == "IMPORT_NAME":
                yield self._used(import_module(step.argval), names)
            elif step.opname in ("LOAD_GLOBAL", "LOAD_NAME") and step.argval in known:
                yield self._used(known[step.argval], names)
            elif step.opname == "LOAD_GLOBAL" and step.argval in _LOOKS_ANYWHERE:
                raise TypeError(f"what a function works with that calls {step.argval} cannot be told")

    def _used(self, value: Any, names: set[str], inside: tuple[Any, ...] = ()) -> bytes:
        """Return the hash of a value that code uses; of a user's own module, only the attributes named are hashed."""
        if not isinstance(value, types.ModuleType) or _release(value.__name__) or names & _BY_NAME:
            return self.of(value)
        there = {} if value in inside else vars(value)
        return _hash(*(self._used(there[name], names, (*inside, value)) for name in sorted(names & {*there})))

    def _class(self, part: type) -> Iterator[bytes | str]:
        """Yield the pieces to hash that identify a class: its bases and all its attributes.

        A class of an installed package is identified by its bases, its name, the package's version, and attributes that
        other code put into it.
        """
        yield from map(self.of, part.__bases__)
        release = _release(part.__module__) if _found(part.__module__, part.__qualname__) is part else None
        if release:
            yield from (part.__module__, part.__qualname__, release)
        for name, value in sorted(vars(part).items()):
            where = getattr(value, "__globals__", {}).get("__name__", part.__module__)
            # What is no method and has a name like __doc__ says how the class was written; _abc_impl is a cache.
            is_content = hasattr(value, "__get__") if name.startswith("__") else name != "_abc_impl"
            if is_content and (not release or package_of(where) != package_of(part.__module__)):
                yield _hash(name, self.of(value))

    def _reduced(self, part: Any) -> Iterator[bytes | str]:
        """Yield the pieces to hash that identify any other object: its class and the result of its `__reduce_ex__`."""
        own_way = copyreg.dispatch_table.get(type(part))
        reduced = part.__reduce_ex__(4) if own_way is None else own_way(part)
        yield self.of(type(part))
        if not isinstance(reduced, str):
            yield from (self.of(list(each) if isinstance(each, Iterator) else each) for each in reduced)
            return
        where = pickle.whichmodule(part, reduced)  # type: ignore[attr-defined]  # it stands in a module under that name
        if _found(where, reduced) is part and _release(where):
            yield from (where, reduced, str(_release(where)))
        elif _release(type(part).__module__):
            raise TypeError(f"cannot look into {part!r}")
        else:
            yield self.of(vars(part))


def _found(module: str, name: str) -> Any:
    """Return the object with a dotted name in an imported module; None if there is none."""
    return reduce(lambda part, each: getattr(part, each, None), name.split("."), sys.modules.get(module))


def _release(module: str) -> str | None:
    """Return the version of the installed package that a module belongs to; None for the user's own code."""
    if package_of(module) in _ASKS:
        raise TypeError(f"what is asked by {package_of(module)} cannot be told")
    return _release_of(package_of(module))


@cache
def _release_of(package: str) -> str | None:
    if package == package_of(__name__):
        return __version__
    try:
        where = str(getattr(find_spec(package), "origin", None))
    except ValueError:  # what was not read from a file, as __main__
        return None
    if "site-packages" in where or "dist-packages" in where:
        return getattr(sys.modules.get(package), "__version__", None)
    is_python = where in ("built-in", "frozen") or where.startswith(sysconfig.get_path("stdlib"))
    return platform.python_version() if is_python else None


def _hash(*pieces: bytes | str) -> bytes:
    made = hashlib.sha256()
    for piece in pieces:
        data = piece if isinstance(piece, bytes) else piece.encode("utf-8", errors="backslashreplace")
        made.update(len(data).to_bytes(8, "big") + data)  # so that "ab", "c" is not "a", "bc"
    return made.digest()
