"""Base class of the parts of an explanation: sentences, a table and remarks; their figures for JSON; their bars."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

from fairprobe.blocks import Block, Remark, Result, Sentence, Table
from fairprobe.domain.constraints import Rule
from fairprobe.domain.values import plain_or_none

if TYPE_CHECKING:
    import pandas as pd

CONFIDENCE = 0.95
"""Confidence of all intervals of an explanation; chosen. The intervals of all regions hold together."""

WIDTH, LINE = 7.2, 0.3
"""Width of a drawing and height of a bar, in inches; chosen."""

MOST_LETTERS = 60
"""Largest number of letters of a name beside a bar; chosen."""


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


def draw_bars(path: str | PathLike[str], bars: pd.DataFrame, title: str, label: str) -> None:
    """Draw a bar chart with a bar for each table row, the first one on top, and write it to an SVG file.

    A bar has the length of the row's `value`, with the interval from `low` to `high`.
    """
    from fairprobe.estimation.drawing import as_shares
    from fairprobe.svg import BAND, INK, SOFT, svg_panels, tidy

    places, n_lines = range(len(bars)), max(2, len(bars))
    names = [name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…" for name in map(str, bars.index)]
    with svg_panels(path, WIDTH, 1.3 + LINE * n_lines) as (axes,):
        axes.barh(places, bars["value"], height=0.55, color=BAND, zorder=2)
        axes.hlines(places, bars["low"], bars["high"], color=INK, linewidth=1.4, zorder=3)
        axes.scatter(bars["value"], places, s=14, color=INK, linewidth=0, zorder=4)
        axes.set_yticks(places, names)
        axes.set_ylim(n_lines - 0.4, -0.6)
        axes.set_xlim(0, 1.01)
        tidy(axes, grid="x")
        axes.tick_params(axis="y", length=0, labelcolor=INK)
        as_shares(axes.xaxis)
        axes.set_xlabel(label)
        axes.set_title(title, loc="left", fontsize=10, color=SOFT, pad=10)
