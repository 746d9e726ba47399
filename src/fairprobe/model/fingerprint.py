"""A model's fingerprint: a hash of all that its answers follow from, by value.

A pickle will not do: its bytes differ between two copies that are alike, as they tell which parts are the same object,
and hold the padding of structured arrays. Nor does it hold any code: of a function and of a class it has the name.
"""

from __future__ import annotations

import contextlib
import copyreg
import dis
import functools
import hashlib
import pickle
import platform
import secrets
import sys
import sysconfig
import types
from collections.abc import Iterator
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe._version import __version__

SCALARS: Final = (type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented))
UNTOLD: Final = "untold"
"""How a fingerprint begins that is of no use to tell one model from another."""

_LOOKS_ANYWHERE: Final = {"eval", "exec", "globals", "__import__"}
"""A function that calls one of these may work with anything, whatever its code names."""

_NOT_CONTENT: Final = {"__dict__", "__weakref__", "__module__", "__qualname__", "__doc__", "__annotations__", "_abc_impl"}
_NOT_CONTENT |= {"__firstlineno__", "__static_attributes__", "__annotate_func__", "__orig_bases__"}
_NOT_CONTENT |= {"__parameters__", "__type_params__"}
"""Entries of a class that say where it was written, or are made while the program runs."""

_SLOTS: Final = (types.GetSetDescriptorType, types.MemberDescriptorType)
_LOCKS: Final = ("lock", "RLock")


def fingerprint(model: Any) -> str:
    """The hash; of a model with a part whose content cannot be told, as an open file, one that matches no other."""
    try:
        return _Walk().of(model).hex()
    except Exception as error:  # whatever a part's own way to be stored may raise
        return f"{UNTOLD} ({' '.join(str(error).split())[:100] or type(error).__name__}) {secrets.token_hex(8)}"


def is_told(made: str) -> bool:
    """Whether a fingerprint tells one model from another."""
    return not made.startswith(UNTOLD)


