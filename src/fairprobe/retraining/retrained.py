"""The result of `retrain`: the model, the figures before and after, and all rounds."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from fairprobe.blocks import Block, Items, Remark, Result, Section, Sentence, Table
from fairprobe.estimation.compare import Comparison
from fairprobe.estimation.share import Share
from fairprobe.retraining.judging import JUDGED, Assessment, Loss
from fairprobe.retraining.rounds import Round, front_of
from fairprobe.wording import between, capital, counted, percent, signed, value

if TYPE_CHECKING:
    import pandas as pd

GIVEN = "the model given"
CLONE = "a clone of the model given, fitted to the same rows as the new models"
"""Words for the model of the figures before, if it is a clone; `GIVEN` has the words for the model given itself."""

CONSTANT: Final = ("constant", "constant-linked")
"""Names of the controls that hold columns constant, the simplest first."""

STOPPED = {
    "schedule": "the schedule was over",
    "not-better": "a round was rejected",
    "searched": "nothing was left to try",
    "max-rounds": "the rounds allowed were used up",
    "max-seconds": "no further round would have fitted into the time that was left",
    "nothing-to-improve": "the model that rounds are compared with has no discriminatory input among those judged",
    "no-cases": "no case was found to add",
    "failed": "a round failed",
    "interrupted": "it was interrupted",
}
"""Words for the reason why the rounds ended, by `Retrained.stop_reason`."""

MOST_GROUPS: Final = 12
"""Largest number of groups of sensitive values in the report's table, the largest first; chosen. `Retrained.groups` has
all groups."""


def why_none(rounds: list[Round], stop_reason: str) -> str:
    """Return the reason why no round was accepted, in words."""
    reasons = list(dict.fromkeys(each.why for each in rounds))
    if len(reasons) > 1:
        return f"{len(rounds)} rounds were rejected, the last as {rounds[-1].why}"
    return reasons[0] if reasons else STOPPED[stop_reason].replace("no further round", "no round")


@dataclass(frozen=True, eq=False)
class Control:
    """Another way to train, for comparison, with the model that it gives and the model's figures on the report part."""

    name: str
    words: str
    """The way to train, in words."""
    model: Any = field(default=None, repr=False)
    judged: Assessment | None = field(default=None, repr=False)
    """Figures of the model; None if there are none."""
    n_added: int = 0
    seconds: float = 0.0
    why_not: str = ""
    """Reason why there are no figures; empty if there are some."""

    @property
    def shares(self) -> dict[str, Share]:
        """The shares of discriminatory inputs by population, for this model; empty if they were not measured."""
        return {} if self.judged is None else self.judged.shares

    @property
    def accuracy(self) -> float | None:
        """The fraction of the report's rows whose label the model predicts right; None if there are no figures."""
        return None if self.judged is None else self.judged.accuracy

    def jsonable(self) -> dict[str, Any]:
        """The figures of the control as a dict for JSON."""
        shares = {name: share.jsonable() for name, share in self.shares.items()}
        told = {name: getattr(self, name) for name in ("words", "accuracy", "n_added", "seconds", "why_not")}
        return {"control": self.name, **told, "shares": shares}


