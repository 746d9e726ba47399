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

MARGIN = 0.5
"""Margin of the test of equivalence, as a part of the model's own difference on the same rows. Chosen.

It is not smaller, because a model that decides by the likelier label makes a large difference in labels of a smaller
one in rates.
"""

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


@dataclass(frozen=True)
class GroupRows:
    """The training rows of one sensitive value, or combination of them, inside a region."""

    group: str
    n: int
    """With a known label, where labels are given."""
    outcome: Any = None
    """The label whose rate is told; None for numbers, whose mean is told, and without labels."""
    value: float = math.nan
    """The rate or the mean."""
    low: float = math.nan
    high: float = math.nan
    """Exact for a rate (Clopper and Pearson), Student's for a mean; the error is split over the regions."""


@dataclass(frozen=True)
class Difference:
    """Two groups that the model treats differently, in the data."""

    a: str
    b: str
    outcome: Any
    value: float
    """The rate (the mean) of a less that of b."""
    p_value: float
    """Fisher's exact test of equal rates, or Welch's of equal means; two-sided."""
    model: float | None
    """The same difference in the model's own outputs over the cases inside; None where it has no direction."""
    rows: float | None
    """And in its outputs for these very rows; None where they were not asked for, or are scores, on another scale."""
    at_most: float
    """No larger is the difference in the labels, either way: two one-sided tests at the confidence."""
    is_testable: bool
    """Whether both groups have so many rows that the sharpest difference would have shown."""

    @property
    def agrees(self) -> bool:
        """Whether it has the model's direction, where that is known."""
        return not (direction := self.rows or self.model) or self.value * direction > 0

    def is_absent(self, level: float) -> bool:
        """Whether it is shown to be below half of the model's own on these rows, or to be the other way round."""
        if self.rows is None:
            return False
        return (self.p_value <= level and not self.agrees) or self.at_most < MARGIN * abs(self.rows)


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
    groups: tuple[GroupRows, ...]
    differences: tuple[Difference, ...]
    verdict: InData | None
    """None without labels, unless there are too few rows anyway."""
    confidence: float
    n_regions: int
    level: float
    """What a p-value is held against: the error, split over the regions and over the tests that could show anything."""
    least: int
    """With fewer rows in a group, no difference from as many others could have been significant."""
    is_numeric: bool = False
    """Whether labels are numbers, of which means are compared."""

    json_names: ClassVar = {"rule": "region"}

    @property
    def table(self) -> pd.DataFrame:
        """A row a group (and label): how many rows, the rate or the mean, and its interval."""
        import pandas as pd

        return pd.DataFrame(list(self.groups))

    def sentence(self) -> str:
        """The rows and the verdict in words."""
        said = f"{self.n:,} of {self.n_rows:,} rows lie inside"
        if self.n:
            more = [f"and {len(self.groups) - SHOWN} more"] if len(self.groups) > SHOWN else []
            said += f" ({'; '.join([*map(self._group_words, self.groups[:SHOWN]), *more])})"
        if self.verdict is None:
            return said
        verdict = VERDICTS[self.verdict].replace("these rows", f"these {self.n - self.n_apart:,} rows")
        return f"{said}: {verdict}{self._because(self.verdict)}"

    def sentences(self) -> list[str]:
        """The rows and the verdict in words."""
        return [closed(capital(self.sentence()))]

    def _group_words(self, group: GroupRows) -> str:
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
        told = [each for each in self.differences if each.is_testable]
        if verdict is InData.UNCLEAR:
            is_asked = any(each.rows is not None for each in told)
            return "" if is_asked else ", as the model's difference on them was not measured"
        if verdict is InData.NOT_IN_THE_DATA:
            widest = max(told, key=lambda each: each.at_most)
            by = f"by at most {self._figure(widest.at_most)}, the model's answers by "
            by += self._figure(abs(widest.rows or 0.0))
            is_turned = not widest.agrees and widest.p_value <= self.level
            return f" ({widest.a} against {widest.b}: the labels differ {'the other way round' if is_turned else by})"
        found = min((each for each in told if each.agrees), key=lambda each: each.p_value)
        test = "Welch's test" if self.is_numeric else "Fisher's exact test"
        return f" ({found.a} against {found.b}, p = {found.p_value:.2g} by {test}, significant at {self.level:.2g})"

    def jsonable(self) -> dict[str, Any]:
        """The figures and the sentence as plain values of JSON."""
        return {**super().jsonable(), "sentence": self.sentence()}
