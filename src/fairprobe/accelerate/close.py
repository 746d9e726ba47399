"""Close calls: which class scores mean, and where another order of summing could mean another class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.accelerate.rows import Floats

EPS = np.finfo(np.float64).eps


def decide(scores: Floats, error: Floats) -> tuple[NDArray[Any], tuple[NDArray[np.intp], ...]]:
    """The class that scores mean, by their last axis, and where errors of that size could mean another."""
    found, lead = _by_sign(scores[..., 0]) if scores.shape[-1] == 1 else _by_height(scores)
    return found, (lead <= 4 * error.max()).nonzero()


def _by_sign(scores: Floats) -> tuple[NDArray[np.bool_], Floats]:
    return scores > 0, np.abs(scores)


def _by_height(scores: Floats) -> tuple[NDArray[np.intp], Floats]:
    """The class of the highest score, the first of equals, and its lead on the second highest.

    Class by class, as argmax is slow on short axes.
    """
    highest, second = scores[..., 0], np.full(scores.shape[:-1], -np.inf)
    found = np.zeros(scores.shape[:-1], dtype=np.intp)
    for place in range(1, scores.shape[-1]):
        score = scores[..., place]
        np.copyto(found, place, where=score > highest)
        second = np.maximum(second, np.minimum(highest, score))
        highest = np.maximum(highest, score)
    return found, highest - second


def rounding(sizes: Floats, weights: Floats, intercepts: Floats) -> Floats:
    """How far sums of numbers up to these sizes, by these weights, may be off: a bound for any order of summing."""
    return EPS * (len(weights) + 2) * (sizes @ np.abs(weights) + np.abs(intercepts))
