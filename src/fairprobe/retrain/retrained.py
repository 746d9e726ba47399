"""What retraining came to."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from fairprobe.estimate.compare import Comparison
from fairprobe.estimate.share import Share, percent
from fairprobe.retrain.controls import Control
from fairprobe.retrain.judging import Judged, Loss
from fairprobe.retrain.rounds import Round, front_of

if TYPE_CHECKING:
    import pandas as pd

Remark = tuple[str, str]

STOPPED = {
    "schedule": "the schedule was over",
    "not-better": "a round was rejected",
    "searched": "nothing was left to try",
    "max-rounds": "the rounds allowed were used up",
    "max-seconds": "the time allowed was used up",
    "nothing-to-improve": "the model has no discriminatory input among those judged",
    "no-cases": "no case was found to add",
    "failed": "a round failed",
    "interrupted": "it was interrupted",
}
"""Why the rounds ended."""


@dataclass(frozen=True, repr=False)
class Retrained:
    """A model in which discriminatory inputs are rarer, or the one given if none was accepted, and the evidence.

    Figures are those of the report part: rows and inputs that neither fitting nor choosing has seen.
    """

    model: Any
    accepted: bool
    """Whether the model is a new one."""
    before: dict[str, Share]
    after: dict[str, Share]
    """By population: domain, valid (with constraints), rows."""
    changes: dict[str, Comparison]
    """By population: before against after on the same inputs."""
    accuracy_before: float
    accuracy_after: float
    loss: Loss
    groups: pd.DataFrame
    """Accuracy and rate of the favourable label by sensitive value, before and after."""
    favourable: Any
    first: Judged
    """The model before the first round, on the select part."""
    rounds: list[Round]
    chosen: Round | None
    """The round that the model comes from."""
    max_accuracy_loss: float
    controls: dict[str, Control]
    stop_reason: str
    n_rows: dict[str, int]
    """Rows of each part: fit, select, report."""
    n_cases: int
    """Cases at hand: given or searched for."""
    seconds: float
    seed: int
    how: tuple[str, ...]
    """How improvement and loss were measured, in sentences."""
    health: tuple[Remark, ...]
    failure: str | None = None

    @property
    def n_added(self) -> int:
        """Rows added to the training rows of the model returned."""
        return 0 if self.chosen is None else self.chosen.n_added

    def improvement(self, population: str = "domain") -> float | None:
        """How much of the share is gone, as a fraction of it; None if there was none."""
        before = self.before[population].value
        return 1 - self.after[population].value / before if before else None

    @property
    def front(self) -> pd.DataFrame:
        """The rounds that no other beats in both what is left of the shares and accuracy, on the select part."""
        return self._table(front_of(self.rounds))

    @property
    def history(self) -> pd.DataFrame:
        """All rounds, in order."""
        return self._table(self.rounds)

    def _table(self, rounds: list[Round]) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame([each.summary() for each in rounds])

    def plot(self, path: str | PathLike[str]) -> None:
        """Draw share against accuracy of all rounds, the front and the model returned, as SVG."""
        from fairprobe.retrain.plot import draw

        draw(self, path)

    def sentence(self) -> str:
        """The result in words."""
        if not self.accepted:
            return f"the model given is returned, as no round was accepted: {self._reason()}"
        parts = []
        for name, share in self.after.items():
            gone = self.improvement(name)
            change = "" if gone is None else f" ({-100 * gone:+.1f}%)"
            parts.append(f"{name} {percent(self.before[name].value)} -> {percent(share.value)}{change}")
        return f"{'; '.join(parts)}; {self.loss.sentence()}"

    def _reason(self) -> str:
        if self.rounds:
            return self.rounds[-1].why
        return STOPPED[self.stop_reason]

    def summary(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        return {
            "accepted": self.accepted,
            "before": {name: share.summary() for name, share in self.before.items()},
            "after": {name: share.summary() for name, share in self.after.items()},
            "changes": {
                name: {
                    "improvement": self.improvement(name),
                    "difference": change.difference,
                    "low": change.low,
                    "high": change.high,
                    "p_value": change.p_value,
                }
                for name, change in self.changes.items()
            },
            "accuracy_before": self.accuracy_before,
            "accuracy_after": self.accuracy_after,
            "loss": {"value": self.loss.value, "low": self.loss.low, "high": self.loss.high},
            "favourable": self.favourable,
            "groups": json.loads(self.groups.reset_index().to_json(orient="records")),
            "rounds": [each.summary() for each in self.rounds],
            "front": [each.number for each in front_of(self.rounds)],
            "chosen": None if self.chosen is None else self.chosen.number,
            "controls": {name: control.summary() for name, control in self.controls.items()},
            "stop_reason": self.stop_reason,
            "n_added": self.n_added,
            "n_cases": self.n_cases,
            "n_rows": self.n_rows,
            "seconds": self.seconds,
            "seed": self.seed,
            "how": list(self.how),
            "health": [{"check": name, "message": message} for name, message in self.health],
            "failure": self.failure,
        }

    def __repr__(self) -> str:
        return f"Retrained({self.sentence()})"
