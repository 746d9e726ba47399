"""Cases moved: a parameter of theirs, or several, at another value that is plausible, and all else as it is.

A value is taken from somebody else: an input drawn from the density, a real row, or anybody. What is linked moves by
role: the other is seen as if they had the case's own sensitive values, so that a woman gets a wife's place of a man.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.domain import Domain
from fairprobe.domain.families import comparable
from fairprobe.explanation.evidence import Evidence

N_OTHERS = 50_000
"""Inputs that values are taken from: so many that it hardly matters which they happen to be."""

MOST_ROUNDS = 16
"""So often another value is drawn where one would not do."""

PLAUSIBLE = 0.05
"""As plausible a moved case must be, unless the population says how much, or the case itself is less."""

SOURCES = {"density": "the density", "rows": "the rows", "domain": "all values alike"}
"""Where values are taken from."""


@dataclass(frozen=True)
class Moved:
    """Cases at other values: a row a move."""

    case: Codes
    """Which case was moved, by its number; moves of one case stand together."""
    codes: Codes

    def __len__(self) -> int:
        return len(self.case)

    def by_turn(self, n_cases: int, n_turns: int) -> Codes:
        """By case, then turn: the number of that move; -1 where there is none."""
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
        """By case, how likely it must be when it is moved: the logarithm."""
        density = self._evidence.density
        if density is None or not len(self.cases):
            return None
        floor = density.floor(self._evidence.population.min_plausibility or PLAUSIBLE)
        return np.minimum(density.log_chances(self.cases), floor)

    def moved(self, column: int, n_values: int) -> Moved:
        """Every case at up to so many other values of a parameter, drawn anew where one may not be."""
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
        """Cases with the value of a parameter that others have, and which of them are moved and may be."""
        role = self._families.canonical(others)[:, column]
        codes = self.cases[case]
        codes[:, column] = self._families.member(others, self._places[case])[:, column]
        codes = self._domain.completed(codes)
        # A role that nobody plays with the case's sensitive values is not taken on.
        taken = self._families.canonical(codes)[:, column]
        may = np.asarray((taken == role) & (role >= 0) & (role != self.roles[case, column]))
        may[may] = self.may_be(case[may], codes[may])
        return codes, may

    def may_be(self, case: Codes, codes: Codes) -> Mask:
        """Which moved cases are allowed, plausible, and can be compared."""
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
    """Whom values are taken from, and what they are drawn from."""
    domain = evidence.domain
    if evidence.density is not None:
        return evidence.density.sample_codes(N_OTHERS, rng), "density"
    if evidence.rows is not None:
        rows = evidence.row_codes[domain.contains(evidence.row_codes)]
        if len(rows):
            return domain.completed(
                rows if len(rows) <= N_OTHERS else rng.choice(rows, N_OTHERS, replace=False)
            ), "rows"
    # Whether a value is allowed hangs on the case, so every one is tried: no rule has a say yet.
    return domain.without_constraints().sample_codes(N_OTHERS, rng), "domain"
