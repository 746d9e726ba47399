"""Shrink: cases as near to real rows as they can be while they are cases."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes, Mask
from fairprobe.blocks import Remark
from fairprobe.domain.domain import Domain
from fairprobe.domain.nearest import Gower, coordinates, nearest_rows
from fairprobe.domain.values import changes_in_words
from fairprobe.explanation.fewest import (
    ALL,
    ENDS,
    Asking,
    Reached,
    are_ordered,
    between,
    by_size,
    inputs_at,
    make_smaller,
    take_back,
)
from fairprobe.explanation.given import Given, RealRows, given_cases, real_rows
from fairprobe.notebook import Health, as_html
from fairprobe.oracle import Ends, Judgement
from fairprobe.searching import Found
from fairprobe.searching.found import SHOWN, output_in_words

if TYPE_CHECKING:
    import pandas as pd


def shrink(
    cases: Found | pd.DataFrame,
    model: Any,
    domain: Domain | None = None,
    *,
    towards: pd.DataFrame,
    output: str | None = None,
    threshold: float | None = None,
    max_queries: int = 1_000_000,
    batch: str | None = None,
) -> Shrunk:
    """The fewest and smallest differences to a real row that still give a case.

    Each case goes towards the row nearest to it: every other parameter has the row's value, the case's, or, where
    values have an order, one in between. Of these inputs the one with the fewest differences is looked for, and then
    the nearest to the row. Sensitive values do not count, as a case is one of a whole family; roles do, where values
    are linked.

    Args:
        cases: what `search` found, or a frame of cases; those that the model no longer treats differently are left
            out and counted.
        model: the model that was searched.
        domain: of a frame of cases; a search has its own.
        towards: real rows. One with a value that is none of the domain's is not used; one that a constraint forbids is.
        output: as for `search`, for a frame of cases.
        threshold: the same.
        max_queries: rows that may be sent to the model. Where they are not enough to ask about everything with fewer
            differences, `is_minimal` says so.
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
    given = given_cases(cases, model, domain, output=output, threshold=threshold, max_queries=max_queries, batch=batch)
    rows = real_rows(given.domain, towards)
    nearest = _nearest(given, rows)
    origin, target = (coordinates(given.domain, codes) for codes in (rows.codes[nearest], given.cases.codes))
    gower = Gower(given.domain, coordinates(given.domain, rows.codes))
    own = given.domain.families.place(given.cases.codes)
    ask = Asking(given.oracle, given.budget, own, lambda which, judgement: judgement.hits)

    reached = Reached(gower, origin, origin.copy())
    reached.offer(np.arange(len(given)), target)
    before = reached.n_changes.copy(), reached.distance.copy()
    is_number = are_ordered(given.domain) & (origin != gower.last) & (target != gower.last)
    choices = between(origin, target, is_number)
    take_back(reached, ask)
    by_size(choices, reached, ask, ENDS)
    by_size(choices, reached, ask, ALL, part=0.4)
    make_smaller(reached, ask, given.domain)
    return _result(given, rows, nearest, reached, before, has_ended=ask.has_ended)


def _nearest(given: Given, rows: RealRows) -> Codes:
    """Each case's row."""
    if not len(given):
        return np.zeros(0, dtype=np.int64)
    return nearest_rows(given.domain, given.cases.codes, rows.codes)[0]


def _result(
    given: Given, rows: RealRows, nearest: Codes, reached: Reached, before: tuple[Codes, Any], *, has_ended: bool
) -> Shrunk:
    """What was reached, asked about once more, as it is shown."""
    import pandas as pd

    domain, families = given.domain, given.domain.families
    own = families.place(given.cases.codes)
    judgement = given.oracle.judge_anew(inputs_at(domain, reached.values, own)[0])
    kept = np.flatnonzero(judgement.hits)  # a model that answers anew each time may have lost some
    judgement = judgement.take(kept, judgement.codes.dtype)
    places = _shown_places(judgement, rows.places[nearest[kept]], own[kept])
    ends = given.oracle.ends(replace(judgement, codes=families.member(judgement.codes, places)))
    index = given.index[kept]
    origins = inputs_at(domain, reached.origin[kept], families.place(ends.case))[0]
    n_gone = given.n_gone + len(given) - len(kept)
    return Shrunk(
        domain=domain,
        cases=domain.decode(ends.case).set_axis(index),
        twins=domain.decode(ends.twin).set_axis(index),
        outputs=_outputs(ends).set_axis(index),
        rows=pd.Series(rows.frame.index[nearest[kept]], index=index, name="row"),
        n_changes=pd.Series(reached.n_changes[kept], index=index, name="n_changes"),
        distance=pd.Series(reached.distance[kept], index=index, name="distance"),
        before=pd.DataFrame({"n_changes": before[0][kept], "distance": before[1][kept]}, index=index),
        is_minimal=pd.Series(reached.is_fewest[kept], index=index, name="is_minimal"),
        n_gone=n_gone,
        n_queries=given.oracle.asker.n_queries,
        health=given.oracle.health + _health(rows, n_gone, reached.is_fewest[kept], has_ended=has_ended),
        _origins=domain.decode(origins).set_axis(index),
        _rows=rows.frame.iloc[nearest[kept]].set_axis(index),
    )


def _shown_places(judgement: Judgement, rows: Codes, own: Codes) -> Codes:
    """Which member shows a case: the row's own if that is compared and allowed, else the case's, else the first."""
    places = np.where(rows >= 0, rows, own)
    if judgement.present is None:
        return places
    each = np.arange(len(own))
    first = judgement.present.argmax(axis=0)
    fallback = np.where(judgement.present[own, each], own, first)
    return np.where(judgement.present[places, each], places, fallback)


