"""The report: the model before, the model after and the controls on the report part, touched once."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.domain.parameters import Codes
from fairprobe.errors import FairprobeError
from fairprobe.retrain.controls import WORDS, Control, HeldConstant, commonest, held_constant
from fairprobe.retrain.judging import Judge, Judged, by_group
from fairprobe.retrain.labels import Votes
from fairprobe.retrain.parts import Rows
from fairprobe.retrain.recipe import MOST, Recipe
from fairprobe.retrain.retrained import STOPPED, Remark, Retrained

if TYPE_CHECKING:
    from fairprobe.retrain.loop import Loop


def make(loop: Loop, *, with_controls: bool) -> Retrained:
    """Judge once more, on what nothing has seen, and put all together."""
    materials, settings = loop.materials, loop.settings
    part = materials.parts.report
    judge = Judge(materials.domain, part, loop.n_report, loop.report_seed, settings.how)
    before, after, is_reported = _judged(loop, judge)
    controls = _controls(loop, judge) if with_controls and is_reported else {}
    original = materials.model if materials.is_fitted else loop.reference
    return Retrained(
        model=original if loop.chosen is None else loop.current,
        accepted=loop.chosen is not None,
        before=before.shares,
        after=after.shares,
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
        n_cases=loop.supply.n_cases,
        seconds=loop.clock.seconds,
        seed=materials.seed,
        how=_how(loop),
        health=tuple(_health(loop, is_reported=is_reported)),
        failure=loop.failure,
    )


def _judged(loop: Loop, judge: Judge) -> tuple[Judged, Judged, bool]:
    """The model before and after; interrupted, as they were judged on the select part."""
    loop.tell("judging the report part")
    try:
        before = judge.judge(loop.reference)
        return before, before if loop.chosen is None else judge.judge(loop.current), True
    except KeyboardInterrupt:
        loop.stop_reason = "interrupted"
        return loop.first, loop.current_judged, False


def _controls(loop: Loop, judge: Judge) -> dict[str, Control]:
    """Each is fitted and judged as the models were; one that fails says why."""
    makers: dict[str, Callable[[], tuple[Any, int]]] = {
        "constant": lambda: _held_constant(loop),
        "random": lambda: _random(loop),
        "all": lambda: _all_cases(loop),
    }
    controls: dict[str, Control] = {}
    try:
        for name, make in makers.items():
            controls[name] = _control(loop, judge, name, make)
    except KeyboardInterrupt:
        loop.stop_reason = "interrupted"
    return controls


def _control(loop: Loop, judge: Judge, name: str, make: Callable[[], tuple[Any, int]]) -> Control:
    if loop.clock.is_spent():
        return Control(name, {}, None, 0, 0.0, "the time allowed was used up")
    loop.tell(f"control: {WORDS[name]}")
    begun = time.monotonic()
    try:
        model, n_added = make()
        judged = judge.judge(model)
    except FairprobeError as error:
        return Control(name, {}, None, 0, time.monotonic() - begun, str(error))
    return Control(name, judged.shares, judged.accuracy, n_added, time.monotonic() - begun)


def _held_constant(loop: Loop) -> tuple[Any, int]:
    domain, rows = loop.materials.domain, loop.materials.parts.fit
    values = commonest(domain, rows)
    held = Rows(held_constant(rows.frame, values), rows.labels, rows.weights)
    return HeldConstant(loop.fit(held), domain, values), 0


def _random(loop: Loop) -> tuple[Any, int]:
    """The recipe that was chosen, or came nearest to it, with random inputs in the place of cases."""
    tried = _tried(loop)
    # Flipped rows alone leave no cases to replace: then as many inputs come with their twins.
    recipe = tried if tried.uses_cases else replace(tried, parts=("twins",), percent=tried.flipped)

    def draw(n: int, rng: np.random.Generator) -> tuple[Codes, Votes]:
        n = min(n, loop.supply.n_cases) if tried.uses_cases else n
        codes = loop.materials.domain.sample_codes(n, rng)
        return codes, loop.labeller.votes(codes)

    return _augmented(loop, recipe, draw)


def _all_cases(loop: Loop) -> tuple[Any, int]:
    """As the paper warns of: as many cases as there are training rows, or all there are, each by one member."""
    if not loop.supply.has_cases(len(loop.materials.parts.fit)):
        raise FairprobeError("there are no cases")
    return _augmented(loop, Recipe(("case",), MOST), loop.supply.draw)


def _tried(loop: Loop) -> Recipe:
    if not loop.rounds:
        raise FairprobeError("no round was tried")
    return (loop.chosen or min(loop.rounds, key=lambda each: each.left)).recipe


def _augmented(loop: Loop, recipe: Recipe, draw: Any) -> tuple[Any, int]:
    rng = np.random.default_rng(loop.round_seeds.spawn(1)[0])
    rows = loop.augmenter.rows(recipe, draw, rng)
    return loop.fit(rows), len(rows) - len(loop.materials.parts.fit)


def _how(loop: Loop) -> tuple[str, ...]:
    """How improvement and loss were measured."""
    parts = loop.materials.parts
    refitted = "a clone of the model given, fitted to the same rows as the new models"
    return (
        f"models were fitted to {len(parts.fit):,} rows, chosen by {len(parts.select):,} others and "
        f"{loop.n_select:,} inputs of the domain, and reported on {len(parts.report):,} others and "
        f"{loop.n_report:,} fresh inputs, by the model itself",
        f"before is {'the model given' if loop.reference is loop.materials.model else refitted}",
        "an improvement is the share before less the share after on the same inputs, with a paired interval",
        *_acceptance(loop),
    )


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


def _health(loop: Loop, *, is_reported: bool) -> list[Remark]:
    remarks = []
    if not is_reported:
        remarks.append(
            ("not-reported", "interrupted before the report: the figures are those that the model was chosen by")
        )
    if loop.failure is not None:
        remarks.append(("round-failed", f"{loop.failure}; what came before is kept: {len(loop.rounds)} rounds"))
    if loop.chosen is None:
        why = loop.rounds[-1].why if loop.rounds else STOPPED[loop.stop_reason]
        remarks.append(("not-retrained", f"no round was accepted, so the model given is returned: {why}"))
    trainer = loop.materials.trainer
    for text, n in trainer.said.most_common(3):
        remarks.append(("fit-warning", f"{n} of {trainer.n_fits} fits warned: {text}"))
    return remarks
