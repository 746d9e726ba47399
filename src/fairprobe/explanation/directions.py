"""Who is worse off: which of two twins gets what, among the cases found and among cases that were sampled.

A directed search finds cases in proportions of its own, so those are counted and no more; whether one side is worse off
more often than the other is asked of cases sampled afresh.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.blocks import Remark
from fairprobe.domain.values import plain
from fairprobe.estimation.bounds.intervals import clopper_pearson
from fairprobe.estimation.favourable import in_order
from fairprobe.estimation.survey import combination_words
from fairprobe.explanation.evidence import Evidence
from fairprobe.explanation.influence import records
from fairprobe.model.adapters import adapter_for
from fairprobe.notebook import as_html
from fairprobe.oracle import Judgement, Oracle
from fairprobe.wording import percent

if TYPE_CHECKING:
    import pandas as pd

CONFIDENCE = 0.95
SURPRISING = 0.05
"""What chance does less often, over all rows at once, is told as one-sided."""

MOST_PAIRS = 200
"""Of combinations that are held against each other: if there are more, those at the ends of most cases found."""

LOWER, HIGHER = 0, 1

COLUMNS = (
    "compared",
    "first",
    "second",
    "first_gets",
    "second_gets",
    "found",
    "found_reversed",
    "sampled",
    "sampled_reversed",
    "fraction",
    "low",
    "high",
    "p",
    "p_adjusted",
)


@dataclass(frozen=True, repr=False, eq=False)
class Directions:
    """Which of two twins gets what."""

    table: pd.DataFrame
    """A row for two combinations of sensitive values and the two outcomes that part them. `first` is the side that more
    often gets `first_gets` where `second` gets `second_gets`: in so many cases `found`, and `sampled`; in so many of
    each it is the other way round (`_reversed`). Of the sampled: the `fraction`, its exact 95% interval, and the chance
    `p` of a count as one-sided if neither way were likelier, also with all rows in mind (`p_adjusted`, Holm). What is
    `compared`: whole combinations, or, where several parameters are sensitive, one of them with the others as the input
    has them."""
    sensitive: tuple[str, ...]
    output: str
    favourable: Any
    """The good outcome, where it was told and seen: then `first` is the side that is worse off."""
    n_found: int
    n_sampled: int
    """Cases among the inputs drawn."""
    n_drawn: int
    """Inputs that were drawn afresh."""
    health: tuple[Remark, ...] = ()
    """What is to be said of it."""

    def sentences(self) -> list[str]:
        """The rows that tell most, two at the most, in words."""
        if not len(self.table):
            return ["No case tells two sides apart."]
        told = self.table.sort_values("p_adjusted", kind="stable", na_position="last")
        parameters = told[told["compared"] != "combination"]
        return [self._sentence(row) for _, row in (parameters if len(parameters) else told).head(2).iterrows()]

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
        between = f"95% interval {percent(row['low'])} to {percent(row['high'])}"
        chance = f"p = {row['p_adjusted']:.2g}"
        judged = f"more than chance would make of it, {chance}"
        if row["p_adjusted"] > SURPRISING:
            judged = f"which may be chance, {chance}"
        return f"{what} in {row['sampled']:,} of {n:,} sampled cases ({between}; {judged})."

    def _gets(self, outcome: Any) -> str:
        return f"gets {outcome!r}" if self.output == "label" else f"has {outcome}"

    def plot(self, path: str | PathLike[str]) -> None:
        """Draw how often it is the one way, and how often the other, as SVG."""
        from fairprobe.explanation.directions_plot import draw

        draw(self, path)

    def summary(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        return {
            "sensitive": list(self.sensitive),
            **{name: getattr(self, name) for name in ("output", "n_found", "n_sampled", "n_drawn")},
            "favourable": plain(self.favourable),
            "directions": records(self.table),
            "health": [{"check": name, "message": message} for name, message in self.health],
            "sentences": self.sentences(),
        }

    def __repr__(self) -> str:
        return f"Directions({' '.join(self.sentences())})"

    def _repr_html_(self) -> str:
        figures = {
            "cases found": f"{self.n_found:,}",
            "cases sampled": f"{self.n_sampled:,} of {self.n_drawn:,} inputs",
        }
        table = self.table.to_html(escape=True, border=0, index=False)
        return as_html("Directions", " ".join(self.sentences()), figures, self.health, table)


def directions_of(evidence: Evidence, sampled: Judgement) -> Directions:
    """Count who gets what, and test whether it is as often the other way round.

    Args:
        evidence: the cases found.
        sampled: a judgement of inputs drawn afresh: its hits are a sample of cases, as those of a search are not.
    """
    hits = sampled.take(np.flatnonzero(sampled.hits), sampled.codes.dtype)
    outcomes = _Outcomes.of(evidence, [evidence.cases, hits])
    rows = []
    for compared, first, second, places in _compared(evidence):
        counts = [outcomes.counted(part, places) for part in (evidence.cases, hits)]
        rows += [(compared, *row) for row in _rows((first, second), counts[0], counts[1], outcomes)]
    return Directions(
        table=_tested(rows),
        sensitive=evidence.domain.sensitive,
        output=evidence.oracle.asker.output,
        favourable=evidence.favourable.word if evidence.favourable and outcomes.is_told else None,
        n_found=evidence.n_cases,
        n_sampled=len(hits.codes),
        n_drawn=len(sampled.codes),
        health=(*outcomes.health, *_left_out(evidence)),
    )


# Who is held against whom


Places = tuple[int, int] | tuple[int, int, int]
"""Two combinations by their position; or a sensitive parameter by its place, and two of its codes."""


def _compared(evidence: Evidence) -> Iterator[tuple[str, str, str, Places]]:
    """What is compared, both sides in words, and where they stand."""
    domain = evidence.domain
    combinations = domain.combinations
    if len(domain.sensitive) > 1:
        for place, name in enumerate(domain.sensitive):
            alone = domain.with_sensitive([name])
            for one, other in _pairs(evidence, combinations[:, place]):
                yield name, combination_words(alone, one), combination_words(alone, other), (place, one, other)
    for one, other in _pairs(evidence, np.arange(len(combinations))):
        yield "combination", combination_words(domain, one), combination_words(domain, other), (one, other)


def _pairs(evidence: Evidence, sides: Codes) -> list[tuple[int, int]]:
    """All pairs of sides, told by combination; of too many, those that the ends of most cases found are.

    The sample has no say in which, so that its test stays exact.
    """
    every = itertools.combinations(range(int(sides.max()) + 1), 2)
    if not _are_many(sides) or not evidence.n_cases:
        return list(itertools.islice(every, MOST_PAIRS))
    ends = evidence.oracle.ends(evidence.cases)
    pairs = np.column_stack([sides[evidence.domain.families.place(codes)] for codes in (ends.case, ends.twin)])
    pairs, counts = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0, return_counts=True)
    chosen = pairs[np.argsort(-counts, kind="stable")][:MOST_PAIRS]
    return [(int(one), int(other)) for one, other in chosen]


def _are_many(sides: Codes) -> bool:
    return math.comb(int(sides.max()) + 1, 2) > MOST_PAIRS


def _left_out(evidence: Evidence) -> Iterator[Remark]:
    n = len(evidence.domain.combinations)
    if _are_many(np.arange(n)):
        text = f"of {math.comb(n, 2):,} pairs of sensitive values those {MOST_PAIRS} that most cases found are ends of"
        yield Remark("many-pairs", f"{text} were looked at")


# What they get


class _Outcomes:
    """What a side gets, as a number, so that two that get the same are no different."""

    def __init__(self, oracle: Oracle, names: Sequence[Any]) -> None:
        self._oracle = oracle
        self._families = oracle.families
        self.names = list(names)
        """By number."""
        self.is_told = False
        """Whether the good outcome is known: then the lower number is the worse one."""
        self.health: tuple[Remark, ...] = ()

    @classmethod
    def of(cls, evidence: Evidence, judgements: Sequence[Judgement]) -> _Outcomes:
        """Those of the model's kind of output; of no case at all, none."""
        if not any(len(part.codes) for part in judgements):
            return cls(evidence.oracle, ())
        if evidence.oracle.is_label:
            return _Labels(evidence, judgements)
        n_classes = max((part.outputs.shape[2] for part in judgements if part.outputs.ndim == 3), default=0)
        return _Classes(evidence, n_classes) if n_classes else _Numbers(evidence)

    def counted(self, judgement: Judgement, places: Places) -> dict[tuple[int, int], int]:
        """How often the first of two sides gets this and the second that, where they differ and both exist."""
        if not len(judgement.codes):
            return {}
        each = np.arange(len(judgement.codes))
        sides = self._members(judgement.codes, places)
        exist = np.ones(len(each), dtype=bool)
        if judgement.present is not None:
            exist = judgement.present[sides[0], each] & judgement.present[sides[1], each]
        one, other = (judgement.outputs[side[exist], each[exist]] for side in sides)
        gets = np.column_stack(self._got(one, other))
        pairs, counts = np.unique(gets[gets[:, 0] != gets[:, 1]], axis=0, return_counts=True)
        return {(int(a), int(b)): int(n) for (a, b), n in zip(pairs, counts, strict=True)}

    def _members(self, codes: Codes, places: Places) -> tuple[Codes, Codes]:
        """By input, the places of the two members that are compared."""
        if len(places) == 2:
            return np.full(len(codes), places[0]), np.full(len(codes), places[1])
        combinations = self._families.combinations[self._families.place(codes)]
        domain = self._oracle.domain
        levels = [domain[name].levels for name in domain.sensitive]
        sides = []
        for code in places[1:]:
            changed = combinations.copy()
            changed[:, places[0]] = code
            sides.append(np.ravel_multi_index(tuple(changed.T), levels))
        return sides[0], sides[1]

    def _got(self, one: NDArray[Any], other: NDArray[Any]) -> tuple[Codes, Codes]:
        """By pair, what the two sides get; where there is no case, all the same."""
        alike = np.zeros(len(one), dtype=np.int64)
        return alike, alike

    def _ordered(self, differences: Floats) -> tuple[Codes, Codes]:
        """The lower and the higher of two numbers; the same where they are no farther apart than the threshold."""
        apart = np.abs(differences) > self._oracle.threshold + self._oracle.resolution
        one = np.where(apart & (differences > 0), HIGHER, LOWER)
        return one, np.where(apart, 1 - one, one)


