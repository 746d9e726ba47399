"""Models that are programs: they read rows and write one line per row. They are kept running and restarted.

Rows go to the standard input as CSV, after one line with the column names, or as JSON, one object per line. For each
row the program writes one line. With CSV, it is a label, a number, or several numbers separated by commas. With JSON,
it is any of these as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.checks import checked_choice, checked_count, is_number
from fairprobe.domain.domain import Domain
from fairprobe.errors import ModelError, SettingError
from fairprobe.model.adapters import Elsewhere
from fairprobe.model.background import run
from fairprobe.model.forms import FrameForm
from fairprobe.model.protocols import InvalidAnswerError, checked_answers, joined, plain_rows
from fairprobe.model.redaction import shortened

FORMATS: Final = ("csv", "jsonl")

PIECE_BYTES: Final = 2**18
"""Largest number of bytes of a program's output that are read at a time. Chosen."""

SURPLUS_SECONDS: Final = 0.2
"""Seconds for which a new program is watched for extra lines after its first answer. Chosen. An extra line would shift
all later answers."""

PIECE_ROWS: Final = 10_000
"""Largest number of rows sent to a program at a time. Chosen: it limits the delay of a program that reads all rows
before it answers."""

ENDING_SECONDS: Final = 0.5
"""Seconds that a program may take to end by itself after its input was closed. Chosen."""

LAST_SECONDS: Final = 1.0
"""Seconds to wait for the exit code and the last output of a program that has ended. Chosen."""

KEPT_BYTES: Final = 10_000
"""Number of bytes at the end of a program's standard error that are kept for messages. Chosen."""

RETRY_DELAY: Final = 0.1
"""Seconds before a program is restarted for the first time; doubled for each further restart. Chosen."""


def start(
    command: str | Sequence[str], *, protocol: str = "csv", timeout: float = 60.0, retries: int = 3
) -> ProgramModel:
    """Return a model that asks a program, which is started when the first row is sent.

    Args:
        command: the program and its arguments, as a list or as one line, which is split as in a shell but not run by
            one.
        protocol: "csv" or "jsonl": how rows are written to it, and answers read.
        timeout: seconds without output after which the program is ended.
        retries: number of times that the program is restarted and asked about the same rows again, if it ended or
            did not answer in time.
    """
    if isinstance(command, str):
        try:
            command = shlex.split(command)
        except ValueError as error:
            raise SettingError(f"a command must be words as in a shell, got {command!r}: {error}") from None
    if not command:
        raise SettingError("a command must name a program, got nothing")
    checked_choice("protocol", protocol, FORMATS)
    if not is_number(timeout) or timeout <= 0:
        raise SettingError.about("timeout", f"must be a number above 0, got {timeout!r}")
    if shutil.which(command[0]) is None:
        raise SettingError(f"a command must name a program that can be run, got {command[0]!r}")
    return ProgramModel(tuple(command), protocol, float(timeout), checked_count("retries", retries, at_least=0))


class ProgramModel(Elsewhere):
    """A model that is a program, which answers rows line by line."""

    def __init__(self, command: tuple[str, ...], protocol: str, timeout: float, retries: int) -> None:
        name = f"the program {os.path.basename(command[0])}"
        super().__init__(name, partial(Program, command, name, timeout, retries))
        self.protocol = protocol

    def form(self, domain: Domain, batch: str | None) -> FrameForm:
        """Return the form of batches: a DataFrame with all visible parameters."""
        if batch == "array":
            raise SettingError.about("batch", "must be 'frame' for a program, which reads names, got 'array'")
        return FrameForm(domain, domain.visible)

    def ask(self, output: str, rows: Any) -> NDArray[Any]:
        """Return a program's answers to the rows of a DataFrame, one per row; `output` tells how lines are read."""
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
    """Return each answer line as a label: a whole number if it is one, otherwise text."""
    with suppress(OverflowError, ValueError):
        return np.array(list(map(int, lines)), dtype=np.int64)
    texts = [line.strip() for line in lines]
    if "" in texts:
        raise InvalidAnswerError(f"an empty line for row {texts.index('')}")
    labels = np.empty(len(texts), dtype=object)
    labels[:] = [int(text) if re.fullmatch(r"[+-]?\d{1,18}", text) else text for text in texts]
    return labels


def _numbers(lines: list[str]) -> list[Any]:
    """Return each answer line as a list of its numbers, which are separated by commas."""
    try:
        return [list(map(float, line.split(","))) for line in lines]
    except ValueError as error:
        raise InvalidAnswerError(f"what is no number ({error})") from None


class ProgramDiedError(Exception):
    """The error that a program ended, did not answer in time, or wrote extra lines.

    `is_final` is True if another start of the program would fail too.
    """

    def __init__(self, what: str, *, is_final: bool = False) -> None:
        super().__init__(what)
        self.is_final = is_final


