"""Rounds of a retraining: each fits a model to added rows and judges it on the select part, until one must stop."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fairprobe.clock import Clock
from fairprobe.errors import ModelError
from fairprobe.estimation.compare import Comparison
from fairprobe.estimation.share import Share
from fairprobe.retraining.augmenting import CasePool, Recipe, augmented, first_tries, neighbours, schedule
from fairprobe.retraining.judging import JUDGED, Assessment, Loss, inputs_to_judge, judge_of, labels_of
from fairprobe.retraining.labels import Labeller, labeller_of
from fairprobe.wording import percent

if TYPE_CHECKING:
    from fairprobe.retraining.retraining import RetrainSettings, Task

STEP: Final = 0.02
"""Difference of `Round.left` that may be ignored: rounds in one step of this width are ranked by accuracy; chosen."""


@dataclass(frozen=True)
class Round:
    """A tried recipe (kinds and amounts of added rows), with the figures of its model on the select part."""

    number: int
    recipe: Recipe
    n_added: int
    """Number of rows that the round added to the training rows."""
    shares: dict[str, Share]
    changes: dict[str, Comparison]
    """Comparison of the shares of the model to beat and of the new one on the same inputs, by population."""
    accuracy: float
    loss: Loss
    """Loss of accuracy on the select part, compared with the model before the first round."""
    left: float
    """Share after the round divided by the share before the first round, averaged over the populations."""
    accepted: bool
    why: str
    seconds: float

    def jsonable(self) -> dict[str, Any]:
        """The figures of the round as a dict for JSON."""
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
        """Return the round as a line of text: the recipe, the shares, the accuracy, and if it was accepted."""
        shares = ", ".join(f"{name} {percent(share.value)}" for name, share in self.shares.items())
        verdict = "accepted" if self.accepted else "rejected"
        return (
            f"round {self.number}: {self.recipe.words()} (+{self.n_added:,} rows): {shares}, "
            f"accuracy {percent(self.accuracy)}; {verdict}: {self.why}"
        )


# The rule


def round_confidence(settings: RetrainSettings, n_populations: int) -> float:
    """Return the confidence of one interval of a round, by which the intervals of all rounds hold together.

    The error, 1 - `settings.confidence`, is split equally over all rounds and populations.
    """
    return float(1 - (1 - settings.confidence) / (settings.max_rounds * n_populations))


def decide(
    settings: RetrainSettings, changes: dict[str, Comparison], loss: Loss, accuracy: float, least_accuracy: float
) -> tuple[bool, str]:
    """Return True if the model of a round is accepted by the rule `settings.accept`, and the reason in words.

    By either rule ("shown" or "paper"), the loss of accuracy must lie within `max_accuracy_loss`, and the accuracy must
    be at least `least_accuracy`.
    """
    is_lower, why = _is_lower(settings, changes)
    if not is_lower:
        return False, why
    most, limit = settings.max_accuracy_loss, f"the limit of {100 * settings.max_accuracy_loss:.3g}"
    if loss.value > most:
        return False, f"{100 * loss.value:.2f} points of accuracy are lost, above {limit}"
    if accuracy < least_accuracy:
        return False, f"the accuracy of {percent(accuracy)} is more than {limit} below that of the model given"
    return True, f"{why}; the accuracy lost is {'' if loss.high <= most else 'not '}shown to be within the limit"


def _is_lower(settings: RetrainSettings, changes: dict[str, Comparison]) -> tuple[bool, str]:
    """Return True if the new model's shares are lower by the rule `settings.accept`, and the reason in words."""
    if settings.accept == "paper":
        is_lower = changes["domain"].difference > 0
        return is_lower, f"the estimated share of the domain is {'' if is_lower else 'not '}lower"
    worse = " and ".join(JUDGED[name] for name, change in changes.items() if change.high < 0)
    better = " and ".join(JUDGED[name] for name, change in changes.items() if change.low > 0)
    if worse:
        return False, f"the share of {worse} is shown to be higher"
    return bool(better), f"{f'the share of {better}' if better else 'no share'} is shown to be lower"


