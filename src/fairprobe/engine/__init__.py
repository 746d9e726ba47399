"""Engines run the shards of a job: in this process, in several, or on Dask's workers."""

from fairprobe.engine.base import (
    ENGINES,
    Counts,
    Kept,
    Report,
    Skipped,
    Task,
    checked_engine,
    checked_jobs,
    make_engine,
)
from fairprobe.engine.local import Engine

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
