"""The settings of a retraining: the arguments of `retrain` that are not data, checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fairprobe.checks import checked_count, is_number
from fairprobe.errors import SettingError
from fairprobe.estimation.bounds.intervals import checked_confidence
from fairprobe.oracle import checked_threshold
from fairprobe.retraining.recipes import LONGEST, checked_augment
from fairprobe.searching.registry import strategy_path

ACCEPT: Final = ("shown", "paper")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Arguments of `retrain`, each described there."""

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
        """The confidence of one interval of a round.

        The error is split over rounds and populations, so that all intervals hold together.
        """
        return 1 - (1 - self.confidence) / (self.max_rounds * n_populations)
