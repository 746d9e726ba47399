"""Linear: a classifier of two classes by the sign of a sum over the parameters.

A family is discriminatory if its score is above 0 for one combination of sensitive values and not for another: if what
the free parameters add up to lies between two bounds. The sums that do are counted by halves. Where rounding could
decide, the model is asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.checks import shown
from fairprobe.estimation.exact.solved import Solved, exact_dtype
from fairprobe.model.known import known_kind
from fairprobe.model.tables import N_RANDOM, MismatchError, Seen, Table, UnfitError

MAX_NEAR = 100_000
"""Families whose scores are so close to 0 that only the model can say."""

MAX_LOOKUPS = 200_000_000

_BLOCK = 1_000_000

Tally = NDArray[Any]
"""Discriminatory families by label (the first class, the second), then by combination that gets the label."""


@dataclass(frozen=True)
class Term:
    """The contributions of one parameter to a score; levels with equal contributions are one cell."""

    parameter: int
    values: Floats
    counts: Codes
    levels: Codes
    """One level of each cell."""


@dataclass(frozen=True)
class Half:
    """The sums of some terms, sorted."""

    terms: tuple[Term, ...]
    values: Floats
    counts: NDArray[Any]
    order: Codes | None
    """Each sum's number among all combinations of the terms' cells; None if equal sums were merged."""

    def write(self, codes: Codes, which: Codes) -> None:
        """Set the terms' parameters to levels that make these sums."""
        assert self.order is not None  # merged sums are exact, and exact sums are never near
        cells = np.unravel_index(self.order[which], [len(term.values) for term in self.terms]) if self.terms else ()
        for term, cell in zip(self.terms, cells, strict=True):
            codes[:, term.parameter] = term.levels[cell]


@dataclass(frozen=True)
class _Weights:
    coefficients: Floats
    intercept: float
    dtype: np.dtype[Any]
    """The type of numbers that the model adds up in."""

    @property
    def used(self) -> Mask:
        return self.coefficients != 0

    def products(self, table: Table) -> Floats:
        return np.asarray(table.values * self.coefficients[table.columns])


def is_linear(final: Any) -> bool:
    """True for a linear classifier of two classes. Random inputs are tried later to confirm that it answers by sums."""
    return (
        known_kind(final) == "linear"
        and np.size(getattr(final, "intercept_", ())) == 1
        and len(getattr(final, "classes_", ())) == 2
    )


# Counting


def solve_linear(seen: Seen, max_half: int) -> Solved:
    """Count the discriminatory families of a linear classifier."""
    terms, fixed, error = _take_apart(seen)
    halves = _make_halves(terms, max_half, is_exact=error == 0)
    bounds, which = np.unique(-fixed, return_inverse=True)
    below, near = _count_below(*halves, bounds, error)
    # Of the sums above the least bound and up to the greatest, those up to a combination's own get the first label.
    own = np.array(below, dtype=object)[which.reshape(-1)]
    tally = np.stack([own - below[0], below[-1] - own])
    if near.size:
        tally = tally + _corrections(seen, fixed, halves, near)
    n_families = seen.domain.families.n_keys
    untested = n_families // math.prod(int(term.counts.sum()) for term in terms)
    by_label = [[int(count) * untested for count in counts] for counts in tally]
    return Solved(
        method="linear",
        hits=by_label[0][0] + by_label[1][0],  # each combination has one label or the other in all of them
        families=n_families,
        by_label=dict(zip(seen.final.classes_.tolist(), by_label, strict=True)),
    )


def _corrections(seen: Seen, fixed: Floats, halves: tuple[Half, Half], near: Codes) -> Tally:
    """Corrections of the tally for sums too near to a bound: the model's own labels instead of those counted."""
    codes = np.zeros((near.shape[1], len(seen.domain.levels)), dtype=np.int64)
    for half, which in zip(halves, near, strict=True):
        half.write(codes, which)
    (first, second), (one, other) = halves, near
    counts = first.counts[one].astype(object) * second.counts[other].astype(object)
    said = seen.asker.ask_families(codes) == seen.final.classes_[1]
    counted = first.values[one] > -fixed[:, None] - second.values[other]
    return _tallied(said, counts) - _tallied(counted, counts)


def _tallied(is_second: Mask, counts: NDArray[Any]) -> Tally:
    differ = is_second.any(axis=0) & ~is_second.all(axis=0)
    return np.stack([(mine & differ) @ counts for mine in (~is_second, is_second)])


# The score, taken apart by parameters


