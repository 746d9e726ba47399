"""Estimate: the wall time of a sampled share / the time the same model needs to predict the same rows.

Estimates of the decision tree, made by sampling, take turns with plain predictions of as many rows in batches of the
same size, so that both see the same machine. The rows of one estimate's batches are recorded before and predicted in
turn: like the estimate, they do not fit the cache. Plain means `predict` as a user would call it, on what the model
was sent.

    python benchmarks/estimate.py
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import fairprobe
from _common import model, print_table

LIMIT = 2.0
INPUTS = 2_000_000
TURNS = 5
RECORDED = 50
"""Batches kept: a million rows."""


def main() -> None:
    """Print the table."""
    header = ["model", "inputs", "rows", "batch", "estimate, s", "predict, s", "ratio", "spread", "limit"]
    print_table(header, [_row("decision-tree")])


def _row(name: str) -> list[object]:
    subject = model(name)
    batches, n_calls = _recorded(subject)
    n_rows = sum(len(batch) for batch in itertools.islice(itertools.cycle(batches), n_calls))
    estimates, predictions = [], []
    for _ in range(TURNS + 1):
        estimates.append(_seconds(lambda: _estimate(subject)))
        predictions.append(_seconds(lambda: _predict(subject, batches, n_calls)))
    ratios = sorted(e / p for e, p in zip(estimates[1:], predictions[1:], strict=True))  # the first turn warms up
    return [
        name,
        f"{INPUTS:,}",
        f"{n_rows:,}",
        f"{len(batches[0]):,}",
        f"{statistics.median(estimates[1:]):.3f}",
        f"{statistics.median(predictions[1:]):.3f}",
        f"{statistics.median(ratios):.2f}",
        f"{ratios[0]:.2f}-{ratios[-1]:.2f}",
        LIMIT,
    ]


def _estimate(subject: Any) -> None:
    domain = fairprobe.datasets.census_domain()
    fairprobe.estimate(subject, domain, method="sample", n_experiments=INPUTS // 1000)


def _predict(subject: Any, batches: list[np.ndarray], n_calls: int) -> None:
    for batch in itertools.islice(itertools.cycle(batches), n_calls):
        subject.predict(batch)


def _recorded(subject: Any) -> tuple[list[np.ndarray], int]:
    """The first batches that an estimate sends, and how many it sends in all."""
    batches: list[np.ndarray] = []
    n_calls = 0
    plain = subject.predict

    def predict(batch: np.ndarray, **options: Any) -> Any:
        nonlocal n_calls
        n_calls += 1
        if len(batches) < RECORDED:
            batches.append(batch)
        return plain(batch, **options)

    subject.predict = predict
    _estimate(subject)
    del subject.predict
    return batches, n_calls


def _seconds(action: Callable[[], object]) -> float:
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
