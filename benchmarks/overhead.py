"""Overhead: the wall time of a search / the time the same model needs to predict the same rows in the same batches.

The rows that a search sends are recorded once; then searches and plain predictions of these rows take turns, so that
both see the same machine. Distinct counting is part of the search.

    python benchmarks/overhead.py
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import fairprobe
from _common import model, print_table

LIMITS = {
    "svm": 1.05,
    "forest-100": 1.15,
    "random-forest": 1.3,
    "ensemble": 1.3,
    "mlp": 2.0,
    "decision-tree": 2.5,
    "fair-svm": None,
}
INPUTS = {"svm": 8_000, "forest-100": 50_000}
TURNS = {"svm": 3, "forest-100": 5}


def main() -> None:
    """Print the table."""
    print_table(["model", "inputs", "search, s", "predict, s", "ratio", "spread", "limit"], map(_row, LIMITS))


def _row(name: str) -> list[object]:
    subject = model(name)
    n_inputs = INPUTS.get(name, 305_000)
    batches = _recorded(subject, n_inputs)
    searches, predictions = [], []
    for _ in range(TURNS.get(name, 11) + 1):
        searches.append(_seconds(lambda: _search(subject, n_inputs)))
        predictions.append(_seconds(lambda: [subject.predict(batch) for batch in batches]))
    ratios = sorted(s / p for s, p in zip(searches[1:], predictions[1:], strict=True))  # the first turn warms up
    return [
        name,
        f"{n_inputs:,}",
        f"{statistics.median(searches[1:]):.3f}",
        f"{statistics.median(predictions[1:]):.3f}",
        f"{statistics.median(ratios):.2f}",
        f"{ratios[0]:.2f}-{ratios[-1]:.2f}",
        LIMITS[name] or "",
    ]


def _search(subject: Any, n_inputs: int) -> None:
    n_global = min(5000, n_inputs // 4)
    domain = fairprobe.datasets.census_domain()
    fairprobe.search(subject, domain, max_cases=None, max_inputs=n_inputs, n_global=n_global)


def _recorded(subject: Any, n_inputs: int) -> list[np.ndarray]:
    """The batches that a search sends."""
    batches: list[np.ndarray] = []
    plain = subject.predict

    def predict(batch: np.ndarray, **options: Any) -> Any:
        batches.append(batch)
        return plain(batch, **options)

    subject.predict = predict
    _search(subject, n_inputs)
    del subject.predict
    return batches


def _seconds(action: Callable[[], object]) -> float:
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
