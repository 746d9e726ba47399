"""A program that runs: rows are written to it, and it writes one line of answer for each; started again if it dies."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, cast

from fairprobe.errors import ModelError, SettingError
from fairprobe.model.redaction import shortened

SURPLUS_SECONDS: Final = 0.2
"""Seconds that a fresh program is listened to after its first answer. Chosen: a line that was not asked for would shift
all answers after it."""

PIECE_ROWS: Final = 10_000
"""Rows sent at a time. Chosen: a program that reads them all before it answers delays no more than these."""

ENDING_SECONDS: Final = 0.5
"""Seconds that a program may take to end by itself after its input was closed. Chosen."""

LAST_SECONDS: Final = 1.0
"""Seconds that the exit code and the last words of a program that ended are waited for. Chosen."""

KEPT_LINES, KEPT_BYTES = 20, 10_000
"""Lines, and bytes, kept of what a program writes to its standard error. Chosen."""

RETRY_DELAY: Final = 0.1
"""Seconds before a program is started again, doubled each time. Chosen."""


class DiedError(Exception):
    """The program ended, or did not answer; `is_final` if it would do the same again."""

    def __init__(self, what: str, *, is_final: bool = False) -> None:
        super().__init__(what)
        self.is_final = is_final


class Running(asyncio.SubprocessProtocol):
    """One process of a program."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._lines: deque[str] = deque()
        self._rest, self._errors = b"", b""
        self._is_silent = False
        """True once the standard output is closed."""
        self._heard, self._exited, self._closed = asyncio.Event(), asyncio.Event(), asyncio.Event()
        """Set by lines of answer, or by their end; by the end of the process; by that and the end of all its pipes."""

    @classmethod
    async def start(cls, command: Sequence[str], timeout: float) -> Running:
        """Start the program; no shell sees the command."""
        try:
            _, made = await asyncio.get_running_loop().subprocess_exec(lambda: cls(timeout), *command)
        except OSError as error:
            raise SettingError(f"a command must name a program that can be run, got {command[0]!r}: {error}") from None
        return made

    async def check(self, text: str) -> None:
        """Ask about one row alone: there must be one answer to it and no more."""
        await self.ask(text, 1)
        with suppress(TimeoutError):
            async with asyncio.timeout(SURPLUS_SECONDS):
                while not self._lines and not self._is_silent:
                    await self._next()
        if self._lines:
            raise DiedError(
                f"another line than the answer to one row, {shortened(self._lines[0], 80)!r}: nothing else may be "
                "written to the standard output",
                is_final=True,
            )

    async def ask(self, text: str, n_rows: int) -> list[str]:
        """The lines that answer some rows, given as text."""
        await asyncio.sleep(0)  # so that lines that nobody asked for are heard
        if self._lines:
            raise DiedError(f"more lines than rows, as {shortened(self._lines[0], 80)!r}", is_final=True)
        self._pipe.write(text.encode())
        while len(self._lines) < n_rows:
            got = f"{len(self._lines):,} lines for {n_rows:,} rows"
            if self._is_silent:
                raise DiedError(f"{got} before it ended{await self._ending()}")
            try:
                async with asyncio.timeout(self._timeout):
                    await self._next()
            except TimeoutError:
                advice = "does it write each line out at once?"
                raise DiedError(f"{got} within {self._timeout:g} s; {advice}{self._said()}") from None
        return [self._lines.popleft() for _ in range(n_rows)]

    async def end(self) -> None:
        """End the process, and wait for it."""
        with suppress(OSError, TimeoutError):
            if self._pipe.get_write_buffer_size():  # it does not read, and would not see the end
                self._process.kill()
            self._pipe.close()
            async with asyncio.timeout(ENDING_SECONDS):
                await self._exited.wait()
        with suppress(OSError):
            if not self._exited.is_set():
                self._process.kill()
        await self._exited.wait()
        self._process.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(ENDING_SECONDS):
                await self._closed.wait()

    async def _next(self) -> None:
        """Wait for lines, or for their end."""
        self._heard.clear()
        await self._heard.wait()

    async def _ending(self) -> str:
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_SECONDS):
                await self._closed.wait()
        code = self._process.get_returncode()
        return f", with exit code {code}{self._said()}" if code is not None else self._said()

    def _said(self) -> str:
        lines = self._errors.decode(errors="replace").splitlines()[-KEPT_LINES:]
        return f"; it said: {shortened(' '.join(lines), 300)}" if lines else ""

    # Called by asyncio

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
            self._heard.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Take a last line that has no end."""
        if fd == 1:
            if self._rest:
                self._lines.append(self._rest.decode(errors="replace"))
            self._is_silent = True
            self._heard.set()

    def process_exited(self) -> None:
        """The process ended; its pipes may still hold something."""
        self._exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """The process ended, and so did its pipes."""
        self._closed.set()


class Program:
    """A program of this process: started when it is first asked, kept alive, started again if it dies."""

    def __init__(self, command: Sequence[str], name: str, timeout: float, retries: int) -> None:
        self._command, self._name, self._timeout, self._retries = command, name, timeout, retries
        self._running: Running | None = None
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
                    self._running = await Running.start(self._command, self._timeout)
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

    async def _end(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            await running.end()
