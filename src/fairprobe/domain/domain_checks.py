"""Checks of the arguments of a domain, and of how its parts fit together."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairprobe.checks import nearest, repeated
from fairprobe.domain.constraints import Rule, bind
from fairprobe.domain.derived import Derived
from fairprobe.domain.expressions import joined, one_of
from fairprobe.domain.links import plain_values
from fairprobe.domain.parameters import Category, Ordinal, Parameter
from fairprobe.domain.restrictions import Restrictions
from fairprobe.domain.values import check_once, is_missing
from fairprobe.errors import DomainError
from fairprobe.wording import magnitude

if TYPE_CHECKING:
    from fairprobe.domain.domain import Domain

Sensitive = Sequence[str] | Mapping[str, Sequence[Any] | None]
"""Sensitive parameters: their names, or a mapping from each name to the values to compare; None stands for all
values."""

MAX_COMBINATIONS = 1000
"""Largest number of combinations of sensitive values; chosen: each judged input costs one model row per combination."""


def checked_sensitive(sensitive: Sensitive) -> dict[str, Sequence[Any] | None]:
    """Return a mapping from each sensitive parameter to its values to compare; None stands for all values."""
    if isinstance(sensitive, str):
        raise DomainError.about(
            "sensitive", f"must be a list of names, got the string {sensitive!r}: write [{sensitive!r}]"
        )
    if not isinstance(sensitive, Iterable):
        raise DomainError.about("sensitive", f"must be a list of names, got {sensitive!r}")
    compared = dict(sensitive) if isinstance(sensitive, Mapping) else dict.fromkeys(sensitive)
    if not compared:
        raise DomainError.about("sensitive", "must name one parameter at least, got none")
    check_once(sensitive)
    return compared


def checked_parameters(
    parameters: Iterable[Parameter], compared: Mapping[str, Sequence[Any] | None]
) -> tuple[Parameter, ...]:
    """Return a domain's parameters, with each sensitive one restricted to the values to compare."""
    given = tuple(parameters)
    for parameter in given:
        if not isinstance(parameter, Parameter):
            raise DomainError(f"a parameter must be an Integer, Real, Category or Ordinal, got {parameter!r}")
    names = [p.name for p in given]
    twice = repeated(names)
    if twice:
        raise DomainError(f"parameters must have distinct names, got {', '.join(twice)} more than once")
    unknown = [name for name in compared if name not in names]
    if unknown:
        raise DomainError(
            f"a sensitive parameter must be one of {', '.join(names) or 'no parameter'}; "
            f"got {', '.join(map(repr, unknown))}{nearest(unknown[0], names)}"
        )
    return all_bound(_restricted(p, p.name in compared, compared.get(p.name)) for p in given)


def all_bound(parameters: Iterable[Parameter]) -> tuple[Parameter, ...]:
    """Return the parameters, with each derived one holding its value for every code of its source."""
    by_name = {parameter.name: parameter for parameter in parameters}
    for parameter in by_name.values():
        if isinstance(parameter, Derived):
            source = by_name.get(parameter.source)
            if source is None or isinstance(source, Derived):
                near = nearest(parameter.source, [name for name in by_name if name != parameter.name])
                raise DomainError(
                    f"parameter {parameter.name!r}: source must name a parameter that is not derived, "
                    f"got {parameter.source!r}{near}"
                )
            by_name[parameter.name] = parameter.bound(source)
    return tuple(by_name.values())


def checked_part(argument: str, part: Iterable[str], sensitive: Sequence[str]) -> tuple[str, ...]:
    """Return the names in `part` as a tuple; a name that is not a sensitive parameter's is refused."""
    if isinstance(part, str) or not isinstance(part, Iterable):
        raise DomainError.about(argument, f"must be a list of names, got {part!r}")
    names = tuple(part)
    for name in names:
        if name not in sensitive:
            raise DomainError.about(
                argument,
                f"must name sensitive parameters, {', '.join(sensitive)}; got {name!r}{nearest(name, sensitive)}",
            )
    return names


def check_restrictions(domain: Domain) -> None:
    """Refuse constraints and links of a domain that allow no input, alone or together."""
    if domain.restrictions.n == 0:
        size = magnitude(domain.size)
        for rule in [each for each in domain.constraints if isinstance(each, Rule)]:
            if Restrictions(domain.parameters, [bind(rule, domain.parameters)], ()).n == 0:
                raise DomainError(f"constraint {rule.text!r} must allow an input, got none of {size}")
        what = "the constraints and links" if domain.links else "the constraints"
        raise DomainError(f"{what} must allow an input together, got none of {size}: loosen them")
    for link in domain.links if domain.constraints else ():
        compared = plain_values(domain[link.sensitive])
        for _, value, player in link.cells() if link.roles else ():
            pair = joined("and", [one_of(link.sensitive, [value]), one_of(link.column, [player])])
            link.hold_to(
                value not in compared or domain.restrictions.also(pair).n != 0,
                f"must not contradict the constraints: they allow no input with {link.sensitive}={value} and "
                f"{link.column}={player}",
            )


def _restricted(parameter: Parameter, name_is_sensitive: bool, values: Sequence[Any] | None) -> Parameter:
    """Return a sensitive parameter restricted to the values to compare: the listed ones, or all but the missing one."""
    if not name_is_sensitive:
        return parameter
    if isinstance(parameter, Derived):
        raise DomainError(
            f"a sensitive parameter must not be derived, got {parameter.name!r}: name {parameter.source!r}"
        )
    if values is None:
        return dataclasses.replace(parameter, missing=False) if parameter.missing else parameter
    if isinstance(values, str) or not isinstance(values, Iterable):
        Ordinal(parameter.name, values)  # which says what is wrong
    unknown = [value for value in values if is_missing(value)]
    missing = bool(unknown)
    if missing and not parameter.missing:
        raise DomainError(
            f"a missing value is compared only where there are any: {parameter.name!r} has none, got {unknown[0]!r} "
            "among the values to compare: leave it out, or give the parameter missing=True"
        )
    listed = Ordinal(parameter.name, [value for value in values if not is_missing(value)])
    outside = [value for value, code in zip(listed.values, parameter.encode(listed.values), strict=True) if code < 0]
    if outside:
        raise DomainError(f"the values to compare must lie in the domain of {parameter.name!r}, got {outside}")
    if isinstance(parameter, (Category, Ordinal)):
        every = parameter.categories or parameter.values
        return dataclasses.replace(parameter, values=listed.values, categories=every, missing=missing, moves=(-1, 1))
    # With a missing value it is read from a file as one of those listed, whose categories are said.
    every = listed.values if missing else ()
    return dataclasses.replace(listed, dtype=parameter.dtype, missing=missing, categories=every)


def check_combinations(domain: Domain) -> None:
    """Refuse a sensitive parameter with fewer than two values, or too many combinations of sensitive values."""
    levels = {name: domain[name].levels for name in domain.sensitive}
    for name, n in levels.items():
        if n < 2:
            raise DomainError(f"a sensitive parameter must have two values at least, got one for {name!r}")
    n = math.prod(levels.values())
    if n > MAX_COMBINATIONS:
        widest = max(levels, key=levels.__getitem__)
        raise DomainError(
            f"the sensitive parameters may have {MAX_COMBINATIONS:,} combinations at most, got {n:,}: "
            f"list the values to compare, as in sensitive={{{widest!r}: [...]}}"
        )
