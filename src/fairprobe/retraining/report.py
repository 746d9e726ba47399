"""The report: the model before, the model after and the controls, judged on the report part, which is used once."""

from __future__ import annotations

from fairprobe.blocks import Remark
from fairprobe.clock import Clock
from fairprobe.retraining.controls import tried_controls
from fairprobe.retraining.judging import Assessment, Judge, by_group
from fairprobe.retraining.loop import Course
from fairprobe.retraining.retrained import CLONE, GIVEN, Retrained
from fairprobe.retraining.start import Start
from fairprobe.retraining.stop_reasons import why_none
from fairprobe.retraining.task import Task, number
from fairprobe.retraining.time_budget import N_REPORT, N_SELECT


def reported(task: Task, start: Start, course: Course, *, with_controls: bool) -> Retrained:
    """Judge the models once more, on rows and inputs that nothing has seen, and put the result together."""
    settings, parts = task.settings, task.parts
    is_given = not task.refits or (course.chosen is None and start.given is not None)
    # Without rows held out, the model given has seen the rows of the report.
    knows_report = task.refits and is_given
    judge = Judge(
        task.domain, parts.report, start.n_inputs["report"], number(task.seeds.report), settings, linked=task.linked
    )
    before, after, is_reported = _judged(task, start, course, judge)
    with_controls &= is_reported and settings.controls
    controls = tried_controls(task, start, course, judge, with_clone=knows_report) if with_controls else {}
    part = parts.report if is_reported else parts.select
    every = [*before.shares.values(), *after.shares.values()]
    said = dict.fromkeys(remark for share in every for remark in share.health)
    return Retrained(
        model=course.model if course.chosen is not None else task.model if start.given is not None else start.reference,
        accepted=course.chosen is not None,
        before=before.shares,
        after=after.shares,
        before_is=GIVEN if is_given else CLONE,
        compared_with=CLONE if task.refits else GIVEN,
        is_reported=is_reported,
        on_fitted_rows=bool(parts.known) or knows_report,
        changes=before.against(after, settings.confidence),
        accuracy_before=before.accuracy,
        accuracy_after=after.accuracy,
        loss=before.loss_to(after, settings.confidence),
        groups=by_group(task.domain, part, {"before": before, "after": after}, task.favourable),
        favourable=task.favourable,
        first=start.judged,
        rounds=course.rounds,
        chosen=course.chosen,
        max_accuracy_loss=settings.max_accuracy_loss,
        controls=controls,
        stop_reason=course.stop_reason,
        n_rows=parts.sizes,
        n_inputs=start.n_inputs,
        n_cases=len(start.pool.codes),
        seconds=task.budget.clock.seconds,
        seed=task.seed,
        how=_how(task, start, course, is_given=is_given, is_reported=is_reported),
        health=(*said, *_remarks(task, start, course, knows_report=knows_report, is_reported=is_reported)),
        failure=course.failure,
    )


def _judged(task: Task, start: Start, course: Course, judge: Judge) -> tuple[Assessment, Assessment, bool]:
    """The model before and the one returned; if interrupted, as they were judged on the select part."""
    task.tell("judging the report part")
    clock = Clock()
    try:
        if course.chosen is None:
            before = after = judge.judge(task.model if start.given is not None else start.reference)
        else:
            before, after = judge.judge(start.reference), judge.judge(course.model)
    except KeyboardInterrupt:
        course.stop_reason = "interrupted"
        if course.chosen is None:
            return start.given or start.judged, start.given or start.judged, False
        return start.judged, course.judged, False
    # Only controls follow; each takes a fit and a judgement on this part.
    task.budget.kept = 0.0
    task.budget.judgement = clock.seconds / (1 if course.chosen is None else 2)
    return before, after, True


