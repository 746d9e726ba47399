"""Pacing: how many rows a request holds, how many requests are under way, and how soon the next may follow."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from itertools import pairwise
from typing import Any, Final

import numpy as np

FIRST_ROWS: Final = 64
MOST_ROWS: Final = 16_384
"""The rows of the first requests, and the most that doubling leads to."""

RISE: Final = 1.1
"""Throughput rises if it is so many times what it was."""

TRIES: Final = 2
"""So many times a size is timed: the best counts, as only delays are by chance."""

PATIENCE: Final = 2
"""So many sizes in a row without a rise end the doubling: one may be by chance."""

NOTICE_SECONDS: Final = 0.5
"""Answers are waited for in such slices: a Ctrl-C that comes just before a wait begins is heard only when it ends."""


class BatchSize:
    """The rows of a request: doubled until throughput stops rising, or as they were given."""

    def __init__(self, given: int | None = None) -> None:
        self.rows = given or FIRST_ROWS
        self.proven = given or 0
        """A request of so many rows has been answered; a larger one that fails may be too large."""
        self._is_settled = given is not None
        self._best_rows, self._best_rate = self.rows, 0.0
        self._n_flat = 0
        self._rates: list[float] | None = None  # the first call makes the connections, and is not timed

    def parts(self, n_rows: int) -> list[slice]:
        """The requests for so many rows: as few as may be, of about the same size."""
        ends = np.linspace(0, n_rows, -(-n_rows // self.rows) + 1).astype(int).tolist()
        return [slice(first, end) for first, end in pairwise(ends)]

    def timed(self, n_rows: int, seconds: float) -> None:
        """Take note of how long so many rows took."""
        if self._is_settled or n_rows < self.rows:
            return  # too few to tell
        if self._rates is None:
            self._rates = []
            return
        self._rates.append(n_rows / max(seconds, 1e-9))
        if len(self._rates) < TRIES:
            return
        rate, self._rates = max(self._rates), []
        if rate >= RISE * self._best_rate:
            self._best_rows, self._best_rate, self._n_flat = self.rows, rate, 0
        elif self.rows != self._best_rows:
            self._n_flat += 1
        if self._n_flat == PATIENCE or 2 * self.rows > MOST_ROWS:
            self.settle(self._best_rows)
        elif n_rows >= 2 * self.rows:  # else the larger size could not be told from this one
            self.rows *= 2

    def settle(self, rows: int) -> None:
        """No larger than this from now on."""
        self.rows, self._is_settled = max(1, min(self.rows, rows)), True


class Connections:
    """Threads that do what they are given; unlike those of an executor, they do not keep a process from ending."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._n_started = 0
        self._waiting: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Have it done."""
        future: Future[Any] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(function(*arguments))
            except BaseException as error:  # whoever waits for it is told
                future.set_exception(error)

        self._waiting.put(work)
        if self._n_started < self._n:
            self._n_started += 1
            threading.Thread(target=_work_off, args=(self._waiting,), name="fairprobe-service", daemon=True).start()
        return future

    def end(self) -> None:
        """Let them go, when they have done what they are at."""
        for _ in range(self._n_started):
            self._waiting.put(None)

    def renew(self) -> None:
        """Give up whatever waits or is under way, and be ready for other work."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._waiting.get_nowait()
        self.end()
        self._waiting, self._n_started = queue.SimpleQueue(), 0


def _work_off(waiting: queue.SimpleQueue[Callable[[], None] | None]) -> None:
    while (work := waiting.get()) is not None:
        work()


class RateLimit:
    """When the next request may be sent, over all threads."""

    def __init__(self, per_second: float | None) -> None:
        self._gap = 0.0 if per_second is None else 1.0 / per_second
        self._next = 0.0
        self._lock = threading.Lock()

    def wait(self, cancelled: threading.Event) -> None:
        """Until it is this request's turn."""
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + self._gap
        if turn > now:
            cancelled.wait(turn - now)

    def hold(self, seconds: float) -> None:
        """Nothing is to be sent for so long."""
        with self._lock:
            self._next = max(self._next, time.monotonic() + seconds)
