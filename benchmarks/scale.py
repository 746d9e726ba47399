"""Scale: how a search's cost grows, and what 10^12 queries would take.

    python benchmarks/scale.py growth                 seconds by inputs, parameters, sensitive combinations, model
    python benchmarks/scale.py shards                 a shard's time, size on disk and time to merge, measured
    python benchmarks/scale.py plan [--workers 1000]  a run of 10^12 queries, simulated with these

The plan draws each shard's time from those measured on this machine (`MEASURED`, as `shards` prints them). Workers die at
a stated rate; what they had under way is run again, as the engine does it. Prices are arguments: put yours.
"""

from __future__ import annotations

import argparse
import heapq
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

MEASURED = {
    "forest of 100 trees": (0.0, (1.0,)),
}
"""By model: bytes on disk for each case, seconds of shards of 400,000 inputs."""


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
    fairprobe.search(subject, domain, max_inputs=20_000, **settings)  # type: ignore[arg-type]  # warm up
    begun = time.perf_counter()
    fairprobe.search(subject, domain, max_inputs=n, **settings)  # type: ignore[arg-type]
    seconds = time.perf_counter() - begun
    return [what, to, f"{seconds:.2f}", f"{1e6 * seconds / n:.2f}"]


def _toy(n_free: int, groups: int) -> tuple[Any, Domain]:
    """A model that costs next to nothing: what is left is the search's own."""
    parameters = [Integer(f"x{i}", 0, 99) for i in range(n_free)]
    domain = Domain([*parameters, Integer("group", 0, groups - 1)], ["group"])
    return (lambda X: (X[:, 0] + X[:, 1] > 100) ^ ((X[:, -1] == 0) & (X[:, 2] > 70))), domain


# What a shard takes


def _shards(options: argparse.Namespace) -> None:
    subject, domain, n_shards = model("forest-100"), fairprobe.datasets.census_domain(), 6
    settings: dict[str, Any] = {"max_cases": None, "max_barren": None, "max_inputs": 400_000}
    seconds, merging, sizes = [], [], []
    for seed in range(n_shards):
        with tempfile.TemporaryDirectory() as folder:
            begun = time.perf_counter()
            found = fairprobe.search(subject, domain, seed=seed, store=folder, **settings)
            seconds.append(time.perf_counter() - begun)
            sizes.append(sum(path.stat().st_size for path in Path(folder).rglob("*")) / found.n_cases)
        cases = found.cases.to_numpy()
        begun = time.perf_counter()
        np.unique(cases[:, 0])
        merging.append(time.perf_counter() - begun)
    print(f"seconds of shards: {[round(each, 2) for each in seconds]}")
    print(f"bytes on disk for each case: {statistics.mean(sizes):.1f}; cases of a shard: {found.n_cases:,}")
    print(f"queries of a shard: {found.n_queries:,}")


# The plan


@dataclass(frozen=True)
class Outcome:
    """What a simulated run came to."""

    hours: float
    worker_hours: float
    n_lost: int
    """Shards that died with their worker, and were run again."""


def simulated(
    shard_seconds: tuple[float, ...], n_shards: int, n_workers: int, deaths_a_day: float, seed: int = 0
) -> Outcome:
    """Workers take shard after shard; one that dies is replaced after two minutes, and its shard run again."""
    rng = np.random.default_rng(seed)
    busy = [(0.0, worker) for worker in range(n_workers)]
    heapq.heapify(busy)
    left, n_lost, work, end = n_shards, 0, 0.0, 0.0
    times = rng.choice(shard_seconds, size=n_shards)
    chances = rng.random(n_shards + n_shards // 10)
    n_runs = 0
    while left:
        now, worker = heapq.heappop(busy)
        seconds = float(times[left - 1])
        dies = chances[n_runs % len(chances)] < seconds * deaths_a_day / 86_400
        n_runs += 1
        if dies:
            n_lost += 1
            seconds = seconds / 2 + REPLACED_SECONDS
        else:
            left -= 1
            end = max(end, now + seconds)
        work += seconds
        heapq.heappush(busy, (now + seconds, worker))
    return Outcome(end / 3600, n_workers * end / 3600, n_lost)


REPLACED_SECONDS = 120.0
DEATHS = (0.0, 0.5, 5.0)
"""Of a worker in a day: none, a cluster of one's own, machines that are taken away at any time."""


def _plan(options: argparse.Namespace) -> None:
    header = ["model", "deaths of a worker a day", "shards", "hours", "shards run again", "worker hours", "cost"]
    print_table(header, _planned(options))


def _planned(options: argparse.Namespace) -> Iterator[list[str]]:
    for name, (queries, seconds) in MEASURED.items():
        n_shards = round(options.queries / queries)
        for deaths in DEATHS:
            outcome = simulated(seconds, n_shards, options.workers, deaths)
            cost = outcome.worker_hours * options.core_hour
            yield [
                name,
                f"{deaths:g}",
                f"{n_shards:,}",
                f"{outcome.hours:,.1f}",
                f"{outcome.n_lost:,}",
                f"{outcome.worker_hours:,.0f}",
                f"{cost:,.0f}",
            ]


if __name__ == "__main__":
    main()
