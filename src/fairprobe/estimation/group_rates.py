"""Observed rates: how often the model gives an outcome to the rows of each group, as they are, and their ratio."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.estimation.bounds.clustered import clustered, some
from fairprobe.estimation.bounds.intervals import clopper_pearson, split_confidence
from fairprobe.estimation.share import as_number
from fairprobe.wording import between, counted, listed, percent, value

if TYPE_CHECKING:
    import pandas as pd

FEWEST = 30
"""Smallest number of rows of a group that is compared; from the design."""

NAMES = ["group", "n", "favourable", "rate", "low", "high", "compared"]
"""Columns of the table of observed rates."""


@dataclass(frozen=True, kw_only=True)
class GroupRates:
    """Observed rates of the groups that the values of one column make, and the lowest rate as a part of the highest.

    A limit is compared with the shortfall, 1 less the ratio, which is 0 if all groups have the same rate.
    """

    attribute: str
    outcome: Any
    """The outcome whose rates these are."""
    table: pd.DataFrame
    """One row for each group, with the columns `NAMES`. The intervals of all compared groups hold together; a group
    with fewer than `FEWEST` rows is not compared. For training rows, `low` and `high` are NaN."""
    confidence: float
    is_count: bool
    """True for rows that the model was trained on: they represent nobody else, so there is no interval."""
    unsteady: str | None = None
    """The reason why the model's answers are unreliable, in words; None if no health check says so."""

    @cached_property
    def ratio(self) -> tuple[float, float, float]:
        """The lowest rate of a compared group divided by the highest, and the ends of its interval.

        The interval follows from those of the groups, and so holds with the same confidence. The ratio is NaN if no
        compared group gets the outcome, and all three are NaN for fewer than two compared groups.
        """
        some = self.table[self.table["compared"]]
        rates, low, high = (some[name] for name in ("rate", "low", "high"))
        if len(some) < 2:
            return (math.nan,) * 3
        ratio = float(rates.min() / rates.max()) if rates.max() > 0 else math.nan
        if self.is_count:
            return ratio, math.nan, math.nan
        return ratio, float(low.min() / high.max()), float(min(1.0, high.min() / low.max())) if low.max() > 0 else 1.0

    # For the rule of verdicts, which compares a measured figure with a limit

    has_case = False
    weakness = None
    whole = "the rows"

    @property
    def value(self) -> float:
        """The shortfall, a fraction from 0 to 1: 1 less the ratio of the lowest to the highest rate of a group."""
        return 1 - self.ratio[0]

    @property
    def low(self) -> float:
        """Lower end of the confidence interval of the shortfall, 1 less the ratio of the lowest to the highest rate."""
        return 1 - self.ratio[2]

    @property
    def high(self) -> float:
        """Upper end of the confidence interval of the shortfall, 1 less the ratio of the lowest to the highest rate."""
        return 1 - self.ratio[1]

    @property
    def comparable(self) -> float:
        """The fraction of the rows that are in a compared group."""
        return float(self.table["n"][self.table["compared"]].sum() / self.table["n"].sum())

    @property
    def refusal(self) -> str | None:
        """The reason why there is no ratio, in words; None if there is one."""
        if self.table["compared"].sum() < 2:
            return f"fewer than two groups by {self.attribute} have {FEWEST} rows"
        return f"no group by {self.attribute} gets the outcome" if math.isnan(self.ratio[0]) else None

    @property
    def small(self) -> list[str]:
        """The groups that are not compared, in words, because they have too few rows."""
        few = self.table[~self.table["compared"]]
        return [f"{value(name)} ({n:,} rows)" for name, n in zip(few["group"], few["n"], strict=True)]

    def clause(self, limit: float | None = None) -> str:
        """Return the ratio in words, without its interval; `limit` gives it enough digits to differ from a limit."""
        return f"the lowest rate by {self.attribute} is {percent(self.ratio[0], limit)} of the highest"

    def sentences(self, limit: float | None = None) -> list[str]:
        """Return sentences on the ratio with its interval, the lowest and the highest rate, and groups left out."""
        small = [f"A group with fewer than {FEWEST} rows is not compared: {listed(self.small)}"] if self.small else []
        if self.refusal:
            return [self.refusal, *small]
        ranked = self.table[self.table["compared"]].sort_values("rate", kind="stable").iloc[[0, -1]]
        ends = [
            f"{value(f'{self.attribute}={name}')}, with {percent(rate)} of {counted(n, 'row')}"
            for name, n, rate in zip(ranked["group"], ranked["n"], ranked["rate"], strict=True)
        ]
        level = "a count of training rows"
        if not self.is_count:
            level = f"{percent(self.confidence)} interval {between(*self.ratio[1:], limit)}"
        rates = f"{ends[0]}, gets {value(self.outcome)} least often; {ends[1]}, most often"
        return [f"{self.clause(limit)} ({level})", rates, *small]

    def jsonable(self) -> dict[str, Any]:
        """Return the ratio with its interval as a dict for JSON; the rates of the groups are told apart from it."""
        figures = dict(zip(("ratio", "low", "high"), map(as_number, self.ratio), strict=True))
        named = {"sensitive": self.attribute, "outcome": self.outcome, "confidence": self.confidence}
        return {"id": f"impact/{self.attribute}", **named, **figures, "sentence": self.sentences()[0]}


def group_rates(
    attribute: str,
    own: Codes,
    names: Sequence[Any],
    good: Mask,
    outcome: Any,
    confidence: float,
    *,
    weights: Floats | None = None,
    units: Codes | None = None,
    is_count: bool = False,
) -> GroupRates:
    """Return the observed rates of an outcome by group.

    Args:
        attribute: the column whose values make the groups.
        own: the number of each row's group, in `names`; -1 for a row that is left out.
        names: the values of the column.
        good: by row: True where the model gives the outcome.
        outcome: the outcome.
        confidence: the confidence with which the intervals of all compared groups hold together.
        weights: by row, or None if all rows count alike.
        units: the number of the person or unit of each row, or None.
        is_count: True for rows that the model was trained on.
    """
    import pandas as pd

    counts = np.bincount(own[own >= 0], minlength=len(names))
    each = split_confidence(confidence, max(1, int((counts >= FEWEST).sum())))
    rows = []
    for code in np.flatnonzero(counts).tolist():
        which = own == code
        n, hits = int(counts[code]), int(good[which].sum())
        rate, ends = hits / n, clopper_pearson(hits, n, each)
        if weights is not None or units is not None:
            found = clustered(good[which], some(weights, which), some(units, which), each)
            rate, ends = found.share, found.two_sided
        rows.append((names[code], n, hits, rate, *((math.nan, math.nan) if is_count else ends), n >= FEWEST))
    table = pd.DataFrame(rows, columns=NAMES)
    return GroupRates(attribute=attribute, outcome=outcome, table=table, confidence=confidence, is_count=is_count)
