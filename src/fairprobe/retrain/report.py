"""The report: the model before, the model after and the controls on the report part, touched once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes
from fairprobe.errors import FairprobeError
from fairprobe.retrain.amounts import N_REPORT, N_SELECT
from fairprobe.retrain.augment import Draw
from fairprobe.retrain.controls import FLIPPED, NEARLY, WORDS, Control, HeldConstant, commonest, held_constant
from fairprobe.retrain.judging import Judge, Judged, by_group
from fairprobe.retrain.parts import Rows
from fairprobe.retrain.recipe import MOST, Recipe
from fairprobe.retrain.retrained import CLONE, GIVEN, Remark, Retrained, why_none
from fairprobe.retrain.rounds import Round

if TYPE_CHECKING:
    from fairprobe.retrain.loop import Loop


def make(loop: Loop, *, with_controls: bool) -> Retrained:
    """Judge once more, on what nothing has seen, and put all together."""
    materials, settings = loop.materials, loop.settings
    part = materials.parts.report
    judge = Judge(materials.domain, part, loop.n_report, loop.report_seed, settings.how)
    before, after, is_reported = _judged(loop, judge)
    controls = _controls(loop, judge) if with_controls and is_reported else {}
    return Retrained(
        model=loop.original if loop.chosen is None else loop.current,
        accepted=loop.chosen is not None,
        before=before.shares,
        after=after.shares,
        before_is=_before_is(loop),
        compared_with=CLONE if loop.refits else GIVEN,
        is_reported=is_reported,
        on_fitted_rows=_on_fitted_rows(loop),
        changes=before.against(after, settings.how.confidence),
        accuracy_before=before.accuracy,
        accuracy_after=after.accuracy,
        loss=before.loss_to(after, settings.how.confidence),
        groups=by_group(
            materials.domain,
            part if is_reported else materials.parts.select,
            {"before": before, "after": after},
            materials.favourable,
        ),
        favourable=materials.favourable,
        first=loop.first,
        rounds=loop.rounds,
        chosen=loop.chosen,
        max_accuracy_loss=settings.max_accuracy_loss,
        controls=controls,
        stop_reason=loop.stop_reason,
        n_rows={name: len(getattr(materials.parts, name)) for name in ("fit", "select", "report")},
        n_inputs={"select": loop.n_select, "report": loop.n_report},
        n_cases=loop.supply.n_cases,
        seconds=loop.clock.seconds,
        seed=materials.seed,
        how=_how(loop, is_reported=is_reported),
        health=(*_of_shares(before, after), *_health(loop, is_reported=is_reported)),
        failure=loop.failure,
    )


def _judged(loop: Loop, judge: Judge) -> tuple[Judged, Judged, bool]:
    """The model before and the one that is returned; interrupted, as they were judged on the select part."""
    loop.tell("judging the report part")
    begun = loop.clock.now()
    try:
        if loop.chosen is None:
            before = after = judge.judge(loop.original)
        else:
            before, after = judge.judge(loop.reference), judge.judge(loop.current)
    except KeyboardInterrupt:
        loop.stop_reason = "interrupted"
        if loop.chosen is None:
            return loop.given or loop.first, loop.given or loop.first, False
        return loop.first, loop.current_judged, False
    loop.clock.keep(0.0)
    loop.clock.judged((loop.clock.now() - begun) / (1 if loop.chosen is None else 2))
    return before, after, True


def _before_is(loop: Loop) -> str:
    is_given = not loop.refits or (loop.chosen is None and loop.given is not None)
    return GIVEN if is_given else CLONE


def _on_fitted_rows(loop: Loop) -> bool:
    """Whether the model given is what the figures are of, though it has seen the rows that are kept apart."""
    return loop.refits and _before_is(loop) == GIVEN


Made = tuple[Any, int, str]
"""A control's model, how many rows were added, and what was done if that is not what its name stands for."""


