"""The cases given to be explained, shrunk or repaired, asked about again; and the queries that are left for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
from fairprobe.estimation.favourable import Favourable, in_order, read_favourable
from fairprobe.model.asking import Asker
from fairprobe.model.measuring import resolution_of
from fairprobe.oracle import Judgement, Oracle
from fairprobe.searching import Found
from fairprobe.searching.start_rows import as_compared

if TYPE_CHECKING:
    import pandas as pd

CASES_PART = 0.5
"""Part of `max_queries` for asking about all cases given. If they need more, half of this part is spent. Chosen."""


class Budget:
    """The queries left of a limit; None stands for no limit."""

    def __init__(self, oracle: Oracle, max_queries: int | None, *, reserved: int = 0) -> None:
        self._oracle = oracle
        self.max_queries = max_queries
        self._reserved = reserved
        self.cost = len(oracle.families) * (2 if oracle.asks_twice else 1)
        """Rows that one input takes at most."""

    @property
    def n_left(self) -> int | None:
        """Rows that may still be sent; None without a limit."""
        if self.max_queries is None:
            return None
        return max(0, self.max_queries - self._reserved - self._oracle.asker.n_queries)

    def part(self, part: float) -> Budget:
        """A part of what is left, as a budget of its own."""
        left = self.n_left
        return Budget(self._oracle, None if left is None else self._oracle.asker.n_queries + int(left * part))

    def inputs(self, n_wanted: int, part: float = 1.0) -> int:
        """How many of the inputs wanted a part of what is left is enough for."""
        left = self.n_left
        return n_wanted if left is None else min(n_wanted, int(left * part) // self.cost)


@dataclass(frozen=True, kw_only=True)
class GivenCases:
    """The cases that still hold, and what may be asked about them."""

    domain: Domain
    oracle: Oracle
    cases: Judgement
    numbers: Codes
    """Position of the cases that still hold among those given."""
    budget: Budget
    """It leaves the queries that are reserved for asking about the cases once more."""
    index: pd.Index | None = None
    """Index of the cases that still hold."""
    n_gone: int = 0
    """Cases given that no longer hold."""
    n_unasked: int = 0
    """Cases given that were not asked about, as the budget left no room."""
    n_off: int = 0
    """Cases given that were not asked about, as they hold values of rows that are none of the domain's."""

    @property
    def n_cases(self) -> int:
        """Number of cases that still hold."""
        return len(self.cases.codes)

    @property
    def n_given(self) -> int:
        """Number of cases given."""
        return self.n_cases + self.n_gone + self.n_unasked + self.n_off

    @property
    def n_queries(self) -> int:
        """Number of rows sent to the model so far."""
        return self.oracle.asker.n_queries

    @cached_property
    def places(self) -> Codes:
        """Place of each case among the members of its family."""
        return self.domain.families.place(self.cases.codes)

    @cached_property
    def coordinates(self) -> Codes:
        """Roles of each case in the columns that are neither sensitive nor derived."""
        return coordinates(self.domain, self.cases.codes)

    def health(self, n_lost: int = 0) -> list[Remark]:
        """Remarks on a model that contradicts itself, and on cases left out, `n_lost` since they were asked about."""
        remarks = list(self.oracle.health)
        of = f"of {self.n_given:,} cases"
        if self.n_unasked:
            text = (
                f"{self.n_unasked:,} {of} were not asked about, as the limit of {self.budget.max_queries or 0:,} "
                f"queries leaves no room: a case and its twins take {self.budget.cost:,}. The others are evenly taken"
            )
            remarks.append(Remark("fewer-cases", text))
        if self.n_off:
            text = f"{self.n_off:,} {of} hold values of rows that are none of the domain's: they were not asked about"
            remarks.append(Remark("cases-outside", text))
        n_gone = self.n_gone + n_lost
        if n_gone and not self.oracle.health:
            text = f"{n_gone:,} {of} were left out, as the model now treats them and their twins alike"
            remarks.append(Remark("cases-gone", f"{text}: is it the model that was searched?"))
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

    checked_count("max_queries", max_queries)
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
    n_given, cost = len(codes), Budget(oracle, None).cost
    n_asked = n_given
    if n_given * cost > max_queries * CASES_PART:
        n_asked = max(int(max_queries * CASES_PART / 2) // cost, min(1, max_queries // (n_times * cost)))
    numbers = np.linspace(0, n_given - 1, n_asked).astype(np.int64)
    if n_asked:
        oracle.resolution = max(resolution, resolution_of(asker, max(0, max_queries - 2 * n_asked * cost)))
    judgement = oracle.judge_anew(codes[numbers])
    numbers = numbers[judgement.hits]
    return GivenCases(
        domain=domain,
        oracle=oracle,
        cases=judgement.take(np.flatnonzero(judgement.hits)),
        index=index[numbers],
        numbers=numbers,
        n_gone=n_asked - len(numbers),
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


def labels_of(judgements: Sequence[Judgement]) -> list[Any]:
    """The labels that were given to inputs, in order; none where the outputs are classes' numbers."""
    import pandas as pd

    seen = [part.outputs[part.exist] for part in judgements if part.outputs.ndim == 2]
    return in_order(label for labels in seen for label in pd.unique(labels))


def read_good(
    word: Any, model: Any, oracle: Oracle, judgements: Sequence[Judgement], more: Iterable[Any] = ()
) -> Favourable | None:
    """Read the word for the good outcome; if the model tells no classes, by its outputs and `more` labels."""

    def seen() -> Iterator[list[Any]]:
        yield in_order([*labels_of(judgements), *more])

    n_classes = max((part.outputs.shape[2] for part in judgements if part.outputs.ndim == 3), default=0)
    return read_favourable(word, model, oracle.asker.output, seen(), lambda: n_classes)


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


def real_rows(domain: Domain, towards: Any) -> RealRows:
    """Code rows at the nearest step. Their sensitive values do not matter, so these need not be compared."""
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
