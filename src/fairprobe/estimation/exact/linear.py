"""Linear: a classifier of two classes by the sign of a sum over the parameters.

A family is discriminatory if its score is above 0 for one combination of sensitive values and not for another: if what
the free parameters add up to lies between two bounds. The sums that do are counted by halves: one half of the
parameters' sums is sorted, and those of the other are looked up in it. Where rounding could decide, the model is asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats
from fairprobe.checks import shown
from fairprobe.model.known import known_kind
from fairprobe.model.tables import N_RANDOM, MismatchError, Seen, Table, UnfitError

MAX_NEAR = 100_000
"""Families whose scores are so close to 0 that only the model can say."""

MAX_LOOKUPS = 200_000_000
"""Sums that are looked up: those of one half, for each combination of sensitive values; some 20 seconds."""

_BLOCK = 1_000_000
"""Sums that are looked up at a time."""


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

    terms: list[Term]
    values: Floats
    counts: NDArray[Any]
    """Combinations of levels that make each sum."""
    order: Codes
    """Each sum's number among all combinations of the terms' cells."""

    def write(self, codes: Codes, which: Codes) -> None:
        """Set the terms' parameters to levels that make these sums."""
        cells = np.unravel_index(self.order[which], [len(term.values) for term in self.terms]) if self.terms else ()
        for term, cell in zip(self.terms, cells, strict=True):
            codes[:, term.parameter] = term.levels[cell]


def is_linear(final: Any) -> bool:
    """True for a linear classifier of two classes. Random inputs are tried later to confirm that it answers by sums."""
    return (
        known_kind(final) == "linear"
        and np.size(getattr(final, "intercept_", ())) == 1
        and len(getattr(final, "classes_", ())) == 2
    )


def solve_linear(seen: Seen, max_half: int) -> list[list[int]]:
    """The inputs in discriminatory families, by label, then combination of sensitive values that gets it."""
    terms, fixed, slack = _take_apart(seen)
    groups = [[terms[i] for i in half] for half in balanced([len(term.values) for term in terms])]
    check_halves([[len(term.values) for term in group] for group in groups], max_half)
    # The larger half is sorted, and the sums of the other are looked up in it.
    first, second = sorted(map(_added_up, groups), key=lambda half: -len(half.values))
    bounds, which = np.unique(-fixed, return_inverse=True)
    below, near = _count_below(first, second, bounds, slack)
    # Of the sums above the least bound and up to the greatest, those up to a combination's own get the first label.
    own = np.array(below, dtype=object)[which.reshape(-1)]
    tally = np.stack([own - below[0], below[-1] - own])
    if near.size:
        codes = np.zeros((near.shape[1], len(seen.domain.levels)), dtype=np.int64)
        for half, sums in zip((first, second), near, strict=True):
            half.write(codes, sums)
        counts = first.counts[near[0]].astype(object) * second.counts[near[1]].astype(object)
        said = seen.asker.ask_families(codes) == seen.final.classes_[1]
        counted = first.values[near[0]] > -fixed[:, None] - second.values[near[1]]
        for is_second, sign in ((said, 1), (counted, -1)):
            differ = is_second.any(axis=0) & ~is_second.all(axis=0)
            tally += sign * np.stack([(mine & differ) @ counts for mine in (~is_second, is_second)])
    each = seen.domain.size // math.prod(int(term.counts.sum()) for term in terms)
    return [[int(count) * each for count in counts] for counts in tally]


# The score, taken apart by parameters


def _take_apart(seen: Seen) -> tuple[list[Term], Floats, float]:
    """The contributions of the free parameters to a score by level, those of everything else, and the error.

    The terms are those of parameters that change the score at all. All else is by combination of sensitive values, the
    intercept included. The error bounds how far the model's own sum may be from ours, whatever the order of terms.
    """
    domain, weights = seen.domain, np.asarray(seen.final.coef_).reshape(-1)
    used, dtype = weights != 0, np.result_type(seen.base.dtype, weights.dtype, np.float32)
    weights, intercept = weights.astype(np.float64), float(np.asarray(seen.final.intercept_).item())
    tables = [seen.table(parameter, used) for parameter in range(len(domain.parameters))]
    constant = np.setdiff1d(np.flatnonzero(used), np.concatenate([table.columns for table in tables]))
    *products, rest = (
        table.values * weights[table.columns] for table in [*tables, Table(constant, seen.base[None, constant])]
    )
    size = abs(intercept) + float(sum(np.abs(each).sum(axis=1).max() for each in [*products, rest]))
    if not math.isfinite(size):
        raise UnfitError("a linear classifier is solved if every input has a finite score")
    error = 2 * (int(used.sum()) + len(tables) + 9) * float(np.finfo(dtype).eps) * size
    sums = [each.sum(axis=1) for each in products]
    _check_linear(seen, sums, intercept + rest.sum(), error)

    fixed = np.full(len(domain.families), intercept + rest.sum())
    for parameter, codes in zip(domain.sensitive_columns, domain.combinations.T, strict=True):
        fixed += sums[parameter][codes] if products[parameter].shape[1] else 0
    terms = []
    for parameter in domain.free_columns:
        if products[parameter].shape[1]:  # of a wide parameter that changes nothing there is but an outline
            # Levels with the same products, not only the same sum, are one cell: the model rounds them in the same way.
            _, levels, counts = np.unique(products[parameter], axis=0, return_index=True, return_counts=True)
            terms.append(Term(parameter, sums[parameter][levels], counts, levels))
    return terms, fixed, error


