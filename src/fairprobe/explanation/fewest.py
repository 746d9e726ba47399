"""The fewest changes that do it, and of these the smallest: for many inputs at once, within a budget.

An input is its coordinates, the roles that it plays in the columns that are neither sensitive nor derived. Changes are
counted from an `origin`, to a real row's coordinates or to a case's own; what they may be changed to is told by
`Choices`. First changes are taken back one by one while what is wanted still holds, which bounds their number. Then
all that is smaller is asked about, size by size; where that is too much, values in between are passed over, and what
was found is no longer known to be the fewest. Last, each change is made as small as it can be alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.domain import Domain
from fairprobe.domain.nearest import Gower
from fairprobe.explanation.evidence import Budget
from fairprobe.oracle import Judgement, Oracle

ENDS: Sequence[int] = (1,)
ALL: Sequence[int] = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 10**12)
"""How many values of a coordinate are looked at, evenly spread; the most for which an input's budget is enough."""

MOST_SUBSETS = 100_000
"""More sets of coordinates are not looked through."""

BLOCK = 400_000
"""Members of candidates that are made at a time."""

FEW = 64
"""So many values of a coordinate are all asked about."""

GRID = 16
"""Of more, so many at a time, evenly spread."""


# What may be asked


class Asking:
    """Asks whether candidates are what is wanted, while there is a budget; what is not asked about is not wanted."""

    def __init__(
        self,
        oracle: Oracle,
        budget: Budget,
        places: Codes,
        wanted: Callable[[Codes, Judgement], Mask],
        may: Callable[[Codes, Codes], Mask] | None = None,
    ) -> None:
        self._oracle = oracle
        self._budget = budget
        self._places = places
        self._wanted = wanted
        self._may = may
        self.block = max(1, BLOCK // len(oracle.families))
        """Candidates that are asked about at a time."""
        self.has_ended = False
        """Whether something was not asked about for want of queries."""

    def __call__(self, which: Codes, coordinates: Codes) -> Mask:
        """Which candidates are wanted; each belongs to one of the inputs."""
        codes, exist = inputs_at(self._oracle.domain, coordinates, self._places[which])
        if self._may is not None:
            exist = exist & self._may(which, codes)
        asked = np.flatnonzero(exist)
        n = self._budget.inputs(len(asked))
        self.has_ended |= n < len(asked)
        asked = asked[:n]
        wanted = np.zeros(len(which), dtype=bool)
        if n:
            wanted[asked] = self._wanted(which[asked], self._oracle.judge_batches(codes[asked]))
        return wanted

    def inputs_each(self, n: int, part: float) -> int:
        """How many candidates each of n inputs may have, if a part of what is left is spent."""
        return self._budget.inputs(10**15, part) // max(1, n)


def inputs_at(domain: Domain, coordinates: Codes, places: Codes) -> tuple[Codes, Mask]:
    """Inputs by their coordinates, each as a member of its family, and which there are."""
    canonical = np.zeros((len(coordinates), len(domain.parameters)), dtype=np.int64)
    canonical[:, list(domain.free_columns)] = coordinates
    return domain.families.inputs(canonical, places)


# What a coordinate may be changed to


def are_ordered(domain: Domain) -> Mask:
    """Which coordinates have values between others: numbers and ordinals, but no table's roles, nor what rows add."""
    tables = {link.column for link in domain.links if link.roles is not None}
    kinds = ("integer", "real", "ordinal")
    parameters = [domain.parameters[column] for column in domain.free_columns]
    return np.array([p.kind in kinds and p.name not in tables for p in parameters], dtype=bool)


@dataclass(frozen=True)
class Choices:
    """By input and coordinate: how many other values there are, numbered from 1; no value is a change less."""

    origin: Codes
    depths: Codes
    value: Callable[[Codes, Codes, Codes], Codes]
    """The values, by input, coordinate and number."""
    are_all: bool = True
    """Whether nothing else may be chosen."""


def between(origin: Codes, target: Codes, is_number: Mask, *, are_all: bool = True) -> Choices:
    """The values from the origin to a target, one step after the other; of names, and where one is missing, its own.

    `is_number` says by input and coordinate where there is something in between.
    """
    apart = target - origin
    depths = np.where(is_number, np.abs(apart), apart != 0)

    def value(which: Codes, column: Codes, step: Codes) -> Codes:
        near = origin[which, column] + np.sign(apart[which, column]) * step
        return np.where(is_number[which, column], near, target[which, column])

    return Choices(origin, depths, value, are_all)


def around(origin: Codes, values: Sequence[Codes], *, are_all: bool) -> Choices:
    """The values of a list for each coordinate, ascending, from the one behind the origin's own on, round to it."""
    table = np.zeros((len(values), max(map(len, values), default=0)), dtype=np.int64)
    lengths = np.array([len(each) for each in values], dtype=np.int64)
    behind, is_own = np.zeros_like(origin), np.zeros(origin.shape, dtype=bool)
    for column, each in enumerate(values):
        table[column, : len(each)] = each
        behind[:, column] = np.searchsorted(each, origin[:, column])
        is_own[:, column] = np.isin(origin[:, column], each)

    def value(which: Codes, column: Codes, number: Codes) -> Codes:
        place = behind[which, column] + number - ~is_own[which, column]
        return table[column, place % lengths[column]]

    return Choices(origin, lengths - is_own, value, are_all)


# What was reached


@dataclass
class Reached:
    """For each input the best so far: the fewest changes, then the smallest."""

    gower: Gower
    origin: Codes
    values: Codes
    """The origin's, where nothing was found yet."""
    n_changes: Codes = field(init=False)
    """One more than there are coordinates, where nothing was found yet."""
    distance: Floats = field(init=False)
    n_ruled_out: Codes = field(init=False)
    """So many changes are too few: all with fewer were asked about."""
    is_nearest: Mask = field(init=False)
    """Whether all with as many changes were asked about too."""

    def __post_init__(self) -> None:
        self.n_changes = np.full(len(self.origin), self.origin.shape[1] + 1)
        self.distance = np.full(len(self.origin), np.inf)
        self.n_ruled_out = np.zeros(len(self.origin), dtype=np.int64)
        self.is_nearest = np.zeros(len(self.origin), dtype=bool)

    @property
    def is_found(self) -> Mask:
        """For which inputs something was found."""
        return np.isfinite(self.distance)

    @property
    def is_fewest(self) -> Mask:
        """Which are known to have the fewest changes."""
        return self.is_found & (self.n_ruled_out >= self.n_changes)

    def offer(self, which: Codes, values: Codes) -> Mask:
        """Take the best of what is wanted, where it is better; for which inputs that was so."""
        n_changes = (values != self.origin[which]).sum(axis=1)
        distance = self.gower.distance(values, self.origin[which])
        order = np.lexsort((distance, n_changes, which))
        order = order[np.flatnonzero(np.diff(which[order], prepend=-1))]  # the first of each input
        who = which[order]
        is_fewer = n_changes[order] < self.n_changes[who]
        is_nearer = (n_changes[order] == self.n_changes[who]) & (distance[order] < self.distance[who])
        order = order[is_fewer | is_nearer]
        better = np.zeros(len(self.origin), dtype=bool)
        better[which[order]] = True
        self.values[which[order]] = values[order]
        self.n_changes[which[order]], self.distance[which[order]] = n_changes[order], distance[order]
        return better


def take_back(reached: Reached, ask: Asking) -> None:
    """Take back one change after the other, the largest that can be, while what is wanted holds."""
    left = np.flatnonzero(reached.is_found & ~reached.is_fewest)
    while len(left):
        is_better = np.zeros(len(reached.origin), dtype=bool)
        for some in _parts(left, reached.origin.shape[1], ask.block):
            place, column = np.nonzero(reached.values[some] != reached.origin[some])
            which = some[place]
            tried = reached.values[which]
            tried[np.arange(len(which)), column] = reached.origin[which, column]
            wanted = np.flatnonzero(ask(which, tried))
            is_better |= reached.offer(which[wanted], tried[wanted])
        left = np.flatnonzero(is_better)


def by_size(
    choices: Choices,
    reached: Reached,
    ask: Asking,
    spread: Sequence[int],
    *,
    sizes: Iterable[int] | None = None,
    part: float = 0.5,
) -> None:
    """Ask about all sets of changes, the smallest first, up to the size that was reached already.

    A size may take a part of what is left of the budget. Where that is not enough for all values, only some of them,
    evenly spread, are asked about.
    """
    for size in range(choices.origin.shape[1] + 1) if sizes is None else sizes:
        is_open = ~reached.is_nearest & (size <= reached.n_changes) & (size >= reached.n_ruled_out)
        active = np.flatnonzero(is_open)
        counts = _affordable(choices.depths[active], size, spread, ask.inputs_each(len(active), part))
        is_wanted = _ask_size(choices, reached, ask, active, counts, size)
        if choices.are_all and not ask.has_ended:
            whole = (counts == choices.depths[active]).all(axis=1)
            reached.is_nearest[active[whole & is_wanted]] = True
            none = active[whole & ~is_wanted]
            reached.n_ruled_out[none[reached.n_ruled_out[none] == size]] = size + 1


def _affordable(depths: Codes, size: int, spread: Sequence[int], most: int) -> Codes:
    """How many values of each coordinate are looked at, so that an input's candidates are not too many."""
    counts = np.zeros_like(depths)
    may = n_candidates(np.minimum(depths, 1), size) <= MOST_SUBSETS
    for width in spread:
        tried = np.minimum(depths, width)
        fits = may & (n_candidates(tried, size) <= most)
        counts[fits] = tried[fits]
    return counts


def _ask_size(choices: Choices, reached: Reached, ask: Asking, active: Codes, counts: Codes, size: int) -> Mask:
    """All changes of one size: the best of each input is taken; for which of those active there is one."""
    n = n_candidates(counts, size)
    # Coordinates that may change come first, so that there are few sets of places for many coordinates.
    order = np.argsort(counts == 0, axis=1, kind="stable")
    counts = np.take_along_axis(counts, order, axis=1)
    width = int((counts > 0).sum(axis=1).max(initial=0))
    n_subsets = math.comb(width, size)
    subsets = np.array(list(itertools.combinations(range(width), size)), dtype=np.int64).reshape(n_subsets, size)
    is_wanted = np.zeros(len(active), dtype=bool)
    asked = np.flatnonzero(n > 0)
    for block in _blocks(np.maximum(n[asked], n_subsets * max(1, size)), ask.block):
        some = asked[block]
        place, changed, numbers = candidates(counts[some], subsets)
        place = some[place]
        which = active[place]
        values = choices.origin[which]
        for position, number in zip(changed.T, numbers.T, strict=True):
            column = order[place, position]
            # Of fewer values than there are, the last is the last of all.
            number = -(-number * choices.depths[which, column] // counts[place, position])
            values[np.arange(len(which)), column] = choices.value(which, column, number)
        wanted = np.flatnonzero(ask(which, values))
        reached.offer(which[wanted], values[wanted])
        is_wanted[place[wanted]] = True
    return is_wanted


def n_candidates(counts: Codes, size: int) -> Floats:
    """How many ways there are to change so many coordinates, by input: as floats, as they may be too many."""
    ways = np.zeros((len(counts), size + 1))
    ways[:, 0] = 1
    for column in counts.T:
        ways[:, 1:] += column[:, None] * ways[:, :-1]
    return ways[:, size]


def candidates(counts: Codes, subsets: Codes) -> tuple[Codes, Codes, Codes]:
    """All ways to change the coordinates of one of the subsets: of whom, which, and the number of each's value."""
    sizes = counts[:, subsets].prod(axis=2).ravel()
    pair, number = _numbered(sizes)
    who, subset = np.divmod(pair, len(subsets))
    changed = subsets[subset]
    digits = np.empty_like(changed)
    for place, column in enumerate(changed.T):
        number, digits[:, place] = np.divmod(number, counts[who, column])
    return who, changed, digits + 1


def _blocks(numbers: Floats, most: int) -> Iterator[Codes]:
    """Inputs in order, so many at a time that their candidates are not too many."""
    block = np.cumsum(numbers) // most
    for each in np.unique(block):
        yield np.flatnonzero(block == each)


def _parts(which: Codes, n_each: int, most: int) -> Iterator[Codes]:
    """The same, where each has as many candidates."""
    size = max(1, most // max(1, n_each))
    return (which[first : first + size] for first in range(0, len(which), size))


# Smaller changes


def make_smaller(reached: Reached, ask: Asking, domain: Domain, *, both_sides: bool = False) -> None:
    """Bring each changed coordinate as near to the origin as it can be with the others as they are.

    Values are asked about from the origin outwards. Where more than 64 lie between, some of them, evenly spread, and
    then some of those before the first that is wanted: what lies between two that are not wanted is passed over.
    """
    ordered = are_ordered(domain)
    known = domain.families.key_levels[list(domain.free_columns)] - (reached.gower.last >= 0)
    active = reached.is_found & ~(reached.is_nearest & reached.is_fewest)
    while active.any() and not ask.has_ended:
        before = reached.distance.copy()
        for column in range(len(known)):
            n_values = int(known[column]) if ordered[column] else 0
            for some in _parts(np.flatnonzero(active), FEW, ask.block):
                _scan(reached, ask, some, column, n_values, both_sides)
        active = reached.distance < before


def _scan(reached: Reached, ask: Asking, which: Codes, column: int, n_values: int, both_sides: bool) -> None:
    """One coordinate with so many values in a row; where it is none of them, only the origin's own is tried."""
    which = which[reached.values[which, column] != reached.origin[which, column]]
    ends = np.stack([reached.values[which, column], reached.origin[which, column]])
    far = np.where((ends < n_values).all(axis=0), np.abs(ends[0] - ends[1]), 1)
    low = np.full(len(which), -1)
    most = np.where(far <= FEW, FEW, GRID)
    while len(which):
        between = far - low - 1
        n = np.minimum(between, most)
        place, number = _numbered(n)
        steps = low[place] + 1 + number * between[place] // n[place]
        nearest = _ask_steps(reached, ask, which[place], steps, column, n_values, both_sides)[which]
        # The last that was asked about before the first wanted one is the new bound.
        np.maximum.at(low, place, np.where(steps < np.minimum(nearest, far)[place], steps, -1))
        far = np.minimum(far, nearest)
        more = (n < between) & (far - low > 1)
        which, low, far, most = which[more], low[more], far[more], most[more]


def _ask_steps(
    reached: Reached, ask: Asking, which: Codes, steps: Codes, column: int, n_values: int, both_sides: bool
) -> Codes:
    """Take the smallest of some steps from the origin that is wanted; which it is, by input, or more than any."""
    nearest = np.full(len(reached.origin), np.iinfo(np.int64).max)
    origin = reached.origin[which, column]
    side = np.sign(reached.values[which, column] - origin)
    for sign in (side, -side) if both_sides else (side,):
        tried = reached.values[which]
        tried[:, column] = origin + sign * steps
        inside = (steps == 0) | ((tried[:, column] >= 0) & (tried[:, column] < n_values))
        some = np.flatnonzero(inside & ((steps > 0) | (sign == side)))
        wanted = some[ask(which[some], tried[some])]
        np.minimum.at(nearest, which[wanted], steps[wanted])
        reached.offer(which[wanted], tried[wanted])
    return nearest


def _numbered(counts: Codes) -> tuple[Codes, Codes]:
    """So many of each: whose it is, and its number among them, from 0."""
    whose = np.repeat(np.arange(len(counts)), counts)
    return whose, np.arange(len(whose)) - np.repeat(np.cumsum(counts) - counts, counts)
