"""`retrain`: rounds of adding to the training rows and fitting anew, until discriminatory inputs are rarer."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.checks import checked_seed
from fairprobe.domain.checked import checked_domain
from fairprobe.domain.domain import Domain
from fairprobe.errors import DataError, HealthWarning, SettingError
from fairprobe.model import Model
from fairprobe.progress import Progress, teller
from fairprobe.retrain.judging import checked_favourable
from fairprobe.retrain.labels import check_committee
from fairprobe.retrain.loop import Loop, Materials
from fairprobe.retrain.parts import check_known, checked_rows, classes_of, split
from fairprobe.retrain.retrained import Retrained
from fairprobe.retrain.settings import Settings, check_labels
from fairprobe.retrain.supply import check_given, checked_cases
from fairprobe.retrain.trainer import Train, Trainer, is_fitted

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
    accept: str = "shown",
    max_accuracy_loss: float = 0.01,
    prove_accuracy: bool = False,
    max_rounds: int = 12,
    max_seconds: float | None = 480.0,
    search_seconds: float | None = 60.0,
    strategy: str = "fully-directed",
    n_select: int | None = None,
    n_report: int | None = None,
    confidence: float = 0.95,
    threshold: float | None = None,
    output: str = "label",
    favourable: Any = None,
    controls: bool = True,
    seed: int | None = 0,
    batch: str | None = None,
    progress: bool | Progress = False,
) -> Retrained:
    """Retrain a classifier with discriminatory inputs until they are rarer. The model given is never changed.

    The rows are split: models are fitted on one part, chosen by another and reported on a third, each judged with
    fresh inputs of the domain. A round is accepted if a share is shown to be lower, none is shown to be higher, and
    no more accuracy is lost than allowed. If no round is, the model given comes back.

    Args:
        model: a classifier that can be cloned, fitted or not; anything else needs a `trainer`.
        X: the training rows, a frame or an array with its columns in domain order; values may lie outside the domain.
        y: their labels.
        domain: what an input may be, and which parameters are sensitive.
        cases: discriminatory inputs to add (rows, or what `search` found); None searches for as many as are needed.
        labels: what added inputs are labelled: "vote" (the majority of a committee), "mean" (the model's own output
            averaged over the twins), "given" (a column of `cases` named as y, or "label"; one label a family), or a
            function of a frame.
        committee: the classifiers that vote, fitted or not; by default five kinds that the model is not.
        augment: "case" (as the paper; the sensitive value is redrawn), "twins" (a case with all its twins, one label),
            "flip" (training rows with their twins), or several joined by "+": then the paper's schedule of amounts is
            followed, until a round is rejected. "auto", or a list of these, searches over them and the amounts.
        trainer: ``trainer(X, y, sample_weight=None)`` returns a fitted model; instead of cloning.
        held_out: rows and labels that the model has not seen, half to choose by and half to report on. Without them 15%
            of X each are kept for that, and the model before is a clone fitted on the other 70%; if no round is
            accepted, the figures are those of the model given, on rows it was fitted to.
        sample_weight: weights of the training rows; what is added weighs as much as the mean of them.
        accept: "shown": a share must be shown to be lower and none higher, within the loss of accuracy allowed; or
            "paper": the estimated share of the domain must be lower, whatever else changes.
        max_accuracy_loss: how much accuracy may be lost, as 0.01 for one point.
        prove_accuracy: whether the whole paired interval of the loss must lie within the limit, not the estimate alone.
        max_rounds: rounds at most; the error of acceptance is split over them.
        max_seconds: no round is begun that would make it all take longer, report and controls included; but a first
            one is tried if it fits into two thirds of it. None for no limit: then nothing depends on time but
            `search_seconds`.
        search_seconds: time for searching for cases, in all.
        strategy: the search's.
        n_select: inputs of the domain that models are chosen by; 50,000 by default, fewer only as far as `max_seconds`
            needs it.
        n_report: inputs of the domain that the figures come from; 100,000 by default, fewer only as far as
            `max_seconds` needs it: the report is to take a third of it at most.
        confidence: of the intervals.
        threshold: as in `estimate`.
        output: as in `estimate`: what is compared over twins. Labels are what is learnt.
        favourable: the label whose rate is told by sensitive value; by default the last one.
        controls: whether other ways to train are tried beside: they take some more fits.
        seed: the same seed and settings give the same result, time limits aside.
        batch: "array" or "frame" to say what the model eats.
        progress: True for lines on the standard error, or a callable that takes a `Status`.

    Returns:
        The model and the evidence. If the trainer fails in a later round, what the earlier ones came to.
    """
    loop = prepare(**locals())
    result = loop.run()
    for name, message in result.health:
        warnings.warn(f"{name}: {message}", HealthWarning, stacklevel=2)
    return result


def prepare(
    model: Model,
    X: Any,
    y: Any,
    domain: Domain,
    *,
    cases: Any,
    labels: Any,
    committee: Sequence[Any] | None,
    trainer: Train | None,
    held_out: Any,
    sample_weight: Any,
    favourable: Any,
    controls: bool,
    seed: int | None,
    progress: bool | Progress,
    **others: Any,
) -> Loop:
    """What `retrain` runs: all its arguments made sure of, the rows split, nothing fitted or asked yet."""
    checked_domain(domain)
    settings = Settings.of({"labels": labels, **others})
    check_labels(labels, committee, cases)
    rows = checked_rows(domain, X, y, sample_weight)
    classes = classes_of(rows)
    check_committee(committee, classes)
    _check_model(model, classes)
    codes = None if cases is None else checked_cases(domain, cases)
    given_labels = _given_labels(cases, y) if labels == "given" else None
    if codes is not None and given_labels is not None:
        check_given(domain, codes, given_labels)
    unseen = None if held_out is None else checked_rows(domain, *_pair(held_out), what="held_out")
    if unseen is not None:
        check_known(unseen, classes)
    seed = checked_seed(seed)
    seeds = np.random.SeedSequence(seed)
    materials = Materials(
        model=model,
        is_fitted=is_fitted(model),
        domain=domain,
        trainer=Trainer(model, trainer, as_frame=hasattr(X, "columns"), domain=domain),
        parts=split(domain, rows, unseen, np.random.default_rng(seeds.spawn(1)[0])),
        cases=codes,
        case_labels=given_labels,
        committee=committee,
        classes=classes,
        favourable=checked_favourable(favourable, classes),
        seed=seed,
        seeds=seeds,
    )
    return Loop(materials, settings, teller(progress), with_controls=controls)


def _check_model(model: Any, classes: Any) -> None:
    known = getattr(model, "classes_", None)
    if known is None:
        return
    unknown = [label for label in classes.tolist() if label not in np.asarray(known).tolist()]
    if unknown:
        names = ", ".join(map(repr, np.asarray(known).tolist()))
        raise DataError.about("y", f"must have labels that the model was fitted to, {names}; got {unknown[0]!r}")


def _pair(held_out: Any) -> tuple[Any, Any]:
    if not isinstance(held_out, (tuple, list)) or len(held_out) != 2:
        raise SettingError.about("held_out", f"must be a pair (X, y), got {type(held_out).__name__}")
    return held_out[0], held_out[1]


def _given_labels(cases: Any, y: Any) -> Any:
    """The labels that stand beside the cases."""
    names = [name for name in (getattr(y, "name", None), "label") if name is not None]
    columns = getattr(cases, "columns", ())
    column = next((name for name in names if name in columns), None)
    if column is None:
        raise DataError(f"labels='given' needs cases with a column {' or '.join(map(repr, names))}, got none")
    return np.asarray(cases[column])
