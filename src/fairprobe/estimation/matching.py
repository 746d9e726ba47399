"""Moves of people to another sensitive value, learned from rows: the values that their columns would have.

Columns are moved one after the other. The distribution of each depends on the attribute and on at most two columns
before it, if a test shows that it does. A number moves to the same rank in the other distribution, and a category keeps
its value with the largest probability that both distributions allow.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.factors import _Learner
from fairprobe.domain.parameters import Category, Parameter
from fairprobe.domain.values import as_floats, by_quantiles, follows
from fairprobe.estimation.independence import association, counted, information

if TYPE_CHECKING:
    import pandas as pd

FINE = 100
"""Largest number of bins of a column whose conditional distribution is learned; chosen."""

COARSE, COARSE_NAMES = 12, 16
"""Largest number of bins of a number, and of a category, on which another column may depend; chosen."""

ERROR = 0.01
"""Probability that a test opens any edge although no column depends on the attribute; chosen."""

MOST_PARENTS = 2
"""Largest number of other columns on which a column's distribution may depend; from the design."""

MOST_ROWS = 20_000
"""Largest number of rows from which the parents are chosen; chosen for speed. The distributions use all rows."""

FEWEST_SMOOTH, MOST_ALIKE = 20, 0.1
"""Smallest number of values of a smooth number, and largest part of the rows with one value; chosen."""

LEAN, LEAN_GIVEN, LEAN_POOLED = 0.5, 20.0, 30.0
"""Weights, in rows, with which distributions lean on others: a group's on that of both groups together, the same given
other columns, and that of both groups given other columns on that without the last of these. Chosen: with more, groups
that differ for some people only would be made alike; with less, a placebo flips more."""

RARE = 0.01
"""Number of rows with a pair of bins, as a part of that expected by chance, up to which the pair counts as impossible;
chosen: a few errors in the data do not make it possible."""

TURNS = 20
"""Number of values that are tried for a person whose moved value is impossible; chosen."""

EXPECTED = 3.0
"""Number of rows that would have a pair of bins by chance, from which a pair without rows counts as impossible; chosen:
a possible pair is then taken for impossible with a chance of 5%."""

AGAINST_CHANCE = 30.0
"""Number of rows that would contradict a dependence of one column on another by chance, if it is taken as exact."""

ALMOST_1 = 1 - 1e-9
"""Largest rank of a value, so that adding the number of its distribution does not round it up to the next."""


@dataclass(frozen=True, eq=False)
class Binned:
    """A column of rows, as two arrays of whole numbers: each row's value, and its bin (a range or set of values)."""

    name: str
    is_ordered: bool
    codes: Codes
    """Number of each row's value. Ordered values are numbered in increasing order; a missing value has the last."""
    firsts: Codes
    """For each value, by its number, the position of the first row that has it."""
    has_missing: bool
    fine: Codes
    """Number of the bin of each row's value: at most `FINE` bins of known values, and a last one of missing values."""
    coarse: Codes
    """Number of the bin of each row's value: at most `COARSE` bins of known values (`COARSE_NAMES` for a category), and
    a last one of missing values."""

    @classmethod
    def of(cls, parameter: Parameter, values: pd.Series) -> Binned:
        """Return the column that holds the values of a parameter in some rows."""
        import pandas as pd

        codes, known = pd.factorize(values)
        is_ordered = not isinstance(parameter.own, Category)
        if is_ordered:
            places = as_floats(pd.Series(known)) if parameter.is_numeric else _listed_places(parameter, known)
            codes = np.where(codes < 0, -1, np.argsort(np.argsort(places, kind="stable"))[codes])
        is_missing = codes < 0
        codes = np.where(is_missing, len(known), codes).astype(np.int64)
        firsts = np.unique(codes, return_index=True)[1]
        divide = _by_rank if is_ordered else _by_frequency
        fine = divide(codes, is_missing, FINE)
        coarse = divide(codes, is_missing, COARSE if is_ordered else COARSE_NAMES)
        return cls(parameter.name, is_ordered, codes, firsts, bool(is_missing.any()), fine, coarse)

    @cached_property
    def coarse_of(self) -> Codes:
        """Number of the coarse bin of each value, by the value's number."""
        return self.coarse[self.firsts]

    @cached_property
    def scores(self) -> Floats:
        """Normal score of each value, by its number: the standard normal quantile of its rank; 0 for a missing one."""
        from scipy.special import ndtri

        counts = np.bincount(self.codes, minlength=len(self.firsts)).astype(np.float64)
        known = counts[: len(counts) - self.has_missing]
        middle = (np.cumsum(known) - known / 2) / max(known.sum(), 1.0)
        return np.concatenate([ndtri(middle), np.zeros(len(counts) - len(known))])

    @cached_property
    def is_few(self) -> bool:
        """True if each value has a coarse bin of its own."""
        return int(self.coarse.max()) == len(self.firsts) - 1

    @cached_property
    def is_smooth(self) -> bool:
        """True for at least `FEWEST_SMOOTH` ordered values, each in at most the part `MOST_ALIKE` of the known rows."""
        counts = np.bincount(self.codes)[: len(self.firsts) - self.has_missing]
        return self.is_ordered and len(counts) >= FEWEST_SMOOTH and counts.max() <= MOST_ALIKE * counts.sum()


