"""What is given to shrink or to repair: cases, asked about again, and real rows to go towards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes
from fairprobe.blocks import Remark
from fairprobe.checks import checked_count
from fairprobe.domain.domain import Domain, checked_domain
from fairprobe.domain.nearest import coordinates
from fairprobe.errors import DataError, SettingError
from fairprobe.explanation.evidence import Budget, holding
from fairprobe.model.asking import Asker
from fairprobe.model.measuring import resolution_of
from fairprobe.oracle import Judgement, Oracle
from fairprobe.searching import Found
from fairprobe.searching.start_rows import as_compared

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Given:
    """The cases that still hold, and what may be asked about them."""

    domain: Domain
    oracle: Oracle
    cases: Judgement
    index: pd.Index
    """Theirs, among the cases given."""
    n_gone: int
    """Cases given that no longer hold."""
    budget: Budget
    """It leaves what is needed to ask about each of them once more, unless only a part of the queries was for them."""
    places: Codes
    """Where the cases that still hold stand among those given."""
    n_unasked: int = 0
    """Cases given that the budget left no room to ask about."""

    def __len__(self) -> int:
        return len(self.index)


def given_cases(
    cases: Any,
    model: Any,
    domain: Domain | None,
    *,
    output: str | None,
    threshold: float | None,
    max_queries: int,
    batch: str | None,
    part: float | None = None,
) -> Given:
    """The cases of a search, or of a frame, asked about.

    With a `part` of the queries, all if that allows it, else as many as half of it does, evenly taken; without, all or
    none.
    """
    import pandas as pd

    resolution = 0.0
    if isinstance(cases, Found):
        _check_none_given(cases, domain, output=output, threshold=threshold)
        domain, output, threshold, resolution = cases.domain, cases.output, cases.threshold, cases.resolution
        codes, index = cases._cases.case.astype(np.int64), pd.RangeIndex(cases.n_cases)
    else:
        domain = checked_domain(domain)
        frame = domain.as_frame(cases)
        codes, index = as_inputs(domain, frame), frame.index
    asker = Asker(model, domain, output=output or "label", batch=batch)
    asker.limit = max_queries
    oracle = Oracle.careful(asker, threshold, resolution)
    checked_count("max_queries", max_queries)
    n_given, cost = len(codes), Budget(oracle, None).cost
    chosen = np.arange(n_given)
    if part is not None:
        n = n_given
        if n * cost > max_queries * part:  # half of the part, so that there is more to measure them by
            n = max(int(max_queries * part / 2) // cost, min(1, max_queries // cost))
        chosen = np.linspace(0, n_given - 1, n).astype(np.int64)
        codes, index = codes[chosen], index[chosen]
    # Each case and its twins are asked about at the beginning and at the end.
    once = len(codes) * cost
    if part is None and max_queries < 2 * once:
        raise SettingError.about(
            "max_queries",
            f"must be at least {2 * once:,}, to ask about {len(codes):,} cases and their twins before and after, "
            f"got {max_queries:,}: raise it, or give fewer cases",
        )
    if len(codes):
        oracle.resolution = max(resolution, resolution_of(asker, max(0, max_queries - 2 * once)))
    judgement, still = holding(oracle, codes)
    budget = Budget(oracle, max_queries - (int(still.sum()) * cost if part is None else 0))
    n_gone, n_unasked = int((~still).sum()), n_given - len(codes)
    return Given(domain, oracle, judgement, index[still], n_gone, budget, chosen[still], n_unasked)


def _check_none_given(found: Found, domain: Domain | None, **told: Any) -> None:
    """A search has told these already."""
    if domain is not None and domain != found.domain:
        raise SettingError.about("domain", "must be the one searched, got another: leave it out, or give found.cases")
    for name, value in told.items():
        if value is not None and value != getattr(found, name):
            raise SettingError.about(
                name, f"is the search's own, {getattr(found, name)!r}, got {value!r}: leave it out, or give found.cases"
            )


def as_inputs(domain: Domain, frame: pd.DataFrame) -> Codes:
    """Cases as codes; every value must be one of the domain's."""
    codes = domain.rows(frame, called={"X": "cases"}, may_be_empty=True).codes
    outside = codes < 0
    if outside.any():
        column = int(outside.any(axis=0).argmax())
        name, rows = domain.names[column], outside[:, column]
        value = frame[name].iloc[int(rows.argmax())]
        raise DataError(
            f"the cases must be inputs of the domain, got {name}={value} and the like in {int(rows.sum()):,} of "
            f"{len(frame):,}: give the domain that they were found in"
        )
    return codes


@dataclass(frozen=True)
class RealRows:
    """Rows as inputs, allowed or not."""

    codes: Codes
    places: Codes
    """Which member each is itself; -1 for one whose sensitive value is not compared."""
    frame: pd.DataFrame
    """The same rows as they were given."""
    n_unused: int
    """Rows with a value that is none of the domain's, or with values that do not go together."""

    @property
    def health(self) -> list[Remark]:
        """How many could not be used."""
        if not self.n_unused:
            return []
        n = self.n_unused + len(self.frame)
        text = f"{self.n_unused:,} of {n:,} rows have values that are none of the domain's: they are not used"
        return [Remark("rows-outside", text)]


def real_rows(domain: Domain, towards: Any) -> RealRows:
    """Rows to go towards: at the nearest step, and whatever their sensitive value, as that does not matter."""
    rows = domain.rows(towards, called={"X": "towards"})
    frame, codes, sensitive = rows.frame, rows.nearest_codes, list(domain.sensitive_columns)
    used = np.flatnonzero((np.delete(codes, sensitive, axis=1) >= 0).all(axis=1))
    codes, own = codes[used], codes[used][:, sensitive]
    others = np.flatnonzero((own < 0).any(axis=1))
    if domain.families.is_plain:
        codes[:, sensitive] = np.maximum(own, 0)
    elif len(others):  # what is linked follows
        some = frame.iloc[used[others]]
        codes[others] = domain.encode(as_compared(domain, some, own[others]), nearest=True)
    kept = np.flatnonzero((codes >= 0).all(axis=1))
    kept = kept[(coordinates(domain, codes[kept]) >= 0).all(axis=1)]
    if not len(kept):
        raise DataError.about(
            "towards",
            f"must have a row whose values are the domain's, got none among {len(frame):,}: widen the domain, or give "
            "other rows",
        )
    places = np.where((own[kept] < 0).any(axis=1), -1, domain.families.place(codes[kept]))
    return RealRows(codes[kept], places, frame.iloc[used[kept]], len(frame) - len(kept))
