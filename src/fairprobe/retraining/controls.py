"""Controls: what else could have been done with as little effort. They stand beside every result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fairprobe.domain.domain import Domain
from fairprobe.domain.values import in_dtype
from fairprobe.errors import FairprobeError
from fairprobe.estimation.share import Share
from fairprobe.model.adapters import Wrapper, adapter_for
from fairprobe.retraining.augment import MOST, Draw, Recipe
from fairprobe.retraining.judging import Judge
from fairprobe.retraining.parts import LabelledRows

if TYPE_CHECKING:
    from fairprobe.retraining.loop import Loop

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
    """What was done."""
    shares: dict[str, Share] = field(default_factory=dict)
    accuracy: float | None = None
    n_added: int = 0
    seconds: float = 0.0
    why_not: str = ""
    """Why there are no figures."""

    def summary(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        return {
            "control": self.name,
            "words": self.words,
            "shares": {name: share.jsonable() for name, share in self.shares.items()},
            "accuracy": self.accuracy,
            "n_added": self.n_added,
            "seconds": self.seconds,
            "why_not": self.why_not,
        }


Made = tuple[Any, int, str]
"""A control's model, how many rows were added, and what was done if that is not what its name stands for."""


def tried_controls(loop: Loop, judge: Judge) -> dict[str, Control]:
    """Each is fitted and judged as the models were; one that fails says why."""
    makers: dict[str, Callable[[Loop], Made]] = {"constant": _constant, "random": _random, "all": _all_cases}
    if loop.linked is not None:
        makers = {"constant": _constant, "constant-linked": _all_constant, **makers}
    if loop.knows_report:
        # The others have not seen the rows that they are judged on: the model given is no match for them there.
        makers = {"clone": lambda loop: (loop.reference, 0, ""), **makers}
    controls: dict[str, Control] = {}
    try:
        for name, make in makers.items():
            controls[name] = _control(loop, judge, name, make)
    except KeyboardInterrupt:
        loop.stop_reason = "interrupted"
    return controls


def _control(loop: Loop, judge: Judge, name: str, make: Callable[[Loop], Made]) -> Control:
    if loop.clock.remaining < 0:
        return Control(name, WORDS[name], why_not="the time allowed was used up")
    if loop.clock.foreseen(len(loop.parts.fit)) > loop.clock.remaining:
        return Control(name, WORDS[name], why_not="it would not have fitted into the time that was left")
    loop.tell(f"control: {WORDS[name]}")
    begun = loop.clock.now()
    try:
        model, n_added, what = make(loop)
        judged = judge.judge(model)
    except FairprobeError as error:
        return Control(name, WORDS[name], seconds=loop.clock.now() - begun, why_not=str(error))
    return Control(name, what or WORDS[name], judged.shares, judged.accuracy, n_added, loop.clock.now() - begun)


def _constant(loop: Loop) -> Made:
    return _held(loop, loop.domain.sensitive)


def _all_constant(loop: Loop) -> Made:
    """What derives from a linked column changes along with it."""
    domain = loop.domain if loop.linked is None else loop.linked
    columns = dict.fromkeys(link.column for link in domain.links)
    derived = [domain.names[place] for place, source in domain.derived if domain.names[source] in columns]
    return _held(loop, [*domain.sensitive, *columns, *derived])


def _held(loop: Loop, names: Sequence[str]) -> Made:
    rows = loop.parts.fit
    values = commonest(loop.domain, rows, names)
    model = loop.fit(LabelledRows(held_constant(rows.frame, values), rows.labels, rows.weights))
    return HeldConstant(model, loop.domain, values), 0, ""


def _random(loop: Loop) -> Made:
    """The recipe that was chosen, or came nearest to it, with random inputs in the place of cases: as many rows."""
    if not loop.rounds:
        raise FairprobeError("no round was tried")
    tried = loop.chosen or min(loop.rounds, key=lambda each: each.left)
    recipe, what = tried.recipe, WORDS["random"]
    if not recipe.uses_cases:
        # Flipped rows alone leave no cases to replace: then inputs come with their twins.
        recipe, what = replace(recipe, parts=("twins",)), "as many rows of random inputs with twins"
    seed = loop.round_seeds.spawn(1)[0]
    n_rows = len(loop.parts.fit)
    wanted = (n_rows + tried.n_added) // recipe.copies - n_rows
    if recipe.uses_rows:
        flipped = replace(recipe, parts=tuple(part for part in recipe.parts if part in ("flip", "linked")), copies=1)
        wanted -= len(loop.augmenter.rows(flipped, loop.supply.draw, np.random.default_rng(seed))) - n_rows
    # So many rows, or as nearly as many as whole families make; each input makes one at least.
    codes = loop.domain.sample_codes(max(1, wanted), np.random.default_rng(seed.spawn(1)[0]))
    made = np.cumsum(loop.augmenter.rows_of_each(recipe, codes))
    codes = codes[: int(np.abs(made - wanted).argmin()) + 1]
    model, n_added = _augmented(loop, recipe, lambda *_: (codes, loop.labeller(codes)), seed)
    return model, n_added, what if n_added == tried.n_added else f"{what}, as near as whole families allow"


def _all_cases(loop: Loop) -> Made:
    """As the paper warns of: as many cases as there are training rows, or all there are, each by one member."""
    if not loop.supply.has_cases(len(loop.parts.fit)):
        raise FairprobeError("there are no cases")
    return *_augmented(loop, Recipe(("case",), MOST), loop.supply.draw, loop.round_seeds.spawn(1)[0]), ""


def _augmented(loop: Loop, recipe: Recipe, draw: Draw, seed: np.random.SeedSequence) -> tuple[Any, int]:
    rows = loop.augmenter.rows(recipe, draw, np.random.default_rng(seed))
    return loop.fit(rows), len(rows) - len(loop.parts.fit)


class HeldConstant(Wrapper):
    """A model that sees the same values of some columns whoever is asked about: twins in these can't differ.

    The columns stay, as pipelines and models that name a column could not be fitted without them.
    """

    def __init__(self, model: Any, domain: Domain, values: dict[str, Any]) -> None:
        super().__init__(model)
        self._values = values
        adapter = adapter_for(model)
        self._columns = list(adapter.columns or domain.names)
        self.categories_in_ = adapter.form(domain, None).categories
        """What it was fitted on stays known."""

    def _ask(self, function: Callable[[Any], Any], batch: Any) -> Any:
        if not isinstance(batch, np.ndarray):
            return function(held_constant(batch, self._values))
        held = batch.copy()
        for name, value in self._values.items():
            held[:, self._columns.index(name)] = value
        return function(held)


def commonest(domain: Domain, rows: LabelledRows, names: Sequence[str] | None = None) -> dict[str, Any]:
    """The commonest value of each sensitive parameter, or of those named, among the rows.

    The domain's first, if none is known.
    """
    modes = {name: rows.frame[name].mode().tolist() for name in names or domain.sensitive}
    return {name: values[0] if values else domain[name].decode(np.zeros(1, int))[0] for name, values in modes.items()}


def held_constant(frame: Any, values: dict[str, Any]) -> Any:
    """Rows with some columns' values replaced, in the columns' dtypes where they can hold these."""
    import pandas as pd

    changed = frame.copy()
    for name, value in values.items():
        changed[name] = in_dtype(pd.Series([value] * len(frame), index=frame.index), frame[name].dtype)
    return changed