def _listed_places(parameter: Parameter, known: pd.Index) -> Floats:
    """Return the position of each value in the list of an ordinal parameter; a value that is not listed comes last."""
    places = parameter.encode(known)
    return np.where(places < 0, parameter.levels, places).astype(np.float64)


def _by_rank(codes: Codes, is_missing: Mask, most: int) -> Codes:
    """Return the bin of each row's ordered value: each value is a bin if there are at most `most`.

    With more values, there are at most `most` bins with about equally many rows. Missing values have the last bin.
    """
    n_values = int(codes.max()) + 1 - bool(is_missing.any())
    bins = codes if n_values <= most else by_quantiles(np.where(is_missing, np.nan, codes), most)
    return _renumbered(bins)


def _by_frequency(codes: Codes, is_missing: Mask, most: int) -> Codes:
    """Return the bin of each row's unordered value: each value is a bin if there are at most `most`.

    With more, each of the `most` - 1 most frequent values is a bin, and all other values share one. Missing values have
    the last bin.
    """
    counts = np.bincount(codes[~is_missing], minlength=int(codes.max()) + 1)
    place = np.argsort(np.argsort(-counts, kind="stable"))
    bins = np.minimum(place, most - 1 if (counts > 0).sum() > most else len(counts))[codes]
    return _renumbered(np.where(is_missing, len(counts) + most, bins))


def _renumbered(bins: Codes) -> Codes:
    return np.unique(bins, return_inverse=True)[1].reshape(-1).astype(np.int64)


# What is learned


@dataclass(frozen=True)
class Line:
    """A linear regression of a smooth number's normal scores on those of other numbers."""

    weights: Floats
    """Weight of each feature (see `features_of`), by group, then feature."""
    rests: Floats
    """Residuals of the normal scores of the rows, distinct and in increasing order; a residual's number is its
    position."""

    @classmethod
    def fitted(
        cls, column: Binned, features: Floats, group: Codes, learned: Codes, is_open: bool
    ) -> tuple[Line, Binned]:
        """Fit a line to the rows `learned`, for each group apart if `is_open`; return it and the residuals' column."""
        score = column.scores[column.codes]
        is_known = column.codes < len(column.firsts) - column.has_missing
        weights = []
        for each in (0, 1):
            some = learned[is_known[learned] & ((group[learned] == each) | (not is_open))]
            weights.append(np.linalg.lstsq(features[some], score[some], rcond=1e-9)[0])
        rest = score - (features * np.stack(weights)[group]).sum(axis=1)
        rests, codes = np.unique(rest[is_known], return_inverse=True)
        numbers = np.full(len(rest), len(rests), dtype=np.int64)
        numbers[is_known] = codes.reshape(-1)
        firsts = np.unique(numbers, return_index=True)[1]
        bins = (_by_rank(numbers, ~is_known, most) for most in (FINE, COARSE))
        return cls(np.stack(weights), rests), Binned(column.name, True, numbers, firsts, column.has_missing, *bins)

    def values(self, rest: Codes, features: Floats, group: Codes, column: Binned) -> Codes:
        """Return the values of `column` for people now in the given groups, whose residuals have the numbers `rest`."""
        is_missing = rest == len(self.rests)
        wanted = (features * self.weights[group]).sum(axis=1) + self.rests[np.minimum(rest, len(self.rests) - 1)]
        scores = column.scores[: len(column.firsts) - column.has_missing]
        middles = (scores[1:] + scores[:-1]) / 2
        return np.where(is_missing, len(column.firsts) - 1, np.searchsorted(middles, wanted))


