"""Rounds: each tries a recipe and is judged on the select part, until there is a reason to stop."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from fairprobe.clock import Clock
from fairprobe.engine.base import checked_jobs
from fairprobe.errors import ModelError
from fairprobe.estimation.compare import Comparison
from fairprobe.estimation.share import Share
from fairprobe.retraining.cases import CasePool, distinct
from fairprobe.retraining.judging import JUDGED, Assessment, Judge, Loss
from fairprobe.retraining.labels import Labeller, as_given, by_function, by_mean, by_vote, fitted_members, other_kinds
from fairprobe.retraining.parts import LabelledRows
from fairprobe.retraining.recipes import Augmenter, Recipe, first_tries, less_flipped, neighbours, schedule
from fairprobe.retraining.task import Settings, Task, number
from fairprobe.retraining.time_budget import inputs_to_judge, time_fits
from fairprobe.searching import Found, search
from fairprobe.wording import percent

_HUNTED: Final = 0.5
"""Fraction of the time left for rounds that a search for cases may take, as they must still be fitted to; chosen."""

_LEFT_OUT: Final = 4
"""Recipes that would take too long, after which the others are assumed to take too long as well; chosen."""

STEP: Final = 0.02
"""Width of the steps by which `left` is compared: of rounds on one step, the more accurate is the better; chosen."""


@dataclass(frozen=True)
class Round:
    """One recipe that was tried, judged on the select part."""

    number: int
    recipe: Recipe
    n_added: int
    """Rows added to the training rows."""
    shares: dict[str, Share]
    changes: dict[str, Comparison]
    """By population, the model to beat compared with the new one, on the same inputs."""
    accuracy: float
    loss: Loss
    """The loss against the model before the first round."""
    left: float
    """The share as a fraction of the share before the first round, averaged over the populations."""
    accepted: bool
    why: str
    seconds: float

    def jsonable(self) -> dict[str, Any]:
        """The figures as plain values of JSON."""
        ends = {"share": "value", "low": "low", "high": "high"}
        return {
            "round": self.number,
            "augment": self.recipe.augment,
            "percent": self.recipe.percent,
            "flipped": self.recipe.flipped if self.recipe.uses_rows else 0.0,
            "copies": self.recipe.copies,
            **{f"{end}_{name}": getattr(share, of) for end, of in ends.items() for name, share in self.shares.items()},
            "loss": self.loss.value,
            "loss_low": self.loss.low,
            "loss_high": self.loss.high,
            **{name: getattr(self, name) for name in ("n_added", "left", "accuracy", "accepted", "why", "seconds")},
        }

    def sentence(self) -> str:
        """The round in a line."""
        shares = ", ".join(f"{name} {percent(share.value)}" for name, share in self.shares.items())
        verdict = "accepted" if self.accepted else "rejected"
        return (
            f"round {self.number}: {self.recipe.words()} (+{self.n_added:,} rows): {shares}, "
            f"accuracy {percent(self.accuracy)}; {verdict}: {self.why}"
        )


# The rule


def round_confidence(settings: Settings, n_populations: int) -> float:
    """The confidence of one interval of a round. The error is split, so that all intervals hold together."""
    return float(1 - (1 - settings.confidence) / (settings.max_rounds * n_populations))


def decide(
    settings: Settings, changes: dict[str, Comparison], loss: Loss, accuracy: float, least_accuracy: float
) -> tuple[bool, str]:
    """Decide if a new model is accepted, and give the reason.

    By either rule, the loss of accuracy must lie within the limit, and the accuracy must reach the least allowed.
    """
    is_lower, why = _is_lower(settings, changes)
    if not is_lower:
        return False, why
    most, limit = settings.max_accuracy_loss, f"the limit of {100 * settings.max_accuracy_loss:.3g}"
    if loss.value > most:
        return False, f"{100 * loss.value:.2f} points of accuracy are lost, above {limit}"
    if settings.prove_accuracy and loss.high > most:
        return False, f"up to {100 * loss.high:.2f} points of accuracy may be lost, above {limit}"
    if accuracy < least_accuracy:
        return False, f"the accuracy of {percent(accuracy)} is more than {limit} below that of the model given"
    return True, f"{why}; the accuracy lost is {'' if loss.high <= most else 'not '}shown to be within the limit"


def _is_lower(settings: Settings, changes: dict[str, Comparison]) -> tuple[bool, str]:
    """Decide if shares are lower by the rule of the settings, and give the reason."""
    if settings.accept == "paper":
        is_lower = changes["domain"].difference > 0
        return is_lower, f"the estimated share of the domain is {'' if is_lower else 'not '}lower"
    worse = " and ".join(JUDGED[name] for name, change in changes.items() if change.high < 0)
    better = " and ".join(JUDGED[name] for name, change in changes.items() if change.low > 0)
    if worse:
        return False, f"the share of {worse} is shown to be higher"
    return bool(better), f"{f'the share of {better}' if better else 'no share'} is shown to be lower"


def left_of(first: Assessment, new: Assessment) -> float:
    """The new share as a fraction of the first, averaged over the populations that had discriminatory inputs."""
    kept = [new.shares[name].value / share.value for name, share in first.shares.items() if share.hits]
    return float(np.mean(kept)) if kept else 1.0


def best_of(rounds: list[Round]) -> Round | None:
    """The best accepted round: the least left by steps, then the most accurate, then the least left."""
    accepted = [each for each in rounds if each.accepted]
    return min(accepted, key=lambda each: (int(each.left / STEP), -each.accuracy, each.left), default=None)


def front_of(rounds: list[Round]) -> list[Round]:
    """The rounds that no other beats in both `left` and accuracy, the least left first."""
    front: list[Round] = []
    for each in sorted(rounds, key=lambda each: (each.left, -each.accuracy)):
        if not front or each.accuracy > front[-1].accuracy:
            front.append(each)
    return front


# The loop


class Rounds:
    """All rounds of a retraining, and the model that they have come to."""

    def __init__(self, task: Task) -> None:
        """Fit and judge the model that rounds are compared with."""
        settings, parts, budget = task.settings, task.parts, task.budget
        self.task = task
        task.tell("fitting the model to compare with" if task.refits else "judging the model given")
        self.reference = task.fitter.fit(parts.fit) if task.refits else task.model
        """The model that rounds are compared with: the model given, or a clone fitted to the fit part."""
        is_timed = settings.max_seconds is not None
        self.n_inputs, judging = inputs_to_judge(task, self.reference, is_timed=is_timed)
        """Inputs of the domain that are judged with each part: select, report."""
        budget.kept = judging["report"]
        n, seed = self.n_inputs["select"], number(task.seeds.select)
        self.judge = Judge(task.domain, parts.select, n, seed, settings, quick=True, linked=task.linked)
        clock = Clock()
        self.first = self.judge.judge(self.reference)
        """The reference on the select part."""
        budget.judgement = clock.seconds
        self.given = None if task.refits else self.first
        """The model given on the select part; None if it cannot be asked."""
        if task.refits and task.is_fitted:
            with suppress(ModelError):
                self.given = self.judge.judge(task.model)
        self.round_confidence = round_confidence(settings, len(self.first.shares))
        self.augmenter = Augmenter(task.domain, parts.fit, task.classes, task.linked or task.domain)
        self.pool = pool_of(task, self.reference)
        self.least_accuracy = self._least_accuracy()
        self.model, self.judged = self.reference, self.first
        """The model that the rounds have come to, and its figures on the select part."""
        self.tried: list[Round] = []
        self.chosen: Round | None = None
        """The round that the model comes from."""
        self.left_out: list[Recipe] = []
        """Recipes that would have taken too long."""
        self.stop_reason = ""
        self.failure: str | None = None

    def _least_accuracy(self) -> float:
        """The accuracy that a new model must reach, so that it does not fall behind the model given; 0 if unknown.

        The clone may be worse by chance, as it has fewer rows. The model given may know the select rows by heart. So
        the accuracy that the clone gains on the rows that it was fitted to is subtracted.
        """
        if not self.task.refits or self.given is None:
            return 0.0
        fit = self.task.parts.fit
        own = float((self.judge.labels(self.reference, fit) == fit.labels).mean())
        by_heart = max(0.0, own - self.first.accuracy)
        return self.given.accuracy - by_heart - self.task.settings.max_accuracy_loss

    def run(self) -> None:
        """Try recipes until there is a reason to stop."""
        settings = self.task.settings
        if not any(share.hits for share in self.first.shares.values()):
            self.stop_reason = "nothing-to-improve"
            return
        for recipe in self._searched() if settings.is_search else self._scheduled():
            if len(self.tried) >= settings.max_rounds:
                self.stop_reason = "max-rounds"
                return
            if self.task.budget.left <= 0 or len(self.left_out) == _LEFT_OUT:
                self.stop_reason = "max-seconds"
                return
            self.stop_reason = ""  # if one recipe found no cases, a search goes on with the others
            self._try(recipe)

    def _scheduled(self) -> Iterator[Recipe]:
        """The paper's amounts, until a round is rejected."""
        for recipe in schedule(self.task.augmentations[0], np.random.default_rng(self.task.seeds.schedule)):
            yield recipe
            if self.left_out:
                self.stop_reason = "max-seconds"  # amounts grow, so all others would take longer still
            elif self.tried and not self.tried[-1].accepted:
                self.stop_reason = "not-better"
            if self.stop_reason:
                return
        self.stop_reason = "schedule"

    def _searched(self) -> Iterator[Recipe]:
        """One try of each augmentation, then neighbours of the best recipes."""
        done: set[Recipe] = set()
        waiting = first_tries(self.task.augmentations)
        while waiting:
            recipe = waiting[0]
            done.add(recipe)
            yield recipe
            if self.left_out[-1:] == [recipe]:
                waiting += less_flipped(recipe)
            waiting = [each for each in waiting if each not in done] or self._next_try(done)
        for_want_of_time = bool(self.left_out) and not self._is_perfect
        self.stop_reason = self.stop_reason or ("max-seconds" if for_want_of_time else "searched")

    @property
    def _is_perfect(self) -> bool:
        """True if no model could be better: no share and no loss of accuracy is left."""
        best = best_of(self.tried)
        return best is not None and not best.left and best.loss.value <= 0

    def _next_try(self, done: set[Recipe]) -> list[Recipe]:
        """An untried neighbour of the best recipe so far, or of the next best."""
        if self._is_perfect:
            return []
        best = best_of(self.tried)
        ranked = sorted(self.tried, key=lambda each: (each is not best, not each.accepted, each.left))
        return [recipe for each in ranked for recipe in neighbours(each.recipe) if recipe not in done][:1]

    def _try(self, recipe: Recipe) -> None:
        """One round, unless there is no case for it or no time."""
        task, clock = self.task, Clock()
        rows = self.augmented(recipe)
        if recipe.uses_cases and not self.pool.has_cases(1):
            task.tell(f"{recipe.words()}: no case to add")
            self.stop_reason = "no-cases"
            return
        if task.settings.max_seconds is not None and not task.fitter.times:
            time_fits(task.fitter, rows)
        if task.budget.is_too_short_for(len(rows)):
            task.tell(f"{recipe.words()}: left out, as {len(rows):,} rows would take longer than is left")
            self.left_out.append(recipe)
            return
        task.tell(f"round {len(self.tried) + 1}: {recipe.words()}: fitting {len(rows):,} rows")
        model = task.fitter.fit(rows)
        new = self.judge.judge(model)
        done = self._round(recipe, len(rows) - len(task.parts.fit), new, clock.seconds)
        self.tried.append(done)
        task.budget.is_first = False
        if done.accepted and (not task.settings.is_search or best_of(self.tried) is done):
            self.model, self.judged, self.chosen = model, new, done
        task.tell(done.sentence(), round=done)

    def augmented(self, recipe: Recipe) -> LabelledRows:
        """The rows of a recipe, by the next stream of random numbers."""
        rng = np.random.default_rng(self.task.seeds.rounds.spawn(1)[0])
        return self.augmenter.rows(recipe, self.pool.draw, rng)

    def _round(self, recipe: Recipe, n_added: int, new: Assessment, seconds: float) -> Round:
        settings, confidence = self.task.settings, self.round_confidence
        # The paper's schedule climbs from one model to the next; a search compares all models with the first.
        to_beat = self.first if settings.is_search else self.judged
        changes, loss = to_beat.against(new, confidence), self.first.loss_to(new, confidence)
        accepted, why = decide(settings, changes, loss, new.accuracy, self.least_accuracy)
        left, number = left_of(self.first, new), len(self.tried) + 1
        return Round(number, recipe, n_added, new.shares, changes, new.accuracy, loss, left, accepted, why, seconds)


