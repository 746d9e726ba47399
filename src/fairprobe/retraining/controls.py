"""Controls: other simple ways to train, judged on the report part and shown beside the result of a retraining."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from fairprobe.clock import Clock
from fairprobe.domain.domain import Domain
from fairprobe.domain.values import in_dtype
from fairprobe.errors import FairprobeError
from fairprobe.estimation.share import Share
from fairprobe.model.adapters import Wrapper, adapter_for
from fairprobe.retraining.judging import Assessment
from fairprobe.retraining.parts import LabelledRows
from fairprobe.retraining.recipes import MOST, Recipe
from fairprobe.retraining.rounds import Reference, Round, Rounds
from fairprobe.retraining.task import Task


@dataclass(frozen=True)
class Control:
    """Another way to train, with the figures of its model on the report part."""

    name: str
    words: str
    """The way to train, in words."""
    shares: dict[str, Share] = field(default_factory=dict)
    accuracy: float | None = None
    n_added: int = 0
    seconds: float = 0.0
    why_not: str = ""
    """Reason why there are no figures; empty if there are some."""

    def jsonable(self) -> dict[str, Any]:
        """The figures of the control as a dict for JSON."""
        told = {**vars(self), "shares": {name: share.jsonable() for name, share in self.shares.items()}}
        return {"control": told.pop("name"), **told}


Made = tuple[Any, int, str]
"""Result of a control's fit: the model, the number of added rows, and words to append to its description, or ""."""


def tried_controls(
    task: Task, reference: Reference, rounds: Rounds, judge: Callable[[Any], Assessment], *, with_clone: bool
) -> dict[str, Control]:
    """Fit and judge each control, and return them by name; one that fails states the reason in `why_not`.

    A clone is judged if the given model has seen the rows of the report and the other models have not.
    """
    tied, chosen = _tied(task.linked), rounds.chosen or min(rounds.tried, key=lambda each: each.left, default=None)
    cases = chosen is None or chosen.recipe.uses_cases
    random = "as many random inputs instead of cases" if cases else "as many rows of random inputs with twins"
    ways: dict[str, tuple[str, Callable[[], Made]]] = {
        "clone": ("a clone of the model given, nothing added", lambda: (reference.model, 0, "")),
        "constant": ("the sensitive parameters held constant", partial(_held, task, task.domain.sensitive)),
        "constant-linked": ("the sensitive parameters and what is linked held constant", partial(_held, task, tied)),
        "random": (random, partial(_random, task, reference, chosen)),
        "all": ("all cases at once", partial(_all_cases, task, reference)),
    }
    left_out = {"clone": not with_clone, "constant-linked": not task.linked.links}
    controls: dict[str, Control] = {}
    try:
        for name, (words, make) in ways.items():
            if not left_out.get(name):
                controls[name] = _control(task, judge, Control(name, words), make)
    except KeyboardInterrupt:
        rounds.stop_reason = "interrupted"
    return controls


def _control(task: Task, judge: Callable[[Any], Assessment], control: Control, make: Callable[[], Made]) -> Control:
    if task.budget.foreseen(len(task.parts.fit)) > task.budget.clock.left:
        return replace(control, why_not="it would not have fitted into the time that was left")
    task.tell(f"control: {control.words}")
    clock = Clock()
    try:
        model, n_added, how = make()
        judged = judge(model)
    except FairprobeError as error:
        return replace(control, seconds=clock.seconds, why_not=str(error))
    return Control(control.name, control.words + how, judged.shares, judged.accuracy, n_added, clock.seconds)


def _tied(domain: Domain) -> list[str]:
    """Return the names of the sensitive columns, of those linked to them, and of those derived from linked ones."""
    linked = dict.fromkeys(link.column for link in domain.links)
    derived = [domain.names[place] for place, source in domain.derived if domain.names[source] in linked]
    return [*domain.sensitive, *linked, *derived]


