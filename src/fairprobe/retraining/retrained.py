"""The result of a retraining: the model, its figures before and after, and all rounds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from fairprobe.blocks import Block, Remark, Result
from fairprobe.estimation.bounds.intervals import clopper_pearson
from fairprobe.estimation.compare import Comparison
from fairprobe.estimation.share import Share
from fairprobe.retraining.controls import Control
from fairprobe.retraining.judging import Assessment, Loss
from fairprobe.retraining.retrained_blocks import blocks_of
from fairprobe.retraining.rounds import Round, best_of, front_of
from fairprobe.retraining.stop_reasons import stopped, why_none
from fairprobe.wording import percent

if TYPE_CHECKING:
    import pandas as pd

GIVEN = "the model given"
CLONE = "a clone of the model given, fitted to the same rows as the new models"
"""The models that figures may be of."""


@dataclass(frozen=True)
class Relative:
    """The part of a share that is gone, as a fraction of it, with an interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Way:
    """A way to train, and the shares of the rows with plain twins and with linked twins, before and after it."""

    name: str
    """The name of an augmentation or of a control."""
    what: str
    part: str
    """The part that it was judged on: select or report."""
    before: dict[str, Share]
    after: dict[str, Share]
    accuracy_before: float
    accuracy_after: float

    def words(self, alone: str, along: str) -> str:
        """The way in a line."""
        shares = []
        for words, name in ((alone, "rows"), (along, "linked")):
            before, after = self.before[name], self.after[name]
            between = f"{percent(after.low)} to {percent(after.high)}"
            shares.append(f"{words} {percent(before.value)} -> {percent(after.value)} ({between})")
        points = 100 * (self.accuracy_after - self.accuracy_before)
        return f"{self.what}: {', '.join(shares)}, accuracy {points or 0.0:+.2f} points"


