"""Figures of single cases: how often another plausible value of a parameter ends a case, and how severe cases are.

All figures are about the given cases. A directed search over-represents some kinds of cases, so the figures do not say
how many people are like them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.blocks import Remark
from fairprobe.domain.families import comparable
from fairprobe.estimation.bounds.clustered import clustered
from fairprobe.explanation.evidence import Evidence
from fairprobe.explanation.finding import CONFIDENCE, Finding, as_json
from fairprobe.model.adapters import adapter_for
from fairprobe.wording import percent

if TYPE_CHECKING:
    import pandas as pd

MOST_JUDGED = 120_000
"""Largest number of inputs judged to measure influence; chosen: at the default budget it leaves most queries to the
other findings."""

N_MOVED, N_VALUES = 200, 4
"""Largest number of cases that are moved, and number of values to which each parameter of a case is moved; chosen."""

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


QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)

MEASURES = {"proba": "probabilities", "score": "scores", "value": "values"}
"""Name in sentences of the numbers whose distance is the severity, by output of the model."""

ROWS_A_CALL = 10_000
"""Largest number of rows sent to the model in one call; chosen: about as many as stay in a core's cache."""

MOST_RANKED = 100
"""Largest number of cases of the ranking that are written to JSON; chosen."""


# Influence


@dataclass(frozen=True, repr=False, eq=False)
class Influence(Finding):
    """How often a case ends, and how its gap changes, when one of its parameters moves to another value."""

    table: pd.DataFrame
    """Table of the effect of moving each parameter alone, the strongest first. `ended` is the fraction of moves that
    end a case, as the mean over cases, with its 95% interval over cases from `low` to `high`. `n_moves` and `n_cases`
    are the numbers of tried moves and of cases that could be moved."""
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
        """Return one sentence on the up to three parameters that end cases most often, or on why none is known."""
        if not self.n_cases:
            return ["No case was moved, so it is not known which parameters end them."]
        said = [
            f"{name} {percent(row.ended)} ({percent(row.low)} to {percent(row.high)})"
            for name, row in self.known.head(3).iterrows()
        ]
        if not said:
            return [f"For none of {self.n_cases:,} cases was there another value to be moved to among those drawn."]
        return [f"Another value (drawn from {SOURCES[self.source]}) ends a case this often: {', '.join(said)}."]


def influence_of(evidence: Evidence, *, n_cases: int = N_MOVED, n_values: int = N_VALUES) -> Influence:
    """Move each free parameter of some cases to other plausible values, and measure the effect.

    Args:
        evidence: the cases and the model.
        n_cases: number of moved cases.
        n_values: number of values to which each parameter of a case is moved.
    """
    wanted = min(n_cases, evidence.n_cases)
    levels = evidence.domain.families.key_levels
    columns = [column for column in evidence.domain.free_columns if levels[column] > 1]
    before = evidence.n_queries
    n, values = _affordable(evidence, wanted, n_values, len(columns))
    health: tuple[Remark, ...] = ()
    if (n, values) != (wanted, n_values):
        text = f"{n:,} of {wanted:,} cases were moved, to {values} of {n_values} values each: the limit on queries"
        health = (Remark("fewer-moves", f"{text} leaves no room for more"),)
    rng = evidence.rng("influence")
    chosen = np.sort(rng.choice(evidence.n_cases, size=n, replace=False))
    mover = Mover(evidence, evidence.cases.codes[chosen], rng)
    table = _by_parameter(mover, columns if n else [], values)
    return Influence(table, n, evidence.n_cases, mover.source, evidence.n_queries - before, health)


