"""The content of a retraining for people: blocks of sentences, tables and remarks, and the plot of the rounds."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from typing import Any, Final

from fairprobe.blocks import Block, Items, Section, Sentence, Table
from fairprobe.estimation.drawing import as_shares
from fairprobe.estimation.share import Share
from fairprobe.retraining.judging import JUDGED
from fairprobe.retraining.retrained import GIVEN, STOPPED, Retrained
from fairprobe.retraining.rounds import front_of
from fairprobe.svg import BAND, INK, SOFT, svg_panels, tidy
from fairprobe.wording import between, counted, percent, signed, value

MOST_GROUPS: Final = 12
"""Groups that are shown, the largest first; chosen. `groups` has all of them."""


def blocks_of(result: Retrained) -> list[Block]:
    """The content, most important first."""
    blocks: list[Block] = [Sentence(result.sentence())]
    if result.chosen is not None:
        added = f"{counted(result.n_added, 'row')} added to {result.n_rows['fit']:,}"
        blocks.append(Sentence(f"Round {result.chosen.number} is returned: {result.chosen.recipe.words()} ({added})."))
    blocks.append(_before_and_after(result))
    if result.controls:
        blocks.append(_controls(result))
    blocks.append(_groups(result))
    if result.rounds:
        blocks.append(_rounds(result))
    blocks.append(Section("How it was measured", (Items(result.how),)))
    cases = f", {counted(result.n_cases, 'case')} at hand" if result.n_cases else ""
    took = f"{counted(len(result.rounds), 'round')}{cases}, {result.seconds:.1f} s, seed {result.seed}"
    return [*blocks, Sentence(f"{took}. Stopped because {STOPPED[result.stop_reason]}."), *result.health]


def _before_and_after(result: Retrained) -> Section:
    """Shares and accuracy, on what they were measured, and of which model."""
    loss, interval = result.loss, f"{percent(result.loss.confidence)} interval"
    rows = []
    for name, change in result.changes.items():
        shares = [(percent(share.value), between(share.low, share.high)) for share in (change.a, change.b)]
        rows.append([name, *shares[0], *shares[1], *_points(change.difference, change.low, change.high)])
    accuracies = (f"{result.accuracy_before:.2%}", "", f"{result.accuracy_after:.2%}", "")
    rows.append(["accuracy", *accuracies, *_points(loss.value, loss.low, loss.high)])
    columns = ["", "#before", interval, "#after", interval, "#points", f"{interval} (paired)"]
    if not result.accepted:
        rows, columns = [row[:3] for row in rows], ["", "#share", interval]
    if not result.is_reported:
        where = "on the rows and inputs to choose by, because it was interrupted before the report"
    elif result.on_fitted_rows:
        where = "on rows it was fitted to and on fresh inputs of the domain"
    else:
        where = "on rows and inputs that neither fitting nor choosing has seen"
    return Section(f"Shares and accuracy, {where}", (Table.of(columns, rows), *_about(result)))


def _points(difference: float, low: float, high: float) -> list[str]:
    """A loss as a change in points, with its interval."""
    return [signed(-100 * difference), f"{signed(-100 * high)} to {signed(-100 * low)}"]


def _about(result: Retrained) -> Iterator[Sentence]:
    if result.before_is != GIVEN:
        yield Sentence(f"{'Before' if result.accepted else 'It'} is {result.before_is}.")
    if result.has_links:
        columns = " and ".join(result.before["linked"].linked)
        yield Sentence(f"The share linked is that of {JUDGED['linked']}: {columns}.")
    if not any(share.hits for share in result.after.values()):
        names = _sensitive(result)
        yield Sentence(
            f"The model's output never changed with {names}. Another parameter may still stand in for {names}: these "
            "shares cannot show that."
        )


def _sensitive(result: Retrained) -> str:
    return " or ".join(result.before["rows"].sensitive)


def _models(result: Retrained, first: str, rows: Iterable[list[str]], more: Iterable[str] = ()) -> Table:
    """A table with a row for each model: its shares, its accuracy, and the rows that were added."""
    return Table.of([first, *(f"#{name}" for name in [*result.before, "accuracy", "rows added"]), *more], rows)


def _row(name: str, shares: Mapping[str, Share], accuracy: float, n_added: int, *more: str) -> list[str]:
    return [name, *(percent(share.value) for share in shares.values()), f"{accuracy:.2%}", f"{n_added:,}", *more]


def _controls(result: Retrained) -> Section:
    before = "the model given, on rows it knows" if result.on_fitted_rows and not result.accepted else "before"
    rows, why_not = [_row(before, result.before, result.accuracy_before, 0)], []
    if result.accepted:
        rows.append(_row("after", result.after, result.accuracy_after, result.n_added))
    for each in result.controls.values():
        if each.accuracy is None:
            why_not.append(Sentence(f"No figures for {each.words}: {each.why_not}"))
        else:
            rows.append(_row(each.words, each.shares, each.accuracy, each.n_added))
    title = "Other ways to train (controls), on the same inputs and rows"
    return Section(title, (_models(result, "", rows), *why_not))


def _groups(result: Retrained) -> Section:
    """Accuracy and rate of the favourable label by sensitive value, before and after."""
    groups = result.groups if result.accepted else result.groups.drop(columns=["accuracy_after", "selected_after"])
    shown = groups.nlargest(MOST_GROUPS, "n")
    rows = [[value(name), f"{n:,.0f}", *map("{:.2%}".format, of)] for name, n, *of in shown.itertuples()]
    hidden = len(groups) - len(shown)
    title = f"The {MOST_GROUPS} largest groups; {counted(hidden, 'smaller group')} not shown" if hidden else ""
    columns = [column.replace("selected", "label").replace("_", " ") for column in groups.columns[1:]]
    table = Table.of(["", "#rows", *(f"#{column}" for column in columns)], rows, title)
    heading = f"Accuracy, and how often the label is {value(result.favourable)}, by {_sensitive(result)}"
    return Section(heading, (table,))


def _rounds(result: Retrained) -> Section:
    """All rounds, why some were rejected, and which are best."""
    first, notes = result.first, []
    reference = "before" if result.before_is == result.compared_with else "clone"
    rows, rejected = [_row(reference, first.shares, first.accuracy, 0, "", "")], defaultdict(list)
    for each in result.rounds:
        fate = "returned" if each is result.chosen else "accepted" if each.accepted else "rejected"
        rows.append(_row(str(each.number), each.shares, each.accuracy, each.n_added, fate, each.recipe.words()))
        if not each.accepted:
            rejected[each.why].append(str(each.number))
    notes = [Sentence(f"Rejected {', '.join(numbers)}: {why}.") for why, numbers in rejected.items()]
    front = ", ".join(map(str, sorted(each.number for each in front_of(result.rounds))))
    notes.append(Sentence(f"Front: {front}. No round beats these in both what is left of the shares and accuracy."))
    table = _models(result, "round", rows, ["outcome", "what was added"])
    return Section("Rounds, on the rows and inputs to choose by", (table, *notes))


# The plot

_CHOSEN: Final = "#c8553d"
_PANEL: Final = (4.6, 3.8)
"""Width and height of a panel, in inches."""
_WIDEST: Final = 60
"""Letters in a line below a panel; chosen to fit."""


def draw(result: Retrained, path: str | PathLike[str]) -> None:
    """Draw a panel for each population, as SVG: share against accuracy."""
    with svg_panels(path, *_PANEL, n_columns=len(result.before)) as all_axes:
        for axes, name in zip(all_axes, result.before, strict=True):
            _draw_panel(axes, result, name)


def _draw_panel(axes: Any, result: Retrained, name: str) -> None:
    def dots(of: Iterable[Any], **style: Any) -> None:
        axes.scatter([each.shares[name].value for each in of], [each.accuracy for each in of], **style)

    axes.axhline(result.first.accuracy - result.max_accuracy_loss, color=SOFT, linewidth=0.8, linestyle=(0, (4, 3)))
    to_beat = "before" if result.before_is == result.compared_with else "a clone, to beat"
    dots([result.first], marker="s", color=SOFT, zorder=3, label=to_beat)
    if result.rounds:
        front = [(each.shares[name].value, each.accuracy) for each in front_of(result.rounds)]
        axes.plot(*zip(*front, strict=True), color=BAND, linewidth=3, zorder=1)
        dots(result.rounds, color=INK, zorder=3, label="rounds, by number")
    for each in result.rounds:
        place = each.shares[name].value, each.accuracy
        axes.annotate(str(each.number), place, xytext=(4, 4), textcoords="offset points", fontsize=8, color=INK)
    if result.chosen is not None:
        ring = {"s": 110, "facecolors": "none", "edgecolors": _CHOSEN, "linewidths": 1.8}
        dots([result.chosen], zorder=4, label="returned", **ring)
    axes.set_xlabel("\n".join(textwrap.wrap(f"share of {JUDGED[name]}, on the select part", _WIDEST)))
    axes.set_ylabel("accuracy")
    axes.set_title("dashed: the least accuracy allowed; band: the front", loc="left", fontsize=8, color=SOFT)
    as_shares(axes.xaxis)
    as_shares(axes.yaxis)
    tidy(axes, grid="both")
    axes.legend(frameon=False, fontsize=8)
