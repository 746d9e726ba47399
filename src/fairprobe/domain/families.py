"""Families: an input and its twins. Only this module decides which rows are compared with each other.

A family has a member for every combination of the compared sensitive values, in domain order. A member counts only if
it exists and is allowed. An input is comparable if at least two members of its family count and are different rows to
the model. `Links` computes the columns that change along with a sensitive value; without links, twins differ in the
sensitive parameters alone. A solver or a stand-in that cannot follow links checks `is_plain` first.

`Members` holds the members of inputs. `RowMembers` holds the members of real rows, which may hold values outside the
domain: every value of the row is kept, except the values that are compared.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Mask, block_of_rows
from fairprobe.domain.derived import Held
from fairprobe.domain.links import NONE, Links, RowRoles, plain_values
from fairprobe.domain.parameters import Parameter
from fairprobe.domain.restrictions import Restrictions
from fairprobe.domain.values import in_dtype

if TYPE_CHECKING:
    import pandas as pd

    from fairprobe.domain.domain import Domain


ENUMERABLE = 2_000_000
"""Largest number of inputs of a domain with constraints that are counted one by one; chosen: it takes a second."""

BLOCK = 65_536
"""Number of inputs that are enumerated and checked at a time; chosen."""


class Families:
    """The families of a domain: each input with its twins, one member per combination of sensitive values."""

    def __init__(self, domain: Domain, links: Links | None = None) -> None:
        self._domain = domain
        self.links = links
        self._sensitive = list(domain.sensitive_columns)
        self._along: list[int] = [] if links is None else list(links.columns)
        levels = [range(domain.parameters[column].levels) for column in self._sensitive]
        self.combinations: Codes = np.array(list(itertools.product(*levels)), dtype=np.int64)
        """The codes of the sensitive parameters: one row per member of a family, one column per sensitive parameter."""

    @property
    def is_plain(self) -> bool:
        """Return True if twins differ in the sensitive parameters alone."""
        return self.links is None

    @property
    def is_complete(self) -> bool:
        """Return True if every member of every family exists, is allowed, and is a row of its own to the model.

        It is so in a domain without constraints, links and hidden parameters.
        """
        return self.is_plain and not self._domain.restrictions and not self._domain.hidden

    @property
    def varying(self) -> tuple[str, ...]:
        """The names of the columns in which members of a family may differ.

        They are the sensitive columns, the linked ones, and those derived from either.
        """
        changed = {*self._sensitive, *self._along}
        changed |= {column for column, source in self._domain.derived if source in changed}
        others = [name for column, name in enumerate(self._domain.names) if column in changed]
        return tuple(dict.fromkeys([*self._domain.sensitive, *others]))

    def __len__(self) -> int:
        """The number of members of each family, allowed or not."""
        return len(self.combinations)

    # Inputs as codes

    def varied(self, codes: Codes) -> list[tuple[int, Codes]]:
        """Return (column, codes by member, then input) for each column in which the members of a family differ.

        The array of codes has only one input if the codes are equal for all inputs.
        """
        varied = [
            (column, values[:, None]) for column, values in zip(self._sensitive, self.combinations.T, strict=True)
        ]
        if self.links is not None:
            played = self.links.played(self.links.canonical(codes), self.combinations)
            # A member that does not exist keeps the input's own value: `Members.present` leaves it out.
            own = codes[None, :, self._along]
            varied += zip(self._along, np.where(played < 0, own, played).transpose(2, 0, 1), strict=True)
        sources = dict(varied)
        return varied + [(column, sources[source]) for column, source in self._domain.derived if source in sources]

    def members(self, codes: Codes) -> Codes:
        """Return all members of the inputs' families, allowed or not, as rows of codes.

        The first member of every input comes first, then the second member of every input, and so on.
        """
        members = np.repeat(codes[None], len(self), axis=0)
        for column, values in self.varied(codes):
            members[:, :, column] = values
        return members.reshape(-1, codes.shape[1])

    def member(self, codes: Codes, places: NDArray[np.integer]) -> Codes:
        """Return each input, as codes, changed to one combination of sensitive values; linked columns change along.

        `places` has, for each input, the position of its new combination in `combinations`.
        """
        member = codes.copy()
        each = np.arange(len(codes))
        for column, values in self.varied(codes):
            member[:, column] = values[:, 0].take(places) if values.shape[1] == 1 else values[places, each]
        return member

    def place_of(self, own: Codes) -> Codes:
        """Return the position of each row's sensitive codes in `combinations`; -1 if a value is not compared."""
        levels = [self._domain.parameters[column].levels for column in self._sensitive]
        places = np.ravel_multi_index(tuple(np.maximum(own, 0).T), levels)
        return np.where((own < 0).any(axis=1), -1, places)

    def place(self, codes: Codes) -> Codes:
        """Return, for each input, the position of its own sensitive values in `combinations`, counted from 0."""
        return self.place_of(codes[:, self._sensitive].astype(np.int64))

    def of(self, codes: Codes) -> Members:
        """Return the families of a batch of inputs, given as codes: every input with its twins."""
        return Members(self, self._domain.completed(codes))

    # What makes two inputs one

    @cached_property
    def key_levels(self) -> Codes:
        """The number of values in each column of the codes that identify a family; 1 in a sensitive column."""
        levels = self._domain.levels.copy()
        levels[self._sensitive] = 1
        if self.links is not None:
            levels[self._along] = self.links.levels
        return levels

    def canonical(self, codes: Codes) -> Codes:
        """Return one row of codes per input that identifies its family.

        All members of a family get equal codes, members of different families get different codes. The codes in the
        sensitive and the derived columns have no meaning.
        """
        if self.links is None:
            return codes
        shared = codes.astype(np.int64)
        shared[:, self._along] = self.links.canonical(shared)
        return shared

    def inputs(self, canonical: Codes, places: Codes) -> tuple[Codes, Mask]:
        """Return inputs as codes, and a mask of those that exist, from the codes that identify their families.

        `places` has, for each family, the place of the wanted member. If that member does not exist, the input is the
        first member that does. `canonical` comes from the method of that name.
        """
        codes = canonical.astype(np.int64)
        exist: Mask = np.ones(len(codes), dtype=bool)
        if self.links is not None:
            each = np.arange(len(codes))
            played = self.links.played(codes[:, self._along], self.combinations)
            whole = np.asarray((played >= 0).all(axis=2))
            exist = np.asarray(whole.any(axis=0))
            places = np.where(whole[places, each], places, whole.argmax(axis=0))
            codes[:, self._along] = np.maximum(played[places, each], 0)
        codes[:, self._sensitive] = self.combinations[places]
        return self._domain.completed(codes), exist

    @property
    def n_keys(self) -> int:
        """The number of families of the domain (inputs with their twins), allowed or not."""
        return math.prod(self.key_levels.tolist())

    @cached_property
    def n(self) -> int | None:
        """The number of families with an allowed member; None if more than `ENUMERABLE` inputs had to be checked."""
        if self.is_complete:
            return self.n_keys
        if self._domain.size > ENUMERABLE:
            return None
        blocks = (self.block(number, BLOCK) for number in range(self.n_blocks(BLOCK)))
        return sum(int((self.of(codes).sizes > 0).sum()) for codes in blocks)

    def n_blocks(self, size: int) -> int:
        """The number of blocks of at most `size` inputs that hold one input of every family."""
        return -(-math.prod(self._enumerated_levels) // size)

    def block(self, number: int, size: int) -> Codes:
        """Return block `number` (from 0) of the domain, as codes: one input of each of its families, at most `size`.

        In a domain with links, the input is the first allowed member, and families without one are left out.
        """
        codes = self._domain.completed(block_of_rows(number, size, self._enumerated_levels))
        return codes if self.is_plain else codes[self._are_first(codes)]

    @property
    def _enumerated_levels(self) -> list[int]:
        """The number of levels of each parameter that the blocks go through: 1 for a sensitive one without links."""
        levels = self._domain.levels.copy()
        if self.is_plain:
            levels[self._sensitive] = 1
        return levels.tolist()

    def _are_first(self, codes: Codes) -> Mask:
        """Return a boolean mask of the inputs that are the first allowed member of their family."""
        present = self.of(codes).allowed
        own = self.place(codes)
        return np.asarray(present.any(axis=0) & (present.argmax(axis=0) == own) & self._domain.allows(codes))

    # Real rows

    def of_frame(self, frame: pd.DataFrame, sets: Sequence[Sequence[str]] | None = None) -> RowMembers:
        """Return the members of the families of real rows, whose values may lie outside the domain.

        `sets` are the sets of sensitive parameters that change, by name; by default one set of all.
        """
        return RowMembers(self._domain, frame, sets or [self._domain.sensitive])


class Members:
    """The families of a batch of inputs: each input with all its twins, linked columns changed along.

    Cached properties are computed when they are first read.
    """

    def __init__(self, families: Families, codes: Codes) -> None:
        self.families = families
        self.codes = codes

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def rows(self) -> Codes:
        """All members of the batch's families, allowed or not, as rows of codes.

        The first member of every input comes first, then the second member of every input, and so on.
        """
        return self.families.members(self.codes)

    @cached_property
    def present(self) -> Mask | None:
        """Boolean mask of the members that exist and are allowed, by member, then input; None if all members are."""
        return None if self.families.is_complete else self.allowed

    @cached_property
    def allowed(self) -> Mask:
        """Boolean mask of the members that exist and are allowed, by member, then input, even if all members are."""
        shape = (len(self.families), len(self.codes))
        allowed = self.families._domain.allows(self.rows).reshape(shape)
        links = self.families.links
        if links is not None:
            allowed &= (links.played(links.canonical(self.codes), self.families.combinations) >= 0).all(axis=2)
        return allowed

    @cached_property
    def kinds(self) -> Codes | None:
        """Return a number for each member, by member, then input; equal numbers mean equal rows to the model.

        Return None if all members differ: they can be equal rows only if a sensitive parameter is hidden.
        """
        domain: Any = self.families._domain
        if not domain.hidden:
            return None
        rows = self.rows.reshape(len(self.families), *self.codes.shape)
        seen = [rows[:, :, column] for column in self.families._along]
        seen += [domain.parameters[column].value_ids[rows[:, :, column]] for column, _ in domain.derived]
        return kinds_of(domain, self.families.combinations, seen, len(self))

    @property
    def are_plain(self) -> Mask:
        """Boolean mask by member, then input: True where all linked columns have the input's own values."""
        plain = np.ones((len(self.families), len(self)), dtype=bool)
        for column, values in self.families.varied(self.codes):
            if column in self.families._along:
                plain &= values == self.codes[:, column]
        return plain

    @property
    def sizes(self) -> Codes:
        """Return the number of each input's family members (itself and its twins) that exist and are allowed."""
        if self.present is None:
            return np.full(len(self.codes), len(self.families))
        return self.present.sum(axis=0)

    def head(self, n: int) -> Members:
        """Return the members of the families of the first `n` inputs of the batch."""
        return self if n >= len(self) else self.part(slice(n))

    def tail(self, n: int) -> Members:
        """Return the members of the families of all inputs of the batch but the first `n`."""
        return self.part(slice(n, None))

    def part(self, rows: slice | Codes) -> Members:
        """Return the families of the batch's inputs at the positions `rows`.

        The mask `present` is reused if it is computed already.
        """
        some = Members(self.families, self.codes[rows])
        if "present" in self.__dict__:
            some.__dict__["present"] = None if self.present is None else self.present[:, rows]
        return some


class RowMembers:
    """The members of the families of real rows, for given sets of sensitive parameters that change.

    A row is a member of its own family even if a constraint forbids the row, unless its sensitive value is not
    compared. The twins of a row must be allowed. In a set of only some sensitive parameters, a row keeps its values of
    those outside the set, whether or not these values are compared.
    """

    def __init__(self, domain: Domain, frame: pd.DataFrame, sets: Sequence[Sequence[str]]) -> None:
        self._domain = domain
        self.given = frame
        self._held: dict[str, Held] = {}
        codes = [self._column(name).codes for name in domain.sensitive]
        levels = [domain[name].levels for name in domain.sensitive]
        self.own: Codes = np.column_stack([np.where(c < n, c, NONE) for c, n in zip(codes, levels, strict=True)])
        """The sensitive codes of each row, one column per sensitive parameter; NONE where the value is not compared."""
        self._changed = [[name in names for name in domain.sensitive] for names in sets]
        self.members = self._needed()
        """The sensitive codes of each member: first the compared combinations, then members with NONE, where a row
        keeps its own value that is not compared."""

    def _column(self, name: str) -> Held:
        """Return one column of the rows as codes, with a parameter that has all its values."""
        if name not in self._held:
            self._held[name] = Held.of(self._domain[name], self.given[name])
        return self._held[name]

    # Which members there are

    def _needed(self) -> Codes:
        """Return the sensitive codes of the family members that are compared in at least one set of parameters.

        The combinations come first, then the members that keep a row's own value that is not compared.
        """
        combinations = self._domain.combinations
        outside = np.asarray((self.own < 0).any(axis=0))
        if not outside.any():
            return combinations
        levels = [[*range(self._domain[name].levels), NONE] for name in self._domain.sensitive]
        every = np.array(list(itertools.product(*levels)), dtype=np.int64)
        holds = every == NONE
        # A member that holds parameters is one where others change, and there are rows to hold.
        may_hold = [outside & ~np.array(changed) for changed in self._changed]
        needed = np.logical_or.reduce([(~holds | may).all(axis=1) for may in may_hold])
        return np.concatenate([combinations, every[needed & holds.any(axis=1)]])

    @cached_property
    def _is_self(self) -> Mask:
        """Boolean mask by member, then row: True where the row itself is that member of its family.

        A row with a sensitive value that is not compared is not any of the compared combinations.
        """
        return np.asarray((self.members[:, None] == self.own[None]).all(axis=2))

    @cached_property
    def present(self) -> Mask:
        """Boolean mask by member, then row: True where the member belongs to the row's family and may be compared.

        The member differs from the row at most in one of the sets of sensitive parameters, and is the row itself or an
        allowed twin.
        """
        wanted = np.logical_or.reduce([compared(self.members, self.own, changed) for changed in self._changed])
        for _, sensitive, roles in self._along:
            # Somebody must play every role; a row whose values do not go together is no member, not even of its own.
            member = self.members[:, sensitive]
            wanted &= roles.goes_together & ((member < 0)[:, None] | (roles.played[member] >= 0))
        ask = wanted & ~self._is_self
        if self._domain.restrictions and ask.any():
            wanted[ask] = self.allowed_by(self._domain.restrictions, ask)
        return wanted

    def allowed_by(self, restrictions: Restrictions, mask: Mask) -> Mask:
        """Return a boolean array with one entry per True entry of `mask`, in its order.

        `mask` chooses members of rows, by member, then row. An entry is True where the restrictions allow the member.
        """
        places, rows = np.nonzero(mask)

        def column(name: str) -> tuple[Parameter, Codes]:
            parameter, codes = self._columns.get(name) or self._column(name)
            return parameter, codes[places, rows] if codes.ndim == 2 else codes[rows]

        allowed = restrictions.hold(column, len(rows))
        return allowed & restrictions.callables_hold(self.joined(mask)) if restrictions.callables else allowed

    @property
    def are_plain(self) -> Mask:
        """Boolean mask by member, then row: True where all linked columns have the row's own values."""
        plain = np.ones(self.present.shape, dtype=bool)
        for name, _, roles in self._along:
            plain &= self._columns[name].codes == roles.column.codes
        return plain

    @cached_property
    def kinds(self) -> Codes | None:
        """Return a number for each member of each row, by member, then row; equal numbers mean equal rows to the model.

        Return None if no sensitive parameter is hidden, because then all members differ.
        """
        if not self._domain.hidden:
            return None
        seen = [codes for name, (_, codes) in self._columns.items() if name not in self._domain.sensitive]
        return kinds_of(self._domain, self.members, seen, len(self.given))

    # Their values, as codes

    @cached_property
    def _along(self) -> list[tuple[str, int, RowRoles]]:
        """A triple for each link of the domain.

        It has the name of the linked column, the position of the link's parameter among the sensitive ones, and
        the roles that the rows' values have in the link.
        """
        links = self._domain.families.links
        return [] if links is None else list(links.in_rows(self._column))

    @cached_property
    def _columns(self) -> dict[str, Held]:
        """The columns in which members differ, by name; their codes are by member, then row."""
        columns: dict[str, Held] = {}
        for name, member in zip(self._domain.sensitive, self.members.T, strict=True):
            parameter, own = self._column(name)
            columns[name] = Held(parameter, np.where(member[:, None] < 0, own, member[:, None]))
        for name, sensitive, roles in self._along:
            parameter, own = roles.column
            member = self.members[:, sensitive]
            played = np.where(member[:, None] < 0, NONE, roles.played[member])
            columns[name] = Held(parameter, np.where(played < 0, own, played))
        names = self._domain.names
        for name, source in [(names[column], names[of]) for column, of in self._domain.derived]:
            if source in columns:
                columns[name] = self._derived(name, source, columns[source])
        return columns

    def _derived(self, name: str, source: str, members: Held) -> Held:
        """Return a derived column in the members, with codes by member, then row; `members` is its source in them.

        A row keeps its own value where the source is unchanged.
        """
        derived: Any = self._domain[name]
        distinct, places = np.unique(members.codes, return_inverse=True)
        own = self._column(name)
        both = own.also(derived.of(plain_values(members.parameter, distinct)))
        follows = both.codes[len(own.codes) :][places.reshape(members.codes.shape)]
        return Held(both.parameter, np.where(members.codes != self._column(source).codes, follows, own.codes))

    # As frames

    @property
    def frame(self) -> pd.DataFrame:
        """Return the compared members of the rows' families as a frame: one member of all rows after the other."""
        return self.joined(self.present)

    def joined(self, mask: Mask) -> pd.DataFrame:
        """Return the members that a mask chooses, as a frame: one member of all rows after the other.

        The mask is boolean, by member, then row.
        """
        return self.as_members(*np.nonzero(mask))

    def twins(self) -> Iterator[tuple[NDArray[np.intp], pd.DataFrame]]:
        """Yield, for each family member, the numbers of the rows that have it as a twin, and a frame of the twins."""
        for place, mask in enumerate(self.present & ~self._is_self):
            rows = np.flatnonzero(mask)
            yield rows, self.as_members(np.full(len(rows), place), rows)

    def as_members(self, places: NDArray[np.integer], rows: NDArray[np.integer]) -> pd.DataFrame:
        """Return a frame of the rows at `rows`, each changed into the family member at the same place of `places`.

        A row keeps its own values where the member does not change them.
        """
        changed = self.given.iloc[rows].reset_index(drop=True)
        for name, (parameter, members) in self._columns.items():
            codes = members[places, rows]
            if name in self._domain.sensitive:  # written where it is compared, or else held
                moved = self.members[places, self._domain.sensitive.index(name)] >= 0
            else:
                moved = codes != self._column(name).codes[rows]
            if moved.any():
                changed[name] = _with_values(changed[name], moved, parameter, codes)
        return changed


def _with_values(column: pd.Series[Any], moved: Mask, parameter: Parameter, codes: Codes) -> pd.Series[Any]:
    """Return a column with the values of codes in the rows that `moved` marks, in the column's dtype where it fits."""
    import pandas as pd

    if moved.all():
        return in_dtype(parameter.decode(codes), column.dtype)
    distinct, places = np.unique(codes[moved], return_inverse=True)
    values = column.astype(object).to_numpy(copy=True)
    values[moved] = np.asarray(parameter.decode(distinct), dtype=object)[places]
    return in_dtype(pd.Series(values, dtype=object), column.dtype)


def comparable(present: Mask | None, n: int, kinds: Codes | None = None) -> Mask:
    """Return a boolean mask of the n inputs with at least two members that may be compared and are different rows."""
    if kinds is not None:
        exists = np.ones(kinds.shape, dtype=bool) if present is None else present
        lowest = np.where(exists, kinds, np.iinfo(np.int64).max).min(axis=0)
        return np.asarray(np.where(exists, kinds, -1).max(axis=0) > lowest)
    return np.ones(n, dtype=bool) if present is None else np.asarray(present.sum(axis=0) >= 2)


def compared(members: Codes, own: Codes, changed: Sequence[bool]) -> Mask:
    """Return a mask by member, then input, of the members that are compared if some sensitive parameters change.

    Members agree with the input in the parameters that do not change. In the changed parameters they have a compared
    value; the input itself need not have one. Members and inputs are given by their sensitive codes, and need not be
    allowed.
    """
    held = [place for place, changes in enumerate(changed) if not changes]
    same = np.asarray(members[:, None] == own[None])
    listed = np.asarray((members[:, list(changed)] >= 0).all(axis=1))
    return same[:, :, held].all(axis=2) & listed[:, None]


def kinds_of(domain: Domain, members: Codes, seen: Sequence[Codes], n: int) -> Codes:
    """Return a number for each member of the families of n inputs; equal numbers mean equal rows to the model.

    `members` has the sensitive codes of each member; those of hidden parameters do not count. `seen` has the codes of
    the other columns in which members differ. These codes and the result are by member, then input.
    """
    visible = [place for place, name in enumerate(domain.sensitive) if name not in domain.hidden]
    kinds = np.unique(members[:, visible], axis=0, return_inverse=True)[1].reshape(-1, 1).repeat(n, axis=1)
    for codes in seen:
        ids = np.unique(codes, return_inverse=True)[1].reshape(codes.shape)
        kinds = np.unique(kinds * (int(ids.max(initial=0)) + 1) + ids, return_inverse=True)[1].reshape(kinds.shape)
    return kinds
