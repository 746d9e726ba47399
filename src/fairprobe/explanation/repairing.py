"""`repair`: the fewest changes of other parameters that end a case."""

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
from fairprobe.explanation.changed_cases import ChangedCases, health_of
from fairprobe.explanation.given_cases import GivenCases, RealRows, given_cases, real_rows
from fairprobe.explanation.minimal_changes import (
    AS_MANY_AS_FIT,
    FEW,
    LAST_ONLY,
    Choices,
    MinimalChanges,
    are_ordered,
    inputs_at,
)
from fairprobe.oracle import Judgement
from fairprobe.searching import Found
from fairprobe.searching.found import output_in_words

if TYPE_CHECKING:
    import pandas as pd

N_OTHERS = 5_000
"""Largest number of rows, or of inputs drawn, among which inputs are looked for that are no cases. Chosen."""


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
    the nearest to the case is taken.

    Args:
        cases: what `search` found, or a frame of cases; those that the model no longer treats differently are left
            out and counted.
        model: the model that was searched.
        domain: of a frame of cases; a search has its own.
        density: with it, no repaired input is less plausible than asked; by default the search's own.
        min_plausibility: how plausible it must be, as for `search`.
        towards: real rows, whose values are tried, and whose ranges are the units of distances; without any, inputs
            drawn from the density or the domain are in their place.
        output: as for `search`, for a frame of cases.
        threshold: as for `search`, for a frame of cases.
        max_queries: rows that may be sent to the model. Of too many cases some are taken, evenly. Where not all smaller
            numbers of changes could be asked about, `is_minimal` is false.
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
    given = given_cases(
        cases, model, domain, output=output, threshold=threshold, max_queries=max_queries, batch=batch, n_times=2
    )
    rows = None if towards is None else real_rows(given.domain, towards)
    repairer = _Repairer(given, _Plausible.of(given.domain, density, min_plausibility), rows)
    return _asked_again(given, repairer.search(), rows)


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
        density.floor(least)  # refuses what is no plausibility
        return cls(density, least)

    def are(self, codes: Codes) -> Mask:
        """Boolean mask over the inputs: plausible enough."""
        if self.density is None or not self.least:
            return np.ones(len(codes), dtype=bool)
        return np.asarray(self.density.plausibility_of(codes) >= self.least)


