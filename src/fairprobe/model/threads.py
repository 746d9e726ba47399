"""Threads: a batch in parts, asked about side by side, for models that release the interpreter's lock."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Final

import numpy as np

LEAST_ROWS: Final = 64
"""A part with fewer rows is not worth a thread."""


class InThreads:
    """Asks about the parts of a batch in as many threads."""

    def __init__(self, function: Callable[[Any], Any], n_threads: int) -> None:
        self._function = function
        self._n_threads = n_threads
        self._pool = ThreadPoolExecutor(n_threads)

    def __call__(self, batch: Any) -> Any:
        """The answers, in order."""
        n = min(self._n_threads, len(batch) // LEAST_ROWS)
        if n < 2:
            return self._function(batch)
        ends = np.linspace(0, len(batch), n + 1).astype(int)
        parts = [_rows(batch, first, end) for first, end in pairwise(ends)]
        return np.concatenate(list(self._pool.map(self._function, parts)))


def _rows(batch: Any, first: int, end: int) -> Any:
    return batch.iloc[first:end] if hasattr(batch, "iloc") else batch[first:end]
