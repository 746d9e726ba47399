"""A model's fingerprint: a hash of all that it is made of, by value.

A pickle will not do: its bytes differ between two copies that are alike, as they tell which parts are the same object,
and hold the padding of structured arrays.
"""

from __future__ import annotations

import hashlib
import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

SCALARS = (type(None), bool, int, float, complex, str, bytes, type(...))


def fingerprint(model: Any) -> str | None:
    """The hash; None for a model with parts that cannot be told, as an open file."""
    try:
        return _Walk().of(model).hex()
    except Exception:  # whatever a part's own way to be stored may raise
        return None


class _Walk:
    """One walk over a model's parts; each is looked at once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, bytes]] = {}
        """By id, the part itself, which keeps the id its own, and its hash; while it is looked at, that of its name."""

    def of(self, part: Any) -> bytes:
        if isinstance(part, SCALARS):
            return _hash(type(part).__name__, repr(part))
        if id(part) in self._known:
            return self._known[id(part)][1]
        self._known[id(part)] = part, _hash("itself", type(part).__name__)
        made = _hash(type(part).__name__, *self._pieces(part))
        self._known[id(part)] = part, made
        return made

    def _pieces(self, part: Any) -> Iterator[bytes | str]:
        if isinstance(part, (np.ndarray, np.generic)):
            yield from self._array(np.asarray(part))
        elif isinstance(part, Mapping) and type(part).__reduce_ex__ is object.__reduce_ex__:
            yield from (self.of(key) + self.of(value) for key, value in part.items())
        elif isinstance(part, (list, tuple)):
            yield from map(self.of, part)
        elif isinstance(part, (set, frozenset)):
            yield from sorted(map(self.of, part))
        elif isinstance(part, (np.random.RandomState, np.random.Generator)):
            # By its state: its own way also tells what it was seeded with, long ago.
            state = (
                part.get_state(legacy=False) if isinstance(part, np.random.RandomState) else part.bit_generator.state
            )
            yield self.of(state)
        elif isinstance(part, (type, types.BuiltinFunctionType)):
            yield f"{part.__module__}.{part.__qualname__}"
        elif isinstance(part, types.FunctionType):
            yield from (f"{part.__module__}.{part.__qualname__}", part.__code__.co_code, repr(part.__code__.co_names))
            yield from (self.of(part.__defaults__), self.of(part.__kwdefaults__))
        elif callable(getattr(part, "state_dict", None)):  # torch: a tensor's own way is not by value
            yield from (
                self.of(name) + self.of(value.detach().cpu().numpy()) for name, value in part.state_dict().items()
            )
            yield repr(part)
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

    def _reduced(self, part: Any) -> Iterator[bytes]:
        """Any other object as it says that it is stored: how it is made, of what, and its state."""
        reduced = part.__reduce_ex__(4)
        if isinstance(reduced, str):
            yield self.of(reduced)
            return
        make, arguments, *more = reduced
        yield self.of(getattr(make, "__qualname__", None) or make)
        yield self.of(arguments)
        for each in more:
            yield self.of(list(each) if isinstance(each, Iterator) else each)


def _hash(*pieces: bytes | str) -> bytes:
    made = hashlib.sha256()
    for piece in pieces:
        data = piece if isinstance(piece, bytes) else piece.encode("utf-8", errors="backslashreplace")
        made.update(len(data).to_bytes(8, "big") + data)  # so that "ab", "c" is not "a", "bc"
    return made.digest()
