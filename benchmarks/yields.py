"""Yield of each strategy on each subject: mean and range over seeds, at the same number of judged inputs.

Yield measures a search, never a model.

    python benchmarks/yields.py [--seeds 5] [--inputs 305000]
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator

import fairprobe
from _common import model, print_table
from fairprobe.search import STRATEGIES

SLOW = {"svm": 20_000}
"""Libsvm answers some 3,000 rows a second: fewer inputs, said in the table."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--inputs", type=int, default=305_000)
    options = parser.parse_args()
    print_table(["subject", "inputs", *STRATEGIES], _rows(options.seeds, options.inputs))


def _rows(n_seeds: int, n_inputs: int) -> Iterator[list[object]]:
    domain = fairprobe.datasets.census_domain()
    for name in fairprobe.subjects.names():
        subject = model(name)
        n = min(n_inputs, SLOW.get(name, n_inputs))
        cells = []
        for strategy in STRATEGIES:
            yields = [
                fairprobe.search(subject, domain, strategy=strategy, max_cases=None, max_inputs=n, seed=seed).yield_
                for seed in range(n_seeds)
            ]
            cells.append(f"{statistics.mean(yields):.2%} ({min(yields):.2%}-{max(yields):.2%})")
        yield [name, f"{n:,}", *cells]


if __name__ == "__main__":
    main()
