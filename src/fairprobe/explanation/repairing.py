"""`repair`: the fewest changes of other parameters that end a case."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.density import Density, checked_density
from fairprobe.domain.domain import Domain
from fairprobe.domain.nearest import Gower, coordinates
from fairprobe.errors import SettingError
from fairprobe.estimation.favourable import Favourable
from fairprobe.explanation.changed_cases import ChangedCases, RealRows, common_of, real_rows
from fairprobe.explanation.evidence import MAX_QUERIES, Evidence, asked_cases, favourable_among
from fairprobe.explanation.finding import as_json
from fairprobe.explanation.minimal_changes import FEW, Choices, MinimalChanges, inputs_at
from fairprobe.oracle import Judgement
from fairprobe.searching import Found
from fairprobe.wording import answer

if TYPE_CHECKING:
    import pandas as pd

N_OTHERS = 5_000
"""Largest number of rows or drawn inputs whose values are tried in a repair; chosen."""


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Repaired(ChangedCases):
    """Result of `repair`: cases, and the changes that end them; values are missing for a case without a repair.

    `n_changes` and `distance` are counted from the case to the repaired input.
    """

    repaired: pd.DataFrame
    """The repaired inputs, which are no longer cases; they keep the sensitive values of their cases."""
    changes: pd.Series
    """The changes of each case in words, such as "age 43 -> 40"; None for a case without a repair."""
    parameters: pd.Series
    """Number of repairs that change each parameter, by its name, in descending order."""
    gaps: pd.DataFrame
    """The largest gap over each case's family, in the columns `before` and `after` the repair."""
    _labels: pd.Series | None
    """The model's label for each repaired input; None if labels are not compared."""

    _verb = "repair"

    @property
    def n_unrepaired(self) -> int:
        """The number of cases for which no repair was found."""
        return int(self.distance.isna().sum())

    def _case_in_words(self, place: int) -> str:
        if self._labels is not None:
            said = f"it gets {answer(self._labels.iloc[place])} as its twins do"
        else:
            said = "the gap is {after:.4g}, not {before:.4g}".format(**self.gaps.iloc[place])
        return f"case {self.cases.index[place]}, with {self.changes.iloc[place]}: {said}"

    def jsonable(self) -> dict[str, Any]:
        """Return the figures of repaired cases as values for JSON; means are over the cases with a repair."""
        more = {"n_unrepaired": self.n_unrepaired, "parameters": as_json(self.parameters.to_dict())}
        return {**super().jsonable(), **more}

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
        """Return a table of the cases with their changes in words."""
        return self.cases.assign(changes=self.changes)


def repair(
    cases: Found | pd.DataFrame,
    model: Any,
    domain: Domain | None = None,
    *,
    density: Density | None = None,
    min_plausibility: float = 0.0,
    towards: pd.DataFrame | None = None,
    favourable: Any = None,
    output: str | None = None,
    threshold: float | None = None,
    max_queries: int = MAX_QUERIES,
    batch: str | None = None,
) -> Repaired:
    """Find the fewest changes of other parameters that end a case, so that all its twins are treated alike.

    First one parameter is changed to each of its values, then two at once, and so on, up to `max_queries`. Of more than
    64 values, some are tried, and then the values nearer to the case. Of the repairs with the fewest changes, the one
    nearest to the case is taken.

    Args:
        cases: the result of `search`, or a frame of cases. Cases that the model no longer treats differently are
            left out and counted.
        model: the model that was searched.
        domain: the domain of a frame of cases; the result of a search has its own.
        density: the density by which repaired inputs must be plausible; by default the search's own.
        min_plausibility: smallest plausibility of a repaired input, as for `search`.
        towards: real rows, whose values are tried, and whose ranges are the units of distances. Without rows, inputs
            drawn from the density replace them, or else the values of the domain.
        favourable: the favourable outcome (a label, a class, "highest" or "lowest"). With it, a repair leaves the
            worst-off twin better off than before; it never ends a case by refusing all twins.
        output: as for `search`, for a frame of cases.
        threshold: as for `search`, for a frame of cases.
        max_queries: largest number of rows sent to the model. If there are too many cases, they are sampled evenly. If
            not all smaller numbers of changes could be tried, `is_minimal` is false.
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
    given = asked_cases(
        cases, model, domain, output=output, threshold=threshold, max_queries=max_queries, batch=batch, n_times=2
    )
    domain, rows = given.domain, None if towards is None else real_rows(given.domain, towards)
    if density is not None:
        density = checked_density(density, domain)
        density.floor(min_plausibility)  # refuses what is no plausibility
    elif min_plausibility:
        raise SettingError.about(
            "min_plausibility", f"needs a density, got {min_plausibility!r} without one: give Density.fit(domain, X)"
        )
    good = favourable_among(favourable, given) if given.n_cases else None
    worst = _worst(good, given.cases)

    def are_repairs(which: Codes, judged: Judgement) -> Mask:
        """Return a mask of the inputs that are no cases any more.

        Given a favourable outcome, their worst-off twin must also be better off than before.
        """
        is_better = good is None or _worst(good, judged) > worst[which]
        return np.asarray(judged.comparable & ~judged.hits & is_better)

    def may_be(which: Codes, codes: Codes) -> Mask:
        """Return a mask of the inputs that are allowed, plausible, and have the case's own sensitive values."""
        may = (domain.families.place(codes) == given.places[which]) & domain.allows(codes)
        if density is not None and min_plausibility:
            may &= density.plausibility_of(codes) >= min_plausibility
        return np.asarray(may)

    people = _people(rows, density, min_plausibility)
    near = None if people is None else coordinates(domain, people)
    gower = Gower(domain, near)
    search = MinimalChanges(given, gower, given.coordinates, are_repairs, may_be)
    search.n_ruled_out[:] = 1  # without a change each is a case
    search.by_size(_choices(domain, given.coordinates, gower, near))
    search.make_smaller(both_sides=True)
    return _asked_again(given, are_repairs, search, rows)


