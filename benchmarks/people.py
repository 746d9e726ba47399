"""Real people: what rules and links cost, and what searches from rows find.

    python benchmarks/people.py [--turns 5] [--only rows|cost|sampling]

- rows: cases with two changes at most, from the rows of the census, on the six subjects.
- cost: a search of the natural census by a gradient boosting pipeline with and without rules and links, the same number
  of inputs; turns one after the other, the ratio of the processor's seconds.
- sampling: inputs drawn under a rule that leaves one in 10^9 of the domain, against one that leaves half.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import warnings
from typing import Any

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # threads that wait would count as work

import numpy as np

import fairprobe
from _common import print_table
from fairprobe import Category, Domain, Integer, Link, search

RULES = [
    "`capital-gain` == 0 or `capital-loss` == 0",
    "relationship not in ('Husband', 'Wife') or `marital-status` in ('Married-civ-spouse', 'Married-AF-spouse')",
    "age >= 16 + `hours-per-week` / 100",
]
LINKS = [Link("relationship", "sex", [{"Male": "Husband", "Female": "Wife"}])]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", choices=("rows", "cost", "sampling"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, part in (("rows", from_rows), ("cost", cost), ("sampling", sampling)):
        if options.only in (None, name):
            part(options.turns)


def from_rows(turns: int) -> None:
    """Cases about rows with two changes at most."""
    X, _ = fairprobe.datasets.load_census()
    domain = fairprobe.datasets.census_domain()
    rows = []
    for name in fairprobe.subjects.names():
        subject = fairprobe.subjects.load(name)
        limits: dict[str, Any] = {"max_cases": 2000, "max_inputs": 300_000}
        found = search(subject, domain, start=X, max_changes=2, **limits)
        assert found.origins is not None
        changes = found.origins["n_changes"].value_counts()
        rows.append(
            [
                name,
                f"{found.n_cases:,}",
                f"{found.n_distinct:,}",
                f"{found.yield_:.1%}",
                ", ".join(f"{changes.get(n, 0):,}" for n in range(3)),
                f"{found.seconds:.1f}",
            ]
        )
    print_table(["subject", "cases", "inputs", "yield", "with 0, 1, 2 changes", "s"], rows)


def pipeline() -> Any:
    """Gradient boosting on the natural census, its text columns as numbers."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    X, y = fairprobe.datasets.load_census(encoded=False)
    text = [name for name in X if X[name].dtype.kind not in "if"]
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
    columns = make_column_transformer((encoder, text), remainder="passthrough")
    return make_pipeline(columns, HistGradientBoostingClassifier(random_state=0)).fit(X, y)


def cost(turns: int) -> None:
    """Rules and links against none."""
    X, _ = fairprobe.datasets.load_census(encoded=False)
    model = pipeline()
    plain = Domain.from_frame(X, ["sex"])
    restricted = plain.with_constraints(RULES).with_links(LINKS)
    rows = []
    for strategy in ("fully-directed", "anchored", "uniform"):
        seconds: dict[str, list[float]] = {"plain": [], "restricted": []}
        for _ in range(turns):
            for name, domain in (("plain", plain), ("restricted", restricted)):
                begun = time.process_time()
                found = search(model, domain, strategy=strategy, max_cases=None, max_judged=30_000)
                seconds[name].append((time.process_time() - begun) / found.n_queries)
        # The least of all turns: what else the machine does can only add to it.
        least = {name: min(each) for name, each in seconds.items()}
        ratios = sorted(new / old for old, new in zip(*seconds.values(), strict=True))
        rows.append(
            [
                strategy,
                f"{1e6 * least['plain']:.2f}",
                f"{least['restricted'] / least['plain']:.3f}",
                f"{ratios[0]:.2f}-{ratios[-1]:.2f}",
            ]
        )
    print_table(["strategy", "us a query, plain", "with rules and links / plain", "range of turns"], rows)


def sampling(turns: int) -> None:
    """A thin rule against one that leaves half."""
    parameters = [*(Integer(f"x{i}", 0, 999) for i in range(4)), Category("sex", ["f", "m"])]
    domains = {
        "one in 10^9": Domain(parameters, ["sex"], constraints=[f"x{i} == 7" for i in range(3)]),
        "half": Domain(parameters, ["sex"], constraints=["x0 < 500"]),
    }
    seconds: dict[str, list[float]] = {name: [] for name in domains}
    for turn in range(turns):
        for name, domain in domains.items():
            begun = time.process_time()
            for seed in range(20):
                domain.sample_codes(50_000, np.random.default_rng(20 * turn + seed))
            seconds[name].append(time.process_time() - begun)
    rows = [[name, f"{domains[name].n_valid:,}", f"{statistics.median(each):.3f}"] for name, each in seconds.items()]
    print_table(["a rule that leaves", "inputs allowed", "s for a million"], rows)


if __name__ == "__main__":
    main()
