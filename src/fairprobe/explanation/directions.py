"""Directions: who is worse off in cases, counted among the found cases and tested among sampled cases.

A directed search over-represents some kinds of cases, so found cases are only counted. Whether one side is worse off
more often than the other is tested on freshly sampled cases.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats
from fairprobe.blocks import Remark
from fairprobe.domain.domain import Domain
from fairprobe.domain.values import plain
from fairprobe.estimation.bounds.intervals import clopper_pearson
from fairprobe.estimation.counts import combination_words
from fairprobe.explanation.evidence import Evidence, labels_of, n_classes_of
from fairprobe.explanation.finding import CONFIDENCE, Finding
from fairprobe.oracle import Judgement
from fairprobe.wording import percent

if TYPE_CHECKING:
    import pandas as pd

SURPRISING = 0.05
"""Largest adjusted p-value at which a sentence says that chance alone does not explain a direction; chosen."""

MOST_PAIRS = 200
"""Largest number of compared pairs of values of a sensitive parameter, and of combinations. If there are more pairs,
those at the ends of most found cases are compared. Chosen."""

TOLD = 2
"""Largest number of rows of the table of directions that sentences state; chosen."""

COUNTED = (
    *("compared", "first", "second", "first_gets", "second_gets"),
    *("found", "found_reversed", "sampled", "sampled_reversed"),
)
"""Columns of the table of directions that are filled before the test."""


@dataclass(frozen=True, repr=False, eq=False)
class Directions(Finding):
    """How often one of two sensitive values gets the worse outcome in cases, with a test on sampled cases."""

    table: pd.DataFrame
    """Table with a row for each pair of sides (sensitive values) and each pair of outcomes that differ between them.

    - `compared`: "combination" if the sides are combinations of all sensitive values. If several are sensitive,
      there are also rows that compare two values of one parameter, by its name; the other parameters stay.
    - `first`, `second`: the two sides. In the row's direction, `first` gets `first_gets` and `second` gets
      `second_gets`. It is the more frequent direction.
    - `found`, `found_reversed`: the number of found cases in this direction, and in the reverse direction.
    - `sampled`, `sampled_reversed`: the same numbers for the sampled cases.
    - `fraction`, `low`, `high`: the fraction of the sampled cases in this direction, with its exact 95% interval.
    - `p`: the exact two-sided p-value, if both directions were equally likely. `p_adjusted`: the p-value adjusted for
      the number of rows (Holm).
    """
    sensitive: tuple[str, ...]
    output: str
    favourable: Any
    """The favourable outcome, if it was given and seen; `first` is then the side that is worse off."""
    n_found: int
    n_sampled: int
    """Number of cases among the freshly drawn inputs."""
    n_drawn: int
    """Number of freshly drawn inputs."""
    health: tuple[Remark, ...] = ()

    json_names: ClassVar = {"table": "directions"}

    def sentences(self) -> list[str]:
        """Return one sentence for each of the up to `TOLD` rows of the table with the smallest adjusted p-values.

        Rows of combinations count only if no row compares a single parameter. An empty table gives one sentence that
        says so.
        """
        if not len(self.table):
            return ["No case tells two sides apart."]
        told = self.table.sort_values("p_adjusted", kind="stable", na_position="last")
        parameters = told[told["compared"] != "combination"]
        return [self._sentence(row) for _, row in (parameters if len(parameters) else told).head(TOLD).iterrows()]

    def _sentence(self, row: pd.Series[Any]) -> str:
        name = self.sensitive[0] if len(self.sensitive) == 1 else row["compared"]
        first, second = (_short(row[side], name) for side in ("first", "second"))
        gets = "gets {!r}" if self.output == "label" else "has {}"
        what = f"{first} {gets.format(row['first_gets'])} where {second} {gets.format(row['second_gets'])}"
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


def directions_of(evidence: Evidence, sampled: Judgement) -> Directions:
    """Count the outcomes of two sensitive values in cases, and test whether both directions are equally frequent.

    Args:
        evidence: the cases found.
        sampled: a judgement of freshly drawn inputs, whose hits are a random sample of cases.
    """
    hits = sampled.take(np.flatnonzero(sampled.hits))
    parts, domain = (evidence.cases, hits), evidence.domain
    outcomes = _label_outcomes(evidence, parts) if evidence.oracle.is_label else _number_outcomes(evidence, parts)
    rows = [row for pair in _pairs(evidence) for row in _rows(domain, pair, parts, outcomes)]
    health = []
    good = None if evidence.favourable is None else evidence.favourable.word
    if evidence.oracle.is_label and good is not None and outcomes.names and not outcomes.is_told:
        told = ", ".join(map(repr, outcomes.names))
        health.append(Remark("favourable-unseen", f"no case gets the outcome {good!r}, only {told}"))
    n_pairs = math.comb(len(domain.combinations), 2)
    if n_pairs > MOST_PAIRS:
        text = f"{MOST_PAIRS} of {n_pairs:,} pairs of sensitive values were compared: the ends of most cases found"
        health.append(Remark("many-pairs", text))
    return Directions(
        table=_tested(rows),
        sensitive=domain.sensitive,
        output=evidence.output,
        favourable=good if outcomes.is_told else None,
        n_found=evidence.n_cases,
        n_sampled=len(hits.codes),
        n_drawn=len(sampled.codes),
        health=tuple(health),
    )


# The sides


class _Sides(NamedTuple):
    """Two values of one sensitive parameter, or two combinations of all of them, whose outcomes are compared."""

    compared: str
    words: tuple[str, str]
    sides: tuple[int, int]
    """The codes of the two compared values, or the positions of the two combinations in `Families.combinations`."""
    column: int | None
    """Place of the compared parameter among the sensitive ones; None if combinations of all are compared."""

    def members(self, domain: Domain, codes: Codes) -> list[Codes]:
        """Return two arrays, one for each compared sensitive value or combination.

        They have, for each input, the position in its family of the member with that value or combination.
        """
        if self.column is None:
            return [np.full(len(codes), place) for place in self.sides]
        own, places = domain.families.combinations[domain.families.place(codes)], []
        for code in self.sides:
            own[:, self.column] = code
            places.append(domain.families.place_of(own))
        return places


def groups_of(domain: Domain) -> list[dict[str, list[int]]]:
    """Return the groups to compare: for each sensitive parameter its values, then the combinations of all parameters.

    Each set of groups is a dict from a group in words to the positions of its members in the family. With one sensitive
    parameter, there is only the set of combinations.
    """
    sets, combinations = [], domain.combinations
    for column, name in enumerate(domain.sensitive if len(domain.sensitive) > 1 else ()):
        alone, own = domain.with_sensitive([name]), combinations[:, column]
        codes = range(domain[name].levels)
        sets.append({combination_words(alone, code): np.flatnonzero(own == code).tolist() for code in codes})
    return [*sets, {combination_words(domain, place): [place] for place in range(len(combinations))}]


def _pairs(evidence: Evidence) -> Iterator[_Sides]:
    """Yield pairs of combinations of sensitive values and, with several sensitive parameters, of the values of each.

    The pairs of one parameter, and those of combinations, are each at most `MOST_PAIRS`: those at the ends of most
    found cases.
    """
    *by_value, whole = map(list, groups_of(evidence.domain))
    for column, words in enumerate(by_value):
        yield from _most_found(evidence, evidence.domain.sensitive[column], words, column)
    yield from _most_found(evidence, "combination", whole, None)


def _most_found(evidence: Evidence, compared: str, words: list[str], column: int | None) -> Iterator[_Sides]:
    """Yield pairs of the values or combinations `words`, at most `MOST_PAIRS`: those at the ends of most found cases.

    Without found cases they are the first pairs. `column` is the position of the sensitive parameter; None for
    combinations.
    """
    chosen: Iterable[Any] = itertools.islice(itertools.combinations(range(len(words)), 2), MOST_PAIRS)
    if math.comb(len(words), 2) > MOST_PAIRS and evidence.n_cases:
        ends, domain = evidence.oracle.ends(evidence.cases), evidence.domain
        sides = np.arange(len(words)) if column is None else domain.combinations[:, column]
        pairs = np.column_stack([sides[domain.families.place(codes)] for codes in (ends.case, ends.twin)])
        pairs, counts = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0, return_counts=True)
        chosen = pairs[np.argsort(-counts, kind="stable")][:MOST_PAIRS].tolist()
    for one, other in chosen:
        yield _Sides(compared, (words[one], words[other]), (one, other), column)


# The outcomes


class _Outcomes(NamedTuple):
    """The possible outcomes, and the function that reads the outcomes of two family members from their outputs."""

    names: Sequence[Any]
    """Name of each outcome, in the order of their numbers."""
    read: Callable[[NDArray[Any], NDArray[Any]], list[Codes]]
    """Function from the outputs of two family members to the numbers of their outcomes. All arrays are by case."""
    is_told: bool
    """True if the favourable outcome is known: of two outcomes' numbers, the lower is then the worse."""


