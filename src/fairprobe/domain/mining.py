"""Mining: rules that data never, or almost never, break, although independent columns would often break them.

If two columns are independent, then values that a part p and a part q of n rows have occur together in about npq rows.
Where npq is large and next to no such rows are seen, the two values form a rule. There are three kinds of rules:

- two values, or sets of values, do not occur together. A number that stands out (a gain of 0) counts as a value;
- a parameter follows from another one, and is then proposed as a `Derived` parameter;
- one number is never above another one, if the rows end sharply at that bound.

The observed count is compared with the Poisson distribution. Its probability is never smaller than that of the
hypergeometric distribution, which such pairs have. The error is split over all pairs of values that are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.checks import checked_fraction, is_number
from fairprobe.domain.constraints import MAX_LENGTH, Rule, bind, text_of
from fairprobe.domain.derived import Derived
from fairprobe.domain.discretize import joint_counts
from fairprobe.domain.expressions import Formula, joined, leaves_of, names_in, negated
from fairprobe.domain.relations import Candidate, Column, Standard, columns_of, dependencies, orders
from fairprobe.domain.restrictions import Restrictions
from fairprobe.errors import SettingError

if TYPE_CHECKING:
    import pandas as pd

    from fairprobe.domain.domain import Domain

UNSEEN = 0.2
"""Largest expected number of rows of pairs of values that are unseen but too rare for a rule, as a fraction of the
expected rows of forbidden pairs beside them. Below it, these pairs are forbidden too. Chosen."""

MOST_NEAR = 12
"""Largest number of known rules that are checked together for implying another rule; chosen for speed."""


@dataclass(frozen=True)
class MinedRule(Rule):
    """A rule mined from data, which never, or almost never, break it, with the evidence for it.

    >>> MinedRule("gain == 0 or loss == 0", support=100, expected=40.0, n_broken=0).words()
    'gain == 0 or loss == 0: 100 rows, about 40 expected to break it by chance, none does'
    """

    support: int = field(kw_only=True)
    """Number of rows for which the premise of the rule holds (the rows that the rule concerns)."""
    expected: float = field(kw_only=True)
    """Number of rows that would be expected to break the rule if its columns were independent."""
    n_broken: int = field(kw_only=True)
    """Number of rows of the data that break the rule."""
    derived: Derived | None = field(default=None, kw_only=True)
    """The derived parameter, if the rule says that one parameter's value follows from another's; else None."""

    @property
    def names(self) -> frozenset[str]:
        """Return the names of the parameters that the rule compares."""
        return names_in(self.formula)

    def evidence(self) -> str:
        """Return the evidence for the rule in words.

        It has the numbers of rows that the rule concerns, that would break it by chance, and that break it.
        """
        seen = f"{self.n_broken:,} {'does' if self.n_broken == 1 else 'do'}" if self.n_broken else "none does"
        return f"{self.support:,} rows, about {self.expected:,.0f} expected to break it by chance, {seen}"

    def words(self) -> str:
        """Return the mined rule and the evidence for it in one line."""
        return f"{self.text}: {self.evidence()}"

    def __repr__(self) -> str:
        return (
            f"MinedRule({self.text!r}, support={self.support}, expected={self.expected:.1f}, n_broken={self.n_broken})"
        )


def mine(domain: Domain, rows: Any, *, min_expected: float, tolerance: float, error: float) -> list[MinedRule]:
    """Return the rules that the rows (almost) never break, with their evidence; see `Domain.mine_constraints`."""
    standard = _checked(min_expected, tolerance, error)
    frame = domain.rows(rows, called={"X": "rows"}, may_be_empty=True).frame
    if len(frame) < rows_needed(standard.min_expected):
        return []
    follow = dependencies(domain, frame, standard)
    free = [column for column in columns_of(domain, frame) if column.name not in follow]
    rectangles = [_as_candidate(*rectangle) for rectangle in _rectangles(free, standard)]
    candidates = [*follow.values(), *rectangles, *orders(free, standard)]
    return _chosen(domain, frame, candidates, standard)


def rows_needed(min_expected: float) -> int:
    """Return the number of rows needed to find a rule about two values that half of the rows have each.

    `min_expected` is the number of rows that must be expected to break a rule by chance.
    """
    return int(np.ceil(4 * min_expected))


def _checked(min_expected: Any, tolerance: Any, error: Any) -> Standard:
    if not is_number(min_expected) or min_expected < 1:
        raise SettingError.about("min_expected", f"must be a number of at least 1, got {min_expected!r}")
    tolerance = checked_fraction("tolerance", tolerance, from_zero=True)
    return Standard(float(min_expected), tolerance, checked_fraction("error", error))


# Values that do not go together


class _Pair(NamedTuple):
    """Two columns with the number of rows for each pair of atoms (values or ranges), seen and expected by chance."""

    one: Column
    other: Column
    seen: Codes
    expected: Floats

    @classmethod
    def of(cls, one: Column, other: Column) -> _Pair:
        seen = joint_counts(one.atoms, other.atoms, (one.n_atoms, other.n_atoms))
        by_chance = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / max(int(seen.sum()), 1)
        return cls(one, other, seen, by_chance)


def _forbidden(seen: Codes, expected: Floats, standard: Standard, error: float) -> Mask:
    """Return a boolean mask, by pair of atoms, of pairs that rows lack although independent columns would give them."""
    from scipy.special import pdtr

    support = np.minimum.outer(seen.sum(axis=1), seen.sum(axis=0))
    rare = (expected >= standard.min_expected) & (seen <= standard.most_broken(support, expected))
    rare[rare] = pdtr(seen[rare], expected[rare]) <= error
    if not rare.any():
        return rare
    return rare | _unseen(seen, expected, rare) | _unseen(seen.T, expected.T, rare.T).T


def _unseen(seen: Codes, expected: Floats, rare: Mask) -> Mask:
    """Return a boolean mask of pairs of atoms that no row has, but that are too rare to be forbidden alone.

    They are forbidden along with others of the same row of the table, if few pairs of this row remain allowed.
    """
    unseen = (seen == 0) & ~rare
    weight = (expected * unseen).sum(axis=1) <= UNSEEN * (expected * rare).sum(axis=1)
    n_left = (~rare & ~unseen).sum(axis=1)
    return unseen & (weight & (n_left <= rare.sum(axis=1)))[:, None]


def _rectangles(columns: Sequence[Column], standard: Standard) -> Iterator[tuple[_Pair, Mask, Mask]]:
    """Yield triples of two columns and a set of atoms (values or ranges) of each.

    No rows, or almost none, have an atom of both sets, although independent columns would give such rows.
    """
    pairs = [_Pair.of(one, other) for one, other in combinations(columns, 2)]
    n_looked_at = sum(int((pair.expected >= standard.min_expected).sum()) for pair in pairs)
    for pair in pairs:
        forbidden = _forbidden(pair.seen, pair.expected, standard, standard.error / max(n_looked_at, 1))
        for some, others in _kept(pair, forbidden, standard):
            if pair.expected[np.ix_(some, others)].sum() >= standard.min_expected:
                yield pair, some, others


def _kept(pair: _Pair, forbidden: Mask, standard: Standard) -> Iterator[tuple[Mask, Mask]]:
    """Yield the rectangles (set of atoms of one column, set of the other's) of forbidden pairs that the rows keep.

    A rectangle that too many rows break is cut into its unseen part and single cells.
    """
    for some, others in _cover(forbidden, pair.expected):
        cells = np.ix_(some, others)
        support = min(pair.seen[some].sum(), pair.seen[:, others].sum())
        if pair.seen[cells].sum() <= standard.most_broken(support, pair.expected[cells].sum()):
            yield some, others
            continue
        part = np.outer(some, others)
        yield from _cover(part & (pair.seen == 0), pair.expected)
        for row, column in np.argwhere(part & (pair.seen > 0)).tolist():
            yield np.arange(len(some)) == row, np.arange(len(others)) == column


def _cover(forbidden: Mask, weight: Floats) -> Iterator[tuple[Mask, Mask]]:
    """Yield rectangles (mask of rows, mask of columns) that together cover exactly the forbidden cells of a table.

    The heaviest rectangle comes first.
    """
    left = forbidden.copy()
    while left.any():
        open_weight = weight * left
        rectangles = [*_around(forbidden, left), *((some, others) for others, some in _around(forbidden.T, left.T))]
        weights = [float(open_weight[np.ix_(*rectangle)].sum()) for rectangle in rectangles]
        best = rectangles[int(np.argmax(weights))]
        yield best
        left[np.ix_(*best)] = False


def _around(forbidden: Mask, left: Mask) -> Iterator[tuple[Mask, Mask]]:
    """Yield, for each row of a table with cells left, a rectangle of forbidden cells: masks of rows and columns.

    Its columns are those that are forbidden in the row, and its rows are all rows where these columns are forbidden.
    """
    for row in np.unique(forbidden[left.any(axis=1)], axis=0):
        yield np.asarray(forbidden[:, row].all(axis=1)), row


def _as_candidate(pair: _Pair, some: Mask, others: Mask) -> Candidate:
    """Return the rule that forbids two sets of atoms together: the premise first, then the conclusion."""
    sides = sorted([(pair.one, some), (pair.other, others)], key=lambda side: _place(*side))
    (premise, is_premise), (conclusion, is_excluded) = sides
    parts = premise.literal(is_premise, prefer_allowed=False), conclusion.literal(is_excluded, prefer_allowed=True)
    expected = float(pair.expected[np.ix_(some, others)].sum())
    return Candidate(joined("or", parts), int(premise.counts[is_premise].sum()), expected)


def _place(column: Column, forbidden: Mask) -> tuple[bool, int]:
    """Return a sort key for the two sides of a rule, given as a column and its forbidden atoms.

    The conclusion is a numeric column, or the side with fewer allowed than forbidden atoms, or else the one with more
    rows.
    """
    if column.numbers is not None:
        return True, 0
    return bool(forbidden.sum() >= (~forbidden).sum()), int(column.counts[forbidden].sum())


# Which to keep


def _chosen(
    domain: Domain, frame: pd.DataFrame, candidates: Sequence[Candidate], standard: Standard
) -> list[MinedRule]:
    """Return the candidate rules that rows keep and other rules do not imply, as rules with their evidence.

    Rules with a sensitive parameter come last.
    """
    sensitive = set(domain.sensitive)
    order = sorted(candidates, key=lambda c: (bool(names_in(c.formula) & sensitive), c.derived is None, -c.expected))
    kept: list[MinedRule] = []
    known = [bind(rule, domain.parameters) for rule in domain.constraints if isinstance(rule, Rule)]
    for candidate in order:
        text = text_of(candidate.formula)
        if len(text) > MAX_LENGTH:
            continue
        rule = Rule(text, parameters=domain.parameters)
        formula, n_broken = bind(rule, domain.parameters), int((~rule.matches(frame)).sum())
        may_break = standard.most_broken(candidate.support, candidate.expected)
        if n_broken <= may_break and not _is_implied(domain, known, formula):
            known.append(formula)
            evidence: dict[str, Any] = {**candidate._asdict(), "n_broken": n_broken}
            evidence.pop("formula")
            kept.append(MinedRule(text, parameters=domain.parameters, **evidence))
    return kept


def _is_implied(domain: Domain, known: Sequence[Formula], formula: Formula) -> bool:
    """Return True if the known rules of a domain are found to imply a formula."""
    if formula in known or _compares_two(formula):
        return formula in known
    names = names_in(formula)
    near = [rule for rule in known if names_in(rule) & names and not _compares_two(rule)]
    nearest = sorted(near, key=lambda rule: -len(names_in(rule) & names))[:MOST_NEAR]
    return bool(near) and Restrictions(domain.parameters, [*nearest, negated(formula)], ()).n == 0


def _compares_two(formula: Formula) -> bool:
    """Return True if a formula compares parameters with each other, which makes tables of states slow."""
    return any(len(names_in(leaf)) > 1 for leaf in leaves_of(formula))
