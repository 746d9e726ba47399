"""The settings of an audit, and the state that its phases share: the results so far."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from fairprobe.arguments import filled
from fairprobe.auditing.folder import RunFolder
from fairprobe.auditing.gating import Judged, judged
from fairprobe.auditing.privacy import Mask
from fairprobe.checks import checked_count, checked_fraction, checked_seed, nearest
from fairprobe.domain import Density, Domain
from fairprobe.errors import DataError, HealthWarning, SettingError
from fairprobe.estimation import Proxies, Share
from fairprobe.estimation.bounds.intervals import checked_confidence, checked_share
from fairprobe.estimation.counts import Record, RowAnswers
from fairprobe.estimation.favourable import Favourable
from fairprobe.estimation.share import checked_role
from fairprobe.estimation.verdict import Gate
from fairprobe.explanation import Explanation
from fairprobe.model.asking import Asker
from fairprobe.oracle import checked_threshold
from fairprobe.progress import Progress, Status, teller
from fairprobe.retraining import Retrained
from fairprobe.searching import Found
from fairprobe.store.digests import checked_id
from fairprobe.wording import POPULATIONS

if TYPE_CHECKING:
    import pandas as pd


NOT_IN_CONFIG = (
    *("model", "X", "y", "sensitive", "domain", "seed", "date", "title", "name", "data_name"),
    *("folder", "store", "model_id", "selfcheck", "command", "progress"),
)
"""Arguments outside the configuration, because no figure depends on them or `audit.json` has them elsewhere."""

COUNTS = ("n_experiments", "n_samples", "search_cases", "max_judged", "max_barren", "explain_queries")


class AuditSettings(SimpleNamespace):
    """The arguments of `audit` by name, with its defaults."""

    def __init__(self, **given: Any) -> None:
        from fairprobe.auditing.auditing import audit

        every = filled(audit, given)
        every["rows_are"], every["seed"] = checked_role(every["rows_are"]), checked_seed(every["seed"])
        super().__init__(**every)
        self._check()

    @property
    def config(self) -> dict[str, Any]:
        """Return the arguments that the figures depend on, by name."""
        return {name: each for name, each in vars(self).items() if name not in NOT_IN_CONFIG}

    def but(self, **changes: Any) -> AuditSettings:
        """Return the settings with some of them changed."""
        return AuditSettings(**{**vars(self), **changes})

    def some(self, *names: str) -> dict[str, Any]:
        """Return some of the settings, by name."""
        return {name: getattr(self, name) for name in names}

    def _check(self) -> None:
        checked_id(self.model_id, self.store or self.folder or "")
        checked_confidence(self.confidence)
        checked_share("min_comparable", self.min_comparable)
        for name in COUNTS:
            checked_count(name, getattr(self, name))
        checked_count("report_cases", self.report_cases, at_least=0)
        for name in ("retrain", "show_rows"):
            if not isinstance(getattr(self, name), bool):
                raise SettingError.about(name, f"must be True or False, got {getattr(self, name)!r}")
        for name in ("mask", "populations"):
            if isinstance(getattr(self, name), str):
                raise SettingError.about(name, f"must be a list of names, got the string {getattr(self, name)!r}")
        check_names("populations", self.populations or (), POPULATIONS, "must be some")
        for limit in self.directions.values() if self.limit is None else [self.limit]:
            checked_fraction("max_share", limit, from_zero=True)
        gate = Gate.of(self.gate)
        if self.directions and self.favourable is None:
            rule = "by who is worse off needs the good outcome: say favourable= as well, got none"
            raise SettingError.about("max_share", rule)
        if self.directions and gate.population not in (None, "rows"):
            raise SettingError.about("gate", f"must be about rows where limits are by direction, got {self.gate!r}")
        checked_threshold(self.threshold, self.output)

    @property
    def directions(self) -> dict[str, float]:
        """Limits by combination that is worse off."""
        return dict(self.max_share) if isinstance(self.max_share, Mapping) else {}

    @property
    def limit(self) -> float | None:
        """The limit for all directions together; None without one."""
        return None if isinstance(self.max_share, Mapping) else self.max_share


def check_names(argument: str, names: Iterable[str], known: Iterable[str], rule: str) -> None:
    """Refuse names that are not among the known ones."""
    known = list(known)
    for name in names:
        if name not in known:
            raise SettingError.about(argument, f"{rule} of {', '.join(known)}; got {name!r}{nearest(name, known)}")


Sampled = tuple[str, str, str, int, int]
"""Sampled inputs: the phase, their purpose, their distribution, their number, and the queries."""


@dataclass
class AuditState:
    """An audit in progress."""

    model: Any
    domain: Domain
    rows: pd.DataFrame
    labels: Any
    settings: AuditSettings
    favourable: Favourable | None = None
    """The favourable outcome, which the model is known to give."""
    populations: dict[str, Any] = field(default_factory=dict)
    """The requested populations; the one that the limit binds comes first, because it gives the verdict."""
    selfcheck: Mapping[str, Any] | None = None
    """The result of the selfcheck, here or elsewhere."""
    asker: Asker | None = None
    """Asker that exists before the first row is sent, so that it knows how many rows are sent."""
    identity: dict[str, Any] = field(default_factory=dict)
    """Identity of model, data, settings and versions in `audit.json`, with their digests."""
    folder: RunFolder | None = None
    attempts: list[dict[str, Any]] = field(default_factory=list)
    n_stored: int = 0
    phase: str = ""
    density: Density | None = None
    sets: dict[str, list[Share]] = field(default_factory=dict)
    """Shares by population, then set of sensitive parameters; the last set is all of them together."""
    n_relabelled: int | None = None
    """Number of rows whose label changes, if scores or probabilities are compared; None if not known."""
    impact: list[dict[str, Any]] = field(default_factory=list)
    found: Found | None = None
    why: Explanation | None = None
    proxies: Proxies | None = None
    sensitivity: list[dict[str, Any]] = field(default_factory=list)
    retrained: Retrained | None = None
    sampling: list[Sampled] = field(default_factory=list)
    """Samples other than those of the shares, the search and the explanation."""
    health: list[dict[str, str]] = field(default_factory=list)
    interrupted: str | None = None
    """Phase that was interrupted or that failed."""

    @cached_property
    def progress(self) -> Progress | None:
        """The callable that receives progress; None without one."""
        return teller(self.settings.progress)

    @cached_property
    def mask(self) -> Mask:
        """The replacement of masked values."""
        return Mask(self.settings.mask, self.rows)

    @property
    def main(self) -> dict[str, Share]:
        """The share of all sensitive parameters together, by population."""
        return {name: shares[-1] for name, shares in self.sets.items()}

    @property
    def row_sides(self) -> list[tuple[Share, Record, RowAnswers]]:
        """The shares of the rows by linked and by plain twins, with the records of their hits and answers."""
        sides = self.main["rows"].sides if "rows" in self.main else []
        return [(side, kept, kept.rows) for side in sides if (kept := side.record) and kept.rows]

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.settings.name or type(self.model).__name__

    @property
    def judged(self) -> Judged:
        """The verdict on the shares so far."""
        return judged(self.main, self.settings, self.favourable)

    @property
    def attempt(self) -> dict[str, Any]:
        """Return the line of the audit in the list of attempts."""
        return {
            "model": self.identity["model"]["hash"],
            "data": self.identity["data"]["hash"],
            "config_hash": self.identity["config_hash"],
            "seed": self.settings.seed,
            "date": self.settings.date,
            "outcome": "interrupted" if self.interrupted else str(self.judged.outcome),
        }

    def fit_density(self) -> Density | None:
        """Return the density of the rows, fitted at the first call; None if there are too few rows."""
        if self.density is None and not any(each["check"] == "no-density" for each in self.health):
            try:
                self.density = Density.fit(self.domain, self.rows, seed=self.settings.seed)
            except DataError as error:
                if "density" in (self.settings.populations or ()):
                    raise
                self.remark("no-density", f"{error}", "shares")
        return self.density

    def next_store(self, name: str) -> dict[str, Any]:
        """Return the arguments that store the next run, numbered in a fixed order within a name."""
        self.n_stored += 1
        if self.settings.store is None:
            return {}
        return {"store": Path(self.settings.store, f"{self.n_stored:02d}-{name}"), "model_id": self.settings.model_id}

    # Remarks and progress

    def remark(self, check: str, message: str, phase: str) -> None:
        """Keep a remark for the report, once."""
        told = {"check": check, "message": message, "phase": phase}
        if told not in self.health:
            self.health.append(told)

    def keep_health(self, caught: Sequence[warnings.WarningMessage]) -> None:
        """Keep health checks among warnings as remarks; pass all other warnings on."""
        for warning in caught:
            if issubclass(warning.category, HealthWarning):
                check, _, message = str(warning.message).partition(": ")
                self.remark(check, message, self.phase)
            else:
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)

    def tell(self, text: str, *, is_over: bool = False) -> None:
        """Report progress."""
        if self.progress is not None:
            self.progress(Status(text, {"phase": self.phase}, is_over=is_over))

    def under_way(self, title: str) -> Progress | bool:
        """Return the progress of a part, under its title."""
        tell = self.progress
        if tell is None:
            return False
        return lambda status: tell(replace(status, text=f"{title}: {status.text}", is_over=False))
