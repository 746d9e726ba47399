"""The settings of a retraining, made sure of: those that few people change, and all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fairprobe.checks import checked_count, is_number
from fairprobe.errors import SettingError
from fairprobe.estimation.bounds.intervals import checked_confidence
from fairprobe.oracle import checked_threshold
from fairprobe.retraining.augment import LONGEST, checked_augment
from fairprobe.searching.registry import strategy_path

ACCEPT: Final = ("shown", "paper")
"""Shown: by paired intervals, for all populations, with a limit on accuracy. Paper: the domain's estimate is lower."""


@dataclass(frozen=True)
class RetrainSettings:
    """What few people change of a retraining: `retrain` takes them together here, or each by its name.

    >>> RetrainSettings(max_rounds=3, confidence=0.9).max_rounds
    3
    """

    accept: str = "shown"
    """When a round is accepted: "shown" or "paper"."""
    prove_accuracy: bool = False
    """Whether the whole interval of the loss of accuracy must lie within the limit."""
    max_rounds: int = 12
    """Rounds at most."""
    search_seconds: float | None = 60.0
    """Time for searching for cases, in all; None for no limit."""
    strategy: str = "fully-directed"
    """The search's."""
    n_select: int | None = None
    """Inputs of the domain that models are chosen by; None for the usual number, or what time allows."""
    n_report: int | None = None
    """Inputs of the domain that the figures come from; None as above."""
    confidence: float = 0.95
    """Of the intervals."""
    threshold: float | None = None
    output: str = "label"
    batch: str | None = None
    """How outputs are compared and what the model eats, as in `estimate`."""
    controls: bool = True
    """Whether other ways to train are tried beside."""

    def __post_init__(self) -> None:
        strategy_path(self.strategy)
        if self.accept not in ACCEPT:
            raise SettingError.about("accept", f"must be one of {', '.join(ACCEPT)}, got {self.accept!r}")
        checked_confidence(self.confidence)
        checked_threshold(self.threshold, self.output)
        checked_count("max_rounds", self.max_rounds)
        for name in ("n_select", "n_report"):
            if getattr(self, name) is not None:
                checked_count(name, getattr(self, name))
        _check_seconds("search_seconds", self.search_seconds)


@dataclass(frozen=True, kw_only=True)
class AllSettings(RetrainSettings):
    """These and the arguments of `retrain` that are no data: how to retrain, and within what limits."""

    labels: str | Callable[[Any], Any]
    augment: str | Sequence[str]
    max_accuracy_loss: float
    max_seconds: float | None

    def __post_init__(self) -> None:
        checked_augment(self.augment)
        super().__post_init__()
        _check_seconds("max_seconds", self.max_seconds)
        if not (is_number(self.max_accuracy_loss) and 0 <= self.max_accuracy_loss <= 1):
            raise SettingError.about(
                "max_accuracy_loss", f"must lie between 0 and 1, as 0.01 for one point, got {self.max_accuracy_loss!r}"
            )

    @property
    def is_search(self) -> bool:
        """Whether augmentations and amounts are searched over; else the paper's schedule is followed."""
        return self.augment == "auto" or not isinstance(self.augment, str)

    @property
    def most_rounds(self) -> int:
        """Rounds at most: a search goes on, the paper's schedule has an end."""
        return self.max_rounds if self.is_search else min(self.max_rounds, LONGEST)

    def round_confidence(self, n_populations: int) -> float:
        """Of a round's intervals: the error is split over rounds and populations, so that all hold together."""
        return 1 - (1 - self.confidence) / (self.max_rounds * n_populations)


def _check_seconds(name: str, value: Any) -> None:
    if value is not None and not (is_number(value) and value > 0):
        raise SettingError.about(name, f"must be a number above 0, got {value!r}")
