"""Families: an input and its twins. The only place that knows who is compared with whom.

A family's members are in blocks, one for every combination of the sensitive values that are compared, in domain order.
A member counts only if it exists and is allowed; an input of whose family fewer than two members count, or are
different rows to the model, is not comparable. What changes along with a sensitive value is told by `Links`; without
any, twins differ in the sensitive parameters alone. Whoever can't follow them (a solver, a stand-in) asks `is_plain`
first.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Mask
from fairprobe.domain.links import NONE, Links
from fairprobe.domain.values import in_dtype

if TYPE_CHECKING:
    import pandas as pd

    from fairprobe.domain.boxes import Part
    from fairprobe.domain.domain import Domain


class Families:
    """The families of a domain."""

    def __init__(self, domain: Domain, links: Links | None = None) -> None:
        self._domain = domain
        self._links = links
        self._sensitive = list(domain.sensitive_columns)
        self._along: list[int] = [] if links is None else list(links.columns)
        levels = [range(domain.parameters[column].levels) for column in self._sensitive]
        self.combinations: Codes = np.array(list(itertools.product(*levels)), dtype=np.int64)
        """The sensitive parameters' codes, one member a row, in domain order."""

    @property
    def is_plain(self) -> bool:
        """Whether twins differ in the sensitive parameters alone."""
        return self._links is None

    @property
    def is_complete(self) -> bool:
        """Whether every member of every family counts."""
        return self.is_plain and not self._domain.restrictions and not self._domain.hidden

    @property
    def varying(self) -> tuple[str, ...]:
        """The columns that members may differ in: the sensitive ones, what is linked, what follows from these."""
        changed = {*self._sensitive, *self._along}
        changed |= {column for column, source in self._domain.derived if source in changed}
        others = [name for column, name in enumerate(self._domain.names) if column in changed]
        return tuple(dict.fromkeys([*self._domain.sensitive, *others]))

    @property
    def is_in_boxes(self) -> bool:
        """Whether `parts` can say who is allowed: all are, or what is not is told by rules that have tables."""
        if not self.is_plain or self._domain.hidden or self._domain.derived:
            return False
        return self.is_complete or self._domain.restrictions.n is not None

    def parts(self, most: int) -> list[Part]:
        """By rules that belong together, the boxes of what is not sensitive, each with the members allowed in it.

        Nothing is said of parameters that no rule names. A member is allowed where it is in every part.

        Raises:
            TooManyError: there are more than `most` in a part, or they cannot be told.
        """
        return self._domain.restrictions.parts(self._sensitive, self.combinations, most)

    def __len__(self) -> int:
        """How many members a family has, if all are allowed."""
        return len(self.combinations)

    # Inputs as codes

    def varied(self, codes: Codes) -> list[tuple[int, Codes]]:
        """The columns that members differ in, each with its codes by member, then input (or one for all inputs)."""
        varied = [
            (column, values[:, None]) for column, values in zip(self._sensitive, self.combinations.T, strict=True)
        ]
        if self._links is not None:
            played = self._links.played(self._links.canonical(codes), self.combinations)
            # A member that does not exist keeps the input's own value: `Members.present` leaves it out.
            own = codes[None, :, self._along]
            varied += zip(self._along, np.where(played < 0, own, played).transpose(2, 0, 1), strict=True)
        sources = dict(varied)
        return varied + [(column, sources[source]) for column, source in self._domain.derived if source in sources]

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

    def of(self, codes: Codes) -> Members:
        """The members of a batch of inputs."""
        return Members(self, self._domain.completed(codes))

    # What makes two inputs one

    @cached_property
    def key_levels(self) -> Codes:
        """How many values each column of `canonical` has; a sensitive one has one."""
        levels = self._domain.levels.copy()
        levels[self._sensitive] = 1
        if self._links is not None:
            levels[self._along] = self._links.levels
        return levels

    def canonical(self, codes: Codes) -> Codes:
        """The coordinates that all members share: the same for all of a family, others for any other family.

        Nothing is to be read in the sensitive and the derived columns.
        """
        if self._links is None:
            return codes
        shared = codes.astype(np.int64)
        shared[:, self._along] = self._links.canonical(shared)
        return shared

    def inputs(self, canonical: Codes, places: Codes) -> tuple[Codes, Mask]:
        """The way back: inputs by these coordinates, each as the member at a place of its own, and which there are.

        Where nobody plays a role there, it is the first member that exists.
        """
        codes = canonical.astype(np.int64)
        exist: Mask = np.ones(len(codes), dtype=bool)
        if self._links is not None:
            each = np.arange(len(codes))
            played = self._links.played(codes[:, self._along], self.combinations)
            whole = np.asarray((played >= 0).all(axis=2))
            exist = np.asarray(whole.any(axis=0))
            places = np.where(whole[places, each], places, whole.argmax(axis=0))
            codes[:, self._along] = np.maximum(played[places, each], 0)
        codes[:, self._sensitive] = self.combinations[places]
        return self._domain.completed(codes), exist

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
        if self.is_plain:
            levels[self._sensitive] = 1
        total = math.prod(levels.tolist())
        for first in range(0, total, size):
            index = np.arange(first, min(first + size, total))
            codes = self._domain.completed(np.column_stack(np.unravel_index(index, levels.tolist())).astype(np.int64))
            yield codes if self.is_plain else codes[self._are_first(codes)]

    def _are_first(self, codes: Codes) -> Mask:
        """Which inputs are the first allowed member of their family."""
        present = self.of(codes).allowed
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
        """Which members exist and are allowed, by member, then input; None if all are."""
        return None if self.families.is_complete else self.allowed

    @cached_property
    def allowed(self) -> Mask:
        """The same, also where all are."""
        shape = (len(self.families), len(self.codes))
        allowed = self.families._domain.allows(self.rows).reshape(shape)
        links = self.families._links
        if links is not None:
            allowed &= (links.played(links.canonical(self.codes), self.families.combinations) >= 0).all(axis=2)
        return allowed

    @cached_property
    def kinds(self) -> Codes | None:
        """By member, then input: a number that is the same for members which are the same row to the model.

        None if all differ: only where a sensitive parameter is hidden may two be the same.
        """
        domain = self.families._domain
        if not domain.hidden:
            return None
        shape = (len(self.families), len(self.codes))
        rows = self.rows.reshape(*shape, self.codes.shape[1])
        seen = [rows[:, :, column] for column in self.families._along]
        seen += [domain.parameters[column].value_ids[rows[:, :, column]] for column, _ in domain.derived]  # type: ignore[attr-defined]
        return _kinds(
            _seen_of(self.families.combinations, domain), [np.broadcast_to(part, shape) for part in seen], shape
        )

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


