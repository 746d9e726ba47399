"""Functional dependencies: parameters whose value follows from another's, in all rows or almost all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes
from fairprobe.domain.constraints import listed_values
from fairprobe.domain.derived import Derived, Extended
from fairprobe.domain.discretize import Dependence, joint_counts
from fairprobe.domain.expressions import Formula, joined, none_of, one_of
from fairprobe.domain.links import plain_values
from fairprobe.domain.parameter import Parameter
from fairprobe.domain.rule_text import MAX_LENGTH, text_of
from fairprobe.domain.values import plain_or_none
from fairprobe.domain.variables import is_number

if TYPE_CHECKING:
    import pandas as pd

    from fairprobe.domain.domain import Domain

MostBroken = Callable[[float, float], float]
"""The number of rows that may break a rule, by its support and by the number expected by chance."""

MOST_VALUES = 200
"""Values of a source; chosen: a person would not read a longer table."""


@dataclass(frozen=True)
class Dependency:
    """The value of `target` follows from that of `source`."""

    source: str
    target: str
    formula: Formula
    derived: Derived | None
    """The target as a derived parameter; None if no row has some value of the source."""
    n: int
    """Rows with both values."""
    expected: float
    """Rows that would contradict if the two were independent."""


@dataclass(frozen=True)
class _Numbered:
    """A column's values, numbered from 0."""

    name: str
    numbers: Codes
    values: list[Any]
    is_numeric: bool


def dependencies(domain: Domain, frame: pd.DataFrame, *, least: float, most_broken: MostBroken) -> list[Dependency]:
    """The dependencies that rows show, one for each parameter that follows from another.

    Of two that go one to one the sensitive one is the source, then the one whose values are names, then the first.

    Args:
        domain: of the parameters.
        frame: rows.
        least: as many rows at least must be expected to contradict, were there no dependency.
        most_broken: gives how many rows may, by the support and the count expected.
    """
    columns = list(_candidates(domain, frame))
    found: dict[tuple[str, str], Dependency] = {}
    for source, target in permutations(columns, 2):
        if len(source.values) >= len(target.values):
            dependency = _dependency(source, target, domain, least, most_broken)
            if dependency is not None:
                found[source.name, target.name] = dependency
    fixed = {*domain.sensitive, *(link.column for link in domain.links)}
    targets = dict.fromkeys(target for _, target in found if target not in fixed)
    sources = {target: _sources(target, found, domain, columns) for target in targets}
    follows = {target for target in targets if sources[target]}
    # What follows from something can have nothing follow from it: all hangs on the first of a chain.
    first = {target: [name for name in sources[target] if name not in follows] for target in follows}
    return [found[first[target][0], target] for target in targets if first.get(target)]


def _candidates(domain: Domain, frame: pd.DataFrame) -> Iterator[_Numbered]:
    import pandas as pd

    for parameter in domain.parameters:
        if isinstance(parameter, (Derived, Extended)) or "`" in parameter.name:
            continue
        column = frame[parameter.name]
        if column.iloc[: 50 * MOST_VALUES].nunique() > MOST_VALUES:
            continue
        numbers, seen = pd.factorize(parameter.encode(column), sort=True)
        numbers, seen = _without_outside(numbers.astype(np.int64), seen)
        if 2 <= len(seen) <= MOST_VALUES:
            values = [*map(plain_or_none, np.asarray(parameter.decode(seen), dtype=object))]
            yield _Numbered(parameter.name, numbers, values, is_number(parameter))


def _without_outside(numbers: Codes, seen: Codes) -> tuple[Codes, Codes]:
    """The numbers with -1 for values that are not the parameter's, which no rule can name."""
    return (numbers - 1, seen[1:]) if len(seen) and seen[0] < 0 else (numbers, seen)


def _sources(
    target: str, found: dict[tuple[str, str], Dependency], domain: Domain, columns: Sequence[_Numbered]
) -> list[str]:
    """The sources that a parameter may follow from, the best first."""
    rank = {
        column.name: (column.name not in domain.sensitive, column.is_numeric, len(column.values), place)
        for place, column in enumerate(columns)
    }
    sources = [source for source, other in found if other == target]
    return sorted((s for s in sources if (target, s) not in found or rank[s] < rank[target]), key=rank.__getitem__)


def _dependency(
    source: _Numbered, target: _Numbered, domain: Domain, least: float, most_broken: MostBroken
) -> Dependency | None:
    shape = len(source.values), len(target.values)
    seen = Dependence(joint_counts(source.numbers, target.numbers, shape))
    if not seen.n:
        return None
    if seen.would_show < least or seen.n_broken > most_broken(seen.n, min(seen.expected, seen.would_show)):
        return None
    mapping = {value: target.values[place] for value, place in zip(source.values, seen.best.tolist(), strict=True)}
    parameter = domain[source.name]
    is_whole = _is_whole(mapping, parameter)
    formula = _formula(source.name, target.name, mapping, is_whole and bool((source.numbers >= 0).all()))
    if len(text_of(formula)) > MAX_LENGTH:
        return None
    derived = Derived(target.name, source.name, mapping, dtype=domain[target.name].dtype) if is_whole else None
    return Dependency(source.name, target.name, formula, derived, seen.n, seen.expected)


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
