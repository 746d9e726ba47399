"""The settings of a retraining, made sure of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairprobe.checks import checked_count, is_number
from fairprobe.errors import SettingError
from fairprobe.estimate.bounds.intervals import checked_confidence
from fairprobe.oracle import checked_threshold
from fairprobe.retrain.judging import How
from fairprobe.retrain.labels import check_choice
from fairprobe.retrain.recipe import LONGEST, checked_augment
from fairprobe.retrain.rounds import ACCEPT
from fairprobe.search.registry import strategy_path


@dataclass(frozen=True)
class Settings:
    """How to retrain, and within what limits."""

    labels: str | Callable[[Any], Any]
    augment: str | Sequence[str]
    max_accuracy_loss: float
    prove_accuracy: bool
    max_rounds: int
    max_seconds: float | None
    search_seconds: float | None
    n_select: int | None
    n_report: int | None
    strategy: str
    how: How
    accept: str = "shown"

    def __post_init__(self) -> None:
        checked_augment(self.augment)
        strategy_path(self.strategy)
        if self.accept not in ACCEPT:
            raise SettingError.about("accept", f"must be one of {', '.join(ACCEPT)}, got {self.accept!r}")
        checked_confidence(self.how.confidence)
        checked_threshold(self.how.threshold, self.how.output)
        checked_count("max_rounds", self.max_rounds)
        for name in ("n_select", "n_report"):
            if getattr(self, name) is not None:
                checked_count(name, getattr(self, name))
        for name in ("max_seconds", "search_seconds"):
            value = getattr(self, name)
            if value is not None and not (is_number(value) and value > 0):
                raise SettingError.about(name, f"must be a number above 0, got {value!r}")
        if not (is_number(self.max_accuracy_loss) and 0 <= self.max_accuracy_loss <= 1):
            raise SettingError.about(
                "max_accuracy_loss", f"must lie between 0 and 1, as 0.01 for one point, got {self.max_accuracy_loss!r}"
            )

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> Settings:
        """The settings among the arguments of `retrain`."""
        how = How(**{name: arguments[name] for name in How.__dataclass_fields__})
        return cls(**{name: arguments[name] for name in cls.__dataclass_fields__ if name != "how"}, how=how)

    @property
    def augmentations(self) -> list[tuple[str, ...]]:
        """What to try."""
        return checked_augment(self.augment)

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
        return 1 - (1 - self.how.confidence) / (self.max_rounds * n_populations)


def check_labels(labels: Any, committee: Any, cases: Any) -> None:
    """Refuse labels that can't be had."""
    check_choice(labels, committee)
    if labels == "given" and cases is None:
        raise SettingError("labels='given' needs cases with a column of labels, got no cases")