class _Labels(_Outcomes):
    """Names; with a good one, that and all others."""

    def __init__(self, evidence: Evidence, judgements: Sequence[Judgement]) -> None:
        import pandas as pd

        seen = [part.outputs if part.present is None else part.outputs[part.present] for part in judgements]
        labels = {plain(label) for part in seen if part.size for label in pd.unique(part.ravel())}
        super().__init__(evidence.oracle, in_order(labels))
        self._labels = pd.Index(self.names, dtype=object)
        good = self._favourable = None if evidence.favourable is None else evidence.favourable.word
        if evidence.favourable is not None and self.names:
            self.is_told = good in self.names
            if not self.is_told:
                seen_words = ", ".join(map(repr, self.names))
                self.health = (Remark("favourable-unseen", f"no case gets the outcome {good!r}, only {seen_words}"),)
        if self.is_told:
            others = [label for label in self.names if label != good]
            self.names = [others[0] if len(others) == 1 else f"not {good}", good]

    def _got(self, one: NDArray[Any], other: NDArray[Any]) -> tuple[Codes, Codes]:
        if self.is_told:
            return (one == self._favourable).astype(np.int64), (other == self._favourable).astype(np.int64)
        return self._labels.get_indexer(one.astype(object)), self._labels.get_indexer(other.astype(object))


