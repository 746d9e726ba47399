"""The page writer: sections that say what they measure and what came of it, tables, and the figures' panels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.ledger import Cell, Ledger, write_whole
from evaluation.numbers import Estimate, average
from evaluation.plan import Plan
from evaluation.printed import TITLES
from fairprobe.svg import svg_panels


@dataclass(frozen=True)
class Section:
    """Shown as soon as all its cells are in the ledger."""

    part: str
    """The name of the part that it belongs to; sections may share one."""
    cells: Callable[[Plan], list[Cell]]
    text: Callable[[Plan, Ledger], str]
    draw: Callable[[Plan, Ledger, Path], None] | None = None
    """Writes its figures into a folder."""


@dataclass(frozen=True)
class Page:
    """A page is a function of the plan and of the measurements alone."""

    name: str
    title: str
    about: str
    sections: tuple[Section, ...]

    def complete(self, plan: Plan, ledger: Ledger) -> list[Section]:
        """The sections whose measurements are all there."""
        return [section for section in self.sections if ledger.has_all(section.cells(plan))]

    def text(self, plan: Plan, ledger: Ledger) -> str:
        """In Markdown."""
        complete = self.complete(plan, ledger)
        cells = [cell for section in complete for cell in section.cells(plan)]
        with_what = " and ".join(
            ", ".join(f"{name} {version}" for name, version in each.items() if name != "cores")
            + f", on {each['cores']} cores"
            for each in ledger.versions(cells)
        )
        head = [
            f"# {self.title}",
            self.about,
            f"Written by `scripts/reproduce{' --quick' if plan.name == 'quick' else ''}` from the measurements in "
            f"[{ledger.path.name}]({ledger.path.name}), seeds from {plan.seed} on, taken with {with_what}.",
        ]
        sections = [each.text(plan, ledger) for each in complete]
        return "\n\n".join([*head, *sections]) + "\n"

    def write(self, plan: Plan, ledger: Ledger, folder: Path) -> Path | None:
        """Write its figures, then the page itself; nothing if none of its sections is complete."""
        sections = self.complete(plan, ledger)
        for section in sections:
            if section.draw is not None:
                section.draw(plan, ledger, folder)
        return write_whole(folder / f"{self.name}.md", self.text(plan, ledger)) if sections else None


# Tables


def table(header: Sequence[str], rows: Iterable[Sequence[object]], *, n_left: int = 1) -> str:
    """A table, the first columns to the left, for words, and the others to the right."""
    lines = [f"| {' | '.join(header)} |", f"{'|---' * n_left}{'|---:' * (len(header) - n_left)}|"]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows)])


def by_subject(
    subjects: Sequence[str], columns: Sequence[Mapping[str, Estimate]], form: Callable[[Estimate], str]
) -> list[list[str]]:
    """Rows of numbers, one for each subject and one for the means; of some there may be none, or no finite mean.

    >>> by_subject(["svm"], [{"svm": Estimate(2.0)}, {}], lambda each: f"{each.value:g}")
    [['SVM', '2', ''], ['**mean**', '2', '']]
    """
    rows = [[TITLES[name], *(form(column[name]) if name in column else "" for column in columns)] for name in subjects]
    means = [average(column[name] for name in subjects if name in column) for column in columns]
    return [*rows, ["**mean**", *("" if mean is None else form(mean) for mean in means)]]


# Figures


@contextmanager
def panels(path: Path, titles: Sequence[str], *, width: float = 3.4, height: float = 2.6) -> Iterator[list[Any]]:
    """A panel for each title, three in a row at most; in the end they are written."""
    n_columns = min(3, len(titles))
    n_rows = -(-len(titles) // n_columns)
    with svg_panels(path, width, height, n_rows=n_rows, n_columns=n_columns) as axes:
        for spare in axes[len(titles) :]:
            spare.set_visible(False)
        for each, title in zip(axes, titles, strict=False):
            each.set_title(title, loc="left", fontsize=10)
            for side in ("top", "right"):
                each.spines[side].set_visible(False)
        yield axes[: len(titles)]


def draw_curve(axes: Any, cases: Sequence[int], n_inputs: int, **look: Any) -> Any:
    """Distinct cases over inputs generated; gives the line."""
    axes.set(xlabel="inputs generated", ylabel="distinct cases")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:,.0f}")
    [line] = axes.plot([n_inputs * point / (len(cases) - 1) for point in range(len(cases))], cases, **look)
    return line