def features_of(parents: Sequence[Binned], values: Codes) -> Floats:
    """Return the features of a linear fit, by row, then feature.

    They are the constant 1, the normal score of each ordered parent column, and 1 or 0 for its missing values.
    """
    features = [np.ones(len(values))]
    for column, each in zip(parents, values.T, strict=True):
        if column.is_ordered:
            features.append(column.scores[each])
            if column.has_missing:
                features.append((each == len(column.firsts) - 1).astype(np.float64))
    return np.stack(features, axis=1)


def _line(columns: Sequence[Binned], edges: Edges, group: Codes, rows: Codes) -> tuple[Line | None, Binned]:
    """Return the line that explains a smooth number by its parents, and the column of its residuals.

    For a column that is not smooth, or has no ordered parent, it is (None, the column itself).
    """
    column, parents = columns[edges.column], [columns[each] for each in edges.parents]
    if not column.is_smooth or not any(parent.is_ordered for parent in parents):
        return None, column
    features = features_of(parents, np.stack([parent.codes for parent in parents], axis=1))
    return Line.fitted(column, features, group, rows, edges.is_open)


@dataclass(frozen=True)
class Edges:
    """The columns and the attribute that one column depends on, as tests have shown.

    They stay the same when the distributions are learned again from other rows.
    """

    column: int
    parents: tuple[int, ...]
    """Positions of the columns that it depends on, at most `MOST_PARENTS`."""
    is_open: bool = False
    """True if it depends on the attribute as well, given the other columns."""
    values: Codes | None = None
    """For a column that follows from its one parent: its value, by the number of the parent's value. None for a column
    that is moved by its distributions."""
    never: tuple[tuple[int, Mask], ...] = ()
    """Earlier columns with coarse bins that never occur with some of this column's: the column, and a table by the bins
    of both."""


class Move:
    """The move of one column: the distributions of its bins, by combination of the group and the parents' bins."""

    def __init__(self, edges: Edges, columns: Sequence[Binned], group: Codes, rows: Codes) -> None:
        """Learn the distributions from the rows `rows`; a column that follows from another needs none."""
        self.edges = edges
        if edges.values is not None:
            return
        self.line, self.column = _line(columns, edges, group, rows)
        given = [group if edges.is_open else np.zeros_like(group), *(columns[each].coarse for each in edges.parents)]
        counts = counted(given, self.column.fine, rows)
        self.shape = counts.shape[:-1]
        self.chances = _possible_only(_distributions(counts), counts).reshape(-1, counts.shape[-1])
        """The probability of each fine bin, by combination of the group and the parents' bins."""
        self.known = _Values(self.column, rows)

    def moved(
        self, columns: Sequence[Binned], own: Codes, now: Codes, group: Codes, rows: Codes, noise: Floats
    ) -> Codes:
        """Return the column's values for the people `rows` after their move to the other group, by person.

        `own` are the numbers of their values before any move and `now` those so far, by person, then column; `group` is
        the group they leave. Someone keeps the value if no parent has moved and the column does not depend on the
        attribute. `noise` has three random numbers from 0 to 1 for each person.
        """
        parents = list(self.edges.parents)
        if self.edges.values is not None:
            return self.edges.values[now[:, parents[0]]]
        moved = now[:, self.edges.column].copy()
        some = np.flatnonzero((own[:, parents] != now[:, parents]).any(axis=1) | self.edges.is_open)
        group, now = group[some], now[some][:, parents]
        old, new = (self._contexts(columns, *given) for given in ((own[some][:, parents], group), (now, 1 - group)))
        numbers = self.column.codes[rows[some]]
        by_kind = _by_same_rank if self.column.is_ordered else _by_coupling
        there = np.where(old == new, numbers, by_kind(self.chances, old, new, numbers, self.known, noise[:, some]))
        if self.line is not None:
            features = features_of([columns[parent] for parent in parents], now)
            there = self.line.values(there, features, 1 - group, columns[self.edges.column])
        moved[some] = there
        return moved

    def _contexts(self, columns: Sequence[Binned], values: Codes, group: Codes) -> Codes:
        """Return the number of each person's distribution: the row of `chances` for the group and the parents' bins."""
        bins = [columns[parent].coarse_of[each] for parent, each in zip(self.edges.parents, values.T, strict=True)]
        group = group if self.edges.is_open else np.zeros_like(group)
        return np.ravel_multi_index((group, *bins), self.shape).astype(np.int64)


