"""Isolated models: each runs in its own process with limits, so that a stranger's file can do little harm.

The process receives pickles. It answers with a line of JSON and an array in NumPy's own format, which holds no objects.
Its answers are never treated as anything but bytes.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import os
import pickle
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
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe import errors
from fairprobe.clock import Clock
from fairprobe.errors import DataError, HealthWarning, ModelError, RunError, SettingError
from fairprobe.model.sources import containment
from fairprobe.model.sources.reading import ADVICE, Permission

SECONDS: Final = 120.0
"""Seconds that loading an isolated model may take, besides those for its size. Chosen: an interpreter starts on a busy
machine."""

SECONDS_A_BYTE: Final = 1e-7
"""Additional seconds that loading an isolated model may take, for each byte of its file. Chosen: ten megabytes are read
per second."""

PATIENCE: Final = 600.0
"""Largest number of seconds that an isolated model may take to answer a batch. Chosen."""

BYTES: Final = 4 * 2**30
"""Bytes of memory that an isolated model's process may use beyond its packages, besides those for the size of its file.
Chosen."""

BYTES_A_BYTE: Final = 20
"""Additional bytes of memory that an isolated model's process may use, for each byte of its file. Chosen: a model needs
several times the size of its file."""

ANSWER_BYTES: Final = 2**20
"""Largest size of an isolated model's answer in bytes, besides that for its rows. Chosen."""

ANSWER_BYTES_A_ROW: Final = 2**13
"""Additional bytes that an isolated model's answer may have, for each row of the batch. Chosen: a thousand
probabilities."""

LONGEST: Final = 2000
"""Largest number of characters of a message, or of a label, that an isolated model's process may pass on. Chosen."""

WARNINGS: Final = 10
"""Largest number of warnings that an isolated model's process may pass on. Chosen."""

ERRORS: Final = {kind.__name__: kind for kind in (ValueError, TypeError, KeyError, IndexError, MemoryError)}
"""Classes of errors, by name, that are raised again as they are if the process of an isolated model reports them."""

PIPE_BYTES: Final = 2**20
"""Size in bytes of the pipes to and from an isolated model's process: the largest that Linux allows any user to set."""

METHODS: Final = ("predict", "predict_proba", "decision_function")

KEPT: Final = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""Names of the environment variables that are passed to the process of an isolated model."""

PLAIN: Final = "biufMm"
"""Kinds of NumPy dtypes whose arrays are sent unchanged; others are sent as lists of labels."""


def isolated(job: Mapping[str, Any], n_bytes: int = 0) -> IsolatedModel:
    """Return a model that is loaded and asked in a process of its own.

    `n_bytes`, the size of its file, raises the limits of time and memory for loading.

    A job names the `module` that reads a `content` with a `permission`, or a `source` and its `weights`.
    """
    if os.name != "posix":
        raise SettingError.about("isolate", "needs a system with process groups (Linux, macOS), got Windows")
    limits = {"bytes": BYTES + BYTES_A_BYTE * n_bytes, "here": os.getcwd()}
    model = IsolatedModel({**limits, **job}, SECONDS + SECONDS_A_BYTE * n_bytes)
    model.start()
    return model


class IsolatedModel:
    """A model that runs in a process of its own; calls are passed on to it.

    A copy of this object in another process starts a new process from the same bytes.
    """

    def __init__(self, job: Mapping[str, Any], seconds: float) -> None:
        self._has: tuple[str, ...] | None = None
        """Names of the methods that the model has; None until its process has described it."""
        self.__setstate__({"_job": job, "_seconds": seconds})

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_died", "_process", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._died: str | None = None  # how it ended, if it did so by itself: it is not started again
        self._process: _Process | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        where = self._job.get("source") or self._job["content"].path
        return f"IsolatedModel({self.__dict__.get('__name__')} of {where})"

    def __getattr__(self, name: str) -> Any:
        if name in (self.__dict__.get("_has") or ()):
            return partial(self.ask, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __call__(self, batch: Any) -> NDArray[Any]:
        """Return the answers of a model that is a plain function to a batch."""
        return self.ask("__call__", batch)

    def start(self) -> None:
        """Start the process and let it load the model; raise a DataError if the model's file is not valid."""
        has_own_types = self._job.get("permission", Permission()) != Permission()
        self._process = process = _Process(has_own_types=has_own_types)
        weakref.finalize(self, process.end)
        try:
            said, _ = process.ask(self._job, self._seconds, ANSWER_BYTES)
            if "error" in said:
                raise _loading_error(said, repr(self))
            if self._has is None:
                self._describe(said)
        except ProcessDiedError as error:
            self.close()
            raise DataError(f"a model's file must be read without harm, got {error}: {self!r}{ADVICE}") from None
        except BaseException:
            self.close()
            raise

    def ask(self, method: str, batch: Any) -> NDArray[Any]:
        """Return the answer of one of the model's methods to a batch, such as "predict".

        A process that dies is not started again: this and all later calls raise a ModelError.
        """
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
            except ProcessDiedError as error:
                self.close()
                self._died = (
                    f"an isolated model must answer and live, got {error}: its file may be broken, or made to do harm; "
                    f"it is not started again: {self!r}"
                )
                raise ModelError(self._died) from None
            except BaseException:  # what it still has to say would be taken for the answer to other rows
                self.close()
                raise
        raise ERRORS.get(str(said["error"]), RuntimeError)(_text(said.get("message")))

    def close(self) -> None:
        """End the process of the model, with all processes that it has started; nothing happens if there is none."""
        process, self._process = self._process, None
        if process is not None:
            process.end()

    def _describe(self, said: Mapping[str, Any]) -> None:
        """Store the process's description of its model, after checking it, and issue the warnings in it."""
        try:
            self.__dict__.update({name: TOLD[name](value) for name, value in said["attributes"].items()})
            self._has = tuple(name for name in METHODS if name in said["has"])
            texts = list(map(_text, said["warnings"]))
            if said["missing"]:
                what = ", ".join(map(_text, said["missing"]))
                texts.append(f"isolation-incomplete: this system cannot keep a process of its own from {what}")
        except Exception as error:
            raise DataError(f"an isolated model must describe itself, got {type(error).__name__}: {self!r}") from None
        for text in texts[:WARNINGS]:
            warnings.warn(text, HealthWarning, stacklevel=4)


