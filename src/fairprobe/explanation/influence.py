"""Influence of parameters: how often another value ends a case, which pairs act together, and how the gap varies.

All figures are about the given cases. A directed search over-represents some kinds of cases, so the figures do not say
how many people are like them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.blocks import Remark
from fairprobe.checks import checked_count
from fairprobe.domain.domain import Domain
from fairprobe.domain.families import comparable
from fairprobe.domain.values import is_missing, plain
from fairprobe.estimation.bounds.clustered import clustered
from fairprobe.estimation.bounds.intervals import mean_bounds
from fairprobe.explanation.evidence import Evidence
from fairprobe.explanation.finding import Finding, as_json
from fairprobe.wording import percent

if TYPE_CHECKING:
    import pandas as pd

MOST_JUDGED = 120_000
"""Largest number of inputs judged to measure influence; chosen: at the default budget it leaves most queries to the
other findings."""

CONFIDENCE = 0.95
"""Confidence of the intervals over cases; chosen."""

N_PAIRED = 6
"""Number of the parameters that end most cases, all pairs of which are moved together; chosen."""

N_CURVES = 4
"""Number of the parameters that end most cases, for which the gap is measured along their values; chosen."""

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

MOST_POINTS = 24
"""Largest number of values in the curve of one parameter; chosen."""


@dataclass(frozen=True, repr=False, eq=False)
class Influence(Finding):
    """How often a case ends, and how its gap changes, when one of its parameters moves to another value."""

    table: pd.DataFrame
    """Table of the effect of moving each parameter alone, the strongest first. `ended` is the fraction of moves that
    end a case, as the mean over cases, with its 95% interval over cases from `low` to `high`. `change` is the mean
    change of the gap. `n_moves` and `n_cases` are the numbers of tried moves and of cases that could be moved."""
    pairs: pd.DataFrame
    """Table with a row for each pair of the strongest parameters, those with the largest joint effect first. `ended` is
    the fraction of cases that end when both move at once. `expected` is the fraction where at least one of the two
    moves alone ends the case. `beyond` is their difference, with its 95% interval from `low` to `high`."""
    curves: dict[str, pd.DataFrame]
    """Table for each of the strongest parameters, by name, of what happens at its values. For each `value`, a row has
    the fraction of cases that are `still` cases there, their mean `gap`, and the number `n` of cases that may have that
    value."""
    n_cases: int
    """Number of cases that were moved to other values."""
    n_given: int
    """Number of cases from which the moved ones were drawn."""
    source: str
    """Source of the new values of parameters: "density", "rows" or "domain"."""
    output: str
    threshold: float
    n_queries: int
    health: tuple[Remark, ...] = ()

    json_names: ClassVar = {"table": ""}

    def sentences(self) -> list[str]:
        """Return sentences on the parameters that end cases most often, and on the strongest pair of parameters."""
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
        """Return the table of influences with a row for each parameter, the strongest first."""
        return self.table.reset_index()

    def plot(self, path: str | PathLike[str]) -> None:
        """Draw how often each parameter ends a case as a bar chart, and write it to an SVG file."""
        from fairprobe.explanation.plots import draw_bars

        bars = self.table[self.table["n_moves"] > 0].head(MOST_BARS).rename(columns={"ended": "value"})
        left_out = len(self.table) - len(bars)
        aside = f"; {left_out:,} more parameters are not shown" if left_out else ""
        title = f"What ends {self.n_cases:,} cases: one parameter moved to another value, by {SOURCES[self.source]}"
        draw_bars(path, bars, f"{title}{aside}", "moves that end a case, with the 95% interval over cases")

    def plot_curves(self, path: str | PathLike[str]) -> None:
        """Draw the mean gap along the values of the strongest parameters, and write it to an SVG file."""
        from fairprobe.explanation.plots import draw_curves

        draw_curves(self, path)

    def jsonable(self) -> dict[str, Any]:
        """Return the figures and the sentences about influences as values for JSON."""
        return {**super().jsonable(), "parameters": as_json(self.shown_table())}


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
        why = "judged inputs" if evidence.budget.n_left is None else "queries"
        text = f"{n:,} of {wanted:,} cases were moved, to {values} of {n_values} values each: the limit on {why}"
        health = (Remark("fewer-moves", f"{text} leaves no room for more"),)
    rng = evidence.rng("influence")
    chosen = np.sort(rng.choice(evidence.n_cases, size=n, replace=False))
    mover, gaps = Mover(evidence, evidence.cases.codes[chosen], rng), evidence.cases.gaps[chosen]
    moves = _single_moves(mover, columns if n else [], values)
    table = _by_parameter(evidence, moves, columns if n else [], gaps)
    order = [evidence.domain.names.index(name) for name, n_moves in table["n_moves"].items() if n_moves]
    return Influence(
        table=table,
        pairs=_pairs(mover, moves, order[:N_PAIRED]),
        curves=_curves(mover, order[:N_CURVES], gaps),
        n_cases=n,
        n_given=evidence.n_cases,
        source=mover.source,
        output=evidence.output,
        threshold=evidence.oracle.threshold,
        n_queries=evidence.n_queries - before,
        health=health,
    )


def _affordable(evidence: Evidence, n_cases: int, n_values: int, n_columns: int) -> tuple[int, int]:
    """Return (number of cases, number of values for each parameter) that the budget pays for; it may reduce both."""
    n_pairs = math.comb(min(N_PAIRED, n_columns), 2)

    def a_case(values: int) -> int:
        return max(1, values * (n_columns + n_pairs) + MOST_POINTS * min(N_CURVES, n_columns))

    wanted = n_cases * a_case(n_values)
    room = min(MOST_JUDGED, evidence.budget.inputs(wanted, part=0.5))
    if wanted <= room:
        return n_cases, n_values
    values = min(n_values, max(FEWEST_VALUES, int(n_values * math.sqrt(room / wanted))))
    return min(n_cases, room // a_case(values)), values


class _Moves(NamedTuple):
    """Moved cases with their judgements: a table with one row per move, and the moved cases as codes, in its order."""

    table: pd.DataFrame
    """Table with a row for each move: the number of the `case`, `ended` (True if it is no longer a case), and the
    `gap`."""
    codes: Codes


def _single_moves(mover: Mover, columns: Sequence[int], n_values: int) -> _Moves:
    """Move each of the columns alone, in each case, to `n_values` other values, and judge the moved cases.

    In the table of moves, `turn` numbers the moves of a case.
    """
    import pandas as pd

    parts = [mover.moved(column, n_values) for column in columns]
    case = [pd.DataFrame({"column": column, "case": each}) for column, (each, _) in zip(columns, parts, strict=True)]
    table = pd.concat([pd.DataFrame({"column": [], "case": []}, dtype=np.int64), *case], ignore_index=True)
    table["turn"] = table.groupby(["column", "case"]).cumcount()
    return _judged(mover, table, np.concatenate([mover.cases[:0], *(codes for _, codes in parts)]))


def _judged(mover: Mover, table: pd.DataFrame, codes: Codes) -> _Moves:
    """Judge moved cases in one go and add `ended` and `gap` to their table.

    Each call of a model has a fixed cost. Equal inputs are asked about once.
    """
    unique, back = np.unique(codes, axis=0, return_inverse=True)
    judgement, back = mover.evidence.judge(unique), back.reshape(-1)
    return _Moves(table.assign(ended=~judgement.hits[back], gap=judgement.gaps[back]), codes)


def _by_parameter(evidence: Evidence, moves: _Moves, columns: Sequence[int], gaps: Floats) -> pd.DataFrame:
    """Return the table of the effects of moving each parameter alone, the strongest parameter first."""
    import pandas as pd

    rows = []
    for column in columns:
        part = moves.table[moves.table["column"] == column]
        case = part["case"].to_numpy()
        fraction, interval, *_ = clustered(part["ended"].to_numpy(), _equal_cases(case), case, CONFIDENCE)
        change = _mean_by_case(part["gap"].to_numpy() - gaps[case], case)
        rows.append((evidence.domain.names[column], fraction, *interval, change, len(case), len(np.unique(case))))
    figures = {"ended": float, "low": float, "high": float, "change": float, "n_moves": int, "n_cases": int}
    table = pd.DataFrame(rows, columns=["parameter", *figures]).set_index("parameter").astype(figures)
    return table.sort_values(["ended", "change"], ascending=[False, True], kind="stable", na_position="last")


def _pairs(mover: Mover, moves: _Moves, columns: Sequence[int]) -> pd.DataFrame:
    """Return the table of the effects of moving two parameters at once, the farthest from independent effects first.

    The values of the two parameters were drawn independently. If the parameters acted independently, a case would end
    exactly where one of the two single moves ends it.
    """
    import pandas as pd

    alone = {column: moves.table[moves.table["column"] == column].reset_index() for column in columns}
    tried = [alone[one].merge(alone[other], on=["case", "turn"]) for one, other in combinations(columns, 2)]
    names = ["first", "second", "ended", "expected", "beyond", "low", "high", "n_moves"]
    rows = []
    if tried:
        both = pd.concat(tried, ignore_index=True)
        codes, second = moves.codes[both["index_x"]], both["column_y"]
        codes[both.index, second] = moves.codes[both["index_y"], second]
        codes = mover.domain.completed(codes)
        may = mover.may_be(both["case"].to_numpy(), codes)
        told = _judged(mover, both[may], codes[may]).table
        told["either"] = told["ended_x"] | told["ended_y"]
        for (one, other), part in told.groupby(["column_x", "column_y"], sort=False):
            case = part["case"].to_numpy()
            ended, either = (part[name].to_numpy(dtype=np.float64) for name in ("ended", "either"))
            means = _mean_by_case(ended, case), _mean_by_case(either, case)
            pair = mover.domain.names[one], mover.domain.names[other]
            rows.append((*pair, *means, means[0] - means[1], *_interval(ended - either, case), len(case)))
    return pd.DataFrame(rows, columns=names).sort_values(
        "beyond", key=lambda beyond: -beyond.abs(), kind="stable", ignore_index=True
    )


def _curves(mover: Mover, columns: Sequence[int], gaps: Floats) -> dict[str, pd.DataFrame]:
    """Return, by name of the parameter, a table of the cases at each of its values in turn.

    It has the cases that may have the value or have it already.
    """
    import pandas as pd

    others = {column: along(mover.domain, column, np.concatenate([mover.others, mover.cases])) for column in columns}
    curves = {}
    tables, moved = list[pd.DataFrame](), [mover.cases[:0]]
    for column, inputs in others.items():
        point, case = (each.ravel() for each in np.indices((len(inputs), len(mover.cases))))
        codes, may = mover.with_value(case, column, inputs[point])
        is_own = mover.roles[case, column] == mover.domain.families.canonical(inputs)[point, column]
        table = pd.DataFrame({"column": column, "point": point, "still": 1.0, "gap": gaps[case], "may": may})
        tables.append(table[may | is_own])
        moved.append(codes[may])
    if tables:
        table = pd.concat(tables, ignore_index=True)
        told = _judged(mover, table[table["may"]], np.concatenate(moved)).table
        table.loc[told.index, "still"] = (~told["ended"]).astype(float)
        table.loc[told.index, "gap"] = told["gap"]
        for column, part in table.groupby("column", sort=False):
            by_point = part.groupby("point")
            curve = by_point[["still", "gap"]].mean().assign(n=by_point.size())
            curve.insert(0, "value", values_of(mover.domain, column, others[column]))
            curves[mover.domain.names[column]] = curve.reset_index(drop=True)
    return curves


def _equal_cases(case: Codes) -> Floats:
    """Return a weight for each move of a case, so that all cases have the same total weight.

    `case` has the number of the case by move.
    """
    return 1 / np.bincount(case)[case] if len(case) else np.empty(0)


def _mean_by_case(numbers: Floats, case: Codes) -> float:
    """Return the mean over cases of the mean number over each case's moves; NaN without moves."""
    return float(np.average(numbers, weights=_equal_cases(case))) if len(case) else math.nan


