"""Estimate: the wall time of a sampled share / the time the same model needs to predict the same rows.

The rows that an estimate by sampling sends are recorded once; then estimates and plain predictions of these rows take
turns, so that both see the same machine. Ten million inputs are five times these: time is linear, memory constant.

    python benchmarks/estimate.py
"""

from __future__ import annotations

from typing import Any

import fairprobe
from _common import model, print_table, recorded, turns

LIMIT = 2.0
INPUTS = 2_000_000
TURNS = 5


def main() -> None:
    """Print the table."""
    print_table(["model", "inputs", "estimate, s", "predict, s", "ratio", "spread", "limit"], [_row("decision-tree")])


def _row(name: str) -> list[object]:
    subject = model(name)
    batches = recorded(subject, lambda: _estimate(subject))
    measured = turns(lambda: _estimate(subject), lambda: [subject.predict(batch) for batch in batches], TURNS)
    return [name, f"{INPUTS:,}", *measured, LIMIT]


def _estimate(subject: Any) -> None:
    domain = fairprobe.datasets.census_domain()
    fairprobe.estimate(subject, domain, method="sample", n_experiments=INPUTS // 1000)


if __name__ == "__main__":
    main()