def left_of(first: Assessment, new: Assessment) -> float:
    """Return the mean over populations of the new model's share divided by the first model's share.

    Populations in which the first model has no discriminatory input are left out; 1.0 if this is so in all.
    """
    kept = [new.shares[name].value / share.value for name, share in first.shares.items() if share.hits]
    return float(np.mean(kept)) if kept else 1.0


def best_of(rounds: list[Round]) -> Round | None:
    """Return the best accepted round: lowest in `left`, in steps of `STEP`, then most accurate; None without any."""
    accepted = [each for each in rounds if each.accepted]
    return min(accepted, key=lambda each: (int(each.left / STEP), -each.accuracy, each.left), default=None)


def front_of(rounds: list[Round]) -> list[Round]:
    """Return the rounds that no other beats in both `left` (remaining share) and accuracy, lowest `left` first.

    Of rounds with equal figures one is kept. A round with the same `left` as another but lower accuracy is dropped.
    """
    front: list[Round] = []
    for each in sorted(rounds, key=lambda each: (each.left, -each.accuracy)):
        if not front or each.accuracy > front[-1].accuracy:
            front.append(each)
    return front


# The loop


@dataclass(frozen=True)
class Reference:
    """The model that rounds are compared with, its figures, and all that is needed to make and judge new models."""

    model: Any
    """The model given to `retrain`, or a clone of it that is fitted to the fit part."""
    judge: Callable[[Any], Assessment]
    """Function that judges a model on the select part."""
    judged: Assessment
    """Figures of `model` on the select part."""
    given: Assessment | None
    """Figures of the model given to `retrain`, on the select part; None if it is not fitted or fails."""
    least_accuracy: float
    """Smallest accuracy of a new model, so that it is no worse than the given model; 0 if unknown."""
    n_inputs: dict[str, int]
    """Number of inputs of the domain judged along with the rows of a part, by its name: "select", "report"."""
    pool: CasePool
    labeller: Labeller


@dataclass
class Rounds:
    """The rounds tried so far, and the model that they led to."""

    model: Any
    judged: Assessment
    """Figures of `model` on the select part."""
    chosen: Round | None = None
    """The round that gave `model`; None if no round was accepted."""
    tried: list[Round] = field(default_factory=list)
    n_left_out: int = 0
    """Number of recipes that were not tried because they would have taken longer than the time left."""
    stop_reason: str = ""
    failure: str | None = None


def prepared(task: Task) -> Reference:
    """Return the reference of all rounds, after fitting (if needed) and judging the model to compare with."""
    its, parts, budget = task.settings, task.parts, task.budget
    task.tell("fitting the model to compare with" if task.refits else "judging the model given")
    model = task.fitter.fit(parts.fit) if task.refits else task.model
    n_inputs, budget.kept = inputs_to_judge(task, model)
    judge, clock = judge_of(task, "select", n_inputs["select"]), Clock()
    judged = judge(model)
    budget.judgement = clock.seconds
    given, least_accuracy = None if task.refits else judged, 0.0
    if task.refits and task.fitter.is_known:
        with suppress(ModelError):
            given = judge(task.model)
    if task.refits and given is not None:
        # The clone may be worse by chance, as it has fewer rows. The model given may know the select rows by heart. So
        # the accuracy that the clone gains on the rows that it was fitted to is subtracted.
        own = float((labels_of(model, parts.fit, its) == parts.fit.labels).mean())
        least_accuracy = given.accuracy - max(0.0, own - judged.accuracy) - its.max_accuracy_loss
    pool, labeller = CasePool(task, model), labeller_of(task, model)
    return Reference(model, judge, judged, given, least_accuracy, n_inputs, pool, labeller)


