"""Small budgets: what searches find with 2,000 and with 20,000 queries, where a query costs money.

    python benchmarks/small_budgets.py [--seeds 20] [--models decision-tree,mlp,forest-100] [--strategies auto,...]

Medians over seeds, acceleration off. `one walker` is the paper's fully-directed search trial by trial; recall is of the
cases that independent uniform sampling finds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import warnings
from pathlib import Path
from typing import Any

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
sys.path.append(str(Path(__file__).parents[1]))  # where evaluation/ is

import numpy as np

from _common import model, print_table
from evaluation.coverage import has_near, uniform_cases
from fairprobe import search
from fairprobe.datasets import census_domain
from fairprobe.model.asking import Asker
from fairprobe.oracle import Oracle

ONE = "one walker"
STRATEGIES = ("auto", "anchored", "guided", "genetic", "fully-directed", "uniform", ONE)
N_REFERENCES = {"svm": 20_000}
"""Uniform inputs that references for recall come from, where it is not 300,000."""


def main() -> None:
    """Print a table for each budget."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--models", default="decision-tree,mlp,forest-100")
    parser.add_argument("--strategies", default=",".join(STRATEGIES))
    parser.add_argument("--queries", default="2000,20000")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    domain = census_domain()
    columns = list(domain.free_columns)
    for n_queries in map(int, options.queries.split(",")):
        rows = []
        for name in options.models.split(","):
            subject = model(name)
            oracle = Oracle(Asker(subject, domain))
            references = uniform_cases(oracle, subject, N_REFERENCES.get(name, 300_000), 12_345)
            for strategy in options.strategies.split(","):
                runs = [_found(subject, domain, strategy, n_queries, seed) for seed in range(options.seeds)]
                cases = [found.n_cases for found in runs]
                recalls = [
                    has_near(references[:, columns], found._cases.case.astype(np.int64)[:, columns], domain).mean()
                    for found in runs
                ]
                spread = f"{min(cases):,}-{max(cases):,}"
                recall = f"{statistics.median(recalls):.1%}"
                rows.append([name, strategy, f"{statistics.median(cases):,.0f}", spread, recall])
        print(f"\n{n_queries:,} queries, {options.seeds} seeds\n")
        print_table(["model", "strategy", "cases", "least-most", "recall"], rows)


def _found(subject: Any, domain: Any, strategy: str, n_queries: int, seed: int) -> Any:
    how: dict[str, Any] = {"strategy": strategy} if strategy != ONE else {"strategy": "fully-directed", "n_walkers": 1}
    return search(subject, domain, max_queries=n_queries, max_cases=None, accelerate="off", seed=seed, **how)


if __name__ == "__main__":
    main()
