"""The process that holds an isolated model, and the pipes to it. Nothing that comes from it is more than bytes.

It is sent pickles; it answers with a line of JSON and an array in NumPy's own format, which holds no objects.
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
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe import errors
from fairprobe.errors import RunError
from fairprobe.model.sources import containment

SET_PIPE_SIZE, PIPE_BYTES = 1031, 2**20
"""The call that sets the size of a pipe (Linux, fcntl.h), and the most bytes that anybody may set."""

KEPT: Final = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""Variables of the environment that the process gets."""

PLAIN: Final = "biufUSMm"
"""Kinds of NumPy's dtypes that are sent as they are."""


class DiedError(Exception):
    """The process ended, or did not answer as it must."""


class ChildProcess:
    """A process in a session of its own, with everything that it starts."""

    def __init__(self, *, has_own_types: bool) -> None:
        self._folder = tempfile.mkdtemp(prefix="fairprobe-")
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
        self._owner = os.getpid()
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        self._in, self._out = self._popen.stdin.fileno(), self._popen.stdout.fileno()
        with contextlib.suppress(ImportError, OSError):  # so that a batch is sent in one turn
            import fcntl

            for number in (self._in, self._out):
                fcntl.fcntl(number, SET_PIPE_SIZE, PIPE_BYTES)
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)

    def ask(self, message: Any, seconds: float, most: int) -> tuple[dict[str, Any], bytes]:
        """The answer to a message; DiedError unless it comes in time and has at most that many bytes."""
        until = time.monotonic() + seconds
        content = pickle.dumps(message, protocol=5)
        try:
            self._write(len(content).to_bytes(8, "little") + content, until)
            sizes = self._read(16, until)
            n_head, n_data = (int.from_bytes(sizes[place : place + 8], "little") for place in (0, 8))
            if n_head + n_data > most:
                raise DiedError(f"an answer of {n_head + n_data:,} bytes, more than {most:,}")
            answer = self._read(n_head + n_data, until)
            said, data = json.loads(answer[:n_head]), answer[n_head:]
        except TimeoutError:
            raise DiedError(f"no answer within {seconds:,.0f} s") from None
        except (OSError, EOFError):
            raise DiedError(self._ending()) from None
        except (ValueError, RecursionError) as error:
            raise DiedError(f"an answer that is no JSON: {type(error).__name__}") from None
        if not isinstance(said, dict):
            raise DiedError("an answer of another form")
        return said, data

    def end(self) -> None:
        """End the process with its whole group, and wait for it; a copy of the process that started it does not."""
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

    def _write(self, content: bytes, until: float) -> None:
        rest = memoryview(content)
        while rest:
            _wait(self._in, select.POLLOUT, until)
            rest = rest[os.write(self._in, rest) :]

    def _read(self, n: int, until: float) -> bytes:
        parts = bytearray()
        while len(parts) < n:
            _wait(self._out, select.POLLIN, until)
            part = os.read(self._out, n - len(parts))
            if not part:
                raise EOFError
            parts += part
        return bytes(parts)

    def _ending(self) -> str:
        """A phrase for how the process ended. It is not reaped yet, so that its id names no other group."""
        for _ in range(20):
            ended = os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            if ended is not None and ended.si_pid:
                number = ended.si_status - 128 if ended.si_code == os.CLD_EXITED else ended.si_status
                is_signal = number in set(signal.Signals)
                return f"a process that ended {f'by {signal.Signals(number).name}' if is_signal else 'by itself'}"
            time.sleep(0.05)
        return "a process that closed its output"


def _wait(number: int, event: int, until: float) -> None:
    poll = select.poll()
    poll.register(number, event)
    if not poll.poll(max(0.0, until - time.monotonic()) * 1000):
        raise TimeoutError


def packed(answer: Any) -> tuple[dict[str, Any], bytes]:
    """An answer as JSON and an array: of objects, the different ones and their places."""
    array = np.asarray(answer.to_numpy() if hasattr(answer, "to_numpy") else answer)
    said: dict[str, Any] = {}
    if array.dtype.kind not in PLAIN:
        places: dict[Any, int] = {}
        codes = [places.setdefault((type(each), each), len(places)) for each in array.ravel().tolist()]
        said = {"values": [plain_label(value) for _, value in places]}
        array = np.array(codes, dtype=np.int64).reshape(array.shape)
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=False)
    return said, file.getvalue()


def unpacked(said: Mapping[str, Any], data: bytes) -> NDArray[Any]:
    """An answer as an array; DiedError if it is none."""
    try:
        array: NDArray[Any] = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
        if array.dtype.kind not in PLAIN:
            raise ValueError("no plain array")
        if array.dtype.kind == "U":
            letters = np.ascontiguousarray(array).view(np.uint32)
            if ((letters > sys.maxunicode) | ((letters >= 0xD800) & (letters < 0xE000))).any():
                raise ValueError("no text")
        if "values" in said:
            values = np.empty(len(said["values"]), dtype=object)
            values[:] = list(map(checked_label, said["values"]))
            return values[array]
        return array.view(np.uint8) != 0 if array.dtype.kind == "b" else array
    except Exception as error:
        raise DiedError(f"an answer that is no array: {type(error).__name__}") from None


def plain_label(value: Any) -> Any:
    """A label as JSON has it."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if str(value) in ("<NA>", "NaT"):
        return None
    raise TypeError(f"an isolated model must answer with numbers or texts, got {type(value).__name__}")


def checked_label(value: Any) -> Any:
    """A label out of JSON, if it is one."""
    if isinstance(value, str):
        value.encode()  # otherwise it is no text
    elif value is not None and not isinstance(value, (bool, int, float)):
        raise TypeError("no label")
    return value
