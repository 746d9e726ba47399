"""The plot of a retraining: share against accuracy of all rounds, the front and the model returned."""

from __future__ import annotations

import textwrap
from os import PathLike
from typing import TYPE_CHECKING, Any, Final

from fairprobe.estimation.drawing import as_shares
from fairprobe.retraining.judging import JUDGED
from fairprobe.retraining.rounds import front_of
from fairprobe.svg import BAND, INK, SOFT, svg_panels, tidy

if TYPE_CHECKING:
    from fairprobe.retraining.retrained import Retrained

_CHOSEN: Final = "#c8553d"
_PANEL: Final = (4.6, 3.8)
"""Width and height of a panel, in inches."""
_WIDEST: Final = 60
"""Letters in a line below a panel; chosen to fit."""


def draw(result: Retrained, path: str | PathLike[str]) -> None:
    """Draw a panel for each population, as SVG."""
    names = list(result.before)
    with svg_panels(path, *_PANEL, n_columns=len(names)) as all_axes:
        for axes, name in zip(all_axes, names, strict=True):
            _draw_panel(axes, result, name)


def _draw_panel(axes: Any, result: Retrained, name: str) -> None:
    """Draw share against accuracy for one population."""
    first = result.first
    points = [(each.shares[name].value, each.accuracy) for each in result.rounds]
    axes.axhline(first.accuracy - result.max_accuracy_loss, color=SOFT, linewidth=0.8, linestyle=(0, (4, 3)))
    if result.rounds:
        front = [(each.shares[name].value, each.accuracy) for each in front_of(result.rounds)]
        axes.plot(*zip(*front, strict=True), color=BAND, linewidth=3, zorder=1)
    to_beat = "before" if result.before_is == result.compared_with else "a clone, to beat"
    axes.scatter([first.shares[name].value], [first.accuracy], marker="s", color=SOFT, zorder=3, label=to_beat)
    if points:
        axes.scatter(*zip(*points, strict=True), color=INK, zorder=3, label="rounds, by number")
    for each, point in zip(result.rounds, points, strict=True):
        axes.annotate(str(each.number), point, xytext=(4, 4), textcoords="offset points", fontsize=8, color=INK)
    if result.chosen is not None:
        chosen = result.chosen
        axes.scatter(
            [chosen.shares[name].value], [chosen.accuracy], s=110, facecolors="none", edgecolors=_CHOSEN,
            linewidths=1.8, zorder=4, label="returned",
        )  # fmt: skip
    axes.set_xlabel("\n".join(textwrap.wrap(f"share of {JUDGED[name]}, on the select part", _WIDEST)))
    axes.set_ylabel("accuracy")
    axes.set_title("dashed: the least accuracy allowed; band: the front", loc="left", fontsize=8, color=SOFT)
    as_shares(axes.xaxis)
    as_shares(axes.yaxis)
    tidy(axes, grid="both")
    axes.legend(frameon=False, fontsize=8)
