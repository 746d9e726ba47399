"""Directions drawn: bars to either side, as long as that side is the one."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from fairprobe.explanation.influence_plot import LINE, WIDTH, short
from fairprobe.svg import BAND, INK, SOFT, svg_panels, tidy

if TYPE_CHECKING:
    from fairprobe.explanation.directions import Directions

MOST_ROWS = 12
MOST_LETTERS = 30


def draw(directions: Directions, path: str | PathLike[str]) -> None:
    """A row for two sides: to the right how often it is the first, to the left how often the second."""
    from matplotlib.ticker import FixedLocator, FuncFormatter

    of = "sampled" if directions.n_sampled else "found"
    table = directions.table[directions.table[of] > 0].head(MOST_ROWS)
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
            # Where the right-hand bar might end as well, by the interval.
            axes.hlines(places, table["low"], table["high"], color="#f4a259", linewidth=2, zorder=3)
        axes.axvline(0, color=SOFT, linewidth=0.8, zorder=4)
        axes.set_yticks(places, [short(str(words), MOST_LETTERS) for words in table["second"]])
        axes.set_xlim(-1.15, 1.15)
        axes.set_ylim(n_lines - 0.4, -0.6)
        axes.xaxis.set_major_locator(FixedLocator([-1, -0.5, 0, 0.5, 1]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * abs(value):.0f}%"))
        note = ", with the 95% interval" if of == "sampled" else ", which are no sample"
        axes.set_xlabel(f"of the {of} cases that part the two{note}")
        axes.set_title(_title(directions, len(table)), loc="left", fontsize=10, color=SOFT, pad=10)
        tidy(axes, grid="x")
        axes.tick_params(axis="y", length=0, labelcolor=INK)
        axes.spines[["left"]].set_visible(False)
        beside = axes.secondary_yaxis("right")
        beside.set_yticks(places, [short(str(words), MOST_LETTERS) for words in table["first"]])
        beside.tick_params(length=0, labelcolor=INK)
        beside.spines[["right"]].set_visible(False)


def _title(directions: Directions, n_rows: int) -> str:
    rows = directions.table.head(n_rows)
    if directions.favourable is not None:
        return "Who is worse off"
    outcomes = set(zip(rows["first_gets"].map(str), rows["second_gets"].map(str), strict=True))
    if len(outcomes) != 1:
        return "Who gets the one outcome where the other gets another"
    one, other = outcomes.pop()
    return f"Who gets {short(one)} where the other gets {short(other)}".replace("gets the ", "has the ")
