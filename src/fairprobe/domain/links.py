"""Links: columns that change along with a sensitive value.

A link ties one column to one sensitive parameter in one of three ways. It is a table of roles (the spouse is a Husband
among men, a Wife among women), a shift of numbers for each sensitive value, or a shift for each unit of a numeric
sensitive parameter. Every input thus has canonical coordinates, its roles, which are equal for all members of a family.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from fairprobe.arrays import Codes, Mask
from fairprobe.checks import is_number as is_finite
from fairprobe.checks import nearest, repeated
from fairprobe.domain.derived import Held
from fairprobe.domain.expressions import Constant, Formula, Name, Operation, one_of
from fairprobe.domain.parameters import Parameter
from fairprobe.domain.values import is_missing, plain, plain_or_none
from fairprobe.errors import DomainError

NONE = -1
"""Code that stands for a value that is not compared, and for the value of a family member that does not exist."""

MOST_LEVELS = 1_000_000
"""Largest number of levels of a column that a table of roles may link; chosen: the table lists every level."""

WHOLE = 1e-6
"""Largest rounding error, in steps, of a shift that counts as a whole number of steps; chosen."""


@dataclass(frozen=True)
class Link:
    """A change of the value of `column` along with that of `sensitive`, given by one of `roles`, `shift` and `per`.

    Args:
        column: the column that changes along with the sensitive parameter.
        sensitive: the sensitive parameter that the column changes with.
        roles: a list with one mapping for each role, from sensitive values to values of the column; or a mapping from
            each role's name to such a mapping. A value that no role names does not change. For an empty value there is
            no twin.
        shift: the number that is added to the column's number for each sensitive value.
        per: the number that is added for each unit of a numeric sensitive parameter, rounded to whole steps.

    >>> Link("relationship", "sex", [{"Male": "Husband", "Female": "Wife"}]).words()
    'relationship with sex (Male Husband, Female Wife)'
    >>> Link("height", "sex", shift={"Male": 0, "Female": -12}).words()
    'height with sex (Male +0, Female -12)'
    """

    column: str
    sensitive: str
    roles: Any = None
    shift: Mapping[Any, float] | None = field(default=None, kw_only=True)
    per: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        for what in ("column", "sensitive"):
            named = getattr(self, what)
            self.hold_to(isinstance(named, str), f"must have one name as {what}, got {named!r}: make a link for each")
        said = [name for name in ("roles", "shift", "per") if getattr(self, name) is not None]
        got = " and ".join(said) or "none"
        self.hold_to(len(said) == 1, f"must have one of roles, shift and per, got {got}")
        if self.roles is not None:
            object.__setattr__(self, "roles", self._checked_roles())
        elif self.shift is not None:
            given: Any = self.shift
            are_numbers = isinstance(given, Mapping) and all(is_finite(plain(number)) for number in given.values())
            self.hold_to(are_numbers, f"shift must have a number for each sensitive value, got {given!r}")
            shift = {plain_or_none(key): plain(number) for key, number in given.items()}
            object.__setattr__(self, "shift", shift)
        else:
            is_number = is_finite(self.per) and self.per != 0
            self.hold_to(is_number, f"per must be a number other than 0, got {self.per!r}")

    def hold_to(self, holds: bool, rule: str) -> None:
        """Raise a DomainError about this link if `holds` is False; `rule` states the broken rule."""
        if not holds:
            raise DomainError(f"the link of {self.column!r} to {self.sensitive!r} {rule}")

    def check_names(self, named: Iterable[Any], known: Sequence[Any], of: str) -> None:
        """Refuse the link if one of the values that it names is not among the known values of the parameter `of`."""
        for value in named:
            near = "" if value in known else nearest(value, known)
            self.hold_to(value in known, f"must name values of {of!r}, got {value!r}{near}")

    def cells(self) -> list[tuple[int, Any, Any]]:
        """Return the cells of the table of roles.

        Each is a triple of the role's number, a sensitive value, and the value that plays the role with it.
        """
        return [(place, key, player) for place, role in enumerate(self.roles.values()) for key, player in role.items()]

    def _checked_roles(self) -> dict[str, dict[Any, Any]]:
        given = self.roles
        if isinstance(given, Sequence) and not isinstance(given, str):
            # Two roles may be played by the same values, under other sensitive ones: each keeps a name of its own.
            given = {f"{place}: {_role_name(role)}": role for place, role in enumerate(given, 1)}
        is_table = (
            isinstance(given, Mapping) and len(given) > 0 and all(isinstance(role, Mapping) for role in given.values())
        )
        self.hold_to(is_table, f"must have a mapping of sensitive values to values for each role, got {self.roles!r}")
        for key, cell in (each for role in given.values() for each in role.items()):
            self.hold_to(not _is_several(cell), f"must have one value in each cell of a role, got {cell!r} for {key!r}")
        roles = {
            str(name): {plain_or_none(key): plain(value) for key, value in role.items() if not _is_empty(value)}
            for name, role in given.items()
        }
        for key, player in repeated(cell for role in roles.values() for cell in role.items()):
            self.hold_to(False, f"must be one-to-one, got {player!r} in two roles of {key!r}")
        return roles

    def words(self) -> str:
        """Return the link as a text in one line."""
        if self.roles is not None:
            cells = [", ".join(f"{key} {value}" for key, value in role.items()) for role in self.roles.values()]
            how = "; ".join(cells)
        elif self.shift is not None:
            how = ", ".join(f"{key} {number:+}" for key, number in self.shift.items())
        else:
            how = f"{self.per:+} per unit"
        return f"{self.column} with {self.sensitive} ({how})"

    def __hash__(self) -> int:
        return hash((self.column, self.sensitive, self.per, frozenset(self.roles or self.shift or ())))


def _is_empty(cell: Any) -> bool:
    return is_missing(cell) or (isinstance(cell, str) and not cell)


def _is_several(cell: Any) -> bool:
    return not isinstance(cell, str) and isinstance(cell, Iterable)


def _role_name(role: Any) -> str:
    return "/".join(str(value) for value in role.values()) if isinstance(role, Mapping) else repr(role)


def plain_values(parameter: Parameter, codes: Codes | None = None) -> list[Any]:
    """Return the values of codes as plain Python values, or all values of a parameter by code; None where missing."""
    codes = np.arange(parameter.levels) if codes is None else codes
    values = np.asarray(parameter.decode(codes), dtype=object)
    return [plain_or_none(value) for value in values]


class RowRoles(NamedTuple):
    """The roles that the values of a linked column play in a batch of real rows."""

    column: Held
    """The linked column as codes, with a parameter that has the rows' values and every value that plays a role."""
    goes_together: Mask
    """Boolean mask of the rows whose value in the linked column is possible with their sensitive value."""
    played: Codes
    """Code of the linked value that plays the row's role, by sensitive code, then row; NONE where there is none."""