class _Numbers(_Outcomes):
    """Scores and values: the lower and the higher."""

    def __init__(self, evidence: Evidence) -> None:
        names = ["the lower output", "the higher output"]
        good = evidence.favourable
        self._sign = -1.0 if good is not None and good.is_low else 1.0
        super().__init__(evidence.oracle, names if self._sign > 0 else names[::-1])
        self.is_told = good is not None

    def _got(self, one: NDArray[Any], other: NDArray[Any]) -> tuple[Codes, Codes]:
        return self._ordered(self._sign * (one - other))


class _Classes(_Outcomes):
    """Probabilities, or scores, of classes: the lower and the higher of the one that is meant.

    That is the good outcome's, or of two the last one's; else, for each two twins, the one that they differ most in.
    """

    def __init__(self, evidence: Evidence, n_classes: int) -> None:
        given = adapter_for(evidence.model).classes
        classes = list(range(n_classes)) if given is None else [plain(label) for label in given]
        what = "probability" if evidence.oracle.asker.output == "proba" else "score"
        good = evidence.favourable
        self._class = good.place if good is not None else n_classes - 1 if n_classes == 2 else None
        self._sign = -1.0 if good is not None and good.is_low else 1.0
        order = ("lower", "higher") if self._sign > 0 else ("higher", "lower")
        super().__init__(evidence.oracle, [f"the {how} {what} of {label}" for label in classes for how in order])
        self.is_told = good is not None

    def _got(self, one: NDArray[Any], other: NDArray[Any]) -> tuple[Codes, Codes]:
        differences = self._sign * (one - other)
        each = np.arange(len(one))
        widest = np.abs(differences).argmax(axis=1) if self._class is None else np.full(len(one), self._class)
        lower_or_higher = self._ordered(differences[each, widest])
        return 2 * widest + lower_or_higher[0], 2 * widest + lower_or_higher[1]


