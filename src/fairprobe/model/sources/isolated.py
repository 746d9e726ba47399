"""Models in a process of their own, with limits: the damage that a stranger's file does stays there."""

from __future__ import annotations

import builtins
import os
import sys
import threading
import warnings
import weakref
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe import errors
from fairprobe.errors import DataError, HealthWarning, ModelError, SettingError
from fairprobe.model.sources.child_process import ChildProcess, DiedError, checked_label, unpacked
from fairprobe.model.sources.reading import ADVICE, Content, Permission

SECONDS: Final = 120.0
SECONDS_A_BYTE: Final = 1e-7
"""Seconds that loading may take, and how many more for each byte. Chosen: an interpreter starts on a busy machine, and
ten megabytes are read a second."""

PATIENCE: Final = 600.0
"""Seconds that an answer may take. Chosen."""

BYTES: Final = 4 * 2**30
BYTES_A_BYTE: Final = 20
"""Bytes of memory that the process may take beyond its packages, and how many more for each byte of the file. Chosen: a
model needs several times the size of its file."""

ANSWER_BYTES: Final = 2**20
ANSWER_BYTES_A_ROW: Final = 2**13
"""Bytes of an answer, and how many more for each row. Chosen: a thousand probabilities a row."""

LONGEST: Final = 2000
WARNINGS: Final = 10
"""Most characters of a message, and most warnings, that the process may hand on. Chosen."""

METHODS: Final = ("predict", "predict_proba", "decision_function")


def isolated(module: str, content: Content, permission: Permission) -> IsolatedModel:
    """The model in a file, in a process of its own."""
    job = {"source": None, "module": module, "content": content, "permission": permission}
    return _started({**job, "bytes": BYTES + BYTES_A_BYTE * len(content.data)}, SECONDS_A_BYTE * len(content.data))


def isolated_module(source: str, weights: Path | None) -> IsolatedModel:
    """The model behind module:attribute, in a process of its own."""
    return _started({"source": source, "weights": weights, "here": os.getcwd()}, 0.0)


def _started(job: dict[str, Any], seconds: float) -> IsolatedModel:
    if os.name != "posix":
        raise SettingError.about("isolate", "needs a system with process groups (Linux, macOS), got Windows")
    model = IsolatedModel(job, SECONDS + seconds)
    model.start()
    return model


class IsolatedModel:
    """A model that stays in another process. Sent to a third, it is started there anew, from the same bytes."""

    def __init__(self, job: Mapping[str, Any], seconds: float) -> None:
        self._job, self._seconds = job, seconds
        self._has: tuple[str, ...] | None = None
        """The methods that the model has, once it has described itself."""
        self.__setstate__({})

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_died", "_process", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._died: str | None = None  # how it ended, if it did so by itself: it is not started again
        self._process: ChildProcess | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        where = self._job["source"] or self._job["content"].path
        return f"IsolatedModel({self.__dict__.get('__name__')} of {where})"

    def __getattr__(self, name: str) -> Any:
        if name in (self.__dict__.get("_has") or ()):
            return partial(self.ask, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __call__(self, batch: Any) -> NDArray[Any]:
        """The answers of a plain function."""
        return self.ask("__call__", batch)

    @property
    def digest(self) -> str | None:
        """The SHA-256 of the file's bytes; None for a module of the user's own."""
        return None if self._job["source"] else self._job["content"].digest

    def start(self) -> None:
        """Start the process and have it load the model; a DataError tells what is wrong with the file."""
        permission = self._job.get("permission")
        self._process = process = ChildProcess(has_own_types=permission is not None and permission != Permission())
        weakref.finalize(self, process.end)
        try:
            said, _ = process.ask(self._job, self._seconds, ANSWER_BYTES)
            if "error" in said:
                raise _loading_error(said, repr(self))
            if self._has is None:
                self._describe(said)
        except DiedError as error:
            self.close()
            raise DataError(f"a model's file must be read without harm, got {error}: {self!r}{ADVICE}") from None
        except BaseException:
            self.close()
            raise

    def ask(self, method: str, batch: Any) -> NDArray[Any]:
        """The answer of a method to a batch."""
        with self._lock:
            if self._died is not None:
                raise ModelError(self._died)
            if self._process is None:
                self.start()
            assert self._process is not None
            sklearn = sys.modules.get("sklearn")
            most = ANSWER_BYTES + ANSWER_BYTES_A_ROW * len(batch)
            try:
                said, data = self._process.ask((method, batch, sklearn.get_config() if sklearn else {}), PATIENCE, most)
                if "error" not in said:
                    return unpacked(said, data)
            except DiedError as error:
                self.close()
                self._died = (
                    f"an isolated model must answer and live, got {error}: its file may be broken, or made to do harm; "
                    f"it is not started again: {self!r}"
                )
                raise ModelError(self._died) from None
            except BaseException:  # what it still has to say would be taken for the answer to other rows
                self.close()
                raise
        kind = getattr(builtins, str(said["error"]), RuntimeError)
        is_plain = isinstance(kind, type) and kind in (ValueError, TypeError, KeyError, IndexError, MemoryError)
        raise (kind if is_plain else RuntimeError)(_text(said.get("message")))

    def close(self) -> None:
        """End the process, with all that it may have started."""
        process, self._process = self._process, None
        if process is not None:
            process.end()

    def _describe(self, said: Mapping[str, Any]) -> None:
        """Take over what the model says of itself, if it is something that a model may say."""
        try:
            self.__name__ = _text(said["name"])[:80]
            self.is_torch_, self.is_regressor_ = said["is_torch"] is True, said.get("is_regressor") is True
            self.works_on_float32_ = said["works_on_float32"] is True
            for name in ("classes_", "feature_names_in_"):
                if name in said:
                    values = list(map(checked_label, said[name]))
                    setattr(self, name, np.array(values, dtype=object if str in map(type, values) else None))
            if "n_features_in_" in said:
                self.n_features_in_ = int(said["n_features_in_"])
            if said.get("categories_in_"):
                told = said["categories_in_"].items()
                self.categories_in_ = {str(name): tuple(map(checked_label, values)) for name, values in told}
            self._has = tuple(name for name in METHODS if name in said["has"])
        except Exception as error:
            raise DataError(f"an isolated model must describe itself, got {type(error).__name__}: {self!r}") from None
        texts = [_text(each) for each in said.get("warnings") or ()]
        if said.get("missing"):
            what = ", ".join(map(_text, said["missing"]))
            texts.append(f"isolation-incomplete: this system cannot keep a process of its own from {what}")
        for text in texts[:WARNINGS]:
            warnings.warn(text, HealthWarning, stacklevel=4)


def _text(said: Any) -> str:
    """A text of the process, without characters that would do something to a terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in str(said)[:LONGEST])


def _loading_error(said: Mapping[str, Any], who: str) -> errors.FairprobeError:
    kind, message = getattr(errors, str(said["error"]), None), _text(said.get("message"))
    if isinstance(kind, type) and issubclass(kind, errors.FairprobeError):
        return kind(message)
    return DataError(
        f"a model's file must be one that can be read, got {_text(said['error'])}: {message}: {who}{ADVICE}"
    )