def _take_apart(seen: Seen) -> tuple[list[Term], Floats, float]:
    """The contributions of the free parameters to a score by level, those of everything else, and the error.

    The terms are those of parameters that change the score at all. All else is by combination of sensitive values, the
    intercept included. The error is how far the model's own sum may be from ours: 0 if nothing is ever rounded.
    """
    domain, coefficients = seen.domain, np.asarray(seen.final.coef_).reshape(-1)
    dtype = np.result_type(seen.base.dtype, coefficients.dtype, np.float32)
    weights = _Weights(coefficients.astype(np.float64), float(np.asarray(seen.final.intercept_).item()), dtype)
    tables = [seen.table(parameter, weights.used) for parameter in range(len(domain.parameters))]
    constant = np.setdiff1d(np.flatnonzero(weights.used), np.concatenate([table.columns for table in tables]))
    rest = Table(constant, seen.base[None, constant])
    error = _error(weights, [*tables, rest])
    _check_linear(seen, weights, tables, rest, error)

    fixed = np.full(len(domain.families), weights.intercept) + weights.products(rest).sum()
    base = np.zeros((1, len(domain.levels)), dtype=np.int64)
    for parameter, codes in domain.families.varied(base):
        fixed += weights.products(tables[parameter]).sum(axis=1)[codes[:, 0]]
    terms = []
    for parameter in domain.free_columns:
        # Levels with the same products, not only the same sum, are one cell: the model rounds them in the same way.
        products = weights.products(tables[parameter])
        levels, counts = _distinct(products)
        values = products[levels].sum(axis=1)
        if len(values) > 1:
            terms.append(Term(parameter, values, counts, levels))
        else:
            fixed += values
    return terms, fixed, error


def _distinct(rows: Floats) -> tuple[Codes, Codes]:
    """The first of each set of equal rows, and how many there are in it."""
    if not rows.shape[1]:
        return np.zeros(1, dtype=np.int64), np.array([len(rows)])
    keys, axis = (rows[:, 0], None) if rows.shape[1] == 1 else (rows, 0)
    _, first, counts = np.unique(keys, axis=axis, return_index=True, return_counts=True)
    return first, counts


def _error(weights: _Weights, tables: Sequence[Table]) -> float:
    """A bound on the rounding errors of the model's sum and ours, in whatever order the terms are added."""
    products = [np.abs(weights.products(table)).sum(axis=1).max() for table in tables]
    size = abs(weights.intercept) + float(sum(products))
    if not math.isfinite(size):
        raise UnfitError("a linear classifier is solved if every input has a finite score")
    info = np.finfo(weights.dtype)
    # All products and sums are multiples of 2 to this bit: if the largest fits the mantissa too, nothing is rounded.
    last_bit = _last_bit(np.array([weights.intercept]))
    for table in tables:
        for column, values in zip(table.columns, table.values.T, strict=True):
            last_bit = min(last_bit, _last_bit(weights.coefficients[[column]]) + _last_bit(values))
    if size <= math.ldexp(1.0, last_bit + info.nmant + 1):
        return 0.0
    n_added = int(weights.used.sum()) + len(tables)
    return 2 * (n_added + 8) * float(info.eps) * size


def _last_bit(numbers: NDArray[Any]) -> int:
    """The largest exponent of 2, up to 0, whose multiples all the numbers are."""
    mantissas, exponents = np.frexp(numbers[numbers != 0].astype(np.float64))
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    trailing = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    return int((exponents - 53 + trailing).min(initial=0))


def _check_linear(seen: Seen, weights: _Weights, tables: Sequence[Table], rest: Table, error: float) -> None:
    """Raise unless the model's scores are the sums, and its labels the scores' signs, in random families."""
    # A fixed seed: whether a model is solved must not depend on chance.
    domain = seen.domain
    codes = domain.families.members(domain.sample_codes(N_RANDOM, np.random.default_rng(0)))
    scores = seen.scores(codes)
    sums = np.full(len(codes), weights.intercept) + weights.products(rest).sum()
    for parameter, table in enumerate(tables):
        if len(table.columns):  # of a wide parameter that changes nothing there is but an outline
            sums += weights.products(table).sum(axis=1)[codes[:, parameter]]
    if scores.shape != sums.shape or (np.abs(scores - sums) > error).any():
        raise MismatchError("the model's scores are not the sums that its coefficients give")
    if (seen.asker.ask(codes) != seen.final.classes_[(scores > 0).astype(np.int64)]).any():
        raise MismatchError("the model's labels are not its second class where the score is above 0, else its first")


# Counting sums: half of the terms are sorted and looked up by the other half


def _make_halves(terms: Sequence[Term], max_half: int, *, is_exact: bool) -> tuple[Half, Half]:
    """Share the terms out to two halves of about the same size, and add them up."""
    sizes = [len(term.values) for term in terms]
    groups = [[terms[i] for i in half] for half in balanced(sizes)]
    if not is_exact:
        _check_size(max(math.prod(len(term.values) for term in group) for group in groups), max_half)
    first_half, second_half = (_added_up(group, max_half, is_exact=is_exact) for group in groups)
    return (first_half, second_half) if len(first_half.values) >= len(second_half.values) else (second_half, first_half)


