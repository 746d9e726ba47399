"""The drawings of an explanation: bars with intervals, and the gap along some parameters."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING, Any

from fairprobe.estimation.drawing import as_shares
from fairprobe.svg import BAND, INK, SOFT, svg_panels, tidy

if TYPE_CHECKING:
    import pandas as pd

    from fairprobe.explanation.influence import Influence

WIDTH, LINE = 7.2, 0.3
"""Width of a panel and height of a bar, in inches; chosen."""

MOST_NUMBERS = 8
"""Largest number of values of a numeric parameter that are labelled along its axis; chosen."""

FEW_LETTERS = 36
"""Largest number of letters, over all names along an axis, with which the names stay horizontal; chosen."""


def draw_bars(path: str | PathLike[str], bars: pd.DataFrame, title: str, label: str) -> None:
    """Draw a bar chart with a bar for each table row, the first one on top, and write it to an SVG file.

    A bar has the length of the row's `value`, with the interval from `low` to `high`.
    """
    places, n_lines = range(len(bars)), max(2, len(bars))
    with svg_panels(path, WIDTH, 1.3 + LINE * n_lines) as (axes,):
        axes.barh(places, bars["value"], height=0.55, color=BAND, zorder=2)
        axes.hlines(places, bars["low"], bars["high"], color=INK, linewidth=1.4, zorder=3)
        axes.scatter(bars["value"], places, s=14, color=INK, linewidth=0, zorder=4)
        axes.set_yticks(places, _short(bars.index, 60))
        axes.set_ylim(n_lines - 0.4, -0.6)
        axes.set_xlim(0, 1.01)
        tidy(axes, grid="x")
        axes.tick_params(axis="y", length=0, labelcolor=INK)
        as_shares(axes.xaxis)
        axes.set_xlabel(label)
        _title(axes, title)


def draw_curves(influence: Influence, path: str | PathLike[str]) -> None:
    """Draw the gap along the strongest parameters, in a panel for each, and write it to an SVG file."""
    n_columns = min(2, max(1, len(influence.curves)))
    n_rows = max(1, -(-len(influence.curves) // n_columns))
    with svg_panels(path, 4.6, 3.2, n_rows=n_rows, n_columns=n_columns) as panels:
        where = "plausible" if influence.source == "density" else "allowed"
        _title(panels[0], f"{influence.n_cases:,} cases moved along a parameter, where that is {where}")
        for axes, (name, curve) in zip(panels, influence.curves.items(), strict=False):
            _draw_curve(axes, influence, name, curve)
        for axes in panels[len(influence.curves) :]:
            axes.set_axis_off()


def _draw_curve(axes: Any, influence: Influence, name: str, curve: pd.DataFrame) -> None:
    """Draw the gap along one parameter in a panel: bars for names, a line for numbers.

    The values that occur have equal distances on the axis.
    """
    places, are_names = range(len(curve)), curve["value"].dtype == object
    if are_names:
        axes.bar(places, curve["gap"], width=0.62, color=BAND, zorder=2)
    axes.plot(places, curve["gap"], color=INK, linewidth=0 if are_names else 1.6, marker="o", markersize=3.5, zorder=3)
    values = curve["value"] if are_names else curve["value"].map("{:,.6g}".format).replace("nan", "missing")
    names = _short(values, 18)
    every = 1 if are_names else -(-len(names) // MOST_NUMBERS)
    shown = [place for place in places if place % every == 0 or names[place] == "missing"]
    turned = {} if sum(len(names[place]) for place in shown) <= FEW_LETTERS else {"rotation": 45, "ha": "right"}
    axes.set_xticks(shown, [names[place] for place in shown], fontsize=8, **turned)
    if influence.output == "label":
        axes.set_ylim(-0.03, 1.05)
        as_shares(axes.yaxis)
        axes.set_ylabel("cases that still are one")
    else:
        axes.axhline(influence.threshold, color=SOFT, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
        axes.set_ylim(0, 1.08 * max(influence.threshold, float(curve["gap"].max())) or 1)
        axes.set_ylabel("mean gap (dashed: threshold)", fontsize=9)
    axes.set_xlabel(f"{_short([name], 40)[0]}{'' if are_names else ' (values that occur)'}")
    tidy(axes, grid="y")


def _title(axes: Any, text: str) -> None:
    axes.set_title(text, loc="left", fontsize=10, color=SOFT, pad=10)


def _short(names: Iterable[Any], most: int = 30) -> list[str]:
    """Return names shortened to fit beside an axis.

    >>> _short(["Married-AF-spouse-and-more", 40], 12)
    ['Married-AF-…', '40']
    """
    return [name if len(name) <= most else f"{name[: most - 1]}…" for name in map(str, names)]
