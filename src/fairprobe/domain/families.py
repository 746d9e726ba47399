"""Families: an input and its twins. The only place that knows who is compared with whom.

A family's members are in blocks, one for every combination of the sensitive values that are compared, in domain order.
A member counts only if it is allowed; an input of whose family fewer than two members count is not comparable.
What changes along with a sensitive value is told by `Roles`; without any, twins differ in the sensitive parameters
alone. Whoever can't follow roles (a solver, a stand-in) asks `is_plain` first.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Mask
from fairprobe.domain.dtypes import in_dtype

if TYPE_CHECKING:
    import pandas as pd

    from fairprobe.domain.domain import Domain


NONE = -1
"""The code of a value that is none of those compared, or of a member that does not exist."""


class Roles(Protocol):
    """What changes along with the sensitive values: which part a value plays, and who plays it in each combination."""

    @property
    def columns(self) -> Sequence[int]:
        """The columns that change along."""

    @property
    def levels(self) -> Sequence[int]:
        """How many roles each of these columns has."""

    def canonical(self, codes: Codes) -> Codes:
        """By input, then column: the role that it plays; -1 where its values do not go together.

        A sensitive code is NONE in a real row whose value is none of those compared.
        """

    def played(self, roles: Codes, combinations: Codes) -> Codes:
        """By combination, input and column: the code that plays the role there; -1 where none does."""


class Families:
    """The families of a domain."""

    def __init__(self, domain: Domain, roles: Roles | None = None) -> None:
        self._domain = domain
        self._roles = roles
        self._sensitive = list(domain.sensitive_columns)
        self._along: list[int] = [] if roles is None else list(roles.columns)
        levels = [range(domain.parameters[column].levels) for column in self._sensitive]
        self.combinations: Codes = np.array(list(itertools.product(*levels)), dtype=np.int64)
        """The sensitive parameters' codes, one member a row, in domain order."""

    @property
    def is_plain(self) -> bool:
        """Whether twins differ in the sensitive parameters alone."""
        return self._roles is None

    @property
    def is_complete(self) -> bool:
        """Whether every member of every family is allowed."""
        return self.is_plain and not self._domain.constraints

    def __len__(self) -> int:
        """How many members a family has, if all are allowed."""
        return len(self.combinations)

    # Inputs as codes

    def varied(self, codes: Codes) -> list[tuple[int, Codes]]:
        """The columns that members differ in, each with its codes by member, then input (or one for all inputs)."""
        fixed = [(column, values[:, None]) for column, values in zip(self._sensitive, self.combinations.T, strict=True)]
        if self._roles is None:
            return fixed
        played = self._roles.played(self._roles.canonical(codes), self.combinations)
        # A member that does not exist keeps the input's own value: `Members.present` leaves it out.
        own = codes[None, :, self._along]
        return fixed + list(zip(self._along, np.where(played < 0, own, played).transpose(2, 0, 1), strict=True))

    def members(self, codes: Codes) -> Codes:
        """All members, allowed or not: a block of rows for each combination."""
        members = np.repeat(codes[None], len(self), axis=0)
        for column, values in self.varied(codes):
            members[:, :, column] = values
        return members.reshape(-1, codes.shape[1])

    def member(self, codes: Codes, places: NDArray[np.integer]) -> Codes:
        """Each input as the member at a place of its own."""
        member = codes.copy()
        each = np.arange(len(codes))
        for column, values in self.varied(codes):
            member[:, column] = values[:, 0].take(places) if values.shape[1] == 1 else values[places, each]
        return member

    def place(self, codes: Codes) -> Codes:
        """Which member each input is itself."""
        own = np.zeros(len(codes), dtype=np.int64)
        for column in self._sensitive:
            own = own * self._domain.levels[column] + codes[:, column]
        return own

    def keep_roles(self, codes: Codes) -> Mask:
        """Which inputs have values that go together."""
        if self._roles is None:
            return np.ones(len(codes), dtype=bool)
        return np.asarray((self._roles.canonical(codes) >= 0).all(axis=1))

    def of(self, codes: Codes) -> Members:
        """The members of a batch of inputs."""
        return Members(self, codes)

    # What makes two inputs one

    @cached_property
    def key_levels(self) -> Codes:
        """How many values each column of `canonical` has; a sensitive one has one."""
        levels = self._domain.levels.copy()
        levels[self._sensitive] = 1
        if self._roles is not None:
            levels[self._along] = self._roles.levels
        return levels

    def canonical(self, codes: Codes) -> Codes:
        """The coordinates that all members share: the same for all of a family, others for any other family.

        Nothing is to be read in the sensitive columns.
        """
        if self._roles is None:
            return codes
        shared = codes.copy()
        shared[:, self._along] = self._roles.canonical(codes)
        return shared

    @property
    def n_keys(self) -> int:
        """How many families there would be if all were allowed."""
        return math.prod(self.key_levels.tolist())

    @cached_property
    def n(self) -> int | None:
        """How many families have an allowed member; None if that is too many to be looked at one by one."""
        if self.is_complete:
            return self.n_keys
        if self._domain.size > ENUMERABLE:
            return None
        return sum(int(self._are_allowed(codes).sum()) for codes in self.enumerate(BLOCK))

    def _are_allowed(self, codes: Codes) -> Mask:
        return np.asarray(self.of(codes).sizes > 0)

    def enumerate(self, size: int) -> Iterator[Codes]:
        """An input of every family, allowed or not, in blocks of at most `size`."""
        levels = self._domain.levels.copy()
        if self._roles is None:
            levels[self._sensitive] = 1
        total = math.prod(levels.tolist())
        for first in range(0, total, size):
            index = np.arange(first, min(first + size, total))
            codes = np.column_stack(np.unravel_index(index, levels.tolist())).astype(np.int64)
            yield codes if self._roles is None else codes[self._are_first(codes)]

    def _are_first(self, codes: Codes) -> Mask:
        """Which inputs are the first allowed member of their family."""
        present = self.of(codes).present
        assert present is not None
        own = self.place(codes)
        return np.asarray(present.any(axis=0) & (present.argmax(axis=0) == own) & self._domain.allows(codes))

    # Real rows

    def of_frame(self, frame: pd.DataFrame, sets: Sequence[Sequence[str]] | None = None) -> FrameMembers:
        """The members of real rows, whose values may lie off the grid, for some sets of sensitive parameters."""
        return FrameMembers(self, self._domain, frame, sets or [self._domain.sensitive])


