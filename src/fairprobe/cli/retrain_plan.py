"""The dry run of `fairprobe retrain`: what it would do, and a measured guess of what it would take."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fairprobe.cli.plan import GROWTH, PILOT_SECONDS, domain_as_dict, domain_lines, model_lines
from fairprobe.cli.retrain_data import Data
from fairprobe.cli.words import counted, duration
from fairprobe.errors import ModelError
from fairprobe.retrain import committee
from fairprobe.retrain.clock import steepness
from fairprobe.retrain.judging import N_REPORT, N_SELECT, affordable, seconds_per_input
from fairprobe.retrain.parts import Parts, Rows, checked_rows, split
from fairprobe.retrain.recipe import MOST, Recipe, first_tries
from fairprobe.retrain.settings import Settings
from fairprobe.retrain.trainer import Trainer, is_fitted

FEWEST = 200
"""Rows of the first fit that is timed."""

N_CONTROLS = 3


@dataclass(frozen=True)
class Fit:
    """What some fits told about the time that larger ones take."""

    n_rows: int
    seconds: float
    steepness: float

    def of(self, n_rows: int) -> float:
        """A guess for so many rows."""
        return self.seconds * (n_rows / self.n_rows) ** self.steepness


@dataclass(frozen=True)
class Cost:
    """What it takes, in seconds."""

    prepare: float
    """The model to compare with and the committee."""
    fit: float
    """A fit of a round in the middle."""
    select: float
    report: float
    """Judging one model on that part."""
    n_rounds: int
    """At most."""
    n_controls: int

    @property
    def a_round(self) -> float:
        """A round in the middle, but for the search for cases."""
        return self.fit + self.select

    @property
    def ending(self) -> float:
        """The report: before, after and the controls."""
        return (2 + self.n_controls) * self.report + self.n_controls * self.fit

    @property
    def total(self) -> float:
        """All of it."""
        return self.prepare + self.n_rounds * self.a_round + self.ending

    def as_dict(self) -> dict[str, float]:
        """For JSON."""
        return {"prepare": self.prepare, "round": self.a_round, "report": self.ending, "total": self.total}


@dataclass(frozen=True)
class RetrainPlan:
    """All that a dry run says."""

    model: str
    data: Data
    settings: Settings
    controls: bool
    seed: int
    files: dict[str, str | None]
    """The names of --cases, --out and --plot."""
    n_rows: dict[str, int]
    """Of each part."""
    refits: bool
    """Whether the model to compare with is a clone of the one given."""
    n_select: int
    n_report: int
    fit: Fit
    cost: Cost

    @classmethod
    def measure(
        cls,
        name: str,
        model: Any,
        data: Data,
        settings: Settings,
        controls: bool,
        seed: int,
        files: dict[str, str | None],
    ) -> RetrainPlan:
        """Fit to some rows and ask about some inputs, for some seconds at most."""
        parts = _parts(data, seed)
        refits = not (parts.unseen and is_fitted(model))
        trainer = Trainer(model, None, as_frame=True)
        fit, fitted = _timed(lambda rows: trainer.fit(rows.frame, rows.labels), parts.fit)
        voting = _committee(model, data, parts.fit) if settings.labels == "vote" else None
        asked = fitted if refits else model
        # To choose, a compiled twin may stand in; the report is the model's own.
        quick, slow = (
            seconds_per_input(asked, data.domain, settings.how, quick=is_quick) for is_quick in (True, False)
        )
        n_select = settings.n_select or affordable(N_SELECT, quick)
        n_report = settings.n_report or affordable(N_REPORT, slow)
        n_fit = len(parts.fit)
        cost = Cost(
            prepare=fit.of(n_fit) * refits + (0.0 if voting is None else voting.of(n_fit)),
            fit=fit.of(round(n_fit * _growth(settings, len(data.domain.combinations)))),
            select=quick * (n_select + len(parts.select)),
            report=slow * (n_report + len(parts.report)),
            n_rounds=_n_rounds(settings),
            n_controls=N_CONTROLS * controls,
        )
        n_rows = {part: len(getattr(parts, part)) for part in ("fit", "select", "report")}
        return cls(name, data, settings, controls, seed, files, n_rows, refits, n_select, n_report, fit, cost)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "dry_run": True,
            "model": self.model,
            "domain": domain_as_dict(self.data.domain),
            "settings": asdict(self.settings),
            "controls": self.controls,
            "seed": self.seed,
            "n_rows": self.n_rows,
            "n_select": self.n_select,
            "n_report": self.n_report,
            "n_cases": None if self.data.cases is None else len(self.data.cases),
            "n_rounds": self.cost.n_rounds,
            "pilot": asdict(self.fit),
            "seconds": self.cost.as_dict(),
            **self.files,
        }

    def lines(self) -> list[tuple[str, int]]:
        """For people: paragraphs, and how far their lines after the first are indented."""
        return [
            ("A dry run: this is what retraining would do. Nothing is written.", 0),
            ("", 0),
            *((line, 13) for line in self._what()),
            ("", 0),
            (f"A guess of the time, from a fit to {counted(self.fit.n_rows, 'row')} and some inputs judged:", 0),
            *((f"  {line}", 4) for line in self._times()),
        ]

    def _what(self) -> list[str]:
        how, files = self.settings.how, self.files
        refits = "a clone of the model given, fitted to the fit part" if self.refits else "the model given"
        asked = {"output": how.output, "threshold": how.threshold}
        return [
            *model_lines(self.model, self.data.domain, asked),
            f"  fit        {self.n_rows['fit']:,} rows, and what a round adds to them",
            f"  select     {self.n_rows['select']:,} rows and {self.n_select:,} inputs of the domain",
            f"  report     {self.n_rows['report']:,} rows and {self.n_report:,} fresh inputs",
            f"  before     {refits}",
            f"  augment    {self._augment()}",
            f"  labels     {self.settings.labels}",
            f"  cases      {self._cases()}",
            f"  accept     {self._accept()}",
            f"  rounds     {self.cost.n_rounds} at most, seed {self.seed}",
            *([f"  {name:9}  {file}" for name, file in files.items() if file and name != "cases"]),
            *domain_lines(self.data.domain),
        ]

    def _augment(self) -> str:
        names = ["+".join(parts) for parts in self.settings.augmentations]
        if self.settings.is_search:
            return f"{', '.join(names)}: searched over, and so are the amounts"
        return f"{names[0]}, in amounts that grow until a round is rejected"

    def _cases(self) -> str:
        seconds = self.settings.search_seconds
        within = "without a limit of time" if seconds is None else f"within {seconds:g} s"
        searched = f"searched for as they are needed, {self.settings.strategy}, {within}"
        if self.data.cases is None:
            return searched
        given = f"{len(self.data.cases):,} of {self.files['cases']}"
        return given if self.settings.labels == "given" else f"{given}; more are {searched}"

    def _accept(self) -> str:
        if self.settings.accept == "paper":
            return "if the estimated share of the domain is lower"
        by = "the interval of the loss" if self.settings.prove_accuracy else "the loss"
        return (
            f"if a share is shown to be lower and none higher, and {by} of accuracy is at most "
            f"{self.settings.max_accuracy_loss:.3g}"
        )

    def _times(self) -> list[str]:
        limit = self.settings.max_seconds
        rounds = counted(self.cost.n_rounds, "round")
        return [
            f"before the first round: {duration(self.cost.prepare)}",
            f"a round: {duration(self.cost.a_round)}, and the search for cases",
            f"the report{', with the controls' if self.controls else ''}: {duration(self.cost.ending)}",
            f"all, with {rounds}: {duration(self.cost.total)}"
            + ("" if limit is None else f"; no round is begun that would take it beyond {limit:g} s"),
        ]


def _n_rounds(settings: Settings) -> int:
    """Rounds at most: the paper's amounts double, from one per cent of the training rows to all of them."""
    return settings.max_rounds if settings.is_search else min(settings.max_rounds, math.floor(math.log2(MOST)) + 1)


