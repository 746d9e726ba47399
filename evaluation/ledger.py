"""The ledger: measurements that were taken, in a file that is always whole, so that a run goes on where it stopped.

A bump of the package's version leaves the file readable: it has a format of its own, and says of every measurement
what it was taken with. Runs that differ in their seed alone share a line, so that names and settings stand there once.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairprobe._version import __version__
from fairprobe.errors import DataError

FORMAT = 2
WRITE_SECONDS = 2.0
"""Measurements of so long are lost at most when a run is killed."""

SEED = "seed"
TOLD = ("subject", "sensitive", "strategy", "augment")

Figures = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One measurement, named by the function that takes it and by its settings, which are all it depends on."""

    task: str
    """The name of a function in `evaluation.measure`."""
    settings: dict[str, Any]
    """Its arguments, all fit for JSON."""
    is_timed: bool = False
    """True if its time is measured, so that it must have the machine for itself."""

    @property
    def key(self) -> str:
        """Identifies a measurement, whatever the order of its settings."""
        return f"{self.task} {json.dumps(self.settings, sort_keys=True)}"

    def __str__(self) -> str:
        """In words, for whoever watches: what tells it from the others next to it."""
        told = [self.settings[name] for name in TOLD if name in self.settings]
        words = ", ".join("+".join(each) if isinstance(each, list) else str(each) for each in told)
        return self.task.replace("_", " ") + (f" ({words})" if words else "")


class Ledger:
    """The figures by cell."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._taken: dict[str, tuple[Cell, Figures, str]] = {}
        self._now = json.dumps(_versions())
        self._written = time.monotonic()
        if path.exists():
            self._read()

    def __contains__(self, cell: Cell) -> bool:
        return cell.key in self._taken

    def __getitem__(self, cell: Cell) -> Figures:
        return self._taken[cell.key][1]

    def has_all(self, cells: Iterable[Cell]) -> bool:
        """True if all of these were taken."""
        return all(cell in self for cell in cells)

    def values(self, cells: Iterable[Cell], name: str) -> list[Any]:
        """One figure of each of these."""
        return [self[cell][name] for cell in cells]

    def versions(self, cells: Iterable[Cell]) -> list[dict[str, Any]]:
        """The versions that these were taken with; several if another version continued a run."""
        return [json.loads(each) for each in sorted({self._taken[cell.key][2] for cell in cells if cell in self})]

    def add(self, cell: Cell, figures: Figures) -> None:
        """Keep a measurement; it is on disk soon."""
        self._taken[cell.key] = (cell, figures, self._now)
        if time.monotonic() - self._written >= WRITE_SECONDS:
            self.write()

    def write(self) -> None:
        """Write everything, whole or not at all, in an order that does not depend on who was first."""
        versions = sorted({by for _, _, by in self._taken.values()})
        tasks: dict[str, dict[str, dict[str, Any]]] = {}
        for _, (cell, figures, by) in sorted(self._taken.items(), key=_seed_last):
            settings = {name: value for name, value in sorted(cell.settings.items()) if name != SEED}
            place = json.dumps([settings, SEED in cell.settings, sorted(figures), by])
            line = tasks.setdefault(cell.task, {}).setdefault(
                place, {"settings": settings, "by": versions.index(by), "seeds": [], "figures": {}}
            )
            line["seeds"] += [cell.settings[SEED]] if SEED in cell.settings else []
            for name, value in sorted(figures.items()):
                line["figures"].setdefault(name, []).append(value)
        body = ",\n".join(
            f"{json.dumps(task)}: [\n"
            + ",\n".join(json.dumps(line, separators=(",", ":")) for _, line in sorted(lines.items()))
            + "\n]"
            for task, lines in sorted(tasks.items())
        )
        head = f'{{"format": {FORMAT}, "versions": [{", ".join(versions)}], "tasks": {{'
        write_whole(self.path, f"{head}\n{body}\n}}}}\n")
        self._written = time.monotonic()

    def _read(self) -> None:
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
            known = content["format"]
            if known == FORMAT:
                versions = [json.dumps(each) for each in content["versions"]]
                for task, lines in content["tasks"].items():
                    for line in lines:
                        self._read_line(task, line, versions)
        except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            raise DataError(
                f"{str(self.path)!r} must hold measurements of an earlier run, got {type(error).__name__}: {error}; "
                f"remove it or write to another folder by --out"
            ) from error
        if known != FORMAT:
            raise DataError(
                f"measurements must be of the format {FORMAT}, got {known!r} in {str(self.path)!r}; "
                f"write to another folder by --out"
            )

    def _read_line(self, task: str, line: dict[str, Any], versions: Sequence[str]) -> None:
        for place, seed in enumerate([{SEED: seed} for seed in line["seeds"]] or [{}]):
            cell = Cell(task, {**line["settings"], **seed})
            figures = {name: values[place] for name, values in line["figures"].items()}
            self._taken[cell.key] = (cell, figures, versions[line["by"]])


def _seed_last(item: tuple[str, tuple[Cell, Figures, str]]) -> tuple[int, str]:
    """Seeds as they are counted, 2 before 10."""
    key, (cell, _, _) = item
    seed = cell.settings.get(SEED)
    return (seed if isinstance(seed, int) else -1), key


def write_whole(path: Path, text: str) -> Path:
    """Write a file whole or not at all."""
    part = path.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    return part.replace(path)


def _versions() -> dict[str, Any]:
    """The versions and the machine that figures, and above all times, depend on."""
    import numpy
    import sklearn

    return {
        "fairprobe": __version__,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scikit-learn": sklearn.__version__,
        "cores": os.cpu_count(),
    }
