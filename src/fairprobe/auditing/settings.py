"""Settings of an audit: the arguments of `audit` that its figures depend on, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from fairprobe.arguments import filled
from fairprobe.checks import checked_count, is_number, nearest
from fairprobe.errors import SettingError
from fairprobe.estimation.bounds.intervals import checked_confidence, checked_share
from fairprobe.estimation.gate import Gate
from fairprobe.estimation.share import checked_role
from fairprobe.oracle import checked_threshold
from fairprobe.wording import POPULATIONS

COUNTS = ("n_experiments", "n_samples", "search_cases", "max_judged", "max_barren", "explain_queries")


@dataclass(frozen=True)
class AuditSettings:
    """The arguments of `audit`, which describes them, without the model, the data, the domain and the seed."""

    max_share: float | Mapping[str, float] | None
    gate: str | None
    min_comparable: float
    favourable: Any
    rows_are: str | None
    output: str
    threshold: float | None
    confidence: float
    populations: Sequence[str] | None
    n_experiments: int
    n_samples: int
    method: str
    linked: bool | None
    report_cases: int
    search_cases: int
    max_judged: int
    max_barren: int
    min_plausibility: float
    explain_queries: int
    retrain: bool
    retrain_seconds: float | None
    mask: Sequence[str]
    show_rows: bool
    batch: str | None

    @classmethod
    def of(cls, **given: Any) -> Self:
        """Settings with the defaults of `audit` for all arguments that are not given."""
        from fairprobe.auditing.auditing import audit

        every = filled(audit, given)
        return cls(**{name: every[name] for name in cls.__dataclass_fields__})

    def __post_init__(self) -> None:
        checked_confidence(self.confidence)
        checked_share("min_comparable", self.min_comparable)
        for name in COUNTS:
            checked_count(name, getattr(self, name))
        checked_count("report_cases", self.report_cases, at_least=0)
        for name in ("retrain", "show_rows"):
            if not isinstance(getattr(self, name), bool):
                raise SettingError.about(name, f"must be True or False, got {getattr(self, name)!r}")
        object.__setattr__(self, "rows_are", checked_role(self.rows_are))
        for name in ("mask", "populations"):
            if isinstance(getattr(self, name), str):
                raise SettingError.about(name, f"must be a list of names, got the string {getattr(self, name)!r}")
        self._check_limits()
        for name in self.populations or ():
            if name not in POPULATIONS:
                rule = f"must be some of {', '.join(POPULATIONS)}"
                raise SettingError.about("populations", f"{rule}; got {name!r}{nearest(name, POPULATIONS)}")
        checked_threshold(self.threshold, self.output)

    def _check_limits(self) -> None:
        for limit in self.limits.values():
            if not is_number(limit) or not 0 <= limit < 1:
                raise SettingError.about("max_share", f"must be at least 0 and below 1, got {limit!r}")
        gate = Gate.of(self.gate)
        if self.directions and self.favourable is None:
            rule = "by who is worse off needs the good outcome: say favourable= as well, got none"
            raise SettingError.about("max_share", rule)
        if self.directions and gate.population not in (None, "rows"):
            raise SettingError.about("gate", f"must be about rows where limits are by direction, got {self.gate!r}")

    @property
    def limits(self) -> dict[str, float]:
        """Limits by who is worse off; the empty name stands for the limit of all directions together."""
        return self.directions if self.limit is None else {"": self.limit}

    @property
    def directions(self) -> dict[str, float]:
        """Limits by who is worse off."""
        return dict(self.max_share) if isinstance(self.max_share, Mapping) else {}

    @property
    def limit(self) -> float | None:
        """The limit of all directions together."""
        return None if isinstance(self.max_share, Mapping) else self.max_share

    def plain(self) -> dict[str, Any]:
        """The settings as plain values of JSON."""
        lists = {"mask": list(self.mask), "populations": self.populations and list(self.populations)}
        return asdict(self) | lists | {"max_share": self.directions or self.limit}
