"""The clock: whether another round can be afforded, with what the report will take kept back."""

from __future__ import annotations

import math
import time
from typing import Final

_STEEPEST: Final = 2.5
_UNKNOWN: Final = 2.0
"""How fit times grow with the rows: a kernel machine's with their square, which is feared until more is known."""

_APART: Final = 1.3
"""Two fits tell how time grows if the one has so many times the rows of the other."""

_CONTROLS: Final = 3


class Clock:
    """Knows how long fits and judgements took."""

    def __init__(self, max_seconds: float | None) -> None:
        self._max_seconds = max_seconds
        self._started = time.monotonic()
        self._fits: list[tuple[int, float]] = []
        self._judgement = 0.0
        self._kept = 0.0

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self._started

    @property
    def has_fits(self) -> bool:
        """Whether it knows how long a fit takes."""
        return bool(self._fits)

    def fitted(self, n_rows: int, seconds: float) -> None:
        """Note a fit."""
        self._fits.append((n_rows, max(seconds, 1e-6)))

    def judged(self, seconds: float) -> None:
        """Note how long a model takes to be judged on the select part."""
        self._judgement = seconds

    def keep(self, seconds: float) -> None:
        """Keep so much back for the report."""
        self._kept = seconds

    def is_over(self) -> bool:
        """Whether there is no time for another round."""
        return self._left() <= 0

    def is_spent(self) -> bool:
        """Whether all time is used up, with nothing kept back."""
        return self._max_seconds is not None and self.seconds > self._max_seconds

    def is_too_short_for(self, n_rows: int) -> bool:
        """Whether a round with so many rows to fit would take longer than is left."""
        return self._foreseen(n_rows) + self._judgement > self._left()

    def _left(self) -> float:
        if self._max_seconds is None:
            return math.inf
        fits = _CONTROLS * max((seconds for _, seconds in self._fits), default=0.0)
        return self._max_seconds - self.seconds - fits - self._kept

    def _foreseen(self, n_rows: int) -> float:
        """How long a fit would take, from the last one."""
        if not self._fits:
            return 0.0
        rows, seconds = self._fits[-1]
        return seconds * (n_rows / rows) ** self._steepness()

    def _steepness(self) -> float:
        small, large = min(self._fits), max(self._fits)
        return _UNKNOWN if large[0] < _APART * small[0] else steepness(small, large)


def steepness(small: tuple[int, float], large: tuple[int, float]) -> float:
    """The power of the rows that fit times grow with, from the rows and seconds of two fits: 1 at least.

    >>> steepness((1000, 1.0), (2000, 4.0)), steepness((1000, 1.0), (2000, 0.5))
    (2.0, 1.0)
    """
    (few, quick), (many, slow) = small, large
    return min(_STEEPEST, max(1.0, math.log(slow / quick) / math.log(many / few)))