# One link between two parameters


class _RoleTable:
    """A link by a table of roles.

    A value that the table does not name has a role of its own, with every sensitive value.
    """

    def __init__(self, link: Link, column: Parameter, sensitive: Parameter) -> None:
        n = column.levels
        link.hold_to(n <= MOST_LEVELS, f"needs a column with {MOST_LEVELS:,} values at most, got {n:,}: use a shift")
        compared, values, cells = plain_values(sensitive), plain_values(column), link.cells()
        link.check_names(
            (key for _, key, _ in cells), [*compared, *getattr(sensitive, "categories", ())], link.sensitive
        )
        named = dict.fromkeys(player for *_, player in cells)
        link.check_names(named, values, link.column)
        self.link = link
        self.n_compared = len(compared)
        self.known = list(dict.fromkeys([*compared, *(key for _, key, _ in cells)]))
        """The compared sensitive values by code, followed by the other sensitive values that the table names."""
        is_named = np.array([value in named for value in values])
        own = len(link.roles) + np.cumsum(~is_named) - 1
        self.n_roles = len(link.roles) + int((~is_named).sum())
        # A row more, for a sensitive value that the table has no column for.
        self.role = np.where(is_named, NONE, own)[None].repeat(len(self.known) + 1, axis=0)
        self.player = np.full((len(self.known), self.n_roles), NONE, dtype=np.int64)
        self.player[:, len(link.roles) :] = np.flatnonzero(~is_named)
        for place, key, player in cells:
            row, code = self.known.index(key), values.index(player)
            self.role[row, code], self.player[row, place] = place, code

    def canonical(self, own: Codes, sensitive: Codes) -> Codes:
        """Return the number of the role that each code of the linked column plays with a sensitive value.

        The sensitive value is given by its place in `known`.
        """
        return self.role[sensitive, own]

    def played(self, roles: Codes, sensitive: Codes) -> Codes:
        """Return the linked column's code that plays each role, by sensitive code, then role; NONE if there is none."""
        return self.player[sensitive[:, None], roles[None]]

    def rules(self) -> Iterator[Formula]:
        """Yield the rules that the table implies, as formulas.

        A value that the table names may occur only with the sensitive values for which the table names it.
        """
        link = self.link
        for player in dict.fromkeys(player for *_, player in link.cells()):
            keys = [key for _, key, value in link.cells() if value == player]
            is_other = Operation("!=", (Name(link.column), Constant(player)))
            yield Operation("or", (is_other, one_of(link.sensitive, keys)))

    def in_rows(self, column: Held, sensitive: Held) -> RowRoles:
        """Return the roles of real rows, whose linked and sensitive columns are given.

        A value that is not among the parameter's values stays the same with every sensitive value.
        """
        places = {value: place for place, value in enumerate(self.known)}
        others = [places.get(value, len(self.known)) for value in sensitive.extras]
        own = np.array([*range(self.n_compared), *others])[sensitive.codes]
        levels = self.role.shape[1]
        roles = self.canonical(np.minimum(column.codes, levels - 1), own)
        played = np.where(roles >= 0, self.player[: self.n_compared, roles], NONE)
        is_off = column.codes >= levels
        return RowRoles(column, is_off | (roles >= 0), np.where(is_off, column.codes, played))


