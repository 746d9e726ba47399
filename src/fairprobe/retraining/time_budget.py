"""The time budget: how many inputs and which rounds fit into `max_seconds`, with time kept back for the report."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from fairprobe.clock import Clock
from fairprobe.domain.domain import Domain
from fairprobe.retraining.fitting import Fitter
from fairprobe.retraining.judging import target_of
from fairprobe.retraining.parts import LabelledRows, Parts
from fairprobe.retraining.settings import Settings

N_SELECT: Final = 50_000
N_REPORT: Final = 100_000
"""Inputs of the domain to choose by and to report on, unless a limit of time needs fewer; chosen."""

_FEWEST: Final = 3000
"""Inputs of the domain to choose by or to report on at least; chosen."""

_KEPT: Final = 1 / 3
"""Fraction of the time that judging rounds may take, that the report may take, and that is kept back for the report
before the first round; chosen."""

_ROUNDS: Final = 12
"""Rounds that the time for judging is planned for at most; chosen."""

_SLOWER: Final = 1.4
"""Seconds of a judgement of a new model, relative to the model that is timed; chosen, as more rows make it larger."""

_WARM_UP: Final = 30
_TRIED: Final = (300, 3000, 30_000)
_ENOUGH: Final = 0.1
"""To time a model, it judges this number of inputs first, unmeasured. Then it judges more and more of them, until that
takes this number of seconds: each call has a cost that does not grow with its rows. Chosen."""

_STEEPEST: Final = 2.5
_UNKNOWN: Final = 2.0
"""Power of the rows that fit times grow with: the most, and the assumption before two fits tell; that is the power of a
kernel machine."""

_TRIALS: Final = (1000, 4000)
"""Rows of two fits that are only timed, which tells how time grows; chosen."""

_APART: Final = 1.3
"""Factor between the rows of two fits from which on they tell how time grows; chosen."""


class TimeBudget:
    """The time of a retraining: spent, left for rounds, and kept back for the report."""

    def __init__(self, max_seconds: float | None, n_controls: int, fitter: Fitter) -> None:
        self.max_seconds = max_seconds
        self.clock = Clock(max_seconds)
        self.judgement = 0.0
        """Seconds of one judgement of a model: on the select part at first, on the report part at the end."""
        self.kept = 0.0
        """Seconds kept back for the judgements of the report."""
        self.is_first = True
        """Whether no round is over yet."""
        self._n_controls = n_controls
        self._fits = fitter.times

    @property
    def left(self) -> float:
        """Seconds left for rounds. Before the first round, the time kept back is limited."""
        kept = self.kept + self._n_controls * max((seconds for _, seconds in self._fits), default=0.0)
        # If all the time of a slow report were kept back, there might be no round, and nothing to report.
        if self.is_first and self.max_seconds is not None:
            kept = min(kept, _KEPT * self.max_seconds)
        return self.clock.left - kept

    def foreseen(self, n_rows: int) -> float:
        """Seconds that a fit to this number of rows and a judgement would take, by the fits so far."""
        if not self._fits:
            return self.judgement
        rows, seconds = self._fits[-1]
        return seconds * (n_rows / rows) ** steepness(min(self._fits), max(self._fits)) + self.judgement

    def is_too_short_for(self, n_rows: int) -> bool:
        """Whether a round with this number of rows would take longer than is left."""
        return self.foreseen(n_rows) > self.left


def steepness(small: tuple[int, float], large: tuple[int, float]) -> float:
    """The power of the rows that fit times grow with, at least 1, by the rows and seconds of two fits.

    >>> steepness((1000, 1.0), (2000, 4.0)), steepness((1000, 1.0), (2000, 0.5)), steepness((1000, 1.0), (1001, 1.0))
    (2.0, 1.0, 2.0)
    """
    (few, quick), (many, slow) = small, large
    if many < _APART * few:
        return _UNKNOWN
    return min(_STEEPEST, max(1.0, math.log(slow / quick) / math.log(many / few)))


def time_fits(fitter: Fitter, rows: LabelledRows) -> Any:
    """Fit to some of the rows, and to more of them, only to see how long that takes. Gives the last model."""
    firsts = np.unique(rows.labels, return_index=True)[1]  # no classifier is fitted to one label
    for n in sorted({min(len(rows), n) for n in _TRIALS}):
        spread = np.linspace(0, len(rows) - 1, n).astype(np.int64)
        model = fitter.fit(rows.take(np.union1d(spread, firsts)))
    return model


@dataclass(frozen=True)
class Speed:
    """Seconds that the judgement of one input takes."""

    quick: float
    """Seconds if a stand-in may answer for the model, as when models are chosen."""
    slow: float
    """Seconds if the model itself answers, as for the report."""

    @classmethod
    def measure(cls, model: Any, domain: Domain, settings: Settings) -> Speed:
        """Measure on some inputs of the domain."""
        return cls(*(seconds_per_input(model, domain, settings, quick=is_quick) for is_quick in (True, False)))


def seconds_per_input(model: Any, domain: Domain, settings: Settings, *, quick: bool) -> float:
    """Measured seconds that a model, or its stand-in, takes to judge one input."""
    target = target_of(model, domain, settings, quick=quick)
    for _ in target.families(_WARM_UP, 0):
        pass
    least = math.inf
    for n in _TRIED:
        clock = Clock()
        for _ in target.families(n, 0):
            pass
        seconds = clock.seconds
        least = min(least, seconds / n)
        if seconds >= _ENOUGH:
            break
    return least


def inputs_to_judge(
    settings: Settings, parts: Parts, n_controls: int, n_sides: int, speed: Speed | None
) -> dict[str, int]:
    """Number of inputs of the domain to choose by (select) and to report on (report), within the time.

    Rows are judged once for each side: with plain twins, and with linked twins if there are links. The speed is needed
    only if the time is limited.
    """
    n_select, n_report = settings.n_select or N_SELECT, settings.n_report or N_REPORT
    if settings.max_seconds is not None and speed is not None:
        budget = _KEPT * settings.max_seconds
        select_rows, report_rows = (n_sides * len(rows) * speed.slow for rows in (parts.select, parts.report))
        if settings.n_select is None:
            seconds = budget / (1 + min(settings.max_rounds, _ROUNDS))
            n_select = affordable(n_select, speed.quick, seconds - select_rows)
        if settings.n_report is None:
            seconds = budget / (_SLOWER * (2 + n_controls))
            n_report = affordable(n_report, speed.slow, seconds - report_rows)
    return {"select": n_select, "report": n_report}


def report_seconds(n_report: int, parts: Parts, n_controls: int, n_sides: int, speed: Speed) -> float:
    """Seconds that the judgements of the report take: before, after and the controls."""
    return _SLOWER * (2 + n_controls) * (n_report + n_sides * len(parts.report)) * speed.slow


def affordable(n: int, per_input: float, seconds: float) -> int:
    """`n` inputs, or the number that can be judged in that time, rounded down to one digit and at least 3,000.

    >>> affordable(50_000, 0.001, 50.0), affordable(50_000, 0.001, 49.0), affordable(50_000, 1.0, 9.0)
    (50000, 40000, 3000)
    """
    seconds = max(seconds, 0.0)
    if n * per_input <= seconds:
        return n
    can = int(seconds / per_input)
    digit = 10 ** (len(str(can)) - 1)
    return min(n, max(_FEWEST, can // digit * digit))
