"""Files of models: which kind one is, by its content, and what reads it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Protocol, cast

from fairprobe.errors import DataError, SettingError
from fairprobe.model.sources.guard import tried

FILES: dict[str, str] = {
    "skops": "fairprobe.model.sources.skops_files",
    "XGBoost (JSON or UBJ)": "fairprobe.model.sources.xgboost_files",
    "LightGBM (text)": "fairprobe.model.sources.lightgbm_files",
    "pickle or joblib": "fairprobe.model.sources.pickles",
    "ONNX": "fairprobe.model.sources.onnx_files",
    "MLflow (a folder)": "fairprobe.model.sources.mlflow_folders",
}
"""The modules by what they read, asked in turn: the first that knows a content reads it."""

HEAD: Final = 4096
"""Bytes that a kind is told by."""

LONGEST: Final = 300
"""Characters of another package's message."""


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

    def preload(self) -> None:
        """Import what reads it, or say which extra is missing."""

    def read(self, path: Path, permission: Permission) -> Any:
        """The model in it."""

    def check(self, model: Any, path: Path) -> None:
        """Refuse a model that its package has read and that would harm when it is asked; the other process calls it."""


def read_file(path: Path, permission: Permission) -> Any:
    """The model in a file or folder, which another process has read before without harm."""
    module = kind_of(path)
    reading = cast("Reading", import_module(module))
    refuse_idle(module, permission, path)
    reading.preload()
    (error,) = tried(module, [path], permission)
    if error is not None:
        raise error
    return reading.read(path, permission)


def kind_of(path: Path) -> str:
    """The module of `FILES` that reads it."""
    try:
        head = b"" if path.is_dir() else _head(path)
    except OSError as error:
        raise DataError(f"a model must be a file that can be read, got {error.strerror}: {path}") from None
    for module in FILES.values():
        if cast("Reading", import_module(module)).knows(path, head):
            return module
    raise DataError(
        f"a model must be one of the files {'; '.join(FILES)}; got none of these{_hint(path, head)}: {path}"
    )


def _hint(path: Path, head: bytes) -> str:
    """What else it may be."""
    if head[8:10] == b'{"' and int.from_bytes(head[:8], "little") <= path.stat().st_size:
        return ", but weights: name the torch module as module:attribute, and this by --weights"
    if head.startswith(b"PK\x03\x04") and b".pkl" in head:
        return ", but what torch.save writes: save the weights as safetensors, and name the module by module:attribute"
    return ""


def refuse_idle(module: str, permission: Permission, path: Path) -> None:
    """What is said of another kind of file would do nothing."""
    if permission.trust and module not in (FILES["skops"], FILES["MLflow (a folder)"]):
        raise SettingError.about("trust", f"is for skops files, got another kind of file: {path}")


def imported(package: str, extra: str, what: str) -> Any:
    """A package that a kind of model needs, or the command that installs it."""
    try:
        return import_module(package)
    except ImportError as error:
        raise SettingError(
            f"{what} needs {package}, got {shortened(error)}: pip install 'fairprobe[{extra}]'"
        ) from None


def shortened(error: BaseException) -> str:
    """Another package's error in a line."""
    text = f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEAD)