def comparable(present: Mask | None, n: int, kinds: Codes | None = None) -> Mask:
    """Which of n inputs have two members at least that are not the same row to the model."""
    if kinds is not None:
        exists = np.ones(kinds.shape, dtype=bool) if present is None else present
        lowest = np.where(exists, kinds, np.iinfo(np.int64).max).min(axis=0)
        return np.asarray(np.where(exists, kinds, -1).max(axis=0) > lowest)
    return np.ones(n, dtype=bool) if present is None else np.asarray(present.sum(axis=0) >= 2)


def _seen_of(members: Codes, domain: Domain) -> Codes:
    """By member, a number for the sensitive values that the model sees."""
    visible = [place for place in range(members.shape[1]) if place not in domain.hidden_places]
    return np.unique(members[:, visible], axis=0, return_inverse=True)[1].reshape(-1)


def _kinds(members: Codes, seen: Sequence[NDArray[Any]], shape: tuple[int, int]) -> Codes:
    """Numbers that are the same where all of what the model sees is."""
    kinds = np.broadcast_to(members[:, None], shape)
    for part in seen:
        ids = np.unique(part, return_inverse=True)[1].reshape(shape)
        kinds = np.unique(kinds * (int(ids.max(initial=0)) + 1) + ids, return_inverse=True)[1].reshape(shape)
    return kinds


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
        """By member, then row: who is compared in one of the sets, and counts."""
        wanted = np.logical_or.reduce([self.compared(changed) for changed in self._changed])
        wanted &= self._exist()
        is_self = (self.members[:, None] == self.own[None]).all(axis=2)
        ask = wanted & ~is_self
        if self._domain.restrictions and ask.any():
            wanted[ask] = self._domain.allows_frame(self.joined(ask))
        return wanted

    @cached_property
    def kinds(self) -> Codes | None:
        """By member, then row: a number that is the same for members which are the same row to the model."""
        import pandas as pd

        if not self._domain.hidden:
            return None
        shape, everyone = (len(self.members), len(self._frame)), np.arange(len(self._frame))
        seen: list[NDArray[Any]] = []
        for _, sensitive, linked in self._along:
            seen.append(np.stack([linked.values(code) for code in self.members[:, sensitive]]))
        if self._domain.derived:
            frames = [self._as(place, everyone) for place in range(len(self.members))]
            for column, _ in self._domain.derived:
                values = np.concatenate([frame[self._domain.names[column]].astype(object) for frame in frames])
                seen.append(pd.factorize(values)[0].reshape(shape))
        return _kinds(_seen_of(self.members, self._domain), seen, shape)

    @property
    def frame(self) -> pd.DataFrame:
        """The members that are present, member after member."""
        return self.joined(self.present)

    @property
    def index(self) -> pd.Index:
        """That of the rows."""
        return self._frame.index

    def frame_of(self, rows: Codes) -> pd.DataFrame:
        """Some of the rows as they are."""
        return self._frame.iloc[rows]

    def as_members(self, places: Codes, rows: Codes) -> pd.DataFrame:
        """Some of the rows, each as a member of its own."""
        import pandas as pd

        if self._is_plain:
            return self._in_one(places, rows)
        parts = {place: np.flatnonzero(places == place) for place in np.unique(places).tolist()}
        frames = [self._as(place, rows[which]).set_axis(which) for place, which in parts.items()]
        return pd.concat(frames).sort_index()

    def twins(self) -> Iterator[tuple[NDArray[np.intp], pd.DataFrame]]:
        """Member after member, the rows that have it as a twin, by number, and their twins."""
        is_self = (self.members[:, None] == self.own[None]).all(axis=2)
        for place, mask in enumerate(self.present & ~is_self):
            rows = np.flatnonzero(mask)
            yield rows, self._as(place, rows)

    def joined(self, mask: Mask) -> pd.DataFrame:
        """Some of the members, member after member."""
        import pandas as pd

        if self._is_plain:
            return self._in_one(*np.nonzero(mask))
        blocks = [self._as(place, np.flatnonzero(rows)) for place, rows in enumerate(mask) if rows.any()]
        return pd.concat(blocks, ignore_index=True) if blocks else self._frame.iloc[:0]

    @property
    def _is_plain(self) -> bool:
        """Whether only the sensitive values change, and none is held."""
        return not self._along and not self._domain.derived and len(self.members) == len(self._families)

    def _in_one(self, places: NDArray[np.intp], rows: NDArray[np.intp]) -> pd.DataFrame:
        """Some rows, each as a member of its own, where that is plain."""
        changed = self._frame.iloc[rows].reset_index(drop=True)
        for name, codes in zip(self._domain.sensitive, self.members.T, strict=True):
            changed[name] = in_dtype(self._domain[name].decode(codes[places]), changed[name].dtype)
        return changed

    def _as(self, place: int, rows: NDArray[np.intp]) -> pd.DataFrame:
        """Some rows as a member."""
        changed = self._frame.iloc[rows].reset_index(drop=True)
        member = self.members[place]
        moved: dict[str, Any] = {}
        for name, code in zip(self._domain.sensitive, member, strict=True):
            if code >= 0:
                values = self._domain[name].decode(np.full(len(rows), code))
                moved[name] = np.flatnonzero(self.own[rows, self._domain.sensitive.index(name)] != code)
                changed[name] = in_dtype(values, changed[name].dtype)
        for name, sensitive, linked in self._along:
            if member[sensitive] >= 0:
                moved[name], values = linked.changed(member[sensitive], rows)
                self._put(changed, name, moved[name], values)
        for column, source in self._domain.derived:
            derived, name = self._domain.parameters[column], self._domain.names[source]
            if len(moved.get(name, ())):
                values = derived.of(changed[name].iloc[moved[name]].tolist())  # type: ignore[attr-defined]
                self._put(changed, derived.name, moved[name], values)
        return changed

    def _put(self, changed: pd.DataFrame, name: str, rows: NDArray[np.intp], values: Any) -> None:
        """Other values in some rows of a column, in its dtype."""
        import pandas as pd

        if len(rows):
            column = changed[name].astype(object).to_numpy(copy=True)
            column[rows] = np.asarray(values, dtype=object)
            changed[name] = in_dtype(pd.Series(column, dtype=object), self._frame[name].dtype)

    # What changes along

    @cached_property
    def _along(self) -> list[tuple[str, int, Any]]:
        links = self._families._links
        return [] if links is None else links.of_rows(self._frame)

    def _exist(self) -> Mask:
        """Which members have somebody in every role; a row whose values do not go together is none, not even itself."""
        exist = np.ones((len(self.members), len(self._frame)), dtype=bool)
        for _, sensitive, linked in self._along:
            exist &= linked.goes_together[None]
            for member, code in zip(exist, self.members[:, sensitive], strict=True):
                if code >= 0:
                    member &= linked.exists(code)
        return exist


def _holds_only(holds: Sequence[bool], outside: Mask, changed: Sequence[bool]) -> bool:
    """Whether a member that holds these parameters is one where others change, and there are rows to hold."""
    return all(not held or (out and not changes) for held, out, changes in zip(holds, outside, changed, strict=True))


ENUMERABLE = 2_000_000
"""Up to that many inputs a domain with constraints is counted by looking at each."""

BLOCK = 65_536