class _Shift:
    """A link that shifts the numbers of a column by whole steps, by sensitive value.

    Shifts can be undone. A member of a family whose number would lie past a bound does not exist.
    """

    def __init__(self, link: Link, column: Parameter, sensitive: Parameter) -> None:
        self._link = link
        self._step: Any = getattr(column, "step", None)
        got = f"got {column.kind} {link.column!r}"
        link.hold_to(self._step is not None, f"needs a column of numbers on a grid for a shift, {got}")
        got = f"got {sensitive.kind} {link.sensitive!r}"
        link.hold_to(link.per is None or sensitive.is_numeric, f"needs a numeric sensitive parameter for per, {got}")
        values = plain_values(sensitive)
        steps = {value: self._steps(value) for value in (*(link.shift or ()), *values)}
        link.check_names(link.shift or (), [*values, *getattr(sensitive, "categories", ())], link.sensitive)
        for value in values:
            has_shift = not math.isnan(steps[value])
            link.hold_to(has_shift, f"must have a shift for each value that is compared, got none for {value!r}")
        self._shift = np.array([steps[value] for value in values], dtype=np.int64)
        self._parameter = column
        self._n_values = column.levels - column.missing
        self._highest = int(self._shift.max())
        self.n_roles = self._n_values + self._highest - int(self._shift.min()) + column.missing

    def _steps(self, value: Any) -> float:
        """Return the number of grid steps by which a sensitive value shifts the column; NaN if there is none."""
        if self._link.per is not None:
            per_unit = self._link.per / self._step
            return math.nan if is_missing(value) else math.floor(round(per_unit * float(value), 9) + 0.5)
        number = (self._link.shift or {}).get(value, math.nan)
        steps = number / self._step
        is_whole = not abs(steps - np.rint(steps)) > WHOLE  # NaN stands for no shift
        self._link.hold_to(is_whole, f"must shift by whole steps of {self._step!r}, got {number!r}")
        return float(np.rint(steps))

    def canonical(self, own: Codes, sensitive: Codes) -> Codes:
        """Return the role of each code of the linked column: the code without its shift.

        A missing value has the last role.
        """
        roles = own - self._shift[sensitive] + self._highest
        return np.where(own >= self._n_values, self.n_roles - 1, roles) if self._parameter.missing else roles

    def played(self, roles: Codes, sensitive: Codes) -> Codes:
        """Return the linked column's code that plays each role, by sensitive code, then role; NONE past a bound."""
        codes = roles[None] - self._highest + self._shift[sensitive][:, None]
        played = np.where((codes >= 0) & (codes < self._n_values), codes, NONE)
        if self._parameter.missing:
            played = np.where(roles[None] == self.n_roles - 1, self._n_values, played)
        return played

    def rules(self) -> Iterator[Formula]:
        """Yield no rules, because a shift forbids nothing."""
        return iter(())

    def in_rows(self, column: Held, sensitive: Held) -> RowRoles:
        """Return the roles of real rows; numbers off the grid are shifted too, and a missing value stays missing."""
        base: Any = self._parameter
        values = column.parameter.numbers(column.codes)
        own = np.array([*self._shift, *map(self._steps, sensitive.extras)], dtype=np.float64)[sensitive.codes]
        steps = self._shift[:, None] - np.where(np.isnan(own), 0.0, own)[None]
        moved = values + steps * base.step
        with np.errstate(invalid="ignore"):
            inside = (moved >= base.low - WHOLE * base.step) & (moved <= base.high + WHOLE * base.step)
        stays = (steps == 0) | np.isnan(values)
        held = column.also(moved[inside & ~stays])
        played = np.full(moved.shape, NONE)
        played[inside & ~stays] = held.codes[len(column.codes) :]
        held = Held(held.parameter, column.codes)
        return RowRoles(held, np.isnan(values) | ~np.isnan(own), np.where(stays, column.codes, played))


