"""Influence drawn: how often each parameter ends a case, and the gap along the strongest ones."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

from fairprobe.estimation.drawing import as_shares
from fairprobe.explanation.moving import SOURCES
from fairprobe.svg import BAND, INK, SOFT, svg_panels, tidy

if TYPE_CHECKING:
    import pandas as pd

    from fairprobe.explanation.influence import Influence

WIDTH, LINE = 7.2, 0.3
"""In inches: of a panel, and of a bar."""

MOST_BARS = 30
MOST_LETTERS = 24

CROWDED = 0.2
"""Half of the values in so small a part of the range are crowded."""

FEW_NAMES = 8
"""Up to so many names are written along the axis as they are."""


def draw_bars(influence: Influence, path: str | PathLike[str]) -> None:
    """A bar for each parameter, the strongest on top, with its interval as a whisker."""
    table = influence.table[influence.table["n_moves"] > 0].head(MOST_BARS)
    places = range(len(table))
    with svg_panels(path, WIDTH, 1.3 + LINE * max(2, len(table))) as (axes,):
        axes.barh(places, table["ended"], height=0.62, color=BAND, zorder=2)
        axes.hlines(places, table["low"], table["high"], color=INK, linewidth=1.4, zorder=3)
        axes.scatter(table["ended"], places, s=14, color=INK, linewidth=0, zorder=4)
        axes.set_yticks(places, [short(name) for name in table.index])
        axes.set_ylim(max(2, len(table)) - 0.4, -0.6)
        axes.set_xlim(0, 1.01)
        as_shares(axes.xaxis)
        axes.set_xlabel("moves that end a case, with the 95% interval over cases")
        left_out = len(influence.table) - len(table)
        aside = f"; {left_out:,} more parameters are not shown" if left_out else ""
        _title(
            axes,
            f"What ends {influence.n_cases:,} cases: one parameter moved to another value, by "
            f"{SOURCES[influence.source]}{aside}",
        )
        tidy(axes, grid="x")
        axes.tick_params(axis="y", length=0, labelcolor=INK)


def draw_curves(influence: Influence, path: str | PathLike[str]) -> None:
    """A panel for each of the strongest parameters."""
    curves = list(influence.curves.items())
    n_columns = min(2, max(1, len(curves)))
    n_rows = max(1, -(-len(curves) // n_columns))
    with svg_panels(path, 4.6, 3.2, n_rows=n_rows, n_columns=n_columns) as panels:
        for axes, (name, curve) in zip(panels, curves, strict=False):
            _draw_curve(axes, influence, name, curve)
        if curves:
            where = "plausible" if influence.source == "density" else "allowed"
            _title(panels[0], f"{influence.n_cases:,} cases moved along a parameter, where that is {where}")
        for axes in panels[len(curves) :]:
            axes.set_axis_off()
        if not curves:
            axes = panels[0]
            axes.text(0.5, 0.5, "no case was moved", ha="center", color=SOFT, transform=axes.transAxes)


def _draw_curve(axes: Any, influence: Influence, name: str, curve: pd.DataFrame) -> None:
    if curve["value"].dtype == object:
        _draw_names(axes, curve)
    else:
        _draw_line(axes, curve)
    if influence.output == "label":
        axes.set_ylim(-0.03, 1.05)
        as_shares(axes.yaxis)
        axes.set_ylabel("cases that still are one")
    else:
        axes.axhline(influence.threshold, color=SOFT, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
        axes.set_ylim(0, 1.08 * max(influence.threshold, float(curve["gap"].max())) or 1)
        axes.set_ylabel("mean gap (dashed: threshold)", fontsize=9)
    even = curve["value"].dtype == object or not _is_crowded(curve["value"].dropna().tolist())
    axes.set_xlabel(short(name, 40) if even else f"{short(name, 40)} (values that occur, not to scale)")
    tidy(axes, grid="y")


def _draw_line(axes: Any, curve: pd.DataFrame) -> None:
    """Numbers: a line through them, and the missing one beside."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    known = curve[curve["value"].notna()]
    values = known["value"].tolist()
    places = list(range(len(values))) if _is_crowded(values) else values
    axes.plot(places, known["gap"], color=INK, linewidth=1.6, marker="o", markersize=3.5, zorder=3)
    missing = curve[curve["value"].isna()]
    if len(missing) and places:
        place, gap = places[-1] + 0.1 * ((places[-1] - places[0]) or 1), float(missing["gap"].iloc[0])
        axes.scatter([place], [gap], s=22, facecolor="white", edgecolor=INK, zorder=3)
        axes.annotate("missing", (place, gap), (-6, 0), textcoords="offset points", ha="right", va="center", fontsize=8)
    if places is values:
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    else:
        some = sorted({round(place * (len(values) - 1) / 6) for place in range(7)})
        axes.set_xticks(some, [f"{values[place]:,.6g}" for place in some], fontsize=8)


def _is_crowded(values: list[float]) -> bool:
    """Whether most lie so near to an end that an axis to scale would not tell them apart: each then has its place."""
    if len(values) < 4:
        return False
    middle = (values[len(values) // 2] - values[0]) / (values[-1] - values[0])
    return not CROWDED < middle < 1 - CROWDED


def _draw_names(axes: Any, curve: pd.DataFrame) -> None:
    """Names: a bar each."""
    places = range(len(curve))
    axes.bar(places, curve["gap"], width=0.62, color=BAND, zorder=2)
    axes.scatter(places, curve["gap"], s=14, color=INK, linewidth=0, zorder=3)
    names = [short(str(value), 18) for value in curve["value"]]
    upright = len(names) <= FEW_NAMES and sum(map(len, names)) <= 36
    axes.set_xticks(
        places, names, fontsize=8, **({} if upright else {"rotation": 45, "ha": "right", "rotation_mode": "anchor"})
    )
    axes.set_xlim(-0.6, len(curve) - 0.4)


def _title(axes: Any, text: str) -> None:
    axes.set_title(text, loc="left", fontsize=10, color=SOFT, pad=10)


def short(name: str, most: int = MOST_LETTERS) -> str:
    """A name that fits beside an axis.

    >>> short("Married-AF-spouse-and-more", 12)
    'Married-AF-…'
    """
    return name if len(name) <= most else f"{name[: most - 1]}…"
