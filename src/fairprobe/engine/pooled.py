"""The base class of engines that run several shards at once, each as a future.

Results are given in order, in whatever order the shards end, and kept as soon as they are there.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from typing import Any

from fairprobe.engine.base import TRIES, Counts, Patience, Skipped, Work, in_words
from fairprobe.engine.interrupts import interruptible
from fairprobe.errors import FairprobeError

POLL_SECONDS = 0.1
"""How often the shards under way are looked at. Chosen: progress is shown as often."""

GRACE_SECONDS = 30.0
"""How long interrupted shards may take to hand over what they have. Chosen: one batch of a slow model."""


class PooledEngine:
    """Runs a few shards at once. A subclass starts them, counts, and stops them."""

    address: str | None = None

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
        """The results in order; others are under way."""
        patience = Patience()
        for shard in self._work.shards:
            self._line_up(shard)
            while shard not in self._results:
                self._fill()
                wait(self._under_way.values(), timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
                self._collect()
                with interruptible():
                    if self._work.watch is not None:
                        self._work.watch(self._counts())
            self._fill()
            result = self._results.pop(shard)
            patience.see(result)
            yield result

    def _line_up(self, wanted: int) -> None:
        """Queue the next shards, except those that an earlier run has finished."""
        most = wanted + self._most_ahead()
        most = most if self._work.n_shards is None else min(most, self._work.n_shards)
        for shard in range(self._n_lined_up, most):
            known = self._work.load(shard)
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
                    continue
                result = Skipped(shard, in_words(error), self._n_tries[shard])
            self._work.save(shard, result)
            self._results[shard] = result

    def finish(self) -> list[Any]:
        """Stop the shards under way and give what they have, in order."""
        self._stop()
        wait(self._under_way.values(), timeout=GRACE_SECONDS)
        for shard, future in self._under_way.items():
            if future.done() and not future.cancelled() and future.exception() is None and future.result() is not None:
                self._work.save(shard, future.result())
                self._results[shard] = future.result()
        return [result for _, result in sorted(self._results.items()) if not isinstance(result, Skipped)]
