"""Telling how far a run has got."""

from __future__ import annotations

import sys
from collections.abc import Callable

from fairprobe.search.job import Snapshot

Progress = Callable[[Snapshot, float], None]
"""Told about ten times a second how far the run has got, and after how many seconds."""


def print_line(snapshot: Snapshot, seconds: float) -> None:
    """One line on the standard error, written over again; nothing where it is no terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{describe_progress(snapshot, seconds)}\x1b[K")
        sys.stderr.flush()


def describe_progress(snapshot: Snapshot, seconds: float) -> str:
    """How far, in words."""
    rate = snapshot.n_cases / seconds if seconds else 0.0
    return f"{snapshot.n_cases:,} cases ({rate:,.0f}/s) in {snapshot.n_judged:,} inputs, {seconds:.1f} s"
