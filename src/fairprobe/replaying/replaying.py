"""The function `replay`: asks a model again about stored cases, and returns the status of each."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes
from fairprobe.blocks import Block, Remark, Result, Sentence
from fairprobe.domain.domain import Domain
from fairprobe.errors import DataError, HealthWarning
from fairprobe.estimation.verdict import EXIT_CODES, Outcome
from fairprobe.model.adapters import adapter_for
from fairprobe.model.asking import Asker
from fairprobe.model.measuring import are_ties, resolution_of
from fairprobe.oracle import Oracle

if TYPE_CHECKING:
    import pandas as pd


class CaseStatus(StrEnum):
    """Status of a stored case after the model was asked about it again."""

    HOLDS = "holds"
    """The family is still discriminatory."""
    FIXED = "fixed"
    """The family is no longer discriminatory."""
    UNSURE = "unsure"
    """The model answers the same row differently, so that it is a case only sometimes."""
    UNASKABLE = "unaskable"
    """The model cannot be asked, for example because the case lies outside the domain or has no twin."""


REASONS = {
    CaseStatus.UNSURE: "the model answers the same row differently",
    CaseStatus.UNASKABLE: "no other member of the family is compared and allowed",
}


@dataclass(frozen=True, repr=False, eq=False)
class Replayed(Result):
    """The result of `replay`: the stored cases, each with its status after the model was asked again."""

    cases: pd.DataFrame
    """The cases as the caller gave them, one per row."""
    statuses: tuple[CaseStatus, ...]
    """Status of each case, in the order of `cases`."""
    reasons: tuple[str, ...]
    """Reason why a case is unsure or cannot be asked, in the order of `cases`; empty for other cases."""
    n_queries: int = 0
    """Number of rows sent to the model."""
    health: tuple[Remark, ...] = ()
    """Remarks of health checks that question the model's answers; with one, every comparable case is unsure."""

    @classmethod
    def join(cls, parts: Sequence[Replayed]) -> Replayed:
        """Return one result with the cases, statuses and reasons of several results, in their order."""
        import pandas as pd

        frames = [part.cases for part in parts if len(part.cases)] or [parts[0].cases]
        return cls(
            pd.concat([each.astype(object) for each in frames]) if len(frames) > 1 else frames[0],
            tuple(status for part in parts for status in part.statuses),
            tuple(reason for part in parts for reason in part.reasons),
            sum(part.n_queries for part in parts),
            tuple({remark.check: remark for part in parts for remark in part.health}.values()),
        )

    @classmethod
    def unasked(cls, cases: pd.DataFrame, reason: str) -> Replayed:
        """Return a result in which all cases are unaskable, for one reason."""
        return cls(cases, (CaseStatus.UNASKABLE,) * len(cases), (reason,) * len(cases))

    def n(self, status: CaseStatus) -> int:
        """Return the number of cases with a status."""
        return self.statuses.count(status)

    def of(self, status: CaseStatus) -> pd.DataFrame:
        """Return the cases that have a status, as a frame with one case per row."""
        return self.cases[[each is status for each in self.statuses]]

    @property
    def outcome(self) -> Outcome:
        """The verdict on the rule that no case may hold any more.

        It is violated if a case holds, passed if there are cases and all were fixed, and otherwise inconclusive.
        """
        if self.n(CaseStatus.HOLDS):
            return Outcome.VIOLATED
        if self.statuses and self.n(CaseStatus.FIXED) == len(self.statuses):
            return Outcome.PASSED
        return Outcome.INCONCLUSIVE

    @property
    def exit_code(self) -> int:
        """The exit code of `fairprobe replay` for the outcome."""
        return EXIT_CODES[self.outcome]

    def sentence(self) -> str:
        """Return a sentence with the number of cases that still hold, were fixed, are unsure or cannot be asked.

        >>> import pandas as pd
        >>> Replayed.unasked(pd.DataFrame({"age": [30]}), "sex is gone").sentence()
        'of 1 case none still holds, 0 were fixed, 1 can no longer be asked (sex is gone)'
        """
        n, held = len(self.statuses), self.n(CaseStatus.HOLDS)
        said = f"of {n:,} case{'s' * (n != 1)} {f'{held:,}' if held else 'none'} still hold{'s' * (held < 2)}"
        said += f", {self.n(CaseStatus.FIXED):,} were fixed"
        words = {CaseStatus.UNSURE: "cannot be told", CaseStatus.UNASKABLE: "can no longer be asked"}
        for status, what in words.items():
            if self.n(status):
                said += f", {self.n(status):,} {what} ({'; '.join(self._reasons(status))})"
        return said

    def _reasons(self, status: CaseStatus) -> Iterable[str]:
        pairs = zip(self.statuses, self.reasons, strict=True)
        return dict.fromkeys(reason for each, reason in pairs if each is status)

    def blocks(self) -> list[Block]:
        """Return one block, the sentence with the number of cases by status."""
        return [Sentence(self.sentence())]

    def jsonable(self) -> dict[str, Any]:
        """Return the number of cases by status, the outcome and the sentence as a dict for JSON."""
        return {
            "n_cases": len(self.statuses),
            **{f"n_{status}": self.n(status) for status in CaseStatus},
            "n_queries": self.n_queries,
            "outcome": str(self.outcome),
            "sentence": self.sentence(),
            "health": [remark.jsonable() for remark in self.health],
        }


