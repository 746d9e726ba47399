"""Proposals of links: values that have the same role under different sensitive values.

A value that occurs under some sensitive values and almost never under others (no woman is a Husband) is a player.
Players of different sensitive values are matched by the values of all other columns that occur along with them. A
profile describes a player by lift: how much more common each value of another column is among the player's rows than
among all rows of its sensitive value. Suppose that the lift of Husband among men, applied to women, tells Wives from
other women, and that the reverse holds too. Then the two values play one role.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fairprobe.arrays import Codes, Floats
from fairprobe.checks import checked_fraction
from fairprobe.domain.derived import Derived
from fairprobe.domain.links import Link, plain_values
from fairprobe.domain.parameters import Category, Ordinal, Parameter
from fairprobe.domain.values import as_floats, by_quantiles, joint_counts, numbered

if TYPE_CHECKING:
    import pandas as pd

    from fairprobe.domain.domain import Domain

ALMOST = 0.02
"""Smallest fraction of a value's rows that must have a sensitive value for the two to count as occurring together;
chosen."""
LEAST_ROWS = 20
"""Smallest number of rows with a value, under one sensitive value, for which the value is matched with others;
chosen."""
LIKENESS, LEAST_TOLD = 0.5, 0.2
"""How well a player (a value that occurs with one sensitive value only, such as Husband) and its match must explain
each other's rows, as fractions. The first is the least mean of both directions, the second the least in each.
Chosen."""
DOUBT = 2.0
"""Number of standard errors by which a match of two values must be better than any other match of either; chosen."""
LEAST_GAIN = 0.01
"""Mean log likelihood ratio by which a match of two values must also be better than any other match; chosen."""
WHOLE = 0.98
"""Smallest fraction of the rows of each of two sensitive values that their only player must have to match without a
profile; chosen."""

MOST_GROUPS = 20
"""Largest number of levels of a sensitive parameter for which links are proposed; chosen."""
MOST_VALUES = 1000
"""Largest number of levels of a text column for which a link is proposed; chosen."""
MOST_NUMBERS = 50
"""Largest number of levels of a numeric column for which a link is proposed; chosen."""

N_BINS = 8
"""Number of bins that a profile divides a numeric column into; chosen."""
MOST_KINDS = 30
"""Largest number of common values that a profile distinguishes in a text column; rarer ones are one kind; chosen."""
BY_CHANCE = 0.001
"""P-value, for a column, below which it counts in a player's profile; chosen."""
PRIOR = 20.0
"""Weight, in rows, of the prior that a value is as common among a player's rows as among all rows of its sensitive
value; chosen."""


class Proposals(list[Link]):
    """A list of proposed links to read and edit; `evidence` has the reason for each, as text."""

    def __init__(self, links: Iterable[Link] = (), evidence: Iterable[str] = ()) -> None:
        super().__init__(links)
        self.evidence = tuple(evidence)

    def words(self) -> list[str]:
        """Return a line for each proposed link: the link in words, and the reason for it."""
        return [f"{link.words()}: {why}" for link, why in zip(self, self.evidence, strict=True)]


def propose(domain: Domain, rows: Any, *, error: float, columns: Sequence[str] | None = None) -> Proposals:
    """Return the links that rows suggest, for all columns or only the named ones; see `Domain.propose_links`."""
    error = checked_fraction("error", error)
    frame = domain.rows(rows, called={"X": "rows"}, may_be_empty=True).frame
    tables = [
        _CountTable.of(domain[name], parameter, frame)
        for name in domain.sensitive
        if domain[name].levels <= MOST_GROUPS
        for parameter in _linkable(domain)
        if columns is None or parameter.name in columns
    ]
    n_looked_at = max(1, sum(len(table.seen) for table in tables))
    found = [_matched(table, domain, frame, error / n_looked_at) for table in tables]
    best: dict[str, _Match] = {}
    for match in sorted((each for each in found if each is not None), key=lambda match: -match.strength):
        best.setdefault(match.link.column, match)  # a column may have one link
    kept = [best[name] for name in domain.names if name in best]
    return Proposals([match.link for match in kept], [match.evidence for match in kept])


