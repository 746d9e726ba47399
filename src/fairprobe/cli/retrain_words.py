"""What retraining came to, in plain lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from fairprobe.cli.estimate_words import between, unused_line
from fairprobe.cli.flags import in_flags
from fairprobe.cli.words import Line, aligned
from fairprobe.estimation.share import Share
from fairprobe.retraining import Retrained
from fairprobe.retraining.dry_run import RetrainPlan
from fairprobe.retraining.judging import JUDGED
from fairprobe.retraining.retrained import GIVEN, stopped, why_none
from fairprobe.retraining.rounds import front_of
from fairprobe.wording import counted, percent, signed

MOST_GROUPS = 12


def figure_parts(model: str, result: Retrained) -> Iterator[list[Line]]:
    """The figures and what they say, part by part."""
    sensitive = next(iter(result.before.values())).sensitive
    aim = f"with {' or '.join(sensitive)} alone"
    if result.has_links:
        aim += f", and with {' and '.join(result.before['linked'].linked)} changed along"
    lines = [f"Retraining {model}, for its output to change less often {aim}:"]
    if result.chosen is None:
        stays = "the model given stays" if result.before_is == GIVEN else "its clone, fitted to the fit part, stays"
        lines.append(f"no round was accepted, so {stays}: {why_none(result.rounds, result.stop_reason)}.")
    else:
        added = f"{counted(result.n_added, 'row')} added to {result.n_rows['fit']:,}"
        lines.append(f"round {result.chosen.number} is returned: {result.chosen.recipe.words()} ({added}).")
    yield [(line, 0) for line in lines]
    yield _shares(result)
    if result.accepted:
        yield _part("The change, on the same inputs and rows:", _changes(result))
    unused = unused_line(result.after)
    if unused:
        yield [(unused, 0)]
    if result.controls:
        yield _part("Beside it, other ways to train (controls), on the same inputs and rows:", _controls(result))
    ways = result.ways_in_words()
    if ways:
        title = "What each way does to the share of the rows (rounds: to choose by; controls: as above):"
        yield _part(title, [f"  - {line}" for line in ways])
    known = ", on rows it was fitted to" if result.on_fitted_rows else ""
    title = f"Accuracy, and how often the label is {result.favourable}, by {' and '.join(sensitive)}{known}:"
    yield _part(title, _groups(result))
    if result.rounds:
        yield [("Rounds, on the rows and inputs to choose by:", 0), *_rounds(result)]
    yield _part("How it was measured:", [f"  - {in_flags(line)}" for line in result.how])
    n_rounds = len(result.rounds)
    cases = f"{counted(result.n_cases, 'case')} at hand, " if result.n_cases else ""
    took = f"{counted(n_rounds, 'round')}, {cases}{result.seconds:.1f} s, seed {result.seed}"
    yield [(f"{took}; stopped as {stopped(result.stop_reason, n_rounds)}", 0)]


def _part(title: str, lines: list[str]) -> list[Line]:
    return [(title, 0), *((line, 4) for line in lines)]


def _shares(result: Retrained) -> list[Line]:
    times = [("before", result.before, result.accuracy_before), ("after", result.after, result.accuracy_after)]
    title = "Before and after"
    if not result.accepted:
        times, title = [("share", result.before, result.accuracy_before)], "Its shares"
    if not result.is_reported:
        title += ", on the rows and inputs to choose by, as it was interrupted before the report:"
    elif result.on_fitted_rows:
        why = "" if "rows-overlap" in dict(result.health) else ", as none were held out"
        title += f", on rows it was fitted to{why}, and on fresh inputs of the domain:"
    else:
        title += ", on rows and inputs that neither fitting nor choosing has seen:"
    interval = f"{percent(next(iter(result.before.values())).confidence)} interval"
    rows = [["", *chain.from_iterable((when, interval) for when, _, _ in times)]]
    for name in result.before:
        shares = [by_population[name] for _, by_population, _ in times]
        pairs = ((percent(share.value), between(share.low, share.high)) for share in shares)
        rows.append([name, *chain.from_iterable(pairs)])
    rows.append(["accuracy", *chain.from_iterable((f"{accuracy:.2%}", "") for _, _, accuracy in times)])
    lines = aligned(rows, left=(0, 2, 4))
    # What the figures are of, where it is not the model given itself, or on rows that it knows.
    if result.before_is != GIVEN:
        lines.append(f"  {'before' if result.accepted else 'It'} is {result.before_is}.")
    if result.has_links:
        lines.append(f"  linked is {JUDGED['linked']}: {' and '.join(result.before['linked'].linked)}.")
    if result.on_fitted_rows:
        lines.append("  rows and accuracy: on rows it was fitted to; --held-out names others.")
    return _part(title, lines)


def _changes(result: Retrained) -> list[str]:
    def points(value: float, low: float, high: float) -> list[str]:
        texts = [signed(100 * number) for number in (value, low, high)]
        return [texts[0], f"{texts[1]} to {texts[2]}"]

    interval, loss = f"{percent(result.loss.confidence)} interval", result.loss
    rows = [["", "points", f"{interval} (paired)", "relative", interval]]
    for name, change in result.changes.items():
        gone, relative = result.relative(name), ["", ""]
        if gone is not None:  # as part of the share before, where that has an interval
            value, low, high = (f"{-100 * number or 0.0:+.1f}%" for number in (gone.value, gone.high, gone.low))
            relative = [value, f"{low} to {high}"]
        rows.append([name, *points(-change.difference, -change.high, -change.low), *relative])
    rows.append(["accuracy", *points(-loss.value, -loss.high, -loss.low), "", ""])
    return aligned(rows, left=(0, 2, 4))


def _row(shares: Mapping[str, Share], accuracy: float, n_added: int) -> list[str]:
    return [*(percent(share.value) for share in shares.values()), f"{accuracy:.2%}", f"{n_added:,}"]


def _controls(result: Retrained) -> list[str]:
    before = "the model given, on rows it knows" if result.on_fitted_rows and not result.accepted else "before"
    rows = [
        ["", *result.before, "accuracy", "rows added"],
        [before, *_row(result.before, result.accuracy_before, 0)],
    ]
    if result.accepted:
        rows.append(["after", *_row(result.after, result.accuracy_after, result.n_added)])
    controls = result.controls.values()
    rows += [
        [each.words, *_row(each.shares, each.accuracy, each.n_added)] for each in controls if each.accuracy is not None
    ]
    return [*aligned(rows), *(f"  {each.words}: no figures: {each.why_not}" for each in controls if each.why_not)]


def _groups(result: Retrained) -> list[str]:
    def twice(before: str, after: str) -> list[str]:
        return [before, f"-> {after}"] if result.accepted else [before]

    groups = result.groups
    shown = groups[groups["n"].rank(ascending=False, method="first") <= MOST_GROUPS]  # in their order
    rows = [["", "rows", *twice("accuracy", "after"), *twice(f"label {result.favourable}", "after")]]
    for name, group in shown.iterrows():
        rates = (
            twice(f"{group[f'{of}_before']:.2%}", f"{group[f'{of}_after']:.2%}") for of in ("accuracy", "selected")
        )
        rows.append([str(name), f"{group['n']:,.0f}", *chain.from_iterable(rates)])
    hidden = len(groups) - len(shown)
    return [*aligned(rows), *([f"  and {counted(hidden, 'smaller group')}, which --json shows"] if hidden else [])]


def _rounds(result: Retrained) -> Iterator[Line]:
    first = result.first
    to_beat = "before" if result.before_is == result.compared_with else "clone"
    rows = [
        ["round", *first.shares, "accuracy", "rows added", "", "what was added"],
        [to_beat, *_row(first.shares, first.accuracy, 0), "", ""],
    ]
    rejected: dict[str, list[str]] = {}
    for each in result.rounds:
        fate = "returned" if each is result.chosen else "accepted" if each.accepted else "rejected"
        rows.append([str(each.number), *_row(each.shares, each.accuracy, each.n_added), fate, each.recipe.words()])
        if not each.accepted:
            rejected.setdefault(each.why, []).append(str(each.number))
    last = len(rows[0]) - 1
    lines = aligned(rows, left=(0, last - 1, last))
    yield from ((line, lines[0].index("what was added")) for line in lines)
    for why, numbers in rejected.items():
        yield f"  rejected {', '.join(numbers)}: {why}", 4
    if not result.accepted and any(each.loss.value > result.max_accuracy_loss for each in result.rounds):
        yield "  (--max-accuracy-loss sets how much may be lost.)", 4
    if to_beat == "clone":
        yield f"  clone: {result.compared_with}; what the rounds had to beat", 4
    front = ", ".join(str(number) for number in sorted(each.number for each in front_of(result.rounds)))
    yield f"  front: {front} (no round beats them in both what is left of the shares and accuracy)", 4


# The dry run


def plan_lines(planned: RetrainPlan, files: Mapping[str, str | None]) -> list[str]:
    """What is settled before the first round."""
    settings = planned.settings
    tried = planned.augmentations
    if settings.is_search:
        augment = f"{', '.join(tried)}: searched over, and so are the amounts"
    else:
        augment = f"{tried[0]}, in amounts that grow until a round is rejected"
    seconds = settings.search_seconds
    within = "without a limit of time" if seconds is None else f"within {seconds:g} s"
    cases = f"searched for as they are needed, {settings.strategy}, {within}"
    if planned.n_cases is not None:
        given = f"{planned.n_cases:,} of {files['cases']}"
        cases = given if settings.labels == "given" else f"{given}; more are {cases}"
    by = "the interval of the loss" if settings.prove_accuracy else "the loss"
    least = f"{by} of accuracy is at most {settings.max_accuracy_loss:.3g}"
    accept = f"if a share is shown to be lower and none higher, and {least}"
    if settings.accept == "paper":
        accept = "if the estimated share of the domain is lower"
    return [
        f"  fit        {planned.n_rows['fit']:,} rows, and what a round adds to them",
        f"  select     {planned.n_rows['select']:,} rows and {planned.n_select:,} inputs of the domain",
        f"  report     {planned.n_rows['report']:,} rows and {planned.n_report:,} fresh inputs",
        f"  before     {'a clone of the model given, fitted to the fit part' if planned.refits else 'the model given'}",
        f"  augment    {augment}",
        f"  labels     {settings.labels}",
        f"  cases      {cases}",
        f"  accept     {accept}",
        f"  rounds     {planned.n_rounds} at most, seed {planned.seed}",
        *(f"  {name:9}  {file}" for name, file in files.items() if file and name != "cases"),
    ]
