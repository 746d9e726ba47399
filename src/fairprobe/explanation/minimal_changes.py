"""The fewest and smallest changes that give an input the wanted property, for many inputs at once and within a budget.

An input is a row of coordinates: its roles in the columns that are neither sensitive nor derived. Changes are counted
from an origin, which is a real row or the case itself. The search tries all sets of changes, smallest sets first. At
the end it makes each change as small as possible while the others stay.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.domain import Domain
from fairprobe.domain.nearest import Gower
from fairprobe.explanation.evidence import Evidence, are_ordered
from fairprobe.oracle import Judgement

SPREAD = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 10**12)
"""Candidate numbers of evenly spread values tried for a coordinate; the largest number that fits the budget is used.
Chosen."""

MOST_SUBSETS = 100_000
"""Largest number of sets of coordinates that are listed for one input; chosen to bound the memory."""

SIZE_PART = 0.5
"""Largest fraction of the remaining queries for all sets with the same number of changes; chosen."""

BLOCK = 400_000
"""Largest number of rows, over all candidates and the members of their families, that are judged at a time; chosen to
bound the memory."""

FEW = 64
"""Largest number of values between a changed value and its origin that are tried at a time; chosen."""


def inputs_at(domain: Domain, coordinates: Codes, places: Codes) -> tuple[Codes, Mask]:
    """Return inputs, as codes, from coordinates, and a boolean mask of the inputs that exist.

    `coordinates` are the codes in the columns that can be moved; roles replace the values of linked columns. `places`
    has, for each input, the place of the wanted member in its family.
    """
    canonical = np.zeros((len(coordinates), len(domain.parameters)), dtype=np.int64)
    canonical[:, list(domain.free_columns)] = coordinates
    return domain.families.inputs(canonical, places)


@dataclass(frozen=True)
class Choices:
    """The other values that each coordinate of each input may take, numbered from 1.

    The number 0 means that the coordinate is unchanged.
    """

    counts: Codes
    """Number of other values to choose from, by input, then coordinate."""
    value: Callable[[Codes, Codes, Codes], Codes]
    """Function that returns values from three arrays: positions of inputs, of coordinates, and numbers of choices."""
    are_all: bool
    """True if the choices are all possible values. A number of changes that does not succeed with them is ruled out."""

    @classmethod
    def between(cls, domain: Domain, gower: Gower, origin: Codes, target: Codes) -> Choices:
        """Return as choices the steps from an origin to a target, the target itself included.

        In a coordinate without order, or with a missing value, the only choice is the target's value.
        """
        apart = target - origin
        is_number = are_ordered(domain) & (origin != gower.last) & (target != gower.last)

        def value(which: Codes, column: Codes, number: Codes) -> Codes:
            near = origin[which, column] + np.sign(apart[which, column]) * number
            return np.where(is_number[which, column], near, target[which, column])

        return cls(np.where(is_number, np.abs(apart), apart != 0), value, are_all=True)

    @classmethod
    def listed(cls, origin: Codes, values: Sequence[Codes], *, are_all: bool) -> Choices:
        """Return, for each coordinate of each input, the listed values except its own, as choices.

        `values` has the listed values by coordinate, in increasing order. Choice 1 is the next higher value than the
        input's own; after the highest value follows the lowest.
        """
        table = np.zeros((len(values), max(map(len, values), default=0)), dtype=np.int64)
        lengths = np.array([len(each) for each in values], dtype=np.int64)
        above, is_own = np.zeros_like(origin), np.zeros(origin.shape, dtype=bool)
        for column, each in enumerate(values):
            table[column, : len(each)] = each
            above[:, column] = np.searchsorted(each, origin[:, column])
            is_own[:, column] = np.isin(origin[:, column], each)

        def value(which: Codes, column: Codes, number: Codes) -> Codes:
            place = above[which, column] + number - ~is_own[which, column]
            return table[column, place % lengths[column]]

        return cls(lengths - is_own, value, are_all)


class MinimalChanges:
    """A search for the fewest coordinates to change so that an input succeeds, and for the smallest such changes."""

    def __init__(
        self,
        given: Evidence,
        gower: Gower,
        origin: Codes,
        wanted: Callable[[Codes, Judgement], Mask],
        may_be: Callable[[Codes, Codes], Mask] | None = None,
    ) -> None:
        self._given, self._gower, self._wanted, self._may_be = given, gower, wanted, may_be
        self._block = max(1, BLOCK // len(given.oracle.families))
        self.origin = origin
        self.values = origin.copy()
        """The best coordinates found for each input; those of its origin if nothing was found yet."""
        self.n_changes = np.full(len(origin), origin.shape[1] + 1)
        """Number of changes of the best coordinates, by input; the number of coordinates plus 1 if nothing was found
        yet."""
        self.distance = np.full(len(origin), np.inf)
        """Gower's distance of the best coordinates to the origin, by input; infinite if nothing was found yet."""
        self.n_ruled_out = np.zeros(len(origin), dtype=np.int64)
        """For each input, the number of changes below which all sets of changes were tried without success."""
        self.is_nearest = np.zeros(len(origin), dtype=bool)
        """Boolean mask over the inputs: True if all sets with as many changes as the best one were tried."""
        self.has_ended = False
        """True if the budget of queries ended before all candidates were tried."""

    @property
    def is_found(self) -> Mask:
        """Return a boolean mask over the inputs: True where changes were found."""
        return np.isfinite(self.distance)

    @property
    def is_fewest(self) -> Mask:
        """Return a boolean mask over the inputs: True where changes were found and fewer are known to fail."""
        return self.is_found & (self.n_ruled_out >= self.n_changes)

    def ask(self, which: Codes, coordinates: Codes) -> Mask:
        """Ask the model about candidates while the budget lasts, and keep the best successful candidate of each input.

        `which` has the input that each candidate is for. The result is a boolean mask of the candidates that succeed.
        """
        given = self._given
        codes, exist = inputs_at(given.domain, coordinates, given.places[which])
        if self._may_be is not None:
            exist = exist & self._may_be(which, codes)
        asked = np.flatnonzero(exist)
        n = given.budget.inputs(len(asked))
        self.has_ended |= n < len(asked)
        asked = asked[:n]
        is_wanted = np.zeros(len(which), dtype=bool)
        if n:
            is_wanted[asked] = self._wanted(which[asked], given.oracle.judge_batches(codes[asked]))
        self.keep(which[is_wanted], coordinates[is_wanted])
        return is_wanted

    def keep(self, which: Codes, values: Codes) -> None:
        """Store candidates as the best of their inputs where they change fewer coordinates, or as many by less.

        `which` has the input that each candidate is for, and `values` its coordinates.
        """
        n_changes = (values != self.origin[which]).sum(axis=1)
        distance = self._gower.distance(values, self.origin[which])
        order = np.lexsort((distance, n_changes, which))
        order = order[np.flatnonzero(np.diff(which[order], prepend=-1))]  # the first of each input
        who = which[order]
        is_fewer = n_changes[order] < self.n_changes[who]
        is_nearer = (n_changes[order] == self.n_changes[who]) & (distance[order] < self.distance[who])
        order = order[is_fewer | is_nearer]
        who = which[order]
        self.values[who], self.n_changes[who], self.distance[who] = values[order], n_changes[order], distance[order]

    def by_size(self, choices: Choices) -> None:
        """Try all sets of changes, the smallest sets first, up to the number of changes that already succeeded.

        The sets of one size may use the part `SIZE_PART` of the remaining budget. If that is too little for all values,
        evenly spread values are tried.
        """
        for size in range(self.origin.shape[1] + 1):
            which = np.flatnonzero((size <= self.n_changes) & (size >= self.n_ruled_out))
            most = self._given.budget.inputs(10**15, SIZE_PART) // max(1, len(which))
            counts = _affordable(choices.counts[which], size, most)
            is_wanted = self._ask_size(choices, which, counts, size)
            if choices.are_all and not self.has_ended:
                whole = (counts == choices.counts[which]).all(axis=1)
                self.is_nearest[which[whole & is_wanted]] = True
                nothing = which[whole & ~is_wanted]
                self.n_ruled_out[nothing[self.n_ruled_out[nothing] == size]] = size + 1

    def _ask_size(self, choices: Choices, which: Codes, counts: Codes, size: int) -> Mask:
        """Try all changes of exactly `size` coordinates, and return a mask of the inputs for which one succeeds."""
        n = n_candidates(counts, size)
        # Coordinates that may change come first: this keeps the sets of places few where there are many coordinates.
        order = np.argsort(counts == 0, axis=1, kind="stable")
        counts = np.take_along_axis(counts, order, axis=1)
        width = int((counts > 0).sum(axis=1).max(initial=0))
        n_subsets = math.comb(width, size)
        subsets = np.array(list(itertools.combinations(range(width), size)), dtype=np.int64).reshape(n_subsets, size)
        is_wanted = np.zeros(len(which), dtype=bool)
        asked = np.flatnonzero(n > 0)
        for block in _blocks(np.maximum(n[asked], n_subsets * max(1, size)), self._block):
            some = asked[block]
            place, changed, numbers = candidates(counts[some], subsets)
            place = some[place]
            who = which[place]
            values = self.origin[who]
            for position, number in zip(changed.T, numbers.T, strict=True):
                column = order[place, position]
                # Evenly spread numbers; the last of them is always the last value.
                number = -(-number * choices.counts[who, column] // counts[place, position])
                values[np.arange(len(who)), column] = choices.value(who, column, number)
            is_wanted[place[self.ask(who, values)]] = True
        return is_wanted

    def make_smaller(self, *, both_sides: bool = False) -> None:
        """Move each changed coordinate as near to the origin as possible while the others stay and the change succeeds.

        Values are tried from the origin outwards. If more than `FEW` lie between, evenly spread ones are tried first,
        and then values before the first success: a successful value between two others can be missed. With
        `both_sides`, values on the other side of the origin are tried too.
        """
        domain = self._given.domain
        levels = domain.families.key_levels[list(domain.free_columns)] - (self._gower.last >= 0)
        n_ordered = np.where(are_ordered(domain), levels, 0).tolist()
        active = self.is_found & ~(self.is_nearest & self.is_fewest)
        while active.any() and not self.has_ended:
            before = self.distance.copy()
            which = np.flatnonzero(active)
            for column, n in enumerate(n_ordered):
                for block in _blocks(np.full(len(which), FEW), self._block):
                    self._scan(which[block], column, n, both_sides)
            active = self.distance < before

    def _scan(self, which: Codes, column: int, n_ordered: int, both_sides: bool) -> None:
        """Move one coordinate of some inputs as near to the origin as possible while the other coordinates stay.

        Up to `FEW` values are tried at a time. In a coordinate without order, only the origin itself is nearer.
        """
        which = which[self.values[which, column] != self.origin[which, column]]
        value, origin = self.values[which, column], self.origin[which, column]
        side = np.sign(value - origin)
        far = np.where(np.maximum(value, origin) < n_ordered, np.abs(value - origin), 1)
        low = np.full(len(which), -1)
        while len(which):
            between = far - low - 1
            n = np.minimum(between, FEW)
            place, number = _numbered(n)
            steps = low[place] + 1 + number * between[place] // n[place]
            nearest = far.copy()
            for sign in (1, -1) if both_sides else (1,):
                tried = self.values[which[place]]
                tried[:, column] = origin[place] + sign * side[place] * steps
                is_value = (tried[:, column] >= 0) & (tried[:, column] < n_ordered) & (steps > 0)
                some = np.flatnonzero(is_value | ((steps == 0) & (sign == 1)))
                wanted = some[self.ask(which[place[some]], tried[some])]
                np.minimum.at(nearest, place[wanted], steps[wanted])
            # The last step that was asked about before the first wanted one is the new bound.
            np.maximum.at(low, place, np.where(steps < nearest[place], steps, -1))
            more = (n < between) & (nearest - low > 1)
            which, origin, side, low, far = (each[more] for each in (which, origin, side, low, nearest))


def _affordable(counts: Codes, size: int, most: int) -> Codes:
    """Return the number of values of each coordinate to try, by input, then coordinate: the largest one of `SPREAD`.

    No input then has more than `most` candidates with `size` changes. They are 0 for an input with more than
    `MOST_SUBSETS` sets of `size` coordinates.
    """
    tried = np.zeros_like(counts)
    is_listed = n_candidates(np.minimum(counts, 1), size) <= MOST_SUBSETS
    for width in SPREAD:
        wider = np.minimum(counts, width)
        fits = is_listed & (n_candidates(wider, size) <= most)
        tried[fits] = wider[fits]
    return tried


def n_candidates(counts: Codes, size: int) -> Floats:
    """Return, for each input, the number of ways to change `size` of its coordinates, as a float.

    `counts` has the number of other values by input, then coordinate. The numbers can exceed 64 bits.
    """
    ways = np.zeros((len(counts), size + 1))
    ways[:, 0] = 1
    for column in counts.T:
        ways[:, 1:] += column[:, None] * ways[:, :-1]
    return ways[:, size]


def candidates(counts: Codes, subsets: Codes) -> tuple[Codes, Codes, Codes]:
    """Return all ways to change the coordinates of one subset, as three arrays with a row for each way.

    They are the position of the input, the changed coordinates, and the numbers of their values, from 1. `counts` has
    the number of values by input, then coordinate; `subsets` has the coordinates by subset.
    """
    sizes = counts[:, subsets].prod(axis=2).ravel()
    pair, number = _numbered(sizes)
    who, subset = np.divmod(pair, len(subsets))
    changed = subsets[subset]
    digits = np.empty_like(changed)
    for place, column in enumerate(changed.T):
        number, digits[:, place] = np.divmod(number, counts[who, column])
    return who, changed, digits + 1


def _blocks(numbers: Floats | Codes, most: int) -> Iterator[Codes]:
    """Divide inputs, in order, into blocks with about `most` candidates each, and yield the positions of each block.

    `numbers` has the number of candidates of each input.
    """
    block = np.cumsum(numbers) // most
    for each in np.unique(block):
        yield np.flatnonzero(block == each)


def _numbered(counts: Codes) -> tuple[Codes, Codes]:
    """Return each position in `counts` as many times as its count, and the number of each repeat from 0."""
    whose = np.repeat(np.arange(len(counts)), counts)
    return whose, np.arange(len(whose)) - np.repeat(np.cumsum(counts) - counts, counts)