def _how(task: Task, start: Start, course: Course, *, is_given: bool, is_reported: bool) -> tuple[str, ...]:
    """Sentences on how improvement and loss were measured."""
    parts, settings, n_inputs = task.parts, task.settings, start.n_inputs
    others = "rows" if parts.known else "others"
    report = f"{len(parts.report):,} {others} and {n_inputs['report']:,} fresh inputs"
    lines = [
        f"models were fitted to {len(parts.fit):,} rows, chosen by {len(parts.select):,} {others} and "
        f"{n_inputs['select']:,} inputs of the domain, and "
        + (
            f"reported on {report}, by the model itself"
            if is_reported
            else "not reported on others, as it was interrupted"
        )
    ]
    if task.refits and is_given:
        lines.append(
            f"before and after are {GIVEN}: its share of the rows and its accuracy are on rows it was fitted to; the "
            f"rounds were compared with {CLONE}"
        )
    else:
        returned = " and is returned" if course.chosen is None and start.given is None else ""
        lines.append(f"before is {GIVEN if is_given else CLONE}{returned}")
    lines.append("an improvement is the share before less the share after on the same inputs, with a paired interval")
    if task.linked is not None:
        lines.append(
            f"domain, valid and rows are about {' or '.join(task.domain.sensitive)} alone, and so are cases, twins and "
            f"flipped rows; linked is the rows with what is linked changed along: "
            f"{'; '.join(link.words() for link in task.linked.links)}"
        )
    if settings.accept == "paper":
        lines.append("a round was accepted if the estimated share of the domain was lower, whatever other shares did")
    else:
        lines.append(
            f"a round was accepted if a share was shown to be lower and none higher, at "
            f"{100 * start.round_confidence:.4g}% each, so that all rounds together keep "
            f"{100 * settings.confidence:.4g}%"
        )
    by = "the upper end of its paired interval" if settings.prove_accuracy else "its estimate"
    limit = f"{100 * settings.max_accuracy_loss:.3g} points"
    lines.append(f"the accuracy lost, on the same rows, had to be at most {limit}, by {by}")
    usual = {"select": (settings.n_select, N_SELECT), "report": (settings.n_report, N_REPORT)}
    if any(wanted is None and n_inputs[name] < n for name, (wanted, n) in usual.items()):
        lines.append(
            f"there are fewer inputs than the usual {N_SELECT:,} inputs to choose by and {N_REPORT:,} to report on, as "
            f"max_seconds={settings.max_seconds:g} needs it"
        )
    return tuple(lines)


def _remarks(task: Task, start: Start, course: Course, *, knows_report: bool, is_reported: bool) -> list[Remark]:
    """Remarks on the retraining as a whole."""
    parts, remarks = task.parts, []
    if not is_reported:
        text = "interrupted before the report: the figures are on the rows and inputs to choose by"
        remarks.append(Remark("not-reported", text))
    if course.failure is not None:
        text = f"{course.failure}; what came before is kept: {len(course.rounds)} rounds"
        remarks.append(Remark("round-failed", text))
    if course.chosen is None:
        returned = GIVEN if start.given is not None else "a clone of it, fitted to the fit part,"
        why = why_none(course.rounds, course.stop_reason)
        remarks.append(Remark("not-retrained", f"no round was accepted, so {returned} is returned: {why}"))
    if parts.known:
        text = (
            f"{parts.known} rows to choose by and to report on are rows to fit to, by inputs and label, or of their "
            "groups: accuracy, its loss and the share of the rows are on rows that the models were fitted to, the "
            "share of the domain is not: hold out other rows"
        )
        remarks.append(Remark("rows-overlap", text))
    if parts.copies > 1:
        text = f"every row stands {parts.copies} times: copies stay in one part, and figures count one of each"
        remarks.append(Remark("repeated-rows", text))
    if knows_report:
        text = (
            "no rows were held out, so the model's share of the rows and its accuracy are on rows it was fitted to; "
            "its share of the domain is not: hold rows out by held_out"
        )
        remarks.append(Remark("fitted-rows", text))
    if course.left_out:
        recipes = "; ".join(recipe.words() for recipe in course.left_out)
        limit = f"max_seconds={task.settings.max_seconds:g}"
        text = f"{len(course.left_out)} rounds were foreseen to take longer than was left of {limit}"
        remarks.append(Remark("left-out", f"{text}, and were left out: {recipes}"))
    for text, n in task.fitter.warned.most_common(3):
        remarks.append(Remark("fit-warning", f"{n} of {len(task.fitter.times)} fits warned: {text}"))
    return remarks
