"""The result of comparing the training rows inside a region: groups, differences and the verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

from fairprobe.domain.constraints import Rule
from fairprobe.domain.values import plain
from fairprobe.explanation.finding import Finding
from fairprobe.wording import capital, closed, percent

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 4
"""Number of groups that a sentence names."""


class InData(StrEnum):
    """The verdict of training rows on a difference that the model makes."""

    IN_THE_DATA = "in-the-data"
    EXTRAPOLATED = "extrapolated"
    NOT_IN_THE_DATA = "not-in-the-data"
    UNCLEAR = "unclear"


VERDICTS = {
    InData.IN_THE_DATA: "the difference was in the data",
    InData.EXTRAPOLATED: "the data say nothing here: the model extrapolates",
    InData.NOT_IN_THE_DATA: "the data have no such difference: the model makes it",
    InData.UNCLEAR: "whether the difference was in the data cannot be told from these rows",
}
"""By verdict, its words."""


@dataclass(frozen=True, repr=False, eq=False)
class RegionInData(Finding):
    """The training rows inside a region, and whether they show what the model does there."""

    rule: Rule
    n: int
    """Rows inside."""
    n_rows: int
    """Rows given."""
    n_apart: int
    """Rows inside whose sensitive value is none of those compared, or whose label is unknown."""
    table: pd.DataFrame
    """A row for each sensitive value, or combination of several, and each label.

    - `group`; `n`: its rows with a known label, where labels are given.
    - `outcome`: the label whose rate is told; None for numbers, whose mean is told, and without labels.
    - `value`: the rate or the mean. `low`, `high`: its interval, exact for a rate (Clopper and Pearson), Student's for
      a mean; the error is split over the regions.
    """
    differences: pd.DataFrame
    """A row for each two groups that the model treats differently, and each label.

    - `a`, `b`, `outcome`; `value`: the rate (the mean) of a less that of b.
    - `p_value`: of Fisher's exact test of equal rates, or Welch's of equal means; two-sided.
    - `model`: the same difference in the model's own outputs over the cases inside; NaN where it has no direction.
    - `rows`: and in its outputs for these very rows; NaN where they were not asked for, or are scores.
    - `at_most`: no larger is the difference in the labels, either way: two one-sided tests at the confidence.
    - `is_testable`: both groups have so many rows that the sharpest difference would have shown.
    - `agrees`: it has the model's direction, where that is known.
    """
    verdict: InData | None
    """None without labels, unless there are too few rows anyway."""
    level: float
    """What a p-value is held against: the error, split over the regions and over the tests that could show anything."""
    least: int
    """With fewer rows in a group, no difference from as many others could have been significant."""
    is_numeric: bool = False
    """Whether labels are numbers, of which means are compared."""

    json_names: ClassVar = {"rule": "region", "table": "groups"}

    def sentence(self) -> str:
        """The rows and the verdict in words."""
        said = f"{self.n:,} of {self.n_rows:,} rows lie inside"
        if self.n:
            more = [f"and {len(self.table) - SHOWN} more"] if len(self.table) > SHOWN else []
            said += f" ({'; '.join([*map(self._group_words, self.table[:SHOWN].itertuples()), *more])})"
        if self.verdict is None:
            return said
        verdict = VERDICTS[self.verdict].replace("these rows", f"these {self.n - self.n_apart:,} rows")
        return f"{said}: {verdict}{self._because(self.verdict)}"

    def sentences(self) -> list[str]:
        """The rows and the verdict in words."""
        return [closed(capital(self.sentence()))]

    def _group_words(self, group: Any) -> str:
        said = f"{group.group}: {group.n:,}"
        if not group.n or math.isnan(group.value):
            return said
        low, value, high = map(self._figure, (group.low, group.value, group.high))
        of = f"mean {value}" if group.outcome is None else f"{value} {plain(group.outcome)!r}"
        return f"{said}, {of}, {low} to {high}"

    def _figure(self, value: float) -> str:
        """A rate or a mean in words."""
        return f"{value:.4g}" if self.is_numeric else percent(value)

    def _because(self, verdict: InData) -> str:
        """The figures that the verdict rests on."""
        if verdict is InData.EXTRAPOLATED:
            return f"; with fewer than {self.least} rows in one of two groups no difference is told from chance"
        told = self.differences[self.differences["is_testable"]]
        if verdict is InData.UNCLEAR:
            return "" if told["rows"].notna().any() else ", as the model's difference on them was not measured"
        test = "Welch's test" if self.is_numeric else "Fisher's exact test"
        if verdict is InData.IN_THE_DATA:
            found = told.loc[told["p_value"].where(told["agrees"]).idxmin()]
            why = f"p = {found['p_value']:.2g} by {test}, significant at {self.level:.2g}"
            return f" ({found['a']} against {found['b']}, {why})"
        widest = told.loc[told["at_most"].idxmax()]
        why = (
            f"by at most {self._figure(widest['at_most'])}, the model's answers by {self._figure(abs(widest['rows']))}"
        )
        if not widest["agrees"] and widest["p_value"] <= self.level:
            why = "the other way round"
        return f" ({widest['a']} against {widest['b']}: the labels differ {why})"

    def jsonable(self) -> dict[str, Any]:
        """The figures and the sentence as plain values of JSON."""
        return {**super().jsonable(), "sentence": self.sentence()}
