"""Functional dependencies: parameters whose value follows from another's, in all rows or almost all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import permutations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fairprobe.arrays import Codes
from fairprobe.domain.atoms import Candidate, Standard
from fairprobe.domain.constraints import listed_values
from fairprobe.domain.derived import Derived, Extended
from fairprobe.domain.discretize import Dependence, joint_counts
from fairprobe.domain.expressions import Formula, joined, none_of, one_of
from fairprobe.domain.links import plain_values
from fairprobe.domain.parameter import Parameter
from fairprobe.domain.rule_text import MAX_LENGTH, text_of
from fairprobe.domain.variables import is_number

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
    seen = Dependence(joint_counts(source.numbers, target.numbers, (len(source.values), len(target.values))))
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