def _distributions(counts: Codes) -> Floats:
    """Return the probability of each bin, by group, then bins of the parents, from `counts`, the numbers of rows.

    A combination with few rows leans on that without its last parent. Its ratio of one group to both leans on the ratio
    there, so that what few rows show by chance is the same for both groups and moves nobody.
    """
    n_parents = counts.ndim - 2
    pooled: Floats = np.full(counts.shape[-1], 1 / counts.shape[-1])
    apart = np.broadcast_to(pooled, (len(counts), counts.shape[-1]))
    for n in range(n_parents + 1):
        some = counts.sum(axis=tuple(range(n + 1, n_parents + 1)))
        ratio = apart / pooled
        smaller = pooled[..., None, :] if n else pooled
        pooled = _leaning(some.sum(axis=0), smaller, LEAN_POOLED if n else 1.0)
        lean = pooled * (ratio[..., None, :] if n else ratio)
        apart = _leaning(some, lean / lean.sum(axis=-1, keepdims=True), LEAN_GIVEN if n else LEAN)
    return apart


def _leaning(counts: Codes, on: Floats, weight: float) -> Floats:
    """Return the distribution of `counts` with `weight` further rows, distributed as in `on`."""
    return (counts + weight * on) / (counts.sum(axis=-1, keepdims=True) + weight)


def _possible_only(chances: Floats, counts: Codes) -> Floats:
    """Return `chances` with 0 for bins that almost never occur with the group or a parent's bin; each row sums to 1.

    A bin almost never occurs if its number of rows is at most `RARE` of what chance gives. Where no bin would be left,
    the probabilities stay.
    """
    n_parents, alone = counts.ndim - 1, counts.reshape(-1, counts.shape[-1]).sum(axis=0)
    possible = np.ones(counts.shape, dtype=bool)
    for place in range(n_parents):
        seen = counts.sum(axis=tuple(other for other in range(n_parents) if other != place), keepdims=True)
        possible &= seen > RARE * seen.sum(axis=-1, keepdims=True) * alone / alone.sum()
    masked = np.where(possible, chances, 0.0)
    masked = np.where(masked.any(axis=-1, keepdims=True), masked, chances)
    return masked / masked.sum(axis=-1, keepdims=True)


