"""Who gets what among the discriminatory inputs, in words; and the outcome that is named as the good one."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.cli.words import WIDTH, listed
from fairprobe.errors import HealthWarning, SettingError
from fairprobe.estimate.counting import worse_off
from fairprobe.estimate.share import Share

if TYPE_CHECKING:
    import pandas as pd

ENDS = ("lowest", "highest")
"""The outcomes of a model that gives a number: which end of the family's numbers a member gets."""

MOST_ROWS = 8
MOST_COLUMNS = 5


@dataclass(frozen=True)
class Outcomes:
    """What the model may answer, as far as it is known beforehand."""

    classes: Sequence[Any] | None
    """The model's classes, in order; None if it does not tell."""
    output: str
    favourable: str | None
    """The text of the good one."""

    @classmethod
    def of(cls, model: Any, output: str, favourable: str | None) -> Outcomes:
        """Those of a model; an outcome that it cannot give is refused."""
        outcomes = cls(_classes(model), output, favourable)
        known = outcomes.known
        if favourable is not None and known is not None and match(favourable, known) is None:
            raise SettingError(
                f"--favourable must be an outcome of the model, one of {listed(known)}; got {favourable!r}"
            )
        return outcomes

    @property
    def known(self) -> Sequence[Any] | None:
        """All there can be; None if that is not known."""
        if self.output == "value" or (self.output == "score" and len(self.classes or ()) == 2):
            return ENDS
        return None if self.output == "score" else self.classes

    def put_into(self, share: Share) -> Share:
        """The share with outcomes under the names of classes, and with who is worse off."""
        if share.outcomes is None:
            return share
        named = self._named(share.outcomes)
        if self.favourable is None:
            return replace(share, outcomes=named)
        column = match(self.favourable, named.columns)
        if column is None:
            warnings.warn(
                f"favourable-unseen: no discriminatory input gets the outcome {self.favourable!r}, only "
                f"{listed(named.columns)}",
                HealthWarning,
                stacklevel=2,
            )
            return replace(share, outcomes=named)
        return replace(share, outcomes=named, worse_off=worse_off(named, column[0]))

    def _named(self, outcomes: pd.DataFrame) -> pd.DataFrame:
        """Of class probabilities the library knows only the position of the likeliest class."""
        if self.output == "label" or self.classes is None or set(outcomes.columns) & set(ENDS):
            return outcomes
        return outcomes.rename(columns=dict(enumerate(self.classes)))


def _classes(model: Any) -> Sequence[Any] | None:
    classes = getattr(model, "classes_", None)
    if classes is None or np.ndim(classes) != 1:
        return None
    return list(np.asarray(classes).tolist())


def match(text: str, outcomes: Iterable[Any]) -> tuple[Any] | None:
    """The outcome that a text stands for, in a tuple, as it may be a false one; None if there is none.

    >>> match("1", [0, 1]), match("true", [False, True]), match("1", [0.0, 1.0]), match("yes", ["no"])
    ((1,), (True,), (1.0,), None)
    """
    for reading in (str, lambda outcome: str(outcome).lower(), _as_number):
        wanted = reading(text)
        found = [outcome for outcome in outcomes if wanted is not None and reading(outcome) == wanted]
        if len(found) == 1:
            return (found[0],)
    return None


def _as_number(outcome: Any) -> float | None:
    try:
        return None if isinstance(outcome, bool) else float(outcome)
    except (TypeError, ValueError):
        return None


# In words


def outcome_lines(share: Share, favourable: str | None) -> list[str]:
    """What each combination of sensitive values gets, over the discriminatory inputs."""
    outcomes = share.outcomes
    if outcomes is None or outcomes.empty:
        return []
    what = "rows" if share.population == "rows" else "inputs"
    return [
        f"How often each gets which outcome, among the discriminatory {what}{_where(share)}:",
        *_table(outcomes, favourable),
        *_worse_off(share, outcomes, favourable),
    ]


def _where(share: Share) -> str:
    return {"domain": " of the domain", "valid": " that the constraints allow"}.get(share.population, "")


def _table(outcomes: pd.DataFrame, favourable: str | None) -> list[str]:
    """Rows ordered by the outcome that is named as the good one, or by the last."""
    chosen = match(favourable, outcomes.columns) if favourable is not None else None
    key = outcomes.columns[-1] if chosen is None else chosen[0]
    columns = list(outcomes.columns)
    if len(columns) > MOST_COLUMNS:
        most = outcomes.sum().sort_values(ascending=False, kind="stable").index[:MOST_COLUMNS]
        columns = [column for column in columns if column in {*most, key}]
    rates = outcomes.div(outcomes.sum(axis=1).clip(lower=1), axis=0)
    rates = rates.sort_values(key, kind="stable") if len(rates) > 2 else rates
    shown = list(rates.index)
    if len(shown) > MOST_ROWS:
        shown = [*shown[: MOST_ROWS // 2], None, *shown[-MOST_ROWS // 2 :]]
    return _aligned([["", *map(_short, columns)], *(_row(rates, name, columns) for name in shown)])


def _row(rates: pd.DataFrame, name: str | None, columns: Sequence[Any]) -> list[str]:
    if name is None:
        return ["..."]
    return [name, *(f"{rates.loc[name, column]:.1%}" for column in columns)]


def _short(outcome: Any) -> str:
    return _cut(f"{outcome:.6g}" if isinstance(outcome, float) else str(outcome), 14)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    width = max(6, *(len(cell) for row in rows for cell in row[1:]))
    most = max(20, WIDTH - 2 - (width + 2) * (len(rows[0]) - 1))
    names = [_cut(row[0], most) for row in rows]
    first = max(map(len, names))
    return [
        f"  {name:{first}}{''.join(f'  {cell:>{width}}' for cell in row[1:])}".rstrip()
        for name, row in zip(names, rows, strict=True)
    ]


def _worse_off(share: Share, outcomes: pd.DataFrame, favourable: str | None) -> list[str]:
    if favourable is None:
        return []
    column = match(favourable, outcomes.columns)
    if column is None:
        return []
    if share.worse_off is None:
        return [f"  No one of them alone gets {column[0]} least often."]
    return [f"  {share.worse_off} gets {column[0]} least often: worse off, if {column[0]} is the favourable outcome."]
