"""The task: what is retrained and how, with all arguments of `retrain` checked and the rows split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes
from fairprobe.checks import checked_seed
from fairprobe.domain.domain import Domain, checked_domain
from fairprobe.engine import checked_engine, checked_jobs
from fairprobe.errors import DataError, SettingError
from fairprobe.estimation.favourable import favourable_label
from fairprobe.frames import is_array
from fairprobe.progress import Progress, Status, teller
from fairprobe.retraining.cases import checked_cases, given_labels
from fairprobe.retraining.fitting import Fitter, is_fitted
from fairprobe.retraining.labels import check_choice, check_committee
from fairprobe.retraining.parts import (
    Parts,
    checked_held_out,
    checked_rows,
    classes_of,
    groups_of,
    split,
    unknown_label,
)
from fairprobe.retraining.recipes import augmentations_for
from fairprobe.retraining.rounds import Round
from fairprobe.retraining.settings import Settings
from fairprobe.retraining.time_budget import TimeBudget

N_CONTROLS = 3
"""Controls that take a fit; there is one more in a domain with links."""


class Seeds(NamedTuple):
    """An independent stream of random numbers for each use."""

    split: np.random.SeedSequence
    schedule: np.random.SeedSequence
    rounds: np.random.SeedSequence
    hunt: np.random.SeedSequence
    select: np.random.SeedSequence
    report: np.random.SeedSequence
    committee: np.random.SeedSequence


def number(stream: np.random.SeedSequence) -> int:
    """A seed as one number."""
    return int(stream.generate_state(1)[0])


@dataclass(frozen=True)
class Task:
    """A model, its rows and the settings of its retraining."""

    model: Any
    domain: Domain
    """Without its links: cases, twins and flipped rows have plain twins."""
    linked: Domain | None
    """The domain with its links, if it has some."""
    settings: Settings
    augmentations: list[tuple[str, ...]]
    parts: Parts
    classes: NDArray[Any]
    cases: Codes | None
    """The cases given; None if they are searched for."""
    case_labels: NDArray[Any] | None
    """The labels of these cases, if they are given too."""
    committee: Sequence[Any] | None
    workers: tuple[int, str | None]
    """The processes and the engine that fit a committee."""
    favourable: Any
    fitter: Fitter
    is_fitted: bool
    """Whether the model given can be asked as it is."""
    refits: bool
    """Whether rounds are compared with a clone: the model given is not fitted, or has seen the rows to judge by."""
    budget: TimeBudget
    progress: Progress | None
    seed: int
    seeds: Seeds

    @property
    def n_sides(self) -> int:
        """Number of times that rows are judged: with plain twins, and with linked twins if there are links."""
        return 1 if self.linked is None else 2

    @property
    def n_controls(self) -> int:
        """Number of controls that take a fit."""
        return N_CONTROLS + (self.linked is not None) if self.settings.controls else 0

    def tell(self, text: str, done: Round | None = None) -> None:
        """Tell the caller what begins, or the result of a round."""
        if self.progress is not None:
            self.progress(Status(text, {} if done is None else {"round": done}, is_over=done is not None))


def task_of(
    model: Any,
    X: Any,
    y: Any,
    domain: Domain,
    arguments: Mapping[str, Any],
) -> Task:
    """Check the arguments of `retrain` and split the rows. No model is fitted or asked."""
    settings = Settings.among(arguments)
    cases, committee, held_out = arguments["cases"], arguments["committee"], arguments["held_out"]
    sample_weight, favourable, engine = arguments["sample_weight"], arguments["favourable"], arguments["engine"]
    augmentations = augmentations_for(checked_domain(domain), settings.augment)
    linked, domain = (domain, domain.without_links()) if domain.links else (None, domain)
    check_choice(settings.labels, committee)
    n_jobs = checked_jobs(arguments["n_jobs"])
    checked_engine(engine, n_jobs)
    if settings.labels == "given" and cases is None:
        raise SettingError("labels='given' needs cases with a column of labels, got no cases")
    own_groups, unseen_groups = groups_of(arguments["groups"], held_out)
    rows = checked_rows(domain, X, y, sample_weight, own_groups)
    classes = classes_of(rows)
    names = classes.tolist()
    check_committee(committee, classes)
    known = getattr(model, "classes_", None)
    wrong = "" if known is None else unknown_label(names, np.asarray(known).tolist())
    if wrong:
        raise DataError.about("y", f"must have labels that the model was fitted to, {wrong}")
    codes = None if cases is None else checked_cases(domain, cases)
    seed = checked_seed(arguments["seed"])
    seeds = Seeds(*np.random.SeedSequence(seed).spawn(len(Seeds._fields)))
    unseen = None if held_out is None else checked_held_out(domain, held_out, names, unseen_groups)
    is_weighted = sample_weight is not None
    fitter = Fitter(model, arguments["trainer"], domain, as_frame=not is_array(X), is_weighted=is_weighted)
    parts = split(domain, rows, unseen, np.random.default_rng(seeds.split))
    is_given = settings.labels == "given" and codes is not None
    n_controls = N_CONTROLS + (linked is not None) if settings.controls else 0
    return Task(
        model=model,
        domain=domain,
        linked=linked,
        settings=settings,
        augmentations=augmentations,
        parts=parts,
        classes=classes,
        cases=codes,
        case_labels=given_labels(domain, cases, codes, y) if is_given and codes is not None else None,
        committee=committee,
        workers=(n_jobs, engine),
        favourable=names[-1] if favourable is None else favourable_label(favourable, names),
        fitter=fitter,
        is_fitted=is_fitted(model),
        refits=held_out is None or not is_fitted(model),
        budget=TimeBudget(settings.max_seconds, n_controls, fitter),
        progress=teller(arguments["progress"]),
        seed=seed,
        seeds=seeds,
    )
