"""Judging: shares and accuracies of models on the same inputs and rows, so that any two can be compared in pairs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Mask
from fairprobe.domain.domain import Domain
from fairprobe.estimation.bounds.differences import paired_difference
from fairprobe.estimation.compare import Comparison, paired
from fairprobe.estimation.counts import combination_words
from fairprobe.estimation.populations import Population
from fairprobe.estimation.share import Share
from fairprobe.estimation.survey import Survey
from fairprobe.model.asking import Asker
from fairprobe.model.measuring import seconds_per_input
from fairprobe.retraining.parts import LabelledRows
from fairprobe.standins import quick_asker
from fairprobe.wording import POPULATIONS

if TYPE_CHECKING:
    import pandas as pd

    from fairprobe.retraining.retraining import RetrainSettings, Task


JUDGED: Final = {**POPULATIONS, "linked": "the rows, with what is linked to them changed along"}
"""Words for each population that a retraining is judged on, by its key. Twins are plain unless the words say more."""

USUAL: Final = {"select": 50_000, "report": 100_000}
"""Number of judged inputs of the domain, by part: "select" (to choose models) and "report" (for the figures).

Chosen; a limit of time reduces them."""

_FEWEST: Final = 3000
"""Smallest number of inputs of the domain to which a limit of time reduces those of a part; chosen."""

_PART: Final = 1 / 3
"""Largest fraction of `max_seconds` for judging all rounds, and also for judging the report; chosen."""

_ROUNDS: Final = 12
"""Largest number of rounds among which the time for judging is divided in advance; chosen."""

_SLOWER: Final = 1.4
"""Assumed ratio of a new model's seconds for a judgement to those of the timed model; chosen: more rows slow it."""

_TIMED: Final = 30_000
"""Largest number of inputs that a model judges in order to be timed; chosen."""


@dataclass(frozen=True)
class Loss:
    """The accuracy of one model less that of another on the same rows, as a fraction, with its interval."""

    value: float
    low: float
    high: float
    """Upper end of the paired interval of the loss; `low` is the lower end."""
    n: int
    confidence: float


@dataclass(frozen=True)
class Assessment:
    """The figures of one model on one part of the rows: its shares by population, and its labels of the rows."""

    shares: dict[str, Share]
    hits: dict[str, Mask]
    """By population, a boolean mask over its comparable inputs: True for discriminatory ones."""
    labels: NDArray[Any]
    truth: NDArray[Any]

    def on_fitted_rows(self) -> Assessment:
        """Return the figures with the shares of rows as counts without an interval: a model was fitted to the rows."""
        none: dict[str, Any] = dict.fromkeys(("low", "high", "lower", "upper"), math.nan)
        rows = {name: share for name, share in self.shares.items() if share.population == "rows"}
        known = {name: replace(share, rows_are="training", **none) for name, share in rows.items()}
        return replace(self, shares=self.shares | known)

    @cached_property
    def correct(self) -> Mask:
        """Boolean mask of the rows whose label the model predicts right."""
        return np.asarray(self.labels == self.truth)

    @property
    def accuracy(self) -> float:
        """The fraction of the rows whose label the model predicts right."""
        return float(self.correct.mean())

    def against(self, other: Assessment, confidence: float) -> dict[str, Comparison]:
        """Return, by population, the comparison of this model's share with that of another on the same inputs.

        A positive difference means that the other model's share is lower.
        """
        return {
            name: paired(share, other.shares[name], self.hits[name], other.hits[name], confidence)
            for name, share in self.shares.items()
        }

    def loss_to(self, new: Assessment, confidence: float) -> Loss:
        """Return the accuracy lost if the new model replaces this one, with its interval at `confidence`."""
        only_old, only_new = int((self.correct & ~new.correct).sum()), int((new.correct & ~self.correct).sum())
        n = len(self.truth)
        low, high = paired_difference(only_old, only_new, n, confidence)
        return Loss((only_old - only_new) / n, low, high, n, confidence)


def assessed(
    model: Any, domain: Domain, rows: LabelledRows, n: int, seed: int, settings: RetrainSettings, *, quick: bool = False
) -> Assessment:
    """Return the shares, hits and labels of a model on `n` inputs of a domain and on the rows of a part.

    If the domain has links, the rows are judged a second time, with linked twins; everything else has plain twins. If
    `quick`, a stand-in answers for the model where it has one; the labels are the model's own.
    """
    populations: dict[str, tuple[Domain, Any]] = {"domain": (rows.domain, "domain")}
    populations |= {"valid": (rows.domain, "valid")} if domain.constraints else {}
    populations["rows"] = rows.domain, rows.frame
    populations |= {"linked": (domain, rows.frame)} if domain.links else {}
    shares, hits = {}, {}
    for name, (judged_in, population) in populations.items():
        target = target_of(model, judged_in, settings, population, quick=quick)
        survey = Survey(target, [domain.sensitive], settings.confidence, seed)
        with target.quiet():
            hits[name] = np.concatenate([survey.add(batch)[0] for batch in target.families(n, seed)])
        shares[name] = survey.shares()[0]
    return Assessment(shares, hits, labels_of(model, rows, settings), rows.labels)


