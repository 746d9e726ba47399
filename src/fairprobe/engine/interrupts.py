"""Safe Ctrl-C: the KeyboardInterrupt is raised only at points where no result is lost.

Python raises KeyboardInterrupt between any two instructions, also while a case is being recorded. Inside `deferred`,
Ctrl-C is only noted. It is raised inside `interruptible`, where the running work may be given up. Only the main thread
gets signals, so in other threads these functions have no effect.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType
from typing import Any


class Interrupts:
    """State of Ctrl-C: `pending` is True if it was pressed; `set` decides where it may be raised."""

    def __init__(self) -> None:
        self._is_open = False
        self.pending = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Handle SIGINT: note Ctrl-C, and raise KeyboardInterrupt if that is allowed now."""
        self.pending = True
        if self._is_open:
            self.check()

    def check(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C is pending. It stays pending until the exception leaves a `set` block.

        Python ignores an exception in a destructor or in a callback of the garbage collector. Ctrl-C is then raised
        again later.
        """
        if self.pending:
            raise KeyboardInterrupt

    @contextmanager
    def set(self, *, is_open: bool) -> Iterator[None]:
        """Within the context, raise KeyboardInterrupt at once (`is_open`) or defer it."""
        before = self._is_open
        try:
            try:
                self._is_open = is_open
                if is_open:
                    self.check()
                yield
            finally:
                self._is_open = before
            if is_open or before:  # it waited inside, or was ignored there
                self.check()
        except KeyboardInterrupt:
            self.pending = False
            raise


_active = Interrupts()


@contextmanager
def deferred() -> Iterator[Interrupts]:
    """Within the context, defer Ctrl-C until an `interruptible` block; yield the state, which notes it as `pending`."""
    global _active
    if not _is_free(signal.SIGINT, signal.default_int_handler):
        yield _active
        return
    _active = interrupts = Interrupts()
    signal.signal(signal.SIGINT, interrupts.handle)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _active = Interrupts()  # clear a pending Ctrl-C, so that the next run does not see it


def interrupt(number: int, frame: FrameType | None) -> None:
    """Signal handler that makes another signal act as Ctrl-C (SIGINT)."""
    signal.raise_signal(signal.SIGINT)


@contextmanager
def terminable() -> Iterator[None]:
    """Within the context, SIGTERM first ends the work as Ctrl-C does, and then ends the process.

    A handler that other code has set for SIGTERM stays.
    """
    if not (_is_free(signal.SIGTERM, signal.SIG_DFL) and _is_free(signal.SIGINT, signal.default_int_handler)):
        yield
        return
    was_told = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal was_told
        was_told = True
        interrupt(number, frame)

    signal.signal(signal.SIGTERM, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if was_told:
            signal.raise_signal(signal.SIGTERM)


def _is_free(number: int, default: Any) -> bool:
    """Return True if this is the main thread and a signal still has its default handler."""
    return threading.current_thread() is threading.main_thread() and signal.getsignal(number) is default


def interruptible() -> AbstractContextManager[None]:
    """Within the context, raise KeyboardInterrupt as soon as Ctrl-C is pressed, or at once if it is pending."""
    return _set(is_open=True)


def uninterrupted() -> AbstractContextManager[None]:
    """Within the context, defer Ctrl-C to the end of the block if it may be raised there."""
    return _set(is_open=False)


def _set(*, is_open: bool) -> AbstractContextManager[None]:
    # A shard in another thread does not decide for the main thread.
    is_main = threading.current_thread() is threading.main_thread()
    return _active.set(is_open=is_open) if is_main else nullcontext()
