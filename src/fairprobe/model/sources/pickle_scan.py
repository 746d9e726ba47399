"""Lists what a pickle would import: its steps are followed, with something inert in place of all that it names."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import math
import pickle
from typing import IO, Any, ClassVar, Final, cast

import numpy as np

MAGICS: Final = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ": "xz", b"]\x00\x00": "lzma", b"x": "zlib"}
"""First bytes of what joblib compresses, by kind."""

_ARRAY: Final = "joblib.numpy_pickle.NumpyArrayWrapper"
"""After one of these joblib writes the numbers as they are, in the middle of the pickle."""

MOST_UNPACKED: Final = 2**27
MOST_STEPS: Final = 500_000
LONGEST_LINE: Final = 2**20
"""Most bytes, steps, and bytes of a line that are looked at. Measured: each takes half a second at most."""

_COMPUTED: Final = "something whose name is computed as it is loaded"


def opened(data: bytes) -> IO[bytes]:
    """The content of a file, unpacked if joblib compressed it."""
    file = io.BytesIO(data)
    kind = next((kind for magic, kind in MAGICS.items() if data.startswith(magic)), None)
    if kind == "gzip":
        return cast("IO[bytes]", gzip.open(file))
    if kind == "bz2":
        return cast("IO[bytes]", bz2.open(file))
    if kind in ("xz", "lzma"):
        return cast("IO[bytes]", lzma.open(file))
    if kind == "zlib":
        from joblib.compressor import BinaryZlibFile

        return cast("IO[bytes]", BinaryZlibFile(file, "rb"))
    return file


def would_import(data: bytes) -> list[str]:
    """The names of all that loading a pickle would import, in order; nothing is imported or run."""
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
    """A file that ends after some bytes and steps, so that looking at it takes a second at most."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._bytes, self.steps = file, MOST_UNPACKED, MOST_STEPS

    def read(self, size: int) -> bytes:
        if size > self._bytes:
            raise EOFError
        self._bytes -= size
        return self._file.read(size)

    def readline(self) -> bytes:
        return self._file.readline(min(self._bytes, LONGEST_LINE))


class _Inert:
    """Takes the place of any object that a pickle makes; whatever is done to it has no effect."""

    name: ClassVar[str] = ""

    def __new__(cls, *arguments: Any, **keywords: Any) -> _Inert:
        made = super().__new__(cls)
        made.arguments, made.state = arguments, None
        return made

    arguments: tuple[Any, ...]
    state: Any

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        pass

    def __call__(self, *arguments: Any, **keywords: Any) -> _Inert:
        return self

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def __setitem__(self, key: Any, value: Any) -> None:
        pass

    def append(self, value: Any) -> None:
        """Do nothing."""

    extend = add = append


_InPython: Any = pickle._Unpickler  # type: ignore[attr-defined, unused-ignore]
"""The unpickler whose steps can be replaced."""


class _Counted(dict[int, Any]):
    """The steps of a pickle by their codes; after too many of them the file counts as ended."""

    def __init__(self, steps: dict[int, Any], source: Any) -> None:
        super().__init__(steps)
        self._source = source

    def __getitem__(self, code: int) -> Any:
        self._source.steps -= 1
        if self._source.steps < 0:
            raise EOFError
        return super().__getitem__(code)


class _Scanner(_InPython):  # type: ignore[misc]
    dispatch: ClassVar[dict[int, Any]] = dict(_InPython.dispatch)

    def __init__(self, file: IO[bytes], names: dict[str, None]) -> None:
        super().__init__(file)
        self._source, self._names = file, names
        self.__dict__["dispatch"] = _Counted(type(self).dispatch, file)

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

    dispatch[pickle.BUILD[0]] = load_build

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
