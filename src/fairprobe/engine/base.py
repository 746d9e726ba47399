"""The engines by name, and what they are asked to do.

A new engine is one new module with a class that is made from a `Work` and an address, as `LocalEngine` is, and one line
in `ENGINES`. `tests/engine/conformance.py` has its tests.
"""

from __future__ import annotations

import itertools
import math
import operator
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from fairprobe.checks import nearest
from fairprobe.errors import SettingError

if TYPE_CHECKING:
    from fairprobe.engine.local import Engine

ENGINES: dict[str, str] = {
    "local": "fairprobe.engine.local:LocalEngine",
    "processes": "fairprobe.engine.processes:ProcessEngine",
    "dask": "fairprobe.engine.dask:DaskEngine",
}
"""The class of each engine, "module:Class", by the engine's name. A class is imported when it is used."""

TRIES = 3
"""A shard that fails this many times is left out. Chosen."""


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

    @classmethod
    def by(cls, error: BaseException, shard: int, n_tries: int) -> Skipped:
        """The shard that this error ended."""
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}".rstrip(": ")
        return cls(shard, reason, n_tries)

    def words(self) -> str:
        """The shard and the reason, as a sentence shows them."""
        return f"shard {self.shard} failed {self.n_tries} times: {self.reason}"


@dataclass(frozen=True)
class Work:
    """What an engine is asked to do."""

    task: Task
    n_jobs: int = 1
    watch: Callable[[list[Counts]], None] | None = None
    """Called with the counts of all shards under way."""
    seconds_left: Callable[[], float | None] = lambda: None
    kept: Kept | None = None
    n_shards: int | None = None
    """The number of shards, if it is known before."""
    foreseen: Callable[[list[Counts]], float] = lambda under_way: math.inf
    """Predicts how many more seconds the run will take, from the counts of the shards under way."""

    @property
    def shards(self) -> Iterable[int]:
        """The numbers of the shards."""
        return itertools.count() if self.n_shards is None else range(self.n_shards)


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
        from fairprobe.engine.as_here import AsHere

        task = AsHere(task, shares_cores=True)
    made: Engine = getattr(import_module(module), of_class)(Work(task, n_jobs, **more), address)
    return made
