"""The start of a retraining: the model that rounds are compared with, and where cases and their labels come from."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from fairprobe.clock import Clock
from fairprobe.errors import ModelError
from fairprobe.retraining.augment import Augmenter
from fairprobe.retraining.cases import CaseHunt, CasePool, distinct
from fairprobe.retraining.committee import fitted_members, other_kinds
from fairprobe.retraining.judging import Assessment, Judge
from fairprobe.retraining.labels import Labeller, as_given, by_function, by_mean, by_vote
from fairprobe.retraining.task import Task, number
from fairprobe.retraining.time_budget import Speed, inputs_to_judge, report_seconds

_HUNTED: Final = 0.5
"""Fraction of the time left for rounds that a search for cases may take, as they must still be fitted to; chosen."""


@dataclass(frozen=True)
class Start:
    """The model that rounds are compared with, and the values that they use."""

    reference: Any
    """The model that rounds are compared with: the model given, or a clone fitted to the fit part."""
    judged: Assessment
    """The reference on the select part."""
    given: Assessment | None
    """The model given on the select part; None if it cannot be asked."""
    judge: Judge
    """Judges models on the select part."""
    n_inputs: dict[str, int]
    """Inputs of the domain that are judged with each part: select, report."""
    least_accuracy: float
    """The accuracy on the select part that a new model must reach."""
    round_confidence: float
    augmenter: Augmenter
    pool: CasePool


def started(task: Task) -> Start:
    """Fit and judge the model that rounds are compared with."""
    settings, parts, budget = task.settings, task.parts, task.budget
    task.tell("fitting the model to compare with" if task.refits else "judging the model given")
    reference = task.fitter.fit(parts.fit) if task.refits else task.model
    # Without a limit of time, nothing is timed.
    speed = None if settings.max_seconds is None else Speed.measure(reference, task.domain, settings)
    n_inputs = inputs_to_judge(settings, parts, task.n_controls, task.n_sides, speed)
    if speed is not None:
        budget.kept = report_seconds(n_inputs["report"], parts, task.n_controls, task.n_sides, speed)
    judge = Judge(task.domain, parts.select, n_inputs["select"], number(task.seeds.select), settings, True, task.linked)
    clock = Clock()
    judged = judge.judge(reference)
    budget.judgement = clock.seconds
    given = None if task.refits else judged
    if task.refits and task.is_fitted:
        with suppress(ModelError):
            given = judge.judge(task.model)
    return Start(
        reference=reference,
        judged=judged,
        given=given,
        judge=judge,
        n_inputs=n_inputs,
        least_accuracy=_least_accuracy(task, judge, reference, judged, given),
        round_confidence=settings.round_confidence(len(judged.shares)),
        augmenter=Augmenter(task.domain, parts.fit, task.classes, task.linked or task.domain),
        pool=_pool(task, reference),
    )


def _least_accuracy(task: Task, judge: Judge, reference: Any, judged: Assessment, given: Assessment | None) -> float:
    """The accuracy that a new model must reach, so that it does not fall behind the model given; 0 if unknown.

    The clone may be worse by chance, as it has fewer rows. The model given may know the select rows by heart. So the
    accuracy that the clone gains on the rows that it was fitted to is subtracted.
    """
    if not task.refits or given is None:
        return 0.0
    fit = task.parts.fit
    own = float((judge.labels(reference, fit) == fit.labels).mean())
    by_heart = max(0.0, own - judged.accuracy)
    return given.accuracy - by_heart - task.settings.max_accuracy_loss


def _pool(task: Task, reference: Any) -> CasePool:
    """The cases given, which are searched for too unless their labels are given."""
    settings, budget, domain = task.settings, task.budget, task.domain
    none = np.zeros((0, len(domain.names)), dtype=np.int64)
    given = none if task.cases is None else distinct(domain, task.cases)
    if task.case_labels is not None:
        return CasePool(labeller_of(task, reference), given, None)
    seconds = math.inf if settings.search_seconds is None else settings.search_seconds
    how = {name: getattr(settings, name) for name in ("strategy", "threshold", "output", "batch")}
    hunt = CaseHunt(reference, domain, task.seeds.hunt, seconds, how, lambda: _HUNTED * budget.left)
    return CasePool(labeller_of(task, reference), given, hunt)


def labeller_of(task: Task, reference: Any) -> Labeller:
    """The labeller asked for. A committee is fitted to the fit part."""
    labels, domain, classes, rows = task.settings.labels, task.domain, task.classes, task.parts.fit
    if callable(labels):
        return by_function(labels, domain, classes)
    if labels == "mean":
        return by_mean(reference, domain, classes)
    if task.cases is not None and task.case_labels is not None:
        return as_given(task.cases, task.case_labels, domain, classes)
    seed = number(task.seeds.committee) % 2**31
    members = other_kinds(domain, reference, len(rows), seed) if task.committee is None else task.committee
    return by_vote(fitted_members(members, rows, *task.workers), domain, classes)
