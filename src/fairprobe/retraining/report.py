"""The report: the models before and after and the controls, judged on the report part, which is used once.

Controls are other simple ways to train, which are shown beside the result of a retraining.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes
from fairprobe.blocks import Remark
from fairprobe.clock import Clock
from fairprobe.domain.domain import Domain
from fairprobe.domain.values import in_dtype
from fairprobe.errors import FairprobeError
from fairprobe.model.adapters import Wrapper, adapter_for
from fairprobe.retraining.augmenting import MOST, Recipe, augmented
from fairprobe.retraining.judging import USUAL, Assessment, by_group, judge_of
from fairprobe.retraining.parts import LabelledRows
from fairprobe.retraining.retrained import CLONE, CONSTANT, GIVEN, Control, Retrained, recommended, why_none
from fairprobe.retraining.rounds import Reference, Round, Rounds, round_confidence
from fairprobe.wording import counted, percent

if TYPE_CHECKING:
    from fairprobe.retraining.retraining import Task


def reported(task: Task, reference: Reference, rounds: Rounds, *, with_controls: bool) -> Retrained:
    """Return the result of a retraining, after the models before and after were judged on the report part."""
    its, parts, chosen = task.settings, task.parts, rounds.chosen
    is_given = not task.refits or (chosen is None and reference.given is not None)
    # Without rows held out, the model given has seen the rows of the report.
    knows_report = task.refits and is_given
    model = task.model if chosen is None and is_given else rounds.model
    judge = judge_of(task, "report", reference.n_inputs["report"])
    before, after, is_reported = _judged(task, reference, rounds, judge, model)
    on_fitted_rows = bool(parts.known) or knows_report
    if on_fitted_rows:
        before, after = before.on_fitted_rows(), after.on_fitted_rows()
    controls: dict[str, Control] = {}
    if with_controls and is_reported:
        controls = tried_controls(task, reference, rounds, judge, with_clone=knows_report)
    # A model on rows that it was fitted to is no match for the controls; its clone is.
    clone = controls["clone"].judged if "clone" in controls else None
    limits = its.confidence, its.max_accuracy_loss
    best = recommended(controls, clone or after, *limits, is_given=chosen is None)
    shares = (*before.shares.values(), *after.shares.values())
    said = dict.fromkeys(remark for share in shares for remark in share.health)
    own = _remarks(task, reference, rounds, knows_report=knows_report, is_reported=is_reported)
    part = parts.report if is_reported else parts.select
    return Retrained(
        model=model,
        before=before.shares,
        after=after.shares,
        before_is=GIVEN if is_given else CLONE,
        compared_with=CLONE if task.refits else GIVEN,
        is_reported=is_reported,
        on_fitted_rows=on_fitted_rows,
        changes=before.against(after, its.confidence),
        accuracy_before=before.accuracy,
        accuracy_after=after.accuracy,
        loss=before.loss_to(after, its.confidence),
        groups=by_group(part, {"before": before, "after": after}, task.favourable),
        favourable=task.favourable,
        first=reference.judged,
        rounds=rounds.tried,
        chosen=chosen,
        max_accuracy_loss=its.max_accuracy_loss,
        controls=controls,
        recommended=best[0] if best else None,
        recommended_loss=best[1] if best else None,
        stop_reason=rounds.stop_reason,
        n_rows=parts.sizes,
        n_inputs=reference.n_inputs,
        n_cases=len(reference.pool.codes),
        seconds=task.budget.clock.seconds,
        seed=task.seed,
        how=tuple(_how(task, reference, is_given=is_given, is_reported=is_reported)),
        health=(*said, *own),
        failure=rounds.failure,
    )


def _judged(
    task: Task, reference: Reference, rounds: Rounds, judge: Callable[[Any], Assessment], model: Any
) -> tuple[Assessment, Assessment, bool]:
    """Return the figures of the model before and of the returned model, and True if they are on the report part.

    After an interruption they are on the select part.
    """
    task.tell("judging the report part")
    is_new, clock = rounds.chosen is not None, Clock()
    try:
        before = judge(reference.model if is_new else model)
        seconds = clock.seconds
        after = judge(model) if is_new else before
    except KeyboardInterrupt:
        rounds.stop_reason = "interrupted"
        before = reference.judged if is_new else reference.given or reference.judged
        return before, rounds.judged if is_new else before, False
    # Only controls follow; each takes a fit and a judgement on this part.
    task.budget.judgement = seconds
    return before, after, True


# What is said


def _how(task: Task, reference: Reference, *, is_given: bool, is_reported: bool) -> Iterator[str]:
    """Yield sentences on how a retraining measured the improvement of shares and the loss of accuracy."""
    settings, n = task.settings, reference.n_inputs
    fit, select, report = (f"{size:,}" for size in task.parts.sizes.values())
    yield f"Models were fitted to {fit} rows and chosen by {select} rows and {n['select']:,} inputs of the domain."
    if is_reported:
        yield f"For the report, the model itself judged {report} rows and {n['report']:,} fresh inputs."
    yield f"Before is {GIVEN if is_given else CLONE}."
    if task.refits and is_given:
        yield f"The rounds were compared with {CLONE}."
    if task.linked.links:
        links = "; ".join(link.words() for link in task.linked.links)
        yield f"Linked twins follow {links}. All other twins differ in {' or '.join(task.domain.sensitive)} alone."
    rule = "the estimated share of the domain was lower, whatever other shares did"
    if settings.accept == "shown":
        confidence = percent(round_confidence(settings, len(reference.judged.shares)))
        rule = f"a share was shown to be lower and none higher, with {confidence} confidence each"
    most = f"{100 * settings.max_accuracy_loss:.3g} points"
    yield f"A round was accepted if {rule}, and if the accuracy lost, by its estimate, was at most {most}."
    if settings.controls:
        yield (
            "A control that holds columns constant is recommended if, in pairs on the report's rows and inputs, no "
            f"share is shown to be higher and no accuracy to be lost, and if its estimated loss is at most {most}."
        )
    if any(getattr(settings, f"n_{part}") is None and n[part] < usual for part, usual in USUAL.items()):
        usual = f"{USUAL['select']:,} inputs to choose by and {USUAL['report']:,} to report on"
        yield f"max_seconds={settings.max_seconds:g} allows fewer than the usual {usual}."


def _remarks(
    task: Task, reference: Reference, rounds: Rounds, *, knows_report: bool, is_reported: bool
) -> Iterator[Remark]:
    """Yield remarks on a retraining that may be misunderstood, such as no accepted round or overlapping rows."""
    parts = task.parts
    if not is_reported:
        yield Remark("not-reported", "interrupted before the report: figures are on the rows and inputs to choose by")
    if rounds.failure is not None:
        yield Remark("round-failed", f"{rounds.failure}; the {counted(len(rounds.tried), 'round')} before it are kept")
    if rounds.chosen is None:
        returned = "a clone of the model given" if reference.given is None else GIVEN
        why = why_none(rounds.tried, rounds.stop_reason)
        yield Remark("not-retrained", f"no round was accepted, so {returned} is returned: {why}")
    if parts.known:
        which = f"{parts.known} rows to choose by and to report on are rows to fit to, or of their groups"
        figures = "accuracy, its loss and the share of the rows are on rows that the models were fitted to"
        yield Remark("rows-overlap", f"{which}: {figures}. Hold out other rows")
    if parts.copies > 1:
        text = f"every row is given {parts.copies} times: copies stay in one part, and figures count one of each"
        yield Remark("repeated-rows", text)
    if knows_report:
        figures = "its share of the rows and its accuracy are on rows it was fitted to; its share of the domain is not"
        yield Remark("fitted-rows", f"no rows were held out from the model: {figures}. Hold rows out by held_out")
    if rounds.n_left_out:
        longer = f"would have taken longer than was left of max_seconds={task.settings.max_seconds:g}"
        yield Remark("left-out", f"{counted(rounds.n_left_out, 'round')} {longer} and were left out")
    for text, n_fits in task.fitter.warned.most_common(3):
        yield Remark("fit-warning", f"{n_fits} of {len(task.fitter.times)} fits warned: {text}")


# Controls


Made = tuple[Any, int, str]
"""Result of a control's fit: the model, the number of added rows, and words to append to its description, or ""."""


