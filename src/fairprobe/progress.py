"""Telling how far a call has got: one signature for all of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fairprobe.wording import for_terminal


@dataclass(frozen=True)
class Status:
    """How far a call has got."""

    text: str
    """In words."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """In numbers, by name: `search` tells n_cases, n_judged, n_queries and seconds, `estimate` n, hits, low and high,
    `retrain` the round that is over."""
    fraction: float | None = None
    """The part that is done, where that is known."""
    is_over: bool = False
    """Whether it tells what came of something, which is worth a line in a log, and not only what is under way."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", for_terminal(self.text))


Progress = Callable[[Status], None]
"""Told about ten times a second, or whenever there is something new."""


def teller(progress: bool | Progress | None) -> Progress | None:
    """What an argument `progress` asks for: a callable is told, True writes lines on the standard error."""
    return progress if callable(progress) else (_write if progress else None)


def _write(status: Status) -> None:
    """A line that stays for what is over; for what is under way one that is written over, where people look on."""
    if status.is_over:
        before = "\r" if "ipykernel" in sys.modules else ""
        sys.stderr.write(f"{before}{status.text}\n")
    elif sys.stderr.isatty():
        sys.stderr.write(f"\r{status.text}\x1b[K")
    elif "ipykernel" in sys.modules:  # a notebook goes back to the beginning of a line, but knows no other code
        sys.stderr.write(f"\r{_bar(status.fraction)}{status.text}"[:WIDTH].ljust(WIDTH))
    sys.stderr.flush()


WIDTH = 100
"""Of a line in a notebook."""


def _bar(fraction: float | None, cells: int = 20) -> str:
    """The part done, drawn.

    >>> _bar(0.5), _bar(None)
    ('[##########----------] ', '')
    """
    if fraction is None:
        return ""
    done = round(cells * min(1.0, max(0.0, fraction)))
    return f"[{'#' * done}{'-' * (cells - done)}] "
