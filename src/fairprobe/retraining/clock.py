"""The clock: how many inputs and which rounds can be afforded, with what the report will take kept back."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fairprobe.domain.domain import Domain
from fairprobe.retraining.judging import target_of
from fairprobe.retraining.parts import Parts

if TYPE_CHECKING:
    from fairprobe.retraining.retrain_settings import AllSettings, RetrainSettings

N_SELECT: Final = 50_000
N_REPORT: Final = 100_000
"""Inputs of the domain to choose by and to report on; fewer only as far as a limit of time needs it."""

_FEWEST: Final = 3000

N_CONTROLS: Final = 3
"""One more where the domain has links."""

_KEPT: Final = 1 / 3
"""Of the time allowed, at most so much is kept back for the report until a first round was tried."""

_ROUNDS: Final = 12
"""Time for the judgements of so many rounds is provided for: their judging is to take a third of it all."""

_SLOWER: Final = 1.4
"""A model with more rows may be slower to ask than the one that is timed."""

_WARM_UP: Final = 30
_TRIED: Final = (300, 3000, 30_000)
_ENOUGH: Final = 0.1
"""Inputs asked about to time a model: more while that takes less than so many seconds, as every call has a cost that
does not grow with its rows, and a first one has more of it."""

_STEEPEST: Final = 2.5
_UNKNOWN: Final = 2.0
"""How fit times grow with the rows: a kernel machine's with their square, which is feared until more is known."""

_APART: Final = 1.3
"""Two fits tell how time grows if the one has so many times the rows of the other."""


class Clock:
    """Knows how long fits and judgements took."""

    def __init__(self, max_seconds: float | None, n_controls: int = N_CONTROLS) -> None:
        self.max_seconds = max_seconds
        self.fits: list[tuple[int, float]] = []
        """The rows of each, and its seconds."""
        self.judgement = 0.0
        """Seconds that a model takes to be judged: on the select part, and at the end on the report part."""
        self.kept = 0.0
        """Seconds to keep back for the judgements of the report."""
        self._n_controls = n_controls
        self._started = self.now()

    @staticmethod
    def now() -> float:
        """The time that all of a retraining goes by."""
        return time.monotonic()

    @property
    def seconds(self) -> float:
        """Since the start."""
        return self.now() - self._started

    @property
    def remaining(self) -> float:
        """Seconds left in all, with nothing kept back."""
        return math.inf if self.max_seconds is None else self.max_seconds - self.seconds

    def left(self, *, is_first: bool = False) -> float:
        """Seconds left for rounds; before the first, what is kept back for the report is limited."""
        kept = self.kept + self._n_controls * max((seconds for _, seconds in self.fits), default=0.0)
        # Were a slow report kept back in full, there might never be a round, and nothing to report.
        if is_first and self.max_seconds is not None:
            kept = min(kept, _KEPT * self.max_seconds)
        return self.remaining - kept

    def fitted(self, n_rows: int, seconds: float) -> None:
        """Note a fit."""
        self.fits.append((n_rows, max(seconds, 1e-6)))

    def foreseen(self, n_rows: int) -> float:
        """How long a fit would take, from the last one, and a judgement."""
        if not self.fits:
            return self.judgement
        rows, seconds = self.fits[-1]
        return seconds * (n_rows / rows) ** steepness(min(self.fits), max(self.fits)) + self.judgement

    def is_too_short_for(self, n_rows: int, *, is_first: bool = False) -> bool:
        """Whether a round with so many rows to fit would take longer than is left."""
        return self.foreseen(n_rows) > self.left(is_first=is_first)


def steepness(small: tuple[int, float], large: tuple[int, float]) -> float:
    """The power of the rows that fit times grow with, from the rows and seconds of two fits: 1 at least.

    >>> steepness((1000, 1.0), (2000, 4.0)), steepness((1000, 1.0), (2000, 0.5)), steepness((1000, 1.0), (1001, 1.0))
    (2.0, 1.0, 2.0)
    """
    (few, quick), (many, slow) = small, large
    if many < _APART * few:
        return _UNKNOWN
    return min(_STEEPEST, max(1.0, math.log(slow / quick) / math.log(many / few)))


@dataclass(frozen=True)
class Speed:
    """Seconds that a judgement of an input takes."""

    quick: float
    """Where a stand-in may answer for the model: to choose."""
    slow: float
    """By the model itself: to report."""

    @classmethod
    def measure(cls, model: Any, domain: Domain, settings: RetrainSettings) -> Speed:
        """Ask about some inputs."""
        return cls(*(seconds_per_input(model, domain, settings, quick=is_quick) for is_quick in (True, False)))


def seconds_per_input(model: Any, domain: Domain, settings: RetrainSettings, *, quick: bool) -> float:
    """How long a model, or what stands in for it, takes to judge an input, by trying."""
    target = target_of(model, domain, settings, quick=quick)
    for _ in target.families(_WARM_UP, 0):
        pass
    least = math.inf
    for n in _TRIED:
        begun = Clock.now()
        for _ in target.families(n, 0):
            pass
        seconds = Clock.now() - begun
        least = min(least, seconds / n)
        if seconds >= _ENOUGH:
            break
    return least


def how_many(
    settings: AllSettings, parts: Parts, n_controls: int, speed: Speed | None, n_sides: int = 1
) -> tuple[int, int]:
    """Inputs to choose by and to report on. The speed matters only where time is limited.

    Rows are judged once for each side: with their plain twins, and with their linked ones if there are links.
    """
    n_select, n_report = settings.n_select or N_SELECT, settings.n_report or N_REPORT
    if settings.max_seconds is None or speed is None:
        return n_select, n_report
    a_third = _KEPT * settings.max_seconds
    if settings.n_select is None:
        a_judgement = a_third / (1 + min(settings.max_rounds, _ROUNDS))
        n_select = affordable(n_select, speed.quick, a_judgement - n_sides * len(parts.select) * speed.slow)
    if settings.n_report is None:
        a_judgement = a_third / (_SLOWER * (2 + n_controls))
        n_report = affordable(n_report, speed.slow, a_judgement - n_sides * len(parts.report) * speed.slow)
    return n_select, n_report


def report_seconds(n_report: int, parts: Parts, n_controls: int, speed: Speed, n_sides: int = 1) -> float:
    """How long the judgements of the report take: before, after and the controls."""
    return _SLOWER * (2 + n_controls) * (n_report + n_sides * len(parts.report)) * speed.slow


def affordable(n: int, per_input: float, seconds: float) -> int:
    """So many inputs, or as many as can be judged in that time, rounded down to one digit; never below 3,000.

    >>> affordable(50_000, 0.001, 50.0), affordable(50_000, 0.001, 49.0), affordable(50_000, 1.0, 9.0)
    (50000, 40000, 3000)
    """
    seconds = max(seconds, 0.0)
    if n * per_input <= seconds:
        return n
    can = int(seconds / per_input)
    digit = 10 ** (len(str(can)) - 1)
    return min(n, max(_FEWEST, can // digit * digit))
