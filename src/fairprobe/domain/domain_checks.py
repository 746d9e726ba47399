"""Checks of what a domain is made of, and of whether its parts go together."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairprobe.checks import nearest
from fairprobe.domain.constraints import Rule, bind
from fairprobe.domain.derived import Derived
from fairprobe.domain.expressions import Compare, Constant, Join, Name
from fairprobe.domain.links import Link, plain_values
from fairprobe.domain.parameters import Category, Ordinal, Parameter
from fairprobe.domain.restrictions import Restrictions
from fairprobe.domain.values import check_once, is_missing
from fairprobe.errors import DomainError
from fairprobe.wording import magnitude

if TYPE_CHECKING:
    from fairprobe.domain.domain import Domain

Sensitive = Sequence[str] | Mapping[str, Sequence[Any] | None]
"""The sensitive parameters: their names, or by name the values to compare; None stands for all values."""

MAX_COMBINATIONS = 1000
"""Combinations of sensitive values; chosen: each judged input costs one row of the model per combination."""


def checked_sensitive(sensitive: Sensitive) -> dict[str, Sequence[Any] | None]:
    """The values to compare by sensitive parameter; None stands for all values."""
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
    """The parameters, of which each sensitive one has only the values to compare."""
    given = tuple(parameters)
    for parameter in given:
        if not isinstance(parameter, Parameter):
            raise DomainError(f"a parameter must be an Integer, Real, Category or Ordinal, got {parameter!r}")
    repeated = [name for name, count in Counter(p.name for p in given).items() if count > 1]
    if repeated:
        raise DomainError(f"parameters must have distinct names, got {', '.join(repeated)} more than once")
    unknown = [name for name in compared if name not in {p.name for p in given}]
    if unknown:
        names = [p.name for p in given]
        raise DomainError(
            f"a sensitive parameter must be one of {', '.join(names) or 'no parameter'}; "
            f"got {', '.join(map(repr, unknown))}{nearest(unknown[0], names)}"
        )
    return all_bound(_restricted(p, p.name in compared, compared.get(p.name)) for p in given)


def all_bound(parameters: Iterable[Parameter]) -> tuple[Parameter, ...]:
    """The parameters; each derived one now has its value for every code of its source."""
    by_name = {parameter.name: parameter for parameter in parameters}
    return tuple(_bound(p, by_name) if isinstance(p, Derived) else p for p in by_name.values())


def _bound(derived: Derived, parameters: Mapping[str, Parameter]) -> Derived:
    """A derived parameter with its value for every code of its source."""
    source = parameters.get(derived.source)
    if source is None or isinstance(source, Derived):
        near = nearest(derived.source, [name for name in parameters if name != derived.name])
        raise DomainError(
            f"parameter {derived.name!r}: source must name a parameter that is not derived, "
            f"got {derived.source!r}{near}"
        )
    return derived.bound(source)


def checked_part(argument: str, part: Iterable[str], sensitive: Sequence[str]) -> tuple[str, ...]:
    """Names of sensitive parameters; any other name is refused."""
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
    """Refuse rules and links that allow no input, alone or together."""
    if not domain.constraints and not domain.links:
        return
    together = domain.restrictions
    if together.n == 0:
        for rule in [each for each in domain.constraints if isinstance(each, Rule)]:
            if Restrictions(domain.parameters, [bind(rule, domain.parameters)], ()).n == 0:
                raise DomainError(f"constraint {rule.text!r} must allow an input, got none of {magnitude(domain.size)}")
        raise DomainError(
            f"the constraints{' and links' if domain.links else ''} must allow an input together, got none of "
            f"{magnitude(domain.size)}: loosen them"
        )
    for link in domain.links if domain.constraints else ():
        _check_agrees(domain, link)


def _check_agrees(domain: Domain, link: Link) -> None:
    """Refuse constraints that forbid a pair of values which a link's table lists."""
    compared = plain_values(domain[link.sensitive])
    for role in (link.roles or {}).values():
        for value, player in role.items():
            if value not in compared:
                continue
            pair = Join(
                "and",
                (
                    Compare("==", Name(link.sensitive), Constant(value)),
                    Compare("==", Name(link.column), Constant(player)),
                ),
            )
            if domain.restrictions.also(pair).n == 0:
                raise DomainError(
                    f"the link of {link.column!r} to {link.sensitive!r} must not contradict the constraints: they "
                    f"allow no input with {link.sensitive}={value} and {link.column}={player}"
                )


def _restricted(parameter: Parameter, name_is_sensitive: bool, values: Sequence[Any] | None) -> Parameter:
    """A sensitive parameter with the values to compare: those listed, or else all but the missing one."""
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
    """Refuse sensitive parameters with fewer than two values, or with too many combinations of values."""
    for name in domain.sensitive:
        if domain[name].levels < 2:
            raise DomainError(f"a sensitive parameter must have two values at least, got one for {name!r}")
    n = math.prod(domain[name].levels for name in domain.sensitive)
    if n > MAX_COMBINATIONS:
        widest = max(domain.sensitive, key=lambda name: domain[name].levels)
        raise DomainError(
            f"the sensitive parameters may have {MAX_COMBINATIONS:,} combinations at most, got {n:,}: "
            f"list the values to compare, as in sensitive={{{widest!r}: [...]}}"
        )
