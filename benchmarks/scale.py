"""Scale: how a search's cost grows, and what 10^12 queries would take.

    python benchmarks/scale.py growth                 seconds by inputs, parameters, sensitive combinations, model
    python benchmarks/scale.py shards                 a shard's time, size on disk and time to merge, measured
    python benchmarks/scale.py plan [--workers 1000]  a run of 10^12 queries, simulated with these

The plan draws each shard's time from those measured on this machine (`SECONDS`, as `shards` prints them). Workers die
at a stated rate; what they had under way is run again, as the engine does it. Prices are arguments: put yours.
"""

from __future__ import annotations

import argparse
import heapq
import math
import statistics
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import fairprobe
from _common import model, print_table
from fairprobe import Domain, Integer

QUERIES, CASES, CASE_BYTES = 659_344, 329_172, 12.1
"""Of a shard of 400,000 inputs, forest of 100 trees: rows sent to the model, cases; bytes on disk for each."""

SECONDS = (4.73, 4.99, 4.91, 5.32, 4.72, 4.89)
"""Of such shards, stored."""

MERGE_SECONDS = 0.09
"""To merge a shard with those before."""

MODELS = {"forest of 100 trees": 1.0, "a pipeline, 36,000 rows a second": 3.7, "a service, 1,000 rows a second": 134.0}
"""How many times as long a shard takes."""


def main() -> None:
    """Print the table asked for."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=("growth", "shards", "plan"))
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--queries", type=float, default=1e12)
    parser.add_argument("--core-hour", type=float, default=0.04, help="price of a core for an hour")
    parser.add_argument("--gigabyte-month", type=float, default=0.023, help="price of object storage")
    parser.add_argument("--egress", type=float, default=0.09, help="price of a gigabyte that leaves the cloud")
    options = parser.parse_args()
    {"growth": _growth, "shards": _shards, "plan": _plan}[options.part](options)


# Growth


def _growth(options: argparse.Namespace) -> None:
    print_table(["what grows", "to", "seconds", "microseconds an input"], _grown())


def _grown() -> Iterator[list[str]]:
    n = 200_000
    for inputs in (100_000, 1_000_000, 4_000_000):
        yield _timed(
            "inputs (decision tree)", f"{inputs:,}", inputs, model("decision-tree"), fairprobe.datasets.census_domain()
        )
    for n_free in (5, 10, 20, 50):
        yield _timed("parameters", str(n_free), n, *_toy(n_free, 2))
    for groups in (2, 4, 10, 40):
        yield _timed("sensitive combinations", str(groups), n, *_toy(10, groups))
    for name in ("decision-tree", "mlp", "forest-100"):
        yield _timed("model", name, n, model(name), fairprobe.datasets.census_domain())


def _timed(what: str, to: str, n: int, subject: Any, domain: Domain) -> list[str]:
    settings = {"max_cases": None, "max_barren": None, "strategy": "anchored"}
    fairprobe.search(subject, domain, max_judged=20_000, **settings)  # type: ignore[arg-type]  # warm up
    begun = time.perf_counter()
    fairprobe.search(subject, domain, max_judged=n, **settings)  # type: ignore[arg-type]
    seconds = time.perf_counter() - begun
    return [what, to, f"{seconds:.2f}", f"{1e6 * seconds / n:.2f}"]


def _toy(n_free: int, groups: int) -> tuple[Any, Domain]:
    """A model that costs next to nothing: what is left is the search's own."""
    parameters = [Integer(f"x{i}", 0, 99) for i in range(n_free)]
    domain = Domain([*parameters, Integer("group", 0, groups - 1)], ["group"])
    return (lambda X: (X[:, 0] + X[:, 1] > 100) ^ ((X[:, -1] == 0) & (X[:, 2] > 70))), domain


# What a shard takes


