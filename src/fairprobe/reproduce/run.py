"""`reproduce`: take the measurements that are missing, then write the page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fairprobe.engine import checked_jobs
from fairprobe.errors import DataError, SettingError
from fairprobe.reproduce.cells import Cell
from fairprobe.reproduce.ledger import Ledger
from fairprobe.reproduce.page import ALL, PARTS, sections_of, write_page
from fairprobe.reproduce.plan import FULL, Plan
from fairprobe.reproduce.pool import taken

STEM = "paper"

Progress = Callable[[int, int, Cell | None], None]
"""Told how many measurements are done, of how many, and which was the last; None before the first."""


def reproduce(
    what: str = ALL, *, plan: Plan = FULL, out: Path | str = ".", n_jobs: int = -1, progress: Progress | None = None
) -> Path:
    """Make the paper's evaluation again, or a part of it, and write it down; gives the page.

    Args:
        what: "effectiveness", "efficiency", "retraining", "figures" or "all".
        plan: how much is measured.
        out: the folder for paper.md, paper.json and the figures; what is in the JSON already is not measured again.
        n_jobs: measurements at a time, those of time aside; -1 is one for each core. Figures do not depend on it.
        progress: a callable that is told of every measurement.
    """
    n_jobs = checked_jobs(n_jobs)
    wanted = wanted_cells(what, plan)
    folder = _made(Path(out))
    ledger = Ledger(folder / f"{STEM}.json")
    missing = [cell for cell in wanted if cell not in ledger]
    if progress is not None:
        progress(0, len(missing), None)
    try:
        for done, (cell, outcome) in enumerate(taken(missing, n_jobs), start=1):
            ledger.add(cell, outcome)
            if progress is not None:
                progress(done, len(missing), cell)
    finally:
        ledger.write()
    return write_page(plan, ledger, folder / f"{STEM}.md")


def wanted_cells(what: str, plan: Plan) -> list[Cell]:
    """All measurements of a part, each once."""
    if what not in (*PARTS, ALL):
        raise SettingError(f"what is reproduced must be one of {', '.join((*PARTS, ALL))}, got {what!r}")
    return list({cell.key: cell for section in sections_of(what) for cell in section.cells(plan)}.values())


def planned(what: str, plan: Plan, folder: Path) -> tuple[list[Cell], int]:
    """The measurements that are still to be taken, and how many there are in all."""
    cells, ledger = wanted_cells(what, plan), Ledger(folder / f"{STEM}.json")
    return [cell for cell in cells if cell not in ledger], len(cells)


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{STEM}.part").touch()
        (folder / f"{STEM}.part").unlink()
    except OSError as error:
        raise DataError(
            f"--out must be a folder that can be written, got {str(folder)!r} ({error.strerror}): choose another"
        ) from error
    return folder