def _held(task: Task, names: Sequence[str]) -> Made:
    rows = task.parts.fit
    values = commonest(rows, names)
    model = task.fitter.fit(replace(rows, frame=held_constant(rows.frame, values)))
    return HeldConstant(model, task.domain, values), 0, ""


def _random(task: Task, reference: Reference, chosen: Round | None) -> Made:
    """Return a model fitted with about as many added rows as in the chosen round, but random inputs in place of cases.

    Without a chosen round, it follows the round with the smallest shares. Without any, it fails.
    """
    if chosen is None:
        raise FairprobeError("no round was tried")
    # Flipped rows alone leave no cases to replace, so inputs come with their twins.
    recipe = chosen.recipe if chosen.recipe.uses_cases else replace(chosen.recipe, parts=("twins",))
    make, seed, n_rows = reference.augmenter.rows, task.next_stream("rounds"), len(task.parts.fit)
    wanted = (n_rows + chosen.n_added) // recipe.copies - n_rows
    if recipe.uses_rows:
        flipped = replace(recipe, parts=tuple(part for part in recipe.parts if part in ("flip", "linked")), copies=1)
        wanted -= len(make(flipped, np.random.default_rng(seed))) - n_rows
    # Each input makes one row at least; whole families come as near as they can to the number wanted.
    codes = task.domain.sample_codes(max(1, wanted), np.random.default_rng(seed.spawn(1)[0]))
    of_each = ("case" in recipe.parts) + ("twins" in recipe.parts) * task.domain.families.of(codes).sizes
    made = np.cumsum(of_each)
    codes = codes[: int(np.abs(made - wanted).argmin()) + 1]
    rows = make(recipe, np.random.default_rng(seed), codes)
    n_added = len(rows) - n_rows
    return task.fitter.fit(rows), n_added, "" if n_added == chosen.n_added else ", as near as whole families allow"


def _all_cases(task: Task, reference: Reference) -> Made:
    """Return a model fitted with as many single cases added as there are training rows, or all cases that there are.

    The paper warns of this.
    """
    augmenter, n_rows = reference.augmenter, len(task.parts.fit)
    if not len(augmenter.pool.grow(n_rows)):
        raise FairprobeError("there are no cases")
    rows = augmenter.rows(Recipe(("case",), MOST), np.random.default_rng(task.next_stream("rounds")))
    return task.fitter.fit(rows), len(rows) - n_rows, ""


class HeldConstant(Wrapper):
    """A model that gets constant values of some columns, so that twins in these columns cannot differ.

    The columns stay, because a pipeline that names a column could not be fitted without it.
    """

    def __init__(self, model: Any, domain: Domain, values: dict[str, Any]) -> None:
        super().__init__(model)
        self._values = values
        adapter = adapter_for(model)
        self._columns = list(adapter.columns or domain.names)
        self.categories_in_ = adapter.form(domain, None).categories
        """Categories that the model was fitted on, by column."""

    def _ask(self, function: Callable[[Any], Any], batch: Any) -> Any:
        if not isinstance(batch, np.ndarray):
            return function(held_constant(batch, self._values))
        held = batch.copy()
        for name, value in self._values.items():
            held[:, self._columns.index(name)] = value
        return function(held)


def commonest(rows: LabelledRows, names: Sequence[str]) -> dict[str, Any]:
    """Return the most common value of each named column, by name; the domain's first value if all are missing."""
    modes = {name: rows.frame[name].mode().tolist() for name in names}
    domain = rows.domain
    return {name: values[0] if values else domain[name].decode(np.zeros(1, int))[0] for name, values in modes.items()}


def held_constant(frame: Any, values: dict[str, Any]) -> Any:
    """Return a frame with the given columns set to constant values, in the columns' dtypes if these can hold them."""
    import pandas as pd

    held = {name: pd.Series([value] * len(frame), index=frame.index) for name, value in values.items()}
    return frame.assign(**{name: in_dtype(column, frame[name].dtype) for name, column in held.items()})
