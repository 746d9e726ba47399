"""How long a model takes, by asking it a little."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_SECONDS: Final = 1.0
_GROWTH: Final = 4


@dataclass(frozen=True)
class Measured:
    """What some batches told."""

    n_inputs: int
    hits: int
    per_input: float
    """Seconds an input, in the last batch."""
    last: float
    """Seconds of the last batch."""


def measured(judge: Callable[[int], int], most: int, *, first: int = 1) -> Measured:
    """Judge growing batches, up to a size, for about a second; `judge` judges so many inputs and gives the hits."""
    begun = time.perf_counter()
    batch, n_inputs, hits = min(first, most), 0, 0
    while True:
        asked = time.perf_counter()
        hits += judge(batch)
        seconds = time.perf_counter() - asked
        n_inputs += batch
        left = _SECONDS - (time.perf_counter() - begun)
        if batch == most or left < _GROWTH * seconds:
            return Measured(n_inputs, hits, seconds / batch, seconds)
        batch = min(most, _GROWTH * batch)
