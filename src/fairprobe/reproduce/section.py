"""A section of the page: what it has to measure, and what it says of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fairprobe.reproduce.cells import Cell
from fairprobe.reproduce.ledger import Ledger
from fairprobe.reproduce.plan import Plan


def _draw_nothing(plan: Plan, ledger: Ledger, folder: Path) -> None:
    pass


@dataclass(frozen=True)
class Section:
    """Shown as soon as all its cells are in the ledger."""

    cells: Callable[[Plan], list[Cell]]
    text: Callable[[Plan, Ledger], str]
    draw: Callable[[Plan, Ledger, Path], None] = _draw_nothing
    """Writes its figures into a folder."""