def _label_outcomes(evidence: Evidence, parts: Sequence[Judgement]) -> _Outcomes:
    """Return labels as outcomes; with a favourable label, there are two outcomes: it, and all others."""
    import pandas as pd

    names = labels_of(parts)
    good = None if evidence.favourable is None else evidence.favourable.word
    if good is None or good not in names:
        index = pd.Index(names, dtype=object)
        return _Outcomes(names, lambda *sides: [index.get_indexer(each.astype(object)) for each in sides], False)
    others = [label for label in names if label != good]
    names = [others[0] if len(others) == 1 else f"not {good}", good]
    return _Outcomes(names, lambda *sides: [(each == good).astype(np.int64) for each in sides], True)


def _number_outcomes(evidence: Evidence, parts: Sequence[Judgement]) -> _Outcomes:
    """Return the lower and the higher of two numbers as outcomes; if outputs have classes, of the numbers of one class.

    The class is the favourable one, or the last of two; otherwise, for each case, the one with the largest difference.
    """
    oracle, good, n_classes = evidence.oracle, evidence.favourable, n_classes_of(parts)
    sign = -1.0 if good is not None and good.is_low else 1.0
    order = ("lower", "higher") if sign > 0 else ("higher", "lower")
    names, place = [f"the {how} output" for how in order], None
    if n_classes:
        what = "probability" if oracle.asker.output == "proba" else "score"
        classes = evidence.classes or range(n_classes)
        names = [f"the {how} {what} of {plain(label)}" for label in classes for how in order]
        place = good.place if good is not None else n_classes - 1 if n_classes == 2 else None

    def read(one: NDArray[Any], other: NDArray[Any]) -> list[Codes]:
        apart = sign * (one - other).reshape(len(one), -1)
        widest = np.abs(apart).argmax(axis=1) if place is None else np.full(len(one), place)
        apart = apart[np.arange(len(one)), widest]
        differ = np.abs(apart) > oracle.threshold + oracle.resolution
        is_higher = differ & (apart > 0)
        return [2 * widest + is_higher, 2 * widest + (differ & ~is_higher)]

    return _Outcomes(names, read, good is not None and any(len(part.codes) for part in parts))


