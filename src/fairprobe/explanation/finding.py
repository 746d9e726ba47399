"""Base class of the parts of an explanation: sentences, a table and remarks, and their figures for JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from fairprobe.blocks import Block, Remark, Result, Sentence, Table
from fairprobe.domain.constraints import Rule
from fairprobe.domain.values import plain_or_none

if TYPE_CHECKING:
    pass

CONFIDENCE = 0.95
"""Confidence of all intervals of an explanation; chosen. The intervals of all regions hold together."""


class Finding(Result):
    """Base class of results with sentences, a table and remarks.

    Subclasses are dataclasses, whose fields are the figures. A report shows their `table`, if they have one.
    """

    health: tuple[Remark, ...] = ()
    """Remarks, each with a name and a text."""
    json_names: ClassVar[Mapping[str, str]] = {}
    """Names of fields in JSON where they differ, by field; an empty name leaves the field out of JSON."""

    def sentences(self) -> list[str]:
        """Return a finding as sentences, the most important first."""
        raise NotImplementedError

    def blocks(self) -> Sequence[Block]:
        """Return a finding for reports: the sentences, the table and the remarks."""
        table = getattr(self, "table", None)
        shown = [] if table is None or not len(table) else [Table.of_frame(table, index=table.index.name is not None)]
        return [Sentence(" ".join(self.sentences())), *shown, *self.health]

    def jsonable(self) -> Any:
        """Return the figures (fields) and the sentences of a finding as values for JSON."""
        return {**figures_of(self, self.json_names), "sentences": self.sentences()}


def figures_of(of: object, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the attributes of an object as values for JSON, by name.

    `names` has other names for some of them; an empty name leaves one out.
    """
    named = {names.get(name, name): value for name, value in vars(of).items()}
    return {name: as_json(value) for name, value in named.items() if name}


def as_json(value: Any) -> Any:
    """Return a value converted for JSON.

    Tables become lists of rows. NaN, infinity and missing values become None, because JSON lacks them.
    """
    import pandas as pd

    if hasattr(value, "jsonable"):
        return value.jsonable()
    if isinstance(value, Rule):
        return value.text
    if isinstance(value, pd.DataFrame):
        table = value if value.index.name is None else value.reset_index()
        return as_json(table.astype(object).to_dict(orient="records"))
    if isinstance(value, Mapping):
        return {str(name): as_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(each) for each in value]
    value = plain_or_none(value)
    return None if isinstance(value, float) and math.isinf(value) else value
