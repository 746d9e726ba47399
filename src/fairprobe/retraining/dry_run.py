"""The dry run: what `retrain` would do, and a measured guess of its time."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fairprobe.arguments import filled
from fairprobe.domain.domain import Domain
from fairprobe.errors import ModelError
from fairprobe.retraining.committee import other_kinds
from fairprobe.retraining.fitting import Fitter
from fairprobe.retraining.parts import LabelledRows
from fairprobe.retraining.recipes import first_tries
from fairprobe.retraining.retraining import retrain
from fairprobe.retraining.settings import Settings
from fairprobe.retraining.task import Task, task_of
from fairprobe.retraining.time_budget import Speed, TimeBudget, inputs_to_judge, time_fits


@dataclass(frozen=True)
class RetrainPlan:
    """The facts before the first round, and a guess of the seconds of each step."""

    settings: Settings
    seed: int
    refits: bool
    """Whether the model to compare with is a clone of the one given."""
    n_rows: dict[str, int]
    """Rows of each part."""
    n_select: int
    n_report: int
    """Inputs of the domain to choose by and to report on."""
    n_cases: int | None
    """Cases given; None if they are searched for."""
    n_rounds: int
    """Rounds at most."""
    n_controls: int
    augmentations: tuple[str, ...]
    n_timed: int
    """Rows of the largest fit that the guess comes from."""
    seconds: dict[str, float]
    """Seconds before the first round (prepare), of a typical round without its search for cases (round), of the report
    with its controls (report), and of everything (total)."""

    def jsonable(self) -> dict[str, Any]:
        """The figures as plain values of JSON."""
        settings = asdict(self.settings)
        how = {name: settings.pop(name) for name in ("threshold", "output", "batch", "confidence")}
        return {**asdict(self), "settings": {**settings, "how": how}}


def plan(model: Any, X: Any, y: Any, domain: Domain, **given: Any) -> RetrainPlan:
    """Tell what `retrain` would do with these arguments. Fits are timed for some seconds at most."""
    arguments = filled(retrain, given, ("model", "X", "y", "domain"))
    task = task_of(model, X, y, domain, arguments)
    settings, parts, budget, n_fit = task.settings, task.parts, task.budget, len(task.parts.fit)
    fitted = time_fits(task.fitter, parts.fit)
    voting = _committee_seconds(task) if settings.labels == "vote" and task.committee is None else 0.0
    # Rounds may be judged by a stand-in, the report by the model itself.
    speed = Speed.measure(fitted if task.refits else model, task.domain, settings)
    n_inputs = inputs_to_judge(settings, parts, task.n_controls, task.n_sides, speed)
    n_members = len(task.domain.combinations)
    growth = np.mean([recipe.growth(n_members) for recipe in first_tries(task.augmentations)])
    fit = budget.foreseen(round(n_fit * float(growth)))
    before = budget.foreseen(n_fit) * task.refits + voting
    a_round = fit + speed.quick * (n_inputs["select"] + task.n_sides * len(parts.select))
    judgement = speed.slow * (n_inputs["report"] + task.n_sides * len(parts.report))
    report = (2 + task.n_controls) * judgement + task.n_controls * fit
    total = before + settings.most_rounds * a_round + report
    return RetrainPlan(
        settings=settings,
        seed=task.seed,
        refits=task.refits,
        n_rows=parts.sizes,
        n_select=n_inputs["select"],
        n_report=n_inputs["report"],
        n_cases=None if task.cases is None else len(task.cases),
        n_rounds=settings.most_rounds,
        n_controls=task.n_controls,
        augmentations=tuple("+".join(parts) for parts in task.augmentations),
        n_timed=task.fitter.times[-1][0],
        seconds={"prepare": before, "round": a_round, "report": report, "total": total},
    )


def _committee_seconds(task: Task) -> float:
    """Foreseen seconds of fitting the default committee, one member after another."""
    rows = LabelledRows(task.parts.fit.frame, task.parts.fit.labels)
    seconds = 0.0
    for member in other_kinds(task.domain, task.model, len(rows), 0):
        fitter = Fitter(member, None, task.domain, as_frame=True)
        try:
            time_fits(fitter, rows)
        except ModelError as error:
            raise ModelError(f"the committee must vote on labels: {error}") from error
        seconds += TimeBudget(None, 0, fitter).foreseen(len(rows))
    return seconds