class Program:
    """A program run by this process: started when it is first asked, kept running, and restarted if it dies."""

    def __init__(self, command: Sequence[str], name: str, timeout: float, retries: int) -> None:
        self._command, self._name, self._timeout, self._retries = command, name, timeout, retries
        self._running: _Running | None = None
        self._has_answered = False
        self._lock = asyncio.Lock()

    async def ask(self, header: str, lines: list[str]) -> list[str]:
        """Return one answer line for each of `lines`, which are rows as text; a new program gets the header first."""
        answers: list[str] = []
        async with self._lock:
            for first in range(0, len(lines), PIECE_ROWS):
                answers += await self._answers(header, lines[first : first + PIECE_ROWS])
        return answers

    async def close(self) -> None:
        """End the program, if it is running."""
        async with self._lock:
            await self._end()

    async def _answers(self, header: str, lines: list[str]) -> list[str]:
        for attempt in range(1 + self._retries):
            try:
                if self._running is None:
                    self._running = await _started(self._command, self._timeout)
                    await self._running.ask(header + lines[0], 1)
                    await self._running.refuse_more(SURPLUS_SECONDS)
                    self._has_answered = True
                return await self._running.ask("".join(lines), len(lines))
            except ProgramDiedError as error:
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

    async def _end(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            await running.end()


async def _started(command: Sequence[str], timeout: float) -> _Running:
    """Start a program without a shell and return its running process."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=PIECE_BYTES
        )
    except OSError as error:
        raise SettingError(f"a command must name a program that can be run, got {command[0]!r}: {error}") from None
    return _Running(process, timeout)


class _Running:
    """A running process of a program, with the lines of its output that were not read yet."""

    def __init__(self, process: Process, timeout: float) -> None:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None  # noqa: PT018
        self._process, self._timeout = process, timeout
        self._in, self._out, self._err = process.stdin, process.stdout, process.stderr
        self._lines: list[str] = []
        self._rest, self._errors = b"", b""
        self._listening = asyncio.ensure_future(self._listen())

    async def ask(self, text: str, n_rows: int) -> list[str]:
        """Send rows, given as text, and return one answer line per row; a ProgramDiedError if the program fails."""
        await self.refuse_more(0.0)
        self._in.write(text.encode())
        while (n_lines := len(self._lines)) < n_rows:
            got = f"{n_lines:,} lines for {n_rows:,} rows"
            try:
                async with asyncio.timeout(self._timeout):
                    is_there = await self._more()
            except TimeoutError:
                advice = "does it write each line out at once?"
                raise ProgramDiedError(f"{got} within {self._timeout:g} s; {advice}{self._said()}") from None
            if not is_there:
                await self._exit(LAST_SECONDS)
                code = self._process.returncode
                ended = "" if code is None else f", with exit code {code}"
                raise ProgramDiedError(f"{got} before it ended{ended}{self._said()}")
        answers, self._lines = self._lines[:n_rows], self._lines[n_rows:]
        return answers

    async def refuse_more(self, seconds: float) -> None:
        """Raise a ProgramDiedError if an extra line is there, or comes within some seconds, after the last answer."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self._lines and await self._more():
                    pass
        if self._lines:
            line = shortened(self._lines[0], 80)
            raise ProgramDiedError(f"another line than the answer to one row, {line!r}", is_final=True)

    async def end(self) -> None:
        """End the process: close its input, kill it if it does not end, and wait for it."""
        self._in.close()
        await self._exit(ENDING_SECONDS)
        self._listening.cancel()
        self._process._transport.close()  # type: ignore[attr-defined]  # which kills it, if it still runs
        await self._process.wait()

    async def _more(self) -> bool:
        """Wait for more of the process's standard output; return False once it has ended."""
        data = await self._out.read(PIECE_BYTES)
        *lines, self._rest = (self._rest + data.replace(b"\r", b"")).split(b"\n")
        if not data and self._rest:  # a last line that has no end
            lines, self._rest = [self._rest], b""
        self._lines += [line.decode(errors="replace") for line in lines]
        return bool(data or lines)

    async def _listen(self) -> None:
        """Read the process's standard error until it ends, keeping the last `KEPT_BYTES` bytes."""
        while data := await self._err.read(PIECE_BYTES):
            self._errors = (self._errors + data)[-KEPT_BYTES:]

    async def _exit(self, seconds: float) -> None:
        """Wait, for a limited time, for the end of the process and its last output."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._process.wait()
                await self._listening

    def _said(self) -> str:
        words = self._errors.decode(errors="replace").splitlines()[-20:]
        return f"; it said: {shortened(' '.join(words), 300)}" if words else ""
