"""Intervals of shares, computed from counts of hits and inputs: pure functions, valid at every sample size.

"Exact" is the word of Clopper and Pearson (1934): the chance to contain the share is never below `confidence`,
whatever the share and n; near 0 and 1 it is above. Only `mean_interval`, the paper's own, promises less.
Functions of hits and n give numbers for numbers and arrays for arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairprobe.arrays import Floats
from fairprobe.checks import is_number
from fairprobe.errors import SettingError


def clopper_pearson(hits: ArrayLike, n: ArrayLike, confidence: float) -> tuple[Any, Any]:
    """Return the exact two-sided interval of a share of n inputs with `hits` hits: Clopper and Pearson (1934).

    Without inputs, it is (0, 1).

    >>> clopper_pearson(0, 1000, 0.95)
    (0.0, 0.0036820...)
    """
    hit, total = checked_counts(hits, n)
    error = (1 - checked_confidence(confidence)) / 2
    return _plain(exact_lower(hit, total, error)), _plain(exact_upper(hit, total, error))


def lower_bound(hits: ArrayLike, n: ArrayLike, confidence: float) -> Any:
    """Return the exact one-sided lower bound of a share of n inputs with `hits` hits; 0 for no hits."""
    return _plain(exact_lower(*checked_counts(hits, n), 1 - checked_confidence(confidence)))


def upper_bound(hits: ArrayLike, n: ArrayLike, confidence: float) -> Any:
    """Return the exact one-sided upper bound of a share of n inputs with `hits` hits.

    Without hits, it is about 3 / n at a confidence of 95%.
    """
    return _plain(exact_upper(*checked_counts(hits, n), 1 - checked_confidence(confidence)))


def exact_bounds(hits: int, n: int, confidence: float, n_lost: int = 0) -> tuple[float, float, float, float]:
    """Return the ends of the exact two-sided interval of a share, low and high, and its one-sided bounds.

    `n_lost` further inputs without a result count as misses for the lower ends, and as hits for the upper ends.
    """
    least, most = (hits, n + n_lost, confidence), (hits + n_lost, n + n_lost, confidence)
    return clopper_pearson(*least)[0], clopper_pearson(*most)[1], lower_bound(*least), upper_bound(*most)


def mean_interval(rates: ArrayLike, confidence: float) -> tuple[float, float]:
    """Return the paper's interval of the mean of K experiments' rates: Student's t, clipped to [0, 1].

    It is good for many experiments with a few hits or more in each. For rare hits it is too short: K experiments
    without hits give (0, 0), and equal rates give a single point. Fewer than two experiments give (0, 1), as they show
    no spread.
    """
    values = np.asarray(rates, dtype=np.float64)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise SettingError(f"rates must be a list of numbers between 0 and 1, got {rates!r}")
    error = 1 - checked_confidence(confidence)
    if len(values) < 2:
        return 0.0, 1.0
    from scipy.special import stdtrit

    mean = float(values.mean())
    reach = -float(stdtrit(len(values) - 1, error / 2)) * float(values.std(ddof=1)) / math.sqrt(len(values))
    return max(0.0, mean - reach), min(1.0, mean + reach)


def split_confidence(confidence: float, n: int) -> float:
    """Return the confidence that each of n intervals needs so that all hold together with the given confidence."""
    return 1 - (1 - checked_confidence(confidence)) / n


def checked_confidence(confidence: Any) -> float:
    """Return the confidence as a float; refuse all but numbers above 0 and below 1."""
    if not is_number(confidence) or not 0 < confidence < 1:
        raise SettingError.about("confidence", f"must be a number between 0 and 1, both excluded, got {confidence!r}")
    return float(confidence)


def checked_share(name: str, share: Any) -> float:
    """Return the value of the argument `name` as a float; refuse all but numbers from 0 to 1."""
    if not is_number(share) or not 0 <= share <= 1:
        raise SettingError.about(name, f"must be a number from 0 to 1, got {share!r}")
    return float(share)


def checked_counts(hits: ArrayLike, n: ArrayLike) -> tuple[Floats, Floats]:
    """Return hits and n as float arrays of one shape; refuse all but whole numbers with 0 <= hits <= n."""
    for name, counts in (("hits", hits), ("n", n)):
        numbers = np.asarray(counts)
        if numbers.size and (numbers.dtype.kind not in "iu" or (numbers < 0).any()):
            raise SettingError.about(name, f"must be whole numbers of at least 0, got {counts!r}")
    hit, total = np.asarray(hits, dtype=np.float64), np.asarray(n, dtype=np.float64)
    try:
        hit, total = np.broadcast_arrays(hit, total)
    except ValueError:
        raise SettingError(f"hits and n must be as many, got hits={hits!r}, n={n!r}") from None
    if (hit > total).any():
        raise SettingError(f"hits must be at most n, got hits={hits!r}, n={n!r}")
    return hit, total


def _plain(values: Floats) -> Any:
    return float(values) if values.ndim == 0 else values


def exact_lower(hits: Floats, n: Floats, error: float | Floats) -> Floats:
    """Return the share at which `hits` or more of n have the probability `error`: a lower bound; 0 for no hits."""
    from scipy.special import betainc, betaincinv

    low = _inverted(betainc, betaincinv, np.maximum(hits, 1.0), n - hits + 1, error, rises=True)
    return np.where(hits > 0, low, 0.0)


def exact_upper(hits: Floats, n: Floats, error: float | Floats) -> Floats:
    """Return the share at which `hits` or fewer of n have the probability `error`: an upper bound; 1 if all n hit."""
    from scipy.special import betaincc, betainccinv

    high = _inverted(betaincc, betainccinv, hits + 1, np.maximum(n - hits, 1.0), error, rises=False)
    return np.where(hits < n, high, 1.0)


def _inverted(
    tail: Callable[..., Floats],
    inverse: Callable[..., Floats],
    a: Floats,
    b: Floats,
    error: float | Floats,
    *,
    rises: bool,
) -> Floats:
    """Return the shares at which a tail probability, `tail(a, b, share)`, equals `error`.

    `inverse` computes them, and `rises` tells if the tail rises with the share. The inverse is checked, because it can
    be wrong where the tail is right: betaincinv(1000, 4e8, 0.025) of SciPy 1.17, a lower bound, is 1.5 times the
    estimate. In such a case the share is found by bisection on the log scale.
    """
    a, b, error = np.broadcast_arrays(a, b, error)
    ends = np.array(inverse(a, b, error))
    off = ~(np.abs(tail(a, b, ends) - error) < 1e-6 * error)
    if off.any():
        a, b, error = a[off], b[off], error[off]
        low, high = np.full(len(a), 1e-300), np.ones(len(a))
        for _ in range(70):
            middle = np.sqrt(low) * np.sqrt(high)
            too_low = (tail(a, b, middle) < error) == rises
            low, high = np.where(too_low, middle, low), np.where(too_low, high, middle)
        ends[off] = low if rises else high  # a tail that rises makes a lower bound: either errs to the safe side
    return ends
