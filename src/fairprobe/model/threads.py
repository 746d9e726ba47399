"""Limits the OpenMP threads of a model to what a batch is worth.

Threads of OpenMP wait for each other by spinning. Where other processes use the cores, a short batch then costs up to
25 times its processor time (measured: histogram gradient boosting, 2,000 rows, two cores with a load of 13).
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from typing import Any, ClassVar

from fairprobe.model.known import kin

WORTH = 0.25
"""Shortest time of a batch, in seconds on one thread, for which a model may use all its threads; chosen."""

DEAR = 1.5
"""Largest processor time of a row on all threads, relative to one, at which a model keeps its threads; chosen."""

PAUSE = 10.0
"""Seconds for which all models stay on one thread after the threads of one were too dear; chosen."""

FEW = 8
"""Smallest number of rows for which threads are limited; chosen: with fewer, the limit itself takes too long."""

WITHOUT = frozenset({"forest", "kernel", "linear", "network", "tree"})
"""Kinds of models whose prediction uses no OpenMP, so that nothing need be limited."""


@lru_cache(maxsize=1)
def _openmp(n_modules: int) -> Any:
    """Return the controller of the OpenMP libraries that are loaded, or None if there is none.

    Looking for them takes milliseconds, so it is done again only when the number of imported modules has changed.
    """
    from threadpoolctl import ThreadpoolController

    every = ThreadpoolController()
    return every if any(each["user_api"] == "openmp" for each in every.info()) else None


def one_thread() -> AbstractContextManager[Any]:
    """Return a context within which OpenMP libraries, as far as any is loaded, use one thread."""
    openmp = _openmp(len(sys.modules))
    return nullcontext() if openmp is None else openmp.limit(limits=1, user_api="openmp")


class Threads:
    """The OpenMP threads of one model; learns from its batches what a row costs on one thread and on all."""

    alone_until: ClassVar[float] = -math.inf
    """Time, by `time.perf_counter`, until which all models stay on one thread, as other processes use the cores."""

    def __init__(self, model: Any = None) -> None:
        self._may_use_them = kin(model) not in WITHOUT
        self._seconds_a_row = math.inf
        """Smallest processor time of a row on one thread, in seconds."""

    @contextmanager
    def limited(self, n_rows: int) -> Iterator[None]:
        """Within the context, a batch of so many rows is answered, on one OpenMP thread if it is short.

        A long batch is answered on one thread too, for a while, after threads cost too much processor time: then other
        processes use the cores. Rows are independent of each other, so the number of threads changes no answer.
        """
        is_long = self._seconds_a_row < math.inf and n_rows * self._seconds_a_row > WORTH
        is_spread = is_long and time.perf_counter() >= Threads.alone_until
        if n_rows < FEW or not self._may_use_them:
            yield
            return
        begun = time.process_time()
        with nullcontext() if is_spread else one_thread():
            yield
        seconds_a_row = (time.process_time() - begun) / n_rows
        if not is_spread:
            self._seconds_a_row = min(self._seconds_a_row, seconds_a_row)
        elif seconds_a_row > DEAR * self._seconds_a_row:
            Threads.alone_until = time.perf_counter() + PAUSE
