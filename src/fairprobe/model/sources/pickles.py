"""Pickles and joblib files. Loading one runs the code in it, so it is refused unless the user allows it.

To list the names that a pickle would import, its steps are followed with an inert object in place of each name.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import math
import pickle
import warnings
from typing import IO, Any, ClassVar, Final, cast

import numpy as np

from fairprobe.errors import HealthWarning, SettingError
from fairprobe.model.sources.node_checks import check_model
from fairprobe.model.sources.reading import FileContent, Permission

SHOWN: Final = 20
"""Largest number of imported names that a message lists. Chosen."""

USUAL: Final = ("joblib", "lightgbm", "numpy", "pandas", "scipy", "sklearn", "xgboost")
"""Packages that models usually consist of; messages list names from other packages first."""


def _open_zlib(file: IO[bytes]) -> Any:
    from joblib.compressor import BinaryZlibFile

    return BinaryZlibFile(file, "rb")


MAGICS: Final[dict[bytes, Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ": lzma.open,
    b"]\x00\x00": lzma.open,
    b"x": _open_zlib,
}
"""Function that opens a file compressed by joblib, by the first bytes of the file."""

_ARRAY: Final = "joblib.numpy_pickle.NumpyArrayWrapper"
"""Class after whose objects joblib writes the raw numbers of an array in the middle of the pickle."""

MOST_UNPACKED: Final = 2**27
"""Largest number of unpacked bytes of a pickle that are scanned. Measured: they take half a second at most."""

MOST_READS: Final = 500_000
"""Largest number of reads (parts of a pickle's steps) that are scanned. Measured: they take half a second at most."""

LONGEST_LINE: Final = 2**20
"""Largest number of bytes of a line that are scanned. Measured: it takes half a second at most."""

_COMPUTED: Final = "something whose name is computed as it is loaded"


def knows(content: FileContent) -> bool:
    """Return True if a file's content is a pickle, compressed or not.

    A pickle of the oldest protocols is told by its first letter, one of four, and by a full stop at its end.
    """
    head = content.head
    if head.startswith(tuple(MAGICS)):
        try:
            with opened(content.data) as file:
                head = file.read(2)
        except Exception:
            return False  # something else is compressed, or it is broken
    if head[:1] == b"\x80":
        return len(head) > 1 and head[1] <= 5
    return head[:1] in (b"(", b"c", b"]", b"}") and content.data[-1:] == b"."


def read(content: FileContent, permission: Permission) -> Any:
    """Return the model in a pickle if the permission allows its code to run; otherwise raise a SettingError.

    Trees with links to nodes that do not exist are refused after loading.
    """
    path, names = content.path, imports_in_words(content.data)
    if not permission.unsafe:
        got = f"{path}, which would import {names}: do so only if you trust whoever made it; better, save it by skops"
        raise SettingError(f"a pickle runs code as it is loaded, so allow_unsafe_load must allow it, got {got}")
    warnings.warn(f"unsafe-load: {path} runs code as it is loaded, and imports {names}", HealthWarning, stacklevel=2)
    import joblib

    model = joblib.load(io.BytesIO(content.data))
    check_model(model)
    return model


def imports_in_words(data: bytes) -> str:
    """Return, in words, the names that loading a pickle would import; unusual ones come first."""
    names = sorted(would_import(data), key=lambda name: name.partition(".")[0] in USUAL)
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more if names else "nothing"


def opened(data: bytes) -> IO[bytes]:
    """Return a binary file with the content of `data`, unpacked if joblib compressed it."""
    open_as = next((open_as for magic, open_as in MAGICS.items() if data.startswith(magic)), None)
    file = io.BytesIO(data)
    return file if open_as is None else cast("IO[bytes]", open_as(file))


def would_import(data: bytes) -> list[str]:
    """Return the names that loading a pickle would import, in order, without importing or running anything."""
    names: dict[str, None] = {}
    with opened(data) as file:
        try:
            _Scanner(cast("IO[bytes]", _Bounded(file)), names).load()
        except Exception as error:
            # A name that is no text was made by what it would have called.
            if "STACK_GLOBAL" in str(error):
                names[_COMPUTED] = None
            else:
                names["and what follows where it cannot be read any further"] = None
    return list(names)


class _Bounded:
    """A file that ends after `MOST_UNPACKED` bytes and `MOST_READS` reads, so that scanning it ends soon."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._bytes, self._reads = file, MOST_UNPACKED, MOST_READS

    def read(self, size: int) -> bytes:
        if size > self._bytes or not self._reads:
            raise EOFError
        self._bytes, self._reads = self._bytes - size, self._reads - 1
        return self._file.read(size)

    def readline(self) -> bytes:
        return self._file.readline(min(self._bytes, LONGEST_LINE))


class _Inert:
    """Stand-in for any object that a pickle would make while it is scanned; all operations on it have no effect."""

    name: ClassVar[str] = ""

    arguments: tuple[Any, ...] = ()
    state: Any = None

    def __new__(cls, *arguments: Any, **keywords: Any) -> _Inert:
        made = super().__new__(cls)
        made.arguments = arguments
        return made

    def __call__(self, *arguments: Any, **keywords: Any) -> _Inert:
        return self

    append = extend = add = __setitem__ = __call__

    def __setstate__(self, state: Any) -> None:
        self.state = state


_InPython: Any = pickle._Unpickler  # type: ignore[attr-defined, unused-ignore]
"""Python's own implementation of the unpickler, whose steps can be overridden."""


class _Scanner(_InPython):  # type: ignore[misc]
    dispatch: ClassVar[dict[int, Any]] = dict(_InPython.dispatch)

    def __init__(self, file: IO[bytes], names: dict[str, None]) -> None:
        super().__init__(file)
        self._source, self._names = file, names

    def find_class(self, module: str, name: str) -> type[_Inert]:
        full = f"{module}.{name}"
        self._names[full] = None
        return type("_Inert", (_Inert,), {"name": full})

    def persistent_load(self, pid: Any) -> _Inert:
        return _Inert()

    def get_extension(self, code: int) -> None:
        self._names[f"the extension {code} of copyreg"] = None
        self.append(_Inert)

    def load_build(self) -> None:
        super().load_build()
        made = self.stack[-1]
        if isinstance(made, _Inert) and made.name == _ARRAY and isinstance(made.state, dict):
            self._pass_over(made.state)

    def load_frame(self) -> None:
        self._source.read(8)  # what is in a frame is read step by step too, so that steps are counted

    dispatch |= {pickle.BUILD[0]: load_build, pickle.FRAME[0]: load_frame}

    def _pass_over(self, array: dict[str, Any]) -> None:
        dtype = str(array["dtype"].arguments[0])
        if dtype.startswith("O"):
            _Scanner(self._source, self._names).load()  # a pickle of its own
            return
        if array.get("numpy_array_alignment_bytes") is not None:
            self._source.read(self._source.read(1)[0])
        left = math.prod(array["shape"]) * np.dtype(dtype).itemsize
        while left > 0 and (part := self._source.read(min(left, 2**20))):
            left -= len(part)
