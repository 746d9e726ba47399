"""The loop: rounds that each try a recipe and are judged on the select part, until there is a reason to stop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from fairprobe.clock import Clock
from fairprobe.retraining.judging import Assessment
from fairprobe.retraining.parts import LabelledRows
from fairprobe.retraining.recipes import Recipe, first_tries, less_flipped, neighbours, schedule
from fairprobe.retraining.rounds import Round, best_of, decide, left_of
from fairprobe.retraining.start import Start
from fairprobe.retraining.task import Task
from fairprobe.retraining.time_budget import time_fits

_LEFT_OUT: Final = 4
"""Recipes that would take too long, after which the others are assumed to take too long as well; chosen."""


@dataclass
class Course:
    """The rounds so far, and the model that they have come to."""

    model: Any
    judged: Assessment
    """That model on the select part."""
    rounds: list[Round] = field(default_factory=list)
    chosen: Round | None = None
    """The round that the model comes from."""
    left_out: list[Recipe] = field(default_factory=list)
    """Recipes that would have taken too long."""
    stop_reason: str = ""
    failure: str | None = None

    @property
    def is_perfect(self) -> bool:
        """Whether no model could be better: no share and no loss of accuracy is left."""
        best = best_of(self.rounds)
        return best is not None and not best.left and best.loss.value <= 0


def run_rounds(task: Task, start: Start, course: Course) -> None:
    """Try recipes, and note what they come to."""
    settings = task.settings
    if not any(share.hits for share in start.judged.shares.values()):
        course.stop_reason = "nothing-to-improve"
        return
    for recipe in _searched(task, course) if settings.is_search else _scheduled(task, course):
        if len(course.rounds) >= settings.max_rounds:
            course.stop_reason = "max-rounds"
            return
        if task.budget.left <= 0 or len(course.left_out) == _LEFT_OUT:
            course.stop_reason = "max-seconds"
            return
        course.stop_reason = ""  # if one recipe found no cases, a search goes on with the others
        _try(task, start, course, recipe)


def _scheduled(task: Task, course: Course) -> Iterator[Recipe]:
    """The paper's amounts, until a round is rejected."""
    for recipe in schedule(task.augmentations[0], np.random.default_rng(task.seeds.schedule)):
        yield recipe
        if course.left_out:
            course.stop_reason = "max-seconds"  # amounts grow, so all others would take longer still
        elif course.rounds and not course.rounds[-1].accepted:
            course.stop_reason = "not-better"
        if course.stop_reason:
            return
    course.stop_reason = "schedule"


def _searched(task: Task, course: Course) -> Iterator[Recipe]:
    """One try of each augmentation, then neighbours of the best recipes."""
    tried: set[Recipe] = set()
    waiting = first_tries(task.augmentations)
    while waiting:
        tried.add(waiting[0])
        yield waiting[0]
        if course.left_out[-1:] == waiting[:1]:
            waiting += less_flipped(waiting[0])
        waiting = [recipe for recipe in waiting if recipe not in tried] or _next_try(course, tried)
    for_want_of_time = bool(course.left_out) and not course.is_perfect
    course.stop_reason = course.stop_reason or ("max-seconds" if for_want_of_time else "searched")


def _next_try(course: Course, tried: set[Recipe]) -> list[Recipe]:
    """An untried neighbour of the best recipe so far, or of the next best."""
    if course.is_perfect:
        return []
    best = best_of(course.rounds)
    ranked = sorted(course.rounds, key=lambda each: (each is not best, not each.accepted, each.left))
    return [recipe for each in ranked for recipe in neighbours(each.recipe) if recipe not in tried][:1]


def _try(task: Task, start: Start, course: Course, recipe: Recipe) -> None:
    """One round, unless there is no case for it or no time."""
    clock = Clock()
    rng = np.random.default_rng(task.seeds.rounds.spawn(1)[0])
    rows = start.augmenter.rows(recipe, start.pool.draw, rng)
    if recipe.uses_cases and not start.pool.has_cases(1):
        task.tell(f"{recipe.words()}: no case to add")
        course.stop_reason = "no-cases"
        return
    if _would_take_too_long(task, rows):
        task.tell(f"{recipe.words()}: left out, as {len(rows):,} rows would take longer than is left")
        course.left_out.append(recipe)
        return
    task.tell(f"round {len(course.rounds) + 1}: {recipe.words()}: fitting {len(rows):,} rows")
    model = task.fitter.fit(rows)
    new = start.judge.judge(model)
    seconds = clock.seconds
    # The paper's schedule climbs from one model to the next; a search compares all models with the first.
    to_beat = start.judged if task.settings.is_search else course.judged
    changes = to_beat.against(new, start.round_confidence)
    loss = start.judged.loss_to(new, start.round_confidence)
    accepted, why = decide(task.settings, changes, loss, new.accuracy, start.least_accuracy)
    done = Round(
        number=len(course.rounds) + 1,
        recipe=recipe,
        n_added=len(rows) - len(task.parts.fit),
        shares=new.shares,
        changes=changes,
        accuracy=new.accuracy,
        loss=loss,
        left=left_of(start.judged, new),
        accepted=accepted,
        why=why,
        seconds=seconds,
    )
    course.rounds.append(done)
    task.budget.is_first = False
    best = best_of(course.rounds) if task.settings.is_search else done
    if accepted and best is done:
        course.model, course.judged, course.chosen = model, new, done
    task.tell(done.sentence(), done)


def _would_take_too_long(task: Task, rows: LabelledRows) -> bool:
    """Whether a round would exceed the time left, by the fits so far. If there was none, some rows are fitted to."""
    if task.settings.max_seconds is None:
        return False
    if not task.fitter.times:
        time_fits(task.fitter, rows)
    return task.budget.is_too_short_for(len(rows))
