"""Base class of the results of `shrink` and `repair`, and the real rows that cases are compared with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes, Mask
from fairprobe.blocks import Remark
from fairprobe.domain.domain import Domain
from fairprobe.domain.nearest import coordinates
from fairprobe.errors import DataError
from fairprobe.explanation.evidence import Evidence
from fairprobe.explanation.finding import Finding, as_json
from fairprobe.explanation.minimal_changes import MinimalChanges
from fairprobe.searching.start_rows import as_compared

if TYPE_CHECKING:
    import pandas as pd


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

    def in_words(self, n: int = 3) -> list[str]:
        """Return the first `n` cases that have a result in words: their changes and the model's outputs."""
        return [self._case_in_words(place) for place in np.flatnonzero(self.distance.notna())[:n].tolist()]

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
        """Return the result of changing cases as sentences, with the number of queries."""
        if self.n_cases:
            return [self._sentence(), f"It took {self.n_queries:,} queries."]
        why = "it cannot be told whether they hold" if "stochastic-model" in dict(self.health) else "no longer hold"
        return [f"No cases to {self._verb}{f', {self.n_gone:,} {why}' if self.n_gone else ''}."]

    def _sentence(self) -> str:
        raise NotImplementedError

    def _case_in_words(self, place: int) -> str:
        raise NotImplementedError


def common_of(
    given: Evidence, rows: RealRows | None, search: MinimalChanges, kept: Codes, found: Mask
) -> dict[str, Any]:
    """Return the fields of `ChangedCases` for a result, by name.

    `kept` are the places of the cases that remain, `found` is a boolean mask of those with a result.
    """
    import pandas as pd

    assert given.index is not None
    is_minimal = search.is_fewest[kept] & found
    columns = {"n_changes": search.n_changes[kept], "distance": search.distance[kept], "is_minimal": is_minimal}
    table = pd.DataFrame(columns, index=given.index[kept]).astype({"n_changes": "Int64"})
    n_lost = given.n_cases - len(kept)
    return {
        "domain": given.domain,
        "n_changes": table["n_changes"].where(found),
        "distance": table["distance"].where(found),
        "is_minimal": table["is_minimal"],
        "n_gone": given.n_gone + n_lost,
        "n_queries": given.n_queries,
        "health": (*given.health(n_lost), *_remarks(rows, search, found, is_minimal)),
    }


def _remarks(rows: RealRows | None, search: MinimalChanges, found: Mask, is_minimal: Mask) -> Iterator[Remark]:
    """Yield remarks on unused rows, on untried changes, and on cases without a result."""
    if rows is not None and rows.n_unused:
        text = f"{rows.n_unused:,} of {rows.n_unused + len(rows.frame):,} rows have values that are none of the"
        yield Remark("rows-outside", f"{text} domain's: they are not used")
    if (found & ~is_minimal).any():
        text = f"for {int((found & ~is_minimal).sum()):,} of {len(found):,} cases max_queries is too small to ask about"
        yield Remark("not-minimal", f"{text} all inputs with fewer changes")
    if search.has_ended:
        yield Remark("ended", "max_queries ended before every change was made as small as it can be")
    if not found.all():
        by_then = " before max_queries ended" if search.has_ended else ""
        yield Remark("unrepaired", f"for {int((~found).sum()):,} cases nothing was found that ends them{by_then}")


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
    """Return real rows as inputs, numbers at the nearest step; their sensitive values need not be compared."""
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