def _check_linear(seen: Seen, sums: Sequence[Floats], constant: float, error: float) -> None:
    """Raise unless the model's scores are the sums, and its labels the scores' signs, in random families."""
    # A fixed seed: whether a model is solved must not depend on chance.
    domain = seen.domain
    codes = domain.families.members(domain.sample_codes(N_RANDOM, np.random.default_rng(0)))
    scores, expected = seen.scores(codes), np.full(len(codes), constant)
    for mine, column in zip(sums, codes.T, strict=True):
        if mine.any():
            expected += mine[column]
    if scores.shape != expected.shape or (np.abs(scores - expected) > error).any():
        raise MismatchError("the model's scores are not the sums that its coefficients give")
    if (seen.asker.ask(codes) != seen.final.classes_[(scores > 0).astype(np.int64)]).any():
        raise MismatchError("the model's labels are not its second class where the score is above 0, else its first")


# Counting sums


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


def check_halves(sizes: Sequence[Sequence[int]], max_half: int) -> None:
    """Raise if the levels of either half of the parameters have too many combinations."""
    size = max(map(math.prod, sizes))
    if size > max_half:
        raise UnfitError(f"the halves would have {shown(size)} combinations, over the {shown(max_half)} allowed")


def _added_up(terms: list[Term]) -> Half:
    """All sums of the terms."""
    values, counts = np.zeros(1), np.ones(1, dtype=np.int64)
    if math.prod(int(term.counts.sum()) for term in terms) >= 2**63:
        counts = counts.astype(object)
    for term in terms:
        values = (values[:, None] + term.values).reshape(-1)
        counts = (counts[:, None] * term.counts).reshape(-1)
    order = np.argsort(values)
    return Half(terms, values[order], counts[order], order)


def _count_below(first: Half, second: Half, bounds: Floats, slack: float) -> tuple[list[int], Codes]:
    """Count the sums of the halves that are at most each bound; find those within `slack` of one.

    These are by their places in the first half and in the second: only the model can say of them.
    """
    n_sums = len(second.values)
    if n_sums * len(bounds) > MAX_LOOKUPS:
        raise UnfitError(f"{shown(n_sums * len(bounds))} look-ups of sums, over the {shown(MAX_LOOKUPS)} allowed")
    ends = np.concatenate([[0], np.cumsum(first.counts)])
    if int(ends[-1]) * int(second.counts.sum()) >= 2**63:
        ends = ends.astype(object)
    below = [0] * len(bounds)
    near = [np.zeros((2, 0), dtype=np.int64)]
    for start in range(0, n_sums, _BLOCK):
        block = slice(start, start + _BLOCK)
        for i, bound in enumerate(bounds):
            keys = bound - second.values[block]
            below[i] += int((ends[np.searchsorted(first.values, keys, side="right")] * second.counts[block]).sum())
            place = np.searchsorted(first.values, keys - slack, side="left")
            widths = np.searchsorted(first.values, keys + slack, side="right") - place
            n_near = int(widths.sum()) + sum(pairs.shape[1] for pairs in near)
            if n_near > MAX_NEAR:
                raise UnfitError(
                    f"{n_near:,} sums or more are within a rounding error of a score of 0, over the {MAX_NEAR:,} that "
                    "the model can be asked about"
                )
            offsets = np.arange(widths.sum()) - np.repeat(np.cumsum(widths) - widths, widths)
            near.append(np.stack([np.repeat(place, widths) + offsets, start + np.repeat(np.arange(len(keys)), widths)]))
    return below, np.unique(np.concatenate(near, axis=1), axis=1)
