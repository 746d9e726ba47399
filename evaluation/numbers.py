"""Numbers with their intervals, and how they are written."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, log10, nan, sqrt
from typing import NamedTuple

from fairprobe.estimation.bounds.intervals import clopper_pearson

CONFIDENCE = 0.95
SPLIT = 1 - (1 - CONFIDENCE) / 2
"""Of each of two intervals: then both hold together, however their samples go together."""


@dataclass(frozen=True)
class Estimate:
    """A number that follows from runs over seeds, with the variance that each of its sources adds, to first order."""

    value: float
    errors: tuple[tuple[float, int], ...] = ()
    """Variances and their degrees of freedom; of a single run 0, which says that there is no telling."""

    @property
    def reach(self) -> float:
        """How far the 95% interval reaches to either side (Student's t, Welch's degrees of freedom)."""
        from scipy.special import stdtrit

        if not self.errors or any(not freedom for _, freedom in self.errors):
            return nan
        total = sum(variance for variance, _ in self.errors)
        if not total:
            return 0.0
        freedom = total**2 / sum(variance**2 / freedom for variance, freedom in self.errors)
        return float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * sqrt(total)

    @property
    def low(self) -> float:
        """The lower end of the interval; not a number where there is none, so that nothing is shown by it."""
        return self.value - self.reach

    @property
    def high(self) -> float:
        """The upper end."""
        return self.value + self.reach

    def scaled(self, factor: float, shift: float = 0.0) -> Estimate:
        """In another unit."""
        errors = tuple((variance * factor**2, freedom) for variance, freedom in self.errors)
        return Estimate(self.value * factor + shift, errors)


def mean_of(values: Sequence[float]) -> Estimate:
    """The mean over runs.

    >>> mean = mean_of([1.0, 2.0, 3.0])
    >>> mean.value, round(mean.low, 3), round(mean.high, 3)
    (2.0, -0.484, 4.484)
    >>> mean_of([1.0]).low
    nan
    """
    n = len(values)
    return Estimate(statistics.fmean(values), ((statistics.variance(values) / n if n > 1 else 0.0, n - 1),))


def difference(ours: Sequence[float], theirs: Sequence[float]) -> Estimate:
    """Of two means.

    >>> apart = difference([5.0, 6.0, 7.0], [1.0, 2.0, 3.0])
    >>> apart.value, round(apart.low, 2), round(apart.high, 2)
    (4.0, 1.73, 6.27)
    """
    a, b = mean_of(ours), mean_of(theirs)
    return Estimate(a.value - b.value, a.errors + b.errors)


def quotient(ours: Estimate, theirs: Estimate) -> Estimate:
    """How many times as much.

    >>> times = quotient(mean_of([10.0, 11.0, 12.0]), mean_of([5.0, 5.0, 5.0]))
    >>> times.value, round(times.low, 2), round(times.high, 2)
    (2.2, 1.7, 2.7)
    """
    value = ours.value / theirs.value
    if not isfinite(value):
        return Estimate(value)
    return Estimate(value, ours.scaled(1 / theirs.value).errors + theirs.scaled(value / theirs.value).errors)


def average(estimates: Iterable[Estimate]) -> Estimate | None:
    """The mean of several, with their errors; None if there are none, or one is infinite."""
    known = list(estimates)
    if not known or not all(isfinite(each.value) for each in known):
        return None
    errors = tuple(error for each in known for error in each.scaled(1 / len(known)).errors)
    return Estimate(statistics.fmean(each.value for each in known), errors)


class Share(NamedTuple):
    """A part of so many inputs or rows, with its exact interval."""

    hits: int
    n: int

    @property
    def value(self) -> float:
        """As a fraction."""
        return self.hits / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """Clopper and Pearson's."""
        return clopper_pearson(self.hits, self.n, CONFIDENCE)

    @property
    def estimate(self) -> Estimate:
        """To divide by, where it is of many hits."""
        return Estimate(self.value, ((self.value * (1 - self.value) / self.n, self.n - 1),))

    def is_below(self, other: Share) -> bool:
        """True if it is shown to be lower: the two intervals, the error split, lie apart."""
        return clopper_pearson(*self, SPLIT)[1] < clopper_pearson(*other, SPLIT)[0]

    def __str__(self) -> str:
        """In per cent.

        >>> str(Share(402, 10_000)), str(Share(0, 10_000))
        ('4.02% (3.64-4.42)', '0% (0-0.0369)')
        """
        low, high = self.interval
        return f"{percent(self.value)} ({digits(100 * low)}-{digits(100 * high)})"


