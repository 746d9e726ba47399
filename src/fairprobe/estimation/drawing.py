"""The convergence plot of a sampled share: its running mean as experiments are added (the paper's figure)."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from fairprobe.errors import SettingError
from fairprobe.estimation.share import Share
from fairprobe.svg import BAND, INK, SOFT, svg_panels, tidy
from fairprobe.wording import POPULATIONS, percent

WIDTH, HEIGHT = 7.2, 3.6
"""`WIDTH` and `HEIGHT` of a panel, in inches; chosen."""

REACH = 6
"""Largest length of the axis of shares on either side of the value, in multiples of the interval's longer side;
chosen."""

FEW = 30
"""Largest number of experiments that the plot marks by a dot each; chosen."""


def convergence(shares: Share | Sequence[Share], path: str | PathLike[str]) -> None:
    """Draw shares to an SVG file: a panel for each, with the running mean by experiment and the final interval."""
    panels = [shares] if isinstance(shares, Share) else list(shares)
    if not panels:
        raise SettingError("a convergence plot needs a share, got none")
    methods = [share.method for share in panels if not has_history(share)]
    if methods:
        rule = "a convergence plot needs a share that was sampled in whole experiments"
        raise SettingError(f"{rule}, got the method {methods[0]!r}: use method='sample'")
    with svg_panels(path, WIDTH, HEIGHT, n_rows=len(panels)) as all_axes:
        for axes, share in zip(all_axes, panels, strict=True):
            _draw(axes, share)


def has_history(share: Share) -> bool:
    """Return True if a share has a running mean to draw: only a sample of at least one whole experiment has one."""
    return share.history is not None and len(share.history) > 0


def _draw(axes: Any, share: Share) -> None:
    """Draw the panel of one share: its running mean, its interval as a band, and its figures as text."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    history = share.history
    assert history is not None
    n = len(history)
    axes.axhspan(share.low, share.high, color=BAND, linewidth=0, zorder=1)
    axes.axhline(share.value, color=SOFT, linewidth=0.8, linestyle=(0, (4, 3)), zorder=2)
    marker = "o" if n <= FEW else ""
    axes.plot(range(1, n + 1), history, color=INK, linewidth=1.6, marker=marker, markersize=3.5, zorder=3)
    axes.set_xlim(*((0.5, 1.5) if n == 1 else (1.0, float(n))))
    # The band and the history around it; the first experiments may swing so far that they are cut off.
    reach = REACH * max(share.high - share.value, share.value - share.low)
    low = min(share.low, max(history.min(), share.value - reach))
    high = max(share.high, min(history.max(), share.value + reach))
    room = 0.06 * (high - low)
    axes.set_ylim(low - room, high + room)

    names = ", ".join(share.sensitive)
    short = names if len(names) <= 40 else f"{len(share.sensitive)} parameters"
    title = f"sensitive: {short}; {share.n:,} inputs in {n:,} experiment{'s' * (n > 1)}"
    axes.set_title(title, loc="left", fontsize=10, color=SOFT, pad=10)
    axes.set(xlabel="experiments", ylabel=f"share of {POPULATIONS[share.population]}")
    figures = [f"{percent(share.confidence)} interval:", f"{percent(share.low)} to", percent(share.high)]
    beside = {"xycoords": ("axes fraction", "data"), "xytext": (8, 0), "textcoords": "offset points"}
    text = "\n".join([percent(share.value), *figures])
    axes.annotate(text, (1, share.value), **beside, va="center", fontsize=9, color=INK, annotation_clip=False)
    as_shares(axes.yaxis)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True, min_n_ticks=1))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    tidy(axes, grid="y")


def as_shares(axis: Any) -> None:
    """Label the axis of a plot, whose values are fractions, in per cent at up to seven round values."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.6g}%"))
    axis.set_major_locator(MaxNLocator(6))
