"""The report: the model before, the model after and the controls on the report part, touched once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairprobe.blocks import Remark
from fairprobe.retraining.clock import N_REPORT, N_SELECT
from fairprobe.retraining.controls import tried_controls
from fairprobe.retraining.judging import Assessment, Judge, by_group
from fairprobe.retraining.retrained import CLONE, GIVEN, Retrained, why_none

if TYPE_CHECKING:
    from fairprobe.retraining.loop import Loop


def make(loop: Loop, *, with_controls: bool) -> Retrained:
    """Judge once more, on what nothing has seen, and put all together."""
    settings, parts = loop.settings, loop.parts
    judge = Judge(loop.domain, parts.report, loop.n_report, loop.report_seed, settings, linked=loop.linked)
    before, after, is_reported = _judged(loop, judge)
    controls = tried_controls(loop, judge) if with_controls and is_reported else {}
    part = parts.report if is_reported else parts.select
    # What was to be said of the shares, once.
    of_shares = dict.fromkeys(
        remark for each in (before, after) for share in each.shares.values() for remark in share.health
    )
    return Retrained(
        model=loop.original if loop.chosen is None else loop.current,
        accepted=loop.chosen is not None,
        before=before.shares,
        after=after.shares,
        before_is=loop.before_is,
        compared_with=CLONE if loop.refits else GIVEN,
        is_reported=is_reported,
        on_fitted_rows=loop.on_fitted_rows,
        changes=before.against(after, settings.confidence),
        accuracy_before=before.accuracy,
        accuracy_after=after.accuracy,
        loss=before.loss_to(after, settings.confidence),
        groups=by_group(loop.domain, part, {"before": before, "after": after}, loop.favourable),
        favourable=loop.favourable,
        first=loop.first,
        rounds=loop.rounds,
        chosen=loop.chosen,
        max_accuracy_loss=settings.max_accuracy_loss,
        controls=controls,
        stop_reason=loop.stop_reason,
        n_rows=parts.sizes,
        n_inputs={"select": loop.n_select, "report": loop.n_report},
        n_cases=len(loop.supply.codes),
        seconds=loop.clock.seconds,
        seed=loop.seed,
        how=_how(loop, is_reported=is_reported),
        health=(*of_shares, *_health(loop, is_reported=is_reported)),
        failure=loop.failure,
    )


def _judged(loop: Loop, judge: Judge) -> tuple[Assessment, Assessment, bool]:
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
    # From here on there are only controls: each takes a fit and a judgement on this part.
    loop.clock.kept = 0.0
    loop.clock.judgement = (loop.clock.now() - begun) / (1 if loop.chosen is None else 2)
    return before, after, True


def _how(loop: Loop, *, is_reported: bool) -> tuple[str, ...]:
    """How improvement and loss were measured."""
    parts, settings, before = loop.parts, loop.settings, loop.before_is
    others = "rows" if parts.known else "others"
    fitted = (
        f"models were fitted to {len(parts.fit):,} rows, chosen by {len(parts.select):,} {others} and "
        f"{loop.n_select:,} inputs of the domain, and "
    )
    reported = f"reported on {len(parts.report):,} {others} and {loop.n_report:,} fresh inputs, by the model itself"
    returned = " and is returned" if loop.chosen is None and loop.given is None else ""
    lines = [
        fitted + (reported if is_reported else "not reported on others, as it was interrupted"),
        f"before and after are {GIVEN}: its share of the rows and its accuracy are on rows it was fitted to; the "
        f"rounds were compared with {CLONE}"
        if loop.knows_report
        else f"before is {before}{returned}",
        "an improvement is the share before less the share after on the same inputs, with a paired interval",
    ]
    if loop.linked is not None:
        lines.append(
            f"domain, valid and rows are about {' or '.join(loop.domain.sensitive)} alone, and so are cases, twins and "
            f"flipped rows; linked is the rows with what is linked changed along: "
            f"{'; '.join(link.words() for link in loop.linked.links)}"
        )
    if settings.accept == "paper":
        lines.append("a round was accepted if the estimated share of the domain was lower, whatever other shares did")
    else:
        lines.append(
            "a round was accepted if a share was shown to be lower and none higher, at "
            f"{100 * loop.round_confidence:.4g}% each, so that all rounds together keep "
            f"{100 * settings.confidence:.4g}%"
        )
    by = "the upper end of its paired interval" if settings.prove_accuracy else "its estimate"
    lines.append(
        f"the accuracy lost, on the same rows, had to be at most {100 * settings.max_accuracy_loss:.3g} points, by {by}"
    )
    fewer_to_select = settings.n_select is None and loop.n_select < N_SELECT
    if fewer_to_select or (settings.n_report is None and loop.n_report < N_REPORT):
        lines.append(
            f"there are fewer inputs than the usual {N_SELECT:,} inputs to choose by and {N_REPORT:,} to report on, as "
            f"max_seconds={settings.max_seconds:g} needs it"
        )
    return tuple(lines)


def _health(loop: Loop, *, is_reported: bool) -> list[Remark]:
    remarks = []
    if not is_reported:
        remarks.append(
            Remark("not-reported", "interrupted before the report: the figures are on the rows and inputs to choose by")
        )
    if loop.failure is not None:
        remarks.append(Remark("round-failed", f"{loop.failure}; what came before is kept: {len(loop.rounds)} rounds"))
    if loop.chosen is None:
        returned = GIVEN if loop.given is not None else "a clone of it, fitted to the fit part,"
        why = why_none(loop.rounds, loop.stop_reason)
        remarks.append(Remark("not-retrained", f"no round was accepted, so {returned} is returned: {why}"))
    if loop.parts.known:
        remarks.append(
            Remark(
                "rows-overlap",
                f"{loop.parts.known} rows to choose by and to report on are rows to fit to, by inputs and label, or of "
                "their groups: accuracy, its loss and the share of the rows are on rows that the models were fitted "
                "to, the share of the domain is not: hold out other rows",
            )
        )
    if loop.parts.copies > 1:
        text = f"every row stands {loop.parts.copies} times: copies stay in one part, and figures count one of each"
        remarks.append(Remark("repeated-rows", text))
    if loop.knows_report:
        remarks.append(
            Remark(
                "fitted-rows",
                "no rows were held out, so the model's share of the rows and its accuracy are on rows it was fitted "
                "to; its share of the domain is not: hold rows out by held_out",
            )
        )
    if loop.left_out:
        recipes = "; ".join(recipe.words() for recipe in loop.left_out)
        limit = f"max_seconds={loop.settings.max_seconds:g}"
        too_long = f"{len(loop.left_out)} rounds were foreseen to take longer than was left of {limit}"
        remarks.append(Remark("left-out", f"{too_long}, and were left out: {recipes}"))
    for text, n in loop.trainer.said.most_common(3):
        remarks.append(Remark("fit-warning", f"{n} of {loop.trainer.n_fits} fits warned: {text}"))
    return remarks
