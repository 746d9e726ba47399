"""The results of `shrink` and `repair`: cases with minimal changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes, Mask
from fairprobe.blocks import Remark
from fairprobe.domain.domain import Domain
from fairprobe.domain.values import changes_in_words
from fairprobe.explanation.finding import Finding, as_json
from fairprobe.explanation.given_cases import GivenCases, RealRows
from fairprobe.explanation.minimal_changes import MinimalChanges
from fairprobe.wording import answer

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
        """The figures as plain values of JSON; means are of the cases where something was found."""
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
        """The result in plain sentences."""
        if self.n_cases:
            return [self._sentence(), f"It took {self.n_queries:,} queries."]
        why = "it cannot be told whether they hold" if "stochastic-model" in dict(self.health) else "no longer hold"
        return [f"No cases to {self._verb}{f', {self.n_gone:,} {why}' if self.n_gone else ''}."]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({' '.join(self.sentences())})"

    _verb = "change"

    def _sentence(self) -> str:
        raise NotImplementedError


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Shrunk(ChangedCases):
    """Cases near to real rows: `cases` have their row's sensitive values where these are compared and allowed.

    `n_changes` and `distance` are those to the row.
    """

    twins: pd.DataFrame
    """The other end of each case's largest gap."""
    outputs: pd.DataFrame
    """The model's outputs for the case and for its twin; for classes also the position of the class."""
    rows: pd.Series
    """The row that each is near to, by its index in `towards`."""
    before: pd.DataFrame
    """`n_changes` and `distance` of the case given, to the same row."""
    _origins: pd.DataFrame
    """The rows as inputs, with the sensitive values of the cases and what is linked to these."""
    _rows: pd.DataFrame

    _verb = "shrink"

    def in_words(self, n: int = 3) -> list[str]:
        """The first cases: the row, its changes, and the model's outputs for both ends."""
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
        said = f"{answer(outputs['case'])} to {answer(outputs['twin'])}"
        return f"{', '.join(whose)}: {changed} changes {said}"

    def jsonable(self) -> dict[str, Any]:
        """The figures as plain values of JSON."""
        return {**super().jsonable(), **as_json(self.before.astype(float).mean().add_suffix("_before").to_dict())}

    def _sentence(self) -> str:
        before, after = self.before["n_changes"].mean(), self.n_changes.mean()
        return (
            f"{self.n_cases:,} cases differ from a real row in {after:.1f} parameters on average, in {before:.1f} "
            f"before. For {int(self.is_minimal.sum()):,} of them no smaller number gives a case."
        )

    def shown_table(self) -> pd.DataFrame:
        """The cases and their changes."""
        return self.cases.assign(row=self.rows, n_changes=self.n_changes)


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
    def _changed(self) -> pd.DataFrame:
        """By parameter that may be changed, a boolean mask over the cases."""
        import pandas as pd

        before, after = (
            self.domain.families.canonical(self.domain.encode(frame)) for frame in (self.cases, self._after)
        )
        changed = pd.DataFrame(before != after, columns=list(self.domain.names))
        return changed.iloc[:, list(self.domain.free_columns)]

    @cached_property
    def parameters(self) -> pd.Series:
        """Number of repairs that change each parameter, in descending order."""
        counts = self._changed.sum()
        return counts[counts > 0].sort_values(ascending=False, kind="stable").rename("parameters")

    @cached_property
    def changes(self) -> pd.Series:
        """The changes in words."""
        import pandas as pd

        parts: list[list[str]] = [[] for _ in range(self.n_cases)]
        for name, changed in self._changed.items():
            before, after = (frame[name].tolist() for frame in (self.cases, self._after))
            for row in np.flatnonzero(changed).tolist():
                parts[row].append(f"{name} {before[row]} -> {after[row]}")
        words = [", ".join(each) or None for each in parts]
        return pd.Series(words, index=self.cases.index, name="changes", dtype=object)

    def in_words(self, n: int = 3) -> list[str]:
        """The first repairs: the case, its changes, and the model's output afterwards."""
        return [self._repair_in_words(place) for place in np.flatnonzero(self.distance.notna())[:n].tolist()]

    def _repair_in_words(self, place: int) -> str:
        if self._labels is not None:
            said = f"it gets {answer(self._labels.iloc[place])} as its twins do"
        else:
            said = "the gap is {after:.4g}, not {before:.4g}".format(**self.gaps.iloc[place])
        return f"case {self.cases.index[place]}, with {self.changes.iloc[place]}: {said}"

    def jsonable(self) -> dict[str, Any]:
        """The figures as plain values of JSON."""
        return {
            **super().jsonable(),
            "n_unrepaired": self.n_unrepaired,
            "parameters": as_json(self.parameters.to_dict()),
        }

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


def common_of(
    given: GivenCases, rows: RealRows | None, search: MinimalChanges, kept: Codes, found: Mask
) -> dict[str, Any]:
    """The fields that both results have, for the cases kept; `found` is a mask of those that have changes."""
    import pandas as pd

    assert given.index is not None
    index, n_lost = given.index[kept], given.n_cases - len(kept)
    is_minimal = search.is_fewest[kept] & found
    return {
        "domain": given.domain,
        "n_changes": pd.Series(search.n_changes[kept], index=index, name="n_changes", dtype="Int64").where(found),
        "distance": pd.Series(search.distance[kept], index=index, name="distance").where(found),
        "is_minimal": pd.Series(is_minimal, index=index, name="is_minimal"),
        "n_gone": given.n_gone + n_lost,
        "n_queries": given.n_queries,
        "health": (*given.health(n_lost), *_remarks(rows, search, found, is_minimal)),
    }


def _remarks(rows: RealRows | None, search: MinimalChanges, found: Mask, is_minimal: Mask) -> Iterator[Remark]:
    """Remarks on rows that were not used, and on what was not asked about, or not found."""
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
