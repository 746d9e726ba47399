"""The clock of the project: elapsed time, time limits, and repeated events."""

from __future__ import annotations

import math
import time

now = time.monotonic
"""Seconds on a clock that never goes back. Only differences have a meaning, and only within one machine."""


class Clock:
    """Stopwatch that starts when it is created, with a limit of `max_seconds` seconds; None means no limit.

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
        """Seconds since the clock was created."""
        return now() - self._started

    @property
    def left(self) -> float:
        """Seconds until the limit; negative after the limit, infinite without a limit."""
        return math.inf if self.max_seconds is None else self.max_seconds - self.seconds

    @property
    def is_over(self) -> bool:
        """True if the limit is reached."""
        return self.left <= 0


class Timer:
    """Timer for work that is done once per period of `seconds` seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._next = now() + seconds

    def is_due(self) -> bool:
        """Return True if the current period is over, and begin the next period now; otherwise return False."""
        if now() < self._next:
            return False
        self._next = now() + self._seconds
        return True
