"""The common shape of the parts of an explanation: sentences, a table and remarks; and their figures for JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from fairprobe.blocks import Block, Remark, Result, Sentence, Table
from fairprobe.domain.values import plain_or_none

if TYPE_CHECKING:
    import pandas as pd


class Finding(Result):
    """A result of sentences, a table and remarks."""

    health: tuple[Remark, ...] = ()
    """The name and the text of each remark."""

    def sentences(self) -> list[str]:
        """The result in plain sentences, the most important first."""
        raise NotImplementedError

    def shown_table(self) -> pd.DataFrame | None:
        """The table that is shown below the sentences; None without one."""
        return None

    def blocks(self) -> Sequence[Block]:
        """The sentences, the table and the remarks."""
        table = self.shown_table()
        shown = [] if table is None or not len(table) else [Table.of_frame(table)]
        return [Sentence(" ".join(self.sentences())), *shown, *self.health]

    def summary(self) -> Any:
        """Return the same as `jsonable`."""
        return self.jsonable()


def finite(value: Any) -> Any:
    """A value for JSON, which has neither NaN nor infinity: None in their place."""
    value = plain_or_none(value)
    return None if isinstance(value, float) and math.isinf(value) else value


def figures_of(of: object, names: Iterable[str]) -> dict[str, Any]:
    """Some attributes for JSON."""
    return {name: finite(getattr(of, name)) for name in names}


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame for JSON."""
    rows = frame.astype(object).to_dict(orient="records")
    return [{str(key): finite(value) for key, value in row.items()} for row in rows]


def remarks_of(health: Iterable[Remark]) -> list[dict[str, str]]:
    """Remarks for JSON."""
    return [remark.jsonable() for remark in health]
