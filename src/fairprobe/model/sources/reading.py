"""Reading of model files: the kind of a file is recognised by its content, and the module for this kind reads it."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Floats
from fairprobe.checks import opened_regular
from fairprobe.errors import DataError, FairprobeError, SettingError

FILES: dict[str, str] = {
    "skops": "fairprobe.model.sources.skops_files",
    "XGBoost (JSON or UBJ)": "fairprobe.model.sources.booster_files",
    "LightGBM (text)": "fairprobe.model.sources.booster_files",
    "pickle or joblib": "fairprobe.model.sources.pickles",
    "ONNX": "fairprobe.model.sources.onnx_files",
}
"""Names of the modules that read model files, by the kind of file. The first module that recognises a content reads it.

A module has two functions. `knows(content)` recognises the kind, by the first bytes if possible. `read(content,
permission)` returns the model if asking it can do no harm. Its DataErrors say what is wrong; any other error means that
the file is broken.
"""

HEAD: Final = 4096
"""Number of bytes at the beginning of a file that are read to recognise its kind. Chosen."""

MOST_BYTES: Final = 4 * 2**30
"""Largest size in bytes of a model file that is read. Chosen: the largest forests seen take half of it."""

DEEPEST: Final = 100
"""Largest number of nested levels in a JSON file. Chosen: real models have about ten, and native parsers have no
limit."""

LONGEST: Final = 300
"""Largest number of characters of another package's error that a message quotes. Chosen."""

ADVICE: Final = "; if the file is broken, save or copy it anew"


@dataclass(frozen=True)
class Permission:
    """The user's permission to load what is not known to be harmless: types in skops files, and files that run code."""

    trust: tuple[str, ...] = ()
    unsafe: bool = False

    @classmethod
    def of(cls, trust: Any, unsafe: Any) -> Permission:
        """Return a permission from the options `trust` and `allow_unsafe_load`, after checking them."""
        names = (trust,) if isinstance(trust, str) else tuple(trust) if isinstance(trust, Iterable) else None
        if names is None or not all(isinstance(name, str) and name for name in names):
            raise SettingError.about("trust", f"must be names of types, as package.module.Type, got {trust!r}")
        if not isinstance(unsafe, bool):
            raise SettingError.about("allow_unsafe_load", f"must be True or False, got {unsafe!r}")
        return cls(names, unsafe)


class FileContent:
    """The bytes of a regular file, read only once, so that exactly the bytes that were checked are loaded."""

    def __init__(self, path: Path, what: str = "a model") -> None:
        self.path = path
        try:
            self._file = opened_regular(path, MOST_BYTES)
            weakref.finalize(self, self._file.close)
            self.head = self._file.read(HEAD)
        except OSError as error:
            advice = "; of a folder, name the model's file in it" if path.is_dir() else ""
            raise DataError(f"{what} must be a file that can be read, got {error.strerror}: {path}{advice}") from None

    @cached_property
    def data(self) -> bytes:
        """All bytes of the file; they are read when first needed, after the first bytes were recognised."""
        return self.head + self._file.read(MOST_BYTES)

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "head": self.head, "data": self.data}


def read_file(path: Path, permission: Permission, *, isolate: bool = False) -> Any:
    """Return the model in a file; with `isolate`, loaded in a process of its own."""
    content = FileContent(path)
    module = kind_of(content)
    if permission.trust and module != FILES["skops"]:
        raise SettingError.about("trust", f"is for skops files, got another kind of file: {path}")
    if not isolate:
        return read_content(module, content, permission)
    from fairprobe.model.sources.isolated import isolated

    job = {"module": module, "content": content, "permission": permission}
    return isolated(job, len(content.data))


