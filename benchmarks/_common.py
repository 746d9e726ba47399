"""The parts that benchmarks share: the models, and tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import fairprobe


def model(name: str) -> Any:
    """A subject by name, or `forest-100`, today's default forest."""
    if name != "forest-100":
        return fairprobe.subjects.load(name)
    from sklearn.ensemble import RandomForestClassifier

    X, y = fairprobe.datasets.load_census()
    return RandomForestClassifier(100, random_state=0).fit(X.to_numpy(), y)


def print_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows as they come, the first column to the left and the others to the right."""
    print("| " + " | ".join(header) + " |")
    print("|---" + "|---:" * (len(header) - 1) + "|")
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)
