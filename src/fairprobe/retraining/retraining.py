"""`retrain`, and its dry run: rounds of adding to the training rows and fitting anew."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fairprobe.arguments import Column, Outcome
from fairprobe.checks import nearest
from fairprobe.domain.domain import Domain
from fairprobe.errors import HealthWarning, ModelError, SettingError
from fairprobe.model import Model
from fairprobe.model.measuring import measured
from fairprobe.progress import Progress
from fairprobe.retraining.augment import first_tries
from fairprobe.retraining.clock import Clock, Speed, how_many
from fairprobe.retraining.labels import other_kinds
from fairprobe.retraining.loop import Loop
from fairprobe.retraining.parts import LabelledRows
from fairprobe.retraining.retrain_settings import AllSettings, RetrainSettings
from fairprobe.retraining.retrained import Retrained
from fairprobe.retraining.trainer import Train, Trainer

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
    max_accuracy_loss: float = 0.01,
    max_seconds: float | None = 480.0,
    favourable: Outcome | None = None,
    seed: int | None = 0,
    n_jobs: int = 1,
    engine: str | None = None,
    progress: bool | Progress = False,
    settings: RetrainSettings | None = None,
    **others: Any,
) -> Retrained:
    """Retrain a classifier with discriminatory inputs until they are rarer. The model given is never changed.

    The rows are split: models are fitted on one part, chosen by another and reported on a third, each judged with
    fresh inputs of the domain. Rows are told apart by their content: those that are equal in all but the sensitive
    columns stay in one part. A round is accepted if a share is shown to be lower, none is shown to be higher, and
    no more accuracy is lost than allowed. If no round is, the model given comes back.

    In a domain with links, the rows are judged twice: "rows" with twins that differ in the sensitive parameters alone,
    as inputs of the domain are, and "linked" with what is linked changed along.

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
            "flip" (training rows with their twins), "linked" (training rows with their linked twins, in a domain with
            links), or several joined by "+": then the paper's schedule of amounts is followed, until a round is
            rejected. "auto", or a list of these, searches over them and the amounts.
        trainer: ``trainer(X, y, sample_weight=None)`` returns a fitted model; instead of cloning.
        held_out: rows and labels that the model has not seen, half to choose by and half to report on. Without them 15%
            of X each are kept for that, and the model before is a clone fitted on the other 70%; if no round is
            accepted, the figures are those of the model given, on rows it was fitted to. Where rows held out equal
            rows of X in inputs and label, and more often than by chance, so are all figures: the remark `rows-overlap`
            counts them.
        sample_weight: weights of the training rows; what is added weighs as much as the mean of them.
        groups: whose each row is, where several are of one person: rows of one group stay in one part. With
            `held_out` a pair, of X and of the rows held out.
        max_accuracy_loss: how much accuracy may be lost, as 0.01 for one point.
        max_seconds: no round is begun that would make it all take longer, report and controls included; but a first
            one is tried if it fits into two thirds of it. None for no limit: then nothing depends on time but
            `search_seconds`.
        favourable: the label whose rate is told by sensitive value; by default the last one.
        seed: the same seed and settings give the same result, time limits aside.
        n_jobs: processes that fit the members of the committee; -1 is one for each core.
        engine: who fits them, as for `search`: "local", "processes", "dask" or "dask://host:port".
        progress: True for lines on the standard error, or a callable that takes a `Status`.
        settings: what few people change, as a `RetrainSettings`; None for the defaults.
        others: the fields of `RetrainSettings`, each by its name; they override those of `settings`.

    The fields of `RetrainSettings`:
        accept ("shown"): "shown": a share must be shown to be lower and none higher; or "paper": the estimated share of
            the domain must be lower, whatever other shares do. Either keeps within the loss of accuracy allowed; the
            paper itself has no such limit, which is `max_accuracy_loss=1`.
        prove_accuracy (False): whether the whole paired interval of the loss must lie within the limit, not the
            estimate alone.
        max_rounds (12): rounds at most; the error of acceptance is split over them.
        search_seconds (60): time for searching for cases, in all; None for no limit.
        strategy ("fully-directed"): the search's.
        n_select (None): inputs of the domain that models are chosen by; 50,000 by default, fewer only as far as
            `max_seconds` needs it.
        n_report (None): inputs of the domain that the figures come from; 100,000 by default, fewer only as far as
            `max_seconds` needs it: the report is to take a third of it at most.
        confidence (0.95): of the intervals.
        threshold (None): as in `estimate`.
        output ("label"): as in `estimate`: what is compared over twins. Labels are what is learnt.
        batch (None): "array" or "frame" to say what the model eats.
        controls (True): whether other ways to train are tried beside: they take some more fits.

    Returns:
        The model and the evidence. If the trainer fails in a later round, what the earlier ones came to.
    """
    result = prepare(**locals()).run()
    for name, message in result.health:
        warnings.warn(f"{name}: {message}", HealthWarning, stacklevel=2)
    return result


def prepare(settings: RetrainSettings | None, others: Mapping[str, Any], **arguments: Any) -> Loop:
    """What `retrain` runs: all its arguments made sure of, the rows split, nothing fitted or asked yet."""
    also_settings = {name: arguments.pop(name) for name in AllSettings.__annotations__}
    return Loop(AllSettings(**vars(_with_others(settings, others)), **also_settings), **arguments)


def _with_others(settings: RetrainSettings | None, others: Mapping[str, Any]) -> RetrainSettings:
    """The settings given, or the defaults, with what is named apart in its place."""
    if settings is not None and not isinstance(settings, RetrainSettings):
        raise SettingError.about("settings", f"must be a RetrainSettings, got {settings!r:.80}")
    known = RetrainSettings.__dataclass_fields__
    for name in others:
        if name not in known:
            near = nearest(name, (*known, *(retrain.__kwdefaults__ or ())))
            raise TypeError(f"retrain() got an unexpected keyword argument {name!r}{near}")
    return replace(settings or RetrainSettings(), **others)


# The dry run

_FEWEST: Final = 200
"""Fits are timed on so few rows first."""


@dataclass(frozen=True)
class RetrainPlan:
    """What is settled before the first round, and a guess of the seconds of each step."""

    settings: AllSettings
    seed: int
    refits: bool
    """Whether the model to compare with is a clone of the one given."""
    n_rows: dict[str, int]
    """Of each part."""
    n_select: int
    n_report: int
    """Inputs of the domain to choose by and to report on."""
    n_cases: int | None
    """Given; None if they are searched for."""
    n_rounds: int
    """At most."""
    n_controls: int
    augmentations: tuple[str, ...]
    """What is tried."""
    n_timed: int
    """Rows of the largest fit that the guess comes from."""
    seconds: dict[str, float]
    """Of what comes before the first round (prepare), of a round in the middle but for the search for cases (round),
    of the report with the controls (report), and of all (total)."""

    def summary(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        settings = asdict(self.settings)
        how = {name: settings.pop(name) for name in ("threshold", "output", "batch", "confidence")}
        return {**asdict(self), "settings": {**settings, "how": how}}


def plan(model: Any, X: Any, y: Any, domain: Domain, **arguments: Any) -> RetrainPlan:
    """What `retrain` would do with the same arguments, all of them given; fits a little, for some seconds at most."""
    others = {name: arguments.pop(name) for name in RetrainSettings.__dataclass_fields__ if name in arguments}
    loop = prepare(model=model, X=X, y=y, domain=domain, others=others, **arguments)
    settings, parts, n_fit = loop.settings, loop.parts, len(loop.parts.fit)
    n_timed, fitted = _timed(loop.fit, parts.fit)
    voting = Clock(None)
    if settings.labels == "vote" and loop.committee is None:
        _time_committee(loop, voting)
    # To choose, a stand-in may be asked; the report is the model's own.
    speed = Speed.measure(fitted if loop.refits else model, loop.domain, settings)
    n_select, n_report = how_many(settings, parts, loop.n_controls, speed, loop.n_sides)
    growth = np.mean([recipe.growth(len(domain.combinations)) for recipe in first_tries(loop.augmentations)])
    fit = loop.clock.foreseen(round(n_fit * float(growth)))
    judgement = speed.slow * (n_report + loop.n_sides * len(parts.report))
    before = loop.clock.foreseen(n_fit) * loop.refits + voting.foreseen(n_fit)
    a_round = fit + speed.quick * (n_select + loop.n_sides * len(parts.select))
    ending = (2 + loop.n_controls) * judgement + loop.n_controls * fit
    total = before + settings.most_rounds * a_round + ending
    return RetrainPlan(
        settings=settings,
        seed=loop.seed,
        refits=loop.refits,
        n_rows=parts.sizes,
        n_select=n_select,
        n_report=n_report,
        n_cases=None if loop.cases is None else len(loop.cases),
        n_rounds=settings.most_rounds,
        n_controls=loop.n_controls,
        augmentations=tuple("+".join(parts) for parts in loop.augmentations),
        n_timed=n_timed,
        seconds={"prepare": before, "round": a_round, "report": ending, "total": total},
    )


def _timed(fit: Callable[[LabelledRows], Any], rows: LabelledRows) -> tuple[int, Any]:
    """Fit to growing numbers of rows, for about a second; how many the last model was fitted to, and that model."""
    # In a random order, but one row of each label first: no classifier is fitted to one alone.
    order = np.random.default_rng(0).permutation(len(rows))
    firsts = np.unique(rows.labels[order], return_index=True)[1]
    order = np.concatenate([order[firsts], np.delete(order, firsts)])
    made: list[tuple[int, Any]] = []

    def judge(n: int) -> int:
        made.append((n, fit(rows.take(order[:n]))))
        return 0

    measured(judge, len(rows), first=_FEWEST)
    return made[-1]


def _time_committee(loop: Loop, clock: Clock) -> None:
    def fit(rows: LabelledRows) -> None:
        begun = clock.now()
        for member in other_kinds(loop.domain, loop.model, len(rows), 0):
            Trainer(member, None, loop.domain, as_frame=True).fit(rows.frame, rows.labels)
        clock.fitted(len(rows), clock.now() - begun)

    try:
        _timed(fit, loop.parts.fit)
    except ModelError as error:
        raise ModelError(f"the committee must vote on labels: {error}") from error
