"""Who is worse off: the outcomes of the two twins of a case, among the cases found and among cases that were sampled.

A directed search finds cases in proportions of its own, so these are only counted. Whether one side is worse off more
often than the other is tested on cases sampled afresh.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Mask
from fairprobe.blocks import Remark
from fairprobe.domain.domain import Domain
from fairprobe.domain.values import plain
from fairprobe.estimation.bounds.intervals import clopper_pearson
from fairprobe.estimation.counts import combination_words
from fairprobe.estimation.favourable import classes_of, in_order
from fairprobe.explanation.evidence import Evidence
from fairprobe.explanation.finding import Finding, figures_of, records, remarks_of
from fairprobe.explanation.symmetry import holm, symmetry
from fairprobe.oracle import Judgement, Oracle
from fairprobe.wording import percent

if TYPE_CHECKING:
    import pandas as pd

CONFIDENCE = 0.95
SURPRISING = 0.05
"""Largest adjusted p-value at which a sentence calls a row one-sided. Chosen."""

MOST_PAIRS = 200
"""Largest number of pairs of sides that are compared; of more, those that most cases found are ends of. Chosen."""

TOLD = 2
"""Number of rows that sentences tell."""

COUNTED = (
    *("compared", "first", "second", "first_gets", "second_gets"),
    *("found", "found_reversed", "sampled", "sampled_reversed"),
)
"""Columns of the table before the test."""


@dataclass(frozen=True, repr=False, eq=False)
class Directions(Finding):
    """The outcomes of the two twins of cases."""

    table: pd.DataFrame
    """A row for each two combinations of sensitive values and each two outcomes that part them.

    - `compared`: "combination" for whole combinations. Where several parameters are sensitive, there are also rows for
      one of them by its name; the others are as the input has them.
    - `first`, `second`: the two sides. `first` gets `first_gets` where `second` gets `second_gets` more often than the
      other way round.
    - `found`, `found_reversed`: the number of cases found where this is so, and where it is the other way round.
    - `sampled`, `sampled_reversed`: the same numbers of the cases sampled.
    - `fraction`, `low`, `high`: the part of the sampled cases where this is so, with its exact 95% interval.
    - `p`: the probability of a count as one-sided if neither way were likelier; `p_adjusted` with all rows in mind
      (Holm).
    """
    sensitive: tuple[str, ...]
    output: str
    favourable: Any
    """The good outcome, if it was given and seen: then `first` is the side that is worse off."""
    n_found: int
    n_sampled: int
    """Cases among the inputs drawn."""
    n_drawn: int
    """Inputs that were drawn afresh."""
    health: tuple[Remark, ...] = ()

    def sentences(self) -> list[str]:
        """The rows with the smallest p-values in words."""
        if not len(self.table):
            return ["No case tells two sides apart."]
        told = self.table.sort_values("p_adjusted", kind="stable", na_position="last")
        parameters = told[told["compared"] != "combination"]
        return [self._sentence(row) for _, row in (parameters if len(parameters) else told).head(TOLD).iterrows()]

    def _sentence(self, row: pd.Series[Any]) -> str:
        name = self.sensitive[0] if len(self.sensitive) == 1 else row["compared"]
        first, second = (_short(row[side], name) for side in ("first", "second"))
        what = f"{first} {self._gets(row['first_gets'])} where {second} {self._gets(row['second_gets'])}"
        if self.favourable is not None:
            what = f"{first} is worse off than {second}"
        n = int(row["sampled"] + row["sampled_reversed"])
        if not n:
            total = int(row["found"] + row["found_reversed"])
            return f"{what} in {row['found']:,} of {total:,} cases found, which are no sample."
        is_chance = row["p_adjusted"] > SURPRISING
        judged = "this can be chance" if is_chance else "chance alone does not explain this"
        between = f"95% interval {percent(row['low'])} to {percent(row['high'])}"
        return (
            f"{what} in {row['sampled']:,} of {n:,} sampled cases ({between}); {judged}, p = {row['p_adjusted']:.2g}."
        )

    def _gets(self, outcome: Any) -> str:
        return f"gets {outcome!r}" if self.output == "label" else f"has {outcome}"

    def shown_table(self) -> pd.DataFrame:
        """The sides, their outcomes and the counts."""
        return self.table[list(COUNTED[1:])]

    def plot(self, path: str | PathLike[str]) -> None:
        """Draw how often it is the one way, and how often the other, as SVG."""
        from fairprobe.explanation.plots import draw_directions

        draw_directions(self, path)

    def jsonable(self) -> dict[str, Any]:
        """The figures and the sentences as plain values of JSON."""
        return {
            "sensitive": list(self.sensitive),
            **figures_of(self, ("output", "n_found", "n_sampled", "n_drawn", "favourable")),
            "directions": records(self.table),
            "health": remarks_of(self.health),
            "sentences": self.sentences(),
        }


def directions_of(evidence: Evidence, sampled: Judgement) -> Directions:
    """Count the outcomes of two sides, and test whether it is as often the other way round.

    Args:
        evidence: the cases found.
        sampled: a judgement of inputs drawn afresh: its hits are a sample of cases, as those of a search are not.
    """
    hits = sampled.take(np.flatnonzero(sampled.hits), sampled.codes.dtype)
    outcomes = _outcomes(evidence, [evidence.cases, hits])
    rows = []
    for pair in _pairs(evidence):
        found, drawn = (_counts(evidence.oracle, part, pair, outcomes) for part in (evidence.cases, hits))
        rows += list(_rows(pair, found, drawn, outcomes))
    n = len(evidence.domain.combinations)
    text = f"of {math.comb(n, 2):,} pairs of sensitive values those {MOST_PAIRS} that most cases found are ends of"
    are_many = [Remark("many-pairs", f"{text} were looked at")] if math.comb(n, 2) > MOST_PAIRS else []
    return Directions(
        table=_tested(rows),
        sensitive=evidence.domain.sensitive,
        output=evidence.oracle.asker.output,
        favourable=evidence.favourable.word if evidence.favourable and outcomes.is_told else None,
        n_found=evidence.n_cases,
        n_sampled=len(hits.codes),
        n_drawn=len(sampled.codes),
        health=(*outcomes.health, *are_many),
    )


# The sides


@dataclass(frozen=True)
class _Pair:
    """Two values of one sensitive parameter, or two combinations of all."""

    compared: str
    first: str
    second: str
    places: tuple[int, int]
    """Codes of the parameter, or places of the combinations."""
    parameter: int | None = None
    """Place of the parameter among the sensitive ones; None for combinations."""

    def members(self, domain: Domain, codes: Codes) -> list[Codes]:
        """For each side, the place of the member of each input's family."""
        if self.parameter is None:
            return [np.full(len(codes), place) for place in self.places]
        combinations = domain.families.combinations[domain.families.place(codes)]
        sides = []
        for code in self.places:
            combinations[:, self.parameter] = code
            sides.append(domain.families.place_of(combinations))
        return sides


