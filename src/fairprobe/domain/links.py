"""Links: what changes along with a sensitive value.

A link ties one column to one sensitive parameter: by a table of roles (the spouse is a Husband among men, a Wife among
women), by a shift of numbers for each sensitive value, or by a shift for each unit of a numeric one. So every input has
canonical coordinates, the roles it plays, and all members of a family share them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.checks import is_number as is_finite
from fairprobe.checks import nearest
from fairprobe.domain.expressions import Among, Compare, Constant, Formula, Join, Name
from fairprobe.domain.parameter import Parameter
from fairprobe.domain.values import is_missing, plain, plain_or_none
from fairprobe.errors import DomainError

if TYPE_CHECKING:
    import pandas as pd

NONE = -1
"""The code of a value that is none of those compared, or of a member that does not exist."""

MOST_LEVELS = 1_000_000
"""Of a column that is linked by a table."""

WHOLE = 1e-6


@dataclass(frozen=True)
class Link:
    """What `column` changes to along with `sensitive`: one of roles, shift and per.

    Args:
        column: what changes along.
        sensitive: the parameter that it changes with.
        roles: one mapping of sensitive values to the column's for each role, or these by the role's name. A value in
            none of them keeps itself; an empty cell is a member that does not exist.
        shift: for each sensitive value, what is added to a number.
        per: what is added for each unit of a numeric sensitive parameter, rounded to whole steps.

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
        said = [name for name in ("roles", "shift", "per") if getattr(self, name) is not None]
        if len(said) != 1:
            raise self.error(f"must have one of roles, shift and per, got {' and '.join(said) or 'none'}")
        if self.roles is not None:
            object.__setattr__(self, "roles", self._checked_roles())
        if self.shift is not None:
            object.__setattr__(self, "shift", self._checked_shift(self.shift))
        if self.per is not None and not (is_finite(self.per) and self.per):
            raise self.error(f"per must be a number other than 0, got {self.per!r}")

    def error(self, rule: str) -> DomainError:
        """A refusal of this link."""
        return DomainError(f"the link of {self.column!r} to {self.sensitive!r} {rule}")

    def _checked_roles(self) -> dict[str, dict[Any, Any]]:
        given = self.roles
        if isinstance(given, Sequence) and not isinstance(given, str):
            # Two roles may be played by the same values, under other sensitive ones: each keeps a name of its own.
            given = {f"{place}: {_role_name(role)}": role for place, role in enumerate(given, 1)}
        if not isinstance(given, Mapping) or not given or not all(isinstance(role, Mapping) for role in given.values()):
            raise self.error(f"must have a mapping of sensitive values to values for each role, got {self.roles!r}")
        roles = {
            str(name): {plain_or_none(key): plain(value) for key, value in role.items() if not _is_empty(value)}
            for name, role in given.items()
        }
        for value in dict.fromkeys(key for role in roles.values() for key in role):
            column = [role[value] for role in roles.values() if value in role]
            twice = [player for player, count in Counter(column).items() if count > 1]
            if twice:
                raise self.error(f"must be one-to-one, got {twice[0]!r} in two roles of {value!r}")
        return roles

    def _checked_shift(self, shift: Any) -> dict[Any, float]:
        if not isinstance(shift, Mapping) or not all(is_finite(plain(number)) for number in shift.values()):
            raise self.error(f"shift must have a number for each sensitive value, got {shift!r}")
        return {plain_or_none(key): plain(number) for key, number in shift.items()}

    def words(self) -> str:
        """The link in a line."""
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


def _role_name(role: Any) -> str:
    return "/".join(str(value) for value in role.values()) if isinstance(role, Mapping) else repr(role)


def plain_values(parameter: Parameter) -> list[Any]:
    """All values of a parameter by code; None where missing."""
    values = np.asarray(parameter.decode(np.arange(parameter.levels)), dtype=object)
    return [plain_or_none(value) for value in values]


# One link between two parameters


