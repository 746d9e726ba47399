"""The ledger: measurements that were taken, in a file that is always whole, so that a run goes on where it stopped."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fairprobe._version import __version__
from fairprobe.errors import DataError
from fairprobe.reproduce.cells import Cell, Outcome

FORMAT = 1
WRITE_SECONDS = 2.0
"""Measurements of so long are lost at most when a run is killed."""


class Ledger:
    """The outcomes by cell."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._taken: dict[str, tuple[Cell, Outcome]] = {}
        self._written = time.monotonic()
        self.versions = _versions()
        if path.exists():
            self._read()

    def __contains__(self, cell: Cell) -> bool:
        return cell.key in self._taken

    def __getitem__(self, cell: Cell) -> Outcome:
        return self._taken[cell.key][1]

    def has_all(self, cells: Iterable[Cell]) -> bool:
        """Whether all of these were taken."""
        return all(cell in self for cell in cells)

    def figures(self, cells: Sequence[Cell], name: str) -> list[Any]:
        """One figure of each of these."""
        return [self[cell].figures[name] for cell in cells]

    def times(self, cells: Sequence[Cell], name: str = "seconds") -> list[Any]:
        """One time of each of these."""
        return [self[cell].times[name] for cell in cells]

    def add(self, cell: Cell, outcome: Outcome) -> None:
        """Keep an outcome; it is on disk soon."""
        self._taken[cell.key] = (cell, outcome)
        if time.monotonic() - self._written >= WRITE_SECONDS:
            self.write()

    def write(self) -> None:
        """Write all outcomes, whole or not at all, in an order that does not depend on who was first."""
        cells = [
            {"task": cell.task, "settings": cell.settings, **asdict(outcome)}
            for _, (cell, outcome) in sorted(self._taken.items())
        ]
        lines = ",\n".join(json.dumps(cell, sort_keys=True) for cell in cells)
        head = json.dumps({"format": FORMAT, "versions": self.versions})[:-1]
        part = self.path.with_suffix(".part")
        part.write_text(f'{head}, "cells": [\n{lines}\n]}}\n', encoding="utf-8")
        os.replace(part, self.path)
        self._written = time.monotonic()

    def _read(self) -> None:
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
            known, versions = content["format"], content["versions"]
            for each in content["cells"]:
                cell = Cell(each["task"], each["settings"])
                self._taken[cell.key] = (cell, Outcome(each["figures"], each["times"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{str(self.path)!r} must hold measurements of an earlier run, got {type(error).__name__}: {error}; "
                f"remove it or write to another folder by --out"
            ) from error
        if known != FORMAT or versions["fairprobe"] != __version__:
            raise DataError(
                f"a run is continued by the version that began it, got {str(self.path)!r} by fairprobe "
                f"{versions['fairprobe']}, and this is {__version__}; write to another folder by --out"
            )
        self.versions = versions


def _versions() -> dict[str, Any]:
    """What the figures, and above all the times, were taken with."""
    import numpy
    import sklearn

    return {
        "fairprobe": __version__,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scikit-learn": sklearn.__version__,
        "cores": os.cpu_count(),
    }
