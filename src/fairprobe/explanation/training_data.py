"""The training rows inside a region, by sensitive value: whether the model's difference was in the data.

A model can treat people differently because the labels that it learned from do, or because it was never shown such
people and extrapolates. If so few rows are inside that even the sharpest difference would not be significant, the data
say nothing; with more rows, a test does. Absence of a difference is claimed only where a test of equivalence shows it:
the labels differ by less than half of what the model's own answers to the same rows do. The model is asked about these
rows only.

The region comes from a model that may have been fitted to these very rows. A p-value therefore says how plain a
difference is in them; it proves nothing about the people that they were drawn from.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Mask
from fairprobe.checks import checked_count
from fairprobe.domain.constraints import Rule
from fairprobe.domain.domain import Domain
from fairprobe.domain.values import plain
from fairprobe.estimation.bounds.intervals import clopper_pearson, mean_bounds, split_confidence
from fairprobe.estimation.bounds.two_groups import attainable_p, fisher_p, rate_difference, welch
from fairprobe.estimation.counts import combination_words
from fairprobe.estimation.favourable import in_order
from fairprobe.explanation.evidence import Evidence
from fairprobe.model.adapters import adapter_for

if TYPE_CHECKING:
    import pandas as pd
from fairprobe.explanation.region_rows import Difference, GroupRows, InData, RegionInData

FARTHEST = 0.5
"""Smallest difference of two groups that are compared, as a part of the model's largest difference. Chosen."""

MOST_PAIRS = 100
"""Largest number of pairs of groups that are compared: those farthest apart. Chosen."""

ROWS_PART = 0.2
"""Largest part of the queries left that is spent on the rows inside a region. Chosen."""


def region_in_data(
    rule: Rule, evidence: Evidence, *, confidence: float = 0.95, n_regions: int = 1
) -> RegionInData | None:
    """Test whether the training rows inside a region show the difference that the model makes there.

    The groups are the sensitive values, and with several sensitive parameters their combinations too. Those are
    compared that the model's outputs over the cases inside put farthest apart. The result is None without rows. The
    verdict is
    - extrapolated, if in every pair one group has so few rows that against as many of the other even the sharpest
      difference possible (all rows of the one have the label, none of the other) would not have been significant: fewer
      than four at a level of 5%, `least` in general;
    - in the data, if a pair differs significantly, and in the model's direction where it has one;
    - not in the data, if all pairs with enough rows are shown to differ by less than half of what the model's answers
      to these very rows do (two one-sided tests), or to differ significantly the other way round;
    - else unclear.
    The level is the error, split over the regions and over the tests that could be significant at all (Tarone 1990).

    Args:
        rule: the region.
        evidence: the rows, their labels and the cases.
        confidence: for all that is said of all regions.
        n_regions: number of regions that are tested.
    """
    held = split_confidence(confidence, checked_count("n_regions", n_regions))
    if evidence.rows is None:
        return None
    inside = rule.matches(evidence.rows)
    own = _own_values(evidence, inside)
    is_numeric = _is_numeric(evidence)
    given = evidence.labels
    labels = None if given is None or given.isna().all() else given[inside].to_numpy()
    known = np.ones(len(own), dtype=bool) if given is None or labels is None else given[inside].notna().to_numpy()
    targets: dict[Any, NDArray[Any] | None] = {None: None}
    if labels is not None:
        targets = {None: labels} if is_numeric else {each: labels == each for each in _outcomes(evidence)}
    sets = _sets_of_groups(evidence.domain)
    rows = {group: np.isin(own, group.places) & known for group in itertools.chain(*sets)}

    model = _ModelMeans(evidence, rule)
    pairs = _pairs(sets, list(targets), model)
    # More rows of the larger group do not help: the smaller group limits the test.
    smaller = [int(min(rows[pair.a].sum(), rows[pair.b].sum())) for pair in pairs]
    attainable = [attainable_p(n, n) for n in smaller]
    level = _tarone(1 - held, attainable)
    is_told = min(attainable) <= level and labels is not None
    if is_told:
        model.ask(evidence.rows[inside], known & (own >= 0))
    differences = [
        _difference(pair, target, rows, (level, 1 - held), model, is_testable=best <= level)
        for pair, best in zip(pairs, attainable, strict=True)
        if (target := targets[pair.outcome]) is not None
    ]
    verdict: InData | None = _verdict(differences, level) if is_told else None
    if min(attainable) > level:
        verdict = InData.EXTRAPOLATED
    return RegionInData(
        rule,
        n=len(own),
        n_rows=len(evidence.rows),
        n_apart=int((~known | (own < 0)).sum()),
        groups=tuple(
            _described(group, mask, outcome, target, held)
            for group, mask in rows.items()
            for outcome, target in targets.items()
        ),
        differences=tuple(differences),
        verdict=verdict,
        confidence=confidence,
        n_regions=n_regions,
        level=level,
        least=next(n for n in itertools.count(1) if attainable_p(n, n) <= level),
        is_numeric=is_numeric,
    )