# The counts and their test


def _counts(domain: Domain, judgement: Judgement, pair: _Sides, outcomes: _Outcomes) -> Counter[tuple[int, int]]:
    """Return the number of cases for each two different outcomes: of the first and of the second compared member.

    Only cases in which both members exist are counted.
    """
    if not len(judgement.codes):
        return Counter()
    each, sides = np.arange(len(judgement.codes)), pair.members(domain, judgement.codes)
    exist = judgement.exist[sides[0], each] & judgement.exist[sides[1], each]
    gets = np.column_stack(outcomes.read(*(judgement.outputs[side[exist], each[exist]] for side in sides)))
    pairs, counts = np.unique(gets[gets[:, 0] != gets[:, 1]], axis=0, return_counts=True)
    return Counter(dict(zip(map(tuple, pairs.tolist()), counts.tolist(), strict=True)))


def _rows(domain: Domain, pair: _Sides, parts: Sequence[Judgement], outcomes: _Outcomes) -> Iterator[tuple[Any, ...]]:
    """Yield a row of the table for each two outcomes that differ between two sides, with the numbers of cases.

    The first side of a row gets the lower outcome more often than the second.
    """
    found, sampled = (_counts(domain, part, pair, outcomes) for part in parts)
    for low, high in sorted({(min(gets), max(gets)) for gets in (*found, *sampled)}):
        ways, sides = [(low, high), (high, low)], pair.words
        one, other = ((sampled[way], found[way]) for way in ways)
        if one < other:
            ways, sides = ways[::-1], sides[::-1]
        counts = (of[way] for of in (found, sampled) for way in ways)
        yield (pair.compared, *sides, outcomes.names[low], outcomes.names[high], *counts)


def _tested(rows: Sequence[tuple[Any, ...]]) -> pd.DataFrame:
    """Return the table of directions from its rows, with the test of symmetry of each.

    Rows of single parameters come first, then rows with more sampled cases.
    """
    import pandas as pd

    table = pd.DataFrame(rows, columns=list(COUNTED))
    k, reverse = (table[name].to_numpy(dtype=np.int64) for name in ("sampled", "sampled_reversed"))
    n = k + reverse
    table["fraction"] = np.divide(k, n, out=np.full(len(n), math.nan), where=n > 0)
    table["low"], table["high"] = clopper_pearson(k, n, CONFIDENCE)
    table["p"] = np.where(n > 0, symmetry(k, n), math.nan)
    table["p_adjusted"] = math.nan
    table.loc[n > 0, "p_adjusted"] = holm(table["p"].to_numpy()[n > 0])
    n_found = (table["found"] + table["found_reversed"]).to_numpy()
    order = np.lexsort([-n_found, -n, (table["compared"] == "combination").to_numpy()])
    return table.iloc[order].reset_index(drop=True)


def symmetry(hits: Codes, n: Codes) -> Floats:
    """Return the exact two-sided p-values of counts `hits` out of `n`, if both directions were equally likely.

    >>> symmetry(np.array([5, 10]), np.array([10, 10])).round(4).tolist()
    [1.0, 0.002]
    """
    from scipy.special import bdtr

    return np.minimum(1.0, 2 * bdtr(np.minimum(hits, n - hits).astype(np.float64), n, 0.5))


def holm(p: Floats) -> Floats:
    """Return p-values adjusted for multiple tests (Holm, 1979).

    >>> holm(np.array([0.01, 0.04, 0.03])).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return adjusted


def _short(words: str, name: str) -> str:
    """Return the words for a sensitive value without the parameter's name if the value starts with a letter.

    >>> _short("sex=Female", "sex"), _short("group=1", "group"), _short("sex=Female, age=20", "combination")
    ('Female', 'group=1', 'sex=Female, age=20')
    """
    value = words.removeprefix(f"{name}=")
    return value if value[:1].isalpha() and value not in ("True", "False", "None", "nan") else words
