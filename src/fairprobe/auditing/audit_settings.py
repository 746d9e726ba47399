"""What an audit is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fairprobe.checks import checked_count, is_number, nearest
from fairprobe.errors import SettingError
from fairprobe.estimation.bounds.intervals import checked_confidence, checked_share
from fairprobe.estimation.gate import Gate
from fairprobe.estimation.share import checked_role
from fairprobe.estimation.verdict import MIN_COMPARABLE
from fairprobe.wording import POPULATIONS


@dataclass(frozen=True)
class AuditSettings:
    """All that the figures depend on beside the model, the data, the domain and the seed."""

    max_share: float | Mapping[str, float] | None = None
    gate: str | None = None
    min_comparable: float = MIN_COMPARABLE
    favourable: Any = None
    rows_are: str | None = "unknown"
    output: str = "label"
    threshold: float | None = None
    confidence: float = 0.95
    populations: Sequence[str] | None = None
    n_experiments: int = 100
    n_samples: int = 1000
    method: str = "auto"
    linked: bool | None = None
    max_cases: int = 1000
    search_cases: int = 10_000
    max_inputs: int = 200_000
    max_barren: int = 100_000
    min_plausibility: float = 0.05
    explain_queries: int = 300_000
    retrain: bool = False
    retrain_seconds: float | None = None
    mask: Sequence[str] = ()
    show_rows: bool = False
    batch: str | None = None

    def __post_init__(self) -> None:
        checked_confidence(self.confidence)
        checked_share("min_comparable", self.min_comparable)
        for name in ("n_experiments", "n_samples", "search_cases", "max_inputs", "max_barren", "explain_queries"):
            checked_count(name, getattr(self, name))
        checked_count("max_cases", self.max_cases, at_least=0)
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
                known = ", ".join(POPULATIONS)
                raise SettingError.about(
                    "populations", f"must be some of {known}; got {name!r}{nearest(name, POPULATIONS)}"
                )

    def _check_limits(self) -> None:
        limits = self.limits
        for limit in limits.values():
            if not is_number(limit) or not 0 <= limit < 1:
                raise SettingError.about("max_share", f"must be at least 0 and below 1, got {limit!r}")
        if self.directions and self.favourable is None:
            raise SettingError.about(
                "max_share", "by who is worse off needs the good outcome: say favourable= as well, got none"
            )
        gate = Gate.of(self.gate)
        if self.directions and gate.population not in (None, "rows"):
            raise SettingError.about("gate", f"must be about rows where limits are by direction, got {self.gate!r}")

    @property
    def limits(self) -> dict[str, Any]:
        """By direction of harm; the empty name is for all directions together."""
        if self.max_share is None:
            return {}
        return dict(self.max_share) if isinstance(self.max_share, Mapping) else {"": self.max_share}

    @property
    def directions(self) -> dict[str, float]:
        """Limits by who is worse off."""
        return dict(self.max_share) if isinstance(self.max_share, Mapping) else {}

    @property
    def limit(self) -> float | None:
        """That of all directions together."""
        return None if isinstance(self.max_share, Mapping) else self.max_share

    def plain(self) -> dict[str, Any]:
        """Ready for JSON."""
        plain = asdict(self)
        plain["mask"] = list(self.mask)
        plain["populations"] = None if self.populations is None else list(self.populations)
        plain["max_share"] = dict(self.max_share) if isinstance(self.max_share, Mapping) else self.max_share
        return plain
