"""The page: the sections whose measurements are all there, in the order of the paper's questions."""

from __future__ import annotations

from pathlib import Path

from fairprobe.reproduce import effectiveness, efficiency, figures, findings, retraining, sweeps
from fairprobe.reproduce.ledger import Ledger
from fairprobe.reproduce.plan import Plan
from fairprobe.reproduce.section import Section

ALL = "all"

PARTS: dict[str, tuple[Section, ...]] = {
    "figures": (Section(figures.cells, figures.text, figures.draw),),
    "effectiveness": (
        Section(effectiveness.cells, effectiveness.text),
        Section(sweeps.cells, sweeps.text, sweeps.draw),
    ),
    "efficiency": (Section(efficiency.cells, efficiency.text),),
    "retraining": (Section(retraining.cells, retraining.text),),
}
"""What can be asked for."""


def sections_of(what: str) -> tuple[Section, ...]:
    """The sections of a part, or of all parts and what follows from them."""
    if what != ALL:
        return PARTS[what]
    every = tuple(section for sections in PARTS.values() for section in sections)
    cells = lambda plan: [cell for section in every for cell in section.cells(plan)]  # noqa: E731
    return (*every, Section(cells, findings.text))


def write_page(plan: Plan, ledger: Ledger, path: Path) -> Path:
    """Write the page and its figures; the page last, and whole or not at all."""
    for section in _complete(plan, ledger):
        section.draw(plan, ledger, path.parent)
    part = path.with_suffix(".part")
    part.write_text(page(plan, ledger), encoding="utf-8")
    return part.replace(path)


def page(plan: Plan, ledger: Ledger) -> str:
    """The page, a function of the measurements alone."""
    return "\n\n".join([_head(plan, ledger), *(each.text(plan, ledger) for each in _complete(plan, ledger))]) + "\n"


def _complete(plan: Plan, ledger: Ledger) -> list[Section]:
    return [section for section in sections_of(ALL) if ledger.has_all(section.cells(plan))]


def _head(plan: Plan, ledger: Ledger) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in ledger.versions.items() if name != "cores")
    command = f"fairprobe reproduce all{' --quick' if plan.name == 'quick' else ''} --out FOLDER"
    return "\n\n".join([
        "# The paper's evaluation, made again",
        "Sakshi Udeshi, Pryanshu Arora, Sudipta Chattopadhyay: *Automated Directed Fairness Testing*, ASE 2018, on the "
        "US census and six classifiers, the sensitive parameter being sex. The paper's figures stand beside ours.",
        f"Written by `{command}` from the measurements in [paper.json](paper.json), seeds from {plan.seed} on, with "
        f"{versions}, on {ledger.versions['cores']} cores.",
        "A yield measures a search, a share the model: a yield is never an estimate of a share.",
    ])  # fmt: skip
