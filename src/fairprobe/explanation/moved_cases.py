"""Cases with one or two parameters moved to another plausible value, while the others stay.

Values are taken from other inputs: drawn from the density, real rows, or inputs of the domain. Linked columns move by
role: the other input is seen with the case's own sensitive values, so that a woman gets "Wife" from a husband.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.domain import Domain
from fairprobe.domain.families import comparable
from fairprobe.explanation.evidence import Evidence

N_OTHERS = 50_000
"""Number of inputs that values are taken from: so large that chance hardly matters. Chosen."""

MOST_ROUNDS = 16
"""Number of times that another value is drawn where one is not allowed. Chosen."""

PLAUSIBLE = 0.05
"""Smallest plausibility of a moved case, unless the population gives one, or the case itself is less plausible."""

SOURCES = {"density": "the density", "rows": "the rows", "domain": "all values alike"}
"""By source of values, its name in a sentence."""


@dataclass(frozen=True)
class Moved:
    """Cases at other values: one row for each move."""

    case: Codes
    """Number of the case that was moved; moves of one case stand together."""
    codes: Codes

    def __len__(self) -> int:
        return len(self.case)

    def by_turn(self, n_cases: int, n_turns: int) -> Codes:
        """By case and turn, the number of the move; -1 where there is none."""
        table = np.full((n_cases, n_turns), -1, dtype=np.int64)
        firsts = np.searchsorted(self.case, self.case)
        table[self.case, np.arange(len(self)) - firsts] = np.arange(len(self))
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
        self._least = self._least_chances()

    def _least_chances(self) -> Floats | None:
        """By case, the smallest log probability that it may have when it is moved."""
        density = self._evidence.density
        if density is None or not len(self.cases):
            return None
        floor = density.floor(self._evidence.population.min_plausibility or PLAUSIBLE)
        return np.minimum(density.log_chances(self.cases), floor)

    def moved(self, column: int, n_values: int) -> Moved:
        """Each case at up to `n_values` other values of a parameter; values that are not allowed are drawn again."""
        n = len(self.cases)
        lacks = np.full(n, n_values)
        cases, moved = [np.empty(0, dtype=np.int64)], [self.cases[:0]]
        for _ in range(MOST_ROUNDS if n else 0):
            case = np.repeat(np.arange(n), lacks)
            if not len(case):
                break
            codes, may = self.with_value(
                case, column, self.others[self._rng.integers(len(self.others), size=len(case))]
            )
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
            may[may] = self._are_comparable(codes[may])
        return may

    def _are_comparable(self, codes: Codes) -> Mask:
        size = self._evidence.oracle.batch_size(len(codes))
        parts = []
        for first in range(0, len(codes), size):
            members = self._families.of(codes[first : first + size])
            parts.append(comparable(members.present, len(members), members.kinds))
        return np.concatenate(parts)


def can_move(domain: Domain) -> list[int]:
    """The positions of the free parameters that have another value."""
    return [column for column in domain.free_columns if domain.families.key_levels[column] > 1]


def _others(evidence: Evidence, rng: np.random.Generator) -> tuple[Codes, str]:
    """The inputs that values are taken from, and their source."""
    domain = evidence.domain
    if evidence.density is not None:
        return evidence.density.sample_codes(N_OTHERS, rng), "density"
    if evidence.rows is not None:
        rows = evidence.row_codes[domain.contains(evidence.row_codes)]
        if len(rows):
            return domain.completed(
                rows if len(rows) <= N_OTHERS else rng.choice(rows, N_OTHERS, replace=False)
            ), "rows"
    # Rules depend on the whole case, so values are drawn without rules and checked with the case.
    return domain.without_constraints().sample_codes(N_OTHERS, rng), "domain"