# Cases and their labels


def pool_of(task: Task, reference: Any) -> CasePool:
    """The cases given, which are searched for too unless their labels are given."""
    settings, domain, labeller = task.settings, task.domain, labeller_of(task, reference)
    none = np.zeros((0, len(domain.names)), dtype=np.int64)
    given = none if task.cases is None else distinct(domain, task.cases)
    if task.case_labels is not None:
        return CasePool(labeller, domain, given)
    how = {name: getattr(settings, name) for name in ("strategy", "threshold", "output", "batch")}

    def hunt(n: int, seconds: float | None) -> Found:
        seed = number(task.seeds.hunt.spawn(1)[0])
        return search(reference, domain, max_cases=n, max_seconds=seconds, seed=seed, **how)

    seconds = math.inf if settings.search_seconds is None else settings.search_seconds
    return CasePool(labeller, domain, given, hunt, seconds, lambda: _HUNTED * task.budget.left)


def labeller_of(task: Task, reference: Any) -> Labeller:
    """The labeller asked for. A committee is fitted to the fit part."""
    labels, domain, classes, rows = task.settings.labels, task.domain, task.classes, task.parts.fit
    if callable(labels):
        return by_function(labels, domain, classes)
    if labels == "mean":
        return by_mean(reference, domain, classes)
    if task.case_labels is not None:
        return as_given(task.case_labels, domain, classes)
    seed = number(task.seeds.committee) % 2**31
    members = task.settings.committee or other_kinds(domain, reference, len(rows), seed)
    fitted = fitted_members(members, rows, checked_jobs(task.settings.n_jobs), task.settings.engine)
    return by_vote(fitted, domain, classes)
