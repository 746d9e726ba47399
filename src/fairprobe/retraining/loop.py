"""The loop: a reference, rounds judged against it on the select part, one report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes
from fairprobe.checks import checked_seed
from fairprobe.domain.domain import Domain, checked_domain
from fairprobe.engine import checked_engine, checked_jobs
from fairprobe.errors import DataError, FairprobeError, ModelError, SettingError
from fairprobe.estimation.favourable import favourable_label
from fairprobe.frames import is_array
from fairprobe.progress import Progress, Status, teller
from fairprobe.retraining import report
from fairprobe.retraining.augment import (
    Augmenter,
    Recipe,
    augmentations_for,
    first_tries,
    less_flipped,
    neighbours,
    schedule,
)
from fairprobe.retraining.clock import N_CONTROLS, Clock, Speed, how_many, report_seconds
from fairprobe.retraining.judging import Assessment, Judge
from fairprobe.retraining.labels import check_choice, check_committee, make_labeller
from fairprobe.retraining.parts import (
    LabelledRows,
    checked_held_out,
    checked_rows,
    classes_of,
    groups_of,
    split,
    unknown_label,
)
from fairprobe.retraining.retrain_settings import AllSettings
from fairprobe.retraining.retrained import CLONE, GIVEN, Retrained
from fairprobe.retraining.rounds import Round, best_of, decide, left_of
from fairprobe.retraining.supply import Hunt, Supply, checked_cases, distinct, given_labels
from fairprobe.retraining.trainer import Train, Trainer, is_fitted

_TRIALS: Final = (1000, 4000)
"""Rows of fits that are only timed: two tell how time grows."""

_HUNTED: Final = 0.5
"""Of the time that is left for rounds, a search for cases may take so much: they are still to be fitted to."""

_LEFT_OUT: Final = 4
"""When so many recipes would have taken too long, all others would."""


class Loop:
    """One call of `retrain`: what it works on, made sure of, and how far it has got."""

    def __init__(
        self,
        settings: AllSettings,
        model: Any,
        X: Any,
        y: Any,
        domain: Domain,
        *,
        cases: Any,
        committee: Sequence[Any] | None,
        trainer: Train | None,
        held_out: Any,
        sample_weight: Any,
        favourable: Any,
        seed: int | None,
        progress: bool | Progress,
        n_jobs: int = 1,
        engine: str | None = None,
        groups: Any = None,
    ) -> None:
        self.augmentations = augmentations_for(checked_domain(domain), settings.augment)
        """What to try."""
        self.linked = domain if domain.links else None
        """The domain with its links, where it has some. Cases, twins and flipped rows are without."""
        domain = domain.without_links() if domain.links else domain
        self.model, self.domain, self.settings, self.committee = model, domain, settings, committee
        check_choice(settings.labels, committee)
        self._workers = (checked_jobs(n_jobs), engine)
        checked_engine(engine, self._workers[0])
        if settings.labels == "given" and cases is None:
            raise SettingError("labels='given' needs cases with a column of labels, got no cases")
        groups = groups_of(groups, held_out)
        rows = checked_rows(domain, X, y, sample_weight, groups[0])
        self.classes = classes_of(rows)
        """The labels' names."""
        check_committee(committee, self.classes)
        known = getattr(model, "classes_", None)
        wrong = "" if known is None else unknown_label(self.classes.tolist(), np.asarray(known).tolist())
        if wrong:
            raise DataError.about("y", f"must have labels that the model was fitted to, {wrong}")
        self.cases = None if cases is None else checked_cases(domain, cases)
        self.seed = checked_seed(seed)
        unseen = None if held_out is None else checked_held_out(domain, held_out, self.classes.tolist(), groups[1])
        is_weighted = sample_weight is not None
        self.trainer = Trainer(model, trainer, domain, as_frame=not is_array(X), is_weighted=is_weighted)
        # In a fixed order, as each draws from a stream of its own.
        streams = np.random.SeedSequence(self.seed).spawn(7)
        self.parts = split(domain, rows, unseen, np.random.default_rng(streams[0]))
        self._schedule_rng = np.random.default_rng(streams[1])
        self.round_seeds, self._hunt_seeds = streams[2], streams[3]
        self._select_seed, self.report_seed, self._committee_seed = (
            int(stream.generate_state(1)[0]) for stream in streams[4:]
        )
        self._given: tuple[Codes, NDArray[Any]] | None = None
        """The cases and their labels, where these are given."""
        if self.cases is not None and settings.labels == "given":
            self._given = self.cases, given_labels(domain, cases, self.cases, y)
        labels = self.classes.tolist()
        self.favourable = labels[-1] if favourable is None else favourable_label(favourable, labels)
        self.progress = teller(progress)

        self.is_fitted = is_fitted(model)
        self.refits = held_out is None or not self.is_fitted
        """Whether the model given can't be compared as it is: it has seen the rows that are kept apart, or none yet."""
        self.n_controls = N_CONTROLS + (self.linked is not None) if settings.controls else 0
        self.rounds: list[Round] = []
        self.chosen: Round | None = None
        self.left_out: list[Recipe] = []
        """What would have taken too long."""
        self.stop_reason = ""
        self.failure: str | None = None
        self.clock = Clock(settings.max_seconds, self.n_controls)

    def run(self) -> Retrained:
        """All of it."""
        self._prepare()
        self._prepare_cases()
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

    def tell(self, text: str, done: Round | None = None) -> None:
        """Say what begins, or what a round came to."""
        if self.progress is not None:
            self.progress(Status(text, {} if done is None else {"round": done}, is_over=done is not None))

    def fit(self, rows: LabelledRows) -> Any:
        """A new model, and a note of how long it took."""
        begun = self.clock.now()
        model = self.trainer.fit(rows.frame, rows.labels, rows.weights)
        self.clock.fitted(len(rows), self.clock.now() - begun)
        return model

    # What the figures are of

    @property
    def n_sides(self) -> int:
        """How often rows are judged: with plain twins, and with linked ones if there are some."""
        return 1 if self.linked is None else 2

    @property
    def original(self) -> Any:
        """What is returned if no round is accepted: the model given, where it can be asked; else its fitted clone."""
        return self.reference if self.given is None else self.model

    @property
    def before_is(self) -> str:
        """What the figures before are of."""
        is_given = not self.refits or (self.chosen is None and self.given is not None)
        return GIVEN if is_given else CLONE

    @property
    def on_fitted_rows(self) -> bool:
        """Whether the figures of rows are on rows that the model was fitted to."""
        return bool(self.parts.known) or self.knows_report

    @property
    def knows_report(self) -> bool:
        """Whether the figures are of the model given, which alone has seen the rows that are kept apart."""
        return self.refits and self.before_is == GIVEN

    # Before the first round

    def _prepare(self) -> None:
        """Judge the model to compare with, and settle what a new one must come to."""
        settings, parts = self.settings, self.parts
        self.tell("fitting the model to compare with" if self.refits else "judging the model given")
        self.reference = self.fit(parts.fit) if self.refits else self.model
        # Nothing is timed where time is not limited.
        speed = None if settings.max_seconds is None else Speed.measure(self.reference, self.domain, settings)
        self.n_select, self.n_report = how_many(settings, parts, self.n_controls, speed, self.n_sides)
        if speed is not None:
            self.clock.kept = report_seconds(self.n_report, parts, self.n_controls, speed, self.n_sides)
        self._judge = Judge(
            self.domain, parts.select, self.n_select, self._select_seed, settings, quick=True, linked=self.linked
        )
        begun = self.clock.now()
        self.first = self._judge.judge(self.reference)
        self.clock.judgement = self.clock.now() - begun
        self.given: Assessment | None = None if self.refits else self.first
        """The model given on the select part; None where it can't be asked, as one that is not fitted."""
        if self.refits and self.is_fitted:
            with suppress(ModelError):
                self.given = self._judge.judge(self.model)
        self.current, self.current_judged = self.reference, self.first
        self.round_confidence = settings.round_confidence(len(self.first.shares))
        self._least_accuracy = self._least_accuracy_allowed()

    def _least_accuracy_allowed(self) -> float:
        """What a new model's accuracy must reach lest it fall behind the model given, where that can be told.

        A clone fitted on fewer rows may be unlucky. The model given may have learnt the select rows by heart; what
        its clone gains on the rows that it was fitted to is taken off.
        """
        if not self.refits or self.given is None:
            return 0.0
        fit = self.parts.fit
        own = float((self._judge.labels(self.reference, fit) == fit.labels).mean())
        by_heart = max(0.0, own - self.first.accuracy)
        return self.given.accuracy - by_heart - self.settings.max_accuracy_loss

    def _prepare_cases(self) -> None:
        """Settle where cases come from, and who labels them."""
        settings, domain = self.settings, self.domain
        self.augmenter = Augmenter(domain, self.parts.fit, self.classes, self.linked)
        self.labeller = make_labeller(
            settings.labels,
            self.committee,
            self.reference,
            domain,
            self.parts.fit,
            self._given,
            self._committee_seed % 2**31,
            self.classes,
            self._workers,
        )
        seconds = math.inf if settings.search_seconds is None else settings.search_seconds
        how = {name: getattr(settings, name) for name in ("strategy", "threshold", "output", "batch")}
        hunt = Hunt(
            self.reference, domain, self._hunt_seeds, seconds, how,
            lambda: _HUNTED * self.clock.left(is_first=not self.rounds),
        )  # fmt: skip
        none = np.zeros((0, len(domain.names)), dtype=np.int64)
        given = none if self.cases is None else distinct(domain, self.cases)
        # What a search finds has no label to be given.
        self.supply = Supply(self.labeller, given, None if settings.labels == "given" else hunt)

    # Rounds

    def _go_round(self) -> None:
        if not any(share.hits for share in self.first.shares.values()):
            self.stop_reason = "nothing-to-improve"
            return
        for recipe in self._searched() if self.settings.is_search else self._scheduled():
            if len(self.rounds) >= self.settings.max_rounds:
                self.stop_reason = "max-rounds"
                return
            if self.clock.left(is_first=not self.rounds) <= 0 or len(self.left_out) == _LEFT_OUT:
                self.stop_reason = "max-seconds"
                return
            self.stop_reason = ""  # that a recipe found no cases does not end a search for others
            self._try(recipe)

    def _scheduled(self) -> Iterator[Recipe]:
        """The paper's amounts, until a round is rejected."""
        for recipe in schedule(self.augmentations[0], self._schedule_rng):
            yield recipe
            if self.left_out:
                self.stop_reason = "max-seconds"  # amounts grow, so all others would take longer still
            elif self.rounds and not self.rounds[-1].accepted:
                self.stop_reason = "not-better"
            if self.stop_reason:
                return
        self.stop_reason = "schedule"

    def _searched(self) -> Iterator[Recipe]:
        """One try of each augmentation, then neighbours of what came out best."""
        tried: set[Recipe] = set()
        waiting = first_tries(self.augmentations)
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
        return [recipe for each in ranked for recipe in neighbours(each.recipe) if recipe not in tried][:1]

    def _try(self, recipe: Recipe) -> None:
        begun = self.clock.now()
        rng = np.random.default_rng(self.round_seeds.spawn(1)[0])
        rows = self.augmenter.rows(recipe, self.supply.draw, rng)
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
        new = self._judge.judge(model)
        seconds = self.clock.now() - begun
        # The paper's loop climbs from one model to the next; a search compares all with the first.
        to_beat = self.first if self.settings.is_search else self.current_judged
        changes = to_beat.against(new, self.round_confidence)
        loss = self.first.loss_to(new, self.round_confidence)
        accepted, why = decide(self.settings, changes, loss, new.accuracy, self._least_accuracy)
        done = Round(
            number=len(self.rounds) + 1,
            recipe=recipe,
            n_added=len(rows) - len(self.parts.fit),
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

    def _would_take_too_long(self, rows: LabelledRows) -> bool:
        """Foreseen from the fits before; where there was none, from fits to a few of the rows."""
        if self.settings.max_seconds is None:
            return False
        if not self.clock.fits:
            for n in sorted({min(len(rows), n) for n in _TRIALS}):
                self.fit(rows.take(np.linspace(0, len(rows) - 1, n).astype(np.int64)))
        return self.clock.is_too_short_for(len(rows), is_first=not self.rounds)