def _pairs(evidence: Evidence) -> Iterator[_Pair]:
    """All pairs of values of each sensitive parameter, where there are several, and of their combinations."""
    domain = evidence.domain
    combinations = domain.combinations
    if len(domain.sensitive) > 1:
        for place, name in enumerate(domain.sensitive):
            alone = domain.with_sensitive([name])
            for pair in _most_found(evidence, combinations[:, place]):
                yield _Pair(name, combination_words(alone, pair[0]), combination_words(alone, pair[1]), pair, place)
    for pair in _most_found(evidence, np.arange(len(combinations))):
        yield _Pair("combination", combination_words(domain, pair[0]), combination_words(domain, pair[1]), pair)


def _most_found(evidence: Evidence, sides: Codes) -> list[tuple[int, int]]:
    """All pairs of sides, given by combination; of too many, those that most cases found are ends of.

    The sample does not choose them, so that its test stays exact.
    """
    n_sides = int(sides.max()) + 1
    if math.comb(n_sides, 2) <= MOST_PAIRS or not evidence.n_cases:
        return list(itertools.islice(itertools.combinations(range(n_sides), 2), MOST_PAIRS))
    ends = evidence.oracle.ends(evidence.cases)
    pairs = np.column_stack([sides[evidence.domain.families.place(codes)] for codes in (ends.case, ends.twin)])
    pairs, counts = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0, return_counts=True)
    chosen = pairs[np.argsort(-counts, kind="stable")][:MOST_PAIRS]
    return [(int(one), int(other)) for one, other in chosen]


# The outcomes


@dataclass(frozen=True)
class _Outcomes:
    """Outcomes as numbers; two sides with the same number are treated alike."""

    names: Sequence[Any]
    """By number."""
    read: Callable[[NDArray[Any], NDArray[Any]], tuple[Codes, Codes]]
    """Numbers of the outcomes of two sides, from their outputs."""
    is_told: bool
    """The good outcome is known: the lower number is the worse one."""
    health: tuple[Remark, ...] = ()


def _outcomes(evidence: Evidence, judgements: Sequence[Judgement]) -> _Outcomes:
    if evidence.oracle.is_label:
        return _label_outcomes(evidence, judgements)
    n_classes = max((part.outputs.shape[2] for part in judgements if part.outputs.ndim == 3), default=0)
    return _number_outcomes(evidence, n_classes, is_told=any(len(part.codes) for part in judgements))


def _label_outcomes(evidence: Evidence, judgements: Sequence[Judgement]) -> _Outcomes:
    """Labels as they are; with a good one, only this one and all others."""
    import pandas as pd

    seen = [part.outputs if part.present is None else part.outputs[part.present] for part in judgements]
    labels = in_order(label for part in seen if part.size for label in pd.unique(part.ravel()))
    good = None if evidence.favourable is None else evidence.favourable.word
    if good is not None and good in labels:
        others = [label for label in labels if label != good]
        names = [others[0] if len(others) == 1 else f"not {good}", good]
        return _Outcomes(names, lambda one, other: ((one == good).astype(int), (other == good).astype(int)), True)
    health: tuple[Remark, ...] = ()
    if good is not None and labels:
        text = f"no case gets the outcome {good!r}, only {', '.join(map(repr, labels))}"
        health = (Remark("favourable-unseen", text),)
    index = pd.Index(labels, dtype=object)

    def read(one: NDArray[Any], other: NDArray[Any]) -> tuple[Codes, Codes]:
        return index.get_indexer(one.astype(object)), index.get_indexer(other.astype(object))

    return _Outcomes(labels, read, False, health)


