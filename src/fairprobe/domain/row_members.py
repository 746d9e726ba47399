"""The members of real rows: each row as it is, with only what is compared replaced. They are judged as codes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Mask
from fairprobe.domain.derived import Held
from fairprobe.domain.families import compared, kinds_of, seen_of
from fairprobe.domain.links import NONE, RowRoles, plain_values
from fairprobe.domain.parameters import Parameter
from fairprobe.domain.restrictions import Restrictions
from fairprobe.domain.values import in_dtype

if TYPE_CHECKING:
    import pandas as pd

    from fairprobe.domain.domain import Domain


class RowMembers:
    """The members of a batch of real rows, for some sets of sensitive parameters that change.

    A row is a member of its own family even if a constraint forbids it, but not with a sensitive value that is none
    of those compared. Its twins must be allowed. Where only some sensitive parameters change, the others are held at
    the row's own values, whether or not these are compared.
    """

    def __init__(self, domain: Domain, frame: pd.DataFrame, sets: Sequence[Sequence[str]]) -> None:
        self._domain = domain
        self._frame = frame
        self._held: dict[str, Held] = {}
        codes = [self._column(name).codes for name in domain.sensitive]
        levels = [domain[name].levels for name in domain.sensitive]
        self.own: Codes = np.column_stack([np.where(c < n, c, NONE) for c, n in zip(codes, levels, strict=True)])
        """The sensitive codes of each row; NONE where its value is none of those compared."""
        self._changed = [[name in names for name in domain.sensitive] for names in sets]
        self.members = self._needed()
        """The sensitive codes of each member, the combinations first; NONE where the row's own value is held."""

    def _column(self, name: str) -> Held:
        """A column of the rows as codes."""
        if name not in self._held:
            self._held[name] = Held.of(self._domain[name], self._frame[name])
        return self._held[name]

    # Which members there are

    def _needed(self) -> Codes:
        """The combinations, and those that hold a value which is none of them, where a set and a row need it."""
        combinations = self._domain.combinations
        outside = np.asarray((self.own < 0).any(axis=0))
        if not outside.any():
            return combinations
        levels = [[*range(self._domain[name].levels), NONE] for name in self._domain.sensitive]
        every = np.array(list(itertools.product(*levels)), dtype=np.int64)
        holds = every == NONE
        # A member that holds parameters is one where others change, and there are rows to hold.
        needed = np.zeros(len(every), dtype=bool)
        for changed in self._changed:
            needed |= (~holds | (outside & ~np.array(changed))).all(axis=1)
        return np.concatenate([combinations, every[needed & holds.any(axis=1)]])

    @cached_property
    def _is_self(self) -> Mask:
        """By member, then row: which member a row is itself, if its values are compared."""
        return np.asarray((self.members[:, None] == self.own[None]).all(axis=2))

    @cached_property
    def present(self) -> Mask:
        """By member, then row: who is compared in one of the sets, and counts."""
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
        """Which of some members, one after the other, restrictions allow."""
        places, rows = np.nonzero(mask)

        def column(name: str) -> tuple[Parameter, Codes]:
            held = self._column(name)
            return held.parameter, self._codes[name][places, rows] if name in self._codes else held.codes[rows]

        allowed = restrictions.hold(column, len(rows))
        return allowed & restrictions.callables_hold(self.joined(mask)) if restrictions.callables else allowed

    @cached_property
    def kinds(self) -> Codes | None:
        """By member, then row: a number that is the same for members which are the same row to the model."""
        if not self._domain.hidden:
            return None
        seen = [codes for name, codes in self._codes.items() if name not in self._domain.sensitive]
        return kinds_of(seen_of(self.members, self._domain), seen, (len(self.members), len(self._frame)))

    # Their values, as codes

    @cached_property
    def _along(self) -> list[tuple[str, int, RowRoles]]:
        """By link: the linked column, the place of its sensitive parameter, and who plays the roles of the rows."""
        links = self._domain.families.links
        along = [] if links is None else list(links.in_rows(self._column))
        self._held |= {name: roles.column for name, _, roles in along}
        return along

    @cached_property
    def _codes(self) -> dict[str, Codes]:
        """By column that members differ in: the code of each member, by member, then row."""
        codes: dict[str, Codes] = {}
        for name, member in zip(self._domain.sensitive, self.members.T, strict=True):
            codes[name] = np.where(member[:, None] < 0, self._column(name).codes, member[:, None])
        for name, sensitive, roles in self._along:
            member = self.members[:, sensitive]
            played = np.where(member[:, None] < 0, NONE, roles.played[member])
            codes[name] = np.where(played < 0, roles.column.codes, played)
        for column, source in self._domain.derived:
            if self._domain.names[source] in codes:
                name = self._domain.names[column]
                codes[name] = self._derived(name, self._domain.names[source], codes)
        return codes

    def _derived(self, name: str, source: str, codes: dict[str, Codes]) -> Codes:
        """What follows from the source where that is another than the row's; elsewhere the row keeps its own value."""
        derived: Any = self._domain[name]
        distinct, places = np.unique(codes[source], return_inverse=True)
        own, n = self._column(name), len(self._frame)
        both = own.also(derived.of(plain_values(self._column(source).parameter, distinct)))
        self._held[name] = Held(both.parameter, own.codes)
        follows = both.codes[n:][places.reshape(codes[source].shape)]
        return np.where(codes[source] != self._column(source).codes, follows, own.codes)

    # As frames

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

    def joined(self, mask: Mask) -> pd.DataFrame:
        """Some of the members, member after member."""
        return self.as_members(*np.nonzero(mask))

    def twins(self) -> Iterator[tuple[NDArray[np.intp], pd.DataFrame]]:
        """Member after member, the rows that have it as a twin, by number, and their twins."""
        for place, mask in enumerate(self.present & ~self._is_self):
            rows = np.flatnonzero(mask)
            yield rows, self.as_members(np.full(len(rows), place), rows)

    def as_members(self, places: NDArray[np.integer], rows: NDArray[np.integer]) -> pd.DataFrame:
        """Some of the rows, each as a member of its own; a value that is the row's own stays as it is there."""
        changed = self._frame.iloc[rows].reset_index(drop=True)
        for name, codes in self._codes.items():
            column = self._column(name)
            if name in self._domain.sensitive:  # written where it is compared, or else held
                moved = self.members[places, self._domain.sensitive.index(name)] >= 0
            else:
                moved = codes[places, rows] != column.codes[rows]
            if moved.any():
                changed[name] = _with_values(changed[name], moved, column, codes[places, rows])
        return changed


def _with_values(column: pd.Series[Any], moved: Mask, held: Held, codes: Codes) -> pd.Series[Any]:
    """A column with other values in some rows, in its dtype."""
    import pandas as pd

    if moved.all():
        return in_dtype(held.parameter.decode(codes), column.dtype)
    distinct, places = np.unique(codes[moved], return_inverse=True)
    values = column.astype(object).to_numpy(copy=True)
    values[moved] = np.asarray(held.parameter.decode(distinct), dtype=object)[places]
    return in_dtype(pd.Series(values, dtype=object), column.dtype)
