"""Differences of the shares of two models on the same inputs, or of two groups of rows: p-values and intervals."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Floats
from fairprobe.checks import checked_count
from fairprobe.errors import SettingError
from fairprobe.estimation.bounds.intervals import checked_confidence, clopper_pearson, upper_bound

_LEAST = 1e-300
_ABOUT = np.array([-0.1, -1e-3, -1e-6, 1e-6, 1e-3, 0.1])
"""Distances of trial points from a guessed root, as fractions of the searched range; chosen."""


def mcnemar_p(b: int, c: int) -> float:
    """Return the exact two-sided p-value of McNemar's test that two models' shares are equal on the same inputs.

    b inputs are discriminatory for the first model only, c for the second only. Under equality, b is Binomial(b + c,
    1/2). The p-value is twice the smaller tail, at most 1.
    """
    few, many = sorted((checked_count("b", b, at_least=0), checked_count("c", c, at_least=0)))
    if few == many:
        return 1.0
    from scipy.special import betainc

    return min(1.0, 2 * float(betainc(many, few + 1, 0.5)))


def paired_difference(b: int, c: int, n: int, confidence: float) -> tuple[float, float]:
    """Return the interval of share A - share B, for two models judged on the same n inputs; valid at every n.

    b inputs are discriminatory for A only, c for B only, so that the difference is estimated by (b - c) / n. The
    chance of b - c also depends on the spread d, the probability that an input is discriminatory for just one. As
    Berger and Boos (1994) did, d is bounded first, by the exact upper bound D at a tenth of the error; the rest is
    spent on the exact tails of b - c, at the d in [0, D] that makes them largest. That d is D itself: with the
    difference held, the tail P(b - c >= t) grows with d by n/2 (P'(t - 1) - P'(t)), P' for n - 1 inputs, which is
    not negative past the mode of b - c; and for d <= 1/2 that is within 1 of the mean (Darroch 1964: b - c + n is then
    a sum of independent indicators). Where D is above 1/2, Chernoff's bound, that grows with d always, replaces the
    tail. Intervals of b and c apart, the error split, are valid too; with 10 or more of b and c they are up to 1.6
    times as wide, with fewer about the same. 0 may be inside where `mcnemar_p`, a test of equality alone, is small.
    """
    more, fewer, total = (checked_count(*named, at_least=0) for named in (("b", b), ("c", c), ("n", n)))
    if more + fewer > total:
        raise SettingError(f"b + c must be at most n, got b={b!r}, c={c!r}, n={n!r}")
    error = 1 - checked_confidence(confidence)
    if total == 0:
        return -1.0, 1.0
    spread = upper_bound(more + fewer, total, 1 - error / 10)
    each = 0.45 * error
    return _least_difference(more - fewer, total, spread, each), -_least_difference(fewer - more, total, spread, each)


def _least_difference(surplus: int, n: int, spread: float, error: float) -> float:
    """Return a lower bound on the difference of two paired shares, too high with a probability of at most `error`.

    The bound lies outside the point where the tail probability equals `error`, by at most 1e-12 of `spread`. The search
    first divides the range into 17 equal parts. Then it divides the part with the root at its middle and near the point
    where the chord of the tail's logarithm, which is nearly straight, meets the logarithm of `error`.
    """
    ends, logs = np.array([-spread, spread]), np.log([_LEAST, 1.0])
    points = np.linspace(-spread, spread, 18)[1:-1]
    while True:
        tails = np.maximum(_worst_tail(surplus, n, spread, points), _LEAST)
        kept = np.flatnonzero(tails > error)
        first = int(kept[0]) if len(kept) else len(points)
        ends = np.array([ends[0], *points, ends[1]])[first : first + 2]
        logs = np.array([logs[0], *np.log(tails), logs[1]])[first : first + 2]
        low, width = float(ends[0]), float(ends[1] - ends[0])
        if width <= 1e-12 * spread:
            return low
        chord = (math.log(error) - logs[0]) / max(logs[1] - logs[0], _LEAST)
        points = low + width * np.sort(np.clip([*(chord + _ABOUT), 0.5], 0.0, 1.0))


def _worst_tail(surplus: int, n: int, spread: float, difference: Floats) -> Floats:
    """Return, by difference of shares, an upper bound of P(b - c >= surplus) for all spreads of at most `spread`.

    The spread is the probability that an input is discriminatory for only one of the models. The bound is 1 where
    `surplus` is not past the mode of b - c.
    """
    worst = np.ones(len(difference))
    past_mode = surplus > np.ceil((n - 1) * difference)
    if past_mode.any():
        tail = _surplus_tail if spread <= 0.5 else _surplus_chernoff
        worst[past_mode] = tail(surplus, n, spread, difference[past_mode])
    return worst


def _surplus_chernoff(surplus: int, n: int, spread: float, difference: Floats) -> Floats:
    """Return, by difference of shares, Chernoff's upper bound of P(b - c >= surplus) at the given spread."""
    up, down = (spread + difference) / 2, (spread - difference) / 2
    s = _saddle(surplus, n, up, down)
    return np.exp(n * np.log(1 - spread + up * np.exp(s) + down * np.exp(-s)) - s * surplus)


