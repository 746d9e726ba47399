"""A cell: one measurement, named by the function that takes it and by its settings, which are all it depends on."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Figures = dict[str, Any]

TOLD = ("subject", "sensitive", "strategy", "augment")


@dataclass(frozen=True)
class Outcome:
    """What a measurement came to: the figures, which a second run repeats, and the times, which it does not."""

    figures: Figures = field(default_factory=dict)
    times: Figures = field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """One measurement that is still to be taken, or was: the ledger knows."""

    task: str
    """The name of a function in `fairprobe.reproduce.tasks`."""
    settings: dict[str, Any]
    """Its arguments, all fit for JSON."""
    is_timed: bool = False
    """Whether it must have the machine for itself, as its time is what is measured."""

    @property
    def key(self) -> str:
        """The same for the same measurement, whatever the order of its settings."""
        return f"{self.task} {json.dumps(self.settings, sort_keys=True)}"

    def __str__(self) -> str:
        """In words, for whoever watches: what tells it from the others next to it."""
        told = [self.settings[name] for name in TOLD if name in self.settings]
        words = ", ".join("+".join(each) if isinstance(each, list) else str(each) for each in told)
        return self.task.replace("_", " ") + (f" ({words})" if words else "")


def take(cell: Cell) -> Outcome:
    """Take a measurement, and its time."""
    from fairprobe.reproduce import tasks

    measure: Callable[..., Outcome] = getattr(tasks, cell.task)
    begun = time.perf_counter()
    outcome = measure(**cell.settings)
    return Outcome(outcome.figures, {"seconds": time.perf_counter() - begun, **outcome.times})
