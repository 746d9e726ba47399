"""A drawing of a density: a table of columns and their parents."""

from __future__ import annotations

from os import PathLike

from fairprobe.domain.density import Density
from fairprobe.svg import BAND, INK, SOFT, svg_panels

CELL = 0.34
"""Width of a cell in inches; chosen."""

SHADES = (INK, "#5fa8c4", BAND)
"""Colours of parents, the most informative darkest."""


def draw(density: Density, path: str | PathLike[str]) -> None:
    """Draw a row for each column, behind its parents, with a mark for each parent."""
    names = [density.domain.names[column] for column in density.columns]
    order = [factor.child for factor in density.factors]
    place = {child: number for number, child in enumerate(order)}
    n, longest = len(order), max(map(len, names))
    size = n * CELL + 0.085 * longest
    with svg_panels(path, size + 0.6, size + 0.6) as (axes,):
        for factor in density.factors:
            for rank, parent in enumerate(factor.parents):
                x, y, shade = place[parent], place[factor.child], SHADES[min(rank, len(SHADES) - 1)]
                axes.scatter([x], [y], s=90, marker="s", color=shade, linewidth=0, zorder=2)
                ink = INK if rank >= len(SHADES) - 1 else "white"
                axes.text(x, y, str(rank + 1), ha="center", va="center", fontsize=7, color=ink, zorder=3)
        for line in range(n):
            axes.plot([-0.5, line], [line, line], color="#e6e9eb", linewidth=0.6, zorder=1)
            axes.plot([line, line], [line, n - 0.5], color="#e6e9eb", linewidth=0.6, zorder=1)
        axes.set_xticks(range(n), [names[child] for child in order], rotation=90)
        axes.set_yticks(range(n), [f"{names[child]}  ({len(density.bins[child])} bins)" for child in order])
        axes.set_xlim(-0.6, n - 0.4)
        axes.set_ylim(n - 0.4, -0.6)
        axes.set_aspect("equal")
        axes.tick_params(colors=SOFT, length=0, labelcolor=INK, labelsize=9)
        for spine in axes.spines.values():
            spine.set_visible(False)
        title = f"Each column is given by those marked in its row,\n1 tells most; fitted to {density.n_rows:,} rows"
        axes.set_title(title, loc="left", fontsize=10, color=SOFT)