def recommended(
    controls: Mapping[str, Control], to_beat: Assessment, confidence: float, max_loss: float, *, is_given: bool
) -> tuple[str, Loss] | None:
    """Return the control with columns held constant that is as good as the model `to_beat`; None if there is none.

    The result is its name, and the accuracy that is lost with it.

    As good is a control if, in pairs on the report part, none of its shares is shown to be higher, its accuracy is not
    shown to be lower, and at most `max_loss` of accuracy is lost by the estimate. If `is_given`, the model to beat is
    the one before, and a share must also be shown to be lower.
    """
    for name in CONSTANT:
        judged = controls[name].judged if name in controls else None
        if judged is not None:
            changes, loss = to_beat.against(judged, confidence).values(), to_beat.loss_to(judged, confidence)
            is_lower = not is_given or any(change.low > 0 for change in changes)
            if is_lower and all(change.high >= 0 for change in changes) and loss.low <= 0 and loss.value <= max_loss:
                return name, loss
    return None


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
    """Share of the returned model, by population: "domain", "valid" (with constraints), "rows", and "linked" (the rows
    again, with linked twins). `before` holds those of the model before."""
    before_is: str
    """Words for the model of the figures before: `GIVEN` or `CLONE`."""
    compared_with: str
    """Words for the model that rounds were compared with: `GIVEN` or `CLONE`."""
    is_reported: bool
    """True if the figures come from the report part; after an interruption, they come from the select part."""
    on_fitted_rows: bool
    """True if the figures of rows (share, accuracy, groups) are on rows that the model was fitted to."""
    changes: dict[str, Comparison]
    """Comparison of the shares before and after on the same inputs, by population."""
    accuracy_before: float
    accuracy_after: float
    loss: Loss
    groups: pd.DataFrame
    """Table by group of sensitive values: number of rows, and accuracy and rate of the favourable label, before and
    after."""
    favourable: Any
    first: Assessment
    """Shares and labels, on the select part, of the model that the first round was compared with."""
    rounds: list[Round]
    chosen: Round | None
    """The round whose model is returned; None if no round was accepted."""
    max_accuracy_loss: float
    controls: dict[str, Control]
    recommended: str | None
    """Name of the control that is as good as the model returned and simpler; None if there is none."""
    recommended_loss: Loss | None
    """Accuracy lost with the recommended control, compared with the model returned or, if that is the model given and
    has seen the rows, with its clone; None without such a control."""
    stop_reason: str
    n_rows: dict[str, int]
    """Number of rows of each part, by its name: "fit", "select", "report"."""
    n_inputs: dict[str, int]
    """Number of inputs of the domain judged along with the rows of a part, by its name: "select", "report"."""
    n_cases: int
    """Number of distinct cases that were available to add, given or found."""
    seconds: float
    seed: int
    how: tuple[str, ...]
    """Sentences on how the improvement of shares and the loss of accuracy were measured."""
    health: tuple[Remark, ...]
    failure: str | None = None

    @property
    def accepted(self) -> bool:
        """True if a round was accepted, so that `model` is a new one."""
        return self.chosen is not None

    @property
    def n_added(self) -> int:
        """The number of rows added to the training rows of the returned model."""
        return 0 if self.chosen is None else self.chosen.n_added

    @property
    def front(self) -> pd.DataFrame:
        """Table of the rounds that no other round beats in both `left` and accuracy, on the select part."""
        import pandas as pd

        return pd.DataFrame([each.jsonable() for each in front_of(self.rounds)])

    def advice(self) -> str:
        """Sentences that recommend the control in `recommended`, without a full stop; an empty text without one."""
        loss = self.recommended_loss
        if self.recommended is None or loss is None:
            return ""
        linked = () if self.recommended == CONSTANT[0] else self.before["linked"].linked
        names = " and ".join([*self.before["rows"].sensitive, *linked])
        good, than = "this is as good as retraining, and simpler", "after retraining"
        if self.chosen is None:
            good = "this lowers a share, and no round was accepted"
            # A model on rows that it was fitted to is no match for the controls, so its clone stands in for it.
            clone = self.controls.get("clone")
            than = "before" if clone is None or clone.judged is None else "with a clone of the model given"
        return (
            f"Better hold {names} constant: {good}. In pairs on the report's rows and inputs, no share is shown to be "
            f"higher than {than}. Accuracy changes by {' points, '.join(_points(loss.value, loss.low, loss.high))}, on "
            f"{counted(loss.n, 'row')}"
        )

    def sentence(self) -> str:
        """The result in words: the recommended control if any, then the change of each share and of the accuracy."""
        advice = self.advice()
        return f"{advice}. {capital(self._changed())}" if advice else self._changed()

    def _changed(self) -> str:
        """Return the change of each share and of the accuracy in words, or the reason why no round was accepted."""
        if self.chosen is None:
            returned = GIVEN if self.before_is == GIVEN else "a clone of the model given"
            return f"{returned} is returned, as no round was accepted: {why_none(self.rounds, self.stop_reason)}"
        parts, alone = [], f" by {_sensitive(self)} alone" if "linked" in self.before else ""
        for name, change in self.changes.items():
            moved = " points, ".join(_points(change.difference, change.low, change.high))
            title = f"rows with {' and '.join(change.a.linked)} changed along" if name == "linked" else f"{name}{alone}"
            parts.append(f"{title} {percent(change.a.value)} -> {percent(change.b.value)} ({moved})")
        lost = " points, ".join(_points(self.loss.value, self.loss.low, self.loss.high))
        parts += [
            f"accuracy {lost} on {self.loss.n:,} rows",
            f"intervals of {percent(self.loss.confidence)} confidence",
        ]
        parts += [] if self.before_is == GIVEN else [f"before is {self.before_is}"]
        parts += ["rows and accuracy are on rows it was fitted to"] if self.on_fitted_rows else []
        return "; ".join(parts)

    def blocks(self) -> list[Block]:
        """The result as blocks of a report, the most important first."""
        blocks: list[Block] = [Sentence(self.sentence())]
        if self.chosen is not None:
            added = f"{counted(self.n_added, 'row')} added to {self.n_rows['fit']:,}"
            blocks.append(Sentence(f"Round {self.chosen.number} is returned: {self.chosen.recipe.words()} ({added})."))
        blocks.append(_before_and_after(self))
        if self.controls:
            blocks.append(_controls(self))
        blocks.append(_groups(self))
        if self.rounds:
            blocks.append(_rounds(self))
        blocks.append(Section("How it was measured", (Items(self.how),)))
        cases = f", {counted(self.n_cases, 'case')} at hand" if self.n_cases else ""
        took = f"{counted(len(self.rounds), 'round')}{cases}, {self.seconds:.1f} s, seed {self.seed}"
        return [*blocks, Sentence(f"{took}. Stopped because {STOPPED[self.stop_reason]}."), *self.health]

    def jsonable(self) -> dict[str, Any]:
        """The figures of the result as a dict for JSON."""
        own = (
            "accepted before_is compared_with is_reported on_fitted_rows accuracy_before accuracy_after favourable "
            "recommended stop_reason n_added n_cases n_rows n_inputs seconds seed failure"
        )
        return {
            **{name: getattr(self, name) for name in own.split()},
            "before": {name: share.jsonable() for name, share in self.before.items()},
            "after": {name: share.jsonable() for name, share in self.after.items()},
            "changes": {
                name: {"difference": each.difference, "low": each.low, "high": each.high, "p_value": each.p_value}
                for name, each in self.changes.items()
            },
            "advice": self.advice(),
            "loss": {"value": self.loss.value, "low": self.loss.low, "high": self.loss.high},
            "groups": json.loads(self.groups.reset_index().to_json(orient="records")),
            "rounds": [each.jsonable() for each in self.rounds],
            "front": [each.number for each in front_of(self.rounds)],
            "chosen": None if self.chosen is None else self.chosen.number,
            "controls": {name: control.jsonable() for name, control in self.controls.items()},
            "how": list(self.how),
            "health": [remark.jsonable() for remark in self.health],
        }


