"""How often another value of a parameter ends a case, which pairs of parameters act together, and how the gap varies.

All figures are of the cases given. A directed search finds cases in proportions of its own, so the figures do not say
how many people are like them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.blocks import Remark
from fairprobe.checks import checked_count
from fairprobe.estimation.bounds.clustered import clustered
from fairprobe.explanation.curve_values import MOST_POINTS, along, values_of
from fairprobe.explanation.evidence import Evidence
from fairprobe.explanation.finding import Finding, figures_of, records, remarks_of
from fairprobe.explanation.moved_cases import SOURCES, Moved, Mover, can_move
from fairprobe.wording import percent

if TYPE_CHECKING:
    import pandas as pd

MOST_JUDGED = 120_000
"""Largest number of inputs judged: at the default budget it leaves most queries to the other parts. Chosen."""

CONFIDENCE = 0.95

N_PAIRED = 6
"""Number of the strongest parameters of which all pairs are tried. Chosen."""

N_CURVES = 4
"""Number of the strongest parameters along which the gap is followed. Chosen."""

FEWEST_VALUES = 2
"""Smallest number of values of a parameter: with fewer queries, fewer cases are moved. Chosen."""


@dataclass(frozen=True, repr=False, eq=False)
class Influence(Finding):
    """The effect of moving a parameter of the cases to another value while the others stay."""

    table: pd.DataFrame
    """By parameter, the strongest first: `ended` is the fraction of moves that end a case, as the mean over cases, with
    its 95% interval from `low` to `high` over cases, for each parameter by itself; `change` is the mean change of the
    gap; `n_moves` and `n_cases` are the moves tried and the cases that could be moved."""
    pairs: pd.DataFrame
    """Pairs of the strongest parameters: `ended` by moving both at once; `expected`, where either of the two moves
    alone ends the case; `beyond`, their difference with its interval. The farthest from 0 come first."""
    curves: dict[str, pd.DataFrame]
    """By parameter, the strongest first, a row for each `value`: the fraction of cases that are `still` one there,
    their mean `gap`, and `n`, the number of cases that may have that value."""
    n_cases: int
    """Cases that were moved."""
    n_given: int
    """Cases that they were drawn from."""
    source: str
    """The source of other values: density, rows or domain."""
    output: str
    threshold: float
    n_queries: int
    health: tuple[Remark, ...] = ()

    def sentences(self) -> list[str]:
        """The parameters that end cases most often, and the pair that does most together."""
        if not self.n_cases:
            return ["No case was moved, so it is not known which parameters end them."]
        known = self.table[self.table["n_moves"] > 0]
        if not len(known):
            return [f"For none of {self.n_cases:,} cases was there another value to be moved to among those drawn."]
        said = [
            f"{name} {percent(row.ended)} ({percent(row.low)} to {percent(row.high)})"
            for name, row in known.head(3).iterrows()
        ]
        lines = [f"Another value (drawn from {SOURCES[self.source]}) ends a case this often: {', '.join(said)}."]
        strong = self.pairs[(self.pairs["low"] > 0) | (self.pairs["high"] < 0)]
        if len(strong):
            pair = strong.iloc[0]
            lines.append(
                f"{pair['first']} and {pair['second']} act together: moved at once they end {percent(pair['ended'])} "
                f"of the cases; {percent(pair['expected'])} would be expected if they acted apart."
            )
        return lines

    def shown_table(self) -> pd.DataFrame:
        """The parameters, the strongest first."""
        return self.table.reset_index()

    def plot(self, path: str | PathLike[str]) -> None:
        """Draw how often each parameter ends a case, as SVG."""
        from fairprobe.explanation.plots import draw_influence

        draw_influence(self, path, SOURCES[self.source])

    def plot_curves(self, path: str | PathLike[str]) -> None:
        """Draw the gap along the strongest parameters, as SVG."""
        from fairprobe.explanation.plots import draw_curves

        draw_curves(self, path)

    def jsonable(self) -> dict[str, Any]:
        """The figures and the sentences as plain values of JSON."""
        return {
            **figures_of(self, ("n_cases", "n_given", "source", "output", "threshold", "n_queries")),
            "parameters": records(self.table.reset_index()),
            "pairs": records(self.pairs),
            "curves": {name: records(curve) for name, curve in self.curves.items()},
            "health": remarks_of(self.health),
            "sentences": self.sentences(),
        }


def influence_of(evidence: Evidence, *, n_cases: int = 300, n_values: int = 8) -> Influence:
    """Move each free parameter of some cases to other values that are plausible, and see what becomes of them.

    Args:
        evidence: the cases and the model.
        n_cases: how many of them are moved.
        n_values: to how many values each parameter of a case is moved.
    """
    wanted = min(checked_count("n_cases", n_cases, at_least=1), evidence.n_cases)
    columns = can_move(evidence.domain)
    before = evidence.oracle.asker.n_queries
    n, values = _affordable(evidence, wanted, checked_count("n_values", n_values, at_least=1), len(columns))
    rng = evidence.rng("influence")
    chosen = np.sort(rng.choice(evidence.n_cases, size=n, replace=False))
    mover = Mover(evidence, evidence.cases.codes[chosen], rng)
    trial = _Trial(evidence, mover, evidence.cases.gaps[chosen], values)
    table = trial.singles(columns if n else [])
    order = [evidence.domain.names.index(name) for name, n_moves in table["n_moves"].items() if n_moves]
    return Influence(
        table=table,
        pairs=trial.pairs(order[:N_PAIRED]),
        curves=trial.curves(order[:N_CURVES]),
        n_cases=n,
        n_given=evidence.n_cases,
        source=mover.source,
        output=evidence.oracle.asker.output,
        threshold=evidence.oracle.threshold,
        n_queries=evidence.oracle.asker.n_queries - before,
        health=_remarks(evidence, (wanted, n), (n_values, values)),
    )


def _affordable(evidence: Evidence, n_cases: int, n_values: int, n_columns: int) -> tuple[int, int]:
    """How many cases and values of each parameter the budget is enough for: fewer of both, where it is small."""
    n_pairs = math.comb(min(N_PAIRED, n_columns), 2)

    def a_case(values: int) -> int:
        return max(1, values * (n_columns + n_pairs) + MOST_POINTS * min(N_CURVES, n_columns))

    wanted = n_cases * a_case(n_values)
    room = min(MOST_JUDGED, evidence.budget.inputs(wanted, part=0.5))
    if wanted <= room:
        return n_cases, n_values
    values = min(n_values, max(FEWEST_VALUES, int(n_values * math.sqrt(room / wanted))))
    return min(n_cases, room // a_case(values)), values


def _remarks(evidence: Evidence, cases: tuple[int, int], values: tuple[int, int]) -> tuple[Remark, ...]:
    """The remark that fewer cases, or values, than wanted were moved."""
    if cases[0] == cases[1] and values[0] == values[1]:
        return ()
    why = f"so that {MOST_JUDGED:,} inputs at most are judged"
    if evidence.budget.n_left is not None:
        why = "as the limit on queries leaves no room for more"
    text = f"{cases[1]:,} of {cases[0]:,} cases were moved, to {values[1]} of {values[0]} values each, {why}"
    return (Remark("fewer-moves", text),)


class _Trial:
    """Some cases, moved and judged."""

    def __init__(self, evidence: Evidence, mover: Mover, gaps: Floats, n_values: int) -> None:
        self._evidence = evidence
        self._domain = evidence.domain
        self._mover = mover
        self._gaps = gaps
        self._n_values = n_values
        self._moved: dict[int, Moved] = {}
        self._ended: dict[int, Mask] = {}

    def _judge(self, parts: Sequence[Codes]) -> Iterator[tuple[Mask, Floats]]:
        """By part, which moved cases are none any more, and their gaps.

        All parts at once, as a call may cost more than its rows; inputs that are the same are asked about once.
        """
        unique, back = np.unique(np.concatenate([self._mover.cases[:0], *parts]), axis=0, return_inverse=True)
        judgement = self._evidence.judge(unique)
        back = back.reshape(-1)
        first = 0
        for part in parts:
            rows = back[first : first + len(part)]
            first += len(part)
            yield ~judgement.hits[rows], judgement.gaps[rows]

    def singles(self, columns: list[int]) -> pd.DataFrame:
        """Each parameter alone, the strongest first."""
        import pandas as pd

        self._moved = {column: self._mover.moved(column, self._n_values) for column in columns}
        rows = []
        judged = self._judge([moved.codes for moved in self._moved.values()])
        for (column, moved), (ended, gaps) in zip(self._moved.items(), judged, strict=True):
            self._ended[column] = ended
            fraction, (low, high), *_ = clustered(ended, _equal_cases(moved.case), moved.case, CONFIDENCE)
            change = _mean_by_case(gaps - self._gaps[moved.case], moved.case)
            n_cases = len(np.unique(moved.case))
            rows.append((self._domain.names[column], fraction, low, high, change, len(moved), n_cases))
        names = ["parameter", "ended", "low", "high", "change", "n_moves", "n_cases"]
        table = pd.DataFrame(rows, columns=names).set_index("parameter")
        return table.astype({name: int if name.startswith("n_") else float for name in names[1:]}).sort_values(
            ["ended", "change"], ascending=[False, True], kind="stable", na_position="last"
        )

    def pairs(self, columns: list[int]) -> pd.DataFrame:
        """Two parameters at once, at the values that each was moved to alone: those that do most together first."""
        import pandas as pd

        tried = [(*pair, *self._both(*pair)) for pair in combinations(columns, 2)]
        tried = [each for each in tried if len(each[2])]
        rows = []
        for (first, second, case, _, alone), (ended, _) in zip(tried, self._judge([t[3] for t in tried]), strict=True):
            means = [_mean_by_case(part.astype(np.float64), case) for part in (ended, alone)]
            interval = _interval(ended.astype(np.float64) - alone, case)
            names = (self._domain.names[first], self._domain.names[second])
            rows.append((*names, *means, means[0] - means[1], *interval, len(case)))
        columns_of = ["first", "second", "ended", "expected", "beyond", "low", "high", "n_moves"]
        return pd.DataFrame(rows, columns=columns_of).sort_values(
            "beyond", key=lambda beyond: -beyond.abs(), kind="stable", ignore_index=True
        )

    def _both(self, first: int, second: int) -> tuple[Codes, Codes, Mask]:
        """Cases with two parameters moved, by turns: which, what they become, and whether either alone ends them.

        The values were drawn apart, so where either alone ends a case is what both would do if they acted apart.
        """
        moved = (self._moved[first], self._moved[second])
        turns = [each.by_turn(len(self._mover.cases), self._n_values) for each in moved]
        case, turn = np.nonzero((turns[0] >= 0) & (turns[1] >= 0))
        one, other = (each[case, turn] for each in turns)
        codes = moved[0].codes[one]
        codes[:, second] = moved[1].codes[other, second]
        codes = self._domain.completed(codes)
        may = self._mover.may_be(case, codes)
        alone = self._ended[first][one] | self._ended[second][other]
        return case[may], codes[may], alone[may]

    def curves(self, columns: list[int]) -> dict[str, pd.DataFrame]:
        """The cases at one value of a parameter after the other, each where it may be, and where it is anyway."""
        import pandas as pd

        n = len(self._mover.cases)
        tried = []
        for column in columns:
            others = along(self._domain, column, np.concatenate([self._mover.others, self._mover.cases]))
            case = np.tile(np.arange(n), len(others))
            codes, may = self._mover.with_value(case, column, np.repeat(others, n, axis=0))
            roles = self._domain.families.canonical(others)[:, column]
            is_own = self._mover.roles[case, column] == np.repeat(roles, n)
            tried.append((column, others, case, codes[may], may, is_own))
        curves = {}
        judged = self._judge([each[3] for each in tried])
        for (column, others, case, _, may, is_own), (ended, moved_gaps) in zip(tried, judged, strict=True):
            still, gaps = np.ones(len(case)), self._gaps[case]
            still[may], gaps[may] = ~ended, moved_gaps
            counted = (may | is_own).reshape(len(others), n)
            n_at = counted.sum(axis=1)
            sums = [(part.reshape(len(others), n) * counted).sum(axis=1) for part in (still, gaps)]
            frame = pd.DataFrame({"value": values_of(self._domain, column, others)})
            frame["still"], frame["gap"] = (part / np.maximum(n_at, 1) for part in sums)
            frame["n"] = n_at
            curves[self._domain.names[column]] = frame[n_at > 0].reset_index(drop=True)
        return curves


def _equal_cases(case: Codes) -> Floats:
    """A weight for each move, so that cases count alike, however many moves each has."""
    return 1 / np.bincount(case)[case] if len(case) else np.empty(0)


def _mean_by_case(numbers: Floats, case: Codes) -> float:
    """The mean over cases of the mean over each one's moves; of no moves, NaN."""
    return float(np.average(numbers, weights=_equal_cases(case))) if len(case) else math.nan


def _interval(numbers: Floats, case: Codes) -> tuple[float, float]:
    """Of such a mean, of numbers from -1 to 1, by Student's t over cases; one case tells nothing of it."""
    from scipy.special import stdtrit

    counts = np.bincount(case)
    means = np.bincount(case, weights=numbers)[counts > 0] / counts[counts > 0]
    mean, n, error = float(means.mean()), len(means), (1 - CONFIDENCE) / 2
    if n < 2:
        return -1.0, 1.0
    reach = -float(stdtrit(n - 1, error)) * float(means.std(ddof=1)) / math.sqrt(n)
    reach = max(reach, 1 - error ** (1 / n))  # that all cases seen are alike does not show that all others are
    return max(-1.0, mean - reach), min(1.0, mean + reach)
