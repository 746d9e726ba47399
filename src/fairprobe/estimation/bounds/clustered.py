"""Intervals of a share for rows with unequal weights, and for several rows of one person (groups)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.blocks import Remark
from fairprobe.estimation.bounds.intervals import checked_confidence, exact_upper

FEWEST_GROUPS = 30
FEWEST_EFFECTIVE = 60
"""Smallest number of effective rows (equally weighted, independent ones) with which a verdict may pass; chosen:
intervals are unreliable below it in simulations. `FEWEST_GROUPS` is the smallest number of groups."""

NEAR_MEAN = 1e-4
"""Distance of a sum from its mean, in standard deviations, below which a formula that nears 0/0 is replaced by its
limit; chosen."""


class Clustered(NamedTuple):
    """The weighted share of rows that have weights or groups, with its two-sided and one-sided bounds."""

    share: float
    two_sided: tuple[float, float]
    one_sided: tuple[float, float]
    n_groups: int
    """Number of groups of rows with a weight above 0; without groups, number of such rows."""
    effective_n: float
    """Number of equally weighted, independent rows with the same information: Korn and Graubard (1998)."""

    @property
    def is_few(self) -> bool:
        """True if there are fewer than `FEWEST_GROUPS` groups or `FEWEST_EFFECTIVE` effective rows.

        The interval then cannot support a verdict.
        """
        return self.n_groups < FEWEST_GROUPS or self.effective_n < FEWEST_EFFECTIVE

    def remarks(self) -> Iterator[Remark]:
        """Yield a remark if there are fewer than `FEWEST_GROUPS` groups or `FEWEST_EFFECTIVE` effective rows."""
        if self.is_few:
            told = f"{self.n_groups:,} groups of rows tell as much as {self.effective_n:,.0f} rows alike"
            fewest = f"{FEWEST_GROUPS} groups, or {FEWEST_EFFECTIVE} rows"
            rule = f"with fewer than {fewest}, an interval is not sure enough to pass a limit"
            yield Remark("few-groups", f"{told}: {rule}")


def clustered(hits: Mask, weights: Floats | None, groups: Codes | None, confidence: float) -> Clustered:
    """Return the weighted share of hits among rows, its two-sided interval and its one-sided bounds.

    `hits` is a mask by row; `weights` and `groups` are by row, or None for equal weights or no groups. Rows of one
    group may be similar in any way: a group contributes only its weighted fraction of hits, a number from 0 to 1.

    The upper bound is Gaffke's (2005) for the mean of such numbers: a Bayesian bootstrap over the groups and one more
    group, all of whose rows are hits. The lower bound is 1 minus the upper bound of the misses. For rows with equal
    weights these are the bounds of Clopper and Pearson. Without hits, each group counts as one row with the group's
    weight. The interval of Korn and Graubard is not used: it estimates the similarity of rows from the hits, so it is
    far too short if there are few.
    """
    error = 1 - checked_confidence(confidence)
    weight = np.ones(len(hits)) if weights is None else weights
    group = np.arange(len(hits)) if groups is None else np.unique(groups, return_inverse=True)[1].reshape(-1)
    by_group = np.bincount(group, weights=weight).astype(np.float64)
    some = by_group > 0
    of_hits, of_misses = (np.bincount(group, weights=weight * each)[some].astype(float) for each in (hits, ~hits))
    by_group, total = by_group[some], float(weight.sum())
    if not total:
        return Clustered(math.nan, (0.0, 1.0), (0.0, 1.0), 0, 0.0)
    two, one = ((1 - _most(of_misses, by_group, each), _most(of_hits, by_group, each)) for each in (error / 2, error))
    share = float(of_hits.sum()) / total
    spread = float(((of_hits - share * by_group) ** 2).sum()) * len(by_group) / max(1, len(by_group) - 1) / total**2
    # Where all groups are alike, nothing is known of how rows in one go together.
    telling = share * (1 - share) / spread if spread > 1e-24 else total**2 / float((by_group**2).sum())
    return Clustered(share, two, one, len(by_group), min(telling, total**2 / float((weight**2).sum())))


def some(values: Any, rows: Mask) -> Any:
    """Return the weights or groups of some rows; None for None."""
    return None if values is None else values[rows]


def _most(of_hits: Floats, by_group: Floats, error: float) -> float:
    """Return the one-sided upper bound, at `error`, of the share of hits; 1.0 for fewer than two groups or no misses.

    `by_group` has the weight of each group, `of_hits` the weight of its hits. The additional group of Gaffke's bound
    weighs the sum of the cubes of the groups' weights, divided by the sum of their squares: with equal weights, as much
    as one of them. With a few heavy groups this corrects for the skewness of the estimate, as the bound of Clopper and
    Pearson does.
    """
    from scipy.optimize import brentq

    if len(by_group) < 2 or not (of_hits < by_group).any():
        return 1.0
    by_group, of_hits = by_group / by_group.sum(), of_hits / by_group.sum()
    further = float((by_group**3).sum() / (by_group**2).sum())
    weight, hit = np.append(by_group, further), np.append(of_hits, further)
    most = float(brentq(lambda share: _chance_above(hit - share * weight) - error, 0.0, 1.0, xtol=1e-12))
    alike = 1 / float((by_group**2).sum())
    return max(most, float(exact_upper(np.zeros(1), np.array([alike]), error)[0]))  # what no hit in any group tells


def _chance_above(factors: Floats) -> float:
    """Return the probability that a sum of independent standard exponentials, weighted by `factors`, is positive.

    It is Lugannani and Rice's (1980) approximation by the saddle point of the sum, with a relative error below 1%.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtr

    def slope(point: float) -> float:
        return float((factors / (1 - factors * point)).sum())

    least, largest = float(factors.min()), float(factors.max())
    if least >= 0 or largest <= 0:
        return float(largest > 0)
    ends = (1 - 1e-12) / least, (1 - 1e-12) / largest
    if slope(ends[0]) >= 0 or slope(ends[1]) <= 0:  # one side weighs next to nothing
        return float(slope(ends[0]) >= 0)
    point = float(brentq(slope, *ends, xtol=1e-300, rtol=1e-12))
    tilted = factors / (1 - factors * point)
    deviation = math.sqrt(float((tilted**2).sum()))
    root = math.copysign(math.sqrt(max(0.0, 2 * float(np.log1p(-factors * point).sum()))), point)
    if abs(root) < NEAR_MEAN:
        return 0.5 - float((tilted**3).sum()) / (3 * deviation**3) / math.sqrt(2 * math.pi)
    density = math.exp(-(root**2) / 2) / math.sqrt(2 * math.pi)
    return float(ndtr(-root)) + density * (1 / (point * deviation) - 1 / root)