def _check_size(size: int, max_half: int) -> None:
    """Raise if a half is too large."""
    if size > max_half:
        raise UnfitError(
            f"the halves would have at least {shown(size)} combinations, over the {shown(max_half)} allowed"
        )


def balanced(sizes: Sequence[int]) -> tuple[list[int], list[int]]:
    """Two groups of the sizes, by number, whose products are nearest to each other, within a thousandth."""
    total = sum(map(math.log, sizes))
    chosen = {0: (0.0, 0)}
    for i, size in enumerate(sizes):
        for length, bits in list(chosen.values()):
            longer = length + math.log(size)
            if longer <= total / 2 + 1e-9:
                chosen.setdefault(round(1000 * longer), (longer, bits | 1 << i))
    _, bits = max(chosen.values())
    every = range(len(sizes))
    return [i for i in every if bits >> i & 1], [i for i in every if not bits >> i & 1]


def _added_up(terms: Sequence[Term], max_half: int, *, is_exact: bool) -> Half:
    """All sums of the terms; equal ones are merged where nothing is rounded."""
    values = np.zeros(1)
    counts: NDArray[Any] = np.ones(1, dtype=exact_dtype(math.prod(int(term.counts.sum()) for term in terms)))
    for term in terms:
        if is_exact:
            _check_size(len(values) * len(term.values) // 16, max_half)  # merging may still make it small enough
        values = (values[:, None] + term.values).reshape(-1)
        counts = (counts[:, None] * term.counts).reshape(-1)
        if is_exact:
            # Sums that are never rounded and equal are one, whatever terms they come from.
            order = np.argsort(values, kind="stable")
            values, counts = values[order], counts[order]
            starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
            values, counts = values[starts], np.add.reduceat(counts, starts)
            _check_size(len(values), max_half)
    if is_exact:
        return Half(tuple(terms), values, counts, None)
    order = np.argsort(values)
    return Half(tuple(terms), values[order], counts[order], order)


def _count_below(first: Half, second: Half, bounds: Floats, slack: float) -> tuple[list[int], Codes]:
    """Count the sums of the halves that are at most each bound; find those within `slack` of one.

    These are by their places in the first half and in the second: only the model can say of them.
    """
    n_sums, n_bounds = len(second.values), len(bounds)
    if n_sums * n_bounds > MAX_LOOKUPS:
        raise UnfitError(
            f"{n_sums:,} sums of one half for {n_bounds:,} combinations of sensitive values make "
            f"{shown(n_sums * n_bounds)} look-ups, over the {shown(MAX_LOOKUPS)} allowed"
        )
    ends = np.concatenate([[0], np.cumsum(first.counts)])
    dtype = exact_dtype(int(ends[-1]) * int(second.counts.sum()))
    below = [0] * n_bounds
    near: list[Codes] = []
    for start in range(0, n_sums, _BLOCK):
        block = slice(start, start + _BLOCK)
        counts = second.counts[block].astype(dtype)
        for i, bound in enumerate(bounds):
            place, pairs = _look_up(first.values, bound - second.values[block], slack)
            below[i] += int((ends[place].astype(dtype) * counts).sum())
            near.append(pairs + np.array([[0], [start]]))
        _check_near(sum(pairs.shape[1] for pairs in near))
    return below, np.unique(np.concatenate(near, axis=1), axis=1)


def _look_up(values: Floats, keys: Floats, slack: float) -> tuple[Codes, Codes]:
    """Count the values that are at most each key; find the pairs of a value and a key nearer than the slack."""
    if slack == 0:
        return np.searchsorted(values, keys, side="right"), np.zeros((2, 0), dtype=np.int64)
    place = np.searchsorted(values, keys - slack, side="left")
    widths = np.searchsorted(values, keys + slack, side="right") - place
    _check_near(int(widths.sum()))
    close = np.flatnonzero(widths)
    widths = widths[close]
    offsets = np.arange(widths.sum()) - np.repeat(np.cumsum(widths) - widths, widths)
    pairs = np.stack([np.repeat(place[close], widths) + offsets, np.repeat(close, widths)])
    place[close] = np.searchsorted(values, keys[close], side="right")
    return place, pairs


def _check_near(n: int) -> None:
    if n > MAX_NEAR:
        raise UnfitError(
            f"{n:,} sums or more are within a rounding error of a score of 0, over the {MAX_NEAR:,} that the model "
            "can be asked about"
        )
