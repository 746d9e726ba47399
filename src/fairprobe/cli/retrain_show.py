"""What retraining came to, in plain lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fairprobe.cli.shares import between, unused_line
from fairprobe.cli.tables import aligned
from fairprobe.cli.words import counted
from fairprobe.estimate.share import Share, percent
from fairprobe.retrain import Retrained
from fairprobe.retrain.retrained import STOPPED
from fairprobe.retrain.rounds import Round, front_of

Line = tuple[str, int]
"""A paragraph, and how far its lines after the first are indented."""

MOST_GROUPS = 12


def parts(model: str, result: Retrained) -> Iterator[list[Line]]:
    """The figures and what they say, part by part."""
    yield [(line, 0) for line in _head(model, result)]
    which = "Before and after" if result.accepted else "Its shares"
    yield [(f"{which}, on rows and inputs that neither fitting nor choosing has seen:", 0), *_shares(result)]
    if result.accepted:
        yield [("The change, on the same inputs and rows:", 0), *_changes(result)]
    unused = unused_line(result.after)
    if unused:
        yield [(unused, 0)]
    if result.controls:
        yield [("Beside it, other ways to train (controls), on the same inputs and rows:", 0), *_controls(result)]
    yield [(_groups_title(result), 0), *_groups(result)]
    if result.rounds:
        yield [("Rounds, on the rows and inputs to choose by:", 0), *_rounds(result)]
    yield [("How it was measured:", 0), *((f"  - {line}", 4) for line in result.how)]


def _head(model: str, result: Retrained) -> Iterator[str]:
    names = " or ".join(next(iter(result.before.values())).sensitive)
    yield f"Retraining {model}, for its output to change less often with {names} alone:"
    if result.chosen is None:
        yield f"no round was accepted, so the model given stays: {_why_none(result)}."
    else:
        added = f"{counted(result.n_added, 'row')} added to {result.n_rows['fit']:,}"
        yield f"round {result.chosen.number} is returned: {result.chosen.recipe.words()} ({added})."


def _why_none(result: Retrained) -> str:
    if not result.rounds:
        return STOPPED[result.stop_reason]
    reasons = {each.why for each in result.rounds}
    return reasons.pop() if len(reasons) == 1 else "for various reasons, see the rounds"


def _shares(result: Retrained) -> Iterator[Line]:
    confidence = f"{percent(next(iter(result.before.values())).confidence)} interval"
    both = [("before", result.before), ("after", result.after)]
    times = both if result.accepted else [("share", result.before)]
    rows = [["", *(cell for when, _ in times for cell in (when, confidence))]]
    for name in result.before:
        cells = ((percent(shares[name].value), between(shares[name].low, shares[name].high)) for _, shares in times)
        rows.append([name, *(cell for pair in cells for cell in pair)])
    accuracies = (result.accuracy_before, result.accuracy_after)[: len(times)]
    rows.append(["accuracy", *(cell for accuracy in accuracies for cell in (_precise(accuracy), ""))])
    return _lines(aligned(rows, left=(0, 2, 4)))


def _changes(result: Retrained) -> Iterator[Line]:
    rows = [["", "relative", "points", f"{percent(result.loss.confidence)} interval (paired)"]]
    for name, change in result.changes.items():
        gone = result.improvement(name)
        relative = "" if gone is None else f"{-100 * gone or 0.0:+.1f}%"
        rows.append([name, relative, *_points(-change.difference, -change.high, -change.low)])
    loss = result.loss
    rows.append(["accuracy", "", *_points(-loss.value, -loss.high, -loss.low)])
    return _lines(aligned(rows, left=(0, 3)))


def _points(value: float, low: float, high: float) -> tuple[str, str]:
    texts = [_signed(100 * number) for number in (value, low, high)]
    return texts[0], f"{texts[1]} to {texts[2]}"


def _signed(number: float) -> str:
    """With two decimals, or as many as tell it from none; a negative zero is a zero.

    >>> _signed(-17.4), _signed(0.381), _signed(-0.00075), _signed(-0.0)
    ('-17.40', '+0.38', '-0.00075', '+0.00')
    """
    return f"{number or 0.0:+.2f}" if abs(number) >= 0.1 or not number else f"{number:+.2g}"


def _precise(fraction: float) -> str:
    return f"{fraction:.2%}"


def _controls(result: Retrained) -> Iterator[Line]:
    rows = [["", *result.before, "accuracy", "rows added"]]
    rows.append(["before", *_row(result.before, result.accuracy_before, 0)])
    if result.accepted:
        rows.append(["after", *_row(result.after, result.accuracy_after, result.n_added)])
    rows += [
        [control.words, *_row(control.shares, control.accuracy, control.n_added)]
        for control in result.controls.values()
        if control.accuracy is not None
    ]
    yield from _lines(aligned(rows))
    for control in result.controls.values():
        if control.why_not:
            yield f"  {control.words}: no figures: {control.why_not}", 4


def _row(shares: Mapping[str, Share], accuracy: float, n_added: int) -> list[str]:
    return [*(percent(share.value) for share in shares.values()), _precise(accuracy), f"{n_added:,}"]


def _groups_title(result: Retrained) -> str:
    names = " and ".join(next(iter(result.before.values())).sensitive)
    return f"Accuracy, and how often the label is {result.favourable}, by {names}:"


def _groups(result: Retrained) -> Iterator[Line]:
    groups = result.groups
    shown = groups.sort_values("n", ascending=False).head(MOST_GROUPS).index if len(groups) > MOST_GROUPS else ()
    rows = [["", "rows", *_twice(result, "accuracy", "after"), *_twice(result, f"label {result.favourable}", "after")]]
    for name, group in groups.iterrows():
        if len(shown) and name not in shown:
            continue
        rows.append(
            [
                str(name),
                f"{group['n']:,.0f}",
                *_twice(result, _precise(group["accuracy_before"]), _precise(group["accuracy_after"])),
                *_twice(result, _precise(group["selected_before"]), _precise(group["selected_after"])),
            ]
        )
    yield from _lines(aligned(rows))
    if len(shown):
        yield f"  and {counted(len(groups) - len(shown), 'smaller group')}, which --json shows", 4


def _twice(result: Retrained, before: str, after: str) -> list[str]:
    return [before, f"-> {after}"] if result.accepted else [before]


def _rounds(result: Retrained) -> Iterator[Line]:
    first = result.first
    rows = [["round", *first.shares, "accuracy", "rows added", "", "what was added"]]
    rows.append(["before", *_row(first.shares, first.accuracy, 0), "", ""])
    for each in result.rounds:
        figures = _row(each.shares, each.accuracy, each.n_added)
        rows.append([str(each.number), *figures, _fate(each, result), each.recipe.words()])
    last = len(rows[0]) - 1
    lines = aligned(rows, left=(0, last - 1, last))
    indent = lines[0].index("what was added")
    yield from ((line, indent) for line in lines)
    for why, numbers in _reasons(result).items():
        yield f"  rejected {', '.join(numbers)}: {why}", 4
    if not result.accepted and any(each.loss.value > result.max_accuracy_loss for each in result.rounds):
        yield "  (--max-accuracy-loss sets how much may be lost.)", 4
    front = map(str, sorted(each.number for each in front_of(result.rounds)))
    yield (
        f"  front: {', '.join(front)} (no round beats them in both what is left of the shares and accuracy)",
        4,
    )


def _fate(each: Round, result: Retrained) -> str:
    return "returned" if each is result.chosen else "accepted" if each.accepted else "rejected"


def _reasons(result: Retrained) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for each in result.rounds:
        if not each.accepted:
            reasons.setdefault(each.why, []).append(str(each.number))
    return reasons


def _lines(lines: list[str]) -> Iterator[Line]:
    return ((line, 4) for line in lines)


def cost_line(result: Retrained) -> str:
    """What it took."""
    cases = f"{counted(result.n_cases, 'case')} at hand, " if result.n_cases else ""
    return (
        f"{counted(len(result.rounds), 'round')}, {cases}{result.seconds:.1f} s, seed {result.seed}; "
        f"stopped as {STOPPED[result.stop_reason]}"
    )
