"""Was it in the data? The training rows inside a region, by sensitive value, and whether their labels differ.

A model can treat people differently because the labels that it learned from do, or because it was never shown such
people and extrapolates. Counts tell the two apart: with so few rows that even the sharpest difference could not have
shown, the data say nothing; with more, a test does. Nothing here asks the model.

The region comes from a model that may have been fitted to these very rows, so that a p-value says how plain a
difference is in them; it is no proof about the people that they were drawn from.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Mask
from fairprobe.checks import checked_count, nearest
from fairprobe.domain.constraints import Rule
from fairprobe.domain.domain import Domain
from fairprobe.domain.values import plain
from fairprobe.errors import SettingError
from fairprobe.estimate.bounds.intervals import clopper_pearson
from fairprobe.estimate.bounds.two_groups import attainable_p, fisher_p, mean_bounds, rate_difference, welch
from fairprobe.estimate.share import percent
from fairprobe.estimate.survey import combination_words, split_confidence
from fairprobe.explain.evidence import Evidence
from fairprobe.model.adapters import abilities_of

if TYPE_CHECKING:
    import pandas as pd

FARTHEST = 0.5
"""Groups are compared that the model puts at least so far apart, as a part of its largest difference."""

MOST_PAIRS = 100
"""Pairs of groups that are compared at most, those farthest apart."""

SMALL = 0.5
"""A difference in the data is small if it is below such a part of the model's own.

Not any smaller difference: a model that decides by what is likelier makes a large difference in labels of a smaller one
in rates.
"""

SMALL_RATE = 0.1
"""Where the model's own difference is on no scale of rates, or it has no direction: a small difference of rates."""

SHOWN = 4
"""Groups that are told one by one."""


class InData(StrEnum):
    """Where a model's different treatment comes from, as far as training rows tell: a word, and its `sentence`."""

    sentence: str

    def __new__(cls, word: str, sentence: str) -> InData:
        """A word, which it is equal to, with the same in more words."""
        verdict = str.__new__(cls, word)
        verdict._value_ = word
        verdict.sentence = sentence
        return verdict

    IN_THE_DATA = "in-the-data", "the difference was in the data"
    EXTRAPOLATED = "extrapolated", "the data say nothing here: the model extrapolates"
    NOT_IN_THE_DATA = "not-in-the-data", "the data have no such difference: the model makes it"
    UNCLEAR = "unclear", "the data are compatible with a difference like the model's and with none"


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
    low: float
    high: float
    p_value: float
    """Fisher's exact test of equal rates, or Welch's of equal means; two-sided."""
    model: float | None
    """The same difference in the model's own outputs over the cases inside; None where it has no direction."""
    is_scaled: bool
    """Whether the model's difference is on the scale of the data's; a score is on none."""
    is_testable: bool
    """Whether both groups have so many rows that the sharpest difference would have shown."""

    @property
    def agrees(self) -> bool:
        """Whether it has the model's direction, where that is known."""
        return self.model is None or self.value * self.model > 0