class _Walk:
    """One walk over a model's parts; each is looked at once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, bytes]] = {}
        """By id, the part itself, which keeps the id its own, and its hash; while it is looked at, that of its place."""
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

    def _all(self, *parts: Any) -> Iterator[bytes]:
        return map(self.of, parts)

    def _pieces(self, part: Any) -> Iterator[bytes | str]:
        kind = type(part)
        if isinstance(part, (np.ndarray, np.generic)):
            yield from self._array(np.asarray(part))
        elif kind in (dict, types.MappingProxyType):
            yield from (self.of(key) + self.of(value) for key, value in part.items())
        elif kind in (list, tuple):
            yield from map(self.of, part)
        elif kind in (set, frozenset):
            yield from sorted(map(self.of, part))
        elif isinstance(part, (np.random.RandomState, np.random.Generator)):
            # By its state: its own way also tells what it was seeded with, long ago.
            yield self.of(
                part.get_state(legacy=False) if isinstance(part, np.random.RandomState) else part.bit_generator.state
            )
        elif isinstance(part, type):
            yield from self._class(part)
        elif isinstance(part, types.ModuleType):
            release = _release(part.__name__)
            if release is None:
                raise TypeError(f"what is used of the module {part.__name__} cannot be told")
            yield from (part.__name__, release)
        elif kind is types.CodeType:
            yield from self._code(part)
        elif kind is types.FunctionType:
            yield from self._function(part)
        elif kind is types.MethodType:
            yield from self._all(part.__func__, part.__self__)
        elif kind is types.CellType:
            yield from self._all(*_content(part))
        elif kind in (staticmethod, classmethod):
            yield self.of(part.__func__)
        elif kind in _SLOTS:
            yield part.__qualname__
        elif kind is property:
            yield from self._all(part.fget, part.fset, part.fdel)
        elif kind is functools._lru_cache_wrapper:
            yield from self._all(part.__wrapped__)
        elif kind.__module__ == "_thread" and kind.__name__ in _LOCKS:
            pass  # it decides who goes first, and no answer
        elif callable(getattr(part, "detach", None)) and callable(getattr(part, "cpu", None)):
            tensor = part.detach().cpu()  # torch: a tensor's own way is not by value
            yield from (str(tensor.dtype), self.of((tensor.float() if "bfloat" in str(tensor.dtype) else tensor).numpy()))
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
        """By its code and all that it works with; code that was installed as released is known by name."""
        where = part.__globals__.get("__name__", "")
        release = _release(where)
        if release is None:
            yield from self._code(part.__code__)
            yield from self._worked_with(part)
        else:
            yield from (where, part.__code__.co_qualname, release)
        yield from self._all(part.__defaults__, part.__kwdefaults__, part.__closure__, vars(part))

    def _code(self, code: types.CodeType) -> Iterator[bytes | str]:
        """What it does, without where it is written and what it is called."""
        yield from (code.co_code, code.co_exceptiontable, str(code.co_flags))
        yield str((code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount))
        yield from self._all(code.co_names, code.co_varnames, code.co_freevars, code.co_consts)

    def _worked_with(self, part: types.FunctionType) -> Iterator[bytes]:
        """The values behind the names that its code looks up outside of it, and the modules that it imports."""
        known, codes = part.__globals__, list(_codes(part.__code__))
        names = {name for code in codes for name in code.co_names}
        for code in codes:
            steps = list(dis.get_instructions(code))
            for place, step in enumerate(steps):
                if step.opname == "IMPORT_NAME":
                    try:
                        value = import_module("." * steps[place - 2].argval + step.argval, known.get("__package__"))
                    except ImportError:
                        continue
                elif step.opname in ("LOAD_GLOBAL", "LOAD_NAME") and step.argval in known:
                    value = known[step.argval]
                elif step.opname == "LOAD_GLOBAL" and step.argval in _LOOKS_ANYWHERE:
                    raise TypeError(f"a function calls {step.argval}, so what it works with cannot be told")
                else:
                    continue
                yield self._used(value, names)

    def _used(self, value: Any, names: set[str], inside: tuple[Any, ...] = ()) -> bytes:
        """A value that code looks up; of a module of one's own, what it may take from there by name."""
        if not isinstance(value, types.ModuleType) or _release(value.__name__) is not None:
            return self.of(value)
        there = {} if value in inside else vars(value)
        return _hash(*(_hash(name, self._used(there[name], names, (*inside, value))) for name in sorted(names & {*there})))

    def _class(self, part: type) -> Iterator[bytes | str]:
        """By all that it has; one that was installed as released is known by name, but for what was put into it since."""
        yield from self._all(*part.__bases__)
        release = _release(part.__module__) if _found(part.__module__, part.__qualname__) is part else None
        own = {name: value for name, value in vars(part).items() if name not in _NOT_CONTENT}
        if release is not None:
            yield from (part.__module__, part.__qualname__, release)
            own = {name: value for name, value in own.items() if _is_foreign(value, part.__module__)}
        for name in sorted(own):
            yield _hash(name, self.of(own[name]))

    def _reduced(self, part: Any) -> Iterator[bytes | str]:
        """Any other object as it says that it is stored: how it is made, of what, and its state; and by its class."""
        reduce = copyreg.dispatch_table.get(type(part))
        reduced = part.__reduce_ex__(4) if reduce is None else reduce(part)
        yield self.of(type(part))
        if isinstance(reduced, str):  # it stands under that name in a module
            where = pickle.whichmodule(part, reduced)
            release = _release(where) if _found(where, reduced) is part else None
            if release is None and _release(type(part).__module__) is not None:
                raise TypeError(f"cannot look into {part!r}")
            yield from (where, reduced, release) if release is not None else self._all(vars(part))
            return
        for each in reduced:
            if isinstance(each, dict) and callable(getattr(part, "state_dict", None)):
                each = {name: value for name, value in each.items() if name != "training"}  # torch: it is asked in none
            yield self.of(list(each) if isinstance(each, Iterator) else each)


def _content(cell: types.CellType) -> Iterator[Any]:
    """What a closure's variable holds, once it holds something."""
    with contextlib.suppress(ValueError):
        yield cell.cell_contents


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code and all that is defined in it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _codes(each)


def _found(module: str, name: str) -> Any:
    """What stands in a module under a name."""
    try:
        return functools.reduce(getattr, name.split("."), sys.modules.get(module))
    except AttributeError:
        return None


def _is_foreign(value: Any, module: str) -> bool:
    """Whether it is a function that was written in another package than that of the class it stands in."""
    where = value.__globals__.get("__name__", "") if isinstance(value, types.FunctionType) else module
    return bool(where.partition(".")[0] != module.partition(".")[0])


def _release(module: str) -> str | None:
    """The version of a module that is installed as it was released; None for code of one's own, which may change."""
    return _release_of(module.partition(".")[0])


@functools.cache
def _release_of(package: str) -> str | None:
    if package == __name__.partition(".")[0]:
        return __version__
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):  # __main__ has none
        return None
    if spec is None:
        return None
    where = Path(spec.origin or next(iter(spec.submodule_search_locations or ["."])))
    if not {"site-packages", "dist-packages"} & {*where.parts}:
        is_python = spec.origin in ("built-in", "frozen") or where.is_relative_to(sysconfig.get_path("stdlib"))
        return platform.python_version() if is_python else None
    told = getattr(sys.modules.get(package), "__version__", None)
    names = [] if told else metadata.packages_distributions().get(package, [])
    return str(told) if told else metadata.version(names[0]) if names else None


def _hash(*pieces: bytes | str) -> bytes:
    made = hashlib.sha256()
    for piece in pieces:
        data = piece if isinstance(piece, bytes) else piece.encode("utf-8", errors="backslashreplace")
        made.update(len(data).to_bytes(8, "big") + data)  # so that "ab", "c" is not "a", "bc"
    return made.digest()
