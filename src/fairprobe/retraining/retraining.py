"""The functions `retrain`, which fits models to training rows with cases or twins added, and `plan`, its dry run.

A `Task` holds the model, the checked arguments of `retrain`, and the rows, split into parts.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fairprobe.arguments import Column, Outcome, done_by, filled
from fairprobe.checks import check_above_0, checked_choice, checked_count, checked_seed, is_number
from fairprobe.domain.domain import Domain, checked_domain
from fairprobe.errors import FairprobeError, HealthWarning, SettingError
from fairprobe.estimation.bounds.intervals import checked_confidence
from fairprobe.estimation.favourable import favourable_label
from fairprobe.frames import is_array
from fairprobe.model import Model
from fairprobe.oracle import checked_threshold
from fairprobe.progress import Progress, Status, teller
from fairprobe.retraining.augmenting import LONGEST, checked_augment, checked_cases
from fairprobe.retraining.fitting import Fitter, TimeBudget, Train
from fairprobe.retraining.judging import asked_inputs
from fairprobe.retraining.labels import check_choice, check_committee, given_labels
from fairprobe.retraining.parts import check_labels, checked_held_out, checked_rows, classes_of, groups_of, split
from fairprobe.retraining.report import reported
from fairprobe.retraining.retrained import Retrained
from fairprobe.retraining.rounds import Rounds, prepared, run
from fairprobe.searching.registry import strategy_path

if TYPE_CHECKING:
    import pandas as pd


STREAMS: Final = ("split", "schedule", "rounds", "hunt", "select", "report", "committee")
"""Names of the uses of random numbers. Each use has its own stream, spawned from the seed in this order."""


class RetrainSettings(SimpleNamespace):
    """The arguments of `retrain` as attributes; all but the model and the data are checked."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        checked_augment(self.augment)
        check_choice(self.labels, self.committee)
        strategy_path(self.strategy)
        checked_choice("accept", self.accept, ("shown", "paper"))
        checked_confidence(self.confidence)
        checked_threshold(self.threshold, self.output)
        for name in ("max_rounds", "n_select", "n_report"):
            if arguments[name] is not None or name == "max_rounds":
                checked_count(name, arguments[name])
        for name in ("search_seconds", "max_seconds"):
            check_above_0(name, arguments[name])
        if not (is_number(self.max_accuracy_loss) and 0 <= self.max_accuracy_loss <= 1):
            rule = f"must lie between 0 and 1, as 0.01 for one point, got {self.max_accuracy_loss!r}"
            raise SettingError.about("max_accuracy_loss", rule)

    @property
    def is_search(self) -> bool:
        """True if augmentations and amounts are searched over; False if the paper's schedule is followed."""
        return self.augment == "auto" or not isinstance(self.augment, str)