# The tables


def _before_and_after(result: Retrained) -> Section:
    """Return the table of shares and accuracy before and after, with the rows, inputs and model that they are of."""
    loss, interval = result.loss, f"{percent(result.loss.confidence)} interval"
    rows = []
    for name, change in result.changes.items():
        shares = [(percent(share.value), between(share.low, share.high)) for share in (change.a, change.b)]
        rows.append([name, *shares[0], *shares[1], *_points(change.difference, change.low, change.high)])
    before, after = f"{result.accuracy_before:.2%}", f"{result.accuracy_after:.2%}"
    rows.append(["accuracy", before, "", after, "", *_points(loss.value, loss.low, loss.high)])
    columns = ["", "#before", interval, "#after", interval, "#points", f"{interval} (paired)"]
    if not result.accepted:
        rows, columns = [row[:3] for row in rows], ["", "#share", interval]
    if not result.is_reported:
        where = "on the rows and inputs to choose by, because it was interrupted before the report"
    elif result.on_fitted_rows:
        where = "on rows it was fitted to and on fresh inputs of the domain"
    else:
        where = "on rows and inputs that neither fitting nor choosing has seen"
    told = [Sentence(f"The share linked is that of {JUDGED['linked']}.")] if "linked" in result.before else []
    if not any(share.hits for share in result.after.values()):
        names = _sensitive(result)
        told += [Sentence(f"The output never changed with {names}. Another parameter may still stand in for {names}.")]
    return Section(f"Shares and accuracy, {where}", (Table.of(columns, rows), *told))


