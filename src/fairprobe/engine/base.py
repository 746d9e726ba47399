"""The engines by name, what they have in common, and the local engine, which runs everything in this process.

A new engine is one new module with a class that is made from a `Work` and an address, as `LocalEngine` is, and one line
in `ENGINES`. `tests/engine/conformance.py` has its tests.
"""

from __future__ import annotations

import itertools
import math
import operator
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from fairprobe.checks import nearest
from fairprobe.errors import FairprobeError, RunError, SettingError

ENGINES: dict[str, str] = {
    "local": "fairprobe.engine.base:LocalEngine",
    "processes": "fairprobe.engine.processes:ProcessEngine",
    "dask": "fairprobe.engine.dask:DaskEngine",
}
"""The class of each engine, "module:Class", by the engine's name. A class is imported when it is used."""

TRIES = 3
"""A shard that fails this many times is left out. Chosen."""

MOST_SKIPPED = 3
"""The run fails when this many shards in a row are left out, as it would never end. Chosen."""


class Counts(NamedTuple):
    """How far a shard, or a run, has got."""

    n_cases: int
    n_judged: int
    n_queries: int


Report = Callable[[Counts], bool]
"""A task calls this to tell how far it has got. The answer is whether the task must stop."""

Task = Callable[[int, float | None, Report | None], Any]
"""Runs the shard of the number given within the seconds given, if they are limited. It is given seconds and no end, as
it may run in another process, whose clock may show another time."""

Watch = Callable[[list[Counts]], None]
"""Called with the counts of all shards under way."""

Foreseen = Callable[[list[Counts]], float]
"""Predicts how many more seconds the run will take, from the counts of the shards under way."""


class Kept(Protocol):
    """Keeps results for later runs. An engine never runs a shard whose result is kept."""

    def load(self, shard: int) -> Any | None:
        """The result of a shard that an earlier run has finished, or None."""

    def save(self, shard: int, result: Any) -> None:
        """Keep a result. An engine calls this, in the process that made it, as soon as it sees that a shard ended."""


@dataclass(frozen=True)
class Skipped:
    """Stands in place of the result of a shard that kept failing."""

    shard: int
    reason: str
    n_tries: int = TRIES

    def words(self) -> str:
        """The shard and the reason, as a sentence shows them."""
        return f"shard {self.shard} failed {self.n_tries} times: {self.reason}"


@dataclass(frozen=True)
class Work:
    """What an engine is asked to do."""

    task: Task
    n_jobs: int = 1
    watch: Watch | None = None
    seconds_left: Callable[[], float | None] = lambda: None
    kept: Kept | None = None
    n_shards: int | None = None
    """The number of shards, if it is known before."""
    foreseen: Foreseen = lambda under_way: math.inf

    @property
    def shards(self) -> Iterable[int]:
        """The numbers of the shards."""
        return itertools.count() if self.n_shards is None else range(self.n_shards)

    def load(self, shard: int) -> Any | None:
        """The result of a shard that an earlier run has finished, or None."""
        return None if self.kept is None else self.kept.load(shard)

    def save(self, shard: int, result: Any) -> None:
        """Keep a result for later runs. Nothing is kept of a shard that was left out."""
        if self.kept is not None and not isinstance(result, Skipped):
            self.kept.save(shard, result)


class Engine(Protocol):
    """Runs shards 0, 1, 2, ... and gives their results in this order."""

    address: str | None
    """The address of a page that shows the engine at work, if there is one."""

    def results(self) -> Iterator[Any]:
        """The results; endless unless the number of shards is known, so the caller stops when it has enough.

        A shard that fails is run again. One that keeps failing comes out as `Skipped`. A `FairprobeError` from the task
        is raised at once.
        """

    def finish(self) -> list[Any]:
        """Stop the shards under way and give what they have so far, in order."""

    def close(self) -> None:
        """Stop the shards under way; their results are not wanted."""