@dataclass(frozen=True, repr=False, eq=False)
class Retrained(Result):
    """A model in which discriminatory inputs are rarer, or the one given if none was accepted, and the evidence.

    The figures after are those of the model returned. They come from the report part: rows and inputs that neither
    fitting nor choosing has seen. If the model given is returned, the figures before and after are its own; without
    rows held out, its rows are then rows that it was fitted to (`on_fitted_rows`). The same holds if rows held out are
    rows of X, as the remark `rows-overlap` says.
    """

    model: Any
    accepted: bool
    """Whether the model is a new one."""
    before: dict[str, Share]
    after: dict[str, Share]
    """By population: domain, valid (with constraints), rows, and linked (the rows again, with links)."""
    before_is: str
    """The model of the figures before: the model given, or a clone of it."""
    compared_with: str
    """The model that rounds were compared with: the model given, or a clone of it."""
    is_reported: bool
    """Whether the figures come from the report part; if it was interrupted, from the select part."""
    on_fitted_rows: bool
    """Whether the figures of rows (share, accuracy, groups) are on rows that the model was fitted to."""
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
    def n_added(self) -> int:
        """Rows added to the training rows of the model returned."""
        return 0 if self.chosen is None else self.chosen.n_added

    def improvement(self, population: str = "domain") -> float | None:
        """The part of the share that is gone, as a fraction of it; None if there was no share."""
        before = self.before[population].value
        return 1 - self.after[population].value / before if before else None

    def relative(self, population: str = "domain") -> Relative | None:
        """The improvement with an interval at the shares' confidence; None if there was no share.

        Each share has an exact interval at half the error, so the result holds however the two depend on each other.
        """
        before, after = self.before[population], self.after[population]
        confidence = 1 - (1 - before.confidence) / 2
        (least, most), (low, high) = (
            clopper_pearson(share.hits, share.n, confidence) for share in (before, after)
        )  # fmt: skip
        if not least:
            return None
        return Relative(1 - after.value / before.value, 1 - high / least, 1 - low / most)

    @property
    def front(self) -> pd.DataFrame:
        """Table of the rounds that no other beats in both `left` and accuracy, on the select part."""
        return self._table(front_of(self.rounds))

    @property
    def history(self) -> pd.DataFrame:
        """Table of all rounds, in order."""
        return self._table(self.rounds)

    def _table(self, rounds: list[Round]) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame([each.jsonable() for each in rounds])

    def plot(self, path: str | PathLike[str]) -> None:
        """Draw share against accuracy of all rounds, the front and the model returned, as SVG.

        Equal results give equal bytes.
        """
        from fairprobe.retraining.front_plot import draw

        draw(self, path)

    def sentence(self) -> str:
        """The result in words."""
        if not self.accepted:
            given = "the model given" if self.before_is == GIVEN else "a clone of the model given"
            return f"{given} is returned, as no round was accepted: {why_none(self.rounds, self.stop_reason)}"
        parts = [
            f"{name} {percent(change.a.value)} -> {percent(change.b.value)} ({_points(change, self.loss.confidence)})"
            for name, change in self.changes.items()
        ]
        if self.has_links:
            # Two shares of the same rows: which twins each compares is said beside it.
            parts[0] = f"{self._alone}: {parts[0]}"
            parts[-1] = f"{self._along}: {parts[-1].replace('linked', 'rows', 1)}"
        clone = "" if self.before_is == GIVEN else f"; before is {self.before_is}"
        clone += "; rows and accuracy are on rows it was fitted to" if self.on_fitted_rows else ""
        return f"{'; '.join(parts)}; {self.loss.sentence()}{clone}"

    # Where the domain has links

    @property
    def has_links(self) -> bool:
        """Whether rows were also judged with linked twins."""
        return "linked" in self.before

    @property
    def _alone(self) -> str:
        return f"{' or '.join(self.before['linked'].sensitive)} alone"

    @property
    def _along(self) -> str:
        return f"with {' and '.join(self.before['linked'].linked)} changed along"

    @property
    def ways(self) -> list[Way]:
        """The ways to train with their shares of the rows, plain and linked; none without links.

        They are the best round of each augmentation, on the select part, and each control, on the report part.
        """
        if not self.has_links:
            return []
        by_name: dict[str, list[Round]] = {}
        for each in self.rounds:
            by_name.setdefault(each.recipe.augment, []).append(each)
        first, ways = self.first, []
        for name, rounds in by_name.items():
            best = best_of(rounds) or min(rounds, key=lambda each: each.left)
            accuracies = first.accuracy, best.accuracy
            ways.append(Way(name, best.recipe.words(), "select", first.shares, best.shares, *accuracies))
        # Like the clone, and unlike the model given, the controls have not seen the rows that they are judged on.
        clone = self.controls.get("clone")
        before, accuracy = self.before, self.accuracy_before
        if clone is not None and clone.accuracy is not None:
            before, accuracy = clone.shares, clone.accuracy
        for control in self.controls.values():
            if control.accuracy is not None and control is not clone:
                accuracies = accuracy, control.accuracy
                ways.append(Way(control.name, control.words, "report", before, control.shares, *accuracies))
        return ways

    def ways_in_words(self) -> list[str]:
        """A sentence for each way: the shares of the rows with plain and linked twins, before and after it."""
        return [way.words(self._alone, self._along) for way in self.ways]

    @property
    def stopped(self) -> str:
        """The reason why the rounds ended, in words."""
        return stopped(self.stop_reason, len(self.rounds))

    @property
    def is_of_model_given(self) -> bool:
        """Whether the figures before are those of the model given."""
        return self.before_is == GIVEN

    def blocks(self) -> list[Block]:
        """The content for people, most important first."""
        return blocks_of(self)

    def jsonable(self) -> dict[str, Any]:
        """The figures as plain values of JSON."""
        return {
            "accepted": self.accepted,
            "before": {name: share.jsonable() for name, share in self.before.items()},
            "after": {name: share.jsonable() for name, share in self.after.items()},
            "changes": {name: self._change(name) for name in self.changes},
            **self._plain("before_is", "compared_with", "is_reported", "on_fitted_rows"),
            **self._plain("accuracy_before", "accuracy_after"),
            "loss": {"value": self.loss.value, "low": self.loss.low, "high": self.loss.high},
            "favourable": self.favourable,
            "groups": json.loads(self.groups.reset_index().to_json(orient="records")),
            "rounds": [each.jsonable() for each in self.rounds],
            "front": [each.number for each in front_of(self.rounds)],
            "chosen": None if self.chosen is None else self.chosen.number,
            "controls": {name: control.jsonable() for name, control in self.controls.items()},
            **({"ways": self.ways_in_words()} if self.has_links else {}),
            **self._plain("stop_reason", "n_added", "n_cases", "n_rows", "n_inputs", "seconds", "seed"),
            "how": list(self.how),
            "health": [remark.jsonable() for remark in self.health],
            "failure": self.failure,
        }

    def _plain(self, *names: str) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names}

    def _change(self, population: str) -> dict[str, Any]:
        change, relative = self.changes[population], self.relative(population)
        return {
            "difference": change.difference,
            "low": change.low,
            "high": change.high,
            "p_value": change.p_value,
            "improvement": None if relative is None else relative.value,
            "improvement_low": None if relative is None else relative.low,
            "improvement_high": None if relative is None else relative.high,
        }


def _points(change: Comparison, confidence: float) -> str:
    """The change of a share in points and its interval; a lower share gives a negative change."""
    value, low, high = (f"{-100 * number or 0.0:+.3g}" for number in (change.difference, change.high, change.low))
    return f"{value} points, with {percent(confidence)} confidence between {low} and {high}"