class _Table:
    """A link by roles. A value named nowhere is a role of its own."""

    def __init__(self, link: Link, column: Parameter, sensitive: Parameter) -> None:
        if column.levels > MOST_LEVELS:
            raise link.error(f"needs a column with {MOST_LEVELS:,} values at most, got {column.levels:,}: use a shift")
        self.known = plain_values(sensitive)
        """The sensitive values by code, then others that the table has a column for."""
        self.n_compared = len(self.known)
        every = getattr(sensitive, "categories", ()) or self.known
        for value in dict.fromkeys(key for role in link.roles.values() for key in role):
            if value not in self.known:
                if value not in every:
                    raise link.error(f"must name values of {link.sensitive!r}, got {value!r}{nearest(value, every)}")
                self.known.append(value)
        values = plain_values(column)
        n_roles = len(link.roles)
        named = {player for role in link.roles.values() for player in role.values()}
        for player in named:
            if player not in values:
                raise link.error(f"must name values of {link.column!r}, got {player!r}{nearest(player, values)}")
        own = np.cumsum([value not in named for value in values]) - 1 + n_roles
        self.n_roles = n_roles + sum(value not in named for value in values)
        is_named = np.array([value in named for value in values])
        # A row more, for a sensitive value that the table has no column for.
        self.role = np.where(is_named, NONE, own)[None].repeat(len(self.known) + 1, axis=0)
        self.player = np.full((len(self.known), self.n_roles), NONE, dtype=np.int64)
        self.player[:, n_roles:] = np.flatnonzero(~is_named)
        for place, role in enumerate(link.roles.values()):
            for value, player in role.items():
                self.role[self.known.index(value), values.index(player)] = place
                self.player[self.known.index(value), place] = values.index(player)
        self.link = link

    def canonical(self, own: Codes, sensitive: Codes) -> Codes:
        """The role that each code plays; `sensitive` are codes, of those compared or of others known."""
        return self.role[sensitive, own]

    def played(self, roles: Codes, sensitive: Codes) -> Codes:
        """By sensitive code, then role: who plays it; NONE where nobody does."""
        return self.player[sensitive[:, None], roles[None]]

    def rules(self) -> Iterator[Formula]:
        """What it forbids: a named value with a sensitive value that it is not named for."""
        link = self.link
        for player in dict.fromkeys(value for role in link.roles.values() for value in role.values()):
            keys = tuple(key for role in link.roles.values() for key, value in role.items() if value == player)
            other: Formula = Compare("!=", Name(link.column), Constant(player))
            yield Join("or", (other, Among(Name(link.sensitive), keys)))

    # Real rows

    def of_rows(self, column: pd.Series[Any], sensitive: pd.Series[Any], parameter: Parameter) -> _TableRows:
        """For rows, whose values may be none of the domain's."""
        return _TableRows(self, column, sensitive, parameter)


class _TableRows:
    """Rows under a table: the role of each, and the value it has with each sensitive value."""

    def __init__(self, table: _Table, column: pd.Series[Any], sensitive: pd.Series[Any], parameter: Parameter) -> None:
        places = {value: place for place, value in enumerate(table.known)}
        own = [places.get(plain_or_none(value), len(table.known)) for value in sensitive.astype(object)]
        self._codes = parameter.encode(column)
        off = self._codes < 0  # named nowhere, so it stays whatever the sensitive value is
        roles = table.canonical(np.maximum(self._codes, 0), np.array(own, dtype=np.int64))
        self.goes_together: Mask = off | (roles >= 0)
        self._played = np.where(off[None], NONE, table.player[: table.n_compared][:, np.maximum(roles, 0)])
        self._exists = off[None] | (self._played >= 0)
        self._parameter = parameter

    def exists(self, code: int) -> Mask:
        """Which rows have somebody in their role with this sensitive value."""
        return np.asarray(self._exists[code])

    def changed(self, code: int, rows: Codes) -> tuple[Codes, Any]:
        """Which of some rows change with this sensitive value, by their places among these, and to what."""
        played = self._played[code, rows]
        moved = np.flatnonzero((played >= 0) & (played != self._codes[rows]))
        return moved, self._parameter.decode(played[moved])

    def values(self, code: int) -> Codes:
        """A number for the value that each row has with this sensitive value; NONE means the row's own."""
        played = np.full(len(self._codes), NONE) if code < 0 else self._played[code]
        return np.where(played < 0, self._codes, played)


