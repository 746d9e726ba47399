"""Close calls: which class scores mean, and where another order of summing could mean another class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.accelerate.rows import Floats

EPS = np.finfo(np.float64).eps


def chosen(scores: Floats) -> NDArray[Any]:
    """The class that scores mean: by the sign of one alone, or by the highest."""
    return scores[..., 0] > 0 if scores.shape[-1] == 1 else scores.argmax(axis=-1)


def rounding(sizes: Floats, weights: Floats, intercepts: Floats) -> Floats:
    """How far sums of numbers up to these sizes, by these weights, may be off: a bound for any order of summing."""
    return EPS * (len(weights) + 2) * (sizes @ np.abs(weights) + np.abs(intercepts))


def doubtful(scores: Floats, error: Floats) -> tuple[NDArray[np.intp], ...]:
    """Where the scores are no further from a tie than two of them may be off."""
    if scores.shape[-1] == 1:
        lead = np.abs(scores[..., 0])
    else:
        highest = np.partition(scores, -2, axis=-1)
        lead = highest[..., -1] - highest[..., -2]
    return (lead <= 4 * error.max()).nonzero()