def read_content(module: str, content: FileContent, permission: Permission) -> Any:
    """Return the model in a file's content by the module for its kind; a DataError if the file is broken."""
    try:
        return import_module(module).read(content, permission)
    except DataError as error:
        text = str(error) if str(content.path) in str(error) else f"{error}: {content.path}"
        raise DataError(text + ADVICE) from None
    except FairprobeError:
        raise
    except MemoryError:
        raise DataError(f"a model's file must not need more memory than it may take: {content.path}{ADVICE}") from None
    except Exception as error:
        rule = f"a model's file must be whole, got {shortened(error)}"
        raise DataError(f"{rule}: {content.path}{ADVICE}") from None


def kind_of(content: FileContent) -> str:
    """Return the name of the module in `FILES` that reads a content; raise a DataError if there is none."""
    for module in dict.fromkeys(FILES.values()):
        if import_module(module).knows(content):
            return module
    got = f"none of these{_hint(content)}: {content.path}"
    raise DataError(f"a model must be one of the files {'; '.join(FILES)}; got {got}")


def _hint(content: FileContent) -> str:
    """Return a hint, for an error message, at what a file is that holds no model; "" if nothing is known."""
    if content.head[8:10] == b'{"':
        return ", but weights: name the torch module as module:attribute, and this by --weights"
    if content.head.startswith(b"PK\x03\x04") and b".pkl" in content.head:
        return ", but what torch.save writes: save the weights as safetensors, and name the module by module:attribute"
    return ""


def check_nesting(data: bytes) -> None:
    """Raise a DataError if JSON is nested too deeply, which would overflow the stack of most parsers."""
    depth = 0
    for found in re.finditer(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{]+|[\]}]+', data, re.DOTALL):
        first = data[found.start()]
        depth += 0 if first == 0x22 else (found.end() - found.start()) * (1 if first in b"[{" else -1)
        if depth > DEEPEST:
            raise DataError(f"JSON must be nested {DEEPEST} levels deep at most, got more")


def imported(package: str, extra: str, what: str) -> Any:
    """Return an imported package that `what` needs; if it is missing, a SettingError says how to install it."""
    try:
        return import_module(package)
    except ImportError as error:
        rule = f"{what} needs {package}, got {shortened(error)}: pip install 'fairprobe[{extra}]'"
        raise SettingError(rule) from None


def shortened(error: BaseException) -> str:
    """Return an error of another package in one line of at most `LONGEST` characters."""
    text = f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


class SavedModel:
    """A model read from a file, with the given functions as its methods and scikit-learn's attribute names."""

    def __init__(
        self,
        n_columns: int | None,
        columns: Sequence[str] | None = None,
        categories: Mapping[str, tuple[Any, ...]] | None = None,
        *,
        classes: Any = None,
        **methods: Callable[[Any], Any],
    ) -> None:
        if n_columns is not None:
            self.n_features_in_ = n_columns
        if columns is not None:
            self.feature_names_in_ = np.array(columns, dtype=object)
        if categories:
            self.categories_in_ = dict(categories)
        if classes is not None:
            self.classes_ = np.asarray(classes)
        vars(self).update(methods)


def classifier(ask: Callable[[Any], Any], classes: Sequence[Any], *told: Any) -> SavedModel:
    """Return a classifier whose label is the class of the highest probability.

    `ask` returns one probability per class, or only that of the second of two classes.
    """
    likely = partial(two_columns, ask)
    label = partial(likeliest, np.asarray(classes), likely)
    return SavedModel(*told, classes=classes, predict=label, predict_proba=likely)


def two_columns(ask: Callable[[Any], Any], batch: Any) -> Floats:
    """Return probabilities with one column per class; a single number per row is taken as that of the second of two."""
    given = np.asarray(ask(batch), dtype=np.float64)
    given = given.reshape(len(given), -1)
    return given if given.shape[1] > 1 else np.column_stack([1 - given, given])


def likeliest(classes: NDArray[Any] | None, ask: Callable[[Any], Floats], batch: Any) -> NDArray[Any]:
    """Return, by row, the class with the highest number, or its position if `classes` is None."""
    places = ask(batch).argmax(axis=1)
    return places if classes is None else np.asarray(classes[places])