def _outputs(ends: Ends) -> pd.DataFrame:
    """What the model says of both ends, and of which class, where there are some."""
    import pandas as pd

    columns: dict[str, Any] = {"case": ends.outputs[:, 0], "twin": ends.outputs[:, 1]}
    return pd.DataFrame(columns if ends.classes is None else {**columns, "class": ends.classes})


def _health(rows: RealRows, n_gone: int, is_fewest: Mask, *, has_ended: bool) -> tuple[Remark, ...]:
    """What to know about it."""
    remarks = rows.health
    if n_gone:
        text = (
            f"{n_gone:,} of the cases given no longer hold, or not each time that the model is asked: they are left out"
        )
        remarks.append(Remark("gone", text))
    if not is_fewest.all():
        n = int((~is_fewest).sum())
        text = f"for {n:,} of {len(is_fewest):,} cases max_queries is too small to ask about all with fewer differences"
        remarks.append(Remark("not-minimal", text))
    if has_ended:
        remarks.append(Remark("ended", "max_queries ended before every difference was made as small as it can be"))
    return tuple(remarks)


@dataclass(frozen=True, repr=False, eq=False)
class Shrunk:
    """Cases near to real rows; every one was asked about again at the end. All have the index of the cases given."""

    domain: Domain
    cases: pd.DataFrame
    """Each with the sensitive values of its row where these are compared and allowed, else of the case given."""
    twins: pd.DataFrame
    """The other end of each case's largest gap."""
    outputs: pd.DataFrame
    """The model's outputs for the case and for its twin; for classes also which class (by position)."""
    rows: pd.Series
    """The row that each is near to, by its index in `towards`."""
    n_changes: pd.Series
    """In how many parameters (roles, where they are linked) it differs from its row, the sensitive ones aside."""
    distance: pd.Series
    """Gower's distance to its row."""
    before: pd.DataFrame
    """`n_changes` and `distance` of the case given, to the same row."""
    is_minimal: pd.Series
    """Whether everything with fewer differences was asked about, and is no case."""
    n_gone: int
    """Cases given that no longer hold, or not each time that the model is asked; they are left out."""
    n_queries: int
    health: Health
    """The name and the text of what to know about it."""
    _origins: pd.DataFrame
    """The rows as inputs, with the sensitive values of the cases and what is linked to these."""
    _rows: pd.DataFrame

    @property
    def n_cases(self) -> int:
        """Cases that still hold."""
        return len(self.cases)

    def in_words(self, n: int = 3) -> list[str]:
        """The first cases: which row, with what changed, and what the model says of both ends."""
        return [self._case_in_words(place) for place in range(min(n, self.n_cases))]

    def _case_in_words(self, place: int) -> str:
        # As objects, so that whole numbers do not become fractions beside others.
        frames = (self.cases, self.twins, self.outputs, self._rows, self._origins)
        case, twin, outputs, row, origin = (frame.iloc[[place]].astype(object).iloc[0] for frame in frames)
        sensitive = list(self.domain.sensitive)
        own = [f"as if {name} {case[name]}" for name in sensitive if changes_in_words(row[[name]], case[[name]])]
        others = changes_in_words(origin.drop(sensitive), case.drop(sensitive))
        whose = [f"row {self.rows.iloc[place]}", *own, *([f"with {', '.join(others)}"] if others else [])]
        changed = ", ".join(changes_in_words(case, twin, sensitive))
        said = f"{output_in_words(outputs['case'])} to {output_in_words(outputs['twin'])}"
        return f"{', '.join(whose)}: {changed} changes {said}"

    def summary(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        return {
            "n_cases": self.n_cases,
            "n_gone": self.n_gone,
            "n_minimal": int(self.is_minimal.sum()),
            "n_queries": self.n_queries,
            "n_changes": mean_of(self.n_changes),
            "distance": mean_of(self.distance),
            "n_changes_before": mean_of(self.before["n_changes"]),
            "distance_before": mean_of(self.before["distance"]),
            "health": [{"check": name, "message": message} for name, message in self.health],
        }

    def _sentence(self) -> str:
        if not self.n_cases:
            return f"no cases to shrink{gone_in_words(self.n_gone, self.health)}"
        told = self.summary()
        return (
            f"{self.n_cases:,} cases, {told['n_changes_before']:.1f} -> {told['n_changes']:.1f} differences to a row "
            f"on average, {told['n_minimal']:,} known to be the fewest, {self.n_queries:,} queries"
        )

    def __repr__(self) -> str:
        return f"Shrunk({self._sentence()})"

    def _repr_html_(self) -> str:
        some = self.cases.assign(row=self.rows, n_changes=self.n_changes).head(SHOWN).to_html(escape=True, border=0)
        figures = {"sensitive": ", ".join(self.domain.sensitive), "no longer hold": self.n_gone}
        return as_html("Shrunk", self._sentence(), figures, self.health, some)


def gone_in_words(n_gone: int, health: Health) -> str:
    """How many cases given were left out, and why."""
    why = "cannot be told" if "stochastic-model" in dict(health) else "no longer hold"
    return f", {n_gone:,} {why}" if n_gone else ""


def mean_of(figures: pd.Series) -> float | None:
    """The mean, None of nothing."""
    return float(figures.mean()) if len(figures) else None
