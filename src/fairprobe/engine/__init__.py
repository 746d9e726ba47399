"""Who runs the shards."""

from fairprobe.engine.base import (
    ENGINES,
    Counts,
    Engine,
    Kept,
    Report,
    Skipped,
    Task,
    checked_engine,
    checked_jobs,
    make_engine,
)

__all__ = [
    "ENGINES",
    "Counts",
    "Engine",
    "Kept",
    "Report",
    "Skipped",
    "Task",
    "checked_engine",
    "checked_jobs",
    "make_engine",
]
