"""Progress reports of a running call, such as a search: the `Status`, the callable that receives it, its display."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fairprobe.wording import for_terminal, unmarked


@dataclass(frozen=True)
class Status:
    """Report on how far a running call (a search, an estimate, retraining or an audit) has got, in words and numbers.

    The call passes it to the callable that it got as its argument `progress`.

    >>> from fairprobe.wording import value
    >>> Status(f"group {value('Female')}").text
    'group Female'
    """

    text: str
    """The progress in words."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """The progress in numbers, by name. `search` reports n_cases, n_judged, n_queries and seconds, `estimate` n, hits,
    low and high, `retrain` the finished round, `audit` the phase."""
    fraction: float | None = None
    """Fraction of the work that is done; None if it is not known."""
    is_over: bool = False
    """True if the status is a result, which is worth a line in a log; False while the work is under way."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", for_terminal(unmarked(self.text)))


Progress = Callable[[Status], None]
"""Callable that receives a status about ten times a second, or whenever there is news."""


def teller(progress: bool | Progress | None) -> Progress | None:
    """Return the callable that receives the progress, for the value of an argument `progress`.

    A callable is returned unchanged; True gives a function that writes to the standard error; False and None give None.
    """
    return progress if callable(progress) else (_write if progress else None)


def _write(status: Status) -> None:
    """Write a status to the standard error: a result as a line of its own.

    Unfinished work is written only on a terminal or in a notebook, as a line that the next status overwrites.
    """
    if status.is_over:
        before = "\r" if "ipykernel" in sys.modules else ""
        sys.stderr.write(f"{before}{status.text}\n")
    elif sys.stderr.isatty():
        sys.stderr.write(f"\r{status.text}\x1b[K")
    elif "ipykernel" in sys.modules:  # a notebook goes back to the beginning of a line, but knows no other code
        sys.stderr.write(f"\r{_bar(status.fraction)}{status.text}"[:WIDTH].ljust(WIDTH))
    sys.stderr.flush()


WIDTH = 100
"""Number of characters of a progress line in a notebook, so that it covers the line before; chosen."""


def _bar(fraction: float | None, cells: int = 20) -> str:
    """Return a bar of `cells` characters that shows the done fraction (0 to 1); an empty text for None.

    >>> _bar(0.5), _bar(None)
    ('[##########----------] ', '')
    """
    if fraction is None:
        return ""
    done = round(cells * min(1.0, max(0.0, fraction)))
    return f"[{'#' * done}{'-' * (cells - done)}] "
