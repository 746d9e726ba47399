"""What an engine is, the engines by name, and the one that runs everything here and now.

A new engine is one new module, with a class that is made of a `Work` and an address as `LocalEngine` is, and one line
in `ENGINES`; `tests/engine/conformance.py` has its tests.
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
"""By name, the class: not imported before it is used."""

TRIES = 3
"""A shard that fails so often is left out."""

MOST_SKIPPED = 3
"""So many shards left out in a row are a failure of the run: it would never end."""


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

Foreseen = Callable[[list[Counts]], float]
"""How many seconds the run will yet take, by the counts of the shards under way."""


class Kept(Protocol):
    """Where results outlive the process. An engine never runs a shard whose result it holds."""

    def load(self, shard: int) -> Any | None:
        """The result of a shard that was finished before, or None."""

    def save(self, shard: int, result: Any) -> None:
        """Keep a result: called in the process that made the engine, as soon as a shard has ended, in any order."""


@dataclass(frozen=True)
class Skipped:
    """In place of the result of a shard that kept failing."""

    shard: int
    reason: str
    n_tries: int = TRIES

    def words(self) -> str:
        """Which, and why."""
        return f"shard {self.shard} failed {self.n_tries} times: {self.reason}"


@dataclass(frozen=True)
class Work:
    """What an engine is to do."""

    task: Task
    n_jobs: int = 1
    watch: Watch | None = None
    seconds_left: SecondsLeft = lambda: None
    kept: Kept | None = None
    n_shards: int | None = None
    """How many there are, where that is known."""
    foreseen: Foreseen = lambda under_way: math.inf
    may_copy: bool = False
    """Whether the task bears to be run in a copy of this process: it needs no threads that a library has started."""

    @property
    def shards(self) -> Iterable[int]:
        """Their numbers."""
        return itertools.count() if self.n_shards is None else range(self.n_shards)

    def load(self, shard: int) -> Any | None:
        """What an earlier run has of a shard."""
        return None if self.kept is None else self.kept.load(shard)

    def save(self, shard: int, result: Any) -> None:
        """Keep a result for a later run; of a shard that was left out there is none."""
        if self.kept is not None and not isinstance(result, Skipped):
            self.kept.save(shard, result)


class Engine(Protocol):
    """Runs shards 0, 1, 2, ... and gives their results in that order."""

    address: str | None
    """Where one can watch it at work, if anywhere."""

    def results(self) -> Iterator[Any]:
        """The results, endlessly unless their number is known: the caller stops when it has enough.

        A shard that fails is run again; one that keeps failing comes out as `Skipped`. What the task raises of our own
        errors is the task's word, and ends the run at once.
        """

    def finish(self) -> list[Any]:
        """Stop the shards under way and give what they have, in order."""

    def close(self) -> None:
        """Stop the shards under way; their results are not wanted."""


class LocalEngine:
    """One shard after the other, in this process."""

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
        """Nothing is under way between two shards."""
        return []

    def close(self) -> None:
        """Nothing is under way between two shards."""


class Patience:
    """Ends a run in which shard after shard has to be left out."""

    def __init__(self) -> None:
        self._skipped: list[Skipped] = []

    def see(self, result: Any) -> None:
        """The next result, in order."""
        self._skipped = [*self._skipped, result] if isinstance(result, Skipped) else []
        if len(self._skipped) >= MOST_SKIPPED:
            raise RunError(
                f"a shard must not fail again and again, got {len(self._skipped)} in a row: {result.words()}"
            )


def in_words(error: BaseException) -> str:
    """What an exception says, in a line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}".rstrip(": ")


def checked_jobs(n_jobs: int) -> int:
    """How many processes; -1 is one for each core."""
    try:
        number = operator.index(n_jobs)
    except TypeError:
        number = 0
    if isinstance(n_jobs, bool) or number == 0 or number < -1:
        raise SettingError.about("n_jobs", f"must be a whole number of at least 1, or -1 for all cores, got {n_jobs!r}")
    return number if number > 0 else os.cpu_count() or 1


def checked_engine(engine: str | None, n_jobs: int = 1) -> tuple[str, str | None]:
    """The name of an engine, and where it is to be found if it is not of this machine.

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


def make_engine(
    task: Task,
    n_jobs: int = 1,
    watch: Watch | None = None,
    seconds_left: SecondsLeft = lambda: None,
    kept: Kept | None = None,
    *,
    engine: str | None = None,
    n_shards: int | None = None,
    foreseen: Foreseen = lambda under_way: math.inf,
    may_copy: bool = False,
) -> Engine:
    """The engine of that name, or else for so many processes; what is `kept` of an earlier run is not run again."""
    name, address = checked_engine(engine, n_jobs)
    module, of_class = ENGINES[name].split(":")
    if name != "local":
        from fairprobe.model.elsewhere import AsHere

        task = AsHere(task, shares_cores=True)
    work = Work(task, n_jobs, watch, seconds_left, kept, n_shards, foreseen, may_copy)
    made: Engine = getattr(import_module(module), of_class)(work, address)
    return made
