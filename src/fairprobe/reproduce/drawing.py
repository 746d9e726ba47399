"""What the figures have in common."""

from __future__ import annotations

from typing import Any


def plain_axes(axes: Any, title: str, x: str, y: str) -> None:
    """Words, and no frame but the axes themselves."""
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
