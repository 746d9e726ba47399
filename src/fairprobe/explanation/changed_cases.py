"""`shrink` and `repair`: cases with minimal changes, towards real rows or until they are no cases any more.

The model is asked about all results again at the end.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes, Mask
from fairprobe.blocks import Remark
from fairprobe.domain.density import Density, checked_density
from fairprobe.domain.domain import Domain
from fairprobe.domain.nearest import Gower, coordinates, nearest_rows
from fairprobe.errors import DataError, SettingError
from fairprobe.explanation.evidence import MAX_QUERIES, Evidence, asked_cases, favourable_among
from fairprobe.explanation.finding import Finding, as_json
from fairprobe.explanation.minimal_changes import FEW, Choices, MinimalChanges, inputs_at
from fairprobe.oracle import Judgement
from fairprobe.searching import Found
from fairprobe.searching.start_rows import as_compared

if TYPE_CHECKING:
    import pandas as pd

N_OTHERS = 5_000
"""Largest number of rows or drawn inputs whose values are tried in a repair; chosen."""


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class ChangedCases(Finding):
    """Base class of the results of `shrink` and `repair`: cases with minimal changes.

    The model was asked about all of them again at the end. Tables have the index of the given cases.
    """

    domain: Domain
    cases: pd.DataFrame
    n_changes: pd.Series
    """Number of parameters, neither sensitive nor derived, in which a case and its origin or result differ. In a linked
    column, roles are compared."""
    distance: pd.Series
    """Gower's distance between a case and its origin or result: the mean over the compared parameters, between 0 and
    1."""
    is_minimal: pd.Series
    """True for a case if all smaller numbers of changes were tried and none succeeds."""
    changes: pd.Series
    """The values in which a case and its origin or result differ, such as "age 43 -> 40"; None without a result."""
    n_gone: int
    """Number of given cases that were left out because the model no longer treats them differently, or not every
    time."""
    n_queries: int
    health: tuple[Remark, ...]

    _verb = "change"

    @property
    def n_cases(self) -> int:
        """The number of given cases that still hold when the model is asked again."""
        return len(self.cases)

    def jsonable(self) -> dict[str, Any]:
        """Return the figures of changed cases as values for JSON; means are over the cases with a result."""
        return {
            "n_cases": self.n_cases,
            "n_gone": self.n_gone,
            "n_minimal": int(self.is_minimal.sum()),
            "n_queries": self.n_queries,
            "n_changes": as_json(self.n_changes.astype(float).mean()),
            "distance": as_json(self.distance.mean()),
            "health": as_json(self.health),
        }

    def sentences(self) -> list[str]:
        """Return the result of changing cases and the number of queries as sentences; one if no case still holds."""
        if self.n_cases:
            return [self._sentence(), f"It took {self.n_queries:,} queries."]
        why = "it cannot be told whether they hold" if "stochastic-model" in dict(self.health) else "no longer hold"
        return [f"No cases to {self._verb}{f', {self.n_gone:,} {why}' if self.n_gone else ''}."]

    def _sentence(self) -> str:
        raise NotImplementedError


def _common_of(
    given: Evidence, rows: RealRows | None, search: MinimalChanges, kept: Codes, found: Mask, changes: list[str]
) -> dict[str, Any]:
    """Return the fields of `ChangedCases` for a result, by name, except the cases.

    `kept` are the positions of the cases in the result, `found` is a boolean mask of these with a change that succeeds,
    and `changes` are the changes of those in words.
    """
    import pandas as pd

    is_minimal, n_lost = search.is_fewest[kept] & found, given.n_cases - len(kept)
    numbers = {"n_changes": pd.array(search.n_changes[kept], "Int64"), "distance": search.distance[kept]}
    table = pd.DataFrame({**numbers, "is_minimal": is_minimal}, index=given.index[kept])
    table = table.assign(**{name: table[name].where(found) for name in numbers}, changes=None)
    table.loc[found, "changes"] = changes
    return {
        **dict(table.items()),
        "domain": given.domain,
        "n_gone": given.n_gone + n_lost,
        "n_queries": given.n_queries,
        "health": (*given.health(n_lost), *_remarks(rows, search, found, is_minimal)),
    }


def _changes(domain: Domain, before: Codes, after: Codes) -> list[str]:
    """Return the values in which two inputs differ in columns that can be moved, as text; one text for each pair."""
    names = [domain.names[column] for column in domain.free_columns]
    frames = (domain.decode(codes)[names].to_dict("records") for codes in (before, after))
    differ = (before != after)[:, list(domain.free_columns)]
    return [
        ", ".join(f"{name} {old[name]} -> {new[name]}" for name in itertools.compress(names, row))
        for row, old, new in zip(differ, *frames, strict=True)
    ]


def _remarks(rows: RealRows | None, search: MinimalChanges, found: Mask, is_minimal: Mask) -> Iterator[Remark]:
    """Yield remarks on rows outside the domain, on changes that were not tried, and on cases without a result."""
    if rows is not None and rows.n_unused:
        text = f"{rows.n_unused:,} of {rows.n_unused + len(rows.frame):,} rows have values that are none of the"
        yield Remark("rows-outside", f"{text} domain's: they are not used")
    n_unsure, n_lacking = int((found & ~is_minimal).sum()), int((~found).sum())
    if n_unsure:
        text = f"for {n_unsure:,} of {len(found):,} cases max_queries is too small to ask about"
        yield Remark("not-minimal", f"{text} all inputs with fewer changes")
    if search.has_ended:
        yield Remark("ended", "max_queries ended before every change was made as small as it can be")
    if n_lacking:
        by_then = " before max_queries ended" if search.has_ended else ""
        yield Remark("unrepaired", f"for {n_lacking:,} cases nothing was found that ends them{by_then}")


@dataclass(frozen=True)
class RealRows:
    """Real rows as inputs of the domain, whether or not the constraints allow them."""

    codes: Codes
    places: Codes
    """Place of each row among the members of its family; -1 where a sensitive value is not compared."""
    frame: pd.DataFrame
    """The rows that are used, as the caller gave them."""
    n_unused: int
    """Number of rows that are not used, because they hold a value outside the domain or values that contradict a
    link."""


def real_rows(domain: Domain, towards: Any) -> RealRows:
    """Return real rows as inputs, numbers at the nearest step; their sensitive values need not be compared.

    Rows with a value outside the domain are left out; if no row remains, a DataError is raised.
    """
    rows = domain.rows(towards, called={"X": "towards"})
    sensitive = list(domain.sensitive_columns)
    codes, own = rows.nearest_codes, rows.nearest_codes[:, sensitive]
    others = np.flatnonzero((own < 0).any(axis=1) & (np.delete(codes, sensitive, axis=1) >= 0).all(axis=1))
    if domain.families.is_plain:
        codes[:, sensitive] = np.maximum(own, 0)
    elif len(others):  # linked columns follow the sensitive value
        codes[others] = domain.encode(as_compared(domain, rows.frame.iloc[others], own[others]), nearest=True)
    kept = np.flatnonzero((codes >= 0).all(axis=1))
    kept = kept[(coordinates(domain, codes[kept]) >= 0).all(axis=1)]
    if not len(kept):
        raise DataError.about(
            "towards",
            f"must have a row whose values are the domain's, got none among {len(rows):,}: widen the domain, or give "
            "other rows",
        )
    places = np.where((own[kept] < 0).any(axis=1), -1, domain.families.place(codes[kept]))
    return RealRows(codes[kept], places, rows.frame.iloc[kept], len(rows) - len(kept))


# Shrinking


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Shrunk(ChangedCases):
    """Result of `shrink`: cases moved near to real rows.

    `cases` have the sensitive values of their row if these are compared and allowed. `n_changes` and `distance` are
    counted from the row.
    """

    twins: pd.DataFrame
    """The twin of each case at the other end of its largest gap."""
    outputs: pd.DataFrame
    """The model's outputs for each `case` and its `twin`; for several classes also the position of the compared
    `class`."""
    rows: pd.Series
    """The real row that each case was moved to, by its index label in `towards`."""
    _verb = "shrink"

    @property
    def table(self) -> pd.DataFrame:
        """A table of the cases with their real rows and numbers of changes."""
        return self.cases.assign(row=self.rows, n_changes=self.n_changes)

    def _sentence(self) -> str:
        return (
            f"{self.n_cases:,} cases differ from a real row in {self.n_changes.mean():.1f} parameters on average. For "
            f"{int(self.is_minimal.sum()):,} of them no smaller number gives a case."
        )


def shrink(
    cases: Found | pd.DataFrame,
    model: Any,
    domain: Domain | None = None,
    *,
    towards: pd.DataFrame,
    output: str | None = None,
    threshold: float | None = None,
    max_queries: int = MAX_QUERIES,
    batch: str | None = None,
) -> Shrunk:
    """Find the fewest and smallest differences to a real row that still give a case.

    Each case is moved towards its nearest row. Every parameter that is not sensitive has the row's value, the case's
    value or, if values have an order, one in between. Of these inputs, the result is the one with the fewest
    differences and, among several, the one nearest to the row. Sensitive values do not count, because a case stands
    for a whole family. In linked columns, roles count instead of values.

    Args:
        cases: the result of `search`, or a frame of cases. Cases that the model no longer treats differently are
            left out and counted.
        model: the model that was searched.
        domain: the domain of a frame of cases; the result of a search has its own.
        towards: real rows. Rows with values outside the domain are not used; rows that a constraint forbids are.
        output: as for `search`, for a frame of cases.
        threshold: as for `search`, for a frame of cases.
        max_queries: largest number of rows sent to the model. If there are too many cases, they are sampled evenly. If
            not all smaller numbers of differences could be tried, `is_minimal` is false.
        batch: as for `search`.

    >>> import pandas as pd
    >>> from fairprobe import Domain, Integer, shrink
    >>> names = ["age", "hours", "sex"]
    >>> domain = Domain([Integer("age", 17, 90), Integer("hours", 1, 99), Integer("sex", 0, 1)], sensitive=["sex"])
    >>> model = lambda X: X[:, 0] + 10 * X[:, 2] > 50
    >>> cases = pd.DataFrame([[45, 80, 0], [50, 12, 1]], columns=names)
    >>> shrunk = shrink(cases, model, domain, towards=pd.DataFrame([[38, 40, 1]], columns=names))
    >>> shrunk.cases
       age  hours  sex
    0   41     40    1
    1   41     40    1
    >>> shrunk.changes[0]
    'age 38 -> 41'
    """
    given = asked_cases(
        cases, model, domain, output=output, threshold=threshold, max_queries=max_queries, batch=batch, n_times=2
    )
    rows = real_rows(given.domain, towards)
    nearest = np.zeros(0, dtype=np.int64)
    if given.n_cases:
        nearest = nearest_rows(given.domain, given.cases.codes, rows.codes)[0]
    origin, target = coordinates(given.domain, rows.codes[nearest]), given.coordinates
    gower = Gower(given.domain, coordinates(given.domain, rows.codes))
    search = MinimalChanges(given, gower, origin, lambda which, judgement: judgement.hits)
    search.keep(np.arange(given.n_cases), target)
    search.by_size(Choices.between(given.domain, gower, origin, target))
    search.make_smaller()
    return _shrunk(given, rows, nearest, search)


def _shrunk(given: Evidence, rows: RealRows, nearest: Codes, search: MinimalChanges) -> Shrunk:
    """Ask the model about the shrunk cases again, and return the result without those that it now contradicts."""
    import pandas as pd

    domain, families = given.domain, given.domain.families
    judgement = given.oracle.judge_anew(inputs_at(domain, search.values, given.places)[0])
    kept = np.flatnonzero(judgement.hits)
    judgement = judgement.take(kept)
    places = _shown_places(judgement, rows.places[nearest[kept]], given.places[kept])
    ends = given.oracle.ends(replace(judgement, codes=families.member(judgement.codes, places)))
    outputs: dict[str, Any] = {"case": ends.outputs[:, 0], "twin": ends.outputs[:, 1]}
    if ends.classes is not None:
        outputs["class"] = ends.classes
    # The real rows as inputs, with the sensitive values of the cases and the values that links give them.
    origins = inputs_at(domain, search.origin[kept], families.place(ends.case))[0]
    index, changes = given.index[kept], _changes(domain, origins, ends.case)
    return Shrunk(
        **_common_of(given, rows, search, kept, np.ones(len(kept), dtype=bool), changes),
        cases=domain.decode(ends.case).set_axis(index),
        twins=domain.decode(ends.twin).set_axis(index),
        outputs=pd.DataFrame(outputs).set_axis(index),
        rows=pd.Series(rows.frame.index[nearest[kept]], index=index, name="row"),
    )


def _shown_places(judgement: Judgement, rows: Codes, own: Codes) -> Codes:
    """Return the place of the family member that shows each case.

    It is the member with the sensitive values of the row if that exists, else the case's own member, else the first one
    that exists.
    """
    each, exist = np.arange(len(own)), judgement.exist
    fallback = np.where(exist[own, each], own, exist.argmax(axis=0))
    return np.where((rows >= 0) & exist[rows, each], rows, fallback)


# Repairing


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Repaired(ChangedCases):
    """Result of `repair`: cases, and the changes that end them; values are missing for a case without a repair.

    `n_changes` and `distance` are counted from the case to the repaired input.
    """

    repaired: pd.DataFrame
    """The repaired inputs, which are no longer cases; they keep the sensitive values of their cases."""
    parameters: pd.Series
    """Number of repairs that change each parameter, by its name, in descending order."""
    _verb = "repair"

    @property
    def table(self) -> pd.DataFrame:
        """A table of the cases with their changes in words."""
        return self.cases.assign(changes=self.changes)

    @property
    def n_unrepaired(self) -> int:
        """The number of cases for which no repair was found."""
        return int(self.distance.isna().sum())

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
    >>> from fairprobe import Domain, Integer, repair
    >>> names = ["age", "hours", "sex"]
    >>> domain = Domain([Integer("age", 17, 90), Integer("hours", 1, 99), Integer("sex", 0, 1)], sensitive=["sex"])
    >>> model = lambda X: X[:, 0] + 10 * X[:, 2] > 50
    >>> repaired = repair(pd.DataFrame([[43, 80, 0], [48, 12, 1]], columns=names), model, domain)
    >>> repaired.repaired
       age  hours  sex
    0   40     80    0
    1   51     12    1
    >>> repaired.changes[0]
    'age 43 -> 40'
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
    worst = None if good is None else good.worst(given.cases.outputs, given.cases.present)

    def are_repairs(which: Codes, judged: Judgement) -> Mask:
        """Return a mask of the inputs that are no cases any more.

        Given a favourable outcome, their worst-off twin must also be better off than before.
        """
        have_ended = np.asarray(judged.comparable & ~judged.hits)
        if good is None or worst is None:
            return have_ended
        return have_ended & (good.worst(judged.outputs, judged.present) > worst[which])

    def may_be(which: Codes, codes: Codes) -> Mask:
        """Return a mask of the inputs that are allowed, plausible, and have the case's own sensitive values."""
        may = (domain.families.place(codes) == given.places[which]) & domain.allows(codes)
        if density is not None and min_plausibility:
            may &= density.plausibility_of(codes) >= min_plausibility
        return np.asarray(may)

    people = None
    if rows is not None:
        people = rows.codes[:: -(-len(rows.codes) // N_OTHERS)]
    elif density is not None:
        people = density.sample_codes(N_OTHERS, np.random.default_rng(0), density.floor(min_plausibility))
    near = None if people is None else coordinates(domain, people)
    gower = Gower(domain, near)
    search = MinimalChanges(given, gower, given.coordinates, are_repairs, may_be)
    search.n_ruled_out[:] = 1  # without a change each is a case
    search.by_size(_choices(domain, given.coordinates, gower, near))
    search.make_smaller(both_sides=True)
    return _repaired(given, are_repairs, search, rows)


def _choices(domain: Domain, origin: Codes, gower: Gower, people: Codes | None) -> Choices:
    """Return the values to try for each coordinate: all of them if there are at most `FEW`.

    If there are more, an even grid of `FEW` / 2 values, the missing value and, if `people` are given, nearly as many of
    their quantiles are tried.
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


def _repaired(
    given: Evidence, are_repairs: Callable[[Codes, Judgement], Mask], search: MinimalChanges, rows: RealRows | None
) -> Repaired:
    """Ask the model about the repaired inputs again, and return the result.

    A repair that the model now contradicts is dropped; its case stays, without a repair.
    """
    import pandas as pd

    domain, every = given.domain, np.arange(given.n_cases)
    found = np.flatnonzero(search.is_found)
    judged = given.oracle.judge_anew(inputs_at(domain, search.values[found], given.places[found])[0])
    still = np.flatnonzero(are_repairs(found, judged) & ~judged.unsure)
    found, judged = found[still], judged.take(still)
    own, names = given.cases.codes, [domain.names[column] for column in domain.free_columns]
    counts = (own[found] != judged.codes)[:, list(domain.free_columns)].sum(axis=0)
    parameters = pd.Series(counts, index=names, name="parameters")
    changes = _changes(domain, own[found], judged.codes)
    return Repaired(
        **_common_of(given, rows, search, every, np.isin(every, found), changes),
        cases=domain.decode(own).set_axis(given.index),
        repaired=domain.decode(judged.codes).set_axis(found).reindex(every).set_axis(given.index),
        parameters=parameters[parameters > 0].sort_values(ascending=False, kind="stable"),
    )
