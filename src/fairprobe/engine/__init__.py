"""Who runs the shards."""

from fairprobe.engine.base import Counts, Engine, Report, Task, checked_jobs, make_engine

__all__ = ["Counts", "Engine", "Report", "Task", "checked_jobs", "make_engine"]
