"""How much some columns tell of another: a test of two columns of small integers, and gradient boosting of many."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fairprobe.arrays import Codes, Floats
from fairprobe.model.threads import one_thread


def counted(given: Sequence[Codes], bins: Codes, rows: Codes) -> Codes:
    """Return the number of rows by the bins of other columns, then the bin of a column."""
    columns = [*given, bins]
    shape = [int(each.max()) + 1 for each in columns]
    cells = np.ravel_multi_index(tuple(each[rows] for each in columns), shape)
    return np.bincount(cells, minlength=math.prod(shape)).reshape(shape).astype(np.int64)


def boosted(
    learned: Floats | Codes, labels: Codes, tried: Floats | Codes, *, max_iter: int, seed: int = 0
) -> tuple[Codes, Floats]:
    """Return the labels that gradient boosting learned, and its probabilities of them by row of `tried`, then label.

    It uses one thread: threads of OpenMP wait for each other by spinning, where other processes use the cores.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(max_iter=max_iter, early_stopping=False, random_state=seed % 2**32)
    with one_thread():
        return model.fit(learned, labels).classes_, model.predict_proba(tried)


def association(one: Codes, other: Codes, strata: Codes) -> float:
    """Return the p-value of a test that two columns are independent among the rows of each stratum.

    The sum of Pearson's statistics over the strata is compared with the gamma distribution of its exact mean and
    variance over all permutations within strata (Dawson 1954), so that it holds for thin tables too. If the second
    column has two values, the sums of the tables are tested as well: in general (Cochran, Mantel and Haenszel), and for
    a trend over the bins of the first. The p-value is the smallest, times the number of tests made.
    """
    from scipy.special import chdtrc, gammaincc

    counts = counted([strata, other], one, np.arange(len(one))).astype(np.float64)
    counts, shape = counts[counts.sum(axis=(1, 2)) > 3], counts.shape
    n, rows, columns = counts.sum(axis=(1, 2)), counts.sum(axis=2), counts.sum(axis=1)
    expected = rows[:, :, None] * columns[:, None] / n[:, None, None]
    parts = np.divide((counts - expected) ** 2, expected, out=np.zeros_like(counts), where=expected > 0)
    mean, variance = (float(each.sum()) for each in _moments(n, rows, columns))
    if variance <= 0:
        return 1.0
    p_values = []
    if shape[1] > 2 or len(counts) > 1:
        p_values.append(float(gammaincc(mean**2 / variance, parts.sum() * mean / variance)))
    if shape[1] == 2:
        weight = rows[:, 0] * rows[:, 1] / (n**2 * (n - 1))
        surplus = (counts[:, 1] - expected[:, 1]).sum(axis=0)
        spread = np.diag(weight * n @ columns) - (columns * weight[:, None]).T @ columns
        trend = np.arange(shape[2]) - np.average(np.arange(shape[2]), weights=columns.sum(axis=0))
        inverse = np.linalg.pinv(spread, rcond=1e-9, hermitian=True)
        p_values.append(float(chdtrc(np.linalg.matrix_rank(spread, hermitian=True), surplus @ inverse @ surplus)))
    if shape[1] == 2 and shape[2] > 2:
        p_values.append(float(chdtrc(1, (trend @ surplus) ** 2 / max(trend @ spread @ trend, 1e-300))))
    return min(1.0, len(p_values) * min(p_values))


def _moments(n: Floats, rows: Floats, columns: Floats) -> tuple[Floats, Floats]:
    """Return the mean and the variance of Pearson's statistic of each table over all permutations of its rows."""

    def halves(sums: Floats) -> tuple[Floats, Floats, Floats]:
        used = (sums > 0).sum(axis=1)
        inverse = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0).sum(axis=1)
        return used, (used - 1) * (n - used) / (n - 1), (n * inverse - used**2) / (n - 2)

    (r, v1, w1), (c, v2, w2) = halves(rows), halves(columns)
    mean = n * (r - 1) * (c - 1) / (n - 1)
    return mean, 2 * n / (n - 3) * (v1 - w1) * (v2 - w2) + n**2 / (n - 1) * w1 * w2


def information(one: Codes, other: Codes) -> float:
    """Return the mutual information of two columns, in nats."""
    joint = counted([one], other, np.arange(len(one)))
    part = joint / joint.sum()
    apart = part.sum(axis=1, keepdims=True) * part.sum(axis=0, keepdims=True)
    filled = part > 0
    return float((part[filled] * np.log(part[filled] / apart[filled])).sum())
