"""Shrink and repair: how long 1,000 cases take, and how few differences are left.

    python benchmarks/shrink.py [--models forest,boosting] [--cases 1000]

Cases are those that `search` finds in the whole domain, far from any row; they are shrunk towards the census's training
rows, and repaired with these, with `max_queries` at its default of a million. `asked` is the seconds that `shrink` may
take. Measured in one thread, beside other work on two cores (other turns: 1.6 to 3.2 s and 11.5 to 15.1 s to shrink):

| model | what | seconds | asked | queries | changes | after | distance | after | known fewest | not repaired |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
| forest | shrink | 2.0 | 20 | 942,806 | 9.13 | 2.04 | 0.226 | 0.035 | 649 |  |
| forest | repair | 0.6 |  | 452,978 |  | 1.00 |  | 0.005 | 1000 | 0 |
| boosting | shrink | 12.9 | 60 | 1,000,000 | 8.70 | 1.90 | 0.358 | 0.042 | 430 |  |
| boosting | repair | 7.1 |  | 605,870 |  | 1.00 |  | 0.001 | 1000 | 0 |

Those that are not known to be the fewest have two differences or more: to ask about all with fewer would take too many
queries, as capital gains alone have 100,000 values in the natural census.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Iterator
from typing import Any

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import pandas as pd

import fairprobe
from _common import print_table
from fairprobe.explanation.repairing import repair
from fairprobe.explanation.shrinking import shrink
from pipelines import fitted

ASKED = {"forest": 20, "boosting": 60}


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(ASKED))
    parser.add_argument("--cases", type=int, default=1000)
    options = parser.parse_args()
    header = ["model", "what", "seconds", "asked", "queries", "changes", "after", "distance", "after"]
    header += ["known fewest", "not repaired"]
    print_table(header, (row for name in options.models.split(",") for row in rows(name, options.cases)))


def subject(name: str) -> tuple[Any, pd.DataFrame, fairprobe.Domain]:
    """A model, the rows that it was fitted on, and the domain."""
    if name == "forest":
        X, _ = fairprobe.datasets.load_census()
        return fairprobe.subjects.load("random-forest"), X, fairprobe.datasets.census_domain()
    model, domain = fitted(f"ordinal-{name}")
    return model, fairprobe.datasets.load_census(encoded=False)[0], domain


def rows(name: str, n_cases: int) -> Iterator[list[object]]:
    """One model."""
    model, X, domain = subject(name)
    found = fairprobe.search(model, domain, max_cases=n_cases)
    begun = time.perf_counter()
    shrunk = shrink(found, model, towards=X)
    seconds = time.perf_counter() - begun
    assert (shrunk.distance <= shrunk.before["distance"]).all()
    told = shrunk.jsonable()
    before = [f"{told['n_changes_before']:.2f}", f"{told['n_changes']:.2f}"]
    distance = [f"{told['distance_before']:.3f}", f"{told['distance']:.3f}"]
    queries = f"{shrunk.n_queries:,}"
    yield [name, "shrink", f"{seconds:.1f}", ASKED[name], queries, *before, *distance, told["n_minimal"], ""]
    begun = time.perf_counter()
    repaired = repair(found, model, towards=X)
    seconds, told = time.perf_counter() - begun, repaired.jsonable()
    after = ["", f"{told['n_changes']:.2f}", "", f"{told['distance']:.3f}"]
    queries = f"{repaired.n_queries:,}"
    yield [name, "repair", f"{seconds:.1f}", "", queries, *after, told["n_minimal"], told["n_unrepaired"]]


if __name__ == "__main__":
    main()
