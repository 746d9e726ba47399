"""Judging: the shares and the accuracy of models on the same inputs and rows, so that any two compare in pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
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
from fairprobe.retraining.parts import LabelledRows
from fairprobe.standins import quick_asker
from fairprobe.wording import POPULATIONS

if TYPE_CHECKING:
    import pandas as pd

    from fairprobe.retraining.task import Settings


JUDGED: Final = {**POPULATIONS, "linked": "the rows, with what is linked to them changed along"}
"""By population that a retraining is judged on, its name. Twins are plain where the name says nothing else."""


@dataclass(frozen=True)
class Loss:
    """The accuracy that is lost from one model to another, on the same rows."""

    value: float
    low: float
    high: float
    """The paired interval of the loss."""
    n: int
    confidence: float


@dataclass(frozen=True)
class Assessment:
    """One model on one part: its share of each population, and its labels of the part's rows."""

    shares: dict[str, Share]
    hits: dict[str, Mask]
    """By population, a mask of the discriminatory inputs."""
    labels: NDArray[Any]
    truth: NDArray[Any]

    @cached_property
    def correct(self) -> Mask:
        """Mask of the rows with the right label."""
        return np.asarray(self.labels == self.truth)

    @property
    def accuracy(self) -> float:
        """The fraction of the rows with the right label."""
        return float(self.correct.mean())

    def against(self, other: Assessment, confidence: float) -> dict[str, Comparison]:
        """The shares compared with those of another model; differences are positive where the other share is lower."""
        return {
            name: paired(share, other.shares[name], self.hits[name], other.hits[name], confidence)
            for name, share in self.shares.items()
        }

    def loss_to(self, new: Assessment, confidence: float) -> Loss:
        """The accuracy lost if the new model takes the place of this one."""
        only_old, only_new = int((self.correct & ~new.correct).sum()), int((new.correct & ~self.correct).sum())
        n = len(self.truth)
        low, high = paired_difference(only_old, only_new, n, confidence)
        return Loss((only_old - only_new) / n, low, high, n, confidence)


@dataclass(frozen=True)
class Judge:
    """Judges models on one part: on fresh inputs of the domain and on the rows of the part."""

    domain: Domain
    rows: LabelledRows
    n: int
    """Inputs of the domain."""
    seed: int
    settings: Settings
    quick: bool = False
    """True if a stand-in may answer for the model."""
    linked: Domain | None = None
    """The domain with its links, if it has some, to judge the rows a second time. `domain` has no links."""

    def judge(self, model: Any) -> Assessment:
        """Judge a model on the inputs, then on the rows."""
        uniform = ("domain", "valid") if self.domain.constraints else ("domain",)
        judged = {name: self._share(model, self.domain, name) for name in uniform}
        judged["rows"] = self._share(model, self.domain, self.rows.frame)
        if self.linked is not None:
            judged["linked"] = self._share(model, self.linked, self.rows.frame)
        shares = {name: share for name, (share, _) in judged.items()}
        hits = {name: mask for name, (_, mask) in judged.items()}
        return Assessment(shares, hits, self.labels(model, self.rows), self.rows.labels)

    def labels(self, model: Any, rows: LabelledRows) -> NDArray[Any]:
        """The model's labels of rows, whichever output is compared over twins."""
        return Asker(model, self.domain, batch=self.settings.batch).ask_frame(rows.frame)

    def _share(self, model: Any, domain: Domain, population: Any) -> tuple[Share, Mask]:
        target = target_of(model, domain, self.settings, population, quick=self.quick)
        survey = Survey(target, [domain.sensitive], self.settings.confidence, self.seed)
        with target.quiet():
            hits = [survey.add(batch)[0] for batch in target.families(self.n, self.seed)]
        return survey.shares()[0], np.concatenate(hits)


def target_of(
    model: Any, domain: Domain, settings: Settings, population: Any = "domain", *, quick: bool = False
) -> Population:
    """A population and the model that judges it; if `quick`, a stand-in answers for the model where it has one."""
    target = Population(model, domain, population, settings.threshold, settings.output, settings.batch)
    if quick:
        target.oracle.asker = quick_asker(model, target.oracle.asker)
    return target


def by_group(domain: Domain, rows: LabelledRows, judged: dict[str, Assessment], favourable: Any) -> pd.DataFrame:
    """Accuracy and rate of the favourable label for each model, with a row for each group of sensitive values."""
    import pandas as pd

    figures: dict[str, Any] = {"n": np.ones(len(rows))}
    for when, model in judged.items():
        figures |= {f"accuracy_{when}": model.correct, f"selected_{when}": model.labels == favourable}
    own = np.column_stack([domain[name].encode(rows.frame[name]) for name in domain.sensitive])
    # Rows whose sensitive values are not compared belong to no group.
    is_of = (own[:, None] == domain.combinations).all(axis=2)
    table = pd.DataFrame(figures)[is_of.any(axis=1)].groupby(is_of.argmax(axis=1)[is_of.any(axis=1)])
    groups = table.mean().assign(n=table.size())
    return groups.rename(index=lambda place: combination_words(domain, place)).rename_axis("group")
