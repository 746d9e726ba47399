"""What an engine is, the engines by name, and the one that runs everything here and now.

A new engine is one new module, with a class that is made as `LocalEngine` is, and one line in `ENGINES`.
"""

from __future__ import annotations

import itertools
import operator
import os
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from fairprobe.errors import SettingError

ENGINES: dict[str, str] = {
    "local": "fairprobe.engine.base:LocalEngine",
    "processes": "fairprobe.engine.processes:ProcessEngine",
}
"""By name, the class: not imported before it is used."""


class Counts(NamedTuple):
    """How far a shard has got, or a run."""

    n_cases: int
    n_judged: int
    n_queries: int


Report = Callable[[Counts], bool]
"""A task tells how far it has got, and is answered whether to stop."""

Task = Callable[[int, float | None, Report | None], Any]
"""Runs the shard of that number within so many seconds, if they are limited. Engines but the local one send it to other
processes, whose clocks need not show the same."""

Watch = Callable[[list[Counts]], None]
"""Told the counts of all shards under way."""

SecondsLeft = Callable[[], float | None]


class Engine(Protocol):
    """Runs shards 0, 1, 2, ... and gives their results in that order."""

    def results(self) -> Iterator[Any]:
        """The results, endlessly: the caller stops when it has enough."""

    def finish(self) -> list[Any]:
        """Stop the shards under way and give what they have, in order."""

    def close(self) -> None:
        """Stop the shards under way; their results are not wanted."""


class Kept(Protocol):
    """Where results outlive the process. An engine never runs a shard whose result it holds."""

    def load(self, shard: int) -> Any | None:
        """The result of a shard that was finished before, or None."""

    def save(self, shard: int, result: Any) -> None:
        """Keep a result: called in the process that made the engine, as soon as a shard has ended, in any order."""


class LocalEngine:
    """One shard after the other, in this process."""

    def __init__(
        self, task: Task, n_jobs: int, watch: Watch | None, seconds_left: SecondsLeft, kept: Kept | None = None
    ) -> None:
        self._task = task
        self._watch = watch
        self._seconds_left = seconds_left
        self._kept = kept

    def results(self) -> Iterator[Any]:
        """The results in order."""
        report = None if self._watch is None else self._report
        for shard in itertools.count():
            result = None if self._kept is None else self._kept.load(shard)
            if result is None:
                result = self._task(shard, self._seconds_left(), report)
                if self._kept is not None:
                    self._kept.save(shard, result)
            yield result

    def _report(self, counts: Counts) -> bool:
        assert self._watch is not None
        self._watch([counts])
        return False

    def finish(self) -> list[Any]:
        """Nothing is under way between two shards."""
        return []

    def close(self) -> None:
        """Nothing is under way between two shards."""


def checked_jobs(n_jobs: int) -> int:
    """How many processes; -1 is one for each core."""
    try:
        number = operator.index(n_jobs)
    except TypeError:
        number = 0
    if isinstance(n_jobs, bool) or number == 0 or number < -1:
        raise SettingError.about("n_jobs", f"must be a whole number of at least 1, or -1 for all cores, got {n_jobs!r}")
    return number if number > 0 else os.cpu_count() or 1


def make_engine(
    task: Task,
    n_jobs: int,
    watch: Watch | None = None,
    seconds_left: SecondsLeft = lambda: None,
    kept: Kept | None = None,
) -> Engine:
    """The engine for so many processes; what is `kept` of an earlier run is not run again."""
    module, name = ENGINES["local" if n_jobs == 1 else "processes"].split(":")
    engine: Engine = getattr(import_module(module), name)(task, n_jobs, watch, seconds_left, kept)
    return engine