# Rows and groups


@dataclass(frozen=True)
class _Group:
    """A sensitive value, or a combination of several."""

    words: str
    places: tuple[int, ...]
    """Its combinations, by their places in domain order."""


def _sets_of_groups(domain: Domain) -> list[list[_Group]]:
    """Sets of groups that are compared: the values of each sensitive parameter, and the combinations of several."""
    combinations = domain.combinations
    sets = [[_Group(combination_words(domain, place), (place,)) for place in range(len(combinations))]]
    if len(domain.sensitive) > 1:
        by_value = []
        for column, name in enumerate(domain.sensitive):
            alone = domain.with_sensitive([name])
            places = [np.flatnonzero(combinations[:, column] == code) for code in range(domain[name].levels)]
            by_value.append(
                [_Group(combination_words(alone, i), tuple(each.tolist())) for i, each in enumerate(places)]
            )
        sets = by_value + sets
    return sets


def _own_values(evidence: Evidence, inside: Mask) -> Codes:
    """The place of each row's combination of sensitive values; -1 if a value is not compared."""
    assert evidence.rows is not None
    return evidence.domain.families.place_of(evidence.domain.rows(evidence.rows[inside], may_be_empty=True).own)


def _is_numeric(evidence: Evidence) -> bool:
    """Labels are measurements, as the model's outputs are: their means are compared."""
    is_value = evidence.oracle.asker.output == "value"
    return evidence.labels is not None and is_value and evidence.labels.dtype.kind in "fiu"


def _outcomes(evidence: Evidence) -> list[Any]:
    """The labels whose rates are compared: the favourable one, else the rarer of two, else all."""
    assert evidence.labels is not None
    counts = evidence.labels.value_counts()  # the most frequent first
    told = _favourable_label(evidence, in_order(counts.index))
    if told is not None:
        return [told]
    labels = [plain(label) for label in counts.index]
    return labels[1:] if len(labels) == 2 else labels


def _favourable_label(evidence: Evidence, labels: Sequence[Any]) -> Any:
    """The favourable outcome as a label: of two labels, an end of the scores means the last one or the first.

    None if none was given, or it is none of the labels.
    """
    good = evidence.favourable
    if good is None:
        return None
    if good.label is None and evidence.oracle.asker.output == "score" and len(labels) == 2:
        return labels[0 if good.is_low else -1]
    return next((label for label in labels if label == good.label), None)


def _described(group: _Group, mask: Mask, outcome: Any, target: NDArray[Any] | None, confidence: float) -> GroupRows:
    """The rows of a group, with their rate or mean where there are labels."""
    n = int(mask.sum())
    if target is None:
        return GroupRows(group.words, n)
    mine = target[mask]
    value = float(mine.mean()) if n else math.nan
    if mine.dtype == bool:
        return GroupRows(group.words, n, outcome, value, *clopper_pearson(int(mine.sum()), n, confidence))
    return GroupRows(group.words, n, outcome, value, *mean_bounds(mine.astype(np.float64), confidence))


# The model's own differences