class Task:
    """All that a retraining needs: the checked model, settings and rows, the latter split into parts.

    No model is fitted or asked yet.
    """

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        """Check the arguments of `retrain`, given by name, and split the rows."""
        self.settings = its = RetrainSettings(**arguments)
        self.model = its.model
        self.linked = domain = checked_domain(its.domain)
        """Domain as the user gave it, with its links (columns that change along with sensitive ones), if any."""
        self.augmentations = checked_augment(its.augment, domain)
        self.domain = domain = domain.without_links() if domain.links else domain
        """Domain without its links. By it, the twins of cases and of flipped rows differ in sensitive columns only."""
        self.seed = checked_seed(its.seed)
        self.streams = dict(zip(STREAMS, np.random.SeedSequence(self.seed).spawn(len(STREAMS)), strict=True))
        own_groups, unseen_groups = groups_of(its.groups, its.held_out)
        rows = checked_rows(domain, its.X, its.y, its.sample_weight, own_groups)
        self.classes = classes = classes_of(rows)
        known = getattr(its.model, "classes_", None)
        if known is not None:
            check_labels("y", "must have labels that the model was fitted to", classes.tolist(), np.asarray(known))
        check_committee(its.committee, classes)
        self.cases = None if its.cases is None else checked_cases(domain, its.cases)
        self.case_labels = None
        """Label of each family of the given cases with `labels="given"`; otherwise None."""
        if its.labels == "given":
            if self.cases is None:
                raise SettingError("labels='given' needs cases with a column of labels, got no cases")
            self.case_labels = given_labels(domain, its.cases, self.cases, its.y)
            check_labels("labels", "must use the names of y", self.case_labels.values(), classes, " from the cases")
        unseen = None if its.held_out is None else checked_held_out(domain, its.held_out, classes, unseen_groups)
        weighted = its.sample_weight is not None
        self.fitter = Fitter(its.model, its.trainer, domain, as_frame=not is_array(its.X), is_weighted=weighted)
        self.parts = split(rows, unseen, np.random.default_rng(self.streams["split"]))
        names = classes.tolist()
        self.favourable = names[-1] if its.favourable is None else favourable_label(its.favourable, names)
        self.refits = its.held_out is None or not self.fitter.is_known
        """True if rounds are compared with a clone: the model given is not fitted, or has seen the rows to judge by."""
        self.n_controls = (4 if self.linked.links else 3) * bool(its.controls)
        """Number of controls (other ways to train, for comparison) that need a fit."""
        self.budget = TimeBudget(its.max_seconds, self.n_controls, self.fitter)
        self._progress = teller(its.progress)

    def seed_of(self, use: str) -> int:
        """Return an integer seed for a use of random numbers, one of `STREAMS`. Every call returns the same seed."""
        return int(self.streams[use].generate_state(1)[0])

    def next_stream(self, use: str) -> np.random.SeedSequence:
        """Return a random stream for a use of random numbers, one of `STREAMS`. Every call returns a new stream."""
        return self.streams[use].spawn(1)[0]

    def tell(self, text: str, **figures: Any) -> None:
        """Report progress to the user: a step that begins, or, with figures, one that has ended."""
        if self._progress is not None:
            self._progress(Status(text, figures, is_over=bool(figures)))


def _retrain(**arguments: Any) -> Retrained:
    """Retrain a model and warn of the result's remarks; this is the body of `retrain`, with its arguments by name.

    After an interruption, or a failure once a round was tried, the rounds before it are reported.
    """
    task = Task(arguments)
    reference = prepared(task)
    rounds, with_controls = Rounds(reference.model, reference.judged), task.settings.controls
    try:
        rounds.stop_reason = run(task, reference, rounds)
    except KeyboardInterrupt:
        rounds.stop_reason, with_controls = "interrupted", False
    except FairprobeError as error:
        if not rounds.tried:
            raise
        rounds.stop_reason, rounds.failure = "failed", str(error)
    result = reported(task, reference, rounds, with_controls=with_controls)
    for remark in result.health:
        warnings.warn(f"{remark.check}: {remark.message}", HealthWarning, stacklevel=3)  # where `retrain` was called
    return result


