"""Sharp edges in numbers: an order that rows keep (a <= b), or a bound of one number where another column has a value.

That a combination of low and high numbers does not occur is no rule in itself: of two that go along with each other,
no row may have the lowest of one and the highest of the other. A rule cuts sharply: right up to its bound there are as
many rows as further inside, and past it none. So the rows next to an edge are looked at, a nearer and a farther half.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np

from fairprobe.arrays import Floats, Mask
from fairprobe.domain.atoms import Candidate, Column, Number, Standard, constant
from fairprobe.domain.expressions import Arithmetic, Compare, Constant, Formula, Name, joined, missing


class _Sharpness(NamedTuple):
    """Rows looked at next to an edge, and the smallest ratio of the nearer half's density to the farther half's."""

    n_rows: int
    least: float


SHARP = _Sharpness(60, 0.58)
"""22 of 60: a flat density has as many in 98.6% of the cases, the tail of a normal one in 0.03%."""
SHARPER = _Sharpness(120, 0.7)
"""Where the edge of an order may be anywhere: 50 of 120, which a flat density has in 97%."""
LOCALLY_EXPECTED = 15
"""Rows that would lie past the edge if they were as dense there as next to it; chosen."""
LEAST_ROWS = 150
"""Rows needed to look for an edge; chosen: with fewer, most rows lie next to it."""
LEAST_VALUES = 12
"""Different values that two compared numbers must have; chosen."""
OFTEN = 0.01
"""Fraction of rows that would break an order by chance for it to be a rule; chosen."""


def orders(columns: Sequence[Column], standard: Standard) -> list[Candidate]:
    """Orders of two numbers, such as a <= b or a <= b - 16, without those that follow from two others."""
    found = dict(_orders(columns, standard))
    offsets = {pair: offset for pair, (offset, _) in found.items()}

    def follows(low: str, high: str, offset: float) -> bool:
        between = [other for first, other in offsets if first == low and (other, high) in offsets]
        return any(offsets[low, other] + offsets[other, high] >= offset for other in between)

    return [order for pair, (offset, order) in found.items() if not follows(*pair, offset)]


def _orders(columns: Sequence[Column], standard: Standard) -> Iterator[tuple[tuple[str, str], tuple[float, Candidate]]]:
    numbers = [column for column in columns if isinstance(column, Number) and column.n_numbers >= LEAST_VALUES]
    for low, high in permutations(numbers, 2):
        known = ~(np.isnan(low.numbers) | np.isnan(high.numbers))
        n = int(known.sum())
        if n < LEAST_ROWS:
            continue
        a, b = low.numbers[known], high.numbers[known]
        step = float(max(getattr(column.parameter, "step", 1) for column in (low, high)))
        widest = float(f"{np.floor((b - a).min() / step + 1e-6) * step:.12g}")  # on the grid
        for offset, sharpness in ((0.0, SHARP), (widest, SHARPER)):
            n_broken = int((b - a < offset - step / 2).sum())
            if n_broken > standard.most_broken(n, n):
                continue
            expected = _order(a, b, step, offset, sharpness, max(standard.min_expected, OFTEN * n))
            if expected and n_broken <= standard.most_broken(n, expected):
                formula = _or_missing([_ordered(low, high, offset)], low, high)
                yield (low.name, high.name), (offset, Candidate(formula, n, expected))
                break


def _order(a: Floats, b: Floats, step: float, offset: float, sharpness: _Sharpness, least: float) -> float:
    """The expected number of rows that break b - a >= offset by chance; 0 if it is small or the edge is not sharp."""
    everyone = np.sort(b)

    def by_chance(bound: float) -> float:
        return float(np.searchsorted(everyone, a + bound).mean())  # each a stands beside each b

    expected = by_chance(offset - step / 2)
    if expected < least:
        return 0.0
    distance = np.sort(b - a)
    distance = distance[np.searchsorted(distance, offset - step / 2) :]
    if len(distance) < sharpness.n_rows or distance[-1] - distance[0] < step:
        return 0.0  # no rows, or a number in other words
    far = distance[sharpness.n_rows - 1] - offset
    half = max(1, round((far + step) / step / 2))  # whole steps
    ends = offset + step * (np.array([0, half, 2 * half]) - 0.5)
    nearer, farther = np.diff(np.searchsorted(distance, ends))
    locally = nearer * expected / max(by_chance(ends[1]) - expected, 1e-9)
    is_sharp = nearer >= sharpness.least * farther and locally >= LOCALLY_EXPECTED
    return expected if is_sharp else 0.0


def _ordered(low: Number, high: Number, offset: float) -> Formula:
    left, right = Name(low.name), Name(high.name)
    if offset == 0:
        return Compare("<=", left, right)
    if offset == 1 and {low.parameter.kind, high.parameter.kind} == {"integer"}:
        return Compare("<", left, right)
    return Compare("<=", left, Arithmetic("-" if offset > 0 else "+", right, Constant(constant(abs(offset)))))


def ranges(columns: Sequence[Column], standard: Standard) -> Iterator[Candidate]:
    """Bounds of a number for atoms of another column. Atoms with the same bound share a rule."""
    for number in (column for column in columns if isinstance(column, Number)):
        everyone = np.sort(number.numbers[~np.isnan(number.numbers)])
        for column in columns:
            if column is not number:
                yield from _bounds(number, everyone, column, standard.min_expected)


def _bounds(number: Number, everyone: Floats, column: Column, least: float) -> Iterator[Candidate]:
    known = ~np.isnan(number.numbers)
    by_bound: dict[tuple[str, float], dict[int, float]] = {}
    for atom in np.flatnonzero(column.counts >= LEAST_ROWS).tolist():
        inside = np.sort(number.numbers[known & (column.atoms == atom)])
        if LEAST_ROWS <= len(inside) < len(everyone):
            for symbol, bound, expected in _bounds_of(inside, everyone):
                if expected >= least:
                    by_bound.setdefault((symbol, bound), {})[atom] = expected
    for (symbol, bound), atoms in by_bound.items():
        premise: Mask = np.zeros(column.n_atoms, dtype=bool)
        premise[list(atoms)] = True
        within = Compare(symbol, Name(number.name), Constant(constant(bound)))
        formula = _or_missing([column.literal(premise, prefer_allowed=False), within], number)
        yield Candidate(formula, int(column.counts[premise].sum()), sum(atoms.values()))


def _bounds_of(inside: Floats, everyone: Floats) -> Iterator[tuple[str, float, float]]:
    """Bounds of some rows' numbers, and the number of rows expected past each by chance."""
    low, high = float(inside[0]), float(inside[-1])
    if low == high:
        n_same = int(np.searchsorted(everyone, low, side="right") - np.searchsorted(everyone, low))
        yield "==", low, len(inside) * (1 - n_same / len(everyone))
    else:
        yield ">=", low, _bound(inside, everyone)
        yield "<=", high, _bound(-inside[::-1], -everyone[::-1])


