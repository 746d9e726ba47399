"""The clock: whether another round can be afforded, with what the report will take kept back."""

from __future__ import annotations

import math
import time
from typing import Final

KEPT: Final = 1 / 3
"""Of the time allowed, at most so much is kept back for the report until a first round was tried."""

N_CONTROLS: Final = 3

_STEEPEST: Final = 2.5
_UNKNOWN: Final = 2.0
"""How fit times grow with the rows: a kernel machine's with their square, which is feared until more is known."""

_APART: Final = 1.3
"""Two fits tell how time grows if the one has so many times the rows of the other."""


class Clock:
    """Knows how long fits and judgements took."""

    def __init__(self, max_seconds: float | None, n_controls: int = N_CONTROLS) -> None:
        self.max_seconds = max_seconds
        self._n_controls = n_controls
        self._started = self.now()
        self._fits: list[tuple[int, float]] = []
        self._judgement = 0.0
        self._kept = 0.0

    @staticmethod
    def now() -> float:
        """The time that all of a retraining goes by."""
        return time.monotonic()

    @property
    def seconds(self) -> float:
        """Since the start."""
        return self.now() - self._started

    @property
    def has_fits(self) -> bool:
        """Whether it knows how long a fit takes."""
        return bool(self._fits)

    def fitted(self, n_rows: int, seconds: float) -> None:
        """Note a fit."""
        self._fits.append((n_rows, max(seconds, 1e-6)))

    def judged(self, seconds: float) -> None:
        """Note how long a model takes to be judged: on the select part, and at the end on the report part."""
        self._judgement = seconds

    def keep(self, seconds: float) -> None:
        """Keep so much back for the judgements of the report."""
        self._kept = seconds

    def left(self, *, is_first: bool = False) -> float:
        """Seconds left for rounds; before the first, what is kept back for the report is limited."""
        if self.max_seconds is None:
            return math.inf
        kept = self._kept + self._n_controls * max((seconds for _, seconds in self._fits), default=0.0)
        if is_first:
            kept = min(kept, KEPT * self.max_seconds)
        return self.max_seconds - self.seconds - kept

    def is_over(self, *, is_first: bool = False) -> bool:
        """Whether there is no time for another round."""
        return self.left(is_first=is_first) <= 0

    def is_spent(self) -> bool:
        """Whether all time is used up, with nothing kept back."""
        return self.max_seconds is not None and self.seconds > self.max_seconds

    def is_too_short_for(self, n_rows: int, *, is_first: bool = False) -> bool:
        """Whether a round with so many rows to fit would take longer than is left."""
        return self.foreseen(n_rows) > self.left(is_first=is_first)

    def is_too_short_for_control(self, n_rows: int) -> bool:
        """Whether one more fit and judgement would take longer than is left, with nothing kept back."""
        return self.max_seconds is not None and self.seconds + self.foreseen(n_rows) > self.max_seconds

    def foreseen(self, n_rows: int) -> float:
        """How long a fit would take, from the last one, and a judgement."""
        if not self._fits:
            return self._judgement
        rows, seconds = self._fits[-1]
        return seconds * (n_rows / rows) ** self._steepness() + self._judgement

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