def _linkable(domain: Domain) -> Iterator[Parameter]:
    """Yield the parameters of a domain that a proposed link can change along with a sensitive value."""
    fixed = {*domain.sensitive, *(link.column for link in domain.links)}
    for own in (parameter.own for parameter in domain.parameters if parameter.name not in fixed):
        most = MOST_VALUES if isinstance(own, (Category, Ordinal)) else MOST_NUMBERS
        if not isinstance(own, Derived) and own.levels <= most:
            yield own


# Who occurs where


@dataclass(frozen=True)
class _CountTable:
    """The number of rows with each value of one column under each value of one sensitive parameter."""

    sensitive: Parameter
    parameter: Parameter
    groups: Codes
    """Code of each row's sensitive value; -1 if it is missing or not compared."""
    values: Codes
    """Code of the column's value in each row; -1 if it is missing, because a missing value plays no role."""
    seen: Codes
    """Number of rows, by code of the column's value, then code of the sensitive value."""

    @classmethod
    def of(cls, sensitive: Parameter, parameter: Parameter, frame: pd.DataFrame) -> _CountTable:
        shape = parameter.levels - parameter.missing, sensitive.levels - sensitive.missing
        values, groups = parameter.encode(frame[parameter.name]), sensitive.encode(frame[sensitive.name])
        values, groups = np.where(values < shape[0], values, -1), np.where(groups < shape[1], groups, -1)
        return cls(sensitive, parameter, groups, values, joint_counts(values, groups, shape))

    def players(self, error: float) -> list[_Player]:
        """Return the players of a column: pairs of a value and a sensitive value with which it occurs.

        A pair is returned only if the value is surely absent under another sensitive value. `error` is the probability
        that a value seems absent although it is independent of the sensitive parameter.
        """
        from scipy.special import pdtr

        n_value, n_group = self.seen.sum(axis=1, keepdims=True), self.seen.sum(axis=0, keepdims=True)
        by_chance = n_value * n_group / max(int(self.seen.sum()), 1)
        occurs = self.seen > ALMOST * n_value
        elsewhere, expected = ((~occurs * counts).sum(axis=1) for counts in (self.seen, by_chance))
        # Which sensitive values are the others is known only afterwards: the error is split over all sets of them.
        surely_not = pdtr(elsewhere, expected) <= error / 2.0 ** self.seen.shape[1]
        plays = occurs & surely_not[:, None] & (self.seen >= LEAST_ROWS)
        return [_Player(value, group) for value, group in np.argwhere(plays).tolist()]


class _Player(NamedTuple):
    """A value of a column and a sensitive value with which it occurs (Husband and Male), both given by their codes."""

    value: int
    group: int


# What goes along with them


