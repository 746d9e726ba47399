"""How many inputs of the domain are judged: the usual numbers, fewer only as far as a limit of time needs it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fairprobe.domain.domain import Domain
from fairprobe.estimate.populations import Population
from fairprobe.retrain.clock import KEPT, Clock
from fairprobe.retrain.judging import How
from fairprobe.retrain.parts import Parts
from fairprobe.standins import quick_asker

if TYPE_CHECKING:
    from fairprobe.retrain.settings import Settings

N_SELECT: Final = 50_000
N_REPORT: Final = 100_000
"""Inputs of the domain to choose by and to report on."""

_FEWEST: Final = 3000

_ROUNDS: Final = 12
"""Time for the judgements of so many rounds is provided for: their judging is to take a third of it all."""

_SLOWER: Final = 1.4
"""A model with more rows may be slower to ask than the one that is timed."""

_WARM_UP: Final = 30
_TRIED: Final = (300, 3000, 30_000)
_ENOUGH: Final = 0.1
"""Inputs asked about to time a model: more while that takes less than so many seconds, as every call has a cost that
does not grow with its rows, and a first one has more of it."""


@dataclass(frozen=True)
class Speed:
    """Seconds that a judgement of an input takes."""

    quick: float
    """Where a stand-in may answer for the model: to choose."""
    slow: float
    """By the model itself: to report."""

    @classmethod
    def measure(cls, model: Any, domain: Domain, how: How) -> Speed:
        """Ask about some inputs."""
        return cls(*(seconds_per_input(model, domain, how, quick=is_quick) for is_quick in (True, False)))


def seconds_per_input(model: Any, domain: Domain, how: How, *, quick: bool) -> float:
    """How long a model, or what stands in for it, takes to judge an input, by trying."""
    target = Population(model, domain, "domain", how.threshold, how.output, how.batch)
    if quick:
        target.oracle.asker = quick_asker(model, target.oracle.asker)
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


def how_many(settings: Settings, parts: Parts, n_controls: int, speed: Speed | None) -> tuple[int, int]:
    """Inputs to choose by and to report on. The speed matters only where time is limited."""
    n_select, n_report = settings.n_select or N_SELECT, settings.n_report or N_REPORT
    if settings.max_seconds is None or speed is None:
        return n_select, n_report
    a_third = KEPT * settings.max_seconds
    if settings.n_select is None:
        a_judgement = a_third / (1 + min(settings.max_rounds, _ROUNDS))
        n_select = affordable(n_select, speed.quick, a_judgement - len(parts.select) * speed.slow)
    if settings.n_report is None:
        a_judgement = a_third / (_SLOWER * (2 + n_controls))
        n_report = affordable(n_report, speed.slow, a_judgement - len(parts.report) * speed.slow)
    return n_select, n_report


def report_seconds(n_report: int, parts: Parts, n_controls: int, speed: Speed) -> float:
    """How long the judgements of the report take: before, after and the controls."""
    return _SLOWER * (2 + n_controls) * (n_report + len(parts.report)) * speed.slow


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