class _Repairer:
    """Searches the changes that end the cases given."""

    def __init__(self, given: GivenCases, plausible: _Plausible, rows: RealRows | None) -> None:
        self._given, self._plausible, self._domain = given, plausible, given.domain
        self._others = self._like_people(rows)
        self._coordinates = coordinates(self._domain, self._others)
        has_people = rows is not None or plausible.density is not None
        self._gower = Gower(self._domain, self._coordinates if has_people else None)
        linked = {link.column for link in self._domain.links}
        levels = self._domain.families.key_levels
        self._n_values = [
            int(levels[column]) if self._domain.names[column] in linked else self._domain.own_levels[column]
            for column in self._domain.free_columns
        ]
        """Number of values that each coordinate may be changed to, without those that only occur in rows."""

    def _like_people(self, rows: RealRows | None) -> Codes:
        """Inputs like those of people: real rows, or drawn."""
        if rows is not None:
            return rows.codes[:: -(-len(rows.codes) // N_OTHERS)]
        rng, density = np.random.default_rng(0), self._plausible.density
        if density is None:
            return self._domain.sample_codes(N_OTHERS, rng)
        return density.sample_codes(N_OTHERS, rng, density.floor(self._plausible.least))

    def search(self) -> MinimalChanges:
        """Try one change, then as many values of the nearest input that is no case as are needed, then fewer."""
        given, origin = self._given, self._given.coordinates
        search = MinimalChanges(
            given, self._gower, origin, lambda _, judged: judged.comparable & ~judged.hits, self._may_be
        )
        search.n_ruled_out[:] = 1  # without a change each is a case
        choices = Choices.listed(origin, self._values(), are_all=max(self._n_values, default=0) <= FEW)
        search.by_size(choices, AS_MANY_AS_FIT, sizes=[1])
        left = np.flatnonzero(~search.is_found)
        if len(left):
            target = self._targets(left)
            search.ask(left, target[left])
            search.take_back()
            last = self._gower.last
            is_number = are_ordered(self._domain) & (origin != last) & (target != last)
            search.by_size(Choices.between(origin, target, is_number, are_all=False), LAST_ONLY, part=0.25)
        search.by_size(choices, AS_MANY_AS_FIT, sizes=range(2, origin.shape[1] + 1))
        search.make_smaller(both_sides=True)
        return search

    def _may_be(self, which: Codes, codes: Codes) -> Mask:
        """Boolean mask over candidates: allowed, plausible, and with the case's own sensitive values."""
        is_own = self._domain.families.place(codes) == self._given.places[which]
        return np.asarray(is_own & self._domain.allows(codes) & self._plausible.are(codes))

    def _values(self) -> list[Codes]:
        """The values of each coordinate to try: all; of many, an even grid and quantiles of people; and missing."""
        values = []
        for n, column, last in zip(self._n_values, self._coordinates.T, self._gower.last.tolist(), strict=True):
            if n <= FEW:
                values.append(np.arange(n))
                continue
            grid = np.linspace(0, n - 1, FEW // 2).round().astype(np.int64)
            people = np.quantile(column[column < n], np.linspace(0, 1, FEW // 2 - 1), method="nearest")
            missing = [last] if last >= 0 else []
            values.append(np.unique([*grid, *people.astype(np.int64), *missing]))
        return values

    def _targets(self, left: Codes) -> Codes:
        """The coordinates of the nearest input that is no case, for each case left; of the others their own."""
        given, budget = self._given, self._given.budget
        judged = given.oracle.judge_batches(self._others[: budget.inputs(len(self._others), 0.25)])
        target = given.coordinates.copy()
        for place in np.unique(given.places[left]).tolist():
            mine = left[given.places[left] == place]
            others = self._no_cases(judged, place)
            if len(others):
                nearest = nearest_rows(self._domain, given.cases.codes[mine], others)[0]
                target[mine] = coordinates(self._domain, others[nearest])
        return target

    def _no_cases(self, judged: Judgement, place: int) -> Codes:
        """Inputs that are no cases, as the member at a place, where that is allowed and plausible."""
        may = judged.comparable & ~judged.hits
        if judged.present is not None:
            may &= judged.present[place]
        some = np.flatnonzero(may)
        others = self._domain.families.member(judged.codes[some], np.full(len(some), place))
        return others[self._plausible.are(others)]


def _asked_again(given: GivenCases, search: MinimalChanges, rows: RealRows | None) -> Repaired:
    """Ask about the repaired inputs once more, and drop the repairs that a model that wavers no longer gives."""
    import pandas as pd

    domain, index = given.domain, given.index
    found = np.flatnonzero(search.is_found)
    codes, _ = inputs_at(domain, search.values[found], given.places[found])
    judged = given.oracle.judge_anew(codes)
    still = np.flatnonzero(judged.comparable & ~judged.hits & ~judged.unsure)
    found, codes, judged = found[still], codes[still], judged.take(still, codes.dtype)
    after = given.cases.codes.copy()
    after[found] = codes
    is_minimal = np.zeros(len(index), dtype=bool)
    is_minimal[found] = search.is_fewest[found]
    health = health_of(given, rows, search, is_minimal[found])
    if len(found) < len(index):
        by_then = " before max_queries ended" if search.has_ended else ""
        text = f"for {len(index) - len(found):,} cases nothing was found that ends them{by_then}"
        health.append(Remark("unrepaired", text))

    def of_all(values: Any) -> Any:
        """Values of the repaired cases, set among all cases."""
        return values.set_axis(found).reindex(range(len(index))).set_axis(index)

    gaps = {"before": given.cases.gaps, "after": of_all(pd.Series(judged.gaps)).to_numpy()}
    labels = pd.Series(list(judged.outputs[given.places[found], np.arange(len(found))]), dtype=object)
    return Repaired(
        domain=domain,
        cases=domain.decode(given.cases.codes).set_axis(index),
        n_changes=of_all(pd.Series(search.n_changes[found], name="n_changes", dtype="Int64")),
        distance=of_all(pd.Series(search.distance[found], name="distance")),
        is_minimal=pd.Series(is_minimal, index=index, name="is_minimal"),
        n_gone=given.n_gone,
        n_queries=given.oracle.asker.n_queries,
        health=tuple(health),
        repaired=of_all(domain.decode(codes)),
        gaps=pd.DataFrame(gaps, index=index),
        _after=domain.decode(after),
        _labels=of_all(labels) if given.oracle.is_label else None,
    )


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Repaired(ChangedCases):
    """Cases, and the changes that end them. Where nothing was found, values are missing.

    `n_changes` and `distance` are those from the case to the repaired input.
    """

    repaired: pd.DataFrame
    """The cases with the changes and with their own sensitive values: no longer cases."""
    gaps: pd.DataFrame
    """The largest gap over the twins, `before` and `after`."""
    _after: pd.DataFrame
    """The repaired inputs in the dtypes of the domain; a case that is not repaired, as it is."""
    _labels: pd.Series | None
    """The model's label for each repaired input; None where it gives none."""

    _verb = "repair"

    @property
    def n_unrepaired(self) -> int:
        """Number of cases for which nothing was found."""
        return int(self.distance.isna().sum())

    @cached_property
    def _changed(self) -> dict[str, Mask]:
        """By parameter that may be changed, a boolean mask over the cases."""
        names = [self.domain.names[column] for column in self.domain.free_columns]
        before, after = (self.domain.encode(frame) for frame in (self.cases, self._after))
        canonical = self.domain.families.canonical
        changed = canonical(before) != canonical(after)
        return {name: changed[:, self.domain.names.index(name)] for name in names}

    @cached_property
    def parameters(self) -> pd.Series:
        """Number of repairs that change each parameter, in descending order."""
        import pandas as pd

        counts = pd.Series({name: int(mask.sum()) for name, mask in self._changed.items()}, dtype=np.int64)
        return counts[counts > 0].sort_values(ascending=False, kind="stable").rename("parameters")

    @cached_property
    def changes(self) -> pd.Series:
        """The changes in words."""
        import pandas as pd

        parts: list[list[str]] = [[] for _ in range(self.n_cases)]
        for name, changed in self._changed.items():
            rows = np.flatnonzero(changed)
            pairs = zip(self.cases[name].iloc[rows], self._after[name].iloc[rows], strict=True)
            for row, (before, after) in zip(rows.tolist(), pairs, strict=True):
                parts[row].append(f"{name} {before} -> {after}")
        words = [", ".join(each) or None for each in parts]
        return pd.Series(words, index=self.cases.index, name="changes", dtype=object)

    def in_words(self, n: int = 3) -> list[str]:
        """The first repairs: the case, its changes, and the model's output afterwards."""
        return [self._repair_in_words(place) for place in np.flatnonzero(self.distance.notna())[:n].tolist()]

    def _repair_in_words(self, place: int) -> str:
        if self._labels is not None:
            said = f"it gets {output_in_words(self._labels.iloc[place])} as its twins do"
        else:
            said = "the gap is {after:.4g}, not {before:.4g}".format(**self.gaps.iloc[place])
        return f"case {self.cases.index[place]}, with {self.changes.iloc[place]}: {said}"

    def jsonable(self) -> dict[str, Any]:
        """The figures as plain values of JSON."""
        parameters = {str(name): int(n) for name, n in self.parameters.items()}
        return {**super().jsonable(), "n_unrepaired": self.n_unrepaired, "parameters": parameters}

    def _sentence(self) -> str:
        n = self.n_cases - self.n_unrepaired
        if not n:
            return f"No change was found that ends one of {self.n_cases:,} cases."
        return (
            f"{n:,} of {self.n_cases:,} cases end with {self.n_changes.mean():.1f} changes on average, most often of "
            f"{', '.join(map(str, self.parameters.index[:3]))}. For {int(self.is_minimal.sum()):,} of them no smaller "
            "number is enough."
        )

    def shown_table(self) -> pd.DataFrame:
        """The cases and their changes."""
        return self.cases.assign(changes=self.changes)