def _surplus_tail(surplus: int, n: int, spread: float, difference: Floats) -> Floats:
    """Return, by difference of shares, P(b - c >= surplus) at the given spread, exact but for rounding.

    The cost does not depend on n. The tail is an integral of the generating function over a circle; on the circle
    through the saddle point the integrand is bell-shaped, and the trapezoidal rule is exact to the last digits with
    some 60 points.
    """
    up, down = (spread + difference) / 2, (spread - difference) / 2
    deviation = np.sqrt(n * (spread - difference**2))
    s = np.maximum(_saddle(surplus, n, up, down), 1 / deviation)
    more, less = up * np.exp(s), down * np.exp(-s)
    total = 1 - spread + more + less
    tilted = np.sqrt(n * ((more + less) / total - ((more - less) / total) ** 2))
    # Over a period of 40 deviations, what is folded in from other periods is below e^-40.
    half = math.ceil(20 * max(deviation.max(), tilted.max()))
    period = 2 * half + 1
    n_points = min(half, 400, math.ceil(10 * period / (2 * math.pi * max(tilted.min(), 1.0))))
    angle = 2 * math.pi / period * np.arange(n_points + 1)
    z = s[:, None] + 1j * angle
    terms = np.exp(n * _log1p(up[:, None] * np.expm1(z) + down[:, None] * np.expm1(-z)) - z * surplus) / -np.expm1(-z)
    return (2 * terms.real.sum(axis=1) - terms.real[:, 0]) / period


def _saddle(surplus: int, n: int, up: Floats, down: Floats) -> Floats:
    """Return the tilt s under which b - c, the net number of ups among `n` inputs, has the mean `surplus`.

    Each input goes up or down with the probability `up` or `down`. exp(s) is the positive root of a quadratic equation.
    """
    a, b, c = up * (n - surplus) / n, (1 - up - down) * surplus / n, down * (n + surplus) / n
    root = np.sqrt(b * b + 4 * a * c)
    x = (b + root, 2 * a) if surplus > 0 else (2 * c, root - b)
    return np.log(np.maximum(x[0], 1e-150) / np.maximum(x[1], 1e-250))


def _log1p(z: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Return log(1 + z) of complex numbers with full precision, which numpy.log1p loses for small ones."""
    real = 0.5 * np.log1p(z.real * (2 + z.real) + z.imag**2)
    return real + 1j * np.arctan2(z.imag, 1 + z.real)


# Two groups of different rows


def fisher_p(hits_a: int, n_a: int, hits_b: int, n_b: int) -> float:
    """Return the two-sided p-value of Fisher's exact test that two groups have the same rate.

    Given the number of all hits, the hits of the first group are hypergeometric if the rates are equal. The p-value is
    the probability of all numbers that are at most as likely as the observed one.

    >>> round(fisher_p(3, 4, 1, 4), 4)
    0.4857
    """
    a, b = (checked_count(*named, at_least=0) for named in (("hits_a", hits_a), ("hits_b", hits_b)))
    rows_a, rows_b = (checked_count(*named, at_least=0) for named in (("n_a", n_a), ("n_b", n_b)))
    if a > rows_a or b > rows_b:
        raise SettingError(f"hits must be at most n, got {a} of {rows_a} and {b} of {rows_b}")
    from scipy.special import gammaln

    def log_choose(n: int, k: Floats) -> Floats:
        return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)

    hits = a + b
    seen = np.arange(max(0, hits - rows_b), min(hits, rows_a) + 1, dtype=np.float64)
    logs = log_choose(rows_a, seen) + log_choose(rows_b, hits - seen)
    chances = np.exp(logs - logs.max())
    mine = chances[a - int(seen[0])]
    # Equal chances may differ in their last digits.
    return min(1.0, float(chances[chances <= mine * (1 + 1e-7)].sum() / chances.sum()))


def attainable_p(n_a: int, n_b: int) -> float:
    """Return the smallest p-value that Fisher's exact test can give for two groups of these sizes.

    It is reached if all rows of one group are hits, and none of the other. By a permutation test this also holds for
    means, if all values of one group exceed all values of the other.

    >>> round(attainable_p(3, 3), 3), round(attainable_p(4, 4), 3)
    (0.1, 0.029)
    """
    return fisher_p(n_a, n_a, 0, n_b) if n_a and n_b else 1.0


def rate_difference(hits_a: int, n_a: int, hits_b: int, n_b: int, confidence: float) -> tuple[float, float]:
    """Return the interval of the rate of hits in group A less that in group B, for different rows.

    It comes from the exact interval of each rate, with the error split between them, and is valid at every n.
    """
    each = 1 - (1 - checked_confidence(confidence)) / 2
    (low_a, high_a), (low_b, high_b) = (clopper_pearson(hits_a, n_a, each), clopper_pearson(hits_b, n_b, each))
    return low_a - high_b, high_a - low_b
