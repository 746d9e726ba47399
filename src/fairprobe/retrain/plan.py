"""What a retraining would do, and a guess of the time it takes, without doing it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from fairprobe.arrays import Codes
from fairprobe.domain.domain import Domain
from fairprobe.errors import ModelError
from fairprobe.retrain import committee
from fairprobe.retrain.amounts import Speed, how_many
from fairprobe.retrain.clock import Clock
from fairprobe.retrain.loop import Loop
from fairprobe.retrain.parts import Rows
from fairprobe.retrain.recipe import first_tries
from fairprobe.retrain.run import prepare
from fairprobe.retrain.settings import Settings
from fairprobe.retrain.trainer import Trainer

_FEWEST: Final = 200
_GROWTH: Final = 4
_SECONDS: Final = 1.0
"""Fits are timed on so few rows first, then on so many times as many, for about so long."""


@dataclass(frozen=True)
class Plan:
    """What is settled before the first round, and a guess of the seconds of each step."""

    settings: Settings
    seed: int
    refits: bool
    """Whether the model to compare with is a clone of the one given."""
    n_rows: dict[str, int]
    """Of each part."""
    n_select: int
    n_report: int
    """Inputs of the domain to choose by and to report on."""
    n_cases: int | None
    """Given; None if they are searched for."""
    n_rounds: int
    """At most."""
    n_controls: int
    n_timed: int
    """Rows of the largest fit that the guess comes from."""
    prepare: float
    """The model to compare with and the committee."""
    fit: float
    select: float
    report: float
    """Fitting a model of a round in the middle, and judging it on either part."""

    @property
    def round(self) -> float:
        """A round in the middle, but for the search for cases."""
        return self.fit + self.select

    @property
    def ending(self) -> float:
        """The report: before, after and the controls."""
        return (2 + self.n_controls) * self.report + self.n_controls * self.fit

    @property
    def total(self) -> float:
        """All of it."""
        return self.prepare + self.n_rounds * self.round + self.ending

    def summary(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        left_out = ("prepare", "fit", "select", "report")
        seconds = {"prepare": self.prepare, "round": self.round, "report": self.ending, "total": self.total}
        return {**{name: value for name, value in asdict(self).items() if name not in left_out}, "seconds": seconds}


def plan(model: Any, X: Any, y: Any, domain: Domain, **arguments: Any) -> Plan:
    """What `retrain` would do with the same arguments, all of them given; fits a little, for some seconds at most."""
    loop = prepare(model, X, y, domain, **arguments)
    settings, parts = loop.settings, loop.materials.parts
    fitted, n_timed = _timed(loop.fit, parts.fit)
    voting = Clock(None)
    if settings.labels == "vote" and loop.materials.committee is None:
        _time_committee(loop, voting)
    # To choose, a stand-in may be asked; the report is the model's own.
    speed = Speed.measure(fitted if loop.refits else model, domain, settings.how)
    n_select, n_report = how_many(settings, parts, loop.n_controls, speed)
    n_members, n_fit = len(domain.combinations), len(parts.fit)
    growth = np.mean([recipe.growth(n_members) for recipe in first_tries(settings.augmentations)])
    return Plan(
        settings=settings,
        seed=loop.materials.seed,
        refits=loop.refits,
        n_rows={part: len(getattr(parts, part)) for part in ("fit", "select", "report")},
        n_select=n_select,
        n_report=n_report,
        n_cases=None if loop.materials.cases is None else len(loop.materials.cases),
        n_rounds=settings.most_rounds,
        n_controls=loop.n_controls,
        n_timed=n_timed,
        prepare=loop.clock.foreseen(n_fit) * loop.refits + voting.foreseen(n_fit),
        fit=loop.clock.foreseen(round(n_fit * float(growth))),
        select=speed.quick * (n_select + len(parts.select)),
        report=speed.slow * (n_report + len(parts.report)),
    )


def _timed(fit: Callable[[Rows], Any], rows: Rows) -> tuple[Any, int]:
    """Fit to growing numbers of rows; the last model, and the rows that it was fitted to."""
    order, begun, n = _mixed(rows), Clock.now(), min(_FEWEST, len(rows))
    while True:
        asked = Clock.now()
        model = fit(rows.take(order[:n]))
        if n == len(rows) or _SECONDS - (Clock.now() - begun) < _GROWTH * (Clock.now() - asked):
            return model, n
        n = min(len(rows), _GROWTH * n)


def _mixed(rows: Rows) -> Codes:
    """In a random order, but one row of each label first: no classifier is fitted to one alone."""
    order = np.random.default_rng(0).permutation(len(rows))
    firsts = np.unique(rows.labels[order], return_index=True)[1]
    return np.concatenate([order[firsts], np.delete(order, firsts)])


def _time_committee(loop: Loop, clock: Clock) -> None:
    def fit(rows: Rows) -> None:
        begun = Clock.now()
        for member in committee.others(loop.materials.domain, loop.materials.model, len(rows), 0):
            Trainer(member, None, as_frame=True).fit(rows.frame, rows.labels)
        clock.fitted(len(rows), Clock.now() - begun)

    try:
        _timed(fit, loop.materials.parts.fit)
    except ModelError as error:
        raise ModelError(f"the committee must vote on labels: {error}") from error