def run(task: Task, reference: Reference, rounds: Rounds) -> str:
    """Try recipes, one round each, and return the reason to stop, a key of `retrained.STOPPED`.

    After its first recipes, a search tries neighbours (other amounts) of the best ones.
    """
    is_search, outcome, done = task.settings.is_search, "", set[Recipe]()
    if not any(share.hits for share in reference.judged.shares.values()):
        return "nothing-to-improve"
    scheduled = schedule(task.augmentations[0], np.random.default_rng(task.streams["schedule"]))
    waiting = first_tries(task.augmentations) if is_search else list(scheduled)
    while waiting:
        if len(rounds.tried) >= task.settings.max_rounds:
            return "max-rounds"
        if task.budget.left <= 0:
            return "max-seconds"
        recipe = waiting.pop(0)
        done.add(recipe)
        outcome = _try(task, reference, rounds, recipe)
        if is_search:
            # If one recipe found no cases, or was rejected or left out, a search goes on with the others.
            waiting = [each for each in waiting if each not in done] or _next_try(rounds.tried, done)
        elif outcome:
            return outcome  # amounts grow: all others would take longer still, or add more of the same
    if not is_search:
        return "schedule"
    for_want_of_time = rounds.n_left_out > 0 and not _is_perfect(rounds.tried)
    return "no-cases" if outcome == "no-cases" else "max-seconds" if for_want_of_time else "searched"


def _is_perfect(tried: list[Round]) -> bool:
    """Return True if the best round left no discriminatory input in any share and lost no accuracy."""
    best = best_of(tried)
    return best is not None and not best.left and best.loss.value <= 0


def _next_try(tried: list[Round], done: set[Recipe]) -> list[Recipe]:
    """Return a list with one untried neighbour (other amount) of the best recipe, or else of the next best one.

    The list is empty if no recipe has one, or if the best round cannot be improved.
    """
    if _is_perfect(tried):
        return []
    best = best_of(tried)
    ranked = sorted(tried, key=lambda each: (each is not best, not each.accepted, each.left))
    return [recipe for each in ranked for recipe in neighbours(each.recipe) if recipe not in done][:1]


def _try(task: Task, reference: Reference, rounds: Rounds, recipe: Recipe) -> str:
    """Fit and judge a model by one recipe, and record the round.

    Returns an empty text if the model was accepted, otherwise "not-better", "no-cases" or "max-seconds". With the last
    two there was no round.
    """
    its, clock, rng = task.settings, Clock(), np.random.default_rng(task.next_stream("rounds"))
    codes = reference.pool.drawn(recipe, rng)
    if recipe.uses_cases and not len(codes):
        task.tell(f"{recipe.words()}: no case to add")
        return "no-cases"
    rows = augmented(task, recipe, codes, reference.labeller, rng)
    if its.max_seconds is not None and not task.fitter.times:
        task.fitter.fit_some(rows)
    if task.budget.foreseen(len(rows)) > task.budget.left:
        task.tell(f"{recipe.words()}: left out, as {len(rows):,} rows would take longer than is left")
        rounds.n_left_out += 1
        return "max-seconds"
    number, n_added = len(rounds.tried) + 1, len(rows) - len(task.parts.fit)
    task.tell(f"round {number}: {recipe.words()}: fitting {len(rows):,} rows")
    model = task.fitter.fit(rows)
    new, first = reference.judge(model), reference.judged
    confidence = round_confidence(its, len(first.shares))
    # The paper's schedule climbs from one model to the next; a search compares all models with the first.
    changes = (first if its.is_search else rounds.judged).against(new, confidence)
    loss, left = first.loss_to(new, confidence), left_of(first, new)
    accepted, why = decide(its, changes, loss, new.accuracy, reference.least_accuracy)
    figures = (new.shares, changes, new.accuracy, loss, left)
    done = Round(number, recipe, n_added, *figures, accepted, why, clock.seconds)
    rounds.tried.append(done)
    task.budget.is_first = False
    if accepted and (not its.is_search or best_of(rounds.tried) is done):
        rounds.model, rounds.judged, rounds.chosen = model, new, done
    task.tell(done.sentence(), round=done)
    return "" if accepted else "not-better"