def _controls(loop: Loop, judge: Judge) -> dict[str, Control]:
    """Each is fitted and judged as the models were; one that fails says why."""
    makers: dict[str, Callable[[], Made]] = {
        "constant": lambda: _held_constant(loop),
        "random": lambda: _random(loop),
        "all": lambda: _all_cases(loop),
    }
    if _on_fitted_rows(loop):
        # The others have not seen the rows that they are judged on: the model given is no match for them there.
        makers = {"clone": lambda: (loop.reference, 0, ""), **makers}
    controls: dict[str, Control] = {}
    try:
        for name, make in makers.items():
            controls[name] = _control(loop, judge, name, make)
    except KeyboardInterrupt:
        loop.stop_reason = "interrupted"
    return controls


def _control(loop: Loop, judge: Judge, name: str, make: Callable[[], Made]) -> Control:
    if loop.clock.is_spent():
        return Control(name, {}, None, 0, 0.0, "the time allowed was used up")
    if loop.clock.is_too_short_for_control(len(loop.materials.parts.fit)):
        return Control(name, {}, None, 0, 0.0, "it would not have fitted into the time that was left")
    loop.tell(f"control: {WORDS[name]}")
    begun = loop.clock.now()
    try:
        model, n_added, what = make()
        judged = judge.judge(model)
    except FairprobeError as error:
        return Control(name, {}, None, 0, loop.clock.now() - begun, str(error))
    return Control(name, judged.shares, judged.accuracy, n_added, loop.clock.now() - begun, what=what)


def _held_constant(loop: Loop) -> Made:
    domain, rows = loop.materials.domain, loop.materials.parts.fit
    values = commonest(domain, rows)
    held = Rows(held_constant(rows.frame, values), rows.labels, rows.weights)
    return HeldConstant(loop.fit(held), domain, values), 0, ""


def _random(loop: Loop) -> Made:
    """The recipe that was chosen, or came nearest to it, with random inputs in the place of cases: as many rows."""
    tried = _tried(loop)
    # Flipped rows alone leave no cases to replace: then inputs come with their twins.
    recipe = tried.recipe if tried.recipe.uses_cases else replace(tried.recipe, parts=("twins",))
    seed = loop.round_seeds.spawn(1)[0]
    n_rows = len(loop.materials.parts.fit)
    wanted = (n_rows + tried.n_added) // recipe.copies - n_rows
    if "flip" in recipe.parts:
        flipped = replace(recipe, parts=("flip",), copies=1)
        wanted -= len(loop.augmenter.rows(flipped, loop.supply.draw, np.random.default_rng(seed))) - n_rows
    codes = _inputs_for(loop, recipe, wanted, np.random.default_rng(seed.spawn(1)[0]))
    model, n_added = _augmented(loop, recipe, lambda *_: (codes, loop.labeller.votes(codes)), seed)
    what = WORDS["random"] if tried.recipe.uses_cases else FLIPPED
    return model, n_added, what if n_added == tried.n_added else f"{what}, {NEARLY}"


def _inputs_for(loop: Loop, recipe: Recipe, n_rows: int, rng: np.random.Generator) -> Codes:
    """Random inputs of which the recipe makes so many rows, or as nearly as many as whole families do; one at least."""
    codes = loop.materials.domain.sample_codes(max(1, n_rows), rng)  # each makes a row at least
    made = np.cumsum(loop.augmenter.rows_of_each(recipe, codes))
    return codes[: int(np.abs(made - n_rows).argmin()) + 1]


def _all_cases(loop: Loop) -> Made:
    """As the paper warns of: as many cases as there are training rows, or all there are, each by one member."""
    if not loop.supply.has_cases(len(loop.materials.parts.fit)):
        raise FairprobeError("there are no cases")
    return *_augmented(loop, Recipe(("case",), MOST), loop.supply.draw, loop.round_seeds.spawn(1)[0]), ""


def _tried(loop: Loop) -> Round:
    if not loop.rounds:
        raise FairprobeError("no round was tried")
    return loop.chosen or min(loop.rounds, key=lambda each: each.left)


def _augmented(loop: Loop, recipe: Recipe, draw: Draw, seed: np.random.SeedSequence) -> tuple[Any, int]:
    rows = loop.augmenter.rows(recipe, draw, np.random.default_rng(seed))
    return loop.fit(rows), len(rows) - len(loop.materials.parts.fit)