class GroupMove:
    """Moves people between two values of an attribute (two groups); learned from rows with both."""

    def __init__(
        self, columns: Sequence[Binned], group: Codes, steps: Sequence[Move], rows: Codes, error: float
    ) -> None:
        self.columns, self.steps = columns, steps
        self.error = error
        """Error of the test that opens the edge from the attribute to one column."""
        self._group, self._rows = group, rows

    @classmethod
    def learn(
        cls,
        columns: Sequence[Binned],
        group: Codes,
        keep: Collection[str] = (),
        *,
        learned: Codes | None = None,
        tested: Codes | None = None,
        n_pairs: int = 1,
    ) -> GroupMove:
        """Learn how the columns depend on the group (0 or 1 by row) and on each other; columns in `keep` do not move.

        `learned` has the positions of the rows to learn from, and `tested` those of independent rows, which alone the
        tests use; both are all rows by default. The probability `ERROR` is split over `n_pairs` of groups.
        """
        learned = np.arange(len(group)) if learned is None else learned
        structure = _Structure(columns, group, keep, learned, learned if tested is None else tested, n_pairs)
        steps = [Move(each, columns, group, learned) for each in structure.edges()]
        return cls(columns, group, steps, learned, structure.error)

    @property
    def edges(self) -> list[Edges]:
        """For each column that may change in a twin, the other columns and the attribute that it depends on.

        The columns are in the order in which they change.
        """
        return [step.edges for step in self.steps]

    def resampled(self, rng: np.random.Generator, units: Codes | None = None) -> GroupMove:
        """Return a transport with the same dependences, its distributions learned from rows drawn with replacement.

        With `units`, a number for each row, all rows of a unit are drawn together.
        """
        units = np.arange(len(self._rows)) if units is None else units[self._rows]
        n_units = int(units.max()) + 1
        times = np.bincount(rng.integers(0, n_units, n_units), minlength=n_units)
        return self._relearned(self._group, np.repeat(self._rows, times[units]))

    def shuffled(self, rng: np.random.Generator) -> GroupMove:
        """Return a transport with the same dependences between two groups formed at random.

        These groups do not differ, so that whatever moves is due to the number of rows.
        """
        return self._relearned(rng.permutation(self._group), self._rows)

    def _relearned(self, group: Codes, rows: Codes) -> GroupMove:
        """Return a transport with the same dependences, its distributions learned from these rows with these groups."""
        steps = [Move(edges, self.columns, group, rows) for edges in self.edges]
        return GroupMove(self.columns, group, steps, rows, self.error)

    def draw(self, rows: Codes, rng: np.random.Generator) -> Codes:
        """Draw a twin in the other group of each of the rows; return the numbers of its values, by row, then column."""
        own = np.stack([column.codes[rows] for column in self.columns], axis=1)
        now, group = own.copy(), self._group[rows]
        for step, edges in zip(self.steps, self.edges, strict=True):
            noise = rng.random((3 if edges.values is None else 0, len(rows)))
            moved = step.moved(self.columns, own, now, group, rows, noise)
            now[:, edges.column] = self._possible(edges, now, moved, own[:, edges.column], rng)
        return now

    def _possible(self, edges: Edges, now: Codes, moved: Codes, own: Codes, rng: np.random.Generator) -> Codes:
        """Return a column's moved values, after replacing those that never occur with the twin's values before it.

        The person's own value is tried first, then values of rows drawn at random. After `TURNS` turns the last one
        stays.
        """
        column, moved = self.columns[edges.column], moved.copy()
        left = np.arange(len(moved)) if edges.never else np.zeros(0, dtype=np.int64)
        for turn in range(TURNS):
            never = np.zeros(len(left), dtype=bool)
            for other, table in edges.never:
                never |= table[self.columns[other].coarse_of[now[left, other]], column.coarse_of[moved[left]]]
            left = left[never]
            if not len(left):
                break
            others = column.codes[self._rows[rng.integers(0, len(self._rows), len(left))]]
            moved[left] = others if turn else own[left]
        return moved


class _Values:
    """The values of a column in the rows learned from: they give a value's rank within its fine bin, and back."""

    def __init__(self, column: Binned, rows: Codes) -> None:
        self.bins, self.has_missing = column.fine[column.firsts], column.has_missing
        self._counts = np.bincount(column.codes[rows], minlength=len(self.bins))
        by_bin = np.lexsort((np.arange(len(self.bins)), self.bins))
        self._sorted = np.repeat(by_bin, self._counts[by_bin])
        """The values of all rows, by bin, then value."""
        self._n = np.bincount(self.bins, weights=self._counts).astype(np.int64)
        self._starts = np.cumsum(self._n) - self._n
        before = np.empty(len(self.bins), dtype=np.int64)
        before[by_bin] = np.cumsum(self._counts[by_bin]) - self._counts[by_bin]
        self._before = before - self._starts[self.bins]

    def ranks(self, values: Codes, noise: Floats) -> Floats:
        """Return the rank of each value within its bin, from 0 to 1; `noise` spreads the ranks of equal values."""
        places = self._before[values] + noise * self._counts[values]
        return np.minimum(places / np.maximum(self._n[self.bins[values]], 1), ALMOST_1)

    def at(self, bins: Codes, ranks: Floats, otherwise: Codes) -> Codes:
        """Return the value at each rank (0 to 1) of each bin; `otherwise` where no row learned from is in the bin."""
        place = np.minimum(self._starts[bins] + (ranks * self._n[bins]).astype(np.int64), len(self._sorted) - 1)
        return np.where(self._n[bins] > 0, self._sorted[place], otherwise)