def _interval(numbers: Floats, case: Codes) -> tuple[float, float]:
    """Return the 95% interval of a mean over cases, for numbers by move from -1 to 1, by Student's t."""
    counts = np.bincount(case)
    means = np.bincount(case, weights=numbers)[counts > 0] / counts[counts > 0]
    mean, n = float(means.mean()), len(means)
    low, high = mean_bounds(means, CONFIDENCE)
    reach = 1 - ((1 - CONFIDENCE) / 2) ** (1 / n)  # that all cases seen are alike does not show that all others are
    return max(-1.0, min(low, mean - reach)), min(1.0, max(high, mean + reach))


# Cases moved to other values


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
        self.roles = self._families.canonical(self.cases)
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
        may = np.asarray((taken == role) & (role >= 0) & (role != self.roles[case, column]))
        may[may] = self.may_be(case[may], codes[may])
        return codes, may

    def may_be(self, case: Codes, codes: Codes) -> Mask:
        """Return a boolean mask over moved cases: True where the moved case is allowed, plausible and comparable.

        `case` has the number of the case that each moved case comes from.
        """
        may = np.asarray(self.domain.allows(codes)).copy()
        if self._least is not None and self.evidence.density is not None and may.any():
            may[may] = self.evidence.density.log_chances(codes[may]) >= self._least[case[may]]
        if not self._families.is_complete and may.any():
            size = self.evidence.oracle.batch_size(len(codes))
            allowed = codes[may]
            members = [self._families.of(allowed[first : first + size]) for first in range(0, len(allowed), size)]
            may[may] = np.concatenate([comparable(each.present, len(each), each.kinds) for each in members])
        return may


def _others(evidence: Evidence, rng: np.random.Generator) -> tuple[Codes, str]:
    """Return the inputs (codes) that new values are taken from, and their source: "density", "rows" or "domain"."""
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
    """Return inputs that have the values of a curve in one column, one for each value.

    They are evenly spread along the column's order, or have its most frequent names.
    """
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
    """Return the values of inputs in one column, for a curve: numbers (NaN where missing) or names.

    In a linked column, a name joins the values that play the input's role.
    """
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
    """Return the codes of all members of inputs in one column, by member, then input.

    The second result is a boolean mask of the members that exist with the input's role.
    """
    if domain.names[column] not in [link.column for link in domain.links]:
        return inputs[None, :, column], np.ones((1, len(inputs)), dtype=bool)
    families = domain.families
    rows = families.members(inputs)
    roles = families.canonical(rows)[:, column].reshape(len(families), -1)
    return rows[:, column].reshape(len(families), -1), roles == families.canonical(inputs)[:, column]


def _shown(codes: Codes, exist: Mask) -> Codes:
    """Return, for each input, the code in one column of the first member of its family that exists."""
    return codes[exist.argmax(axis=0), np.arange(codes.shape[1])]