class _ModelMeans:
    """The model's outputs over the cases inside a region, and for rows there, by group."""

    def __init__(self, evidence: Evidence, rule: Rule) -> None:
        cases = evidence.cases
        inside = rule.matches(evidence.domain.decode(cases.codes)) if evidence.n_cases else np.zeros(0, dtype=bool)
        self._outputs = cases.outputs[:, inside]
        shape = self._outputs.shape[:2]
        self._present = np.ones(shape, dtype=bool) if cases.present is None else cases.present[:, inside]
        self._evidence = evidence
        self._output = evidence.oracle.asker.output
        classes = adapter_for(evidence.model).classes
        self._classes = None if classes is None else np.asarray(classes).tolist()
        self._of_rows: NDArray[Any] | None = None
        self._means: dict[tuple[_Group, Any], float] = {}

    def difference(self, a: _Group, b: _Group, outcome: Any) -> float | None:
        """The rate of an outcome, or the mean, in a minus that in b; None if nothing is known."""
        difference = self._mean(a, outcome) - self._mean(b, outcome)
        return None if math.isnan(difference) else difference

    def _mean(self, group: _Group, outcome: Any) -> float:
        if (group, outcome) not in self._means:
            values, places = self._values(self._outputs, outcome), list(group.places)
            exists = self._present[places]
            nothing = values is None or not exists.any()
            self._means[group, outcome] = math.nan if nothing else float(np.asarray(values)[places][exists].mean())
        return self._means[group, outcome]

    def ask(self, rows: pd.DataFrame, wanted: Mask) -> None:
        """Ask about rows as they are, where the answers are on the scale of labels, and the budget has room."""
        n, left = int(wanted.sum()), self._evidence.budget.n_left
        if n and self._output != "score" and (left is None or n <= ROWS_PART * left):
            answers = self._evidence.oracle.asker.ask_frame(rows[wanted])
            self._of_rows = np.zeros((len(wanted), *answers.shape[1:]), dtype=answers.dtype)
            self._of_rows[wanted] = answers

    def difference_of_rows(self, a: Mask, b: Mask, outcome: Any) -> float | None:
        """The difference between the answers to the rows of a and of b; None where there are none."""
        values = None if self._of_rows is None else self._values(self._of_rows, outcome)
        return None if values is None or not (a.any() and b.any()) else float(values[a].mean() - values[b].mean())

    def _values(self, outputs: NDArray[Any], outcome: Any) -> NDArray[Any] | None:
        """A number for an outcome, by case or by row; it is higher where the output is nearer to that outcome."""
        if self._output == "label":
            return np.asarray(outputs == outcome)
        if self._output == "value":
            return outputs
        if self._classes is None or outcome not in self._classes:
            return None
        place = self._classes.index(outcome)
        if self._output == "proba" or outputs.ndim == 3:
            return np.asarray(outputs[..., place])
        return outputs if place else -outputs  # a score speaks for the second of two classes


# Comparisons


@dataclass(frozen=True)
class _Pair:
    a: _Group
    b: _Group
    outcome: Any
    model: float | None


def _pairs(sets: Sequence[Sequence[_Group]], outcomes: Sequence[Any], model: _ModelMeans) -> list[_Pair]:
    """The pairs of groups to compare: those that the model puts farthest apart; all if it puts none apart."""
    pairs = [
        _Pair(a, b, outcome, model.difference(a, b, outcome))
        for each in sets
        for a, b in itertools.combinations(each, 2)
        for outcome in outcomes
    ]
    size = [abs(pair.model or 0.0) for pair in pairs]
    most = max(size)
    if most > 0:
        order = sorted(range(len(pairs)), key=lambda place: -size[place])
        pairs = [pairs[place] for place in order if size[place] >= FARTHEST * most]
    else:
        pairs = [replace(pair, model=None) for pair in pairs]  # both ways alike, or nothing is known: no direction
    return pairs[:MOST_PAIRS]


def _tarone(error: float, attainable: Sequence[float]) -> float:
    """The level of each test, so that all hold together: those that can't reach it need no part of the error."""
    return next(error / n for n in itertools.count(1) if sum(best <= error / n for best in attainable) <= n)


def _difference(
    pair: _Pair,
    target: NDArray[Any],
    rows: Mapping[_Group, Mask],
    errors: tuple[float, float],
    model: _ModelMeans,
    *,
    is_testable: bool,
) -> Difference:
    """Compare two groups' labels; the errors are those of the tests of a difference and of equivalence."""
    level, error = errors
    inside = rows[pair.a], rows[pair.b]
    a, b = (target[each] for each in inside)
    if a.dtype == bool:
        counts = (int(a.sum()), len(a), int(b.sum()), len(b))
        p_value, (low, high) = fisher_p(*counts), rate_difference(*counts, 1 - level)
        ends = rate_difference(*counts, 1 - 2 * error)
    else:
        a, b = a.astype(np.float64), b.astype(np.float64)
        p_value, low, high = welch(a, b, 1 - level)
        # That all labels seen are the same does not show that all others are.
        ends = welch(a, b, 1 - 2 * error)[1:] if np.ptp(a) > 0 and np.ptp(b) > 0 else (-math.inf, math.inf)
    return Difference(
        pair.a.words,
        pair.b.words,
        pair.outcome,
        float(a.mean() - b.mean()) if len(a) and len(b) else math.nan,
        low,
        high,
        p_value,
        pair.model,
        model.difference_of_rows(*inside, pair.outcome),
        max(map(abs, ends)),
        is_testable,
    )


def _verdict(differences: Sequence[Difference], level: float) -> InData:
    """The verdict if at least one pair has enough rows."""
    told = [each for each in differences if each.is_testable]
    if any(each.p_value <= level and each.agrees for each in told):
        return InData.IN_THE_DATA
    # All pairs must be shown to be alike, so that none needs a part of the error.
    return InData.NOT_IN_THE_DATA if all(each.is_absent(level) for each in told) else InData.UNCLEAR
