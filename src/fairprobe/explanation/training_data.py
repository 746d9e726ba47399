"""Comparison with training rows inside a region: whether the training data contain the difference that the model makes.

A model can treat people differently for two reasons. Its training labels may differ between groups, or it was never
shown such people and extrapolates. If a region has so few rows that even the sharpest difference would not be
significant, the data say nothing. With more rows, a test is made. Absence of a difference is claimed only if a test of
equivalence shows it: the labels must differ by less than half of the difference between the model's own answers to the
same rows. The model is asked about these rows only.

The model whose cases define the region may have been fitted to these very rows. A p-value therefore measures how clear
a difference is in the rows. It proves nothing about the people from whom they were drawn.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Mask
from fairprobe.domain.constraints import Rule
from fairprobe.domain.rows import Rows
from fairprobe.domain.values import plain
from fairprobe.estimation.bounds.differences import attainable_p, fisher_p, rate_difference
from fairprobe.estimation.bounds.intervals import clopper_pearson, split_confidence
from fairprobe.explanation.directions import groups_of
from fairprobe.explanation.evidence import Evidence
from fairprobe.explanation.finding import CONFIDENCE, Finding
from fairprobe.wording import capital, closed, percent

if TYPE_CHECKING:
    import pandas as pd

GROUP = ["group", "n", "outcome", "value", "low", "high"]
DIFFERENCE = ["a", "b", "outcome", "value", "p_value", "at_most", "model", "rows", "is_testable"]

MARGIN = 0.5
"""Margin of the test of equivalence of labels, as a fraction of the model's own difference on the same rows; chosen.

A model that predicts the likelier label turns a small difference in rates into a large difference in labels. The margin
is therefore not smaller.
"""

FARTHEST = 0.5
"""Smallest difference between the model's outputs for two groups that are compared, as a fraction of the largest such
difference; chosen."""

MOST_PAIRS = 100
"""Largest number of pairs of groups that are compared in a region: those whose outputs differ most. Chosen."""

ROWS_PART = 0.5
"""Largest fraction of the remaining queries that is spent on the rows inside a region; chosen."""


SHOWN = 3
"""Largest number of groups that a sentence names."""


class InData(StrEnum):
    """Verdict on a region: whether its training rows contain the difference that the model makes there."""

    IN_THE_DATA = "in-the-data"
    EXTRAPOLATED = "extrapolated"
    NOT_IN_THE_DATA = "not-in-the-data"
    UNCLEAR = "unclear"


VERDICTS = {
    InData.IN_THE_DATA: "the difference was in the data",
    InData.EXTRAPOLATED: "these rows say nothing here: a group has too few of them",
    InData.NOT_IN_THE_DATA: "the data have no such difference: the model makes it",
    InData.UNCLEAR: "whether the difference was in the data cannot be told from these rows",
}
"""Words for each verdict on a region."""


@dataclass(frozen=True, repr=False, eq=False)
class RegionInData(Finding):
    """The training rows inside a region of cases, compared with the model's treatment of the region."""

    rule: Rule
    n: int
    """Number of training rows inside the region."""
    n_rows: int
    """Number of given rows, inside or outside the region."""
    n_apart: int
    """Number of rows inside the region whose sensitive value is not compared, or whose label is unknown."""
    table: pd.DataFrame
    """Table of the rows inside the region, with a row for each sensitive value or combination, and each label.

    - `group`; `n`: its rows with a known label.
    - `outcome`: the label whose rate is told.
    - `value`: the rate. `low`, `high`: its exact interval (Clopper and Pearson); the error is split over the regions.
    """
    differences: pd.DataFrame
    """Table with a row for each two groups that the model treats differently, and each label.

    - `a`, `b`, `outcome`; `value`: the rate of a minus that of b, in the labels.
    - `p_value`: of Fisher's exact test of equal rates; two-sided.
    - `model`: the same difference in the model's own outputs over the cases inside; NaN where it has no direction.
    - `rows`: the same difference in the model's outputs for these rows; NaN if the budget was too small to ask.
    - `at_most`: upper bound of the size of the difference in the labels, by two one-sided tests at the confidence.
    - `is_testable`: True if both groups have enough rows for the sharpest difference to be significant.
    - `agrees`: False if the difference is known not to have the model's direction, else True.
    """
    verdict: InData
    level: float
    """Largest p-value that counts as significant: the error, split over the regions and the tests that could be
    significant."""
    least: int
    """Smallest number of rows in each of two equal groups with which a difference between them could be significant."""

    json_names: ClassVar = {"rule": "region", "table": "groups"}

    def sentence(self) -> str:
        """Return the number of rows in the region, the verdict, what supports it, and the groups of the rows."""
        said = f"{self.n:,} of {self.n_rows:,} rows lie inside"
        verdict = VERDICTS[self.verdict].replace("these rows", f"these {self.n - self.n_apart:,} rows")
        said += f": {verdict}{self._because(self.verdict)}"
        if not self.n:
            return said
        more = [f"and {len(self.table) - SHOWN} more"] if len(self.table) > SHOWN else []
        return f"{said}. Groups: {'; '.join([*map(self._group_words, self.table[:SHOWN].itertuples()), *more])}"

    def sentences(self) -> list[str]:
        """Return a list with the text of `sentence`, closed by a full stop."""
        return [closed(capital(self.sentence()))]

    def _group_words(self, group: Any) -> str:
        said = f"{group.group}: {group.n:,}"
        if not group.n or math.isnan(group.value):
            return said
        low, value, high = map(percent, (group.low, group.value, group.high))
        return f"{said}, {value} {plain(group.outcome)!r}, {low} to {high}"

    def _because(self, verdict: InData) -> str:
        """Return the figures that support a verdict, as the end of a sentence."""
        if verdict is InData.EXTRAPOLATED:
            return f". With fewer than {self.least} rows in one of two groups, no difference is told from chance"
        told = self.differences[self.differences["is_testable"]]
        if verdict is InData.UNCLEAR:
            return "" if told["rows"].notna().any() else ", as the model's difference on them was not measured"
        if verdict is InData.IN_THE_DATA:
            found = told.loc[told["p_value"].where(told["agrees"]).idxmin()]
            why = f"p = {found['p_value']:.2g} by Fisher's exact test, significant at {self.level:.2g}"
            return f" ({found['a']} against {found['b']}, {why})"
        widest = told.loc[told["at_most"].idxmax()]
        why = f"by at most {percent(widest['at_most'])}, the model's answers by {percent(abs(widest['rows']))}"
        if not widest["agrees"] and widest["p_value"] <= self.level:
            why = "the other way round"
        return f" ({widest['a']} against {widest['b']}: the labels differ {why})"

    def jsonable(self) -> dict[str, Any]:
        """Return the figures and the sentence on a region's training rows as values for JSON."""
        return {**super().jsonable(), "sentence": self.sentence()}