class _Shift:
    """A link by a shift in whole steps, so that it goes back the same way. Past a bound there is nobody."""

    n_compared: int

    def __init__(self, link: Link, column: Parameter, sensitive: Parameter) -> None:
        step = getattr(column, "step", None)
        if step is None:
            raise link.error(f"needs a column of numbers on a grid for a shift, got {column.kind} {link.column!r}")
        self._per_step = None if link.per is None else link.per / step
        if self._per_step is not None and not sensitive.is_numeric:
            raise link.error(f"needs a numeric sensitive parameter for per, got {sensitive.kind} {link.sensitive!r}")
        self._by_value: dict[Any, int] = {}
        for value, number in (link.shift or {}).items():
            steps = round(number / step)
            if abs(number / step - steps) > WHOLE:
                raise link.error(f"must shift by whole steps of {step!r}, got {number!r}")
            self._by_value[value] = steps
        values = plain_values(sensitive)
        every = [*values, *getattr(sensitive, "categories", ())]
        unknown = [value for value in self._by_value if value not in every]
        if unknown:
            raise link.error(f"must name values of {link.sensitive!r}, got {unknown[0]!r}{nearest(unknown[0], every)}")
        absent = [value for value in values if math.isnan(self._steps(value))]
        if absent:
            raise link.error(f"must have a shift for each value that is compared, got none for {absent[0]!r}")
        self._shift = np.array([self._steps(value) for value in values], dtype=np.int64)
        self._parameter = column
        self._n_values = column.levels - column.missing
        self._highest = int(self._shift.max())
        self.n_roles = self._n_values + self._highest - int(self._shift.min()) + column.missing

    def _steps(self, value: Any) -> float:
        """How many steps a sensitive value is away from none; NaN if nothing is known of it."""
        if self._per_step is not None:
            return math.nan if is_missing(value) else math.floor(round(self._per_step * float(value), 9) + 0.5)
        return self._by_value.get(value, math.nan)

    def canonical(self, own: Codes, sensitive: Codes) -> Codes:
        """The role that each code plays: the code without its shift; a missing value's is the last."""
        roles = own - self._shift[sensitive] + self._highest
        return np.where(own >= self._n_values, self.n_roles - 1, roles) if self._parameter.missing else roles

    def played(self, roles: Codes, sensitive: Codes) -> Codes:
        """By sensitive code, then role: who plays it; NONE past a bound."""
        codes = roles[None] - self._highest + self._shift[sensitive][:, None]
        played = np.where((codes >= 0) & (codes < self._n_values), codes, NONE)
        if self._parameter.missing:
            played = np.where(roles[None] == self.n_roles - 1, self._n_values, played)
        return played

    def rules(self) -> Iterator[Formula]:
        """Nothing is forbidden."""
        return iter(())

    def of_rows(self, column: pd.Series[Any], sensitive: pd.Series[Any], parameter: Parameter) -> _ShiftRows:
        """For rows, whose values may lie off the grid."""
        own = np.array([self._steps(plain_or_none(value)) for value in sensitive.astype(object)])
        return _ShiftRows(self._shift, own, column, parameter)


class _ShiftRows:
    """Rows under a shift: the number itself is shifted, on the grid or off it."""

    def __init__(self, shift: Codes, own: Floats, column: pd.Series[Any], parameter: Any) -> None:
        import pandas as pd

        self._values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        self._absent = np.isnan(self._values)
        self.goes_together: Mask = self._absent | ~np.isnan(own)
        self._steps = shift[:, None] - np.where(np.isnan(own), 0.0, own)[None]
        self._parameter = parameter

    def exists(self, code: int) -> Mask:
        """Which rows stay within the bounds with this sensitive value, or as they are."""
        low, high, step = self._parameter.low, self._parameter.high, self._parameter.step
        with np.errstate(invalid="ignore"):
            moved = self._values + self._steps[code] * step
            inside = (moved >= low - WHOLE * step) & (moved <= high + WHOLE * step)
        return np.asarray(inside | (self._steps[code] == 0) | self._absent)

    def changed(self, code: int, rows: Codes) -> tuple[Codes, Any]:
        """Which of some rows change with this sensitive value, by their places among these, and to what."""
        steps = self._steps[code, rows]
        moved = np.flatnonzero((steps != 0) & ~self._absent[rows])
        values = self._values[rows[moved]] + steps[moved] * self._parameter.step
        codes = self._parameter.encode(values)
        # On the grid, the very number of the grid: 0.1 + 0.2 is none.
        return moved, np.where(codes >= 0, self._parameter.numbers(np.maximum(codes, 0)), values)

    def values(self, code: int) -> Floats:
        """A number for the value that each row has with this sensitive value; NONE means the row's own."""
        steps = np.zeros(len(self._values)) if code < 0 else self._steps[code]
        return np.where(self._absent, 0.0, steps)


