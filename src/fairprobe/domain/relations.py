"""Relations of two columns that rows keep: one follows from the other, or a number has an order or a bound.

That a combination of low and high numbers does not occur is no rule in itself: of two that go along with each other,
no row may have the lowest of one and the highest of the other. A rule cuts sharply: right up to its bound there are as
many rows as further inside, and past it none. So the rows next to an edge are looked at, a nearer and a farther half.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.atoms import Candidate, Column, Standard, constant
from fairprobe.domain.constraints import listed_values
from fairprobe.domain.derived import Derived, Extended
from fairprobe.domain.discretize import Dependence
from fairprobe.domain.expressions import (
    Arithmetic,
    Compare,
    Constant,
    Formula,
    Name,
    is_number,
    joined,
    missing,
    none_of,
    one_of,
)
from fairprobe.domain.links import plain_values
from fairprobe.domain.parameters import Parameter
from fairprobe.domain.rule_text import MAX_LENGTH, text_of

if TYPE_CHECKING:
    import pandas as pd

    from fairprobe.domain.domain import Domain

MOST_VALUES = 200
"""Values of a source; chosen: a person would not read a longer table."""


class _Numbered(NamedTuple):
    """A column's values, numbered from 0."""

    name: str
    numbers: Codes
    values: list[Any]
    is_numeric: bool


def dependencies(domain: Domain, frame: pd.DataFrame, standard: Standard) -> dict[str, Candidate]:
    """The dependencies that rows show, by each parameter that follows from another.

    Of two that go one to one the sensitive one is the source, then the one whose values are names, then the first.
    """
    columns = list(_candidates(domain, frame))
    found: dict[tuple[str, str], Candidate] = {}
    for source, target in permutations(columns, 2):
        if len(source.values) >= len(target.values):
            dependency = _dependency(source, target, domain, standard)
            if dependency is not None:
                found[source.name, target.name] = dependency
    rank = {
        column.name: (column.name not in domain.sensitive, column.is_numeric, len(column.values), place)
        for place, column in enumerate(columns)
    }
    fixed = {*domain.sensitive, *(link.column for link in domain.links)}
    sources: dict[str, list[str]] = {target: [] for _, target in found if target not in fixed}
    for source_name, target_name in sorted(found, key=lambda pair: rank[pair[0]]):
        is_back = (target_name, source_name) in found and rank[source_name] > rank[target_name]
        if target_name in sources and not is_back:
            sources[target_name].append(source_name)
    # What follows from something can have nothing follow from it: all hangs on the first of a chain.
    first = {target: [name for name in names if not sources.get(name)] for target, names in sources.items()}
    return {target: found[names[0], target] for target, names in first.items() if names}


def _candidates(domain: Domain, frame: pd.DataFrame) -> Iterator[_Numbered]:
    import pandas as pd

    for parameter in domain.parameters:
        if isinstance(parameter, (Derived, Extended)) or "`" in parameter.name:
            continue
        column = frame[parameter.name]
        if column.iloc[: 50 * MOST_VALUES].nunique() > MOST_VALUES:
            continue
        numbers, seen = pd.factorize(parameter.encode(column), sort=True)
        is_outside = int(len(seen) > 0 and seen[0] < 0)  # values that are not the parameter's, which no rule can name
        numbers, seen = numbers.astype(np.int64) - is_outside, seen[is_outside:]
        if 2 <= len(seen) <= MOST_VALUES:
            yield _Numbered(parameter.name, numbers, plain_values(parameter, seen), is_number(parameter))


def _dependency(source: _Numbered, target: _Numbered, domain: Domain, standard: Standard) -> Candidate | None:
    seen = Dependence.of(source.numbers, target.numbers, (len(source.values), len(target.values)))
    if not seen.n or seen.would_show < standard.min_expected:
        return None
    if seen.n_broken > standard.most_broken(seen.n, min(seen.expected, seen.would_show)):
        return None
    mapping = {value: target.values[place] for value, place in zip(source.values, seen.best.tolist(), strict=True)}
    is_whole = _is_whole(mapping, domain[source.name])
    formula = _formula(source.name, target.name, mapping, is_whole and bool((source.numbers >= 0).all()))
    if len(text_of(formula)) > MAX_LENGTH:
        return None
    derived = Derived(target.name, source.name, mapping, dtype=domain[target.name].dtype) if is_whole else None
    return Candidate(formula, seen.n, seen.expected, derived)


def _is_whole(mapping: Mapping[Any, Any], source: Parameter) -> bool:
    """Whether rows have every value of the source, including values that are not compared."""
    if source.levels > MOST_VALUES + 1:
        return False
    values = [*plain_values(source), *([] if is_number(source) else listed_values(source))]
    return all(value in mapping for value in values if value is not None)


def _formula(source: str, target: str, mapping: Mapping[Any, Any], is_whole: bool) -> Formula:
    """The rule that lists which values go together. It allows everything for values that no row has."""
    by_target: dict[Any, list[Any]] = {}
    for value, follows in mapping.items():
        by_target.setdefault(follows, []).append(value)
    parts = [
        joined("and", [one_of(source, values), one_of(target, [follows])]) for follows, values in by_target.items()
    ]
    return joined("or", [*parts, *([] if is_whole else [none_of(source, list(mapping))])])


# Sharp edges of numbers


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
    import pandas as pd

    varied = [each for each in _numeric(columns) if pd.Series(each[1]).nunique() >= LEAST_VALUES]
    for (low, lows), (high, highs) in permutations(varied, 2):
        known = ~(np.isnan(lows) | np.isnan(highs))
        n = int(known.sum())
        if n < LEAST_ROWS:
            continue
        a, b = lows[known], highs[known]
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


def _ordered(low: Column, high: Column, offset: float) -> Formula:
    left, right = Name(low.name), Name(high.name)
    if offset == 0:
        return Compare("<=", left, right)
    if offset == 1 and {low.parameter.kind, high.parameter.kind} == {"integer"}:
        return Compare("<", left, right)
    return Compare("<=", left, Arithmetic("-" if offset > 0 else "+", right, Constant(constant(abs(offset)))))


def ranges(columns: Sequence[Column], standard: Standard) -> Iterator[Candidate]:
    """Bounds of a number for atoms of another column. Atoms with the same bound share a rule."""
    for number, numbers in _numeric(columns):
        everyone = np.sort(numbers[~np.isnan(numbers)])
        for column in columns:
            if column is not number:
                yield from _bounds(number, numbers, everyone, column, standard.min_expected)


def _numeric(columns: Sequence[Column]) -> list[tuple[Column, Floats]]:
    """The columns of numbers, with these."""
    return [(column, column.numbers) for column in columns if column.numbers is not None]


def _bounds(number: Column, numbers: Floats, everyone: Floats, column: Column, least: float) -> Iterator[Candidate]:
    by_bound: dict[tuple[str, float], dict[int, float]] = {}
    for atom in np.flatnonzero(column.counts >= LEAST_ROWS).tolist():
        inside = np.sort(numbers[~np.isnan(numbers) & (column.atoms == atom)])
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