def _affordable(evidence: Evidence, n_cases: int, n_values: int, n_columns: int) -> tuple[int, int]:
    """Return (number of cases, number of values for each parameter) that the budget pays for.

    At most `MOST_JUDGED` inputs are judged. If that is too few, both numbers are reduced, the values not below
    `FEWEST_VALUES`.
    """
    wanted = n_cases * n_values * n_columns
    room = min(MOST_JUDGED, evidence.budget.inputs(wanted))
    if wanted <= room:
        return n_cases, n_values
    values = min(n_values, max(FEWEST_VALUES, int(n_values * math.sqrt(room / wanted))))
    return min(n_cases, room // (values * n_columns)), values


def _by_parameter(mover: Mover, columns: Sequence[int], n_values: int) -> pd.DataFrame:
    """Return the table of the effects of moving each parameter alone, the strongest parameter first.

    All moved cases are judged together,
    because each call of a model has a fixed cost.
    """
    import pandas as pd

    moves = [mover.moved(column, n_values) for column in columns]
    every = np.concatenate([mover.cases[:0], *(codes for _, codes in moves)])
    judgement, ends = mover.evidence.judge(every), np.cumsum([len(case) for case, _ in moves])
    rows, each = [], np.split(np.arange(len(every)), ends[:-1]) if moves else ()
    for column, (case, _), which in zip(columns, moves, each, strict=True):
        weights = 1 / np.bincount(case)[case] if len(case) else np.empty(0)  # so that all cases count alike
        fraction, interval, *_ = clustered(~judgement.hits[which], weights, case, CONFIDENCE)
        name = mover.domain.names[column]
        rows.append((name, fraction, *interval, len(case), len(np.unique(case))))
    figures = {"ended": float, "low": float, "high": float, "n_moves": int, "n_cases": int}
    table = pd.DataFrame(rows, columns=["parameter", *figures]).set_index("parameter").astype(figures)
    return table.sort_values("ended", ascending=False, kind="stable", na_position="last")


class Mover:
    """Moves one parameter of given cases to plausible values of other inputs, while the other parameters stay.

    The other inputs are drawn from the density, real rows, or inputs of the domain. A linked column takes the other
    input's role in the words of the case's own sensitive value: from a husband, a woman takes "Wife".
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
        """Move each case to up to `n_values` other values of a parameter; return the cases' positions and the codes.

        The positions are in order. A value that is not allowed is drawn again, up to `MOST_ROUNDS` draws in all. Values
        may repeat.
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
        """Return cases with the value of one column taken from other inputs, and a mask of the usable ones.

        `case` has the positions of the cases, and `others` an input for each. A moved case is usable if it changed and
        is allowed, plausible and comparable.
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
    """Return up to `N_OTHERS` inputs (codes) to take values from, and their source: "density", "rows" or "domain"."""
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


# Severity


@dataclass(frozen=True, repr=False, eq=False)
class Severity(Finding):
    """The distance between the model's outputs for the two twins of each case, with a ranking of the cases by it."""

    measure: str
    """The output whose distance is measured: "proba", "score" or "value"; "label" if the model gives nothing else."""
    gaps: Floats
    """Distance between the model's outputs for the two twins of each given case, in order; NaN for cases that no longer
    hold or that the budget did not reach."""
    quantiles: dict[float, float]
    """Quantiles of the known distances between twins, by their fraction; empty if none is known."""
    ranking: pd.DataFrame
    """The cases in descending order of `product`, which is `severity` times `plausibility` (1 without a density).
    `place` is the position among the given cases."""
    n_queries: int
    """Number of rows sent to the model for other outputs than those compared."""
    health: tuple[Remark, ...] = ()

    json_names: ClassVar = {"gaps": ""}

    def sentences(self) -> list[str]:
        """Return a sentence with the quartiles of the gaps, or on why they are not known."""
        if not len(self.ranking):
            return ["There is no case whose severity was measured."]
        if self.measure == "label":
            return ["The model gives labels only, so some cases cannot be called more severe than others."]
        low, middle, high, most = (self.quantiles[q] for q in (0.25, 0.5, 0.75, 1.0))
        return [
            f"The {MEASURES[self.measure]} of the two twins are {middle:.3g} apart in the median case, {low:.3g} to "
            f"{high:.3g} in half of the cases, and at most {most:.3g}."
        ]

    def jsonable(self) -> dict[str, Any]:
        """Return the figures and the sentences about severity as values for JSON.

        The ranking is cut to the first cases.
        """
        return {**super().jsonable(), "ranking": as_json(self.ranking.head(MOST_RANKED))}


def severity_of(evidence: Evidence) -> Severity:
    """Measure the gap between the two twins of each case, by probabilities or scores if the model has them."""
    import pandas as pd

    output, gaps, n_queries = evidence.output, evidence.cases.gaps.astype(np.float64), 0
    if output == "label":
        adapter = adapter_for(evidence.model)
        output = "proba" if adapter.probabilities else "score" if adapter.scores else "label"
    health: tuple[Remark, ...] = ()
    if output != evidence.output:
        n = evidence.budget.inputs(evidence.n_cases, cost=2)
        if n < evidence.n_cases:
            text = f"the limit on queries leaves room to ask about the scores of {n:,} of {evidence.n_cases:,} cases"
            health = (Remark("fewer-scores", text),)
        case, twin, n_queries = _asked(evidence, output, n)
        gaps = np.abs(case - twin).reshape(n, -1 if n else 1).max(axis=1)
    n = len(gaps)
    of_given = np.full(evidence.n_given, np.nan)
    of_given[evidence.numbers[:n]] = gaps
    plausibility = np.ones(n)
    if evidence.density is not None and n:
        plausibility = evidence.density.plausibility_of(evidence.cases.codes[:n])
    ranking = pd.DataFrame({"place": evidence.numbers[:n], "severity": gaps, "plausibility": plausibility})
    ranking["product"] = gaps * plausibility
    ranking = ranking.sort_values("product", ascending=False, kind="stable", ignore_index=True)
    quantiles = dict(zip(QUANTILES, np.quantile(gaps, QUANTILES).tolist(), strict=True)) if n else {}
    return Severity(output, of_given, quantiles, ranking, n_queries, health)


def _asked(evidence: Evidence, output: str, n: int) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Return the model's output for either twin of the first `n` cases, and the number of rows asked about.

    The three results are the outputs for the cases, those for their twins, and the number.
    """
    ends = evidence.oracle.ends(evidence.cases.take(np.arange(n)))
    if not n:
        return np.zeros(0), np.zeros(0), 0
    with evidence.asker(output=output) as asker:
        case, twin = (
            np.concatenate([asker.ask(codes[i : i + ROWS_A_CALL]) for i in range(0, n, ROWS_A_CALL)])
            for codes in (each.astype(np.int64, copy=False) for each in (ends.case, ends.twin))
        )
    return case, twin, asker.n_queries