# All links of a domain


class Links:
    """The links of a domain, and with them the roles of its inputs."""

    def __init__(self, links: Sequence[Link], parameters: Sequence[Parameter], sensitive: Sequence[str]) -> None:
        self.links = tuple(links)
        names = [parameter.name for parameter in parameters]
        made = [_made(link, parameters, names, sensitive) for link in self.links]
        twice = [name for name, count in Counter(link.column for link in self.links).items() if count > 1]
        if twice:
            raise DomainError(f"a column may have one link, got two for {twice[0]!r}: join them into one table")
        self.columns = [names.index(link.column) for link in self.links]
        self.levels = [each.n_roles for each in made]
        self._made = made
        self._parameters = parameters
        self._names = names
        self._sensitive = list(sensitive)
        self._with = [list(sensitive).index(link.sensitive) for link in self.links]
        self._places = [names.index(link.sensitive) for link in self.links]

    @cached_property
    def rules(self) -> list[Formula]:
        """What the tables forbid."""
        return [rule for each in self._made for rule in each.rules()]

    def canonical(self, codes: Codes) -> Codes:
        """By input, then column: the role that it plays; NONE where its values do not go together."""
        roles = [
            each.canonical(codes[:, column], codes[:, place])
            for each, column, place in zip(self._made, self.columns, self._places, strict=True)
        ]
        return np.column_stack(roles)

    def played(self, roles: Codes, combinations: Codes) -> Codes:
        """By combination, input and column: the code that plays the role there; NONE where nobody does."""
        parts = [
            each.played(np.maximum(roles[:, i], 0), combinations[:, place])
            for i, (each, place) in enumerate(zip(self._made, self._with, strict=True))
        ]
        played = np.stack(parts, axis=2)
        return np.where((roles >= 0)[None], played, NONE)

    def played_by(self, link: int, roles: Codes, sensitive: int) -> Codes:
        """The codes that play some roles of one link with a sensitive value; NONE where nobody does."""
        played: Codes = self._made[link].played(roles, np.array([sensitive]))[0]
        return played

    def of_rows(self, frame: pd.DataFrame) -> list[tuple[str, int, Any]]:
        """For real rows, by link: its column, the place of its sensitive parameter, and what becomes of the rows."""
        return [
            (link.column, place, each.of_rows(frame[link.column], frame[link.sensitive], self._parameters[column]))
            for link, place, each, column in zip(self.links, self._with, self._made, self.columns, strict=True)
        ]


def _made(link: Any, parameters: Sequence[Parameter], names: Sequence[str], sensitive: Sequence[str]) -> Any:
    """A link that was made sure of."""
    if not isinstance(link, Link):
        raise DomainError(f"a link must be a fairprobe.Link, got {link!r}")
    if link.sensitive not in sensitive:
        raise link.error(
            f"must name a sensitive parameter, one of {', '.join(sensitive)}{nearest(link.sensitive, sensitive)}"
        )
    if link.column not in names:
        raise link.error(f"must name a parameter{nearest(link.column, names)}")
    column = parameters[names.index(link.column)]
    if link.column in sensitive:
        raise link.error("must change a parameter that is not sensitive")
    if column.kind == "derived":
        raise link.error(f"must change {getattr(column, 'source', '')!r}, which {link.column!r} is derived from")
    kind = _Shift if link.roles is None else _Table
    return kind(link, column, parameters[names.index(link.sensitive)])