def _how(loop: Loop, *, is_reported: bool) -> tuple[str, ...]:
    """How improvement and loss were measured."""
    parts = loop.materials.parts
    reported = f"reported on {len(parts.report):,} others and {loop.n_report:,} fresh inputs, by the model itself"
    return (
        f"models were fitted to {len(parts.fit):,} rows, chosen by {len(parts.select):,} others and "
        f"{loop.n_select:,} inputs of the domain, and "
        + (reported if is_reported else "not reported on others, as it was interrupted"),
        _what_is_before(loop),
        "an improvement is the share before less the share after on the same inputs, with a paired interval",
        *_acceptance(loop),
        *_lowered(loop),
    )


def _lowered(loop: Loop) -> tuple[str, ...]:
    """That there would have been more inputs with more time."""
    settings, limit = loop.settings, loop.settings.max_seconds
    is_lower = (settings.n_select is None and loop.n_select < N_SELECT) or (
        settings.n_report is None and loop.n_report < N_REPORT
    )
    usual = f"{N_SELECT:,} inputs to choose by and {N_REPORT:,} to report on"
    return (f"there are fewer inputs than the usual {usual}, as max_seconds={limit:g} needs it",) if is_lower else ()


def _what_is_before(loop: Loop) -> str:
    if _on_fitted_rows(loop):
        return (
            f"before and after are {GIVEN}: its share of the rows and its accuracy are on rows it was fitted to; the "
            f"rounds were compared with {CLONE}"
        )
    returned = " and is returned" if loop.chosen is None and loop.given is None else ""
    return f"before is {_before_is(loop)}{returned}"


def _acceptance(loop: Loop) -> tuple[str, ...]:
    settings = loop.settings
    if settings.accept == "paper":
        return ("a round was accepted if the estimated share of the domain was lower, whatever else changed",)
    return (
        f"a round was accepted if a share was shown to be lower and none higher, at {100 * loop.rule.confidence:.4g}% "
        f"each, so that all rounds together keep {100 * settings.how.confidence:.4g}%",
        f"the accuracy lost, on the same rows, had to be at most {100 * settings.max_accuracy_loss:.3g} points, by "
        + ("the upper end of its paired interval" if settings.prove_accuracy else "its estimate"),
    )


def _of_shares(*judged: Judged) -> list[Remark]:
    """What was to be said of the shares, once."""
    return list(dict.fromkeys(remark for each in judged for share in each.shares.values() for remark in share.health))


def _health(loop: Loop, *, is_reported: bool) -> list[Remark]:
    remarks = []
    if not is_reported:
        remarks.append(
            ("not-reported", "interrupted before the report: the figures are on the rows and inputs to choose by")
        )
    if loop.failure is not None:
        remarks.append(("round-failed", f"{loop.failure}; what came before is kept: {len(loop.rounds)} rounds"))
    if loop.chosen is None:
        returned = GIVEN if loop.given is not None else "a clone of it, fitted to the fit part,"
        why = why_none(loop.rounds, loop.stop_reason)
        remarks.append(("not-retrained", f"no round was accepted, so {returned} is returned: {why}"))
    if _on_fitted_rows(loop):
        remarks.append(
            (
                "fitted-rows",
                "no rows were held out, so the model's share of the rows and its accuracy are on rows it was fitted "
                "to; its share of the domain is not: hold rows out by held_out",
            )
        )
    if loop.left_out:
        remarks.append(("left-out", _left_out(loop)))
    trainer = loop.materials.trainer
    for text, n in trainer.said.most_common(3):
        remarks.append(("fit-warning", f"{n} of {trainer.n_fits} fits warned: {text}"))
    return remarks


def _left_out(loop: Loop) -> str:
    recipes = "; ".join(recipe.words() for recipe in loop.left_out)
    return (
        f"{len(loop.left_out)} rounds were foreseen to take longer than was left of max_seconds="
        f"{loop.settings.max_seconds:g}, and were left out: {recipes}"
    )
