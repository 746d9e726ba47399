"""The exact test of symmetry, and its adjustment for many tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairprobe.arrays import Codes, Floats

if TYPE_CHECKING:
    pass


def symmetry(hits: Codes, n: Codes) -> Floats:
    """The exact probability of a count as far from the half of n, if both ways were as likely.

    >>> symmetry(np.array([5, 10]), np.array([10, 10])).round(4).tolist()
    [1.0, 0.002]
    """
    from scipy.special import bdtr

    return np.minimum(1.0, 2 * bdtr(np.minimum(hits, n - hits).astype(np.float64), n, 0.5))


def holm(p: Floats) -> Floats:
    """Adjust p-values for their number (Holm, 1979).

    >>> holm(np.array([0.01, 0.04, 0.03])).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return adjusted