def _bound(inside: Floats, everyone: Floats) -> float:
    """The expected number of rows below the lowest by chance; 0 if the edge is not sharp."""
    below = int(np.searchsorted(everyone, inside[0]))
    expected = len(inside) * below / len(everyone)
    far = max(inside[min(SHARP.n_rows, len(inside)) - 1], inside[inside > inside[0]][0])  # two values at least
    end = int(np.searchsorted(everyone, far, side="right"))
    middle = everyone[(below + end) // 2]
    split = int(np.searchsorted(everyone, middle, side="right"))
    if split >= end:
        split = int(np.searchsorted(everyone, middle))
    if split <= below:
        return 0.0
    nearer = int(np.searchsorted(inside, everyone[split - 1], side="right"))
    farther = int(np.searchsorted(inside, far, side="right")) - nearer
    is_sharp = nearer / (split - below) >= SHARP.least * farther / (end - split)
    return expected if is_sharp and nearer / (split - below) * below >= LOCALLY_EXPECTED else 0.0


def _or_missing(formulas: Sequence[Formula], *columns: Column) -> Formula:
    """One of the formulas, or a missing value in one of the columns where there may be any."""
    absent = [missing(Name(column.name)) for column in columns if column.parameter.missing]
    return joined("or", [*formulas, *absent])
