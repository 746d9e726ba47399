"""The report: the model before, the model after and the controls on the report part, touched once."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.domain.parameters import Codes
from fairprobe.errors import FairprobeError
from fairprobe.retrain.controls import WORDS, Control, HeldConstant, rows_held_constant
from fairprobe.retrain.judging import Judge, by_group
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
    loop.tell("judging the report part")
    before = judge.judge(loop.reference)
    after = before if loop.chosen is None else judge.judge(loop.current)
    controls = _controls(loop, judge) if with_controls else {}
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
        groups=by_group(materials.domain, part, {"before": before, "after": after}, materials.favourable),
        favourable=materials.favourable,
        first=loop.first,
        rounds=loop.rounds,
        chosen=loop.chosen,
        max_accuracy_loss=settings.max_accuracy_loss,
        controls=controls,
        stop_reason=loop.stop_reason,
        n_rows={name: len(getattr(materials.parts, name)) for name in ("fit", "select", "report")},
        n_cases=0 if loop.supply.codes is None else len(loop.supply.codes),
        seconds=loop.clock.seconds,
        seed=materials.seed,
        how=_how(loop),
        health=tuple(_health(loop)),
        failure=loop.failure,
    )


def _controls(loop: Loop, judge: Judge) -> dict[str, Control]:
    """Each is fitted and judged as the models were; one that fails says why."""
    makers: dict[str, Callable[[], tuple[Any, int]]] = {
        "constant": lambda: _held_constant(loop),
        "random": lambda: _random(loop),
        "all": lambda: _all_cases(loop),
    }
    controls = {}
    for name, make in makers.items():
        loop.tell(f"control: {WORDS[name]}")
        begun = time.monotonic()
        try:
            model, n_added = make()
            judged = judge.judge(model)
        except FairprobeError as error:
            controls[name] = Control(name, {}, None, 0, time.monotonic() - begun, str(error))
        else:
            controls[name] = Control(name, judged.shares, judged.accuracy, n_added, time.monotonic() - begun)
    return controls


def _held_constant(loop: Loop) -> tuple[Any, int]:
    domain = loop.materials.domain
    rows = rows_held_constant(domain, loop.materials.parts.fit)
    return HeldConstant(_fit(loop, rows), domain), 0


def _random(loop: Loop) -> tuple[Any, int]:
    """The recipe that was chosen, or came nearest to it, with random inputs in the place of cases."""
    recipe = _recipe(loop)

    def draw(n: int, rng: np.random.Generator) -> tuple[Codes, Votes]:
        codes = loop.materials.domain.sample_codes(n, rng)
        return codes, loop.labeller.votes(codes)

    return _augmented(loop, recipe, draw)


def _all_cases(loop: Loop) -> tuple[Any, int]:
    """As the paper warns of: as many cases as there are training rows, or all there are, each by one member."""
    if not loop.supply.has_cases(len(loop.materials.parts.fit)):
        raise FairprobeError("there are no cases")
    return _augmented(loop, Recipe(("case",), MOST), loop.supply.draw)


def _recipe(loop: Loop) -> Recipe:
    tried = [loop.chosen] if loop.chosen else sorted(loop.rounds, key=lambda each: each.left)[:1]
    if not tried:
        raise FairprobeError("no round was tried")
    recipe = tried[0].recipe
    # Flipped rows alone leave no cases to replace: then as many inputs come with their twins.
    return recipe if recipe.uses_cases else replace(recipe, parts=("twins",), percent=recipe.flipped)


def _augmented(loop: Loop, recipe: Recipe, draw: Any) -> tuple[Any, int]:
    rng = np.random.default_rng(loop.round_seeds.spawn(1)[0])
    rows = loop.augmenter.rows(recipe, draw, rng)
    return _fit(loop, rows), len(rows) - len(loop.materials.parts.fit)


def _fit(loop: Loop, rows: Rows) -> Any:
    return loop.materials.trainer.fit(rows.frame, rows.labels, rows.weights)


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


def _health(loop: Loop) -> list[Remark]:
    remarks = []
    if loop.failure is not None:
        remarks.append(("round-failed", f"{loop.failure}; the {len(loop.rounds)} rounds before are kept"))
    if loop.chosen is None:
        why = loop.rounds[-1].why if loop.rounds else STOPPED[loop.stop_reason]
        remarks.append(("not-retrained", f"no round was accepted, so the model given is returned: {why}"))
    trainer = loop.materials.trainer
    for text, n in trainer.said.most_common(3):
        remarks.append(("fit-warning", f"{n} of {trainer.n_fits} fits warned: {text}"))
    return remarks
