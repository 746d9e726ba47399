"""`shrink`: moves cases as near to real rows as possible while they remain cases."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes
from fairprobe.domain.domain import Domain
from fairprobe.domain.nearest import Gower, coordinates, nearest_rows
from fairprobe.domain.values import changes_in_words
from fairprobe.explanation.changed_cases import ChangedCases, RealRows, common_of, real_rows
from fairprobe.explanation.evidence import MAX_QUERIES, Evidence, asked_cases
from fairprobe.explanation.finding import as_json
from fairprobe.explanation.minimal_changes import Choices, MinimalChanges, inputs_at
from fairprobe.oracle import Judgement
from fairprobe.searching import Found
from fairprobe.wording import answer

if TYPE_CHECKING:
    import pandas as pd


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
    before: pd.DataFrame
    """`n_changes` and `distance` of the given case, before it was moved, from the same row."""
    _origins: pd.DataFrame
    """The real rows as inputs, with the sensitive values of the cases and the values that links give them."""
    _rows: pd.DataFrame

    _verb = "shrink"

    def _case_in_words(self, place: int) -> str:
        # As objects, so that whole numbers do not become fractions beside others.
        frames = (self.cases, self.twins, self.outputs, self._rows, self._origins)
        case, twin, outputs, row, origin = (frame.iloc[[place]].astype(object).iloc[0] for frame in frames)
        sensitive = list(self.domain.sensitive)
        own = [f"as if {name} {case[name]}" for name in sensitive if changes_in_words(row[[name]], case[[name]])]
        others = changes_in_words(origin.drop(sensitive), case.drop(sensitive))
        whose = [f"row {self.rows.iloc[place]}", *own, *([f"with {', '.join(others)}"] if others else [])]
        changed = ", ".join(changes_in_words(case, twin, sensitive))
        return f"{', '.join(whose)}: {changed} changes {answer(outputs['case'])} to {answer(outputs['twin'])}"

    def jsonable(self) -> dict[str, Any]:
        """Return the figures of shrunk cases as values for JSON, with the mean changes and distance before."""
        return {**super().jsonable(), **as_json(self.before.astype(float).mean().add_suffix("_before").to_dict())}

    def _sentence(self) -> str:
        before, after = self.before["n_changes"].mean(), self.n_changes.mean()
        return (
            f"{self.n_cases:,} cases differ from a real row in {after:.1f} parameters on average, in {before:.1f} "
            f"before. For {int(self.is_minimal.sum()):,} of them no smaller number gives a case."
        )

    def shown_table(self) -> pd.DataFrame:
        """Return a table of the cases with their real rows and numbers of changes."""
        return self.cases.assign(row=self.rows, n_changes=self.n_changes)


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
    >>> from fairprobe import Domain, Integer
    >>> from fairprobe.explanation.shrinking import shrink
    >>> names = ["age", "hours", "sex"]
    >>> domain = Domain([Integer("age", 17, 90), Integer("hours", 1, 99), Integer("sex", 0, 1)], sensitive=["sex"])
    >>> model = lambda X: X[:, 0] + 10 * X[:, 2] > 50
    >>> cases = pd.DataFrame([[45, 80, 0], [50, 12, 1]], columns=names)
    >>> shrunk = shrink(cases, model, domain, towards=pd.DataFrame([[38, 40, 1]], columns=names))
    >>> shrunk.cases
       age  hours  sex
    0   41     40    1
    1   41     40    1
    >>> shrunk.in_words(1)
    ['row 0, with age 38 -> 41: sex 1 -> 0 changes True to False']
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
    before = {"n_changes": search.n_changes.copy(), "distance": search.distance.copy()}
    search.by_size(Choices.between(given.domain, gower, origin, target))
    search.make_smaller()
    return _asked_again(given, rows, nearest, search, before)


def _asked_again(
    given: Evidence, rows: RealRows, nearest: Codes, search: MinimalChanges, before: dict[str, Any]
) -> Shrunk:
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
    common = common_of(given, rows, search, kept, np.ones(len(kept), dtype=bool))
    index = common["is_minimal"].index
    origins = inputs_at(domain, search.origin[kept], families.place(ends.case))[0]
    return Shrunk(
        **common,
        cases=domain.decode(ends.case).set_axis(index),
        twins=domain.decode(ends.twin).set_axis(index),
        outputs=pd.DataFrame(outputs).set_axis(index),
        rows=pd.Series(rows.frame.index[nearest[kept]], index=index, name="row"),
        before=pd.DataFrame(before).iloc[kept].set_axis(index),
        _origins=domain.decode(origins).set_axis(index),
        _rows=rows.frame.iloc[nearest[kept]].set_axis(index),
    )


def _shown_places(judgement: Judgement, rows: Codes, own: Codes) -> Codes:
    """Return the place of the family member that shows each case.

    It is the member with the sensitive values of the row if that exists, else the case's own member, else the first one
    that exists.
    """
    each, exist = np.arange(len(own)), judgement.exist
    fallback = np.where(exist[own, each], own, exist.argmax(axis=0))
    return np.where((rows >= 0) & exist[rows, each], rows, fallback)
