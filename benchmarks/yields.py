"""Yield and coverage of each strategy on each subject, at the same number of judged inputs: medians over seeds.

Yield measures a search, never a model. Coverage says how widely the cases are spread: cells of a coarse grid, recall
of the cases that uniform sampling finds.

    python benchmarks/yields.py [--seeds 5] [--inputs 300000] [--subjects mlp,svm] [--strategies anchored,guided]
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

import fairprobe
from _common import model, print_table
from evaluation.coverage import coverage_of, uniform_cases
from fairprobe.arrays import Codes
from fairprobe.model.asking import Asker
from fairprobe.oracle import Oracle
from fairprobe.searching import STRATEGIES

SUBJECTS = (*fairprobe.subjects.names(), "forest-100")
SLOW = {"svm": 20_000}
"""Libsvm answers some 3,000 rows a second: fewer inputs unless they are asked for, said in the table."""

HEADER = ["subject", "strategy", "inputs", "yield", "range", "queries", "cells", "recall"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--inputs", type=int)
    parser.add_argument("--subjects", default=",".join(SUBJECTS))
    parser.add_argument("--strategies", default=",".join([*STRATEGIES, "auto"]))
    options = parser.parse_args()
    subjects, strategies = options.subjects.split(","), options.strategies.split(",")
    print_table(HEADER, _rows(subjects, strategies, options.seeds, options.inputs))


def _rows(subjects: Sequence[str], strategies: Sequence[str], n_seeds: int, n: int | None) -> Iterator[list[object]]:
    for name in subjects:
        subject, domain = model(name), fairprobe.datasets.census_domain()
        references = uniform_cases(Oracle(Asker(subject, domain)), subject, SLOW.get(name, 100_000), 0)
        for strategy in strategies:
            yield [name, *_row(subject, strategy, n_seeds, n or SLOW.get(name, 300_000), references)]


def _row(subject: Any, strategy: str, n_seeds: int, n_inputs: int, references: Codes) -> list[object]:
    domain = fairprobe.datasets.census_domain()
    found = [
        fairprobe.search(
            subject, domain, strategy=strategy, max_cases=None, max_judged=n_inputs, seed=seed, accelerate="off"
        )
        for seed in range(n_seeds)
    ]
    spread = [coverage_of(one, references) for one in found]
    yields = [one.yield_ for one in found]
    return [
        strategy,
        f"{n_inputs:,}",
        f"{statistics.median(yields):.1%}",
        f"{min(yields):.1%}-{max(yields):.1%}",
        f"{statistics.median(one.n_queries for one in found):,.0f}",
        f"{statistics.median(cells for cells, _ in spread):,.0f}",
        f"{statistics.median(recall or 0 for _, recall in spread):.1%}",
    ]


if __name__ == "__main__":
    main()
