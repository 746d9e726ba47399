"""Adapter for a program that reads rows and answers a line a row: kept alive between batches, restarted if it dies.

Rows go to its standard input as CSV, after one line with the names, or as JSON, one object a line. For each it writes
one line: a label or a number, in CSV several numbers with commas between them, in JSON any of these as JSON.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import queue
import re
import shlex
import shutil
import subprocess
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.checks import checked_count, nearest
from fairprobe.domain.domain import Domain
from fairprobe.errors import ModelError, SettingError
from fairprobe.model.adapters import Adapter
from fairprobe.model.forms import Form, FrameForm
from fairprobe.model.pacing import NOTICE_SECONDS
from fairprobe.model.redaction import shortened
from fairprobe.model.services import InvalidAnswerError, answers_of, objects

FORMATS: Final = ("csv", "jsonl")

SURPLUS_SECONDS: Final = 0.2
"""So long a fresh program is listened to after its first answer: a line nobody asked for would shift all others."""

KEPT_LINES: Final = 20
"""Of what it says on its standard error."""

PIECE_ROWS: Final = 10_000
"""Rows sent at a time, so that a program that reads all before it answers is at worst waited for that long."""


def start(
    command: str | Sequence[str], *, protocol: str = "csv", timeout: float = 60.0, retries: int = 3
) -> ProgramModel:
    """A model that is a program, which is started when it is first asked.

    Args:
        command: the program and its arguments, as a list or as one line, which no shell sees.
        protocol: "csv" or "jsonl": how rows are written to it, and answers read.
        timeout: seconds without a line of answer after which it is given up.
        retries: how often it is started again, and asked the same, if it died or was given up.
    """
    if isinstance(command, str):
        try:
            command = shlex.split(command)
        except ValueError as error:
            raise SettingError(f"a command must be words as in a shell, got {command!r}: {error}") from None
    if not command:
        raise SettingError("a command must name a program, got nothing")
    if protocol not in FORMATS:
        rule = f"of a program must be one of {', '.join(FORMATS)}; got {protocol!r}{nearest(protocol, FORMATS)}"
        raise SettingError.about("protocol", rule)
    if not (isinstance(timeout, (int, float)) and 0 < timeout < np.inf):
        raise SettingError.about("timeout", f"must be a number above 0, got {timeout!r}")
    if shutil.which(command[0]) is None:
        raise SettingError(f"a command must name a program that can be run, got {command[0]!r}")
    return ProgramModel(tuple(command), protocol, float(timeout), checked_count("retries", retries, at_least=0))


class ProgramModel:
    """A program that answers rows. Sent to another process, it is started there anew."""

    def __init__(self, command: tuple[str, ...], protocol: str, timeout: float, retries: int) -> None:
        self.command = command
        self.protocol = protocol
        self._timeout = timeout
        self._retries = retries
        self._running: _Running | None = None
        self._has_answered = False
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_running", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _running=None, _lock=threading.Lock())

    def __repr__(self) -> str:
        return f"ProgramModel({self.name})"

    @property
    def name(self) -> str:
        """The program, without its arguments."""
        return f"the program {os.path.basename(self.command[0])}"

    def predict(self, rows: Any) -> NDArray[Any]:
        """One answer for each row of a frame."""
        return self.ask("label", rows)

    def ask(self, output: str, rows: Any) -> NDArray[Any]:
        """The answers to the rows of a frame, read as that output."""
        lines = self._written(rows)
        pieces = [lines[first : first + PIECE_ROWS] for first in range(0, len(lines), PIECE_ROWS)]
        with self._lock:
            answers = [self._read(self._answers(piece, rows), output) for piece in pieces]
        return np.concatenate(answers) if answers else np.empty(0)

    def close(self) -> None:
        """End the program."""
        running, self._running = self._running, None
        if running is not None:
            running.end()

    def _answers(self, lines: list[str], rows: Any) -> list[str]:
        """The answers to some lines, by a program that may have to be started again for them."""
        for attempt in range(1 + self._retries):
            try:
                answers = self._alive(rows).ask(lines)
                self._has_answered = True
                return answers
            except _DiedError as error:
                self.close()
                last = error
                if error.is_final or attempt == self._retries or not self._has_answered:
                    break
                time.sleep(0.1 * 2**attempt)
            except BaseException:  # what it still has to say would be taken for the answers to other rows
                self.close()
                raise
        times = f" ({attempt + 1} times in a row)" if attempt else ""
        raise ModelError(f"{self.name} must answer one line a row, got {last}{times}")

    def _alive(self, rows: Any) -> _Running:
        if self._running is None:
            header = [_csv(rows.iloc[:0], header=True)] if self.protocol == "csv" else []
            self._running = _Running(self.command, header, self._timeout)
            weakref.finalize(self, self._running.end)
            self._running.listen(self._written(rows.iloc[:1]))
            self._has_answered = True
        return self._running

    def _written(self, rows: Any) -> list[str]:
        """A line a row."""
        if self.protocol == "csv":
            return _lines_of(_csv(rows, header=False), len(rows))
        return [json.dumps(row) + "\n" for row in objects(rows)]

    def _read(self, lines: list[str], output: str) -> NDArray[Any]:
        try:
            if self.protocol == "jsonl":
                return answers_of(json.loads(f"[{','.join(lines)}]"), len(lines))
            return _labels(lines) if output == "label" else answers_of(_numbers(lines), len(lines))
        except (InvalidAnswerError, ValueError) as error:
            what = error if isinstance(error, InvalidAnswerError) else "lines that are no JSON"
            raise ModelError(
                f"{self.name} must answer one {'JSON value' if self.protocol == 'jsonl' else 'label or number'} a "
                f"line, got {what}, as in {shortened(' | '.join(lines[:3]), 120)!r}"
            ) from None


class _DiedError(Exception):
    """The program ended, or did not answer; `is_final` if it would do the same again."""

    def __init__(self, what: str, *, is_final: bool = False) -> None:
        super().__init__(what)
        self.is_final = is_final


class _Running:
    """A program that runs."""

    def __init__(self, command: Sequence[str], header: list[str], timeout: float) -> None:
        self._timeout = timeout
        self._header = header
        self._lines: queue.SimpleQueue[list[str] | None] = queue.SimpleQueue()
        self._pending: deque[str] = deque()
        self._said: deque[str] = deque(maxlen=KEPT_LINES)
        self._writer: threading.Thread | None = None
        try:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            raise SettingError(f"a command must name a program that can be run, got {command[0]!r}: {error}") from None
        self._hearers = [threading.Thread(target=target, daemon=True) for target in (self._hear, self._hear_errors)]
        for hearer in self._hearers:
            hearer.start()

    def listen(self, lines: list[str]) -> None:
        """Ask about the first row alone: there must be one answer to it and no more."""
        self.ask(lines)
        with contextlib.suppress(queue.Empty):
            self._take(time.monotonic() + SURPLUS_SECONDS)
        if self._pending:
            raise _DiedError(
                f"another line than the answer to one row, {shortened(self._pending[0], 80)!r}: nothing else may be "
                "written to the standard output",
                is_final=True,
            )

    def ask(self, lines: list[str]) -> list[str]:
        """The line that answers each line."""
        if self._pending or not self._lines.empty():
            self._drain()
        if self._pending:
            raise _DiedError(f"more lines than rows, as {shortened(self._pending[0], 80)!r}", is_final=True)
        text = "".join([*self._header, *lines])
        self._header = []
        self._writer = threading.Thread(target=self._write, args=(text,), daemon=True)
        self._writer.start()
        n, heard = len(lines), self._pending
        while len(heard) < n:
            try:
                is_there = self._take(time.monotonic() + self._timeout)
            except queue.Empty:
                raise _DiedError(
                    f"{len(heard):,} lines for {n:,} rows within {self._timeout:g} s; does it write each line out "
                    f"at once?{self._errors()}"
                ) from None
            if not is_there:
                raise _DiedError(f"{len(heard):,} lines for {n:,} rows before it ended{self._ending()}")
        return [heard.popleft() for _ in range(n)]

    def end(self) -> None:
        """End it, by its process id, and wait for it."""
        process = self._process
        if self._writer is not None and self._writer.is_alive():  # it does not read, and would not see the end
            process.kill()
            self._writer.join(timeout=1.0)
        with contextlib.suppress(OSError):
            if process.stdin is not None:
                process.stdin.close()
        try:
            process.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for hearer in self._hearers:
            hearer.join(timeout=1.0)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()

    def _take(self, until: float) -> bool:
        """Wait for lines; False if there will be none."""
        lines = self._next(until)
        if lines is None:
            self._lines.put(None)  # whoever asks next is to hear it too
            return False
        self._pending.extend(lines)
        return True

    def _next(self, until: float) -> list[str] | None:
        while (left := until - time.monotonic()) > NOTICE_SECONDS:
            with contextlib.suppress(queue.Empty):
                return self._lines.get(timeout=NOTICE_SECONDS)
        return self._lines.get(timeout=max(0.0, left))

    def _drain(self) -> None:
        with contextlib.suppress(queue.Empty):
            while self._take(time.monotonic()):
                pass

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # it ended: the reader finds out
            assert self._process.stdin is not None
            self._process.stdin.write(text.encode())
            self._process.stdin.flush()

    def _hear(self) -> None:
        """Hand over whole lines as they come, all that there are at a time."""
        assert self._process.stdout is not None
        file, rest = self._process.stdout.fileno(), b""
        while part := os.read(file, 1 << 16):
            whole, newline, rest = (rest + part).rpartition(b"\n")
            if newline:
                self._lines.put(whole.decode(errors="replace").replace("\r", "").split("\n"))
        if rest:
            self._lines.put([rest.decode(errors="replace")])
        self._lines.put(None)

    def _hear_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._said.append(line[:500].decode(errors="replace"))

    def _ending(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=1.0)
        self._hearers[1].join(timeout=1.0)
        code = self._process.returncode
        return f", with exit code {code}{self._errors()}" if code is not None else self._errors()

    def _errors(self) -> str:
        said = shortened(" ".join(self._said), 300)
        return f"; it said: {said}" if said else ""


def _csv(rows: Any, *, header: bool) -> str:
    text = io.StringIO()
    rows.to_csv(text, index=False, header=header, lineterminator="\n")
    return text.getvalue()


def _lines_of(text: str, n_rows: int) -> list[str]:
    lines = text.splitlines(keepends=True)
    if len(lines) != n_rows:
        raise SettingError("a row for a program must be one line, got a value with a line break: use protocol='jsonl'")
    return lines


def _labels(lines: list[str]) -> NDArray[Any]:
    """Each a whole number where it is one, else text: by itself, so that a label is the same in every batch."""
    try:
        return np.array(list(map(int, lines)), dtype=np.int64)
    except (OverflowError, ValueError):
        pass
    texts = [line.strip() for line in lines]
    if "" in texts:
        raise InvalidAnswerError(f"an empty line for row {texts.index('')}")
    labels = np.empty(len(texts), dtype=object)
    labels[:] = [int(text) if re.fullmatch(r"[+-]?\d{1,18}", text) else text for text in texts]
    return labels


def _numbers(lines: list[str]) -> list[Any]:
    """A number a line, or as many with commas between them."""
    try:
        if "," in lines[0]:
            return [list(map(float, line.split(","))) for line in lines]
        return list(map(float, lines))
    except ValueError as error:
        raise InvalidAnswerError(f"what is no number ({error})") from None


class ProgramAdapter(Adapter):
    """Writes rows with their names to a program; nothing but its answers is known of it."""

    is_elsewhere = True
    is_function = True

    def __init__(self, model: ProgramModel) -> None:
        super().__init__(model)
        self.name = model.name

    @staticmethod
    def accepts(model: Any) -> bool:
        """Return True for a program."""
        return isinstance(model, ProgramModel)

    def form(self, domain: Domain, batch: str | None) -> Form:
        """A frame."""
        if batch == "array":
            raise SettingError.about(
                "batch", "must be 'frame' for a program, which reads names and values, got 'array'"
            )
        return FrameForm(domain, domain.visible)

    def method(self, output: str, form: Form) -> Callable[[Any], Any]:
        """The program's answers, read as that output."""
        return partial(self.model.ask, output)
