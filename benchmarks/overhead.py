"""Overhead: the wall time of a search / the time the same model needs to predict the same rows in the same batches.

The rows that a search sends are recorded once; then searches and plain predictions of these rows take turns, so that
both see the same machine. Distinct counting is part of the search.

    python benchmarks/overhead.py [--strategy anchored]
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import fairprobe
from _common import model, print_table, recorded, turns

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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strategy", default="fully-directed")
    row = partial(_row, parser.parse_args().strategy)
    print_table(["model", "inputs", "search, s", "predict, s", "ratio", "spread", "limit"], map(row, LIMITS))


def _row(strategy: str, name: str) -> list[object]:
    subject = model(name)
    n_inputs = INPUTS.get(name, 305_000)
    batches = recorded(subject, lambda: _search(subject, n_inputs, strategy))
    measured = turns(
        lambda: _search(subject, n_inputs, strategy),
        lambda: [subject.predict(batch) for batch in batches],
        TURNS.get(name, 11),
    )
    return [name, f"{n_inputs:,}", *measured, LIMITS[name] or ""]


def _search(subject: Any, n_inputs: int, strategy: str) -> None:
    n_global = min(5000, n_inputs // 4)
    domain = fairprobe.datasets.census_domain()
    limits: dict[str, Any] = {"max_cases": None, "max_inputs": n_inputs, "accelerate": "off"}
    fairprobe.search(subject, domain, strategy=strategy, n_global=n_global, **limits)


if __name__ == "__main__":
    main()