def _text(said: Any) -> str:
    """Return a text from an isolated process, cut to `LONGEST` characters, without those that control a terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in str(said)[:LONGEST])


def _loading_error(said: Mapping[str, Any], who: str) -> errors.FairprobeError:
    kind, message = getattr(errors, str(said["error"]), None), _text(said.get("message"))
    if isinstance(kind, type) and issubclass(kind, errors.FairprobeError):
        return kind(message)
    return DataError(f"a model's file must be whole, got {_text(said['error'])}: {message}: {who}{ADVICE}")


class ProcessDiedError(Exception):
    """The error that an isolated model's process ended, answered too late, or broke the protocol."""


class _Process:
    """The process of an isolated model, in a session of its own, and the pipes to it."""

    def __init__(self, *, has_own_types: bool) -> None:
        self._folder, self._owner = tempfile.mkdtemp(prefix="fairprobe-"), os.getpid()
        here, package = {"", ".", os.getcwd()}, str(Path(errors.__file__).parents[1])
        path = [*(each for each in sys.path if each not in here), package]
        path += [os.getcwd()] if has_own_types else []  # where the user's own modules may be: last
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        try:
            self._popen = subprocess.Popen(
                [sys.executable, "-I", "-B", "-W", "ignore", "-c", inspect.getsource(containment), *path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd=self._folder,
                env={"OMP_WAIT_POLICY": "passive", **kept, "HOME": self._folder, "TMPDIR": self._folder},
                start_new_session=True,
            )
        except OSError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise RunError(f"an isolated model needs a process of its own, got none: {error}") from error
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        self._in, self._out = self._popen.stdin.fileno(), self._popen.stdout.fileno()
        for number in (self._in, self._out):
            os.set_blocking(number, False)
            with contextlib.suppress(ImportError, AttributeError, OSError):  # so that a batch is sent in one turn
                import fcntl

                fcntl.fcntl(number, fcntl.F_SETPIPE_SZ, PIPE_BYTES)

    def ask(self, message: Any, seconds: float, most: int) -> tuple[dict[str, Any], bytes]:
        """Send a message to the process, and return the JSON part and the bytes of its answer.

        Raises a ProcessDiedError if the answer takes more than `seconds` or has more than `most` bytes.
        """
        clock, content = Clock(seconds), pickle.dumps(message, protocol=5)
        try:
            rest = memoryview(len(content).to_bytes(8, "little") + content)
            while rest:
                _wait(self._in, select.POLLOUT, clock)
                rest = rest[os.write(self._in, rest) :]
            sizes = self._read(16, clock)
            n_head, n_data = (int.from_bytes(sizes[place : place + 8], "little") for place in (0, 8))
            if n_head + n_data > most:
                raise ProcessDiedError(f"an answer of {n_head + n_data:,} bytes, more than {most:,}")
            answer = self._read(n_head + n_data, clock)
            said, data = json.loads(answer[:n_head]), answer[n_head:]
        except TimeoutError:
            raise ProcessDiedError(f"no answer within {seconds:,.0f} s") from None
        except (OSError, EOFError):
            raise ProcessDiedError(self._ending()) from None
        except (ValueError, RecursionError) as error:
            raise ProcessDiedError(f"an answer that is no JSON: {type(error).__name__}") from None
        if not isinstance(said, dict):
            raise ProcessDiedError("an answer of another form")
        return said, data

    def end(self) -> None:
        """Kill the process and all that it started, and wait for it.

        In a fork of this process, only the pipes are closed.
        """
        is_owner = os.getpid() == self._owner
        with contextlib.suppress(OSError):
            if is_owner and self._popen.returncode is None:
                os.killpg(self._popen.pid, signal.SIGKILL)
        for stream in (self._popen.stdin, self._popen.stdout):
            if stream is not None:
                stream.close()
        if is_owner:
            self._popen.wait()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _read(self, n: int, clock: Clock) -> bytes:
        parts = bytearray()
        while len(parts) < n:
            _wait(self._out, select.POLLIN, clock)
            part = os.read(self._out, n - len(parts))
            if not part:
                raise EOFError
            parts += part
        return bytes(parts)

    def _ending(self) -> str:
        """Return in words how the process ended, after waiting for its end for up to a second.

        The process is not reaped here, so that its id goes to no other process group before the group is killed.
        """
        for _ in range(20):
            ended = os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            if ended is not None and ended.si_pid:
                number = ended.si_status - 128 if ended.si_code == os.CLD_EXITED else ended.si_status
                is_signal = number in set(signal.Signals)
                return f"a process that ended {f'by {signal.Signals(number).name}' if is_signal else 'by itself'}"
            time.sleep(0.05)
        return "a process that closed its output"


def _wait(number: int, event: int, clock: Clock) -> None:
    poll = select.poll()
    poll.register(number, event)
    if not poll.poll(max(0.0, clock.left) * 1000):
        raise TimeoutError


def unpacked(said: Mapping[str, Any], data: bytes) -> NDArray[Any]:
    """Return an isolated model's answer, sent as bytes, as an array; raise a ProcessDiedError if it is not valid."""
    try:
        if "labels" in said:
            labels = np.array(list(map(_checked_label, said["labels"])), dtype=str if said["is_text"] else object)
            return labels.reshape(said["shape"])
        array: NDArray[Any] = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
        if array.dtype.kind not in PLAIN:
            raise ValueError("no plain array")
        return array.view(np.uint8) != 0 if array.dtype.kind == "b" else array
    except Exception as error:
        raise ProcessDiedError(f"an answer that is no array: {type(error).__name__}") from None


def _labels(values: Any) -> NDArray[Any]:
    labels = list(map(_checked_label, values))
    return np.array(labels, dtype=object if str in map(type, labels) else None)


def _checked_label(value: Any) -> Any:
    """Return a label after checking that it is a text that is not too long, a number, a truth value or None."""
    if isinstance(value, str):
        value.encode()  # otherwise it is no text
        if len(value) > LONGEST:  # an array of texts takes as much for each as for the longest
            raise ValueError("no label")
    elif value is not None and not isinstance(value, (bool, int, float)):
        raise TypeError("no label")
    return value


TOLD: Final[dict[str, Callable[[Any], Any]]] = {
    "__name__": lambda said: _text(said)[:80],
    "is_torch_": bool,
    "is_regressor_": bool,
    "works_on_float32_": bool,
    "n_features_in_": int,
    "classes_": _labels,
    "feature_names_in_": _labels,
    "categories_in_": lambda said: {str(name): tuple(map(_checked_label, values)) for name, values in said.items()},
}
"""Function that checks and converts the value of an attribute that the process states about its model, by attribute."""
