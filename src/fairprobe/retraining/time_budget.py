"""The time budget: how many inputs and which rounds fit into `max_seconds`, with time kept back for the report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fairprobe.clock import Clock
from fairprobe.domain.domain import Domain
from fairprobe.retraining.fitting import Fitter
from fairprobe.retraining.judging import target_of
from fairprobe.retraining.parts import LabelledRows

if TYPE_CHECKING:
    from fairprobe.retraining.task import Settings, Task

USUAL: Final = {"select": 50_000, "report": 100_000}
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
        """True until the first round is over."""
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
        (few, quick), (many, slow) = min(self._fits), max(self._fits)
        power = _UNKNOWN
        if many >= _APART * few:
            power = min(_STEEPEST, max(1.0, math.log(slow / quick) / math.log(many / few)))
        return seconds * (n_rows / rows) ** power + self.judgement

    def is_too_short_for(self, n_rows: int) -> bool:
        """True if a round with this number of rows would take longer than is left."""
        return self.foreseen(n_rows) > self.left


def time_fits(fitter: Fitter, rows: LabelledRows) -> Any:
    """Fit to some of the rows, and to more of them, only to see how long that takes. Gives the last model."""
    firsts = np.unique(rows.labels, return_index=True)[1]  # no classifier is fitted to one label
    for n in sorted({min(len(rows), n) for n in _TRIALS}):
        spread = np.linspace(0, len(rows) - 1, n).astype(np.int64)
        model = fitter.fit(rows.take(np.union1d(spread, firsts)))
    return model


def seconds_per_input(model: Any, domain: Domain, settings: Settings, *, quick: bool) -> float:
    """Measured seconds that a model, or its stand-in if `quick`, takes to judge one input."""
    target = target_of(model, domain, settings, quick=quick)
    for n in (_WARM_UP, *_TRIED):
        clock = Clock()
        for _ in target.families(n, 0):
            pass
        if n > _WARM_UP and clock.seconds >= _ENOUGH:
            break
    return clock.seconds / n


def inputs_to_judge(task: Task, model: Any, *, is_timed: bool) -> tuple[dict[str, int], dict[str, float]]:
    """Inputs of the domain to choose by and to report on, within the time; and the seconds of these judgements.

    Without a limit of time the model need not be timed; then the seconds are 0. Rounds may be judged by a stand-in,
    the report by the model itself. The seconds are those of one round, and of all models of the report.
    """
    settings, limit = task.settings, math.inf if task.settings.max_seconds is None else task.settings.max_seconds
    n = {part: getattr(settings, f"n_{part}") or usual for part, usual in USUAL.items()}
    if not is_timed:
        return n, dict.fromkeys(n, 0.0)
    times = {"select": 1.0 + min(settings.max_rounds, _ROUNDS), "report": _SLOWER * (2 + task.n_controls)}
    speed = {part: seconds_per_input(model, task.domain, settings, quick=part == "select") for part in n}
    # Rows are judged once with plain twins, and once more with linked twins if there are links.
    rows = {part: (1 if task.linked is None else 2) * task.parts.sizes[part] * speed["report"] for part in n}
    for part in n:
        if getattr(settings, f"n_{part}") is None:
            n[part] = affordable(n[part], speed[part], _KEPT * limit / times[part] - rows[part])
    judging = {part: n[part] * speed[part] + rows[part] for part in n}
    return n, {"select": judging["select"], "report": times["report"] * judging["report"]}


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