def _number_outcomes(evidence: Evidence, n_classes: int, *, is_told: bool) -> _Outcomes:
    """The lower and the higher of two numbers; of classes, those of the class that is meant.

    That is the good outcome's class, or of two the last one; else for each pair the class in which it differs most.
    """
    oracle, good = evidence.oracle, evidence.favourable
    sign = -1.0 if good is not None and good.is_low else 1.0
    order = ("lower", "higher") if sign > 0 else ("higher", "lower")
    names, place = [f"the {how} output" for how in order], None
    if n_classes:
        what = "probability" if oracle.asker.output == "proba" else "score"
        classes = classes_of(evidence.model) or range(n_classes)
        names = [f"the {how} {what} of {plain(label)}" for label in classes for how in order]
        place = good.place if good is not None else n_classes - 1 if n_classes == 2 else None

    def read(one: NDArray[Any], other: NDArray[Any]) -> tuple[Codes, Codes]:
        apart = sign * (one - other).reshape(len(one), -1)
        widest = np.abs(apart).argmax(axis=1) if place is None else np.full(len(one), place)
        apart = apart[np.arange(len(one)), widest]
        differ = np.abs(apart) > oracle.threshold + oracle.resolution
        is_higher = differ & (apart > 0)
        return 2 * widest + is_higher, 2 * widest + np.where(differ, ~is_higher, is_higher)

    return _Outcomes(names, read, is_told and good is not None)


# The counts and their test


def _counts(oracle: Oracle, judgement: Judgement, pair: _Pair, outcomes: _Outcomes) -> dict[tuple[int, int], int]:
    """By the outcomes of the first and the second side, where they differ and both exist, the number of cases."""
    n = len(judgement.codes)
    if not n:
        return {}
    each, sides = np.arange(n), pair.members(oracle.domain, judgement.codes)
    exist = np.ones(n, dtype=bool)
    if judgement.present is not None:
        exist = judgement.present[sides[0], each] & judgement.present[sides[1], each]
    one, other = (judgement.outputs[side[exist], each[exist]] for side in sides)
    gets = np.column_stack(outcomes.read(one, other))
    pairs, counts = np.unique(gets[gets[:, 0] != gets[:, 1]], axis=0, return_counts=True)
    return {(int(a), int(b)): int(n) for (a, b), n in zip(pairs, counts, strict=True)}


def _rows(
    pair: _Pair, found: dict[tuple[int, int], int], sampled: dict[tuple[int, int], int], outcomes: _Outcomes
) -> Iterator[tuple[Any, ...]]:
    """A row for each two outcomes that part two sides; the first side more often gets the lower one."""
    for low, high in sorted({(min(gets), max(gets)) for gets in (*found, *sampled)}):
        one_way = (sampled.get((low, high), 0), found.get((low, high), 0))
        other_way = (sampled.get((high, low), 0), found.get((high, low), 0))
        sides = (pair.first, pair.second)
        if one_way < other_way:
            sides, one_way, other_way = sides[::-1], other_way, one_way
        counts = (one_way[1], other_way[1], one_way[0], other_way[0])
        yield (pair.compared, *sides, outcomes.names[low], outcomes.names[high], *counts)


def _tested(rows: Sequence[tuple[Any, ...]]) -> pd.DataFrame:
    """Test the symmetry of the rows sampled, and sort: single parameters first, then by the number of cases."""
    import pandas as pd

    table = pd.DataFrame(rows, columns=list(COUNTED))
    k, reverse = (table[name].to_numpy(dtype=np.int64) for name in ("sampled", "sampled_reversed"))
    n = k + reverse
    low, high = clopper_pearson(k, n, CONFIDENCE)
    known: Mask = n > 0
    p = symmetry(k, n)
    table["fraction"] = np.where(known, k / np.maximum(n, 1), math.nan)
    table["low"], table["high"] = low, high
    table["p"] = np.where(known, p, math.nan)
    table["p_adjusted"] = math.nan
    table.loc[known, "p_adjusted"] = holm(p[known])
    n_found = (table["found"] + table["found_reversed"]).to_numpy()
    order = np.lexsort([-n_found, -n, (table["compared"] == "combination").to_numpy()])
    return table.iloc[order].reset_index(drop=True)


def _short(words: str, name: str) -> str:
    """The words for one sensitive value, without its parameter's name where the value is a word.

    >>> _short("sex=Female", "sex"), _short("group=1", "group"), _short("sex=Female, age=20", "combination")
    ('Female', 'group=1', 'sex=Female, age=20')
    """
    value = words.removeprefix(f"{name}=")
    return value if value[:1].isalpha() and value not in ("True", "False", "None", "nan") else words