@done_by(_retrain)
def retrain(
    model: Model,
    X: pd.DataFrame | Any,
    y: Any,
    domain: Domain,
    *,
    cases: pd.DataFrame | Any = None,
    labels: str | Callable[[Any], Any] = "vote",
    committee: Sequence[Any] | None = None,
    augment: str | Sequence[str] = "auto",
    trainer: Train | None = None,
    held_out: tuple[Any, Any] | None = None,
    sample_weight: Any = None,
    groups: Column | None = None,
    strategy: str = "fully-directed",
    threshold: float | None = None,
    output: str = "label",
    batch: str | None = None,
    accept: str = "shown",
    max_accuracy_loss: float = 0.01,
    n_select: int | None = None,
    n_report: int | None = None,
    confidence: float = 0.95,
    controls: bool = True,
    max_rounds: int = 12,
    max_seconds: float | None = 480.0,
    search_seconds: float | None = 60.0,
    favourable: Outcome | None = None,
    seed: int | None = 0,
    progress: bool | Progress = False,
) -> Retrained:
    """Retrain a classifier with discriminatory inputs until they are rarer. The model given is never changed.

    The rows are split: models are fitted on one part, chosen by another and reported on a third, each judged with
    fresh inputs of the domain. Rows are told apart by their content: those that are equal in all but the sensitive
    columns stay in one part. A round is accepted if a share is shown to be lower, none is shown to be higher, and
    no more accuracy is lost than allowed. If no round is accepted, the model given comes back.

    In a domain with links, the rows are judged twice: "rows" with twins that differ in the sensitive parameters alone,
    as inputs of the domain are, and "linked" with the linked columns changed too.

    Args:
        model: a classifier that can be cloned, fitted or not; any other model needs a `trainer`.
        X: the training rows, a frame or an array with its columns in domain order; values may lie outside the domain.
        y: their labels.
        domain: what an input may be, and which parameters are sensitive.
        cases: discriminatory inputs to add (rows, or the result of `search`). None searches for as many as are needed.
        labels: how added inputs are labelled. "vote": by the majority of a committee. "mean": by the model's own output
            averaged over the twins. "given": by a column of `cases` named as y, or `label`, one label per family. Or a
            function that takes a frame and gives labels.
        committee: the classifiers that vote, fitted or not; by default five kinds that the model is not.
        augment: what a round adds. "case": single cases, as in the paper; the sensitive value is redrawn. "twins":
            cases with all their twins under one label. "flip": training rows with their twins. "linked": training rows
            with their linked twins, in a domain with links. Or several joined by +. Then the amounts follow the paper's
            schedule until a round is rejected. "auto", or a list of these, searches over them and over the amounts.
        trainer: a function ``trainer(X, y, sample_weight=None)`` that returns a fitted model, called instead of
            fitting a clone of the model.
        held_out: rows and labels that the model has not seen, half to choose by and half to report on. Without them 15%
            of X each are kept for that, and the model before is a clone fitted on the other 70%; if no round is
            accepted, the figures are those of the model given, on rows it was fitted to. The same holds for rows held
            out that equal rows of X in inputs and label more often than by chance: the remark `rows-overlap` counts
            them.
        sample_weight: weights of the training rows; an added row has their mean weight.
        groups: the person or unit of each row, where several rows belong to one: rows of one group stay in one part.
            With `held_out` a pair, of X and of the rows held out.
        strategy: the strategy of the search for cases.
        threshold: the gap above which an input is discriminatory; needed for numbers.
        output: the output that is compared over twins: "label", "score" or "proba". Models learn labels in any case.
        batch: "array" or "frame", the form of the model's batches; by default the form on which it was fitted.
        accept: the rule for a round. "shown": a share must be shown to be lower and none higher. "paper": the estimated
            share of the domain must be lower, whatever other shares do. Both stay within `max_accuracy_loss`; the paper
            has no such limit, which is a limit of 1.
        max_accuracy_loss: the accuracy that may be lost by the estimate, as 0.01 for one point.
        n_select: inputs of the domain that models are chosen by; by default 50,000, or fewer if `max_seconds` needs it.
        n_report: inputs of the domain that the figures come from; by default 100,000, or fewer if `max_seconds` needs
            it, because the report is to take a third of that time at most.
        confidence: confidence of the intervals, between 0 and 1.
        controls: also try other ways to train, which the result shows for comparison; each takes a fit.
        max_rounds: largest number of rounds. The probability of a wrong acceptance is split over them.
        max_seconds: no round is begun that would make the whole call take longer, report and controls included; but a
            first round is tried if it fits into two thirds of the time. None is no limit: then nothing depends on time
            but `search_seconds`.
        search_seconds: seconds for all searches for cases together; None is no limit.
        favourable: the label whose frequency is shown by sensitive value; by default the last one in sorted order.
        seed: the same seed and settings give the same result, time limits aside.
        progress: True for lines on the standard error, or a callable that takes a `Status`.

    Returns:
        The model and the evidence. If the trainer fails in a later round, the result of the rounds before.
    """
    raise NotImplementedError


# The dry run


def plan(model: Any, X: Any, y: Any, domain: Domain, **given: Any) -> dict[str, Any]:
    """Return what a call of `retrain` with these arguments would do, by name: its settings, and the numbers of rows.

    No model is fitted or asked. The numbers of inputs are the largest: `max_seconds` may reduce them.
    """
    data = {"model": model, "X": X, "y": y, "domain": domain}
    task = Task(data | filled(retrain, given, data))
    its = task.settings
    return {
        "seed": task.seed,
        "augment": ", ".join("+".join(parts) for parts in task.augmentations),
        # The paper's schedule has an end of its own.
        "max_rounds": its.max_rounds if its.is_search else min(its.max_rounds, LONGEST),
        **{f"n_{part}": n for part, n in asked_inputs(its).items()},
        "n_rows": task.parts.sizes,
        "n_cases": None if task.cases is None else len(task.cases),
    }