def _shards(options: argparse.Namespace) -> None:
    domain = fairprobe.datasets.census_domain()
    settings: dict[str, Any] = {"max_cases": None, "max_barren": None}
    subject, seconds, sizes = model("forest-100"), [], []
    for seed in range(6):
        with tempfile.TemporaryDirectory() as folder:
            begun = time.perf_counter()
            found = fairprobe.search(subject, domain, seed=seed, store=folder, max_judged=400_000, **settings)
            seconds.append(time.perf_counter() - begun)
            sizes.append(sum(path.stat().st_size for path in Path(folder).rglob("*")) / found.n_cases)
    print(f"seconds of shards: {[round(each, 2) for each in seconds]}")
    print(f"bytes on disk for each case: {statistics.mean(sizes):.1f}; cases of a shard: {found.n_cases:,}")
    print(f"queries of a shard: {found.n_queries:,}")
    tree = model("decision-tree")
    with tempfile.TemporaryDirectory() as folder:
        fairprobe.search(tree, domain, store=folder, max_judged=4_000_000, **settings)
        begun = time.perf_counter()
        again = fairprobe.search(tree, domain, store=folder, max_judged=4_000_000, **settings)
        seconds = [(time.perf_counter() - begun) / 10]
    print(f"seconds to read and merge a shard of {again.n_cases // 10:,} cases: {seconds[0]:.3f}")


# The plan


REPLACED_SECONDS = 120.0
"""Until a worker that died has been replaced."""

DEATHS = (0.0, 0.5, 5.0)
"""Of a worker in a day: none, a cluster of one's own, machines that are taken away at any time."""


@dataclass(frozen=True)
class SimulatedRun:
    """The result of a run."""

    hours: float
    worker_hours: float
    n_lost: int
    """Shards that died with their worker, and were run again."""


def simulated(times: Any, n_shards: int, n_workers: int, deaths_a_day: float, seed: int = 0) -> SimulatedRun:
    """Workers take shard after shard; one that dies is replaced, and its shard run again by whoever is free."""
    rng = np.random.default_rng(seed)
    busy = [(0.0, worker) for worker in range(n_workers)]
    left, n_lost, end = n_shards, 0, 0.0
    drawn = rng.choice(np.asarray(times), size=n_shards)
    while left:
        now, worker = heapq.heappop(busy)
        seconds = float(drawn[left - 1])
        lives = rng.exponential(86_400 / deaths_a_day) if deaths_a_day else math.inf
        if lives < seconds:
            n_lost += 1
            heapq.heappush(busy, (now + lives + REPLACED_SECONDS, worker))
            continue
        left -= 1
        end = max(end, now + seconds)
        heapq.heappush(busy, (now + seconds, worker))
    return SimulatedRun(end / 3600, n_workers * end / 3600, n_lost)


def _plan(options: argparse.Namespace) -> None:
    n_shards = round(options.queries / QUERIES)
    header = ["model", "deaths of a worker a day", "hours", "shards run again", "worker hours", "cost"]
    print(f"{n_shards:,} shards of {QUERIES:,} queries on {options.workers:,} workers\n")
    print_table(header, _planned(options, n_shards))
    n_cases = n_shards * CASES
    size = n_cases * CASE_BYTES / 1e9
    print(f"\nall cases kept: {n_cases:.2g}, {size:,.0f} GB, {size * options.gigabyte_month:,.0f} a month to store, ")
    print(
        f"{size * options.egress:,.0f} to take out of the cloud; merged in {n_shards * MERGE_SECONDS / 3600:,.0f} hours"
    )


def _planned(options: argparse.Namespace, n_shards: int) -> Iterator[list[str]]:
    for name, factor in MODELS.items():
        times = np.array(SECONDS) * factor
        for deaths in DEATHS:
            run = simulated(times, n_shards, options.workers, deaths)
            cost = f"{run.worker_hours * options.core_hour:,.0f}"
            yield [name, f"{deaths:g}", f"{run.hours:,.1f}", f"{run.n_lost:,}", f"{run.worker_hours:,.0f}", cost]


if __name__ == "__main__":
    main()
