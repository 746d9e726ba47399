"""Models in a process of their own, with limits: what a stranger's file does there, it does to nothing else."""

from __future__ import annotations

import builtins
import contextlib
import inspect
import json
import os
import pickle
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
import weakref
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe import errors
from fairprobe.errors import DataError, HealthWarning, ModelError, RunError, SettingError
from fairprobe.model.sources import containment
from fairprobe.model.sources.reading import ADVICE, Content, Permission

SECONDS: Final = 120.0
SECONDS_A_BYTE: Final = 1e-7
"""How long loading may take: to start an interpreter on a busy machine, and to read ten megabytes a second."""

PATIENCE: Final = 600.0
"""Seconds that an answer may take."""

BYTES: Final = 4 * 2**30
BYTES_A_BYTE: Final = 20
"""The memory that it may take beyond its packages, in bytes: a model needs several times the size of its file."""

ANSWER_BYTES: Final = 2**20
ANSWER_BYTES_A_ROW: Final = 2**13
"""How long an answer may be: a thousand probabilities a row."""

LONGEST: Final = 2000
WARNINGS: Final = 10
"""Characters of what it says was wrong, and how many warnings it may hand on."""

SET_PIPE_SIZE, PIPE_BYTES = 1031, 2**20
"""The call for it in Linux, and the most bytes that anybody may have."""

