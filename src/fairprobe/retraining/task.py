"""The task of a retraining: the model, the checked arguments of `retrain`, and the rows, split into parts."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

from fairprobe.checks import check_above_0, checked_choice, checked_count, checked_seed, is_number
from fairprobe.domain.domain import checked_domain
from fairprobe.engine.base import checked_engine, checked_jobs
from fairprobe.errors import SettingError
from fairprobe.estimation.bounds.intervals import checked_confidence
from fairprobe.estimation.favourable import favourable_label
from fairprobe.frames import is_array
from fairprobe.oracle import checked_threshold
from fairprobe.progress import Status, teller
from fairprobe.retraining.augmenting import checked_cases
from fairprobe.retraining.fitting import Fitter, TimeBudget
from fairprobe.retraining.labels import check_choice, check_committee, given_labels
from fairprobe.retraining.parts import check_labels, checked_held_out, checked_rows, classes_of, groups_of, split
from fairprobe.retraining.recipes import checked_augment
from fairprobe.searching.registry import strategy_path

STREAMS: Final = ("split", "schedule", "rounds", "hunt", "select", "report", "committee")
"""Names of the uses of random numbers. Each use has its own stream, spawned from the seed in this order."""


class Settings(SimpleNamespace):
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
        self.settings = its = Settings(**arguments)
        self.model = its.model
        self.linked = domain = checked_domain(its.domain)
        """Domain as the user gave it, with its links (columns that change along with sensitive ones), if any."""
        self.augmentations = checked_augment(its.augment, domain)
        self.domain = domain = domain.without_links() if domain.links else domain
        """Domain without its links. By it, the twins of cases and of flipped rows differ in sensitive columns only."""
        checked_engine(its.engine, checked_jobs(its.n_jobs))
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
        """Return the seed, a number, for one of `STREAMS` that is used once."""
        return int(self.streams[use].generate_state(1)[0])

    def next_stream(self, use: str) -> np.random.SeedSequence:
        """Return a new random stream for one of `STREAMS` that is used repeatedly."""
        return self.streams[use].spawn(1)[0]

    def tell(self, text: str, **figures: Any) -> None:
        """Report progress to the user: a step that begins, or, with figures, one that has ended."""
        if self._progress is not None:
            self._progress(Status(text, figures, is_over=bool(figures)))
