"""Programs that read rows and answer a line a row: kept alive between batches, started again if they die.

Rows go to the standard input as CSV, after one line with the names, or as JSON, one object a line. For each row the
program writes one line: a label or a number, in CSV several numbers with commas between them, in JSON any of these as
JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from fairprobe.checks import checked_count, is_number, nearest
from fairprobe.domain.domain import Domain
from fairprobe.errors import ModelError, SettingError
from fairprobe.model.background import run
from fairprobe.model.elsewhere import Elsewhere
from fairprobe.model.forms import FrameForm
from fairprobe.model.protocols import InvalidAnswerError, checked_answers, joined, plain_rows
from fairprobe.model.redaction import shortened

FORMATS: Final = ("csv", "jsonl")

SURPLUS_SECONDS: Final = 0.2
"""Seconds that a fresh program is listened to after its first answer. Chosen: a line that was not asked for would shift
all answers after it."""

PIECE_ROWS: Final = 10_000
"""Rows sent at a time. Chosen: a program that reads them all before it answers delays no more than these."""

ENDING_SECONDS: Final = 0.5
"""Seconds that a program may take to end by itself after its input was closed. Chosen."""

LAST_SECONDS: Final = 1.0
"""Seconds that the exit code and the last words of a program that ended are waited for. Chosen."""

KEPT_BYTES: Final = 10_000
"""Last bytes kept of what a program writes to its standard error. Chosen."""

RETRY_DELAY: Final = 0.1
"""Seconds before a program is started again, doubled each time. Chosen."""


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
    if not is_number(timeout) or timeout <= 0:
        raise SettingError.about("timeout", f"must be a number above 0, got {timeout!r}")
    if shutil.which(command[0]) is None:
        raise SettingError(f"a command must name a program that can be run, got {command[0]!r}")
    return ProgramModel(tuple(command), protocol, float(timeout), checked_count("retries", retries, at_least=0))


class ProgramModel(Elsewhere):
    """A program that answers rows."""

    def __init__(self, command: tuple[str, ...], protocol: str, timeout: float, retries: int) -> None:
        self.command = command
        self.protocol = protocol
        super().__init__(partial(Program, command, self.name, timeout, retries))

    @property
    def name(self) -> str:
        """The program, without its arguments."""
        return f"the program {os.path.basename(self.command[0])}"

    def form(self, domain: Domain, batch: str | None) -> FrameForm:
        """A frame."""
        if batch == "array":
            raise SettingError.about("batch", "must be 'frame' for a program, which reads names, got 'array'")
        return FrameForm(domain, domain.visible)

    def ask(self, output: str, rows: Any) -> NDArray[Any]:
        """The answers to the rows of a frame, read as that output."""
        if not len(rows):
            return np.empty(0)
        if self.protocol == "jsonl":
            header, lines = "", [json.dumps(row) + "\n" for row in plain_rows(rows, as_objects=True)]
        else:
            header, *lines = rows.to_csv(index=False, lineterminator="\n").splitlines(keepends=True)
            if len(lines) != len(rows):
                got = "a value with a line break: use protocol='jsonl'"
                raise SettingError(f"a row for a program must be one line, got {got}")
        answers = run(self._here.get().ask(header, lines))
        try:
            if self.protocol == "jsonl":
                return joined(checked_answers(json.loads(f"[{','.join(answers)}]"), len(answers)))
            return _labels(answers) if output == "label" else joined(checked_answers(_numbers(answers), len(answers)))
        except ValueError as error:
            what = error if isinstance(error, InvalidAnswerError) else "lines that are no JSON"
            one = "JSON value" if self.protocol == "jsonl" else "label or number"
            got = f"{what}, as in {shortened(' | '.join(answers[:3]), 120)!r}"
            raise ModelError(f"{self.name} must answer one {one} a line, got {got}") from None


def _labels(lines: list[str]) -> NDArray[Any]:
    """Each a whole number where it is one, else text: by itself, so that a label is the same in every batch."""
    with suppress(OverflowError, ValueError):
        return np.array(list(map(int, lines)), dtype=np.int64)
    texts = [line.strip() for line in lines]
    if "" in texts:
        raise InvalidAnswerError(f"an empty line for row {texts.index('')}")
    labels = np.empty(len(texts), dtype=object)
    labels[:] = [int(text) if re.fullmatch(r"[+-]?\d{1,18}", text) else text for text in texts]
    return labels


def _numbers(lines: list[str]) -> list[Any]:
    """A number a line, or as many with commas between them."""
    try:
        return [list(map(float, line.split(","))) for line in lines]
    except ValueError as error:
        raise InvalidAnswerError(f"what is no number ({error})") from None


class DiedError(Exception):
    """The program ended, or did not answer; `is_final` if it would do the same again."""

    def __init__(self, what: str, *, is_final: bool = False) -> None:
        super().__init__(what)
        self.is_final = is_final


class Program:
    """A program of this process: started when it is first asked, kept alive, started again if it dies."""

    def __init__(self, command: Sequence[str], name: str, timeout: float, retries: int) -> None:
        self._command, self._name, self._timeout, self._retries = command, name, timeout, retries
        self._running: _Running | None = None
        self._has_answered = False
        self._lock = asyncio.Lock()

    async def ask(self, header: str, lines: list[str]) -> list[str]:
        """The lines that answer some lines; a fresh program gets the header before them."""
        answers: list[str] = []
        async with self._lock:
            for first in range(0, len(lines), PIECE_ROWS):
                answers += await self._answers(header, lines[first : first + PIECE_ROWS])
        return answers

    async def close(self) -> None:
        """End the program."""
        async with self._lock:
            await self._end()

    async def _answers(self, header: str, lines: list[str]) -> list[str]:
        for attempt in range(1 + self._retries):
            try:
                if self._running is None:
                    self._running = await self._started()
                    await self._running.check(header + lines[0])
                    self._has_answered = True
                return await self._running.ask("".join(lines), len(lines))
            except DiedError as error:
                await self._end()
                last = error
                if error.is_final or attempt == self._retries or not self._has_answered:
                    break
                await asyncio.sleep(RETRY_DELAY * 2**attempt)
            except BaseException:  # what it still has to say would be taken for the answers to other rows
                await self._end()
                raise
        times = f" ({attempt + 1} times in a row)" if attempt else ""
        raise ModelError(f"{self._name} must answer one line a row, got {last}{times}")

    async def _started(self) -> _Running:
        """The program, started without a shell."""
        try:
            loop = asyncio.get_running_loop()
            return (await loop.subprocess_exec(partial(_Running, self._timeout), *self._command))[1]
        except OSError as error:
            got = f"{self._command[0]!r}: {error}"
            raise SettingError(f"a command must name a program that can be run, got {got}") from None

    async def _end(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            await running.end()


class _Running(asyncio.SubprocessProtocol):
    """One process of a program. The methods without an underscore, but for three, are called by asyncio."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._lines: deque[str] = deque()
        self._rest, self._errors = b"", b""
        self._is_silent = self._has_exited = self._is_closed = False
        """True once the standard output is closed; once the process ended; once it and all its pipes did."""
        self._changed = asyncio.Event()

    async def check(self, text: str) -> None:
        """Ask about one row alone: there must be one answer to it and no more."""
        await self.ask(text, 1)
        await self._until(lambda: self._lines or self._is_silent, SURPLUS_SECONDS)
        if self._lines:
            line = shortened(self._lines[0], 80)
            raise DiedError(f"another line than the answer to one row, {line!r}", is_final=True)

    async def ask(self, text: str, n_rows: int) -> list[str]:
        """The lines that answer some rows, given as text."""
        await asyncio.sleep(0)  # so that lines that nobody asked for are heard
        if self._lines:
            raise DiedError(f"more lines than rows, as {shortened(self._lines[0], 80)!r}", is_final=True)
        self._pipe.write(text.encode())
        while (n_lines := len(self._lines)) < n_rows:
            got = f"{n_lines:,} lines for {n_rows:,} rows"
            if self._is_silent:
                await self._until(lambda: self._is_closed, LAST_SECONDS)
                code = self._process.get_returncode()
                ended = "" if code is None else f", with exit code {code}"
                raise DiedError(f"{got} before it ended{ended}{self._said()}")
            if not await self._until(lambda n=n_lines: len(self._lines) > n or self._is_silent, self._timeout):  # type: ignore[misc]
                raise DiedError(f"{got} within {self._timeout:g} s; does it write each line out at once?{self._said()}")
        return [self._lines.popleft() for _ in range(n_rows)]

    async def end(self) -> None:
        """End the process, and wait for it."""
        with suppress(OSError):
            if self._pipe.get_write_buffer_size():  # it does not read, and would not see the end
                self._process.kill()
            self._pipe.close()
            if not await self._until(lambda: self._has_exited, ENDING_SECONDS):
                self._process.kill()
        await self._until(lambda: self._has_exited, None)
        self._process.close()
        await self._until(lambda: self._is_closed, ENDING_SECONDS)

    async def _until(self, holds: Callable[[], Any], seconds: float | None) -> bool:
        """Wait until a condition holds; False if it does not do so in time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not holds():
                    self._changed.clear()
                    await self._changed.wait()
        return bool(holds())

    def _said(self) -> str:
        words = self._errors.decode(errors="replace").splitlines()[-20:]
        return f"; it said: {shortened(' '.join(words), 300)}" if words else ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The process runs."""
        self._process = cast("asyncio.SubprocessTransport", transport)
        self._pipe = cast("asyncio.WriteTransport", self._process.get_pipe_transport(0))

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep whole lines of its standard output, and the last of its standard error."""
        if fd == 2:
            self._errors = (self._errors + data)[-KEPT_BYTES:]
            return
        whole, newline, self._rest = (self._rest + data).rpartition(b"\n")
        if newline:
            self._lines.extend(whole.decode(errors="replace").replace("\r", "").split("\n"))
            self._changed.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Take a last line that has no end."""
        if fd == 1:
            if self._rest:
                self._lines.append(self._rest.decode(errors="replace"))
            self._is_silent = True
            self._changed.set()

    def process_exited(self) -> None:
        """The process ended; its pipes may still hold something."""
        self._has_exited = True
        self._changed.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """The process ended, and so did its pipes."""
        self._is_closed = True
        self._changed.set()