class Members:
    """The members of a batch of inputs, worked out when they are asked for, once."""

    def __init__(self, families: Families, codes: Codes) -> None:
        self.families = families
        self.codes = codes

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def rows(self) -> Codes:
        """All members, allowed or not: a block of rows for each combination."""
        return self.families.members(self.codes)

    @cached_property
    def present(self) -> Mask | None:
        """Which members are compared and allowed, by member, then input; None if all are."""
        if self.families.is_complete:
            return None
        domain, shape = self.families._domain, (len(self.families), len(self.codes))
        return self._exist() & domain.allows(self.rows).reshape(shape)

    def _exist(self) -> Mask:
        """Which members have somebody in every role."""
        roles = self.families._roles
        if roles is None:
            return np.ones((len(self.families), len(self.codes)), dtype=bool)
        played = roles.played(roles.canonical(self.codes), self.families.combinations)
        return np.asarray((played >= 0).all(axis=2))

    @property
    def sizes(self) -> Codes:
        """How many members each family has."""
        if self.present is None:
            return np.full(len(self.codes), len(self.families))
        return self.present.sum(axis=0)

    def head(self, n: int) -> Members:
        """The members of the first inputs."""
        return self if n >= len(self) else self._part(slice(n))

    def tail(self, n: int) -> Members:
        """The members of all but the first inputs."""
        return self._part(slice(n, None))

    def _part(self, rows: slice) -> Members:
        """What is known already is not worked out again."""
        some = Members(self.families, self.codes[rows])
        if "present" in self.__dict__:
            some.__dict__["present"] = None if self.present is None else self.present[:, rows]
        return some


def comparable(present: Mask | None, n: int) -> Mask:
    """Which of n inputs have two members at least."""
    return np.ones(n, dtype=bool) if present is None else np.asarray(present.sum(axis=0) >= 2)