# All links of a domain


class Links:
    """All links of a domain, checked against its parameters."""

    def __init__(self, links: Sequence[Link], parameters: Sequence[Parameter], sensitive: Sequence[str]) -> None:
        self.links = tuple(links)
        names = [parameter.name for parameter in parameters]
        self._made = [_made(link, dict(zip(names, parameters, strict=True)), sensitive) for link in self.links]
        twice = repeated(link.column for link in self.links)
        if twice:
            raise DomainError(f"a column may have one link, got two for {twice[0]!r}: join them into one table")
        self.columns = [names.index(link.column) for link in self.links]
        self.levels = [each.n_roles for each in self._made]
        self._with = [list(sensitive).index(link.sensitive) for link in self.links]
        self._places = [names.index(link.sensitive) for link in self.links]

    @cached_property
    def rules(self) -> list[Formula]:
        """The rules that the links' tables of roles imply, as formulas."""
        return [rule for each in self._made for rule in each.rules()]

    def canonical(self, codes: Codes) -> Codes:
        """Return the number of the role by input, then linked column; NONE if the input contradicts the link."""
        places = zip(self._made, self.columns, self._places, strict=True)
        return np.column_stack([each.canonical(codes[:, column], codes[:, place]) for each, column, place in places])

    def played(self, roles: Codes, combinations: Codes) -> Codes:
        """Return the code that plays the role, by combination of sensitive values, input, and linked column.

        It is NONE if no value plays the role. `roles` are by input, then linked column.
        """
        parts = [
            each.played(np.maximum(roles[:, i], 0), combinations[:, place])
            for i, (each, place) in enumerate(zip(self._made, self._with, strict=True))
        ]
        return np.where((roles >= 0)[None], np.stack(parts, axis=2), NONE)

    def played_by(self, link: int, roles: Codes, sensitive: int) -> Codes:
        """Return the codes that play roles of one link with one sensitive code; NONE if no value plays the role."""
        return self._made[link].played(roles, np.array([sensitive]))[0]

    def in_rows(self, held: Callable[[str], Held]) -> Iterator[tuple[str, int, RowRoles]]:
        """Yield a triple for each link of the domain.

        It has the name of the linked column, the position of the link's parameter among the sensitive ones, and
        the roles that real rows have in the link.
        """
        for link, place, each in zip(self.links, self._with, self._made, strict=True):
            yield link.column, place, each.in_rows(held(link.column), held(link.sensitive))


def _made(link: Any, parameters: Mapping[str, Parameter], sensitive: Sequence[str]) -> _RoleTable | _Shift:
    """Return a link checked against the parameters of its domain, as a table of roles or a shift."""
    if not isinstance(link, Link):
        raise DomainError(f"a link must be a fairprobe.Link, got {link!r}")
    known = ", ".join(sensitive) + nearest(link.sensitive, sensitive)
    link.hold_to(link.sensitive in sensitive, f"must name a sensitive parameter, one of {known}")
    link.hold_to(link.column in parameters, f"must name a parameter{nearest(link.column, parameters)}")
    link.hold_to(link.column not in sensitive, "must change a parameter that is not sensitive")
    column: Any = parameters[link.column]
    if column.kind == "derived":
        link.hold_to(False, f"must change {column.source!r}, which {link.column!r} is derived from")
    return (_Shift if link.roles is None else _RoleTable)(link, column, parameters[link.sensitive])
