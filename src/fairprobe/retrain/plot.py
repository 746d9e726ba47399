"""The front: share against accuracy of all rounds, a panel for each population."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

from fairprobe.estimate.drawing import BAND, INK, SOFT, svg_panels
from fairprobe.estimate.share import POPULATIONS
from fairprobe.retrain.rounds import front_of

if TYPE_CHECKING:
    from fairprobe.retrain.retrained import Retrained

CHOSEN = "#c8553d"
WIDTH, HEIGHT = 4.6, 3.8
"""Of a panel, in inches."""


def draw(result: Retrained, path: str | PathLike[str]) -> None:
    """Draw as SVG; the same result gives the same bytes."""
    names = list(result.before)
    with svg_panels(path, WIDTH, HEIGHT, n_columns=len(names)) as all_axes:
        for axes, name in zip(all_axes, names, strict=True):
            _panel(axes, result, name)


def _panel(axes: Any, result: Retrained, name: str) -> None:
    first = result.first
    points = [(each.shares[name].value, each.accuracy) for each in result.rounds]
    axes.axhline(first.accuracy - result.max_accuracy_loss, color=SOFT, linewidth=0.8, linestyle=(0, (4, 3)))
    front = [(each.shares[name].value, each.accuracy) for each in front_of(result.rounds)]
    if front:
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
            [chosen.shares[name].value], [chosen.accuracy], s=110, facecolors="none", edgecolors=CHOSEN, linewidths=1.8,
            zorder=4, label="returned",
        )  # fmt: skip
    axes.set_xlabel(f"share of {POPULATIONS[name]}, on the select part")
    axes.set_ylabel("accuracy")
    axes.set_title("dashed: the least accuracy allowed; band: the front", loc="left", fontsize=8, color=SOFT)
    _tidy(axes)


def _tidy(axes: Any) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.6g}%"))
        axis.set_major_locator(MaxNLocator(6))
    axes.grid(color="#e6e9eb", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(colors=SOFT, length=3)
    axes.legend(frameon=False, fontsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(SOFT)