def _by_same_rank(chances: Floats, old: Codes, new: Codes, values: Codes, known: _Values, noise: Floats) -> Codes:
    """Return each person's value, moved from the distribution in row `old` of `chances` to that in row `new`.

    It keeps its rank among known values. As few people as possible change between missing and known; one who becomes
    known gets a random rank.
    """
    n_bins = chances.shape[1] - known.has_missing
    ends = np.cumsum(np.pad(chances[:, :n_bins], ((0, 0), (1, 0))), axis=1)
    part_known = ends[:, -1:].copy()
    ends /= np.maximum(part_known, 1e-300)
    bins = known.bins[values]
    was_known = bins < n_bins
    p, q = (np.where(was_known, part_known[each, 0], 1 - part_known[each, 0]) for each in (old, new))
    is_known = was_known == (noise[0] * p < q)

    own = np.minimum(bins, n_bins - 1)
    rank = ends[old, own] + known.ranks(values, noise[1]) * (ends[old, own + 1] - ends[old, own])
    rank = np.minimum(np.where(was_known, rank, noise[1]), ALMOST_1)
    # The distributions lie one behind the other, so that one search serves all rows.
    places = np.searchsorted((ends[:, 1:] + np.arange(len(ends))[:, None]).ravel(), new + rank, side="right")
    there = np.clip(places - new * n_bins, 0, n_bins - 1)
    within = (rank - ends[new, there]) / np.maximum(ends[new, there + 1] - ends[new, there], 1e-300)
    moved = known.at(there, np.clip(within, 0, ALMOST_1), values)
    return np.where(is_known, moved, len(known.bins) - 1)


def _by_coupling(chances: Floats, old: Codes, new: Codes, values: Codes, known: _Values, noise: Floats) -> Codes:
    """Return each person's value, moved from the distribution in row `old` of `chances` to that in row `new`.

    As many people as possible keep their value (maximal coupling); the values of all others are drawn.
    """
    bins = known.bins[values]
    leave = np.flatnonzero(noise[0] * chances[old, bins] >= chances[new, bins])
    surplus = np.cumsum(np.maximum(chances[new[leave]] - chances[old[leave]], 0.0), axis=1)
    drawn = (surplus <= (noise[1, leave] * surplus[:, -1])[:, None]).sum(axis=1)
    moved, some = values.copy(), surplus[:, -1] > 0
    moved[leave[some]] = known.at(drawn[some], noise[2, leave[some]], values[leave[some]])
    return moved


