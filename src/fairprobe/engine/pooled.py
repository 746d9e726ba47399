"""Shards in several places at once: what engines that work by futures share.

Results are given in order, whatever order they come in, and kept as they come.
"""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from functools import partial
from typing import Any

from fairprobe.engine.base import TRIES, Counts, Patience, Skipped, Work, in_words
from fairprobe.engine.interrupts import interruptible
from fairprobe.errors import FairprobeError

POLL_SECONDS = 0.1

GRACE_SECONDS = 30.0
"""How long interrupted shards may take to hand over what they have: as long as one batch of a slow model."""


class PooledEngine:
    """A few shards at once. A subclass starts them, says how far they are, and stops them."""

    address: str | None = None
    fills_at_once = True
    """Whether a place that falls free is filled in the thread that tells so."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._lock = threading.RLock()
        """Held by whoever changes what follows: futures call back in other threads."""
        self._news = threading.Event()
        self._waiting: deque[int] = deque()
        """Shards that may be started."""
        self._under_way: dict[int, Future[Any]] = {}
        self._ended: deque[tuple[int, Future[Any]]] = deque()
        """Futures that are over and not looked into yet."""
        self._results: dict[int, Any] = {}
        self._n_tries: Counter[int] = Counter()
        self._n_lined_up = 0
        self._is_stopped = False

    # What a subclass does

    @abstractmethod
    def _most_ahead(self) -> int:
        """How many shards may be under way or done before the next that is wanted."""

    @abstractmethod
    def _start(self, shard: int) -> Future[Any] | None:
        """A shard under way, or None while there is no place for it."""

    @abstractmethod
    def _counts(self) -> list[Counts]:
        """How far the shards under way have got."""

    @abstractmethod
    def _stop(self) -> None:
        """Tell all shards under way to stop."""

    def _failed(self, shard: int, error: BaseException) -> int:
        """How many tries a failure counts for; raises what ends the run."""
        if isinstance(error, FairprobeError):
            raise error
        return 1

    def _look_around(self) -> None:
        """Done about ten times a second while results are waited for."""

    # The results

    def results(self) -> Iterator[Any]:
        """The results in order; others are under way."""
        patience = Patience()
        for shard in self._work.shards:
            self._line_up(shard)
            while shard not in self._results:
                self._wait()
                self._line_up(shard)
            result = self._results.pop(shard)
            patience.see(result)
            yield result

    def _line_up(self, wanted: int) -> None:
        """Let shards wait for a free place, but for those that an earlier run has finished."""
        most = wanted + self._most_ahead()
        most = most if self._work.n_shards is None else min(most, self._work.n_shards)
        while self._n_lined_up < most:
            shard = self._n_lined_up
            known = self._work.load(shard)
            with self._lock:
                if known is None:
                    self._waiting.append(shard)
                else:
                    self._results[shard] = known
                self._n_lined_up += 1
        self._fill()

    def _fill(self) -> None:
        """Start what waits, while there are places."""
        with self._lock:
            while self._waiting and not self._is_stopped:
                shard = self._waiting[0]
                future = self._start(shard)
                if future is None:
                    return
                self._waiting.popleft()
                self._under_way[shard] = future
                future.add_done_callback(partial(self._note, shard))

    def _note(self, shard: int, future: Future[Any]) -> None:
        """Called back when a shard is over, in any thread."""
        with self._lock:
            self._under_way.pop(shard, None)
            self._ended.append((shard, future))
            self._freed(shard, future)
            if self.fills_at_once:
                self._fill()
        self._news.set()

    def _freed(self, shard: int, future: Future[Any]) -> None:
        """A place is free again."""

    def _wait(self) -> None:
        if self._hear_news():
            self._news.clear()
        self._collect()
        self._look_around()
        with interruptible():
            if self._work.watch is not None:
                self._work.watch(self._counts())

    def _hear_news(self) -> bool:
        """Wait until something is over, or for a little while."""
        return self._news.wait(POLL_SECONDS)

    def _collect(self) -> None:
        """Look into what is over: results are kept, failures tried again."""
        while self._ended:
            shard, future = self._ended.popleft()
            try:
                result = future.result()
            except (Exception, CancelledError) as error:
                self._n_tries[shard] += self._failed(shard, error)
                if self._n_tries[shard] < TRIES:
                    with self._lock:
                        self._waiting.appendleft(shard)  # the next results hang on it
                        self._fill()
                    continue
                result = Skipped(shard, in_words(error), self._n_tries[shard])
            self._work.save(shard, result)
            self._results[shard] = result

    # The end

    def finish(self) -> list[Any]:
        """Stop the shards under way and give what they have, in order."""
        self._halt()
        deadline = time.monotonic() + GRACE_SECONDS
        while self._under_way and time.monotonic() < deadline:
            self._news.wait(POLL_SECONDS)
            self._news.clear()
        while self._ended:
            shard, future = self._ended.popleft()
            if not future.cancelled() and future.exception() is None and future.result() is not None:
                self._work.save(shard, future.result())
                self._results[shard] = future.result()
        return [result for _, result in sorted(self._results.items()) if not isinstance(result, Skipped)]

    def _halt(self) -> None:
        with self._lock:
            self._is_stopped = True
        self._stop()

    @abstractmethod
    def close(self) -> None:
        """Stop the shards under way; their results are not wanted."""
