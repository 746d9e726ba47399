"""What the figures have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairprobe.estimate.plot import svg_panels

MOST_COLUMNS = 3


@contextmanager
def a_panel_each(path: Path, subjects: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Panels to draw on, by subject; in the end they are written."""
    n_columns = min(MOST_COLUMNS, len(subjects))
    with svg_panels(path, 3.4, 2.6, n_rows=-(-len(subjects) // n_columns), n_columns=n_columns) as panels:
        for spare in panels[len(subjects) :]:
            spare.set_visible(False)
        yield dict(zip(subjects, panels, strict=False))


def plain_axes(axes: Any, title: str, x: str, y: str) -> None:
    """Words, and no frame but the axes themselves."""
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
