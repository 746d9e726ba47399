"""Cases with one or two parameters moved to another plausible value, while the others stay.

Values are taken from other inputs: drawn from the density, real rows, or inputs of the domain. Linked columns move by
role: the other input is seen with the case's own sensitive values, so that a woman gets "Wife" from a husband.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.domain import Domain
from fairprobe.domain.families import comparable
from fairprobe.domain.values import is_missing, plain
from fairprobe.explanation.evidence import Evidence

if TYPE_CHECKING:
    import pandas as pd

N_OTHERS = 50_000
"""Number of inputs that values are taken from: so large that chance hardly matters. Chosen."""

MOST_ROUNDS = 16
"""Number of times that another value is drawn where one is not allowed. Chosen."""

PLAUSIBLE = 0.05
"""Smallest plausibility of a moved case, unless the population gives one, or the case itself is less plausible."""

SOURCES = {"density": "the density", "rows": "the rows", "domain": "all values alike"}
"""By source of values, its name in a sentence."""

MOST_POINTS = 24
"""Largest number of values of a curve. Chosen."""


class Moved(NamedTuple):
    """Cases at other values: one row for each move."""

    case: Codes
    """Number of the case that was moved; moves of one case stand together."""
    codes: Codes

    def by_turn(self, n_cases: int, n_turns: int) -> Codes:
        """By case and turn, the number of the move; -1 where there is none."""
        table = np.full((n_cases, n_turns), -1, dtype=np.int64)
        numbers = np.arange(len(self.case))
        table[self.case, numbers - np.searchsorted(self.case, self.case)] = numbers
        return table


class Mover:
    """Moves some cases."""

    def __init__(self, evidence: Evidence, cases: Codes, rng: np.random.Generator) -> None:
        self._evidence = evidence
        self._domain = evidence.domain
        self._families = evidence.domain.families
        self._rng = rng
        self.cases: Codes = self._domain.completed(cases.astype(np.int64))
        self.others, self.source = _others(evidence, rng)
        self.roles = self._families.canonical(self.cases)
        self._places = self._families.place(self.cases)
        self._least: Floats | None = None
        """By case, the smallest log probability that it may have when it is moved."""
        if evidence.density is not None and len(cases):
            floor = evidence.density.floor(evidence.population.min_plausibility or PLAUSIBLE)
            self._least = np.minimum(evidence.density.log_chances(self.cases), floor)

    def moved(self, column: int, n_values: int) -> Moved:
        """Each case at up to `n_values` other values of a parameter; values that are not allowed are drawn again."""
        n = len(self.cases)
        lacks = np.full(n, n_values)
        cases, moved = [np.empty(0, dtype=np.int64)], [self.cases[:0]]
        for _ in range(MOST_ROUNDS):
            case = np.repeat(np.arange(n), lacks)
            if not len(case):
                break
            others = self.others[self._rng.integers(len(self.others), size=len(case))]
            codes, may = self.with_value(case, column, others)
            cases.append(case[may])
            moved.append(codes[may])
            lacks -= np.bincount(case[may], minlength=n)
        case = np.concatenate(cases)
        order = np.argsort(case, kind="stable")
        return Moved(case[order], np.concatenate(moved)[order])

    def with_value(self, case: Codes, column: int, others: Codes) -> tuple[Codes, Mask]:
        """Cases with the value of a parameter that others have, and a mask of those that moved and are allowed."""
        role = self._families.canonical(others)[:, column]
        codes = self.cases[case]
        codes[:, column] = self._families.member(others, self._places[case])[:, column]
        codes = self._domain.completed(codes)
        # A role that does not exist with the case's sensitive values is not taken over.
        taken = self._families.canonical(codes)[:, column]
        may = np.asarray((taken == role) & (role >= 0) & (role != self.roles[case, column]))
        may[may] = self.may_be(case[may], codes[may])
        return codes, may

    def may_be(self, case: Codes, codes: Codes) -> Mask:
        """Boolean mask over moved cases: allowed, plausible and comparable."""
        may = np.asarray(self._domain.allows(codes)).copy()
        if self._least is not None and self._evidence.density is not None and may.any():
            may[may] = self._evidence.density.log_chances(codes[may]) >= self._least[case[may]]
        if not self._families.is_complete and may.any():
            size = self._evidence.oracle.batch_size(len(codes))
            allowed = codes[may]
            members = [self._families.of(allowed[first : first + size]) for first in range(0, len(allowed), size)]
            may[may] = np.concatenate([comparable(each.present, len(each), each.kinds) for each in members])
        return may


def _others(evidence: Evidence, rng: np.random.Generator) -> tuple[Codes, str]:
    """The inputs that values are taken from, and their source."""
    domain = evidence.domain
    if evidence.density is not None:
        return evidence.density.sample_codes(N_OTHERS, rng), "density"
    if evidence.rows is not None:
        rows = evidence.row_codes[domain.contains(evidence.row_codes)]
        if len(rows):
            some = rows if len(rows) <= N_OTHERS else rng.choice(rows, N_OTHERS, replace=False)
            return domain.completed(some), "rows"
    # Rules depend on the whole case, so values are drawn without rules and checked with the case.
    return domain.without_constraints().sample_codes(N_OTHERS, rng), "domain"


# The values of a curve


def along(domain: Domain, column: int, inputs: Codes) -> Codes:
    """One input for each value of a parameter: evenly spread along its order, or the most frequent names."""
    roles, firsts, counts = np.unique(
        domain.families.canonical(inputs)[:, column], return_index=True, return_counts=True
    )
    firsts, counts = firsts[roles >= 0], counts[roles >= 0]
    if domain.parameters[column].wraps:
        return inputs[firsts[np.argsort(-counts, kind="stable")][:MOST_POINTS]]
    firsts = firsts[np.argsort(_shown(*_players(domain, column, inputs[firsts])), kind="stable")]
    points = np.unique(np.linspace(0, len(firsts) - 1, min(MOST_POINTS, len(firsts))).round().astype(np.int64))
    return inputs[firsts[points]]


def values_of(domain: Domain, column: int, inputs: Codes) -> pd.Series[Any]:
    """The values of a parameter: numbers, NaN where missing, or names; in a linked column, those of all members."""
    import pandas as pd

    parameter = domain.parameters[column]
    codes, exist = _players(domain, column, inputs)
    if parameter.is_numeric and not parameter.wraps:
        return pd.Series(parameter.numbers(_shown(codes, exist)))

    def named(codes: Codes) -> Any:
        values = np.asarray(parameter.decode(np.array(list(dict.fromkeys(codes.tolist())))), dtype=object)
        names = ["missing" if is_missing(value) else plain(value) for value in values]
        return names[0] if len(names) == 1 else "/".join(map(str, names))

    return pd.Series([named(each[mask]) for each, mask in zip(codes.T, exist.T, strict=True)], dtype=object)


def _players(domain: Domain, column: int, inputs: Codes) -> tuple[Codes, Mask]:
    """By member and input: its code in a column, and a mask of the codes that have the input's role."""
    if domain.names[column] not in [link.column for link in domain.links]:
        return inputs[None, :, column], np.ones((1, len(inputs)), dtype=bool)
    families = domain.families
    rows = families.members(inputs)
    roles = families.canonical(rows)[:, column].reshape(len(families), -1)
    return rows[:, column].reshape(len(families), -1), roles == families.canonical(inputs)[:, column]


def _shown(codes: Codes, exist: Mask) -> Codes:
    """The code that stands for each input's role: that of the first member that has one."""
    return codes[exist.argmax(axis=0), np.arange(codes.shape[1])]
