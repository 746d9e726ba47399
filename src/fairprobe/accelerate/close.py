"""Close calls: which class a score means, and which scores are too close to trust another order of summing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.accelerate.rows import Floats

ROUNDING = 1e-11
"""In units of the largest score at hand: far above float64's rounding, far below what tells most inputs apart."""


def chosen(scores: Floats) -> NDArray[Any]:
    """The class that scores mean: by the sign of one alone, or by the highest."""
    return scores[..., 0] > 0 if scores.shape[-1] == 1 else scores.argmax(axis=-1)


def doubtful(scores: Floats) -> tuple[NDArray[np.intp], ...]:
    """Where the sums are so close to a tie that their order may decide."""
    if not scores.size:
        return tuple(np.zeros((scores.ndim - 1, 0), dtype=np.intp))
    if scores.shape[-1] == 1:
        lead = np.abs(scores[..., 0])
    else:
        highest = np.partition(scores, -2, axis=-1)
        lead = highest[..., -1] - highest[..., -2]
    return (lead <= ROUNDING * np.abs(scores).max()).nonzero()
