"""The drawings of an explanation: who is worse off, how often each parameter ends a case, and the gap along some."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING, Any

from fairprobe.estimation.drawing import as_shares
from fairprobe.svg import BAND, INK, SOFT, svg_panels, tidy

if TYPE_CHECKING:
    import pandas as pd

    from fairprobe.explanation.directions import Directions
    from fairprobe.explanation.influence import Influence

WIDTH, LINE = 7.2, 0.3
"""Width of a panel and height of a bar, in inches."""

ACCENT = "#f4a259"
"""Colour of an interval on a dark bar."""

MOST_ROWS = {"influence": 30, "directions": 12}
"""Largest number of rows of a drawing. Chosen."""

CROWDED = 0.2
"""If the median value is nearer to an end than this part of the range, values are drawn at equal distances. Chosen."""

FEW_NAMES = 8
"""Largest number of names that are written along the axis without turning them. Chosen."""


def draw_directions(directions: Directions, path: str | PathLike[str]) -> None:
    """Draw a row for two sides: to the right how often it is the first, to the left how often the second."""
    from matplotlib.ticker import FixedLocator, FuncFormatter

    of = "sampled" if directions.n_sampled else "found"
    table = directions.table[directions.table[of] > 0].head(MOST_ROWS["directions"])
    n = table[of] + table[f"{of}_reversed"]
    right, left = table[of] / n, table[f"{of}_reversed"] / n
    places = range(len(table))
    n_lines = max(1, len(table))
    with svg_panels(path, WIDTH, 1.2 + 1.5 * LINE * n_lines) as (axes,):
        axes.barh(places, right, height=0.5, color=INK, zorder=2)
        axes.barh(places, -left, height=0.5, color=BAND, zorder=2)
        beyond = table["high"] if of == "sampled" else right
        for place, (one, other) in enumerate(zip(table[of], table[f"{of}_reversed"], strict=True)):
            axes.text(beyond.iloc[place] + 0.02, place, f"{one:,}", va="center", fontsize=9, color=SOFT)
            axes.text(-left.iloc[place] - 0.02, place, f"{other:,}", va="center", ha="right", fontsize=9, color=SOFT)
        if of == "sampled":
            axes.hlines(places, table["low"], table["high"], color=ACCENT, linewidth=2, zorder=3)
        axes.axvline(0, color=SOFT, linewidth=0.8, zorder=4)
        axes.set_xlim(-1.15, 1.15)
        axes.xaxis.set_major_locator(FixedLocator([-1, -0.5, 0, 0.5, 1]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * abs(value):.0f}%"))
        note = ", with the 95% interval" if of == "sampled" else ", which are no sample"
        axes.set_xlabel(f"of the {of} cases that part the two{note}")
        _title(axes, _directions_title(directions, len(table)))
        _rows(axes, table["second"], n_lines)
        axes.spines[["left"]].set_visible(False)
        beside = axes.secondary_yaxis("right")
        beside.set_yticks(places, [short(str(words), 30) for words in table["first"]])
        beside.tick_params(length=0, labelcolor=INK)
        beside.spines[["right"]].set_visible(False)


def _directions_title(directions: Directions, n_rows: int) -> str:
    rows = directions.table.head(n_rows)
    if directions.favourable is not None:
        return "Who is worse off"
    outcomes = set(zip(rows["first_gets"].map(str), rows["second_gets"].map(str), strict=True))
    if len(outcomes) != 1:
        return "Who gets the one outcome where the other gets another"
    one, other = outcomes.pop()
    return f"Who gets {short(one)} where the other gets {short(other)}".replace("gets the ", "has the ")


def draw_influence(influence: Influence, path: str | PathLike[str], source: str) -> None:
    """Draw a bar for each parameter, the strongest on top, with its interval as a whisker."""
    table = influence.table[influence.table["n_moves"] > 0].head(MOST_ROWS["influence"])
    places = range(len(table))
    n_lines = max(2, len(table))
    with svg_panels(path, WIDTH, 1.3 + LINE * n_lines) as (axes,):
        axes.barh(places, table["ended"], height=0.62, color=BAND, zorder=2)
        axes.hlines(places, table["low"], table["high"], color=INK, linewidth=1.4, zorder=3)
        axes.scatter(table["ended"], places, s=14, color=INK, linewidth=0, zorder=4)
        axes.set_xlim(0, 1.01)
        as_shares(axes.xaxis)
        axes.set_xlabel("moves that end a case, with the 95% interval over cases")
        left_out = len(influence.table) - len(table)
        aside = f"; {left_out:,} more parameters are not shown" if left_out else ""
        _title(axes, f"What ends {influence.n_cases:,} cases: one parameter moved to another value, by {source}{aside}")
        _rows(axes, table.index, n_lines, most_letters=24)


def draw_curves(influence: Influence, path: str | PathLike[str]) -> None:
    """Draw a panel for each of the strongest parameters."""
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
            panels[0].text(0.5, 0.5, "no case was moved", ha="center", color=SOFT, transform=panels[0].transAxes)


def _draw_curve(axes: Any, influence: Influence, name: str, curve: pd.DataFrame) -> None:
    is_to_scale = True
    if curve["value"].dtype == object:
        _draw_names(axes, curve)
    else:
        is_to_scale = _draw_line(axes, curve)
    if influence.output == "label":
        axes.set_ylim(-0.03, 1.05)
        as_shares(axes.yaxis)
        axes.set_ylabel("cases that still are one")
    else:
        axes.axhline(influence.threshold, color=SOFT, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
        axes.set_ylim(0, 1.08 * max(influence.threshold, float(curve["gap"].max())) or 1)
        axes.set_ylabel("mean gap (dashed: threshold)", fontsize=9)
    axes.set_xlabel(short(name, 40) if is_to_scale else f"{short(name, 40)} (values that occur, not to scale)")
    tidy(axes, grid="y")


def _draw_line(axes: Any, curve: pd.DataFrame) -> bool:
    """Draw a line through numbers, and the missing value next to them; False if the axis is not to scale."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    known = curve[curve["value"].notna()]
    values = known["value"].tolist()
    is_to_scale = not _is_crowded(values)
    places = values if is_to_scale else list(range(len(values)))
    axes.plot(places, known["gap"], color=INK, linewidth=1.6, marker="o", markersize=3.5, zorder=3)
    missing = curve[curve["value"].isna()]
    if len(missing) and places:
        place, gap = places[-1] + 0.1 * ((places[-1] - places[0]) or 1), float(missing["gap"].iloc[0])
        axes.scatter([place], [gap], s=22, facecolor="white", edgecolor=INK, zorder=3)
        axes.annotate("missing", (place, gap), (-6, 0), textcoords="offset points", ha="right", va="center", fontsize=8)
    if is_to_scale:
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    else:
        some = sorted({round(place * (len(values) - 1) / 6) for place in range(7)})
        axes.set_xticks(some, [f"{values[place]:,.6g}" for place in some], fontsize=8)
    return is_to_scale