@dataclass(frozen=True, repr=False, eq=False)
class RegionInData:
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

    @property
    def table(self) -> pd.DataFrame:
        """A row a group (and label): how many rows, the rate or the mean, and its interval."""
        import pandas as pd

        names = list(GroupRows.__dataclass_fields__)
        return pd.DataFrame([asdict(each) for each in self.groups], columns=names)

    def sentence(self) -> str:
        """The rows and the verdict in words."""
        said = f"{self.n:,} of {self.n_rows:,} training rows lie inside"
        if self.n:
            shown = [_group_words(each, is_numeric=self.is_numeric) for each in self.groups[:SHOWN]]
            more = len(self.groups) - len(shown)
            said += f" ({'; '.join(shown)}{f'; and {more} more' if more > 0 else ''})"
        if self.verdict is None:
            return said
        return f"{said}: {self.verdict.sentence}{self._because()}"

    def _because(self) -> str:
        if self.verdict is InData.EXTRAPOLATED:
            return f"; with fewer than {self.least} rows in one of two groups no difference is told from chance"
        if self.verdict is not InData.IN_THE_DATA:
            return ""
        told = [each for each in self.differences if each.is_testable and each.agrees]
        found = min(told, key=lambda each: each.p_value)
        test = "Welch's test" if self.is_numeric else "Fisher's exact test"
        return f" ({found.a} against {found.b}, p = {found.p_value:.2g} by {test}, held against {self.level:.2g})"

    def summary(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        figures = ("n", "n_rows", "n_apart", "confidence", "n_regions", "level", "least", "is_numeric")
        return {
            "region": self.rule.text,
            "verdict": None if self.verdict is None else str(self.verdict),
            **{name: getattr(self, name) for name in figures},
            "groups": [_finite(asdict(each)) for each in self.groups],
            "differences": [_finite(asdict(each)) for each in self.differences],
            "sentence": self.sentence(),
        }

    def __repr__(self) -> str:
        return f"RegionInData({self.sentence()})"


def region_in_data(
    rule: Rule, evidence: Evidence, worse: str | None = None, *, confidence: float = 0.95, n_regions: int = 1
) -> RegionInData | None:
    """What the training rows inside a region say of the difference that the model makes there; None without rows.

    The groups are the sensitive values, and with several sensitive parameters their combinations too. Compared are
    those that the model's outputs over the cases inside put farthest apart. The verdict is
    - extrapolated, if in every pair one group has so few rows that against as many of the other even the sharpest
      difference possible (all rows of the one have the label, none of the other) would not have been significant: fewer
      than four at a level of 5%, `least` in general;
    - in the data, if a pair differs significantly, and in the model's direction where it has one;
    - not in the data, if in all pairs with enough rows the interval excludes a difference half as large as the model's;
    - else unclear.
    The level is the error, split over the regions and over the tests that could be significant at all (Tarone 1990).

    Args:
        rule: the region.
        evidence: the rows, their labels and the cases.
        worse: the group that is worse off, in words as in `Share.worse_off`: then only pairs with it are compared.
        confidence: for all that is said of all regions.
        n_regions: how many regions are looked at.
    """
    held = split_confidence(confidence, checked_count("n_regions", n_regions))
    if evidence.rows is None:
        return None
    inside = rule.matches(evidence.rows)
    own = _own_values(evidence, inside)
    is_numeric = _is_numeric(evidence)
    given = evidence.labels
    labels = None if given is None or given.isna().all() else given[inside].to_numpy()
    known = np.ones(len(own), dtype=bool) if labels is None else ~_are_missing(labels)
    targets: dict[Any, NDArray[Any] | None] = {None: None}
    if labels is not None:
        targets = {None: labels} if is_numeric else {each: labels == each for each in _outcomes(evidence)}
    sets = _sets_of_groups(evidence.domain)
    rows = {group: np.isin(own, group.places) & known for group in itertools.chain(*sets)}

    pairs = _pairs(sets, worse, list(targets), _ModelMeans(evidence, rule))
    # However many rows the larger group has, of the smaller one no more is known.
    smaller = [int(min(rows[pair.a].sum(), rows[pair.b].sum())) for pair in pairs]
    attainable = [attainable_p(n, n) for n in smaller]
    level = _tarone(1 - held, attainable)
    differences = [
        _difference(pair, target[rows[pair.a]], target[rows[pair.b]], level, is_testable=best <= level)
        for pair, best in zip(pairs, attainable, strict=True)
        if (target := targets[pair.outcome]) is not None
    ]
    verdict: InData | None = InData.EXTRAPOLATED
    if min(attainable) <= level:
        verdict = None if labels is None else _verdict(differences, level, is_numeric=is_numeric)
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
    """Which combinations, by their places in domain order, are of it."""


def _sets_of_groups(domain: Domain) -> list[list[_Group]]:
    """Groups that are compared with each other: the values of each sensitive parameter; the combinations of several."""
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
    """The place of each row's combination of sensitive values; -1 if it is none of those compared."""
    assert evidence.rows is not None
    domain, rows = evidence.domain, evidence.rows[inside]
    own = np.column_stack([domain[name].encode(rows[name]) for name in domain.sensitive])
    levels = [domain[name].levels for name in domain.sensitive]
    places = np.ravel_multi_index(tuple(np.maximum(own, 0).T), levels)  # combinations are in domain order
    return np.where((own < 0).any(axis=1), -1, places)


def _are_missing(labels: NDArray[Any]) -> Mask:
    import pandas as pd

    return np.asarray(pd.isna(labels))


def _is_numeric(evidence: Evidence) -> bool:
    """Whether labels are measurements, as the model's outputs are: their means are compared."""
    is_value = evidence.oracle.asker.output == "value"
    return evidence.labels is not None and is_value and evidence.labels.dtype.kind in "fiu"


def _outcomes(evidence: Evidence) -> list[Any]:
    """The labels whose rates are told: the favourable one; else the rarer of two, or of more each."""
    assert evidence.labels is not None
    counts = evidence.labels.value_counts()  # the most frequent first
    told = _favourable_label(evidence, sorted(counts.index, key=lambda label: (str(type(label)), label)))
    if told is not None:
        return [told]
    labels = [plain(label) for label in counts.index]
    return labels[1:] if len(labels) == 2 else labels


def _favourable_label(evidence: Evidence, labels: Sequence[Any]) -> Any:
    """The favourable outcome as a label: of scores an end means the last label or the first; of classes a number may.

    None where none was told, or it is none of the labels.
    """
    favourable, output = evidence.favourable, evidence.oracle.asker.output
    if output == "score" and favourable in ("highest", "lowest"):
        return None if len(labels) != 2 else plain(labels[-1 if favourable == "highest" else 0])
    if output == "proba" and favourable not in labels and isinstance(favourable, int):
        classes = abilities_of(evidence.model).classes
        favourable = None if classes is None or favourable >= len(classes) else classes[favourable]
    return next((plain(label) for label in labels if label == favourable), None)


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


# What the model does


class _ModelMeans:
    """The model's outputs over the cases inside a region, by group."""

    def __init__(self, evidence: Evidence, rule: Rule) -> None:
        cases = evidence.cases
        inside = rule.matches(evidence.domain.decode(cases.codes)) if evidence.n_cases else np.zeros(0, dtype=bool)
        self._outputs = cases.outputs[:, inside]
        shape = self._outputs.shape[:2]
        self._present = np.ones(shape, dtype=bool) if cases.present is None else cases.present[:, inside]
        self._output = evidence.oracle.asker.output
        classes = abilities_of(evidence.model).classes
        self._classes = None if classes is None else np.asarray(classes).tolist()
        self.is_scaled = self._output != "score"
        """Whether differences are on the scale of what is compared in the data."""

        self._means: dict[tuple[_Group, Any], float] = {}

    def difference(self, a: _Group, b: _Group, outcome: Any) -> float | None:
        """The rate of an outcome, or the mean, in a less that in b; None if nothing is known."""
        difference = self._mean(a, outcome) - self._mean(b, outcome)
        return None if math.isnan(difference) else difference

    def _mean(self, group: _Group, outcome: Any) -> float:
        if (group, outcome) not in self._means:
            values, places = self._values(outcome), list(group.places)
            exists = self._present[places]
            nothing = values is None or not exists.any()
            self._means[group, outcome] = math.nan if nothing else float(np.asarray(values)[places][exists].mean())
        return self._means[group, outcome]

    def _values(self, outcome: Any) -> NDArray[Any] | None:
        """By member, then case: what speaks for an outcome."""
        if self._output == "label":
            return np.asarray(self._outputs == outcome)
        if self._output == "value":
            return self._outputs
        if self._classes is None or outcome not in self._classes:
            return None
        place = self._classes.index(outcome)
        if self._outputs.ndim == 3:
            return np.asarray(self._outputs[:, :, place])
        return self._outputs if place else -self._outputs  # a score speaks for the second of two classes


# Comparing


@dataclass(frozen=True)
class _Pair:
    a: _Group
    b: _Group
    outcome: Any
    model: float | None
    is_scaled: bool


def _pairs(
    sets: Sequence[Sequence[_Group]], worse: str | None, outcomes: Sequence[Any], model: _ModelMeans
) -> list[_Pair]:
    """The pairs of groups to compare: those that the model puts farthest apart; if it tells none apart, all."""
    names = [group.words for each in sets for group in each]
    if worse is not None and worse not in names:
        raise SettingError.about(
            "worse", f"must be a group, one of {', '.join(names)}; got {worse!r}{nearest(worse, names)}"
        )
    pairs = [
        _Pair(a, b, outcome, model.difference(a, b, outcome), model.is_scaled)
        for each in sets
        for a, b in itertools.combinations(each, 2)
        if worse is None or worse in (a.words, b.words)
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


def _difference(pair: _Pair, a: NDArray[Any], b: NDArray[Any], level: float, *, is_testable: bool) -> Difference:
    """Two groups' labels held against each other."""
    if a.dtype == bool:
        counts = (int(a.sum()), len(a), int(b.sum()), len(b))
        p_value, (low, high) = fisher_p(*counts), rate_difference(*counts, 1 - level)
    else:
        p_value, low, high = welch(a.astype(np.float64), b.astype(np.float64), 1 - level)
    value = float(a.mean() - b.mean()) if len(a) and len(b) else math.nan
    return Difference(
        pair.a.words, pair.b.words, pair.outcome, value, low, high, p_value, pair.model, pair.is_scaled, is_testable
    )


def _verdict(differences: Sequence[Difference], level: float, *, is_numeric: bool) -> InData:
    """Where some pair has rows enough."""
    told = [each for each in differences if each.is_testable]
    if any(each.p_value <= level and each.agrees for each in told):
        return InData.IN_THE_DATA
    if all(_is_small(each, is_numeric=is_numeric) for each in told):
        return InData.NOT_IN_THE_DATA
    return InData.UNCLEAR


def _is_small(difference: Difference, *, is_numeric: bool) -> bool:
    """Whether its interval excludes one that is half as large as the model's, in the model's direction."""
    if difference.model is None or not difference.is_scaled:
        return not is_numeric and max(-difference.low, difference.high) < SMALL_RATE
    most = difference.high if difference.model > 0 else -difference.low
    return most < SMALL * abs(difference.model)


# Words


def _group_words(group: GroupRows, *, is_numeric: bool) -> str:
    said = f"{group.group}: {group.n:,}"
    if not group.n or math.isnan(group.value):
        return said
    if is_numeric:
        return f"{said} of a mean of {group.value:.4g}, {group.low:.4g} to {group.high:.4g}"
    return f"{said}, {percent(group.value)} {plain(group.outcome)!r}, {percent(group.low)} to {percent(group.high)}"


def _finite(figures: dict[str, Any]) -> dict[str, Any]:
    """For JSON, which has neither NaN nor infinity."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in figures.items()
    }