def region_in_data(rule: Rule, evidence: Evidence, *, n_regions: int = 1) -> RegionInData | None:
    """Test whether the training rows inside a region show the difference that the model makes there.

    The groups are the sensitive values and, with several sensitive parameters, their combinations too. The compared
    groups are those with the largest differences between the model's outputs over the cases inside. The result is None
    without rows or labels, and where outputs are no labels. The verdict is
    - extrapolated, if every pair has a group with fewer than `least` rows (four at a level of 5%). Then even the
      sharpest difference to as many rows of the other group would not be significant;
    - in the data, if a pair differs significantly, and in the model's direction where it has one;
    - not in the data, if all pairs with enough rows are shown to differ little, or significantly the other way round.
      Little means less than half of the difference in the model's answers to the same rows (two one-sided tests);
    - else unclear.
    The level is the error, split over the regions and over the tests that could be significant at all (Tarone 1990).

    Args:
        rule: the region, as a rule that is true inside it.
        evidence: the rows, their labels and the cases.
        n_regions: number of regions that are tested; all statements on them hold together at 95% confidence.
    """
    import pandas as pd

    if evidence.rows is None or evidence.rows.labels is None or not evidence.oracle.is_label:
        return None
    held = split_confidence(CONFIDENCE, n_regions)
    inside, sets = evidence.rows.take(rule.matches(evidence.rows.frame)), groups_of(evidence.domain)
    own = evidence.domain.families.place_of(inside.own)
    targets, known = _targets(evidence, inside)
    rows = {group: np.isin(own, places) & known for groups in sets for group, places in groups.items()}
    pairs = _pairs(evidence, rule, sets, [*targets])
    # More rows of the larger group do not help: the smaller group limits the test.
    smaller = [int(min(rows[a].sum(), rows[b].sum())) for a, b, *_ in pairs]
    attainable = [attainable_p(n, n) for n in smaller]
    level = _tarone(1 - held, attainable)
    is_thin = min(attainable) > level
    answers = None if is_thin else _answers(evidence, inside, known & (own >= 0))
    compared = []
    for (a, b, outcome, model), best in zip(pairs, attainable, strict=True):
        figures = _compared(targets[outcome][rows[a]], targets[outcome][rows[b]], 1 - held)
        of_rows = None
        if answers is not None and rows[a].any() and rows[b].any():
            of_rows = float((answers[rows[a]] == outcome).mean() - (answers[rows[b]] == outcome).mean())
        compared.append((a, b, outcome, *figures, model, of_rows, best <= level))
    differences = pd.DataFrame(compared, columns=DIFFERENCE).astype({"model": float, "rows": float})
    direction = differences["rows"].replace(0, math.nan).fillna(differences["model"]).fillna(0)
    differences["agrees"] = (direction == 0) | (differences["value"] * direction > 0)
    groups = []
    for (group, mask), (outcome, target) in itertools.product(rows.items(), targets.items()):
        n, hits = int(mask.sum()), int(target[mask].sum())
        groups.append((group, n, outcome, hits / n if n else math.nan, *clopper_pearson(hits, n, held)))
    return RegionInData(
        rule,
        n=len(own),
        n_rows=len(evidence.rows),
        n_apart=int((~known | (own < 0)).sum()),
        table=pd.DataFrame(groups, columns=GROUP).astype({"outcome": object}),
        differences=differences,
        verdict=InData.EXTRAPOLATED if is_thin else _verdict(differences, level),
        level=level,
        least=next(n for n in itertools.count(1) if attainable_p(n, n) <= level),
    )


