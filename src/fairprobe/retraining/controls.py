"""Controls: other ways to train that take as little effort. Every result shows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import numpy as np

from fairprobe.clock import Clock
from fairprobe.domain.domain import Domain
from fairprobe.domain.values import in_dtype
from fairprobe.errors import FairprobeError
from fairprobe.estimation.share import Share
from fairprobe.model.adapters import Wrapper, adapter_for
from fairprobe.retraining.judging import Judge
from fairprobe.retraining.parts import LabelledRows
from fairprobe.retraining.recipes import MOST, Recipe
from fairprobe.retraining.rounds import Rounds
from fairprobe.retraining.task import Task

WORDS: Final = {
    "constant": "the sensitive parameters held constant",
    "constant-linked": "the sensitive parameters and what is linked held constant",
    "random": "as many random inputs instead of cases",
    "all": "all cases at once",
    "clone": "a clone of the model given, nothing added",
}


@dataclass(frozen=True)
class Control:
    """Another way to train, judged on the report part."""

    name: str
    words: str
    """The way to train, in words."""
    shares: dict[str, Share] = field(default_factory=dict)
    accuracy: float | None = None
    n_added: int = 0
    seconds: float = 0.0
    why_not: str = ""
    """The reason why there are no figures."""

    def jsonable(self) -> dict[str, Any]:
        """The figures as plain values of JSON."""
        told = {**vars(self), "shares": {name: share.jsonable() for name, share in self.shares.items()}}
        return {"control": told.pop("name"), **told}


Made = tuple[Any, int, str]
"""A control's model, the number of rows added, and what was done if `WORDS` does not say it exactly."""


def tried_controls(rounds: Rounds, judge: Judge, *, with_clone: bool) -> dict[str, Control]:
    """Fit and judge each control. A control that fails says why.

    The clone is judged where the model given has seen the rows of the report and the other models have not.
    """
    task = rounds.task
    makers: dict[str, Callable[[], Made]] = {
        **({"clone": lambda: (rounds.reference, 0, "")} if with_clone else {}),
        "constant": partial(_held, task, task.domain.sensitive),
        **({} if task.linked is None else {"constant-linked": partial(_held, task, _tied(task.linked))}),
        "random": partial(_random, rounds),
        "all": partial(_all_cases, rounds),
    }
    controls: dict[str, Control] = {}
    try:
        for name, make in makers.items():
            controls[name] = _control(task, judge, name, make)
    except KeyboardInterrupt:
        rounds.stop_reason = "interrupted"
    return controls


def _control(task: Task, judge: Judge, name: str, make: Callable[[], Made]) -> Control:
    if task.budget.foreseen(len(task.parts.fit)) > task.budget.clock.left:
        return Control(name, WORDS[name], why_not="it would not have fitted into the time that was left")
    task.tell(f"control: {WORDS[name]}")
    clock = Clock()
    try:
        model, n_added, words = make()
        judged = judge.judge(model)
    except FairprobeError as error:
        return Control(name, WORDS[name], seconds=clock.seconds, why_not=str(error))
    return Control(name, words or WORDS[name], judged.shares, judged.accuracy, n_added, clock.seconds)


def _tied(domain: Domain) -> list[str]:
    """The sensitive columns, the linked ones, and those derived from linked ones."""
    linked = dict.fromkeys(link.column for link in domain.links)
    derived = [domain.names[place] for place, source in domain.derived if domain.names[source] in linked]
    return [*domain.sensitive, *linked, *derived]


def _held(task: Task, names: Sequence[str]) -> Made:
    rows = task.parts.fit
    values = commonest(task.domain, rows, names)
    model = task.fitter.fit(replace(rows, frame=held_constant(rows.frame, values)))
    return HeldConstant(model, task.domain, values), 0, ""


def _random(rounds: Rounds) -> Made:
    """The recipe that was chosen, or came nearest to it, with as many rows made of random inputs instead of cases."""
    if not rounds.tried:
        raise FairprobeError("no round was tried")
    tried = rounds.chosen or min(rounds.tried, key=lambda each: each.left)
    recipe, words = tried.recipe, WORDS["random"]
    if not recipe.uses_cases:
        # Flipped rows alone leave no cases to replace, so inputs come with their twins.
        recipe, words = replace(recipe, parts=("twins",)), "as many rows of random inputs with twins"
    task, pool, make = rounds.task, rounds.pool, rounds.augmenter.rows
    seed, n_rows = task.seeds.rounds.spawn(1)[0], len(task.parts.fit)
    wanted = (n_rows + tried.n_added) // recipe.copies - n_rows
    if recipe.uses_rows:
        flipped = replace(recipe, parts=tuple(part for part in recipe.parts if part in ("flip", "linked")), copies=1)
        wanted -= len(make(flipped, pool.draw, np.random.default_rng(seed))) - n_rows
    # Each input makes one row at least; whole families come as near as they can to the number wanted.
    codes = task.domain.sample_codes(max(1, wanted), np.random.default_rng(seed.spawn(1)[0]))
    made = np.cumsum(rounds.augmenter.rows_of_each(recipe, codes))
    codes = codes[: int(np.abs(made - wanted).argmin()) + 1]
    rows = make(recipe, lambda *_: (codes, pool.labeller(codes)), np.random.default_rng(seed))
    n_added = len(rows) - n_rows
    as_near = "" if n_added == tried.n_added else ", as near as whole families allow"
    return task.fitter.fit(rows), n_added, f"{words}{as_near}"


def _all_cases(rounds: Rounds) -> Made:
    """Add as many single cases as there are training rows, or all there are. The paper warns of this."""
    n_rows = len(rounds.task.parts.fit)
    if not rounds.pool.has_cases(n_rows):
        raise FairprobeError("there are no cases")
    rows = rounds.augmented(Recipe(("case",), MOST))
    return rounds.task.fitter.fit(rows), len(rows) - n_rows, ""


class HeldConstant(Wrapper):
    """A model that sees constant values of some columns, so that twins in these columns cannot differ.

    The columns stay, because a pipeline that names a column could not be fitted without it.
    """

    def __init__(self, model: Any, domain: Domain, values: dict[str, Any]) -> None:
        super().__init__(model)
        self._values = values
        adapter = adapter_for(model)
        self._columns = list(adapter.columns or domain.names)
        self.categories_in_ = adapter.form(domain, None).categories
        """The categories that the model was fitted on."""

    def _ask(self, function: Callable[[Any], Any], batch: Any) -> Any:
        if not isinstance(batch, np.ndarray):
            return function(held_constant(batch, self._values))
        held = batch.copy()
        for name, value in self._values.items():
            held[:, self._columns.index(name)] = value
        return function(held)


def commonest(domain: Domain, rows: LabelledRows, names: Sequence[str]) -> dict[str, Any]:
    """The commonest value of each column among the rows; the domain's first value if none is known."""
    modes = {name: rows.frame[name].mode().tolist() for name in names}
    return {name: values[0] if values else domain[name].decode(np.zeros(1, int))[0] for name, values in modes.items()}


def held_constant(frame: Any, values: dict[str, Any]) -> Any:
    """Rows with constant values in some columns, in the columns' dtypes where these can hold the values."""
    import pandas as pd

    held = {name: pd.Series([value] * len(frame), index=frame.index) for name, value in values.items()}
    return frame.assign(**{name: in_dtype(column, frame[name].dtype) for name, column in held.items()})
