"""`retrain`: add discriminatory inputs, or twins of rows, to the training rows until a model treats fewer apart."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fairprobe.arguments import Column, Outcome
from fairprobe.domain.domain import Domain
from fairprobe.errors import FairprobeError, HealthWarning
from fairprobe.model import Model
from fairprobe.progress import Progress
from fairprobe.retraining.fitting import Train
from fairprobe.retraining.loop import Course, run_rounds
from fairprobe.retraining.report import reported
from fairprobe.retraining.retrained import Retrained
from fairprobe.retraining.start import started
from fairprobe.retraining.task import Task, task_of

if TYPE_CHECKING:
    import pandas as pd


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
    prove_accuracy: bool = False,
    n_select: int | None = None,
    n_report: int | None = None,
    confidence: float = 0.95,
    controls: bool = True,
    max_rounds: int = 12,
    max_seconds: float | None = 480.0,
    search_seconds: float | None = 60.0,
    favourable: Outcome | None = None,
    seed: int | None = 0,
    n_jobs: int = 1,
    engine: str | None = None,
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
        trainer: ``trainer(X, y, sample_weight=None)`` returns a fitted model; it is called instead of cloning.
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
        batch: "array" or "frame" to say what the model takes.
        accept: the rule for a round. "shown": a share must be shown to be lower and none higher. "paper": the estimated
            share of the domain must be lower, whatever other shares do. Both stay within `max_accuracy_loss`; the paper
            has no such limit, which is a limit of 1.
        max_accuracy_loss: the accuracy that may be lost, as 0.01 for one point.
        prove_accuracy: require that the whole paired interval of the loss lies within the limit, not only its estimate.
        n_select: inputs of the domain that models are chosen by; by default 50,000, or fewer if `max_seconds` needs it.
        n_report: inputs of the domain that the figures come from; by default 100,000, or fewer if `max_seconds` needs
            it, because the report is to take a third of that time at most.
        confidence: of the intervals, between 0 and 1.
        controls: also try other ways to train, which the result shows for comparison; each takes a fit.
        max_rounds: rounds at most. The error of acceptance is split over them.
        max_seconds: no round is begun that would make the whole call take longer, report and controls included; but a
            first round is tried if it fits into two thirds of the time. None is no limit: then nothing depends on time
            but `search_seconds`.
        search_seconds: seconds for all searches for cases together; None is no limit.
        favourable: the label whose rate is shown by sensitive value; by default the last one.
        seed: the same seed and settings give the same result, time limits aside.
        n_jobs: processes that fit the members of the committee; -1 is one for each core.
        engine: what fits the committee, as in `search`: "local", "processes", "dask" or `dask://host:port`.
        progress: True for lines on the standard error, or a callable that takes a `Status`.

    Returns:
        The model and the evidence. If the trainer fails in a later round, the result of the rounds before.
    """
    arguments = {
        "cases": cases,
        "labels": labels,
        "committee": committee,
        "augment": augment,
        "trainer": trainer,
        "held_out": held_out,
        "sample_weight": sample_weight,
        "groups": groups,
        "strategy": strategy,
        "threshold": threshold,
        "output": output,
        "batch": batch,
        "accept": accept,
        "max_accuracy_loss": max_accuracy_loss,
        "prove_accuracy": prove_accuracy,
        "n_select": n_select,
        "n_report": n_report,
        "confidence": confidence,
        "controls": controls,
        "max_rounds": max_rounds,
        "max_seconds": max_seconds,
        "search_seconds": search_seconds,
        "favourable": favourable,
        "seed": seed,
        "n_jobs": n_jobs,
        "engine": engine,
        "progress": progress,
    }
    task = task_of(model, X, y, domain, arguments)
    result = _retrained(task)
    for remark in result.health:
        warnings.warn(f"{remark.check}: {remark.message}", HealthWarning, stacklevel=2)
    return result


def _retrained(task: Task) -> Retrained:
    """Run the rounds and report on them. An interruption or a failure keeps the rounds before it."""
    start = started(task)
    course = Course(start.reference, start.judged)
    is_interrupted = False
    try:
        run_rounds(task, start, course)
    except KeyboardInterrupt:
        is_interrupted, course.stop_reason = True, "interrupted"
    except FairprobeError as error:
        if not course.rounds:
            raise
        course.stop_reason, course.failure = "failed", str(error)
    return reported(task, start, course, with_controls=not is_interrupted)
