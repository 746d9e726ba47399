"""Plain tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def aligned(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """Lines of cells in columns, those named at the left, all others at the right.

    >>> aligned([["", "share"], ["domain", "5%"]])
    ['          share', '  domain     5%']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = (f"{cell:{'<' if i in left else '>'}{widths[i]}}" for i, cell in enumerate(row))
        lines.append(f"  {'  '.join(cells)}".rstrip())
    return lines
