"""Who runs the shards."""

from fairprobe.engine.base import Engine, Report, Task, checked_jobs, make_engine

__all__ = ["Engine", "Report", "Task", "checked_jobs", "make_engine"]
