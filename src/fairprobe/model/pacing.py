"""Pacing: how a service is asked, how many rows a request holds, and how soon the next request may follow."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

FIRST_ROWS: Final = 64
"""Rows of the first requests. Chosen."""

MOST_ROWS: Final = 16_384
"""Most rows of a request that doubling leads to. Chosen."""

RISE: Final = 1.1
"""Throughput counts as higher if it is this many times what it was. Chosen above the noise of a quiet machine."""

TRIES: Final = 2
"""Measurements of each size. The best of them counts, as delays are by chance."""

PATIENCE: Final = 2
"""Sizes in a row without a higher throughput that end the doubling: a single one may be by chance."""


@dataclass(frozen=True)
class Persistence:
    """The settings by which a service is asked."""

    connections: int = 4
    timeout: float = 60.0
    retries: int = 8
    rate_limit: float | None = None
    ca_file: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    """By header, the environment's variable that holds its value."""


class BatchSize:
    """The rows of a request: doubled until throughput stops rising, or as they were given."""

    def __init__(self, given: int | None = None) -> None:
        self.rows = given or FIRST_ROWS
        self.proven = given or 0
        """Rows of the largest request that was answered; a larger one that fails may be too large."""
        self._is_settled = given is not None
        self._best_rows, self._best_rate = self.rows, 0.0
        self._n_flat = 0
        self._rates: list[float] | None = None  # the first call makes the connections, and is not timed

    def parts(self, n_rows: int) -> list[slice]:
        """As few requests as possible for a number of rows, of about equal size."""
        ends = np.linspace(0, n_rows, -(-n_rows // self.rows) + 1).astype(int).tolist()
        return [slice(first, end) for first, end in pairwise(ends)]

    def timed(self, n_rows: int, seconds: float) -> None:
        """Take note of how long a number of rows took."""
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
        elif n_rows >= 2 * self.rows:  # otherwise the larger size could not be told from this one
            self.rows *= 2

    def settle(self, rows: int) -> None:
        """Send no larger requests than this from now on."""
        self.rows, self._is_settled = max(1, min(self.rows, rows)), True


class RateLimit:
    """When the next request may be sent."""

    def __init__(self, per_second: float | None) -> None:
        self._gap = 0.0 if per_second is None else 1.0 / per_second
        self._next = 0.0

    def delay(self) -> float:
        """Take the next place in the queue: the seconds until it is that request's turn."""
        now = time.monotonic()
        turn = max(now, self._next)
        self._next = turn + self._gap
        return turn - now

    def hold(self, seconds: float) -> None:
        """Let no further request be sent for that long."""
        self._next = max(self._next, time.monotonic() + seconds)
