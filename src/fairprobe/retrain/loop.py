"""The loop: a reference, rounds judged against it on the select part, one report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes
from fairprobe.domain.domain import Domain
from fairprobe.errors import FairprobeError, ModelError
from fairprobe.progress import Progress, Status
from fairprobe.retrain import report
from fairprobe.retrain.amounts import Speed, how_many, report_seconds
from fairprobe.retrain.augment import Augmenter
from fairprobe.retrain.clock import N_CONTROLS, Clock
from fairprobe.retrain.judging import Judge, Judged
from fairprobe.retrain.labels import make_labeller
from fairprobe.retrain.parts import Parts, Rows
from fairprobe.retrain.recipe import Recipe, first_tries, less_flipped, neighbours, schedule
from fairprobe.retrain.retrained import Retrained
from fairprobe.retrain.rounds import Round, Rule, best_of, left_of
from fairprobe.retrain.settings import Settings
from fairprobe.retrain.supply import Hunt, Supply, distinct
from fairprobe.retrain.trainer import Trainer

_TRIALS: Final = (1000, 4000)
"""Rows of fits that are only timed: two tell how time grows."""

_HUNTED: Final = 0.5
"""Of the time that is left for rounds, a search for cases may take so much: they are still to be fitted to."""

_LEFT_OUT: Final = 4
"""When so many recipes would have taken too long, all others would."""


@dataclass(frozen=True)
class Materials:
    """What a retraining works on."""

    model: Any
    is_fitted: bool
    domain: Domain
    trainer: Trainer
    parts: Parts
    cases: Codes | None
    case_labels: NDArray[Any] | None
    committee: Sequence[Any] | None
    classes: NDArray[Any]
    """The labels' names."""
    favourable: Any
    seed: int
    seeds: np.random.SeedSequence