KEPT: Final = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""Variables of the environment that it has."""

_DTYPE: Final = re.compile(r"[<>|=][biufUSMm]\d{1,5}(\[\w{1,4}\])?")


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
        self._told: dict[str, Any] = {}
        self._died: str | None = None
        """How it ended, if it did so by itself: it is not started again."""
        self._process: _Process | None = None
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {"job": self._job, "seconds": self._seconds, "told": self._told}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["job"], state["seconds"])  # type: ignore[misc]
        self._described(state["told"])

    def __repr__(self) -> str:
        where = self._job["source"] or self._job["content"].path
        return f"IsolatedModel({self._told.get('name')} of {where})"

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("_told", {}).get("has", ()):
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
        self._process = process = _Process(has_own_types=permission is not None and permission != Permission())
        weakref.finalize(self, process.end)
        try:
            said, _ = process.ask(self._job, self._seconds, ANSWER_BYTES)
        except _DiedError as error:
            self.close()
            raise DataError(f"a model's file must be read without harm, got {error}: {self!r}{ADVICE}") from None
        except BaseException:
            self.close()
            raise
        if "error" in said:
            self.close()
            raise _loading_error(said, repr(self))
        if not self._told:
            self._described(said)
            self._warn(said)

    @staticmethod
    def _warn(said: Mapping[str, Any]) -> None:
        """Hand on what was said as the model was loaded, and say what the process cannot be kept from."""
        texts = [_text(each) for each in said.get("warnings") or ()]
        if said.get("missing"):
            what = ", ".join(map(_text, said["missing"]))
            texts.append(f"isolation-incomplete: this system cannot keep a process of its own from {what}")
        for text in texts[:WARNINGS]:
            warnings.warn(text, HealthWarning, stacklevel=4)

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
            except _DiedError as error:
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

    def _described(self, said: Mapping[str, Any]) -> None:
        """Take over what it says of itself, if it is what a model may say."""
        try:
            told: dict[str, Any] = {"name": _text(said["name"])[:80], "missing": said.get("missing", [])}
            told["has"] = [name for name in ("predict", "predict_proba", "decision_function") if name in said["has"]]
            told |= {name: said[name] is True for name in ("is_torch", "is_callable", "works_on_float32")}
            told |= {name: said[name] for name in _GIVEN if name in said}
            self.__name__, self.is_torch_ = told["name"], told["is_torch"]
            self.works_on_float32_, self.is_regressor_ = told["works_on_float32"], said.get("is_regressor") is True
            for name in ("classes_", "feature_names_in_"):
                if name in said:
                    dtype, values = said[name]
                    setattr(self, name, np.array(list(map(_scalar, values)), dtype=_dtype(dtype)))
            if "n_features_in_" in said:
                self.n_features_in_ = int(said["n_features_in_"])
            if said.get("categories_in_"):
                told_of = said["categories_in_"].items()
                self.categories_in_ = {str(name): tuple(map(_scalar, values)) for name, values in told_of}
        except Exception as error:
            self.close()
            raise DataError(f"an isolated model must describe itself, got {type(error).__name__}: {self!r}") from None
        self._told = told


_GIVEN: Final = ("classes_", "feature_names_in_", "n_features_in_", "categories_in_", "is_regressor")


class _DiedError(Exception):
    """The process ended, or did not answer as it must."""


class _Process:
    """The other process and the pipes to it; nothing that comes from it is more than bytes."""

    def __init__(self, *, has_own_types: bool) -> None:
        self._folder = tempfile.mkdtemp(prefix="fairprobe-")
        here, package = {"", ".", os.getcwd()}, str(Path(errors.__file__).parents[1])
        path = [*(each for each in sys.path if each not in here), package]
        path += [os.getcwd()] if has_own_types else []  # where the user's own modules may be: last
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        environment = {"OMP_WAIT_POLICY": "passive", **kept}
        try:
            self._popen = subprocess.Popen(
                [sys.executable, "-I", "-B", "-W", "ignore", "-c", inspect.getsource(containment), *path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd=self._folder,
                env={"OMP_WAIT_POLICY": "passive"} | environment | {"HOME": self._folder, "TMPDIR": self._folder},
                start_new_session=True,
            )
        except OSError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise RunError(f"an isolated model needs a process of its own, got none: {error}") from error
        self._owner = os.getpid()
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        # Its end is waited for once its group has been ended, so that its number means no other group.
        self._in, self._out = self._popen.stdin.fileno(), self._popen.stdout.fileno()
        with contextlib.suppress(ImportError, OSError):  # so that a batch takes one turn
            import fcntl

            for number in (self._in, self._out):
                fcntl.fcntl(number, SET_PIPE_SIZE, PIPE_BYTES)
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)

    def ask(self, message: Any, seconds: float, most: int) -> tuple[dict[str, Any], bytes]:
        """Its answer to a message; `_DiedError` if there is none in time, or one that is too long or no answer."""
        until = time.monotonic() + seconds
        content = pickle.dumps(message, protocol=5)
        try:
            self._write(len(content).to_bytes(8, "little") + content, until)
            sizes = self._read(16, until)
            n_head, n_data = (int.from_bytes(sizes[place : place + 8], "little") for place in (0, 8))
            if n_head + n_data > most:
                raise _DiedError(f"an answer of {n_head + n_data:,} bytes, more than {most:,}")
            answer = self._read(n_head + n_data, until)
            said, data = json.loads(answer[:n_head]), answer[n_head:]
        except TimeoutError:
            raise _DiedError(f"no answer within {seconds:,.0f} s") from None
        except (OSError, EOFError):
            raise _DiedError(self._ending()) from None
        except (ValueError, RecursionError) as error:
            raise _DiedError(f"an answer that is no JSON: {type(error).__name__}") from None
        if not isinstance(said, dict):
            raise _DiedError("an answer of another form")
        return said, data

    def end(self) -> None:
        """End it with its whole group, and wait for it; a copy of this process does not."""
        is_owner, is_there = os.getpid() == self._owner, self._popen.returncode is None
        with contextlib.suppress(OSError):
            if is_owner and is_there:
                os.killpg(self._popen.pid, signal.SIGKILL)
        for stream in (self._popen.stdin, self._popen.stdout):
            if stream is not None:
                stream.close()
        if is_owner:
            self._popen.wait()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _write(self, content: bytes, until: float) -> None:
        rest = memoryview(content)
        while rest:
            self._wait(self._in, select.POLLOUT, until)
            rest = rest[os.write(self._in, rest) :]

    def _read(self, n: int, until: float) -> bytes:
        parts = bytearray()
        while len(parts) < n:
            self._wait(self._out, select.POLLIN, until)
            part = os.read(self._out, n - len(parts))
            if not part:
                raise EOFError
            parts += part
        return bytes(parts)

    @staticmethod
    def _wait(number: int, event: int, until: float) -> None:
        poll = select.poll()
        poll.register(number, event)
        if not poll.poll(max(0.0, until - time.monotonic()) * 1000):
            raise TimeoutError

    def _ending(self) -> str:
        """How it ended; it is not waited for, so that its number stays its own until its group is ended."""
        for _ in range(20):
            ended = os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            if ended is not None and ended.si_pid:
                number = ended.si_status - 128 if ended.si_code == os.CLD_EXITED else ended.si_status
                is_signal = number in set(signal.Signals)
                return f"a process that ended {f'by {signal.Signals(number).name}' if is_signal else 'by itself'}"
            time.sleep(0.05)
        return "a process that closed its output"


def unpacked(said: Mapping[str, Any], data: bytes) -> NDArray[Any]:
    """An answer as an array, if it is one; `_DiedError` if not."""
    try:
        dtype, shape = _dtype(said["dtype"]), tuple(int(each) for each in said["shape"])
        if dtype.kind == "O":
            values = np.empty(len(said["values"]), dtype=object)
            values[:] = list(map(_scalar, said["values"]))
            return values[np.frombuffer(data, dtype=np.int64)].reshape(shape)
        if dtype.kind == "U":
            letters = np.frombuffer(data, dtype=np.uint32)
            if ((letters > sys.maxunicode) | ((letters >= 0xD800) & (letters < 0xE000))).any():
                raise ValueError("no text")
        array = np.frombuffer(data, dtype=np.uint8 if dtype.kind == "b" else dtype).reshape(shape)
        return array != 0 if dtype.kind == "b" else array.copy()
    except Exception as error:
        raise _DiedError(f"an answer that is no array: {type(error).__name__}") from None


def _dtype(said: Any) -> np.dtype[Any]:
    if said != "|O" and said != "O" and not _DTYPE.fullmatch(said):
        raise ValueError("no dtype")
    return np.dtype(said)


def _scalar(value: Any) -> Any:
    if isinstance(value, str):
        value.encode()  # or it is no text
    elif value is not None and not isinstance(value, (bool, int, float)):
        raise TypeError("no label")
    return value


def _text(said: Any) -> str:
    """What it says, without what would do something to a terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in str(said)[:LONGEST])


def _loading_error(said: Mapping[str, Any], who: str) -> errors.FairprobeError:
    kind, message = getattr(errors, str(said["error"]), None), _text(said.get("message"))
    if isinstance(kind, type) and issubclass(kind, errors.FairprobeError):
        return kind(message)
    return DataError(
        f"a model's file must be one that can be read, got {_text(said['error'])}: {message}: {who}{ADVICE}"
    )
