"""The engines by name, the base class of all, and the local one, which runs one shard after the other in this process.

Each shard is a future. Results are given in order, in whatever order the shards end. They are kept at once.

A new engine is one new module with a class that is made from a `Work` and an address, as `LocalEngine` is, and one line
in `ENGINES`. `tests/engine/conformance.py` has its tests.
"""

from __future__ import annotations

import itertools
import math
import operator
import os
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from fairprobe.checks import nearest
from fairprobe.engine.interrupts import interruptible
from fairprobe.errors import FairprobeError, RunError, SettingError

ENGINES: dict[str, str] = {
    "local": "fairprobe.engine.base:LocalEngine",
    "processes": "fairprobe.engine.processes:ProcessEngine",
    "dask": "fairprobe.engine.dask:DaskEngine",
}
"""The class of each engine, "module:Class", by the engine's name. A class is imported when it is used."""

TRIES = 3
"""A shard that fails this many times is left out. Chosen."""

POLL_SECONDS = 0.1
"""How often the shards under way are looked at. Chosen: progress is shown as often."""

GRACE_SECONDS = 30.0
"""How long interrupted shards may take to hand over what they have. Chosen: one batch of a slow model."""

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
        from fairprobe.engine.processes import AsHere

        task = AsHere(task, shares_cores=True)
    made: Engine = getattr(import_module(module), of_class)(Work(task, n_jobs, **more), address)
    return made


class Engine(ABC):
    """Runs shards 0, 1, 2, ... and gives their results in this order. A subclass starts, counts and stops them."""

    address: str | None = None
    """The address of a page that shows the engine at work, if there is one."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._waiting: deque[int] = deque()
        """Shards that may be started."""
        self._under_way: dict[int, Future[Any]] = {}
        self._results: dict[int, Any] = {}
        """Results that are not given yet."""
        self._n_tries: Counter[int] = Counter()
        """Failures that count, by shard."""
        self._n_lined_up = 0

    # For subclasses

    @abstractmethod
    def _most_ahead(self) -> int:
        """How many shards, from the next one wanted, may be waiting, under way or done."""

    @abstractmethod
    def _may_start(self, shard: int) -> bool:
        """Whether there is a free place for this shard now."""

    @abstractmethod
    def _start(self, shard: int) -> Future[Any]:
        """Start a shard."""

    @abstractmethod
    def _counts(self) -> list[Counts]:
        """How far the shards under way have got."""

    @abstractmethod
    def _stop(self) -> None:
        """Tell all shards under way to stop."""

    @abstractmethod
    def close(self) -> None:
        """Stop the shards under way; their results are not wanted."""

    def _failed(self, shard: int, error: BaseException) -> int:
        """How many tries a failure counts for; raises what ends the run."""
        if isinstance(error, FairprobeError):
            raise error
        return 1

    # The results

    def results(self) -> Iterator[Any]:
        """The results; endless unless the number of shards is known, so the caller stops when it has enough.

        A shard that fails is run again. One that keeps failing comes out as `Skipped`. A `FairprobeError` from the task
        is raised at once.
        """
        n_skipped = 0
        for shard in self._work.shards:
            self._line_up(shard)
            while shard not in self._results:
                self._fill()
                wait(self._under_way.values(), timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
                self._collect()
                with interruptible():
                    if self._work.watch is not None and self._under_way:
                        self._work.watch(self._counts())
            self._fill()
            result = self._results.pop(shard)
            n_skipped = n_skipped + 1 if isinstance(result, Skipped) else 0
            if n_skipped >= MOST_SKIPPED:
                raise RunError(f"a shard must not fail again and again, got {n_skipped} in a row: {result.words()}")
            yield result

    def _line_up(self, wanted: int) -> None:
        """Queue the next shards, except those that an earlier run has finished."""
        most = wanted + self._most_ahead()
        most = most if self._work.n_shards is None else min(most, self._work.n_shards)
        for shard in range(self._n_lined_up, most):
            known = None if self._work.kept is None else self._work.kept.load(shard)
            if known is None:
                self._waiting.append(shard)
            else:
                self._results[shard] = known
        self._n_lined_up = max(self._n_lined_up, most)

    def _fill(self) -> None:
        """Start the next shards while there are free places."""
        while self._waiting and self._may_start(self._waiting[0]):
            shard = self._waiting.popleft()
            self._under_way[shard] = self._start(shard)

    def _collect(self) -> None:
        """Take the results of the shards that have ended; queue the failed ones again."""
        for shard in [shard for shard, future in self._under_way.items() if future.done()]:
            try:
                result = self._under_way.pop(shard).result()
            except (Exception, CancelledError) as error:
                self._n_tries[shard] += self._failed(shard, error)
                if self._n_tries[shard] < TRIES:
                    self._waiting.appendleft(shard)  # the results after it have to wait for it
                else:
                    self._results[shard] = Skipped.by(error, shard, self._n_tries[shard])
            else:
                self._take(shard, result)

    def _take(self, shard: int, result: Any) -> None:
        if self._work.kept is not None:
            self._work.kept.save(shard, result)
        self._results[shard] = result

    def finish(self) -> list[Any]:
        """Stop the shards under way and give what they have so far, in order."""
        self._stop()
        wait(self._under_way.values(), timeout=GRACE_SECONDS)
        for shard, future in self._under_way.items():
            if future.done() and not future.cancelled() and future.exception() is None and future.result() is not None:
                self._take(shard, future.result())
        return [result for _, result in sorted(self._results.items()) if not isinstance(result, Skipped)]


class LocalEngine(Engine):
    """Runs a shard when its result is wanted, in this thread."""

    def __init__(self, work: Work, address: str | None = None) -> None:
        super().__init__(work)
        self._here: Counts | None = None
        """How far the shard has got that runs in this thread, if there is one."""

    def _most_ahead(self) -> int:
        return 1

    def _may_start(self, shard: int) -> bool:
        return self._here is None and not self._under_way

    def _start(self, shard: int) -> Future[Any]:
        """Run a shard in this thread. Its future is done when this returns."""
        self._here, future = Counts(0, 0, 0), Future[Any]()
        report = None if self._work.watch is None and self._work.n_jobs == 1 else self._report
        try:
            future.set_result(self._work.task(shard, self._work.seconds_left(), report))
        except Exception as error:
            future.set_exception(error)
        finally:
            self._here = None
        return future

    def _report(self, counts: Counts) -> bool:
        self._here = counts
        self._fill()  # a subclass may start others now
        if self._work.watch is not None:
            self._work.watch(self._counts())
        return False

    def _counts(self) -> list[Counts]:
        return [] if self._here is None else [self._here]

    def _stop(self) -> None:
        """Do nothing: the shard that runs in this thread is over or has raised."""

    def close(self) -> None:
        """Do nothing: no shard is under way between two results."""
