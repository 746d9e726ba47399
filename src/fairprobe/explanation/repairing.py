"""Repair: the fewest changes of other parameters that end a case."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes, Mask
from fairprobe.blocks import Remark
from fairprobe.domain.density import Density, checked_density
from fairprobe.domain.domain import Domain
from fairprobe.domain.nearest import Gower, coordinates, nearest_rows
from fairprobe.errors import SettingError
from fairprobe.explanation.fewest import (
    ALL,
    ENDS,
    FEW,
    Asking,
    Reached,
    are_ordered,
    around,
    between,
    by_size,
    inputs_at,
    make_smaller,
    take_back,
)
from fairprobe.explanation.given import Given, RealRows, given_cases, real_rows
from fairprobe.explanation.shrinking import gone_in_words, mean_of
from fairprobe.notebook import Health, as_html
from fairprobe.oracle import Judgement
from fairprobe.searching import Found
from fairprobe.searching.found import SHOWN, output_in_words

if TYPE_CHECKING:
    import pandas as pd

POOL = 5_000
"""Rows, or inputs drawn, among which those are looked for that are no cases."""


def repair(
    cases: Found | pd.DataFrame,
    model: Any,
    domain: Domain | None = None,
    *,
    density: Density | None = None,
    min_plausibility: float = 0.0,
    towards: pd.DataFrame | None = None,
    output: str | None = None,
    threshold: float | None = None,
    max_queries: int = 1_000_000,
    batch: str | None = None,
) -> Repaired:
    """The fewest changes of other parameters that end a case: all its twins are then treated alike.

    First one parameter is changed, to each of its values (of more than 64, to some, and then to those nearer). For
    cases that this does not end, as many values as needed are taken over from the nearest input that is no case, and
    then everything with fewer changes is tried, as far as `max_queries` goes. Of the repairs with the fewest changes
    it is the nearest to the case.

    Args:
        cases: what `search` found, or a frame of cases; those that the model no longer treats differently are left
            out and counted.
        model: the model that was searched.
        domain: of a frame of cases; a search has its own.
        density: with it, no repaired input is less plausible than asked; by default the search's own.
        min_plausibility: how plausible it must be, as for `search`.
        towards: real rows, whose values are tried, and in terms of whose ranges distances are; without any, inputs
            drawn from the density or the domain are in their place.
        output: as for `search`, for a frame of cases.
        threshold: the same.
        max_queries: rows that may be sent to the model. Where they are not enough to ask about everything with fewer
            changes, `is_minimal` says so.
        batch: as for `search`.

    >>> import pandas as pd
    >>> from fairprobe import Domain, Integer
    >>> from fairprobe.explanation.repairing import repair
    >>> names = ["age", "hours", "sex"]
    >>> domain = Domain([Integer("age", 17, 90), Integer("hours", 1, 99), Integer("sex", 0, 1)], sensitive=["sex"])
    >>> model = lambda X: X[:, 0] + 10 * X[:, 2] > 50
    >>> repaired = repair(pd.DataFrame([[43, 80, 0], [48, 12, 1]], columns=names), model, domain)
    >>> repaired.repaired
       age  hours  sex
    0   40     80    0
    1   51     12    1
    >>> repaired.in_words(1)
    ['case 0, with age 43 -> 40: it gets False as its twins do']
    """
    if isinstance(cases, Found) and density is None:
        density = cases.density
    given = given_cases(cases, model, domain, output=output, threshold=threshold, max_queries=max_queries, batch=batch)
    likely = _Plausible.of(given.domain, density, min_plausibility)
    rows = None if towards is None else real_rows(given.domain, towards)
    pool = _pool(given.domain, likely, rows)
    people = coordinates(given.domain, pool)
    gower = Gower(given.domain, None if rows is None and density is None else people)
    places = given.domain.families.place(given.cases.codes)

    def may(which: Codes, codes: Codes) -> Mask:
        is_own = given.domain.families.place(codes) == places[which]
        return np.asarray(is_own & given.domain.allows(codes) & likely.are(codes))

    ask = Asking(given.oracle, given.budget, places, lambda which, judged: judged.comparable & ~judged.hits, may)
    origin = coordinates(given.domain, given.cases.codes)
    reached = Reached(gower, origin, origin.copy())
    reached.n_ruled_out[:] = 1  # without a change it is a case
    values = _values(given.domain, people, gower)
    choices = around(origin, values, are_all=max(_n_values(given.domain), default=0) <= FEW)
    by_size(choices, reached, ask, ALL, sizes=[1])
    _towards_others(given, likely, pool, reached, ask)
    by_size(choices, reached, ask, ALL, sizes=range(2, origin.shape[1] + 1))
    make_smaller(reached, ask, given.domain, both_sides=True)
    return _result(given, reached, rows, has_ended=ask.has_ended)


@dataclass(frozen=True)
class _Plausible:
    """How plausible a repaired input must be."""

    density: Density | None
    least: float

    @classmethod
    def of(cls, domain: Domain, density: Density | None, least: float) -> _Plausible:
        if density is None:
            if least:
                raise SettingError.about(
                    "min_plausibility", f"needs a density, got {least!r} without one: give Density.fit(domain, X)"
                )
            return cls(None, 0.0)
        density = checked_density(density, domain)
        density.floor(least)  # which says what is wrong
        return cls(density, least)

    def are(self, codes: Codes) -> Mask:
        """Which inputs are plausible enough."""
        if self.density is None or not self.least:
            return np.ones(len(codes), dtype=bool)
        return np.asarray(self.density.plausibility_of(codes) >= self.least)


def _pool(domain: Domain, likely: _Plausible, rows: RealRows | None) -> Codes:
    """Inputs like those of people: real rows, or drawn."""
    if rows is not None:
        return rows.codes[:: -(-len(rows.codes) // POOL)]
    rng = np.random.default_rng(0)
    if likely.density is None:
        return domain.sample_codes(POOL, rng)
    return likely.density.sample_codes(POOL, rng, likely.density.floor(likely.least))


def _n_values(domain: Domain) -> list[int]:
    """How many values each coordinate may be changed to; what only stands in rows is none."""
    linked = {link.column for link in domain.links}
    levels = domain.families.key_levels
    return [int(levels[c]) if domain.names[c] in linked else domain.own_levels[c] for c in domain.free_columns]


def _values(domain: Domain, pool: Codes, gower: Gower) -> list[Codes]:
    """The values tried of each coordinate: all, or of many an even grid, those in the middle of people, and missing."""
    values = []
    for n, column, last in zip(_n_values(domain), pool.T, gower.last.tolist(), strict=True):
        if n <= FEW:
            values.append(np.arange(n))
            continue
        grid = np.linspace(0, n - 1, FEW // 2).round().astype(np.int64)
        people = np.quantile(column[column < n], np.linspace(0, 1, FEW // 2 - 1), method="nearest").astype(np.int64)
        values.append(np.unique([*grid, *people, *([last] if last >= 0 else [])]))
    return values


def _towards_others(given: Given, likely: _Plausible, pool: Codes, reached: Reached, ask: Asking) -> None:
    """Where nothing was found: the values of the nearest input that is no case, as few of them as will do."""
    left = np.flatnonzero(~reached.is_found)
    if not len(left):
        return
    families = given.domain.families
    judged = given.oracle.judge_batches(pool[: given.budget.inputs(len(pool), 0.25)])
    places = families.place(given.cases.codes)
    target = reached.origin.copy()
    for place in np.unique(places[left]).tolist():
        mine = left[places[left] == place]
        others = _no_cases(given, likely, judged, place)
        if len(others):
            nearest = nearest_rows(given.domain, given.cases.codes[mine], others)[0]
            target[mine] = coordinates(given.domain, others[nearest])
    known = left[ask(left, target[left])]
    reached.offer(known, target[known])
    take_back(reached, ask)
    last = reached.gower.last
    is_number = are_ordered(given.domain) & (reached.origin != last) & (target != last)
    by_size(between(reached.origin, target, is_number, are_all=False), reached, ask, ENDS, part=0.25)


def _no_cases(given: Given, likely: _Plausible, judged: Judgement, place: int) -> Codes:
    """Inputs that are no cases, as the member at a place, where that is allowed and plausible."""
    may = judged.comparable & ~judged.hits
    if judged.present is not None:
        may &= judged.present[place]
    some = np.flatnonzero(may)
    others = given.domain.families.member(judged.codes[some], np.full(len(some), place))
    return others[likely.are(others)]


def _result(given: Given, reached: Reached, rows: RealRows | None, *, has_ended: bool) -> Repaired:
    """What was reached, asked about once more."""
    import pandas as pd

    domain, index = given.domain, given.index
    found = np.flatnonzero(reached.is_found)
    places = domain.families.place(given.cases.codes)
    codes, _ = inputs_at(domain, reached.values[found], places[found])
    judged = given.oracle.judge_anew(codes)
    still = judged.comparable & ~judged.hits & ~judged.unsure
    found, codes, judged = found[still], codes[still], judged.take(np.flatnonzero(still), codes.dtype)
    changed = np.zeros(reached.origin.shape, dtype=bool)
    changed[found] = reached.values[found] != reached.origin[found]
    after = given.cases.codes.copy()
    after[found] = codes
    counts = pd.Series(changed.sum(axis=0), index=[domain.names[column] for column in domain.free_columns])
    counts = counts[counts > 0].sort_values(ascending=False, kind="stable")
    is_minimal = np.zeros(len(index), dtype=bool)
    is_minimal[found] = reached.is_fewest[found]

    def spread(values: Any) -> Any:
        """Of the repaired ones, among all cases."""
        return values.set_axis(found).reindex(range(len(index))).set_axis(index)

    gaps = {"before": given.cases.gaps, "after": spread(pd.Series(judged.gaps)).to_numpy()}
    outputs = pd.Series(list(judged.outputs[places[found], np.arange(len(found))]), dtype=object)
    return Repaired(
        domain=domain,
        cases=domain.decode(given.cases.codes).set_axis(index),
        repaired=spread(domain.decode(codes)),
        n_changes=spread(pd.Series(reached.n_changes[found], name="n_changes", dtype="Int64")),
        distance=spread(pd.Series(reached.distance[found], name="distance")),
        is_minimal=pd.Series(is_minimal, index=index, name="is_minimal"),
        gaps=pd.DataFrame(gaps, index=index),
        parameters=counts.rename("parameters"),
        n_gone=given.n_gone,
        n_queries=given.oracle.asker.n_queries,
        health=given.oracle.health
        + _health(rows, given.n_gone, len(index) - len(found), is_minimal[found], has_ended=has_ended),
        _changed=changed,
        _after=domain.decode(after),
        _labels=list(spread(outputs)) if given.oracle.is_label else None,
    )


def _health(
    rows: RealRows | None, n_gone: int, n_unrepaired: int, is_fewest: Mask, *, has_ended: bool
) -> tuple[Remark, ...]:
    """What to know about it."""
    remarks = [] if rows is None else rows.health
    if n_gone:
        text = f"{n_gone:,} of the cases given no longer hold, or not each time: they are left out"
        remarks.append(Remark("gone", text))
    if n_unrepaired:
        by_then = " before max_queries ended" if has_ended else ""
        remarks.append(Remark("unrepaired", f"for {n_unrepaired:,} cases nothing was found that ends them{by_then}"))
    if not is_fewest.all():
        n = int((~is_fewest).sum())
        text = f"for {n:,} of {len(is_fewest):,} repairs not all with fewer changes could be asked about"
        remarks.append(Remark("not-minimal", text))
    if has_ended:
        remarks.append(Remark("ended", "max_queries ended before every change was made as small as it can be"))
    return tuple(remarks)


@dataclass(frozen=True, repr=False, eq=False)
class Repaired:
    """Cases, and what ends them; every repair was asked about again at the end. All have the index of the cases given.

    Where nothing was found, values are missing.
    """

    domain: Domain
    cases: pd.DataFrame
    """Those that still hold."""
    repaired: pd.DataFrame
    """The same people with the changes, their sensitive values as they were: no longer cases."""
    n_changes: pd.Series
    """How many parameters (roles, where they are linked) are changed."""
    distance: pd.Series
    """Gower's, from the case to what is repaired."""
    is_minimal: pd.Series
    """Whether everything with fewer changes was asked about, and ends it not."""
    gaps: pd.DataFrame
    """The largest gap over the twins, `before` and `after`."""
    parameters: pd.Series
    """How many repairs change each parameter, the one that most do first."""
    n_gone: int
    """Cases given that no longer hold, and are left out."""
    n_queries: int
    health: Health
    """The name and the text of what to know about it."""
    _changed: Mask
    """By case and parameter that is neither sensitive nor derived."""
    _after: pd.DataFrame
    """What is repaired in the dtypes of the domain; a case that is not, as it is."""
    _labels: list[Any] | None
    """What the model says of each repaired one, where these are labels."""

    @property
    def n_cases(self) -> int:
        """Cases that still hold."""
        return len(self.cases)

    @property
    def n_unrepaired(self) -> int:
        """Cases for which nothing was found."""
        return int(self.distance.isna().sum())

    @cached_property
    def changes(self) -> pd.Series:
        """The changes in words."""
        import pandas as pd

        parts: list[list[str]] = [[] for _ in range(self.n_cases)]
        for column, changed in zip(self.domain.free_columns, self._changed.T, strict=True):
            name, rows = self.domain.names[column], np.flatnonzero(changed)
            pairs = zip(self.cases[name].iloc[rows], self._after[name].iloc[rows], strict=True)
            for row, (before, after) in zip(rows.tolist(), pairs, strict=True):
                parts[row].append(f"{name} {before} -> {after}")
        words = [", ".join(each) or None for each in parts]
        return pd.Series(words, index=self.cases.index, name="changes", dtype=object)

    def in_words(self, n: int = 3) -> list[str]:
        """The first repairs: which case, what is changed, and what the model then says."""
        return [self._repair_in_words(place) for place in np.flatnonzero(self.distance.notna())[:n].tolist()]

    def _repair_in_words(self, place: int) -> str:
        if self._labels is not None:
            said = f"it gets {output_in_words(self._labels[place])} as its twins do"
        else:
            said = "the gap is {after:.4g}, not {before:.4g}".format(**self.gaps.iloc[place])
        return f"case {self.cases.index[place]}, with {self.changes.iloc[place]}: {said}"

    def summary(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        return {
            "n_cases": self.n_cases,
            "n_gone": self.n_gone,
            "n_unrepaired": self.n_unrepaired,
            "n_minimal": int(self.is_minimal.sum()),
            "n_queries": self.n_queries,
            "n_changes": mean_of(self.n_changes.dropna()),
            "distance": mean_of(self.distance.dropna()),
            "parameters": {str(name): int(n) for name, n in self.parameters.items()},
            "health": [{"check": name, "message": message} for name, message in self.health],
        }

    def _sentence(self) -> str:
        if not self.n_cases:
            return f"no cases to repair{gone_in_words(self.n_gone, self.health)}"
        told = self.summary()
        n = self.n_cases - self.n_unrepaired
        if not n:
            return f"none of {self.n_cases:,} cases ended, {self.n_queries:,} queries"
        return (
            f"{n:,} of {self.n_cases:,} cases ended by {told['n_changes']:.1f} changes on average, most often of "
            f"{', '.join(map(str, self.parameters.index[:3]))}, {told['n_minimal']:,} known to be the fewest, "
            f"{self.n_queries:,} queries"
        )

    def __repr__(self) -> str:
        return f"Repaired({self._sentence()})"

    def _repr_html_(self) -> str:
        some = self.cases.assign(changes=self.changes).head(SHOWN).to_html(escape=True, border=0)
        figures = {"sensitive": ", ".join(self.domain.sensitive), "no longer hold": self.n_gone}
        return as_html("Repaired", self._sentence(), figures, self.health, some)