class _Structure:
    """Learner of the order in which columns move, and of the columns and the attribute that each depends on."""

    def __init__(
        self,
        columns: Sequence[Binned],
        group: Codes,
        keep: Collection[str],
        learned: Codes,
        tested: Codes,
        n_pairs: int,
    ) -> None:
        self._columns, self._group, self._learned, self._tested = columns, group, learned, tested
        self._kept = [place for place, column in enumerate(columns) if column.name in keep]
        self._free = [place for place, column in enumerate(columns) if column.name not in keep]
        self.error = ERROR / n_pairs / max(1, len(self._free))
        n = len(learned)
        self._some = learned[np.linspace(0, n - 1, MOST_ROWS).astype(np.int64)] if n > MOST_ROWS else learned

    def edges(self) -> list[Edges]:
        """Return, for each column that may change in a twin, what it depends on: other columns and the attribute.

        The columns are in the order in which they change. Statistical tests decide what a column depends on.
        """
        before, found = list(self._kept), []
        for place in self._order():
            mine, codes = self._columns[place].codes, {each: self._columns[each].codes for each in before}
            sources = (each for each in before if follows(codes[each], mine, AGAINST_CHANCE))
            source = next(sources, None)
            if source is None:
                found.append(self._edges(place, before))
            else:
                found.append(Edges(place, (source,), values=mine[self._columns[source].firsts]))
            before.append(place)
        return found

    def _order(self) -> list[int]:
        """Return the positions of the columns that may move, in the order in which they move.

        First come columns that no test shows to depend on the attribute. Then comes, one after the other, the column
        that shares most information with those before it; columns with a coarse bin for each value precede all others.
        """
        group, nothing = self._group[self._tested], np.zeros(len(self._tested), dtype=np.int64)
        coarse = [column.coarse[self._tested] for column in self._columns]
        shown = [place for place in self._free if association(coarse[place], group, nothing) <= self.error]
        order = [place for place in self._free if place not in shown]
        placed = [group, *(coarse[place] for place in [*self._kept, *order])]
        shared = {place: max(information(coarse[place], each) for each in placed) for place in shown}
        while shared:
            best = max(shared, key=lambda place: (self._columns[place].is_few, shared[place]))
            del shared[best]
            order.append(best)
            for place in shared:
                shared[place] = max(shared[place], information(coarse[place], coarse[best]))
        return order

    def _edges(self, place: int, before: Sequence[int]) -> Edges:
        """Return the dependences of a column that tests show: on columns in `before`, and on the attribute."""
        edges = Edges(place, tuple(self._parents(place, before)), never=tuple(self._never(place, before)))
        _, column = _line(self._columns, edges, self._group, self._learned)
        given = [self._columns[parent].coarse for parent in edges.parents]
        return replace(edges, is_open=self._is_shown(column.coarse, self._group, given, self.error))

    def _never(self, place: int, before: Sequence[int]) -> Iterator[tuple[int, Mask]]:
        """Yield the columns in `before` with coarse bins that almost never occur with some bin of the one at `place`.

        Each comes with a mask by the bins of both columns. A pair of bins is in it if chance alone would give it
        `EXPECTED` rows or more, and it has at most the part `RARE` of that.
        """
        for earlier in before:
            seen = counted([self._columns[earlier].coarse], self._columns[place].coarse, self._learned)
            expected = seen.sum(axis=1, keepdims=True) * seen.sum(axis=0) / seen.sum()
            never = (seen <= RARE * expected) & (expected >= EXPECTED)
            if never.any():
                yield earlier, never

    def _parents(self, place: int, before: Sequence[int]) -> list[int]:
        """Return the columns in `before` that a column depends on, given the attribute.

        They are at most `MOST_PARENTS`, the one with the most information first.
        """
        parents, fine = list[int](), self._columns[place].fine
        left, given = list(before), [self._group]
        score = _fit(given, fine, self._some)
        while left and len(parents) < MOST_PARENTS:
            gains = {each: _fit([*given, self._columns[each].coarse], fine, self._some) - score for each in left}
            best = max(left, key=gains.__getitem__)
            left.remove(best)
            if gains[best] <= 0:
                break
            coarse = self._columns[best].coarse
            if self._is_shown(self._columns[place].coarse, coarse, given, ERROR / len(self._columns) ** 2):
                parents.append(best)
                given.append(coarse)
                score += gains[best]
        return parents

    def _is_shown(self, one: Codes, other: Codes, given: Sequence[Codes], error: float) -> bool:
        """Return True if a test, with a p-value up to `error`, shows that two columns of bins depend on each other.

        They are compared among rows that agree in the bins of all columns in `given`.
        """
        strata = np.zeros(len(self._tested), dtype=np.int64)
        for each in given:
            strata = strata * (int(each.max()) + 1) + each[self._tested]
        return association(one[self._tested], other[self._tested], _renumbered(strata)) <= error


def _fit(given: Sequence[Codes], bins: Codes, rows: Codes) -> float:
    """Return how well other columns tell the `bins` of the rows: the log likelihood of each row by all others."""
    columns = [*given, bins]
    learner = _Learner(np.stack([each[rows] for each in columns], axis=1), [int(each.max()) + 1 for each in columns])
    return learner.learn(len(given), range(len(given)))[1]