def _is_crowded(values: list[float]) -> bool:
    """Most values lie so near to an end that an axis to scale would not tell them apart."""
    if len(values) < 4:
        return False
    middle = (values[len(values) // 2] - values[0]) / (values[-1] - values[0])
    return not CROWDED < middle < 1 - CROWDED


def _draw_names(axes: Any, curve: pd.DataFrame) -> None:
    """Draw a bar for each name."""
    places = range(len(curve))
    axes.bar(places, curve["gap"], width=0.62, color=BAND, zorder=2)
    axes.scatter(places, curve["gap"], s=14, color=INK, linewidth=0, zorder=3)
    names = [short(str(value), 18) for value in curve["value"]]
    upright = len(names) <= FEW_NAMES and sum(map(len, names)) <= 36
    turned = {} if upright else {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(places, names, fontsize=8, **turned)
    axes.set_xlim(-0.6, len(curve) - 0.4)


def _rows(axes: Any, names: Iterable[Any], n_lines: int, most_letters: int = 30) -> None:
    """Name the rows of a drawing of bars, the first one on top."""
    labels = [short(str(name), most_letters) for name in names]
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(n_lines - 0.4, -0.6)
    tidy(axes, grid="x")
    axes.tick_params(axis="y", length=0, labelcolor=INK)


def _title(axes: Any, text: str) -> None:
    axes.set_title(text, loc="left", fontsize=10, color=SOFT, pad=10)


def short(name: str, most: int = 24) -> str:
    """A name that fits beside an axis.

    >>> short("Married-AF-spouse-and-more", 12)
    'Married-AF-…'
    """
    return name if len(name) <= most else f"{name[: most - 1]}…"
