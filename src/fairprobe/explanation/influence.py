"""Influence of parameters: how often a case ends if one of its parameters moves to another plausible value.

All figures are about the given cases. A directed search over-represents some kinds of cases, so the figures do not say
how many people are like them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.blocks import Remark
from fairprobe.checks import checked_count
from fairprobe.domain.families import comparable
from fairprobe.estimation.bounds.clustered import clustered
from fairprobe.explanation.evidence import Evidence
from fairprobe.explanation.finding import Finding, draw_bars
from fairprobe.wording import percent

if TYPE_CHECKING:
    import pandas as pd

MOST_JUDGED = 120_000
"""Largest number of inputs judged to measure influence; chosen: at the default budget it leaves most queries to the
other findings."""

CONFIDENCE = 0.95
"""Confidence of the intervals over cases; chosen."""

MOST_BARS = 30
"""Largest number of parameters in the drawing of influences; chosen."""

FEWEST_VALUES = 2
"""Smallest number of values to which each parameter of a case is moved; chosen. A smaller budget reduces the number of
cases instead."""

N_OTHERS = 50_000
"""Number of inputs from which new values are taken; chosen large enough to make sampling noise negligible."""

MOST_ROUNDS = 16
"""Largest number of draws of a new value for a case while the drawn ones are not allowed; chosen."""

PLAUSIBLE = 0.05
"""Smallest plausibility of a moved case, unless the population sets one or the case itself is less plausible;
chosen."""

SOURCES = {"density": "the density", "rows": "the rows", "domain": "all values alike"}
"""Words for the source of new values in sentences, by name of the source."""


@dataclass(frozen=True, repr=False, eq=False)
class Influence(Finding):
    """How often a case ends, and how its gap changes, when one of its parameters moves to another value."""

    table: pd.DataFrame
    """Table of the effect of moving each parameter alone, the strongest first. `ended` is the fraction of moves that
    end a case, as the mean over cases, with its 95% interval over cases from `low` to `high`. `change` is the mean
    change of the gap. `n_moves` and `n_cases` are the numbers of tried moves and of cases that could be moved."""
    n_cases: int
    """Number of cases that were moved to other values."""
    n_given: int
    """Number of cases from which the moved ones were drawn."""
    source: str
    """Source of the new values of parameters: "density", "rows" or "domain"."""
    n_queries: int
    health: tuple[Remark, ...] = ()

    json_names: ClassVar = {"table": "parameters"}

    @property
    def known(self) -> pd.DataFrame:
        """The rows of the table whose parameter could be moved in at least one case."""
        return self.table[self.table["n_moves"] > 0]

    def sentences(self) -> list[str]:
        """Return a sentence on the parameters that end cases most often."""
        if not self.n_cases:
            return ["No case was moved, so it is not known which parameters end them."]
        said = [
            f"{name} {percent(row.ended)} ({percent(row.low)} to {percent(row.high)})"
            for name, row in self.known.head(3).iterrows()
        ]
        if not said:
            return [f"For none of {self.n_cases:,} cases was there another value to be moved to among those drawn."]
        return [f"Another value (drawn from {SOURCES[self.source]}) ends a case this often: {', '.join(said)}."]

    def plot(self, path: str | PathLike[str]) -> None:
        """Draw how often each parameter ends a case as a bar chart, and write it to an SVG file."""
        bars = self.known.head(MOST_BARS).rename(columns={"ended": "value"})
        left_out = len(self.table) - len(bars)
        aside = f"; {left_out:,} more parameters are not shown" if left_out else ""
        title = f"What ends {self.n_cases:,} cases: one parameter moved to another value, by {SOURCES[self.source]}"
        draw_bars(path, bars, f"{title}{aside}", "moves that end a case, with the 95% interval over cases")


def influence_of(evidence: Evidence, *, n_cases: int = 300, n_values: int = 8) -> Influence:
    """Move each free parameter of some cases to other plausible values, and measure the effect.

    Args:
        evidence: the cases and the model.
        n_cases: number of moved cases.
        n_values: number of values to which each parameter of a case is moved.
    """
    wanted = min(checked_count("n_cases", n_cases, at_least=1), evidence.n_cases)
    levels = evidence.domain.families.key_levels
    columns = [column for column in evidence.domain.free_columns if levels[column] > 1]
    before = evidence.n_queries
    n, values = _affordable(evidence, wanted, checked_count("n_values", n_values, at_least=1), len(columns))
    health: tuple[Remark, ...] = ()
    if (n, values) != (wanted, n_values):
        text = f"{n:,} of {wanted:,} cases were moved, to {values} of {n_values} values each: the limit on queries"
        health = (Remark("fewer-moves", f"{text} leaves no room for more"),)
    rng = evidence.rng("influence")
    chosen = np.sort(rng.choice(evidence.n_cases, size=n, replace=False))
    mover = Mover(evidence, evidence.cases.codes[chosen], rng)
    table = _by_parameter(mover, columns if n else [], values, evidence.cases.gaps[chosen])
    return Influence(table, n, evidence.n_cases, mover.source, evidence.n_queries - before, health)


def _affordable(evidence: Evidence, n_cases: int, n_values: int, n_columns: int) -> tuple[int, int]:
    """Return (number of cases, number of values for each parameter) that the budget pays for; it may reduce both."""
    wanted = n_cases * n_values * n_columns
    room = min(MOST_JUDGED, evidence.budget.inputs(wanted, part=0.5))
    if wanted <= room:
        return n_cases, n_values
    values = min(n_values, max(FEWEST_VALUES, int(n_values * math.sqrt(room / wanted))))
    return min(n_cases, room // (values * n_columns)), values


def _by_parameter(mover: Mover, columns: Sequence[int], n_values: int, gaps: Floats) -> pd.DataFrame:
    """Return the table of the effects of moving each parameter alone, the strongest parameter first.

    `gaps` are those of the cases before they are moved. All moved cases are judged in one go, as each call of a model
    has a fixed cost, and equal ones once.
    """
    import pandas as pd

    moves = [mover.moved(column, n_values) for column in columns]
    every = np.concatenate([mover.cases[:0], *(codes for _, codes in moves)])
    unique, back = np.unique(every, axis=0, return_inverse=True)
    judgement, back = mover.evidence.judge(unique), back.reshape(-1)
    ends = np.cumsum([len(case) for case, _ in moves])
    rows = []
    for column, (case, _), which in zip(columns, moves, np.split(back, ends[:-1]) if moves else (), strict=True):
        weights = 1 / np.bincount(case)[case] if len(case) else np.empty(0)  # so that all cases count alike
        fraction, interval, *_ = clustered(~judgement.hits[which], weights, case, CONFIDENCE)
        changes = judgement.gaps[which] - gaps[case]
        change = float(np.average(changes, weights=weights)) if len(case) else math.nan
        name = mover.domain.names[column]
        rows.append((name, fraction, *interval, change, len(case), len(np.unique(case))))
    figures = {"ended": float, "low": float, "high": float, "change": float, "n_moves": int, "n_cases": int}
    table = pd.DataFrame(rows, columns=["parameter", *figures]).set_index("parameter").astype(figures)
    return table.sort_values(["ended", "change"], ascending=[False, True], kind="stable", na_position="last")


class Mover:
    """Moves of one parameter of given cases to another plausible value, while the others stay.

    Values are taken from other inputs: drawn from the density, real rows, or inputs of the domain. Linked columns move
    by role: a woman takes from a husband the value "Wife", which plays his role under her sensitive value.
    """

    def __init__(self, evidence: Evidence, cases: Codes, rng: np.random.Generator) -> None:
        self.evidence = evidence
        self.domain = evidence.domain
        self._families = evidence.domain.families
        self._rng = rng
        self.cases: Codes = self.domain.completed(cases.astype(np.int64))
        self.others, self.source = _others(evidence, rng)
        self._roles = self._families.canonical(self.cases)
        self._places = self._families.place(self.cases)
        self._least: Floats | None = None
        """Smallest log probability that each case may have after a move; None without a density."""
        if evidence.density is not None and len(cases):
            floor = evidence.density.floor(evidence.population.min_plausibility or PLAUSIBLE)
            self._least = np.minimum(evidence.density.log_chances(self.cases), floor)

    def moved(self, column: int, n_values: int) -> tuple[Codes, Codes]:
        """Move each case to up to `n_values` other values of a parameter; values that are not allowed are drawn again.

        Returns the number of the case by move, in order, and the moved cases.
        """
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
        return case[order], np.concatenate(moved)[order]

    def with_value(self, case: Codes, column: int, others: Codes) -> tuple[Codes, Mask]:
        """Return cases with the value of one column replaced by that of other inputs, one per case.

        The second result is a boolean mask of the cases that changed and are allowed, plausible and comparable.
        """
        role = self._families.canonical(others)[:, column]
        codes = self.cases[case]
        codes[:, column] = self._families.member(others, self._places[case])[:, column]
        codes = self.domain.completed(codes)
        # A role that does not exist with the case's sensitive values is not taken over.
        taken = self._families.canonical(codes)[:, column]
        may = np.asarray((taken == role) & (role >= 0) & (role != self._roles[case, column]))
        may[may] = self.domain.allows(codes[may])
        if self._least is not None and self.evidence.density is not None and may.any():
            may[may] = self.evidence.density.log_chances(codes[may]) >= self._least[case[may]]
        if not self._families.is_complete and may.any():
            may[may] = self._are_comparable(codes[may])
        return codes, may

    def _are_comparable(self, codes: Codes) -> Mask:
        """Return a boolean mask of inputs, given as codes: True where an input is comparable."""
        size = self.evidence.oracle.batch_size(len(codes))
        members = [self._families.of(codes[first : first + size]) for first in range(0, len(codes), size)]
        return np.concatenate([comparable(each.present, len(each), each.kinds) for each in members])


def _others(evidence: Evidence, rng: np.random.Generator) -> tuple[Codes, str]:
    """Return the inputs (codes) that new values are taken from, and their source: "density", "rows" or "domain"."""
    domain = evidence.domain
    if evidence.density is not None:
        return evidence.density.sample_codes(N_OTHERS, rng), "density"
    if evidence.rows is not None:
        rows = evidence.rows.nearest_codes
        rows = rows[domain.contains(rows)]
        if len(rows):
            some = rows if len(rows) <= N_OTHERS else rng.choice(rows, N_OTHERS, replace=False)
            return domain.completed(some), "rows"
    # Rules depend on the whole case, so values are drawn without rules and checked with the case.
    return domain.without_constraints().sample_codes(N_OTHERS, rng), "domain"
