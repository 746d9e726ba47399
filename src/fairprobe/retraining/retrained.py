"""The result of a retraining: the model, its figures before and after, and all rounds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from fairprobe.blocks import Block, Remark, Result
from fairprobe.estimation.compare import Comparison
from fairprobe.estimation.share import Share
from fairprobe.retraining.controls import Control
from fairprobe.retraining.judging import Assessment, Loss
from fairprobe.retraining.rounds import Round, front_of
from fairprobe.wording import percent, signed

if TYPE_CHECKING:
    import pandas as pd

GIVEN = "the model given"
CLONE = "a clone of the model given, fitted to the same rows as the new models"
"""The models that figures may be of."""

STOPPED = {
    "schedule": "the schedule was over",
    "not-better": "a round was rejected",
    "searched": "nothing was left to try",
    "max-rounds": "the rounds allowed were used up",
    "max-seconds": "no further round would have fitted into the time that was left",
    "nothing-to-improve": "the model has no discriminatory input among those judged",
    "no-cases": "no case was found to add",
    "failed": "a round failed",
    "interrupted": "it was interrupted",
}
"""By stop reason, why the rounds ended."""


def why_none(rounds: list[Round], stop_reason: str) -> str:
    """The reason why no round was accepted."""
    reasons = list(dict.fromkeys(each.why for each in rounds))
    if len(reasons) > 1:
        return f"{len(rounds)} rounds were rejected, the last as {rounds[-1].why}"
    return reasons[0] if reasons else STOPPED[stop_reason].replace("no further round", "no round")


@dataclass(frozen=True, repr=False, eq=False)
class Retrained(Result):
    """A model in which discriminatory inputs are rarer, or the one given if none was accepted, and the evidence.

    The figures after are those of the model returned. They come from the report part: rows and inputs that neither
    fitting nor choosing has seen. If the model given is returned, the figures before and after are its own; without
    rows held out, its rows are then rows that it was fitted to (`on_fitted_rows`). The same holds if rows held out are
    rows of X, as the remark `rows-overlap` says.
    """

    model: Any
    before: dict[str, Share]
    after: dict[str, Share]
    """By population: domain, valid (with constraints), rows, and linked (the rows again, with links)."""
    before_is: str
    """The model of the figures before: the model given, or a clone of it."""
    compared_with: str
    """The model that rounds were compared with: the model given, or a clone of it."""
    is_reported: bool
    """True if the figures come from the report part; after an interruption, they come from the select part."""
    on_fitted_rows: bool
    """True if the figures of rows (share, accuracy, groups) are on rows that the model was fitted to."""
    changes: dict[str, Comparison]
    """By population, before compared with after on the same inputs."""
    accuracy_before: float
    accuracy_after: float
    loss: Loss
    groups: pd.DataFrame
    """Accuracy and rate of the favourable label by sensitive value, before and after."""
    favourable: Any
    first: Assessment
    """The model before the first round, on the select part."""
    rounds: list[Round]
    chosen: Round | None
    """The round that the model comes from."""
    max_accuracy_loss: float
    controls: dict[str, Control]
    stop_reason: str
    n_rows: dict[str, int]
    """Rows of each part: fit, select, report."""
    n_inputs: dict[str, int]
    """Inputs of the domain that were judged with each part: select, report."""
    n_cases: int
    """Cases at hand: given or searched for."""
    seconds: float
    seed: int
    how: tuple[str, ...]
    """Sentences on how improvement and loss were measured."""
    health: tuple[Remark, ...]
    failure: str | None = None

    @property
    def accepted(self) -> bool:
        """True if the model is a new one."""
        return self.chosen is not None

    @property
    def n_added(self) -> int:
        """Rows added to the training rows of the model returned."""
        return 0 if self.chosen is None else self.chosen.n_added

    @property
    def has_links(self) -> bool:
        """True if rows were also judged with linked twins."""
        return "linked" in self.before

    @property
    def front(self) -> pd.DataFrame:
        """Table of the rounds that no other beats in both `left` and accuracy, on the select part."""
        import pandas as pd

        return pd.DataFrame([each.jsonable() for each in front_of(self.rounds)])

    def plot(self, path: str | PathLike[str]) -> None:
        """Draw share against accuracy of all rounds, the front and the model returned, as SVG.

        Equal results give equal bytes.
        """
        from fairprobe.retraining.retrained_blocks import draw

        draw(self, path)

    def sentence(self) -> str:
        """The result in words."""
        if self.chosen is None:
            returned = GIVEN if self.before_is == GIVEN else "a clone of the model given"
            return f"{returned} is returned, as no round was accepted: {why_none(self.rounds, self.stop_reason)}"
        parts = []
        for name, change in self.changes.items():
            moved = _points(change.difference, change.low, change.high)
            parts.append(f"{self._title(name)} {percent(change.a.value)} -> {percent(change.b.value)} ({moved})")
        lost = _points(self.loss.value, self.loss.low, self.loss.high)
        parts.append(
            f"accuracy {lost} on {self.loss.n:,} rows; intervals of {percent(self.loss.confidence)} confidence"
        )
        parts += [] if self.before_is == GIVEN else [f"before is {self.before_is}"]
        parts += ["rows and accuracy are on rows it was fitted to"] if self.on_fitted_rows else []
        return "; ".join(parts)

    def _title(self, population: str) -> str:
        """The name of a population, with the twins that are compared if there are links."""
        if population == "linked":
            return f"rows with {' and '.join(self.before['linked'].linked)} changed along"
        return f"{population} by {' or '.join(self.before['rows'].sensitive)} alone" if self.has_links else population

    def blocks(self) -> list[Block]:
        """The content for people, most important first."""
        from fairprobe.retraining.retrained_blocks import blocks_of

        return blocks_of(self)

    def jsonable(self) -> dict[str, Any]:
        """The figures as plain values of JSON."""
        change_figures = ("difference", "low", "high", "p_value")
        own = (
            "accepted before_is compared_with is_reported on_fitted_rows accuracy_before accuracy_after favourable "
            "stop_reason n_added n_cases n_rows n_inputs seconds seed failure"
        )
        return {
            **{name: getattr(self, name) for name in own.split()},
            "before": {name: share.jsonable() for name, share in self.before.items()},
            "after": {name: share.jsonable() for name, share in self.after.items()},
            "changes": {
                name: {figure: getattr(change, figure) for figure in change_figures}
                for name, change in self.changes.items()
            },
            "loss": {"value": self.loss.value, "low": self.loss.low, "high": self.loss.high},
            "groups": json.loads(self.groups.reset_index().to_json(orient="records")),
            "rounds": [each.jsonable() for each in self.rounds],
            "front": [each.number for each in front_of(self.rounds)],
            "chosen": None if self.chosen is None else self.chosen.number,
            "controls": {name: control.jsonable() for name, control in self.controls.items()},
            "how": list(self.how),
            "health": [remark.jsonable() for remark in self.health],
        }


def _points(difference: float, low: float, high: float) -> str:
    value, least, most = (signed(-100 * number) for number in (difference, high, low))
    return f"{value} points, {least} to {most}"