class Loop:
    """One call of `retrain`."""

    def __init__(
        self, materials: Materials, settings: Settings, progress: Progress | None, *, with_controls: bool
    ) -> None:
        self.materials = materials
        self.settings = settings
        self._progress = progress
        self.n_controls = N_CONTROLS if with_controls else 0
        self.rounds: list[Round] = []
        self.stop_reason = ""
        self.failure: str | None = None
        self.left_out: list[Recipe] = []
        # In a fixed order, as each draws from a stream of its own.
        streams = materials.seeds.spawn(6)
        self.schedule_rng = np.random.default_rng(streams[0])
        self.round_seeds, self.hunt_seeds = streams[1], streams[2]
        self.select_seed, self.report_seed, self.committee_seed = (
            int(stream.generate_state(1)[0]) for stream in streams[3:]
        )
        self.clock = Clock(settings.max_seconds, self.n_controls)

    def tell(self, text: str, done: Round | None = None) -> None:
        """Say what begins, or what a round came to."""
        if self._progress is not None:
            self._progress(Status(text, {} if done is None else {"round": done}, is_over=done is not None))

    def run(self) -> Retrained:
        """All of it."""
        self._prepare()
        with_controls = self.n_controls > 0
        try:
            self._go_round()
        except KeyboardInterrupt:
            self.stop_reason = "interrupted"
            with_controls = False
        except FairprobeError as error:
            if not self.rounds:
                raise
            self.stop_reason, self.failure = "failed", str(error)
        return report.make(self, with_controls=with_controls)

    # Before the first round

    def _prepare(self) -> None:
        materials, settings = self.materials, self.settings
        parts = materials.parts
        self.tell("fitting the model to compare with" if self.refits else "judging the model given")
        self.reference = self.fit(parts.fit) if self.refits else materials.model
        self.n_select, self.n_report = self._how_many()
        self.judge = Judge(materials.domain, parts.select, self.n_select, self.select_seed, settings.how, quick=True)
        begun = self.clock.now()
        self.first: Judged = self.judge.judge(self.reference)
        self.clock.judged(self.clock.now() - begun)
        self.given = self._judged_given()
        self.current, self.current_judged = self.reference, self.first
        self.chosen: Round | None = None
        self.rule = Rule(
            settings.max_accuracy_loss,
            settings.prove_accuracy,
            settings.round_confidence(len(self.first.shares)),
            self._least_accuracy(),
            settings.accept,
        )
        self.augmenter = Augmenter(materials.domain, parts.fit, materials.classes)
        self.labeller = make_labeller(
            settings.labels,
            materials.committee,
            self.reference,
            materials.domain,
            parts.fit,
            None if materials.cases is None else (materials.cases, materials.case_labels),
            self.committee_seed % 2**31,
            materials.classes,
        )
        self.supply = Supply(self.labeller, self._given_cases(), self._hunt())

    @property
    def refits(self) -> bool:
        """Whether the model given can't be compared as it is: it has seen the rows that are kept apart, or none yet."""
        return not (self.materials.parts.unseen and self.materials.is_fitted)

    @property
    def original(self) -> Any:
        """What is returned if no round is accepted: the model given, where it can be asked; else its fitted clone."""
        return self.reference if self.given is None else self.materials.model

    def _judged_given(self) -> Judged | None:
        """The model given on the select part; None where it can't be asked, as one that is not fitted."""
        if not self.refits:
            return self.first
        if not self.materials.is_fitted:
            return None
        try:
            return self.judge.judge(self.materials.model)
        except ModelError:
            return None

    def _how_many(self) -> tuple[int, int]:
        """Inputs to choose by and to report on; nothing is timed where time is not limited."""
        settings, parts = self.settings, self.materials.parts
        if settings.max_seconds is None:
            return how_many(settings, parts, self.n_controls, None)
        speed = Speed.measure(self.reference, self.materials.domain, settings.how)
        n_select, n_report = how_many(settings, parts, self.n_controls, speed)
        self.clock.keep(report_seconds(n_report, parts, self.n_controls, speed))
        return n_select, n_report

    def _given_cases(self) -> Codes | None:
        cases = self.materials.cases
        return None if cases is None else distinct(self.materials.domain, cases)

    def _hunt(self) -> Hunt | None:
        settings, how = self.settings, self.settings.how
        if self.settings.labels == "given":
            return None  # what a search finds has no label
        return Hunt(
            self.reference,
            self.materials.domain,
            self.hunt_seeds,
            settings.search_seconds,
            lambda: _HUNTED * self.clock.left(is_first=not self.rounds),
            strategy=settings.strategy,
            threshold=how.threshold,
            output=how.output,
            batch=how.batch,
        )

    def _least_accuracy(self) -> float:
        """What a new model's accuracy must reach lest it fall behind the model given, where that can be told.

        A clone fitted on fewer rows may be unlucky. The model given may have learnt the select rows by heart; what
        its clone gains on the rows that it was fitted to is taken off.
        """
        if not self.refits or self.given is None:
            return 0.0
        parts = self.materials.parts
        own = float((self.judge.labels(self.reference, parts.fit) == parts.fit.labels).mean())
        by_heart = max(0.0, own - self.first.accuracy)
        return self.given.accuracy - by_heart - self.settings.max_accuracy_loss

    # Rounds

    def _go_round(self) -> None:
        if not any(share.hits for share in self.first.shares.values()):
            self.stop_reason = "nothing-to-improve"
            return
        for recipe in self._recipes():
            self.stop_reason = self._limit_met()
            if self.stop_reason:
                return
            self._try(recipe)

    def _recipes(self) -> Iterator[Recipe]:
        """What to try next, given what came of the rounds before."""
        if not self.settings.is_search:
            for recipe in schedule(self.settings.augmentations[0], self.schedule_rng):
                yield recipe
                if self.left_out:
                    self.stop_reason = "max-seconds"  # amounts grow, so all others would take longer still
                elif self.rounds and not self.rounds[-1].accepted:
                    self.stop_reason = "not-better"
                if self.stop_reason:
                    return
            self.stop_reason = self.stop_reason or "schedule"
            return
        tried: set[Recipe] = set()
        waiting = first_tries(self.settings.augmentations)
        while waiting:
            tried.add(waiting[0])
            yield waiting[0]
            if self.left_out[-1:] == waiting[:1]:
                waiting += less_flipped(waiting[0])
            waiting = [recipe for recipe in waiting if recipe not in tried] or self._next_tries(tried)
        for_want_of_time = bool(self.left_out) and not self._is_perfect
        self.stop_reason = self.stop_reason or ("max-seconds" if for_want_of_time else "searched")

    @property
    def _is_perfect(self) -> bool:
        """Whether nothing could be better: nothing is left of the shares, and no accuracy was lost."""
        best = best_of(self.rounds)
        return best is not None and not best.left and best.loss.value <= 0

    def _next_tries(self, tried: set[Recipe]) -> list[Recipe]:
        """A neighbour of the best so far that is still untried; else of the next best."""
        if self._is_perfect:
            return []
        best = best_of(self.rounds)
        ranked = sorted(self.rounds, key=lambda each: (each is not best, not each.accepted, each.left))
        near = (recipe for each in ranked for recipe in neighbours(each.recipe) if recipe not in tried)
        first = next(near, None)
        return [] if first is None else [first]

    def _limit_met(self) -> str:
        if len(self.rounds) >= self.settings.max_rounds:
            return "max-rounds"
        is_short = self.clock.is_over(is_first=not self.rounds)
        return "max-seconds" if is_short or len(self.left_out) == _LEFT_OUT else ""

    def _try(self, recipe: Recipe) -> None:
        begun = self.clock.now()
        rng = np.random.default_rng(self.round_seeds.spawn(1)[0])
        rows = self.augmenter.rows(recipe, self.supply.draw, rng)
        n_added = len(rows) - len(self.materials.parts.fit)
        if recipe.uses_cases and not self.supply.has_cases(1):
            self.tell(f"{recipe.words()}: no case to add")
            self.stop_reason = "no-cases"
            return
        if self._would_take_too_long(rows):
            self.tell(f"{recipe.words()}: left out, as {len(rows):,} rows would take longer than is left")
            self.left_out.append(recipe)
            return
        self.tell(f"round {len(self.rounds) + 1}: {recipe.words()}: fitting {len(rows):,} rows")
        model = self.fit(rows)
        new = self.judge.judge(model)
        self._note(recipe, model, new, n_added, self.clock.now() - begun)

    def _would_take_too_long(self, rows: Rows) -> bool:
        """Foreseen from the fits before; where there was none, from fits to a few of the rows."""
        if self.settings.max_seconds is None:
            return False
        if not self.clock.has_fits:
            for n in sorted({min(len(rows), n) for n in _TRIALS}):
                self.fit(rows.take(np.linspace(0, len(rows) - 1, n).astype(np.int64)))
        return self.clock.is_too_short_for(len(rows), is_first=not self.rounds)

    def fit(self, rows: Rows) -> Any:
        """A new model, and a note of how long it took."""
        begun = self.clock.now()
        model = self.materials.trainer.fit(rows.frame, rows.labels, rows.weights)
        self.clock.fitted(len(rows), self.clock.now() - begun)
        return model

    def _note(self, recipe: Recipe, model: Any, new: Judged, n_added: int, seconds: float) -> None:
        confidence = self.rule.confidence
        # The paper's loop climbs from one model to the next; a search compares all with the first.
        to_beat = self.first if self.settings.is_search else self.current_judged
        changes = to_beat.against(new, confidence)
        loss = self.first.loss_to(new, confidence)
        accepted, why = self.rule.decide(changes, loss, new.accuracy)
        done = Round(
            number=len(self.rounds) + 1,
            recipe=recipe,
            n_added=n_added,
            shares=new.shares,
            changes=changes,
            accuracy=new.accuracy,
            loss=loss,
            left=left_of(self.first, new),
            accepted=accepted,
            why=why,
            seconds=seconds,
        )
        self.rounds.append(done)
        best = best_of(self.rounds) if self.settings.is_search else done
        if accepted and best is done:
            self.current, self.current_judged, self.chosen = model, new, done
        self.tell(done.sentence(), done)
