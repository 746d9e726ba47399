"""Numbers and tables in Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log10, sqrt

from scipy.special import stdtrit

from fairprobe.reproduce.printed import TITLES

CONFIDENCE = 0.95


def mean_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The mean over runs, and the interval of Student's t for it; of a single run there is none.

    >>> [round(each, 3) for each in mean_interval([1.0, 2.0, 3.0])]
    [2.0, -0.484, 4.484]
    >>> mean_interval([1.0])
    (1.0, nan, nan)
    """
    mean = statistics.fmean(values)
    if len(values) < 2:
        return mean, float("nan"), float("nan")
    reach = float(stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2)) * statistics.stdev(values) / sqrt(len(values))
    return mean, mean - reach, mean + reach


def difference(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float]:
    """The 95% interval of the difference between two means, by Welch's t; of single runs there is none.

    >>> [round(each, 2) for each in difference([5.0, 6.0, 7.0], [1.0, 2.0, 3.0])]
    [1.73, 6.27]
    >>> difference([2.0, 2.0], [1.0, 1.0])
    (1.0, 1.0)
    """
    apart = statistics.fmean(ours) - statistics.fmean(theirs)
    if min(len(ours), len(theirs)) < 2:
        return float("nan"), float("nan")
    errors = [statistics.variance(each) / len(each) for each in (ours, theirs)]
    if not sum(errors):
        return apart, apart
    freedom = sum(errors) ** 2 / sum(
        error**2 / (len(each) - 1) for error, each in zip(errors, (ours, theirs), strict=True)
    )
    reach = float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * sqrt(sum(errors))
    return apart - reach, apart + reach


def mean_text(values: Sequence[float], unit: str = "%") -> str:
    """A mean with its interval, cut at 0.

    >>> mean_text([1.0, 2.0, 3.0]), mean_text([0.25])
    ('2.00% (0.00-4.48)', '0.250%')
    """
    mean, low, high = mean_interval(values)
    if low != low:
        return f"{digits(mean)}{unit}"
    places = _places(mean)
    return f"{mean:.{places}f}{unit} ({max(low, 0.0):.{places}f}-{high:.{places}f})"


def digits(value: float, n: int = 3) -> str:
    """A number of so many digits that matter, in plain notation.

    >>> digits(70.318), digits(0.0273), digits(1589.87), digits(0.0), digits(1234567.0)
    ('70.3', '0.0273', '1,590', '0', '1,234,567')
    """
    return f"{value:,.{_places(value, n)}f}" if value else "0"


def _places(value: float, n: int = 3) -> int:
    """Places after the point, so that so many digits matter; six at most."""
    return min(6, max(0, n - 1 - int(log10(abs(value)) // 1))) if value else n - 1


def ratio(value: float) -> str:
    """How many times.

    >>> ratio(9.63), ratio(2310.2)
    ('9.6x', '2,310x')
    """
    return f"{digits(value, 2) if value < 100 else digits(value)}x"


def percent_text(value: float) -> str:
    """A fraction as per cent.

    >>> percent_text(0.0402), percent_text(0.0)
    ('4.02%', '0%')
    """
    return f"{digits(100 * value)}%"


def share_text(share: Mapping[str, float]) -> str:
    """A share with its interval, in per cent.

    >>> share_text({"value": 0.0402, "low": 0.039, "high": 0.0415})
    '4.02% (3.90-4.15)'
    """
    return f"{percent_text(share['value'])} ({digits(100 * share['low'])}-{digits(100 * share['high'])})"


def settings_text(settings: Mapping[str, object]) -> str:
    """Settings as they are written in code.

    >>> settings_text({"n_walkers": 1, "seed": 0})
    '`n_walkers=1`, `seed=0`'
    """
    return ", ".join(f"`{name}={value}`" for name, value in settings.items())


def by_subject(
    subjects: Sequence[str], columns: Sequence[Mapping[str, float]], form: Callable[[float], str]
) -> list[list[str]]:
    """Rows of figures, one for each subject and one for the means; of some there may be none.

    >>> by_subject(["svm"], [{"svm": 2.0}, {}], str)
    [['SVM', '2.0', ''], ['**mean**', '2.0', '']]
    """
    rows = [[TITLES[name], *(form(column[name]) if name in column else "" for column in columns)] for name in subjects]
    known = [[column[name] for name in subjects if name in column] for column in columns]
    return [*rows, ["**mean**", *(form(statistics.fmean(each)) if each else "" for each in known)]]


def table(header: Sequence[str], rows: Iterable[Sequence[object]], *, n_left: int = 1) -> str:
    """A table, the first columns to the left, for words, and the others to the right."""
    lines = [f"| {' | '.join(header)} |", f"{'|---' * n_left}{'|---:' * (len(header) - n_left)}|"]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows)])