def replay(
    cases: pd.DataFrame,
    model: Any,
    domain: Domain,
    *,
    output: str = "label",
    threshold: float | None = None,
    batch: str | None = None,
) -> Replayed:
    """Ask a model again about stored cases, and return for each if its family is still discriminatory.

    Args:
        cases: a frame with one case per row and a column for every parameter; other columns do not matter.
        model: anything with `predict`, or a callable that takes a batch and returns one output per row.
        domain: what an input may be now, and the sensitive values that are compared.
        output: "label", "score", "proba" or "value": the output that is compared.
        threshold: an input is discriminatory if its gap is above this number. It is 0 for labels; all other outputs
            need one.
        batch: "array" or "frame": what the model takes. By default, what it was fitted on.

    >>> import pandas as pd
    >>> from fairprobe import Domain, Integer
    >>> domain = Domain([Integer("age", 17, 90), Integer("sex", 0, 1)], sensitive=["sex"])
    >>> cases = pd.DataFrame({"age": [45, 60, 99], "sex": [0, 1, 1]})
    >>> replay(cases, lambda X: X[:, 0] + 10 * X[:, 1] > 50, domain)
    Replayed(of 3 cases 1 still holds, 1 were fixed, 1 can no longer be asked (age=99 is none of the domain's values))
    """
    columns = adapter_for(model).columns
    dropped = [name for name in domain.sensitive if columns is not None and name not in (*columns, *domain.hidden)]
    domain = domain.hiding(dropped) if dropped else domain
    try:
        asker = Asker(model, domain, output=output, batch=batch)
    except DataError as error:  # the model may take other columns than the one that was searched
        return Replayed.unasked(cases, f"{error}")
    oracle = Oracle.careful(asker, threshold)
    absent = [name for name in domain.names if name not in cases.columns]
    if absent or not len(cases):
        return Replayed.unasked(cases, f"without {', '.join(absent)}")
    codes = domain.encode(cases)
    reasons = _not_inputs(domain, cases, codes)
    statuses = np.full(len(cases), CaseStatus.UNASKABLE, dtype=object)
    asked = np.flatnonzero([not reason for reason in reasons])
    health: tuple[Remark, ...] = ()
    if len(asked):
        statuses[asked], health = _asked_again(oracle, asker, codes[asked], batch)
    gone = {CaseStatus.UNASKABLE: f"the model no longer takes {', '.join(dropped)}"} if dropped else {}
    why = {**REASONS, **gone}
    for place in asked.tolist():
        reasons[place] = why.get(statuses[place], "")
    for name, message in health:
        warnings.warn(f"{name}: {message}", HealthWarning, stacklevel=2)
    return Replayed(cases, tuple(map(CaseStatus, statuses)), tuple(reasons), asker.n_queries, health)


def _asked_again(
    oracle: Oracle, asker: Asker, codes: Codes, batch: str | None
) -> tuple[NDArray[Any], tuple[Remark, ...]]:
    """Return the status of each case (row of `codes`) as an array, and remarks that question all of the answers."""
    oracle.resolution = resolution_of(asker)
    judged = oracle.judge_anew(codes)
    health: tuple[Remark, ...] = ()
    if judged.contradicted is not None and judged.contradicted.any():
        rows = asker.domain.families.members(judged.codes)[judged.contradicted.ravel()]
        is_tie = asker.output == "label" and are_ties(asker.model, asker.domain, batch, rows)
        health = () if is_tie else oracle.health  # at a tie, rounding decides these cases and no others
    found = np.full(len(codes), CaseStatus.FIXED, dtype=object)
    found[judged.hits] = CaseStatus.HOLDS
    found[judged.unsure | bool(health)] = CaseStatus.UNSURE
    found[~judged.comparable] = CaseStatus.UNASKABLE
    return found, health


def _not_inputs(domain: Domain, cases: pd.DataFrame, codes: Codes) -> list[str]:
    """Return for each case the reason why it lies outside the domain; an empty text if it lies inside."""
    reasons = ["" if inside else "the constraints or links forbid it" for inside in domain.contains(codes).tolist()]
    for place in np.flatnonzero((codes < 0).any(axis=1)).tolist():
        name = domain.names[int((codes[place] < 0).argmax())]
        reasons[place] = f"{name}={cases[name].iloc[place]} is none of the domain's values"
    return reasons
