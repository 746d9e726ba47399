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

MOST_BARS, MOST_SIDES = 30, 12
"""Largest numbers of rows of the drawings of influence and of directions. Chosen."""

MOST_NUMBERS = 8
"""Largest number of values of a numeric parameter that are written along the axis. Chosen."""

FEW_LETTERS = 36
"""Largest number of letters of all names along an axis that are not turned. Chosen."""


def draw_directions(directions: Directions, path: str | PathLike[str]) -> None:
    """Draw a row for two sides: to the right how often it is the first, to the left how often the second."""
    from matplotlib.ticker import FixedLocator, FuncFormatter

    of, note = ("sampled", "with the 95% interval") if directions.n_sampled else ("found", "which are no sample")
    table = directions.table[directions.table[of] > 0].head(MOST_SIDES)
    one_way, other_way = table[of], table[f"{of}_reversed"]
    right, left = (counts / (one_way + other_way) for counts in (one_way, other_way))
    n_lines = max(1, len(table))
    with svg_panels(path, WIDTH, 1.2 + 1.5 * LINE * n_lines) as (axes,):
        beside = axes.secondary_yaxis("right")
        _bars(axes, right, n_lines, table["second"])
        axes.barh(range(len(table)), -left, height=0.5, color=BAND, zorder=2)
        beyond = right
        if of == "sampled":
            beyond = table["high"]
            axes.hlines(range(len(table)), table["low"], table["high"], color=ACCENT, linewidth=2, zorder=3)
        ends = zip(beyond + 0.02, -left - 0.02, one_way, other_way, strict=True)
        for place, (far_right, far_left, n_right, n_left) in enumerate(ends):
            axes.text(far_right, place, f"{n_right:,}", va="center", fontsize=9, color=SOFT)
            axes.text(far_left, place, f"{n_left:,}", va="center", ha="right", fontsize=9, color=SOFT)
        axes.axvline(0, color=SOFT, linewidth=0.8, zorder=4)
        axes.set_xlim(-1.15, 1.15)
        axes.xaxis.set_major_locator(FixedLocator([-1, -0.5, 0, 0.5, 1]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * abs(value):.0f}%"))
        axes.set_xlabel(f"of the {of} cases that part the two, {note}")
        _title(axes, _directions_title(directions, table))
        axes.spines[["left"]].set_visible(False)
        beside.set_yticks(range(len(table)), _short(table["first"]))
        beside.tick_params(length=0, labelcolor=INK)
        beside.spines[["right"]].set_visible(False)


def _directions_title(directions: Directions, rows: pd.DataFrame) -> str:
    if directions.favourable is not None:
        return "Who is worse off"
    outcomes = {*zip(rows["first_gets"].map(str), rows["second_gets"].map(str), strict=True)}
    if len(outcomes) != 1:
        return "Who gets the one outcome where the other gets another"
    one, other = _short(outcomes.pop(), 24)
    return f"Who gets {one} where the other gets {other}".replace("gets the ", "has the ")


def draw_influence(influence: Influence, path: str | PathLike[str], source: str) -> None:
    """Draw a bar for each parameter, the strongest on top, with its interval as a whisker."""
    table = influence.table[influence.table["n_moves"] > 0].head(MOST_BARS)
    n_lines = max(2, len(table))
    with svg_panels(path, WIDTH, 1.3 + LINE * n_lines) as (axes,):
        _bars(axes, table["ended"], n_lines, table.index, color=BAND)
        axes.hlines(range(len(table)), table["low"], table["high"], color=INK, linewidth=1.4, zorder=3)
        axes.scatter(table["ended"], range(len(table)), s=14, color=INK, linewidth=0, zorder=4)
        axes.set_xlim(0, 1.01)
        as_shares(axes.xaxis)
        axes.set_xlabel("moves that end a case, with the 95% interval over cases")
        left_out = len(influence.table) - len(table)
        aside = f"; {left_out:,} more parameters are not shown" if left_out else ""
        _title(axes, f"What ends {influence.n_cases:,} cases: one parameter moved to another value, by {source}{aside}")


def _bars(axes: Any, lengths: Iterable[float], n_lines: int, names: Iterable[Any], color: str = INK) -> None:
    """Draw named bars, the first one on top."""
    labels = _short(names)
    axes.barh(range(len(labels)), lengths, height=0.55, color=color, zorder=2)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(n_lines - 0.4, -0.6)
    tidy(axes, grid="x")
    axes.tick_params(axis="y", length=0, labelcolor=INK)


def draw_curves(influence: Influence, path: str | PathLike[str]) -> None:
    """Draw a panel for each of the strongest parameters."""
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
    """Draw a panel: names as bars; numbers as a line over the values that occur, at equal distances."""
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
    """Names that fit beside an axis.

    >>> _short(["Married-AF-spouse-and-more", 40], 12)
    ['Married-AF-…', '40']
    """
    return [name if len(name) <= most else f"{name[: most - 1]}…" for name in map(str, names)]
