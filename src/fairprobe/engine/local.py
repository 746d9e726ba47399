"""The base class of engines, and the local engine, which runs one shard after the other in this process.

Each shard is a future. Results are given in order, in whatever order the shards end. They are kept at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from typing import Any

from fairprobe.engine.base import TRIES, Counts, Skipped, Work
from fairprobe.engine.interrupts import interruptible
from fairprobe.errors import FairprobeError, RunError

POLL_SECONDS = 0.1
"""How often the shards under way are looked at. Chosen: progress is shown as often."""

GRACE_SECONDS = 30.0
"""How long interrupted shards may take to hand over what they have. Chosen: one batch of a slow model."""

MOST_SKIPPED = 3
"""The run fails when this many shards in a row are left out, as it would never end. Chosen."""


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