@dataclass(frozen=True)
class _Profile:
    """How rows with a player (Husband among men) differ from others of its sensitive value, in the other columns."""

    kinds: Codes
    """Kind (bin or common value) in each other column of the rows with the profile's value, by row, then column. Kinds
    are numbered through over all columns."""
    columns: Codes
    """Number of the column that each kind (bin or common value of a column) belongs to."""
    others: Floats
    """Smoothed fraction with each kind (bin or common value), among the rows with the sensitive value but not the
    profile's value."""
    lift: Floats
    """Log ratio of the fraction of each kind (bin or common value) among the profile's rows to that among the other
    rows. It is 0 in a column that does not set the two apart."""
    free: float
    """Degrees of freedom of the lift: numbers of kinds minus 1, summed over the columns that set the player apart."""
    part: float
    """Fraction of the rows with a sensitive value that have the value of the profile."""

    @classmethod
    def of(cls, table: _CountTable, kinds: Codes, player: _Player) -> _Profile:
        from scipy.special import chdtrc

        n_kinds = kinds.max(axis=0) + 1
        kinds = kinds + np.cumsum(n_kinds) - n_kinds
        columns = np.repeat(np.arange(len(n_kinds)), n_kinds)
        is_group = table.groups == player.group
        rows = np.flatnonzero(is_group & (table.values == player.value))
        n, n_group = len(rows), int(is_group.sum())
        counts, in_group = (
            np.bincount(kinds[which].ravel(), minlength=len(columns)).astype(np.float64) for which in (rows, is_group)
        )
        common = in_group / n_group
        told = counts * np.log(_ratio(counts / n, common))
        free = np.bincount(columns, weights=common > 0) - 1
        by_column = 2 * np.bincount(columns, weights=told)
        # A column that sets the player apart no more than chance would says nothing.
        apart = (free > 0) & (chdtrc(np.maximum(free, 1), np.maximum(by_column, 0.0)) <= BY_CHANCE)
        others = (in_group - counts + PRIOR * common) / (n_group - n + PRIOR)
        lift = np.log(_ratio((counts + PRIOR * common) / (n + PRIOR), others))
        part = float(table.seen[player] / table.seen[:, player.group].sum())
        return cls(kinds[rows], columns, others, np.where(apart[columns], lift, 0.0), float(free[apart].sum()), part)

    def gains(self, by: _Profile) -> Floats:
        """Return, for each row of a player (Husband among men), the log likelihood ratio under another player's lifts.

        It is the log of the row's probability with the lifts of `by` (how much more frequent each kind of value is
        among that player's rows) divided by that without them.
        """
        total = np.bincount(self.columns, weights=self.others * np.exp(by.lift))
        return by.lift[self.kinds].sum(axis=1) - float(np.log(total[total > 0]).sum())

    def likeness(self, gains: Floats) -> float:
        """Return how well another profile explains a player's rows, at most 1: the mean of `gains`, divided by its own.

        The mean gain under the player's own profile is corrected for chance.
        """
        own = float(self.gains(self).mean()) - self.free / (2 * len(self.kinds))
        return min(float(gains.mean()) / own, 1.0) if own > 0 else 0.0


_ByPlayer = Mapping[_Player, _Profile]


def _ratio(share: Floats, common: Floats) -> Floats:
    """Return, for each bin or common value, its fraction of some rows over its common one; 1 where either is 0."""
    return np.divide(share, common, out=np.ones_like(common), where=(common > 0) & (share > 0))


def _kinds_of(domain: Domain, frame: pd.DataFrame, without: Iterable[str]) -> Codes:
    """Return the kind of each row's value in each column to compare, as small integers by row, then column.

    A kind is one of `N_BINS` bins of numbers, or a text value; text values beyond the `MOST_KINDS` most frequent of a
    column are one kind. Derived columns and those named in `without` are left out.
    """
    left_out = {*without, *(p.name for p in domain.parameters if isinstance(p, Derived))}
    kinds = [np.zeros((len(frame), 0), dtype=np.int64)]
    for parameter in domain.parameters:
        if parameter.name in left_out:
            continue
        if parameter.is_numeric:
            numbers = as_floats(frame[parameter.name])
            kinds.append(by_quantiles(np.where(np.isfinite(numbers), numbers, np.nan), N_BINS)[:, None])
        else:
            values = numbered(frame[parameter.name])
            place = np.argsort(np.argsort(-np.bincount(values), kind="stable"))
            kinds.append(np.minimum(place, MOST_KINDS)[values][:, None])
    return np.hstack(kinds)


# Who plays the part of whom


class _Match(NamedTuple):
    link: Link
    evidence: str
    strength: float


@dataclass
class _Role:
    """A role under construction: the players that play it, at most one per sensitive value."""

    players: list[_Player]
    likeness: list[float] = field(default_factory=list)

    def is_open(self, group: int) -> bool:
        """Return True if the role has no player yet under the sensitive value with the given code."""
        return all(player.group != group for player in self.players)


