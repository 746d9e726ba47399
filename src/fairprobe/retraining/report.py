"""The report: the model before, the model after and the controls, judged on the report part, which is used once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fairprobe.blocks import Remark
from fairprobe.clock import Clock
from fairprobe.retraining.controls import tried_controls
from fairprobe.retraining.judging import USUAL, Assessment, by_group, judge_of
from fairprobe.retraining.retrained import CLONE, GIVEN, Retrained, why_none
from fairprobe.retraining.rounds import Reference, Rounds, round_confidence
from fairprobe.retraining.task import Task
from fairprobe.wording import counted, percent


def reported(task: Task, reference: Reference, rounds: Rounds, *, with_controls: bool) -> Retrained:
    """Return the result of a retraining, after the models before and after were judged on the report part."""
    its, parts, n, chosen = task.settings, task.parts, reference.n_inputs, rounds.chosen
    is_given = not task.refits or (chosen is None and reference.given is not None)
    # Without rows held out, the model given has seen the rows of the report.
    knows_report = task.refits and is_given
    model = task.model if chosen is None and is_given else rounds.model
    judge = judge_of(task, "report", n["report"])
    before, after, is_reported = _judged(task, reference, rounds, judge, model)
    on_fitted_rows = bool(parts.known) or knows_report
    if on_fitted_rows:
        before, after = before.on_fitted_rows(), after.on_fitted_rows()
    controls = {}
    if with_controls and is_reported:
        controls = tried_controls(task, reference, rounds, judge, with_clone=knows_report)
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
        stop_reason=rounds.stop_reason,
        n_rows=parts.sizes,
        n_inputs=n,
        n_cases=len(reference.augmenter.pool.codes),
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
    clock = Clock()
    try:
        before = judge(model if rounds.chosen is None else reference.model)
        seconds = clock.seconds
        after = before if rounds.chosen is None else judge(model)
    except KeyboardInterrupt:
        rounds.stop_reason = "interrupted"
        before = reference.judged if rounds.chosen is not None else reference.given or reference.judged
        return before, before if rounds.chosen is None else rounds.judged, False
    # Only controls follow; each takes a fit and a judgement on this part.
    task.budget.judgement = seconds
    return before, after, True


def _how(task: Task, reference: Reference, *, is_given: bool, is_reported: bool) -> Iterator[str]:
    """Yield sentences on how a retraining measured the improvement of shares and the loss of accuracy."""
    settings, n = task.settings, reference.n_inputs
    fit, select, report = (f"{len(part):,}" for part in (task.parts.fit, task.parts.select, task.parts.report))
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
    by = "the upper end of its paired interval" if settings.prove_accuracy else "its estimate"
    most = f"{100 * settings.max_accuracy_loss:.3g} points"
    yield f"A round was accepted if {rule}, and if the accuracy lost, by {by}, was at most {most}."
    if any(getattr(settings, f"n_{part}") is None and n[part] < usual for part, usual in USUAL.items()):
        usual = f"{USUAL['select']:,} inputs to choose by and {USUAL['report']:,} to report on"
        yield f"max_seconds={settings.max_seconds:g} allows fewer than the usual {usual}."


def _remarks(
    task: Task, reference: Reference, rounds: Rounds, *, knows_report: bool, is_reported: bool
) -> Iterator[Remark]:
    """Yield remarks on a retraining that may be misunderstood, such as no accepted round or overlapping rows."""
    parts, n_left_out = task.parts, len(rounds.left_out)
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
    if n_left_out:
        recipes = "; ".join(recipe.words() for recipe in rounds.left_out)
        longer = f"would have taken longer than was left of max_seconds={task.settings.max_seconds:g}"
        yield Remark("left-out", f"{counted(n_left_out, 'round')} {longer} and were left out: {recipes}")
    for text, n_fits in task.fitter.warned.most_common(3):
        yield Remark("fit-warning", f"{n_fits} of {len(task.fitter.times)} fits warned: {text}")
