"""Who runs the shards."""

from fairprobe.engine.base import Counts, Engine, Kept, Report, Task, checked_jobs, make_engine

__all__ = ["Counts", "Engine", "Kept", "Report", "Task", "checked_jobs", "make_engine"]
