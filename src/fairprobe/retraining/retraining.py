"""The functions `retrain`, which fits models to training rows with cases or twins added, and `plan`, its dry run."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arguments import Column, Outcome, done_by, filled
from fairprobe.domain.domain import Domain
from fairprobe.errors import FairprobeError, HealthWarning
from fairprobe.model import Model
from fairprobe.progress import Progress
from fairprobe.retraining.fitting import Fitter, Train
from fairprobe.retraining.judging import inputs_to_judge
from fairprobe.retraining.labels import other_kinds
from fairprobe.retraining.recipes import LONGEST, first_tries
from fairprobe.retraining.report import reported
from fairprobe.retraining.retrained import Retrained
from fairprobe.retraining.rounds import Rounds, prepared, run
from fairprobe.retraining.task import Task

if TYPE_CHECKING:
    import pandas as pd


def _retrain(**arguments: Any) -> Retrained:
    """Retrain a model and warn of the result's remarks; this is the body of `retrain`, with its arguments by name.

    An interruption or a failure keeps the rounds before it.
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
        max_accuracy_loss: the accuracy that may be lost, as 0.01 for one point.
        prove_accuracy: require that the whole paired interval of the loss lies within the limit, not only its estimate.
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
        n_jobs: number of processes that fit the members of the committee; -1 is one for each core.
        engine: what fits the committee, as in `search`: "local", "processes", "dask" or `dask://host:port`.
        progress: True for lines on the standard error, or a callable that takes a `Status`.

    Returns:
        The model and the evidence. If the trainer fails in a later round, the result of the rounds before.
    """
    raise NotImplementedError


# The dry run


def plan(model: Any, X: Any, y: Any, domain: Domain, **given: Any) -> dict[str, Any]:
    """Return the plan of a call of `retrain` with these arguments: numbers of rows, inputs, rounds and seconds.

    Up to two fits to some of the rows, for each kind of model, are timed. The value `seconds` holds estimates of the
    seconds before the first round (prepare), of a typical round without its search for cases (round), of the report
    with its controls (report), and of everything (total).
    """
    data = {"model": model, "X": X, "y": y, "domain": domain}
    task = Task(data | filled(retrain, given, data))
    settings, parts, n_fit = task.settings, task.parts, len(task.parts.fit)
    fitted = task.fitter.fit_some(parts.fit)
    voting = 0.0
    if settings.labels == "vote" and settings.committee is None:
        voting = sum(_seconds_of(member, task) for member in other_kinds(task.domain, model, n_fit, 0))
    n_inputs, judging = inputs_to_judge(task, fitted if task.refits else model, is_timed=True)
    n_members = len(task.domain.combinations)
    growth = np.mean([recipe.growth(n_members) for recipe in first_tries(task.augmentations)])
    fit = task.budget.foreseen(round(n_fit * float(growth)))
    before = task.budget.foreseen(n_fit) * task.refits + voting
    a_round, report = fit + judging["select"], judging["report"] + task.n_controls * fit
    # The paper's schedule has an end of its own.
    n_rounds = settings.max_rounds if settings.is_search else min(settings.max_rounds, LONGEST)
    total = before + n_rounds * a_round + report
    return {
        "seed": task.seed,
        "refits": task.refits,
        "n_rows": parts.sizes,
        **{f"n_{part}": n for part, n in n_inputs.items()},
        "n_cases": None if task.cases is None else len(task.cases),
        "n_rounds": n_rounds,
        "n_controls": task.n_controls,
        "augmentations": ["+".join(parts) for parts in task.augmentations],
        "n_timed": task.fitter.times[-1][0],
        "seconds": {"prepare": before, "round": a_round, "report": report, "total": total},
    }


def _seconds_of(member: Any, task: Task) -> float:
    """Return the predicted seconds of fitting a member of the committee (the models that vote on labels)."""
    rows = replace(task.parts.fit, weights=None)
    fitter = Fitter(member, None, task.domain, as_frame=True)
    fitter.fit_some(rows)
    return fitter.foreseen(len(rows))
