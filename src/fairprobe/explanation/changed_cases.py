"""The common part of the results of `shrink` and `repair`: cases with minimal changes, and how they are shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairprobe.arrays import Mask
from fairprobe.blocks import Remark
from fairprobe.domain.domain import Domain
from fairprobe.explanation.finding import Finding, finite, remarks_of
from fairprobe.explanation.given_cases import GivenCases, RealRows
from fairprobe.explanation.minimal_changes import MinimalChanges

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class ChangedCases(Finding):
    """Cases with minimal changes; every one was asked about again at the end. All have the index of the cases given."""

    domain: Domain
    cases: pd.DataFrame
    n_changes: pd.Series
    """Number of parameters that differ (roles, where they are linked), without the sensitive ones."""
    distance: pd.Series
    """Gower's distance: between 0 and 1, the mean over the parameters."""
    is_minimal: pd.Series
    """True where all smaller numbers of changes were asked about and give nothing."""
    n_gone: int
    """Cases given that no longer hold, or not each time that the model is asked; they are left out."""
    n_queries: int
    health: tuple[Remark, ...]

    @property
    def n_cases(self) -> int:
        """Number of cases that still hold."""
        return len(self.cases)

    def jsonable(self) -> dict[str, Any]:
        """The figures as plain values of JSON."""
        return {
            "n_cases": self.n_cases,
            "n_gone": self.n_gone,
            "n_minimal": int(self.is_minimal.sum()),
            "n_queries": self.n_queries,
            "n_changes": mean_of(self.n_changes),
            "distance": mean_of(self.distance),
            "health": remarks_of(self.health),
        }

    def sentences(self) -> list[str]:
        """The result in plain sentences."""
        if not self.n_cases:
            why = "it cannot be told whether they hold" if "stochastic-model" in dict(self.health) else "no longer hold"
            return [f"No cases to {self._verb}{f', {self.n_gone:,} {why}' if self.n_gone else ''}."]
        return [self._sentence(), f"It took {self.n_queries:,} queries."]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({' '.join(self.sentences())})"

    _verb = "change"

    def _sentence(self) -> str:
        raise NotImplementedError


def health_of(
    given: GivenCases, rows: RealRows | None, search: MinimalChanges, is_fewest: Mask, n_lost: int = 0
) -> list[Remark]:
    """Remarks on what was left out, or not asked about."""
    remarks = given.health(n_lost)
    if rows is not None:
        remarks += rows.health()
    if not is_fewest.all():
        n = int((~is_fewest).sum())
        text = f"for {n:,} of {len(is_fewest):,} cases max_queries is too small to ask about all with fewer changes"
        remarks.append(Remark("not-minimal", text))
    if search.has_ended:
        remarks.append(Remark("ended", "max_queries ended before every change was made as small as it can be"))
    return remarks


def mean_of(figures: pd.Series) -> Any:
    """The mean of the figures that are known; None if there are none."""
    return finite(figures.astype(float).mean())