def _people(rows: RealRows | None, density: Density | None, least: float) -> Codes | None:
    """Return realistic inputs, as codes: real rows, or inputs drawn from the density; None without either."""
    if rows is not None:
        return rows.codes[:: -(-len(rows.codes) // N_OTHERS)]
    if density is None:
        return None
    return density.sample_codes(N_OTHERS, np.random.default_rng(0), density.floor(least))


def _worst(good: Favourable | None, judged: Judgement) -> Floats:
    """Return the rank of the output of each input's worst-off family member; 0 if no favourable outcome is known."""
    return np.zeros(len(judged.codes)) if good is None else np.asarray(good.worst(judged.outputs, judged.present))


def _choices(domain: Domain, origin: Codes, gower: Gower, people: Codes | None) -> Choices:
    """Return the values to try for each coordinate: all of them if there are at most 64.

    If there are more, an even grid, quantiles of `people` and the missing value are tried.
    """
    linked = {link.column for link in domain.links}
    # Without values that only occur in rows.
    levels = np.where([name in linked for name in domain.names], domain.families.key_levels, domain.own_levels)
    levels = levels[list(domain.free_columns)]
    values = []
    for place, n in enumerate(levels.tolist()):
        tried = [*range(n)]
        if n > FEW:
            missing = [gower.last[place]] if gower.last[place] >= 0 else []
            tried = [*np.linspace(0, n - 1, FEW // 2).round(), *missing]
            if people is not None:
                known = people[:, place][people[:, place] < n]
                tried += [*np.quantile(known, np.linspace(0, 1, FEW // 2 - 1), method="nearest")]
        values.append(np.unique(np.array(tried, dtype=np.int64)))
    return Choices.listed(origin, values, are_all=bool((levels <= FEW).all()))


def _asked_again(
    given: Evidence, are_repairs: Callable[[Codes, Judgement], Mask], search: MinimalChanges, rows: RealRows | None
) -> Repaired:
    """Ask the model about the repaired inputs again, and return the result without repairs that it now contradicts."""
    import pandas as pd

    domain, every = given.domain, np.arange(given.n_cases)
    found = np.flatnonzero(search.is_found)
    judged = given.oracle.judge_anew(inputs_at(domain, search.values[found], given.places[found])[0])
    still = np.flatnonzero(are_repairs(found, judged) & ~judged.unsure)
    found, judged = found[still], judged.take(still)
    repaired, own = domain.decode(judged.codes), given.cases.codes[found]
    words, counts = _changes(domain, own, judged.codes)

    def of_all(values: Any) -> Any:
        """Return values of the repaired cases as values of all cases, missing for the others."""
        return values.set_axis(found).reindex(every).set_axis(given.index)

    gaps = pd.DataFrame({"before": given.cases.gaps, "after": pd.Series(judged.gaps, index=found)}, index=every)
    labels = pd.Series(list(judged.outputs[given.places[found], np.arange(len(found))]), dtype=object)
    return Repaired(
        **common_of(given, rows, search, every, np.isin(every, found)),
        cases=domain.decode(given.cases.codes).set_axis(given.index),
        repaired=of_all(repaired),
        changes=of_all(words).replace({np.nan: None}),
        parameters=counts[counts > 0].sort_values(ascending=False, kind="stable"),
        gaps=gaps.set_axis(given.index),
        _labels=of_all(labels) if given.oracle.is_label else None,
    )


def _changes(domain: Domain, before: Codes, after: Codes) -> tuple[pd.Series, pd.Series]:
    """Return the changes of each input in words, and the number of inputs in which each parameter changes.

    `before` and `after` have the inputs as codes.
    """
    import pandas as pd

    columns = list(domain.free_columns)
    # The sensitive values are the same, so that another value is another role, too.
    changed = pd.DataFrame(before != after, columns=list(domain.names)).iloc[:, columns]
    own, other = (domain.decode(codes) for codes in (before, after))
    parts: list[list[str]] = [[] for _ in before]
    for name, rows in changed.items():
        values = own[name].tolist(), other[name].tolist()
        for row in np.flatnonzero(rows).tolist():
            parts[row].append(f"{name} {values[0][row]} -> {values[1][row]}")
    return pd.Series(map(", ".join, parts), name="changes", dtype=object), changed.sum().rename("parameters")
