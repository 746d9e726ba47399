"""Who runs the shards."""

from fairprobe.engine.base import Engine, Report, Task, make_engine

__all__ = ["Engine", "Report", "Task", "make_engine"]