def _growth(settings: Settings, n_members: int) -> float:
    """How many times as many rows a round in the middle fits to."""
    tries = first_tries(settings.augmentations)
    return float(np.mean([_rows_of(recipe, n_members) for recipe in tries]))


def _rows_of(recipe: Recipe, n_members: int) -> float:
    added = {
        "case": recipe.percent,
        "twins": recipe.percent * n_members,
        "flip": recipe.flipped * (n_members - 1),
    }
    return recipe.copies * (1 + sum(added[part] for part in recipe.parts) / 100)


def _parts(data: Data, seed: int) -> Parts:
    unseen = None if data.held_out is None else checked_rows(data.domain, *data.held_out, what="held_out")
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])
    return split(data.domain, checked_rows(data.domain, data.rows, data.labels), unseen, rng)


def _timed(train: Callable[[Rows], Any], rows: Rows) -> tuple[Fit, Any]:
    """Fit to growing numbers of rows for about a second; also gives the last model."""
    order = _mixed(rows)
    begun = time.perf_counter()
    n, timed = min(FEWEST, len(rows)), []
    while True:
        some, asked = rows.take(order[:n]), time.perf_counter()
        model = train(some)
        timed.append((n, max(time.perf_counter() - asked, 1e-6)))
        if n == len(rows) or PILOT_SECONDS - (time.perf_counter() - begun) < GROWTH * timed[-1][1]:
            return Fit(n, timed[-1][1], _steepness(timed)), model
        n = min(len(rows), GROWTH * n)


def _mixed(rows: Rows) -> Any:
    """In a random order, but one row of each label first: no classifier is fitted to one alone."""
    order = np.random.default_rng(0).permutation(len(rows))
    firsts = np.unique(rows.labels[order], return_index=True)[1]
    return np.concatenate([order[firsts], np.delete(order, firsts)])


def _steepness(timed: list[tuple[int, float]]) -> float:
    """How fit times grow, from the last two: with the rows at least, as the first fits are mostly overhead."""
    if len(timed) < 2:
        return 1.0
    return steepness(*timed[-2:])


def _committee(model: Any, data: Data, rows: Rows) -> Fit:
    def train(some: Rows) -> None:
        for member in committee.others(data.domain, model, len(some), 0):
            Trainer(member, None, as_frame=True).fit(some.frame, some.labels)

    try:
        return _timed(train, rows)[0]
    except ModelError as error:
        raise ModelError(f"the committee must vote on labels: {error}") from error