class Gone(NamedTuple):
    """The part of a share that is gone, in per cent, with its interval; nothing is known of a share of none."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        has_interval = isfinite(self.low) and self.low < self.high
        return f"{self.value:.1f}%" + (f" ({self.low:.1f} to {self.high:.1f})" if has_interval else "")


def gone(before: Share, after: Share) -> Gone:
    """As `Retrained.relative` bounds it: both shares exactly, the error split.

    >>> str(gone(Share(27, 20_000), Share(25, 20_000)))
    '7.4% (-131.7 to 63.2)'
    """
    (least, most), (low, high) = (clopper_pearson(*each, SPLIT) for each in (before, after))
    if not least:
        return Gone(0.0, -inf, inf)
    return Gone(*(100 * (1 - part) for part in (after.value / before.value, high / least, low / most)))


def mean_gone(several: Iterable[Gone]) -> Gone:
    """The means of values and bounds: wider than need be, as chance would have to be against all of them at once."""
    return Gone(*(statistics.fmean(column) for column in zip(*several, strict=True)))


# In words


def digits(value: float, n: int = 3) -> str:
    """A number of so many digits that matter, in plain notation.

    >>> digits(70.318), digits(0.0273), digits(1589.87), digits(0.0), digits(1234567.0)
    ('70.3', '0.0273', '1,590', '0', '1,234,567')
    """
    return f"{value:,.{_places(value, n)}f}" if value else "0"


def _places(value: float, n: int = 3) -> int:
    """Places after the point, so that so many digits matter; six at most."""
    return min(6, max(0, n - 1 - int(log10(abs(value)) // 1))) if value else n - 1


def spread(estimate: Estimate, unit: str = "", n: int = 3) -> str:
    """A number above 0 with its interval, if it has one.

    >>> spread(mean_of([1.0, 2.0, 3.0]), "%"), spread(mean_of([2.5]), " s"), spread(Estimate(inf))
    ('2.00% (0.00-4.48)', '2.50 s', 'none found')
    """
    if not isfinite(estimate.value):
        return "none found"
    places = _places(estimate.value, n)
    text = f"{estimate.value:,.{places}f}{unit}"
    if not isfinite(estimate.reach):
        return text
    return f"{text} ({max(estimate.low, 0.0):,.{places}f}-{estimate.high:,.{places}f})"


def times(estimate: Estimate) -> str:
    """How many times.

    >>> times(Estimate(9.63)), times(Estimate(2310.2)), times(quotient(mean_of([4.0, 5.0]), Estimate(1.0)))
    ('9.6x', '2,310x', '4.5x (0.0-10.9)')
    """
    return spread(estimate, "x", 2 if estimate.value < 100 else 3)


def points(estimate: Estimate, unit: str = "%") -> str:
    """A number that may be below 0, with its interval.

    >>> points(difference([5.0, 6.0, 7.0], [1.0, 2.0, 3.0]))
    '+4.0% (+1.7 to +6.3)'
    """
    if not isfinite(estimate.value):
        return "none found"
    interval = f" ({estimate.low:+.1f} to {estimate.high:+.1f})" if isfinite(estimate.reach) else ""
    return f"{estimate.value:+.1f}{unit}{interval}"


def percent(value: float) -> str:
    """A fraction as per cent.

    >>> percent(0.0402), percent(0.0)
    ('4.02%', '0%')
    """
    return f"{digits(100 * value)}%"


def settings_text(settings: Mapping[str, object]) -> str:
    """Settings as they are written in code.

    >>> settings_text({"n_walkers": 1, "seed": 0})
    '`n_walkers=1`, `seed=0`'
    """
    return ", ".join(f"`{name}={value}`" for name, value in settings.items())
