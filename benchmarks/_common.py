"""What the benchmarks share: the models, turns against plain predictions, and tables in Markdown."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import fairprobe

Action = Callable[[], object]


def model(name: str) -> Any:
    """A subject by name, or `forest-100`, today's default forest."""
    if name != "forest-100":
        return fairprobe.subjects.load(name)
    from sklearn.ensemble import RandomForestClassifier

    X, y = fairprobe.datasets.load_census()
    return RandomForestClassifier(100, random_state=0).fit(X.to_numpy(), y)


def recorded(subject: Any, run: Action) -> list[np.ndarray]:
    """The batches that a run sends to a model."""
    batches: list[np.ndarray] = []
    plain = subject.predict

    def predict(batch: np.ndarray, **options: Any) -> Any:
        batches.append(batch)
        return plain(batch, **options)

    subject.predict = predict
    run()
    del subject.predict
    return batches


def turns(run: Action, plain: Action, n: int) -> list[str]:
    """A run and plain predictions in turn, n times: median seconds of both, median of the ratios, and their range."""
    pairs = [(_seconds(run), _seconds(plain)) for _ in range(n + 1)][1:]  # the first turn warms up
    ratios = sorted(ours / theirs for ours, theirs in pairs)
    medians = [f"{statistics.median(column):.3f}" for column in zip(*pairs, strict=True)]
    return [*medians, f"{statistics.median(ratios):.2f}", f"{ratios[0]:.2f}-{ratios[-1]:.2f}"]


def _seconds(action: Action) -> float:
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def print_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows as they come, the first column to the left and the others to the right."""
    print("| " + " | ".join(header) + " |")
    print("|---" + "|---:" * (len(header) - 1) + "|")
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)
