"""Files of models: which kind one is, by its content, and what reads it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Protocol, cast

from fairprobe.errors import DataError, SettingError

FILES: dict[str, str] = {}
"""The modules, asked in turn: the first that knows a content reads it."""

HEAD: Final = 4096
"""Bytes that a kind is told by."""


@dataclass(frozen=True)
class Permission:
    """What may be loaded beyond what is known to be harmless."""

    trust: tuple[str, ...] = ()
    unsafe: bool = False

    @classmethod
    def of(cls, trust: Any, unsafe: Any) -> Permission:
        """Made sure of."""
        names = (trust,) if isinstance(trust, str) else tuple(trust) if isinstance(trust, Iterable) else None
        if names is None or not all(isinstance(name, str) and name for name in names):
            raise SettingError.about("trust", f"must be names of types, as package.module.Type, got {trust!r}")
        if not isinstance(unsafe, bool):
            raise SettingError.about("allow_unsafe_load", f"must be True or False, got {unsafe!r}")
        return cls(names, unsafe)


class Reading(Protocol):
    """What a module must offer to be in `FILES`."""

    def knows(self, path: Path, head: bytes) -> bool:
        """Whether a file, or folder, is of this kind: by its first bytes, and by more where these do not tell."""

    def read(self, path: Path, permission: Permission) -> Any:
        """The model in it."""


def read_file(path: Path, permission: Permission) -> Any:
    """The model in a file or folder."""
    return _reading(path).read(path, permission)


def _reading(path: Path) -> Reading:
    try:
        head = b"" if path.is_dir() else _head(path)
    except OSError as error:
        raise DataError(f"a model must be a file that can be read, got {error.strerror}: {path}") from None
    for module in FILES.values():
        reading = cast("Reading", import_module(module))
        if reading.knows(path, head):
            return reading
    raise DataError(f"a model must be a file of {', '.join(FILES)}, got none of these: {path}")


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEAD)