# Rows and groups


def _targets(evidence: Evidence, inside: Rows) -> tuple[dict[Any, Mask], Mask]:
    """Return, by compared label, a boolean mask of the rows inside a region that have it, and one of the labelled rows.

    The compared label is the favourable one; else the rarer of two labels; else all are compared.
    """
    import pandas as pd

    assert evidence.rows is not None
    assert inside.labels is not None
    outcomes = [plain(label) for label in pd.Series(evidence.rows.labels).value_counts().index]  # most frequent first
    good = None if evidence.favourable is None else evidence.favourable.label
    if good is not None and good in outcomes:
        outcomes = [good]
    elif len(outcomes) == 2:
        outcomes = outcomes[1:]
    return {each: np.asarray(inside.labels == each) for each in outcomes}, ~np.asarray(pd.isna(inside.labels))


def _answers(evidence: Evidence, inside: Rows, wanted: Mask) -> NDArray[Any] | None:
    """Return the model's outputs for the rows inside a region, by row; None for rows that are not wanted.

    There is no result if no row is wanted, or if asking about them takes more than the part `ROWS_PART` of the
    remaining queries.
    """
    n = int(wanted.sum())
    if not n or evidence.budget.inputs(n, ROWS_PART, cost=1) < n:
        return None
    answers = np.full(len(wanted), None, dtype=object)
    answers[wanted] = evidence.oracle.asker.ask_frame(inside.frame[wanted])
    return answers


# Comparisons


_Pair = tuple[str, str, Any, float | None]
"""Two groups by name, the outcome, and the difference between the model's outputs for them; None if that has no
direction."""


def _pairs(
    evidence: Evidence, rule: Rule, sets: Sequence[Mapping[str, list[int]]], outcomes: Sequence[Any]
) -> list[_Pair]:
    """Return the pairs of groups whose outputs differ most over the cases inside a region; all if none differ."""
    cases, pairs = evidence.cases, list[_Pair]()
    if evidence.n_cases:
        cases = cases.take(np.flatnonzero(rule.matches(evidence.domain.decode(cases.codes))))
    exist = cases.exist

    def mean(places: list[int], outcome: Any) -> float:
        return float((cases.outputs[places][exist[places]] == outcome).mean()) if exist[places].any() else math.nan

    for groups in sets:
        means = {each: mean(groups[each[0]], each[1]) for each in itertools.product(groups, outcomes)}
        for (a, b), outcome in itertools.product(itertools.combinations(groups, 2), outcomes):
            apart = means[a, outcome] - means[b, outcome]
            pairs.append((a, b, outcome, None if math.isnan(apart) else apart))
    most = max(abs(apart or 0.0) for *_, apart in pairs)
    if not most:  # both ways alike, or nothing is known: no direction
        return [(a, b, outcome, None) for a, b, outcome, _ in pairs[:MOST_PAIRS]]
    pairs.sort(key=lambda pair: -abs(pair[-1] or 0.0))
    return [pair for pair in pairs if abs(pair[-1] or 0.0) >= FARTHEST * most][:MOST_PAIRS]


def _tarone(error: float, attainable: Sequence[float]) -> float:
    """Return the largest significant p-value of each test by Tarone's method.

    Tests that cannot be significant take no part of the error. `attainable` has the smallest possible p-value of each
    test.
    """
    return next(error / n for n in itertools.count(1) if sum(best <= error / n for best in attainable) <= n)


def _compared(a: Mask, b: Mask, error: float) -> tuple[float, float, float]:
    """Return (difference, p-value, largest difference) of the labels of two groups.

    The largest difference is the bound that two one-sided tests at the given error give, in either direction.
    """
    counts = (int(a.sum()), len(a), int(b.sum()), len(b))
    value = float(a.mean() - b.mean()) if len(a) and len(b) else math.nan
    return value, fisher_p(*counts), max(map(abs, rate_difference(*counts, 1 - 2 * error)))


def _verdict(differences: pd.DataFrame, level: float) -> InData:
    """Return the verdict on a region in which at least one pair of groups has enough rows."""
    told = differences[differences["is_testable"]]
    if ((told["p_value"] <= level) & told["agrees"]).any():
        return InData.IN_THE_DATA
    # All pairs must be shown to be alike, so that none needs a part of the error.
    return InData.NOT_IN_THE_DATA if _absent(told, level).all() else InData.UNCLEAR


def _absent(differences: pd.DataFrame, level: float) -> pd.Series[bool]:
    """Return a boolean mask of the differences in labels that are shown to be small, or to have the other direction.

    Small is less than `MARGIN` times the model's own difference on the same rows.
    """
    is_turned = (differences["p_value"] <= level) & ~differences["agrees"] & differences["rows"].notna()
    return is_turned | (differences["at_most"] < MARGIN * differences["rows"].abs())