def _points(difference: float, low: float, high: float) -> list[str]:
    """Return a decrease (a fraction, and its interval) as the change in percentage points and its interval, in words.

    The sign is turned: a loss of 0.01 is "-1.00".
    """
    return [signed(-100 * difference), f"{signed(-100 * high)} to {signed(-100 * low)}"]


def _sensitive(result: Retrained) -> str:
    return " or ".join(result.before["rows"].sensitive)


def _models(result: Retrained, first: str, rows: Iterable[list[str]], more: Iterable[str] = ()) -> Table:
    """Return a table of models from rows made by `_row`: name, shares, accuracy, number of added rows, and `more`."""
    return Table.of([first, *(f"#{name}" for name in [*result.before, "accuracy", "rows added"]), *more], rows)


def _row(name: str, shares: Mapping[str, Share], accuracy: float, n_added: int, *more: str) -> list[str]:
    return [name, *(percent(share.value) for share in shares.values()), f"{accuracy:.2%}", f"{n_added:,}", *more]


def _controls(result: Retrained) -> Section:
    before = "the model given, on rows it knows" if result.on_fitted_rows and not result.accepted else "before"
    rows, why_not = [_row(before, result.before, result.accuracy_before, 0)], []
    if result.accepted:
        rows.append(_row("after", result.after, result.accuracy_after, result.n_added))
    for each in result.controls.values():
        if each.accuracy is None:
            why_not.append(Sentence(f"No figures for {each.words}: {each.why_not}"))
        else:
            rows.append(_row(each.words, each.shares, each.accuracy, each.n_added))
    title = "Other ways to train (controls), on the same inputs and rows"
    return Section(title, (_models(result, "", rows), *why_not))


def _groups(result: Retrained) -> Section:
    """Return the table of accuracy and rate of the favourable label by sensitive values, before and after."""
    groups = result.groups if result.accepted else result.groups.drop(columns=["accuracy_after", "selected_after"])
    shown = groups.nlargest(MOST_GROUPS, "n")
    rows = [[value(name), f"{n:,.0f}", *map("{:.2%}".format, of)] for name, n, *of in shown.itertuples()]
    hidden = len(groups) - len(shown)
    title = f"The {MOST_GROUPS} largest groups; {counted(hidden, 'smaller group')} not shown" if hidden else ""
    columns = [column.replace("selected", "label").replace("_", " ") for column in groups.columns[1:]]
    table = Table.of(["", "#rows", *(f"#{column}" for column in columns)], rows, title)
    heading = f"Accuracy, and how often the label is {value(result.favourable)}, by {_sensitive(result)}"
    return Section(heading, (table,))


def _rounds(result: Retrained) -> Section:
    """Return the table of all rounds, with notes on why some were rejected and which ones no other beats."""
    first, notes = result.first, []
    reference = "before" if result.before_is == result.compared_with else "clone"
    rows, rejected = [_row(reference, first.shares, first.accuracy, 0, "", "")], defaultdict(list)
    for each in result.rounds:
        fate = "returned" if each is result.chosen else "accepted" if each.accepted else "rejected"
        rows.append(_row(str(each.number), each.shares, each.accuracy, each.n_added, fate, each.recipe.words()))
        if not each.accepted:
            rejected[each.why].append(str(each.number))
    notes = [Sentence(f"Rejected {', '.join(numbers)}: {why}.") for why, numbers in rejected.items()]
    front = ", ".join(map(str, sorted(each.number for each in front_of(result.rounds))))
    notes.append(Sentence(f"Front: {front}. No round beats these in both what is left of the shares and accuracy."))
    table = _models(result, "round", rows, ["outcome", "what was added"])
    return Section("Rounds, on the rows and inputs to choose by", (table, *notes))
