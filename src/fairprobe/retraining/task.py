"""The task: what is retrained and how, with all arguments of `retrain` checked and the rows split."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from fairprobe.checks import checked_count, checked_seed, is_number
from fairprobe.domain.domain import checked_domain
from fairprobe.engine import checked_engine, checked_jobs
from fairprobe.errors import SettingError
from fairprobe.estimation.bounds.intervals import checked_confidence
from fairprobe.estimation.favourable import favourable_label
from fairprobe.frames import is_array
from fairprobe.oracle import checked_threshold
from fairprobe.progress import Status, teller
from fairprobe.retraining.cases import checked_cases, given_labels
from fairprobe.retraining.fitting import Fitter, is_fitted
from fairprobe.retraining.labels import check_choice, check_committee
from fairprobe.retraining.parts import check_labels, checked_held_out, checked_rows, classes_of, groups_of, split
from fairprobe.retraining.recipes import LONGEST, checked_augment
from fairprobe.retraining.time_budget import TimeBudget
from fairprobe.searching.registry import strategy_path

ACCEPT: Final = ("shown", "paper")

N_CONTROLS = 3
"""Controls that take a fit; there is one more in a domain with links."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Arguments of `retrain` that are not data, each described there."""

    accept: str
    prove_accuracy: bool
    max_rounds: int
    search_seconds: float | None
    strategy: str
    n_select: int | None
    n_report: int | None
    confidence: float
    threshold: float | None
    output: str
    batch: str | None
    controls: bool
    labels: str | Callable[[Any], Any]
    augment: str | Sequence[str]
    max_accuracy_loss: float
    max_seconds: float | None

    @classmethod
    def among(cls, arguments: Mapping[str, Any]) -> Settings:
        """The settings among the arguments of `retrain`."""
        return cls(**{name: arguments[name] for name in cls.__dataclass_fields__})

    def __post_init__(self) -> None:
        checked_augment(self.augment)
        strategy_path(self.strategy)
        if self.accept not in ACCEPT:
            raise SettingError.about("accept", f"must be one of {', '.join(ACCEPT)}, got {self.accept!r}")
        checked_confidence(self.confidence)
        checked_threshold(self.threshold, self.output)
        checked_count("max_rounds", self.max_rounds)
        for name in ("n_select", "n_report"):
            if getattr(self, name) is not None:
                checked_count(name, getattr(self, name))
        for name in ("search_seconds", "max_seconds"):
            seconds = getattr(self, name)
            if seconds is not None and not (is_number(seconds) and seconds > 0):
                raise SettingError.about(name, f"must be a number above 0, got {seconds!r}")
        if not (is_number(self.max_accuracy_loss) and 0 <= self.max_accuracy_loss <= 1):
            rule = f"must lie between 0 and 1, as 0.01 for one point, got {self.max_accuracy_loss!r}"
            raise SettingError.about("max_accuracy_loss", rule)

    @property
    def is_search(self) -> bool:
        """Whether augmentations and amounts are searched over; otherwise the paper's schedule is followed."""
        return self.augment == "auto" or not isinstance(self.augment, str)

    @property
    def most_rounds(self) -> int:
        """The most rounds there can be: the paper's schedule has an end of its own."""
        return self.max_rounds if self.is_search else min(self.max_rounds, LONGEST)

    def round_confidence(self, n_populations: int) -> float:
        """The confidence of one interval of a round. The error is split, so that all intervals hold together."""
        return 1 - (1 - self.confidence) / (self.max_rounds * n_populations)


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


class Task:
    """A model, its rows and the settings of its retraining, all checked. No model is fitted or asked yet."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        """Take all arguments of `retrain` by name."""
        self.settings = settings = Settings.among(arguments)
        self.model, self.committee, held_out = (arguments[name] for name in ("model", "committee", "held_out"))
        domain = checked_domain(arguments["domain"])
        self.augmentations = checked_augment(settings.augment, domain)
        self.linked = domain if domain.links else None
        """The domain with its links, if it has some."""
        self.domain = domain = domain.without_links() if domain.links else domain
        """Without its links: cases, twins and flipped rows have plain twins."""
        check_choice(settings.labels, self.committee)
        self.workers = checked_jobs(arguments["n_jobs"]), arguments["engine"]
        """The processes and the engine that fit a committee."""
        checked_engine(self.workers[1], self.workers[0])
        self.seed = checked_seed(arguments["seed"])
        self.seeds = Seeds(*np.random.SeedSequence(self.seed).spawn(len(Seeds._fields)))
        own_groups, unseen_groups = groups_of(arguments["groups"], held_out)
        rows = checked_rows(domain, arguments["X"], arguments["y"], arguments["sample_weight"], own_groups)
        self.classes = classes = classes_of(rows)
        known = getattr(self.model, "classes_", None)
        if known is not None:
            check_labels("y", "must have labels that the model was fitted to", classes.tolist(), np.asarray(known))
        check_committee(self.committee, classes)
        self._take_cases(arguments["cases"], arguments["y"])
        unseen = None if held_out is None else checked_held_out(domain, held_out, classes, unseen_groups)
        as_frame, is_weighted = not is_array(arguments["X"]), rows.weights is not None
        self.fitter = Fitter(self.model, arguments["trainer"], domain, as_frame=as_frame, is_weighted=is_weighted)
        self.parts = split(domain, rows, unseen, np.random.default_rng(self.seeds.split))
        favourable = arguments["favourable"]
        self.favourable = classes.tolist()[-1] if favourable is None else favourable_label(favourable, classes.tolist())
        self.is_fitted = is_fitted(self.model)
        """Whether the model given can be asked as it is."""
        self.refits = held_out is None or not self.is_fitted
        """Whether rounds are compared with a clone: the model given is not fitted, or has seen the rows to judge by."""
        self.n_controls = N_CONTROLS + (self.linked is not None) if settings.controls else 0
        """Controls that take a fit."""
        self.budget = TimeBudget(settings.max_seconds, self.n_controls, self.fitter)
        self._progress = teller(arguments["progress"])

    def tell(self, text: str, **figures: Any) -> None:
        """Tell the caller what begins, or with figures what is over."""
        if self._progress is not None:
            self._progress(Status(text, figures, is_over=bool(figures)))

    def _take_cases(self, cases: Any, y: Any) -> None:
        """Check the cases given, and their labels if these are given too; both are None if cases are searched for."""
        is_given = self.settings.labels == "given"
        if is_given and cases is None:
            raise SettingError("labels='given' needs cases with a column of labels, got no cases")
        self.cases = codes = None if cases is None else checked_cases(self.domain, cases)
        self.case_labels = given_labels(self.domain, cases, codes, y) if is_given and codes is not None else None
