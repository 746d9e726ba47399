"""The one clock of the project: how long something has taken, how long it may yet take, and what is due again."""

from __future__ import annotations

import math
import time

now = time.monotonic
"""Seconds on a clock that never goes back. Only differences mean anything, and only within one machine."""


class Clock:
    """Starts when it is made. Without `max_seconds` there is no limit.

    >>> clock = Clock(max_seconds=60)
    >>> clock.seconds < 60, clock.left <= 60, clock.is_over
    (True, True, False)
    >>> Clock().left
    inf
    """

    def __init__(self, max_seconds: float | None = None) -> None:
        self.max_seconds = max_seconds
        self._started = now()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return now() - self._started

    @property
    def left(self) -> float:
        """Seconds until the limit; negative after it, infinite without one."""
        return math.inf if self.max_seconds is None else self.max_seconds - self.seconds

    @property
    def is_over(self) -> bool:
        """Whether the limit is reached."""
        return self.left <= 0


class Timer:
    """Says when something that is done every few seconds is due."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._next = now() + seconds

    def is_due(self) -> bool:
        """Whether the time is up. If so, the next time begins now."""
        if now() < self._next:
            return False
        self._next = now() + self._seconds
        return True
