"""The cases given to be explained, shrunk or repaired, asked about again; and the real rows given with them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes
from fairprobe.blocks import Remark
from fairprobe.checks import checked_count
from fairprobe.domain.domain import Domain, checked_domain
from fairprobe.domain.nearest import coordinates
from fairprobe.errors import DataError, SettingError
from fairprobe.explanation.budget import Budget
from fairprobe.model.asking import Asker
from fairprobe.model.measuring import resolution_of
from fairprobe.oracle import Judgement, Oracle
from fairprobe.searching import Found
from fairprobe.searching.start_rows import as_compared

if TYPE_CHECKING:
    import pandas as pd

CASES_PART = 0.5
"""Part of `max_queries` for asking about all cases given. If they need more, half of this part is spent. Chosen."""


@dataclass(frozen=True)
class GivenCases:
    """The cases that still hold, and what may be asked about them."""

    domain: Domain
    oracle: Oracle
    cases: Judgement
    index: pd.Index
    """Index of the cases that still hold."""
    numbers: Codes
    """Position of the cases that still hold among those given."""
    n_gone: int
    """Cases given that no longer hold."""
    n_unasked: int
    """Cases given that were not asked about, as the budget left no room."""
    budget: Budget
    """It leaves the queries that are reserved for asking about the cases once more."""

    def __len__(self) -> int:
        return len(self.index)

    @cached_property
    def places(self) -> Codes:
        """Place of each case among the members of its family."""
        return self.domain.families.place(self.cases.codes)

    @cached_property
    def coordinates(self) -> Codes:
        """Roles of each case in the columns that are neither sensitive nor derived."""
        return coordinates(self.domain, self.cases.codes)

    def health(self, n_lost: int = 0) -> list[Remark]:
        """Remarks on cases given that are left out, `n_lost` of them since they were asked about here."""
        n_given = len(self) + self.n_gone + self.n_unasked
        return case_remarks(self.oracle, self.budget, n_given, self.n_unasked, self.n_gone + n_lost)


def case_remarks(
    oracle: Oracle, budget: Budget, n_given: int, n_unasked: int, n_gone: int, n_off: int = 0
) -> list[Remark]:
    """Remarks on a model that contradicts itself, and on cases given that are left out."""
    remarks = [Remark(*each) for each in oracle.health]
    if n_unasked:
        text = (
            f"{n_unasked:,} of {n_given:,} cases were not asked about, as the limit of {budget.max_queries or 0:,} "
            f"queries leaves no room: a case and its twins take {budget.cost:,}. Those that were are evenly taken"
        )
        remarks.append(Remark("fewer-cases", text))
    if n_off:
        text = f"{n_off:,} of {n_given:,} cases hold values of rows that are none of the domain's"
        remarks.append(Remark("cases-outside", f"{text}: they were not asked about"))
    if n_gone and not oracle.health:
        text = (
            f"{n_gone:,} of {n_given:,} cases are none any more, as the model treats them and their twins alike. They "
            "are left out: is it the model that was searched?"
        )
        remarks.append(Remark("cases-gone", text))
    return remarks


def given_cases(
    cases: Any,
    model: Any,
    domain: Domain | None,
    *,
    output: str | None,
    threshold: float | None,
    max_queries: int,
    batch: str | None,
    n_times: int = 1,
) -> GivenCases:
    """Ask about the cases of a search or of a frame: about as many, evenly taken, as the budget allows.

    Queries are reserved so that the cases that hold can be asked about `n_times` in all.
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
    n_asked = n_given
    if n_given * cost > max_queries * CASES_PART:
        n_asked = max(int(max_queries * CASES_PART / 2) // cost, min(1, max_queries // (n_times * cost)))
    numbers = np.linspace(0, n_given - 1, n_asked).astype(np.int64)
    codes = codes[numbers]
    if len(codes):
        oracle.resolution = max(resolution, resolution_of(asker, max(0, max_queries - 2 * len(codes) * cost)))
    judgement = oracle.judge_anew(codes)
    still = np.flatnonzero(judgement.hits)
    numbers = numbers[still]
    return GivenCases(
        domain,
        oracle,
        judgement.take(still, codes.dtype),
        index[numbers],
        numbers,
        n_gone=n_asked - len(still),
        n_unasked=n_given - n_asked,
        budget=Budget(oracle, max_queries, reserved=(n_times - 1) * len(numbers) * cost),
    )


def _check_none_given(found: Found, domain: Domain | None, **settings: Any) -> None:
    """Refuse settings that the search has made already."""
    if domain is not None and domain != found.domain:
        raise SettingError.about("domain", "must be the one searched, got another: leave it out, or give found.cases")
    for name, value in settings.items():
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
    """Rows as inputs, whether or not the constraints allow them."""

    codes: Codes
    places: Codes
    """Place of each row among the members of its family; -1 for one whose sensitive value is not compared."""
    frame: pd.DataFrame
    """The rows as they were given."""
    n_unused: int
    """Rows with a value that is none of the domain's, or with values that do not go together."""

    def health(self) -> list[Remark]:
        """Remark on the rows that could not be used."""
        if not self.n_unused:
            return []
        n = self.n_unused + len(self.frame)
        text = f"{self.n_unused:,} of {n:,} rows have values that are none of the domain's: they are not used"
        return [Remark("rows-outside", text)]


def real_rows(domain: Domain, towards: Any) -> RealRows:
    """Code rows at the nearest step. Their sensitive values do not matter, so these need not be compared."""
    rows = domain.rows(towards, called={"X": "towards"})
    frame, codes, sensitive = rows.frame, rows.nearest_codes, list(domain.sensitive_columns)
    used = np.flatnonzero((np.delete(codes, sensitive, axis=1) >= 0).all(axis=1))
    codes, own = codes[used], codes[used][:, sensitive]
    others = np.flatnonzero((own < 0).any(axis=1))
    if domain.families.is_plain:
        codes[:, sensitive] = np.maximum(own, 0)
    elif len(others):  # linked columns follow the sensitive value
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