def _matched(table: _CountTable, domain: Domain, frame: pd.DataFrame, error: float) -> _Match | None:
    """Return the link that one column suggests, with its evidence; None if no role has players of two values."""
    players = table.players(error)
    groups = sorted({player.group for player in players}, key=lambda group: -int(table.seen[:, group].sum()))
    if len(groups) < 2:
        return None
    kinds = _kinds_of(domain, frame, [table.sensitive.name, table.parameter.name])
    profiles = {player: _Profile.of(table, kinds, player) for player in players}
    roles: list[_Role] = []
    for group in groups:
        _join(roles, [player for player in players if player.group == group], profiles)
    roles = [role for role in roles if len({player.value for player in role.players}) > 1]
    if not roles:
        return None
    names, values = plain_values(table.sensitive), plain_values(table.parameter)
    link = Link(
        table.parameter.name,
        table.sensitive.name,
        [{names[player.group]: values[player.value] for player in role.players} for role in roles],
    )
    n_rows = sum(int(table.seen[player]) for role in roles for player in role.players)
    return _Match(link, _evidence(roles, table, names, values), float(n_rows))


def _join(roles: list[_Role], players: Sequence[_Player], profiles: _ByPlayer) -> None:
    """Add the values (players) of one more sensitive value to the roles that they play, or begin new roles."""
    left = []
    for player in players:
        own = next((role for role in roles if any(other.value == player.value for other in role.players)), None)
        if own is not None and own.is_open(player.group):
            own.players.append(player)  # the same value under several sensitive values
        else:
            left.append(player)
    open_roles = [role for role in roles if players and role.is_open(players[0].group)]
    for player, role, likeness in _assigned(left, open_roles, profiles):
        role.players.append(player)
        role.likeness.append(likeness)
        left.remove(player)
    roles += [_Role([player]) for player in left]


def _assigned(
    players: Sequence[_Player], roles: Sequence[_Role], profiles: _ByPlayer
) -> list[tuple[_Player, _Role, float]]:
    """Return the best assignment of players to roles, as triples of a player, a role and their likeness (0 to 1).

    A match is left out unless it is clearly better than every other match of the player and of the role.
    """
    from scipy.optimize import linear_sum_assignment

    if not players or not roles:
        return []
    ours, firsts = [profiles[player] for player in players], [profiles[role.players[0]] for role in roles]
    if len(players) == len(roles) == 1 and min(ours[0].part, firsts[0].part) >= WHOLE:
        return [(players[0], roles[0], 1.0)]
    forth = [[own.gains(first) for first in firsts] for own in ours]
    back = [[first.gains(own) for own in ours] for first in firsts]
    total = np.array([[f.sum() + back[j][i].sum() for j, f in enumerate(row)] for i, row in enumerate(forth)])
    found = []
    for i, j in zip(*linear_sum_assignment(np.maximum(total, 0.0), maximize=True), strict=True):
        told = ours[i].likeness(forth[i][j]), firsts[j].likeness(back[j][i])
        is_clear = _is_best(forth[i], j) and _is_best(back[j], i) and min(told) >= LEAST_TOLD
        if is_clear and sum(told) / 2 >= LIKENESS:
            found.append((players[i], roles[j], sum(told) / 2))
    return found


def _is_best(gains: Sequence[Floats], place: int) -> bool:
    """Return True if the mean gain at a place is clearly above zero and above every other mean gain.

    `gains` has, for each possible match, the log likelihood ratio of each row.
    """
    others = [gains[place], *(gains[place] - other for at, other in enumerate(gains) if at != place)]
    return all(float(gain.mean()) > max(DOUBT * float(gain.std()) / np.sqrt(len(gain)), LEAST_GAIN) for gain in others)


def _evidence(roles: Sequence[_Role], table: _CountTable, names: Sequence[Any], values: Sequence[Any]) -> str:
    """Return the evidence for a link's roles in words: where their values occur, and how alike their rows are."""
    texts = []
    for role in roles:
        for player in role.players:
            n = table.seen[player.value].sum()
            texts.append(f"{table.seen[player]:,} of {n:,} rows with {values[player.value]} are {names[player.group]}")
    alike = [likeness for role in roles for likeness in role.likeness]
    if alike:
        texts.append(f"{min(alike):.0%} of what sets one apart in other columns sets its match apart")
    return "; ".join(texts)