def tried_controls(
    task: Task, reference: Reference, rounds: Rounds, judge: Callable[[Any], Assessment], *, with_clone: bool
) -> dict[str, Control]:
    """Fit and judge each control, and return the controls by name; one that fails states the reason in `why_not`.

    A clone is judged if the given model has seen the rows of the report and the new models have not.
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
    kept = model if control.name in CONSTANT else None
    return Control(control.name, control.words + how, kept, judged, n_added, clock.seconds)


def _tied(domain: Domain) -> list[str]:
    """Return the names of the sensitive columns, of those linked to them, and of those derived from linked columns."""
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

    Without a chosen round, the round with the lowest `left` takes its place. If no round was tried, it fails.
    """
    if chosen is None:
        raise FairprobeError("no round was tried")
    # Flipped rows alone leave no cases to replace, so inputs come with their twins.
    recipe = chosen.recipe if chosen.recipe.uses_cases else replace(chosen.recipe, parts=("twins",))
    seed, n_rows = task.next_stream("rounds"), len(task.parts.fit)

    def rows_with(codes: Codes) -> LabelledRows:
        return augmented(task, recipe, codes, reference.labeller, np.random.default_rng(seed))

    without = len(rows_with(reference.pool.codes[:0])) // recipe.copies
    wanted = (n_rows + chosen.n_added) // recipe.copies - without
    # Each input makes one row at least; whole families come as near as they can to the number wanted.
    codes = task.domain.sample_codes(max(1, wanted), np.random.default_rng(seed.spawn(1)[0]))
    of_each = ("case" in recipe.parts) + ("twins" in recipe.parts) * task.domain.families.of(codes).sizes
    rows = rows_with(codes[: int(np.abs(np.cumsum(of_each) - wanted).argmin()) + 1])
    n_added = len(rows) - n_rows
    return task.fitter.fit(rows), n_added, "" if n_added == chosen.n_added else ", as near as whole families allow"


def _all_cases(task: Task, reference: Reference) -> Made:
    """Return a model fitted with as many single cases added as there are training rows, or all cases that there are.

    The paper warns of this.
    """
    recipe, rng = Recipe(("case",), MOST), np.random.default_rng(task.next_stream("rounds"))
    codes = reference.pool.drawn(recipe, rng)
    if not len(codes):
        raise FairprobeError("there are no cases")
    rows = augmented(task, recipe, codes, reference.labeller, rng)
    return task.fitter.fit(rows), len(rows) - len(task.parts.fit), ""


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
