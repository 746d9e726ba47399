"""Engines, which run the shards (independent parts) of a run: their base class, and the engine for one process.

Each shard runs as a future. Results are returned in the order of shards, even if the shards end in another order. They
are stored as soon as they arrive.

A new engine is one new module with a subclass of `Engine`, which is made from a `Work` and an address, and one line in
`ENGINES`. `tests/engine/conformance.py` has its tests.
"""

from __future__ import annotations

import itertools
import math
import operator
import os
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
    "local": "fairprobe.engine.base:Engine",
    "processes": "fairprobe.engine.processes:ProcessEngine",
    "dask": "fairprobe.engine.dask:DaskEngine",
}
"""The class of each engine, "module:Class", by the engine's name. A class is imported when it is used."""

TRIES = 3
"""Number of failures after which a shard is left out of the results. Chosen."""

POLL_SECONDS = 0.1
"""Seconds between two checks of the running shards, and between two updates of the progress shown. Chosen."""

GRACE_SECONDS = 30.0
"""Seconds that running shards (parts of a run) may take to return their findings after an interruption. Chosen: as long
as one batch of a slow model."""

MOST_SKIPPED = 3
"""Number of consecutive shards left out at which a run fails, because otherwise it might never end. Chosen."""


class Counts(NamedTuple):
    """Progress of a shard (part of a run) or run: the numbers of cases found, inputs judged and rows sent."""

    n_cases: int
    n_judged: int
    n_queries: int


Report = Callable[[Counts], bool]
"""Function that a running task calls with its progress so far. It returns True if the task must stop."""

Task = Callable[[int, float | None, Report | None], Any]
"""Function that runs one shard and returns its result, given the shard's number, the seconds left and a `Report`. It
gets seconds instead of an end time, because another process may have another clock."""


class Kept(Protocol):
    """Protocol of a store of shards' results. An engine does not run a shard whose result is stored."""

    def load(self, shard: int) -> Any | None:
        """Return the stored result of a shard (part of a run) by its number; None if there is none."""

    def save(self, shard: int, result: Any) -> None:
        """Store the result of a shard (part of a run), as soon as it has ended. The engine's process calls this."""


@dataclass(frozen=True)
class Skipped:
    """Placeholder for the result of a shard that failed `n_tries` times."""

    shard: int
    reason: str
    n_tries: int = TRIES

    @classmethod
    def by(cls, error: BaseException, shard: int, n_tries: int) -> Skipped:
        """Return the placeholder for the result of a shard whose last try ended with this error."""
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}".rstrip(": ")
        return cls(shard, reason, n_tries)

    def words(self) -> str:
        """Return a clause for messages: the number of the shard left out, its number of tries, and the last error."""
        return f"shard {self.shard} failed {self.n_tries} times: {self.reason}"


@dataclass(frozen=True)
class Work:
    """The task that an engine runs for each shard, with the settings of the run."""

    task: Task
    n_jobs: int = 1
    watch: Callable[[list[Counts]], None] | None = None
    """Function that is called regularly with the progress of each running shard, to show it."""
    seconds_left: Callable[[], float | None] = lambda: None
    kept: Kept | None = None
    n_shards: int | None = None
    """Number of shards; None if the run has no fixed end."""
    foreseen: Callable[[list[Counts]], float] = lambda under_way: math.inf
    """Function that predicts the remaining seconds of the run from the counts of the running shards."""

    @property
    def shards(self) -> Iterable[int]:
        """Numbers of the shards to run, in order; without end unless `n_shards` is known."""
        return itertools.count() if self.n_shards is None else range(self.n_shards)


def checked_jobs(n_jobs: int) -> int:
    """Return the number of processes for `n_jobs` after checking it; -1 becomes the number of cores."""
    try:
        number = operator.index(n_jobs)
    except TypeError:
        number = 0
    if isinstance(n_jobs, bool) or number == 0 or number < -1:
        raise SettingError.about("n_jobs", f"must be a whole number of at least 1, or -1 for all cores, got {n_jobs!r}")
    return number if number > 0 else os.cpu_count() or 1


def checked_engine(engine: str | None, n_jobs: int = 1) -> tuple[str, str | None]:
    """Return the name of an engine, and the address of its scheduler or None, after checking both.

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
    """Return an engine that runs `task`, by the engine's name.

    By default it is "local" for one job, otherwise "processes". `more` are other fields of `Work`.
    """
    name, address = checked_engine(engine, n_jobs)
    module, of_class = ENGINES[name].split(":")
    if name != "local":
        from fairprobe.engine.processes import AsHere

        task = AsHere(task, shares_cores=True)
    return getattr(import_module(module), of_class)(Work(task, n_jobs, **more), address)


class Engine:
    """Engine that runs shards 0, 1, 2, ... each in the calling thread, and returns their results in order.

    It is the base class of the others, which start, count and stop the shards elsewhere.
    """

    address: str | None = None
    """Address of a web page that shows the engine's work; None if there is none."""

    def __init__(self, work: Work, address: str | None = None) -> None:
        self._work = work
        self._here: Counts | None = None
        """Progress of the shard that runs in this thread; None if there is none."""
        self._waiting: deque[int] = deque()
        """Numbers of the shards that wait to be started."""
        self._under_way: dict[int, Future[Any]] = {}
        self._results: dict[int, Any] = {}
        """Results that were not returned yet, by shard."""
        self._n_tries: Counter[int] = Counter()
        """Number of failures by shard, without failures caused by other shards."""
        self._n_lined_up = 0

    # For subclasses

    def _most_ahead(self) -> int:
        """Return how many shards to plan ahead, from the next one whose result is wanted, including finished ones."""
        return 1

    def _may_start(self, shard: int) -> bool:
        """Return True if the engine has room to start this shard (part of a run) now."""
        return self._here is None and not self._under_way

    def _start(self, shard: int) -> Future[Any]:
        """Start a shard (part of a run) and return the future of its result; in this thread it is done by then."""
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
        """Return the progress of each running shard: cases found, inputs judged and rows sent."""
        return [] if self._here is None else [self._here]

    def _stop(self) -> None:
        """Tell all running shards to stop; in this thread, none is running between two results."""

    def close(self) -> None:
        """Stop the running shards and discard their results."""
        self._stop()

    def _failed(self, shard: int, error: BaseException) -> int:
        """Return the number of tries by which to count a shard's failure; raise an error if it must end the run."""
        if isinstance(error, FairprobeError):
            raise error
        return 1

    # The results

    def results(self) -> Iterator[Any]:
        """Yield the results of the shards in order; without end unless the number of shards is known.

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
        """Collect the results of ended shards; queue failed shards again, or replace them by `Skipped`."""
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
        """Stop the running shards and return the results not yielded yet, even partial ones, in order of shards."""
        self._stop()
        wait(self._under_way.values(), timeout=GRACE_SECONDS)
        for shard, future in self._under_way.items():
            if future.done() and not future.cancelled() and future.exception() is None and future.result() is not None:
                self._take(shard, future.result())
        return [result for _, result in sorted(self._results.items()) if not isinstance(result, Skipped)]
