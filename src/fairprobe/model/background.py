"""A background thread with an asyncio loop, in which services and programs are asked.

The thread is made on first use in each process. A copy of a process, by fork or by pickle, makes its own.
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import wait
from contextlib import suppress
from typing import Any, Final, TypeVar

NOTICE_SECONDS: Final = 0.5
"""Largest number of seconds of one wait for a result. Chosen: a Ctrl-C just before a wait begins is noticed only when
the wait ends."""

CLOSING_SECONDS: Final = 2.0
"""Largest number of seconds that the end of the process waits for connections and programs to close. Chosen."""

Result = TypeVar("Result")


_loops: dict[int, asyncio.AbstractEventLoop] = {}
"""Loops of background threads by process id. A forked copy keeps the entries of its parent process, so that it closes
nothing that belongs to the parent."""


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in the background thread and return its result; an exception here, such as Ctrl-C, cancels it."""
    future = asyncio.run_coroutine_threadsafe(coroutine, _loop())
    try:
        while not wait([future], NOTICE_SECONDS).done:
            pass
    except BaseException:
        future.cancel()
        raise
    return future.result()


class PerProcess:
    """Holder of an object that belongs to one process; a forked or pickled copy makes its own object when needed.

    `make` returns the object. The object has `async def close()`, which closes its connections and processes.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._held: tuple[int, Any, Any] | None = None
        """Process id, the object made, and the finalizer that closes it once this holder is no longer used. None before
        the object is made."""

    def __getstate__(self) -> dict[str, Any]:
        return {"_make": self._make, "_held": None}

    def get(self) -> Any:
        """Return the object of this process, making it on first use."""
        if self._held is None or self._held[0] != os.getpid():
            _loop()  # first, as finalizers run in reverse order at the end of a process
            made = self._make()
            self._held = os.getpid(), made, weakref.finalize(self, _close, made, os.getpid())
        return self._held[1]

    def close(self) -> None:
        """Close the object of this process now, if there is one; the next `get` makes another."""
        held, self._held = self._held, None
        if held is not None and held[0] == os.getpid():
            held[2].detach()
            run(held[1].close())


def _loop() -> asyncio.AbstractEventLoop:
    """Return the loop of this process's background thread, which is started on first use."""
    pid = os.getpid()
    if pid not in _loops:
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, name="fairprobe-background", daemon=True)
        thread.start()
        weakref.finalize(thread, _end, loop, thread, pid)  # at the end of the process, as it holds the thread itself
        _loops.setdefault(pid, loop)  # of two threads that come at once, one makes it in vain
    return _loops[pid]


def _close(made: Any, pid: int) -> None:
    """Start to close an object without waiting for the end, unless another process made it.

    It must not wait, because it may run in any thread, including the background thread.
    """
    if os.getpid() == pid:
        asyncio.run_coroutine_threadsafe(made.close(), _loop())


def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread, pid: int) -> None:
    """Stop the background thread, after giving objects that are being closed up to `CLOSING_SECONDS`."""
    if os.getpid() != pid:
        return
    with suppress(TimeoutError):
        asyncio.run_coroutine_threadsafe(_settled(), loop).result(2 * CLOSING_SECONDS)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(CLOSING_SECONDS)
    if not thread.is_alive():
        loop.close()


async def _settled() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others, timeout=CLOSING_SECONDS)