def judge_of(task: Task, part: str, n: int) -> Callable[[Any], Assessment]:
    """Return a function that takes a model and returns its figures on a part of the rows, "select" or "report".

    On the select part, a stand-in may answer for the model.
    """
    rows, is_quick = getattr(task.parts, part), part == "select"
    return partial(
        assessed, domain=task.linked, rows=rows, n=n, seed=task.seed_of(part), settings=task.settings, quick=is_quick
    )


def labels_of(model: Any, rows: LabelledRows, settings: RetrainSettings) -> NDArray[Any]:
    """Return the labels that a model predicts for rows, in any case, even if scores or probabilities are compared."""
    return Asker(model, rows.domain, batch=settings.batch).ask_frame(rows.frame)


def target_of(
    model: Any, domain: Domain, settings: RetrainSettings, population: Any = "domain", *, quick: bool = False
) -> Population:
    """Return a population (drawn inputs or rows) that a model judges; if `quick`, by its stand-in if there is one."""
    target = Population(model, domain, population, settings.threshold, settings.output, settings.batch)
    if quick:
        target.oracle.asker = quick_asker(model, target.oracle.asker)
    return target


def by_group(rows: LabelledRows, judged: dict[str, Assessment], favourable: Any) -> pd.DataFrame:
    """Return a table by group of sensitive values: number of rows, and each model's accuracy and favourable rate.

    `judged` holds the models' figures by name; the columns are n, accuracy_<name> and selected_<name>.
    """
    import pandas as pd

    figures: dict[str, Any] = {"n": np.ones(len(rows))}
    for when, model in judged.items():
        figures |= {f"accuracy_{when}": model.correct, f"selected_{when}": model.labels == favourable}
    table = pd.DataFrame(figures).groupby(rows.domain.families.place_of(rows.own))
    # Rows whose sensitive values are not compared belong to no group.
    groups = table.mean().assign(n=table.size()).drop(index=-1, errors="ignore")
    return groups.rename(index=lambda place: combination_words(rows.domain, place)).rename_axis("group")


# Within the time


def asked_inputs(settings: RetrainSettings) -> dict[str, int]:
    """Return the number of inputs of the domain to judge by part, "select" and "report", without a limit of time."""
    return {part: getattr(settings, f"n_{part}") or usual for part, usual in USUAL.items()}


def inputs_to_judge(task: Task, model: Any) -> tuple[dict[str, int], float]:
    """Return the number of inputs of the domain to judge by part, and the seconds of judging all models for the report.

    Numbers that the user did not set are reduced so that judging fits into `max_seconds`; without that limit, nothing
    is timed, and the seconds are 0. Rounds may be judged by a stand-in, the report by the model.
    """
    settings, n = task.settings, asked_inputs(task.settings)
    if settings.max_seconds is None:
        return n, 0.0
    times = {"select": 1.0 + min(settings.max_rounds, _ROUNDS), "report": _SLOWER * (2 + task.n_controls)}
    own = _speed(task, model, quick=False)
    # Rows are judged once with plain twins, and once more with linked twins if there are links.
    rows = {part: (2 if task.linked.links else 1) * size * own for part, size in task.parts.sizes.items()}
    for part, speed in {"select": _speed(task, model, quick=True), "report": own}.items():
        if getattr(settings, f"n_{part}") is None:
            n[part] = affordable(n[part], speed, _PART * settings.max_seconds / times[part] - rows[part])
    return n, times["report"] * (n["report"] * own + rows["report"])


def _speed(task: Task, model: Any, *, quick: bool) -> float:
    """Measure and return the seconds that a model, or its stand-in if `quick`, takes to judge one input."""
    target = target_of(model, task.domain, task.settings, quick=quick)
    return seconds_per_input(lambda n: list(target.families(n, 0)), _TIMED)


def affordable(n: int, per_input: float, seconds: float) -> int:
    """Return the number of inputs to judge: `n`, or fewer if judging them would take more than `seconds`.

    Fewer inputs are rounded down to one digit, but are at least 3,000. `per_input` is the seconds of one input.

    >>> affordable(50_000, 0.001, 50.0), affordable(50_000, 0.001, 49.0), affordable(50_000, 1.0, 9.0)
    (50000, 40000, 3000)
    """
    seconds = max(seconds, 0.0)
    if n * per_input <= seconds:
        return n
    can = int(seconds / per_input)
    digit = 10 ** (len(str(can)) - 1)
    return min(n, max(_FEWEST, can // digit * digit))
