"""Limits the OpenMP threads of a model to what a batch is worth.

Threads of OpenMP wait for each other by spinning. Where other processes use the cores, a short batch then costs up to
25 times its processor time (measured: histogram gradient boosting, 2,000 rows, two cores with a load of 13).
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from fairprobe.model.known import kin

WORTH = 0.25
"""Shortest time of a batch, in seconds on one thread, for which a model may use all its threads; chosen."""

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


class Threads:
    """The OpenMP threads of one model; learns from short batches how long a row takes."""

    def __init__(self, model: Any = None) -> None:
        self._may_use_them = kin(model) not in WITHOUT
        self._seconds_a_row = math.inf

    @contextmanager
    def limited(self, n_rows: int) -> Iterator[None]:
        """Within the context, a batch of so many rows is answered, on one OpenMP thread if it is short.

        Rows are independent of each other, so the number of threads changes no answer.
        """
        is_long = self._seconds_a_row < math.inf and n_rows * self._seconds_a_row > WORTH
        is_free = n_rows < FEW or is_long or not self._may_use_them
        openmp = None if is_free else _openmp(len(sys.modules))
        if openmp is None:
            yield
            return
        begun = time.perf_counter()
        with openmp.limit(limits=1, user_api="openmp"):
            yield
        self._seconds_a_row = min(self._seconds_a_row, (time.perf_counter() - begun) / n_rows)
