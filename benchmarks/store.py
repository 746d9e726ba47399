"""The cost of keeping a run: cases written, merged and read back, their growth, and the cost beside the search.

python benchmarks/store.py            # 1 and 10 million cases of the decision tree, each step in a process of its own
python benchmarks/store.py cost       # a search of the forest of 100 trees, with and without a store (limit 5%)
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import fairprobe
from _common import model, print_table
from fairprobe.datasets import census_domain
from fairprobe.searching.stored_search import StoredCases, StoredSearch, merged, write_parquet

HEADER = ("cases", "search and store s", "merge s", "read back s", "written cases/s", "GB of search, merge, reading")


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what came of it."""
    begun = time.perf_counter()
    made = action()
    return time.perf_counter() - begun, made


def search(folder: Path, n: int) -> dict[str, float]:
    """Search for so many cases, and store them."""
    spent: list[tuple[float, int]] = []
    save = StoredSearch.save

    def timed_save(self: Any, shard: int, result: Any) -> None:
        spent.append((timed(lambda: save(self, shard, result))[0], len(result.cases)))

    StoredSearch.save = timed_save  # type: ignore[method-assign]
    tree, domain = model("decision-tree"), census_domain()
    seconds, found = timed(
        lambda: fairprobe.search(tree, domain, max_cases=n, max_barren=None, seed=1, store=folder / "run")
    )
    assert found.n_cases == n
    return {"seconds": seconds, "rate": sum(number for _, number in spent) / sum(each for each, _ in spent)}


def merge(folder: Path, n: int) -> dict[str, float]:
    """Merge the shards into one file of distinct cases."""
    stored = StoredCases(folder / "run")
    entries, most = stored.of_result()
    out = folder / "cases.parquet"
    seconds, n_merged = timed(lambda: write_parquet(merged([(stored, entries)], most), out, lambda frame: frame))
    assert n_merged == n
    return {"seconds": seconds}


def read(folder: Path, n: int) -> dict[str, float]:
    """Read that file back, as Arrow holds it."""
    import pyarrow.parquet as pq

    seconds, table = timed(lambda: pq.read_table(folder / "cases.parquet"))
    assert len(table) == n
    return {"seconds": seconds}


STEPS = {"search": search, "merge": merge, "read": read}


def alone(step: str, folder: Path, n: int) -> dict[str, float]:
    """A step in a process of its own, with its peak of memory in gigabytes."""
    command = [sys.executable, __file__, step, str(folder), str(n)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def cases(n: int) -> list[str]:
    """All steps for so many cases."""
    with tempfile.TemporaryDirectory(prefix="fairprobe-") as folder:
        done = {step: alone(step, Path(folder), n) for step in STEPS}
    seconds = [f"{done[step]['seconds']:.1f}" for step in STEPS]
    peaks = ", ".join(f"{done[step]['peak']:.2f}" for step in STEPS)
    return [f"{n:,}", *seconds, f"{done['search']['rate']:,.0f}", peaks]


def cost(turns: int = 3, n_inputs: int = 800_000) -> list[str]:
    """The search of a forest, two shards of the default size, without a store and with one in turn; by the medians."""
    forest, domain = model("forest-100"), census_domain()
    ratios, plain, kept = [], [], []
    settings: dict[str, Any] = {"max_inputs": n_inputs, "max_cases": None, "seed": 1}
    for _ in range(turns):
        plain.append(timed(partial(fairprobe.search, forest, domain, **settings))[0])
        folder = tempfile.mkdtemp(prefix="fairprobe-")
        kept.append(timed(partial(fairprobe.search, forest, domain, **settings, store=f"{folder}/run"))[0])
        ratios.append(kept[-1] / plain[-1])
        shutil.rmtree(folder)
    a, b, ratio = (float(np.median(each)) for each in (plain, kept, ratios))
    return [
        f"{n_inputs:,}",
        f"{a:.2f}",
        f"{b:.2f}",
        f"{ratio - 1:+.1%}",
        f"{min(ratios) - 1:+.1%} to {max(ratios) - 1:+.1%}",
    ]


def main() -> None:
    """Print the tables."""
    what, *more = sys.argv[1:] or ["cases"]
    if what in STEPS:
        figures = STEPS[what](Path(more[0]), int(more[1]))
        print(json.dumps({**figures, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6}))
    elif what == "cost":
        print_table(("inputs of the forest", "without a store s", "with one s", "cost", "range"), [cost()])
    else:
        print_table(HEADER, map(cases, (1_000_000, 10_000_000)))


if __name__ == "__main__":
    main()
