"""The content of a retraining for people, as blocks: sentences, tables and remarks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Final

from fairprobe.blocks import Block, Items, Section, Sentence, Table
from fairprobe.estimation.share import Share
from fairprobe.retraining.judging import JUDGED
from fairprobe.retraining.rounds import Round, front_of
from fairprobe.wording import between, counted, percent, signed, value

if TYPE_CHECKING:
    from fairprobe.retraining.retrained import Retrained

MOST_GROUPS: Final = 12
"""Groups that are shown, the largest first; chosen. `groups` has all of them."""


def blocks_of(result: Retrained) -> list[Block]:
    """The content, most important first."""
    blocks: list[Block] = [Sentence(result.sentence())]
    if result.chosen is not None:
        added = f"{counted(result.n_added, 'row')} added to {result.n_rows['fit']:,}"
        blocks.append(Sentence(f"Round {result.chosen.number} is returned: {result.chosen.recipe.words()} ({added})."))
    blocks.append(_before_and_after(result))
    if result.accepted:
        blocks.append(_changes(result))
    if result.controls:
        title = "Other ways to train (controls), on the same inputs and rows"
        blocks.append(Section(title, (_controls(result), *_failed_controls(result))))
    if result.has_links:
        title = "What each way does to the share of the rows (rounds on the select part, controls on the report part)"
        blocks.append(Section(title, (Items(tuple(result.ways_in_words())),)))
    blocks.append(Section(_groups_title(result), (_groups(result),)))
    if result.rounds:
        blocks.append(Section("Rounds, on the rows and inputs to choose by", (_rounds(result), *_notes(result))))
    blocks.append(Section("How it was measured", (Items(result.how),)))
    cases = f", {counted(result.n_cases, 'case')} at hand" if result.n_cases else ""
    took = f"{counted(len(result.rounds), 'round')}{cases}, {result.seconds:.1f} s, seed {result.seed}"
    return [*blocks, Sentence(f"{took}. Stopped because {result.stopped}."), *result.health]


def _before_and_after(result: Retrained) -> Section:
    """Shares and accuracy, on what they were measured, and of which model."""
    times = {"before": (result.before, result.accuracy_before), "after": (result.after, result.accuracy_after)}
    if not result.accepted:
        times = {"share": times["before"]}
    interval = f"{percent(next(iter(result.before.values())).confidence)} interval"
    rows = []
    for name in result.before:
        shares = [shares[name] for shares, _ in times.values()]
        rows.append(
            [name, *chain.from_iterable((percent(each.value), between(each.low, each.high)) for each in shares)]
        )
    rows.append(["accuracy", *chain.from_iterable((f"{accuracy:.2%}", "") for _, accuracy in times.values())])
    table = Table.of(["", *chain.from_iterable((f"#{when}", interval) for when in times)], rows)
    if not result.is_reported:
        where = "on the rows and inputs to choose by, because it was interrupted before the report"
    elif result.on_fitted_rows:
        where = "on rows it was fitted to and on fresh inputs of the domain"
    else:
        where = "on rows and inputs that neither fitting nor choosing has seen"
    return Section(f"Shares and accuracy, {where}", (table, *_about(result)))


def _about(result: Retrained) -> Iterable[Sentence]:
    if not result.is_of_model_given:
        yield Sentence(f"{'Before' if result.accepted else 'It'} is {result.before_is}.")
    if result.has_links:
        columns = " and ".join(result.before["linked"].linked)
        yield Sentence(f"The share linked is that of {JUDGED['linked']}: {columns}.")
    if result.on_fitted_rows:
        yield Sentence("The share of the rows and the accuracy are on rows it was fitted to; held_out names others.")
    if not any(share.hits for share in result.after.values()):
        names = " or ".join(next(iter(result.after.values())).sensitive)
        yield Sentence(
            f"The model's output never changed with {names}. Another parameter may still stand in for {names}: these "
            "shares cannot show that."
        )


def _changes(result: Retrained) -> Section:
    def points(*numbers: float) -> list[str]:
        difference, low, high = (signed(100 * number) for number in numbers)
        return [difference, f"{low} to {high}"]

    rows, loss = [], result.loss
    for name, change in result.changes.items():
        gone, relative = result.relative(name), ["", ""]
        if gone is not None:
            part, low, high = (f"{-100 * number or 0.0:+.1f}%" for number in (gone.value, gone.high, gone.low))
            relative = [part, f"{low} to {high}"]
        rows.append([name, *points(-change.difference, -change.high, -change.low), *relative])
    rows.append(["accuracy", *points(-loss.value, -loss.high, -loss.low), "", ""])
    interval = f"{percent(loss.confidence)} interval"
    columns = ["", "#points", f"{interval} (paired)", "#relative", interval]
    return Section("The change, on the same inputs and rows", (Table.of(columns, rows),))


def _row(shares: Mapping[str, Share], accuracy: float, n_added: int) -> list[str]:
    return [*(percent(share.value) for share in shares.values()), f"{accuracy:.2%}", f"{n_added:,}"]


def _controls(result: Retrained) -> Table:
    before = "the model given, on rows it knows" if result.on_fitted_rows and not result.accepted else "before"
    rows = [[before, *_row(result.before, result.accuracy_before, 0)]]
    if result.accepted:
        rows.append(["after", *_row(result.after, result.accuracy_after, result.n_added)])
    for each in result.controls.values():
        rows += [] if each.accuracy is None else [[each.words, *_row(each.shares, each.accuracy, each.n_added)]]
    return Table.of(["", *(f"#{name}" for name in [*result.before, "accuracy", "rows added"])], rows)


def _failed_controls(result: Retrained) -> list[Sentence]:
    failed = (each for each in result.controls.values() if each.why_not)
    return [Sentence(f"{each.words}: no figures: {each.why_not}") for each in failed]


def _groups_title(result: Retrained) -> str:
    names = " and ".join(next(iter(result.before.values())).sensitive)
    known = ", on rows it was fitted to" if result.on_fitted_rows else ""
    return f"Accuracy, and how often the label is {value(result.favourable)}, by {names}{known}"


def _groups(result: Retrained) -> Table:
    def twice(before: str, after: str) -> list[str]:
        return [before, f"-> {after}"] if result.accepted else [before]

    groups, label = result.groups, f"label {value(result.favourable)}"
    shown = groups[groups["n"].rank(ascending=False, method="first") <= MOST_GROUPS]
    rows = []
    for name, group in shown.iterrows():
        rates = ([f"{group[f'{of}_{when}']:.2%}" for when in ("before", "after")] for of in ("accuracy", "selected"))
        rows.append([value(name), f"{group['n']:,.0f}", *chain.from_iterable(twice(*pair) for pair in rates)])
    columns = ["rows", *twice("accuracy", "after"), *twice(label, "after")]
    hidden = len(groups) - len(shown)
    title = f"The {MOST_GROUPS} largest groups; {counted(hidden, 'smaller group')} not shown" if hidden else ""
    return Table.of(["", *(f"#{name}" for name in columns)], rows, title)


def _rounds(result: Retrained) -> Table:
    first = result.first
    reference = "before" if result.before_is == result.compared_with else "clone"
    rows = [[reference, *_row(first.shares, first.accuracy, 0), "", ""]]
    for each in result.rounds:
        fate = "returned" if each is result.chosen else "accepted" if each.accepted else "rejected"
        rows.append([str(each.number), *_row(each.shares, each.accuracy, each.n_added), fate, each.recipe.words()])
    numbers = (f"#{name}" for name in [*first.shares, "accuracy", "rows added"])
    return Table.of(["round", *numbers, "outcome", "what was added"], rows)


def _notes(result: Retrained) -> Iterable[Sentence]:
    """Why rounds were rejected, what they were compared with, and which are best."""
    rejected: dict[str, list[Round]] = {}
    for each in result.rounds:
        if not each.accepted:
            rejected.setdefault(each.why, []).append(each)
    for why, rounds in rejected.items():
        yield Sentence(f"Rejected {', '.join(str(each.number) for each in rounds)}: {why}.")
    if not result.accepted and any(each.loss.value > result.max_accuracy_loss for each in result.rounds):
        yield Sentence("max_accuracy_loss sets how much accuracy may be lost.")
    if result.before_is != result.compared_with:
        yield Sentence(f"The rounds were compared with {result.compared_with}.")
    front = ", ".join(map(str, sorted(each.number for each in front_of(result.rounds))))
    yield Sentence(f"Front: {front}. No round beats these in both what is left of the shares and accuracy.")
