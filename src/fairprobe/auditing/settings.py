"""Settings of an audit: the arguments of `audit`, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from fairprobe.arguments import filled
from fairprobe.checks import checked_count, checked_seed, is_number, nearest
from fairprobe.errors import SettingError
from fairprobe.estimation.bounds.intervals import checked_confidence, checked_share
from fairprobe.estimation.share import checked_role
from fairprobe.estimation.verdict import Gate
from fairprobe.oracle import checked_threshold
from fairprobe.store.identity import checked_id
from fairprobe.wording import POPULATIONS

NOT_IN_CONFIG = (
    *("model", "X", "y", "sensitive", "domain", "seed", "date", "title", "name", "data_name"),
    *("folder", "store", "model_id", "selfcheck", "command", "progress"),
)
"""Arguments outside of the configuration: no figure depends on them, or `audit.json` has them elsewhere."""

COUNTS = ("n_experiments", "n_samples", "search_cases", "max_judged", "max_barren", "explain_queries")


class AuditSettings(SimpleNamespace):
    """The arguments of `audit` under their names; those not given have its defaults."""

    def __init__(self, **given: Any) -> None:
        from fairprobe.auditing.auditing import audit

        every = filled(audit, given)
        every["rows_are"], every["seed"] = checked_role(every["rows_are"]), checked_seed(every["seed"])
        super().__init__(**every)
        self._check()

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that the figures depend on, by name."""
        return {name: each for name, each in vars(self).items() if name not in NOT_IN_CONFIG}

    def but(self, **changes: Any) -> AuditSettings:
        """The settings with some of them changed."""
        return AuditSettings(**{**vars(self), **changes})

    def some(self, *names: str) -> dict[str, Any]:
        """Some of the settings, by name."""
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
            if not is_number(limit) or not 0 <= limit < 1:
                raise SettingError.about("max_share", f"must be at least 0 and below 1, got {limit!r}")
        gate = Gate.of(self.gate)
        if self.directions and self.favourable is None:
            rule = "by who is worse off needs the good outcome: say favourable= as well, got none"
            raise SettingError.about("max_share", rule)
        if self.directions and gate.population not in (None, "rows"):
            raise SettingError.about("gate", f"must be about rows where limits are by direction, got {self.gate!r}")
        checked_threshold(self.threshold, self.output)

    @property
    def directions(self) -> dict[str, float]:
        """Limits by who is worse off."""
        return dict(self.max_share) if isinstance(self.max_share, Mapping) else {}

    @property
    def limit(self) -> float | None:
        """The limit of all directions together."""
        return None if isinstance(self.max_share, Mapping) else self.max_share


def check_names(argument: str, names: Iterable[str], known: Iterable[str], rule: str) -> None:
    """Refuse names that are not among those known."""
    known = list(known)
    for name in names:
        if name not in known:
            raise SettingError.about(argument, f"{rule} of {', '.join(known)}; got {name!r}{nearest(name, known)}")