# How it is counted and tested


class _Row(NamedTuple):
    first: str
    second: str
    first_gets: Any
    second_gets: Any
    found: int
    found_reversed: int
    sampled: int
    sampled_reversed: int


def _rows(
    sides: tuple[str, str],
    found: dict[tuple[int, int], int],
    sampled: dict[tuple[int, int], int],
    outcomes: _Outcomes,
) -> Iterator[_Row]:
    """A row for each two outcomes that part two sides; the first side is the one that more often gets the lower."""
    for low, high in sorted({(min(pair), max(pair)) for pair in (*found, *sampled)}):
        one_way = (found.get((low, high), 0), sampled.get((low, high), 0))
        other_way = (found.get((high, low), 0), sampled.get((high, low), 0))
        names = sides
        if (one_way[1], one_way[0]) < (other_way[1], other_way[0]):
            names, one_way, other_way = sides[::-1], other_way, one_way
        yield _Row(
            *names, outcomes.names[low], outcomes.names[high], one_way[0], other_way[0], one_way[1], other_way[1]
        )


def _tested(rows: Sequence[tuple[Any, ...]]) -> pd.DataFrame:
    """The rows, with the test of symmetry of those sampled; single parameters first, then by how many tell of it."""
    import pandas as pd

    table = pd.DataFrame(rows, columns=list(COLUMNS[: len(COLUMNS) - 5]))
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


def symmetry(hits: Codes, n: Codes) -> Floats:
    """The chance that so many of n, or a count as far from the half, come one way if both were as likely: exact.

    >>> symmetry(np.array([5, 10]), np.array([10, 10])).round(4).tolist()
    [1.0, 0.002]
    """
    from scipy.special import bdtr

    return np.minimum(1.0, 2 * bdtr(np.minimum(hits, n - hits).astype(np.float64), n, 0.5))


def holm(p: Floats) -> Floats:
    """The same chances with all of them in mind (Holm, 1979).

    >>> holm(np.array([0.01, 0.04, 0.03])).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return adjusted


def _short(words: str, name: str) -> str:
    """The words for one sensitive value without its parameter's name, where they speak for themselves.

    >>> _short("sex=Female", "sex"), _short("group=1", "group"), _short("sex=Female, age=20", "combination")
    ('Female', 'group=1', 'sex=Female, age=20')
    """
    value = words.removeprefix(f"{name}=")
    return value if value[:1].isalpha() and value not in ("True", "False", "None", "nan") else words
