"""Drawing as SVG by matplotlib. Equal figures give equal bytes: no date, a fixed salt for ids, text as text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any

INK = "#1b4965"
SOFT = "#5b6770"
BAND = "#bee3f0"
RULES: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "fairprobe",
    "font.family": "sans-serif",
    "font.size": 10.0,
    "text.parse_math": False,  # a parameter may be named "a$b"
    "path.simplify": True,
    "figure.constrained_layout.w_pad": 0.1,
    "figure.constrained_layout.h_pad": 0.1,
}


@contextmanager
def svg_panels(
    path: str | PathLike[str], width: float, height: float, *, n_rows: int = 1, n_columns: int = 1
) -> Iterator[list[Any]]:
    """Yield the matplotlib axes of a new figure, row by row; at the end of the block it is written to `path` as SVG.

    `width` and `height` are the size of one panel in inches.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    # Without what the user's own matplotlibrc says, so that the bytes are the same everywhere.
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(RULES)
        figure = Figure(figsize=(width * n_columns, height * n_rows), layout="constrained")
        FigureCanvasSVG(figure)
        yield list(figure.subplots(n_rows, n_columns, squeeze=False).flat)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": "fairprobe"})


def tidy(axes: Any, grid: str) -> None:
    """Style matplotlib axes: a faint grid along `grid` ("x", "y" or "both"), no frame above and to the right."""
    axes.grid(axis=grid, color="#e6e9eb", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(colors=SOFT, length=3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(SOFT)