class LocalEngine:
    """Runs one shard after the other in this process."""

    address: str | None = None

    def __init__(self, work: Work, address: str | None = None) -> None:
        self._work = work

    def results(self) -> Iterator[Any]:
        """The results in order."""
        work, patience = self._work, Patience()
        for shard in work.shards:
            result = work.load(shard)
            if result is None:
                result = self._run(shard)
                work.save(shard, result)
            patience.see(result)
            yield result

    def _run(self, shard: int) -> Any:
        report = None if self._work.watch is None else self._report
        for n_tries in itertools.count(1):
            try:
                return self._work.task(shard, self._work.seconds_left(), report)
            except FairprobeError:
                raise
            except Exception as error:
                if n_tries >= TRIES:
                    return Skipped(shard, in_words(error))
        raise AssertionError

    def _report(self, counts: Counts) -> bool:
        assert self._work.watch is not None
        self._work.watch([counts])
        return False

    def finish(self) -> list[Any]:
        """Give nothing: no shard is under way between two results."""
        return []

    def close(self) -> None:
        """Do nothing: no shard is under way between two results."""


class Patience:
    """Ends a run in which one shard after the other has to be left out."""

    def __init__(self) -> None:
        self._n_skipped = 0
        """How many of the last results in a row were `Skipped`."""

    def see(self, result: Any) -> None:
        """Take the next result in order; raises a `RunError` when the run is not worth going on with."""
        self._n_skipped = self._n_skipped + 1 if isinstance(result, Skipped) else 0
        if self._n_skipped >= MOST_SKIPPED:
            raise RunError(f"a shard must not fail again and again, got {self._n_skipped} in a row: {result.words()}")


def in_words(error: BaseException) -> str:
    """An exception as one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}".rstrip(": ")


def checked_jobs(n_jobs: int) -> int:
    """The number of processes; -1 stands for one for each core."""
    try:
        number = operator.index(n_jobs)
    except TypeError:
        number = 0
    if isinstance(n_jobs, bool) or number == 0 or number < -1:
        raise SettingError.about("n_jobs", f"must be a whole number of at least 1, or -1 for all cores, got {n_jobs!r}")
    return number if number > 0 else os.cpu_count() or 1


def checked_engine(engine: str | None, n_jobs: int = 1) -> tuple[str, str | None]:
    """The name of an engine, and its address if it is on other machines.

    >>> checked_engine(None), checked_engine(None, 2), checked_engine("dask"), checked_engine("dask://10.0.0.7:8786")
    (('local', None), ('processes', None), ('dask', None), ('dask', '10.0.0.7:8786'))
    """
    if engine is None:
        return ("local" if n_jobs == 1 else "processes"), None
    name, is_remote, address = engine.partition("://") if isinstance(engine, str) else (engine, "", "")
    if name not in ENGINES or (is_remote and name != "dask"):
        near = nearest(name, ENGINES)
        known = ", ".join(ENGINES)
        raise SettingError.about("engine", f"must be one of {known}, or dask://host:port, got {engine!r}{near}")
    if not is_remote:
        return name, None
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise SettingError.about("engine", f"must name a scheduler as dask://host:port, got {engine!r}")
    if n_jobs != 1:
        raise SettingError.about("n_jobs", f"is for workers of this machine, got {n_jobs} with engine={engine!r}")
    return name, address


def make_engine(task: Task, n_jobs: int = 1, *, engine: str | None = None, **more: Any) -> Engine:
    """An engine by its name; by default the one for this number of processes. `more` are the other fields of `Work`."""
    name, address = checked_engine(engine, n_jobs)
    module, of_class = ENGINES[name].split(":")
    if name != "local":
        from fairprobe.model.threads import AsHere

        task = AsHere(task, shares_cores=True)
    made: Engine = getattr(import_module(module), of_class)(Work(task, n_jobs, **more), address)
    return made