class FrameMembers:
    """The members of real rows: each row as it is, with only what is compared replaced.

    A row is a member of its own family even if a constraint forbids it, but not with a sensitive value that is none
    of those compared. Its twins must be allowed. Where only some sensitive parameters change, the others are held at
    the row's own values, whether or not these are compared.
    """

    def __init__(self, families: Families, domain: Domain, frame: pd.DataFrame, sets: Sequence[Sequence[str]]) -> None:
        self._families = families
        self._domain = domain
        self._frame = frame
        self.own: Codes = np.column_stack([domain[name].encode(frame[name]) for name in domain.sensitive])
        """The sensitive codes of each row; NONE where its value is none of those compared."""
        self._changed = [[name in names for name in domain.sensitive] for names in sets]
        self.members = self._needed()
        """The sensitive codes of each member, the combinations first; NONE where the row's own value is held."""

    def _needed(self) -> Codes:
        """The combinations, and those that hold a value which is none of them, where a set and a row need it."""
        combinations = self._families.combinations
        outside = np.asarray((self.own < 0).any(axis=0))
        if not outside.any():
            return combinations
        more = []
        for member in itertools.product(
            *([*range(self._domain[name].levels), NONE] for name in self._domain.sensitive)
        ):
            holds = [code == NONE for code in member]
            if any(holds) and any(_holds_only(holds, outside, changed) for changed in self._changed):
                more.append(member)
        return np.concatenate([combinations, np.array(more, dtype=np.int64).reshape(-1, combinations.shape[1])])

    def compared(self, changed: Sequence[bool]) -> Mask:
        """By member, then row: who is compared if only these sensitive parameters change, allowed or not."""
        held = [i for i, changes in enumerate(changed) if not changes]
        same = np.asarray(self.members[:, None] == self.own[None])
        listed = np.asarray((self.members[:, list(changed)] >= 0).all(axis=1))
        return same[:, :, held].all(axis=2) & listed[:, None]

    @cached_property
    def present(self) -> Mask:
        """By member, then row: who is compared in one of the sets, and allowed."""
        wanted = np.logical_or.reduce([self.compared(changed) for changed in self._changed])
        wanted &= self._exist()
        is_self = (self.members[:, None] == self.own[None]).all(axis=2)
        ask = wanted & ~is_self
        if self._domain.constraints and ask.any():
            wanted[ask] = self._domain.allows_frame(self.joined(ask))
        return wanted

    @property
    def frame(self) -> pd.DataFrame:
        """The members that are present, member after member."""
        return self.joined(self.present)

    def twins(self) -> Iterator[tuple[NDArray[np.intp], pd.DataFrame]]:
        """Member after member, the rows that have it as a twin, by number, and their twins."""
        is_self = (self.members[:, None] == self.own[None]).all(axis=2)
        for place, mask in enumerate(self.present & ~is_self):
            rows = np.flatnonzero(mask)
            yield rows, self._as(place, rows)

    def joined(self, mask: Mask) -> pd.DataFrame:
        """Some of the members, member after member."""
        import pandas as pd

        blocks = [self._as(place, np.flatnonzero(rows)) for place, rows in enumerate(mask) if rows.any()]
        return pd.concat(blocks, ignore_index=True) if blocks else self._frame.iloc[:0]

    def _as(self, place: int, rows: NDArray[np.intp]) -> pd.DataFrame:
        """Some rows as a member."""
        changed = self._frame.iloc[rows].reset_index(drop=True)
        for name, code in zip(self._domain.sensitive, self.members[place], strict=True):
            if code >= 0:
                values = self._domain[name].decode(np.full(len(rows), code))
                changed[name] = in_dtype(values, changed[name].dtype)
        for column, codes in self._played(place, rows):
            moved = np.flatnonzero(codes >= 0)
            name = self._domain.names[column]
            values = changed[name].astype(object)
            values.iloc[moved] = self._domain.parameters[column].decode(codes[moved])
            changed[name] = in_dtype(values, self._frame[name].dtype)
        return changed

    # What changes along

    @cached_property
    def _roles(self) -> tuple[Codes, Codes]:
        """The codes of what changes along, NONE off the grid, and the roles played."""
        roles, domain = self._families._roles, self._domain
        assert roles is not None
        codes = np.zeros((len(self._frame), len(domain.levels)), dtype=np.int64)
        codes[:, list(domain.sensitive_columns)] = self.own
        for column in roles.columns:
            codes[:, column] = domain.parameters[column].encode(self._frame[domain.names[column]])
        along = codes[:, list(roles.columns)].copy()
        codes[:, list(roles.columns)] = np.maximum(along, 0)
        return along, np.where(along < 0, 0, roles.canonical(codes))

    def _exist(self) -> Mask:
        """Which members have somebody in every role; a value off the grid is nobody's role and stays."""
        roles = self._families._roles
        if roles is None:
            return np.ones((len(self.members), len(self._frame)), dtype=bool)
        along, played = self._roles
        there = roles.played(np.maximum(played, 0), self.members) >= 0
        return np.asarray((there | (along < 0)).all(axis=2) & (played >= 0).all(axis=1))

    def _played(self, place: int, rows: NDArray[np.intp]) -> list[tuple[int, Codes]]:
        """By column that changes along, the codes that some rows have as a member; NONE where the value stays."""
        roles = self._families._roles
        if roles is None:
            return []
        along, played = self._roles
        codes = roles.played(np.maximum(played[rows], 0), self.members[[place]])[0]
        stays = (along[rows] < 0) | (codes == along[rows])
        return list(zip(roles.columns, np.where(stays, NONE, codes).T, strict=True))


def _holds_only(holds: Sequence[bool], outside: Mask, changed: Sequence[bool]) -> bool:
    """Whether a member that holds these parameters is one where others change, and there are rows to hold."""
    return all(not held or (out and not changes) for held, out, changes in zip(holds, outside, changed, strict=True))


ENUMERABLE = 2_000_000
"""Up to that many inputs a domain with constraints is counted by looking at each."""

BLOCK = 65_536
