"""Halves: count the sums of many terms below a bound, half of the terms sorted and looked up by the other half."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats
from fairprobe.estimate.exact.solved import UnfitError, exact_dtype, shown

MAX_NEAR = 100_000
"""Families whose scores are so close to 0 that only the model can say."""

MAX_LOOKUPS = 200_000_000

_BLOCK = 1_000_000


@dataclass(frozen=True)
class Term:
    """What one parameter adds to a score; levels that add the very same are one cell."""

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

    def __len__(self) -> int:
        return len(self.values)

    def write(self, codes: Codes, which: Codes) -> None:
        """Set the terms' parameters to levels that make these sums."""
        assert self.order is not None  # merged sums are exact, and exact sums are never near
        cells = np.unravel_index(self.order[which], [len(term.values) for term in self.terms]) if self.terms else ()
        for term, cell in zip(self.terms, cells, strict=True):
            codes[:, term.parameter] = term.levels[cell]


def make_halves(terms: Sequence[Term], max_half: int, *, is_exact: bool) -> tuple[Half, Half]:
    """Share the terms out to two halves of about the same size, and add them up."""
    sizes = [len(term.values) for term in terms]
    first = balanced(sizes)
    groups = [[term for i, term in enumerate(terms) if (i in first) is mine] for mine in (True, False)]
    if not is_exact:
        check_size(max(math.prod(len(term.values) for term in group) for group in groups), max_half)
    first_half, second_half = (_added_up(group, max_half, is_exact=is_exact) for group in groups)
    return (first_half, second_half) if len(first_half) >= len(second_half) else (second_half, first_half)


def check_size(size: int, max_half: int) -> None:
    """Raise if a half is too large."""
    if size > max_half:
        raise UnfitError(
            f"the halves would have at least {shown(size)} combinations, over the {shown(max_half)} allowed"
        )


def balanced(sizes: Sequence[int]) -> set[int]:
    """Which of the sizes to multiply so that the product is nearest to that of the others, within a thousandth."""
    total = sum(map(math.log, sizes))
    chosen = {0: (0.0, 0)}
    for i, size in enumerate(sizes):
        for length, bits in list(chosen.values()):
            longer = length + math.log(size)
            if longer <= total / 2 + 1e-9:
                chosen.setdefault(round(1000 * longer), (longer, bits | 1 << i))
    _, bits = max(chosen.values())
    return {i for i in range(len(sizes)) if bits >> i & 1}


def _added_up(terms: Sequence[Term], max_half: int, *, is_exact: bool) -> Half:
    """All sums of the terms; equal ones are merged where nothing is rounded."""
    values = np.zeros(1)
    counts: NDArray[Any] = np.ones(1, dtype=exact_dtype(math.prod(int(term.counts.sum()) for term in terms)))
    for term in terms:
        if is_exact:
            check_size(len(values) * len(term.values) // 16, max_half)  # merging may still make it small enough
        values = (values[:, None] + term.values).reshape(-1)
        counts = (counts[:, None] * term.counts).reshape(-1)
        if is_exact:
            order = np.argsort(values, kind="stable")
            values, counts = values[order], counts[order]
            starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
            values, counts = values[starts], np.add.reduceat(counts, starts)
            check_size(len(values), max_half)
    if is_exact:
        return Half(tuple(terms), values, counts, None)
    order = np.argsort(values)
    return Half(tuple(terms), values[order], counts[order], order)


def count_below(first: Half, second: Half, bounds: Floats, slack: float) -> tuple[list[int], Codes]:
    """How many sums of the halves are at most each bound, and those within `slack` of one.

    These are by their places in the first half and in the second: only the model can say of them.
    """
    if len(second) * len(bounds) > MAX_LOOKUPS:
        raise UnfitError(
            f"{len(second):,} sums of one half for {len(bounds):,} combinations of sensitive values make "
            f"{shown(len(second) * len(bounds))} look-ups, over the {shown(MAX_LOOKUPS)} allowed"
        )
    ends = np.concatenate([[0], np.cumsum(first.counts)])
    dtype = exact_dtype(int(ends[-1]) * int(second.counts.sum()))
    below = [0] * len(bounds)
    near: list[Codes] = []
    for start in range(0, len(second), _BLOCK):
        block = slice(start, start + _BLOCK)
        counts = second.counts[block].astype(dtype)
        for i, bound in enumerate(bounds):
            place, pairs = _look_up(first.values, bound - second.values[block], slack)
            below[i] += int((ends[place].astype(dtype) * counts).sum())
            near.append(pairs + np.array([[0], [start]]))
        _check_near(sum(pairs.shape[1] for pairs in near))
    return below, np.unique(np.concatenate(near, axis=1), axis=1)


def _look_up(values: Floats, keys: Floats, slack: float) -> tuple[Codes, Codes]:
    """How many values are at most each key, and the pairs of a value and a key nearer than the slack."""
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
