"""Ctrl-C that loses nothing: between the moments where it may strike, it waits.

Python raises KeyboardInterrupt between any two instructions, also while a case is being written down. Inside `deferred`
it is only noted, and raised where something that may be given up is under way: `interruptible`. Only the main thread
gets signals; in any other, all this does nothing.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType


class Interrupts:
    """Whether Ctrl-C was pressed, and whether it may strike now."""

    def __init__(self) -> None:
        self._is_open = False
        self.pending = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        """What the signal does."""
        self.pending = True
        if self._is_open:
            self.check()

    def check(self) -> None:
        """Raise what is pending. It stays so until it is seen to leave the block that it struck in.

        Raised in a destructor or a callback of the garbage collector, it is ignored by Python: then it strikes again.
        """
        if self.pending:
            raise KeyboardInterrupt

    @contextmanager
    def set(self, *, is_open: bool) -> Iterator[None]:
        """Let it strike inside, or wait."""
        before = self._is_open
        try:
            try:
                self._is_open = is_open
                if is_open:
                    self.check()
                yield
            finally:
                self._is_open = before
            if is_open or before:  # what waited inside, or was ignored there
                self.check()
        except KeyboardInterrupt:
            self.pending = False
            raise


_active = Interrupts()


@contextmanager
def deferred() -> Iterator[Interrupts]:
    """Inside, an interruption waits for a place that is `interruptible`; what came too late for any stays `pending`."""
    global _active
    is_ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if not is_ours:
        yield _active
        return
    _active = interrupts = Interrupts()
    signal.signal(signal.SIGINT, interrupts.handle)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _active = Interrupts()  # what is pending is no business of whoever comes next


def interrupt(number: int, frame: FrameType | None) -> None:
    """What the command line lets SIGTERM do: the same as Ctrl-C."""
    signal.raise_signal(signal.SIGINT)


@contextmanager
def terminable() -> Iterator[None]:
    """Inside, SIGTERM ends the work as Ctrl-C does, so that all is put in order; then the process ends as it was told.

    Who has made something else of SIGTERM keeps it.
    """
    is_ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if not is_ours:
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


def interruptible() -> AbstractContextManager[None]:
    """Inside, an interruption may strike at once."""
    return _set(is_open=True)


def uninterrupted() -> AbstractContextManager[None]:
    """Inside, it waits."""
    return _set(is_open=False)


def _set(*, is_open: bool) -> AbstractContextManager[None]:
    # A shard in a thread does not say what may become of the main one.
    is_main = threading.current_thread() is threading.main_thread()
    return _active.set(is_open=is_open) if is_main else nullcontext()
