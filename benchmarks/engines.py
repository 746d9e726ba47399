"""Engines: a search of the forest of 100 trees by one process, by two, by Dask, and as two independent halves.

    python benchmarks/engines.py processes 1_600_000    one process, two, two halves side by side (limit 1.08 times)
    python benchmarks/engines.py processes 400_000      two must not be slower than one
    python benchmarks/engines.py dask 1_600_000         two workers of Dask (limit 95% of two processes' throughput)
    python benchmarks/engines.py workers 1_600_000      throughput of one worker of Dask, two and four
    python benchmarks/engines.py together               shards that merge as quickly as they are found: the tree

What is counted: whole calls of `search` in a process that has the packages and the model loaded, the start and the end
of the other processes included. Halves are two such processes, each with half of the inputs, that call at the same
moment; the time is that of the slower one, their own start left out as it is for all others. Workers of Dask that run
already have searched before, as the halves have. Runs that are held against each other take turns, and of each the
least time counts: a number after the inputs says how many turns (2).
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import fairprobe
from _common import model, print_table

LOADED = """
import json, pickle, sys, time, warnings
warnings.simplefilter("ignore")
import fairprobe
subject, domain = pickle.load(open(sys.argv[1], "rb")), fairprobe.datasets.census_domain()
fairprobe.search(subject, domain, max_cases=100)
print("ready", flush=True)
sys.stdin.readline()
begun = time.perf_counter()
fairprobe.search(subject, domain, max_cases=None, max_barren=None, **json.loads(sys.argv[2]))
print(time.perf_counter() - begun, flush=True)
"""
"""A process that has everything loaded, and searches when it is told to."""

ENVIRONMENT = dict(os.environ)
"""Before a cluster of Dask changes it for its workers."""


def main() -> None:
    """Print the table asked for."""
    warnings.simplefilter("ignore")
    part, n = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20_000_000
    n_turns = int(sys.argv[3]) if len(sys.argv) > 3 else 2
    subject = model("decision-tree" if part == "together" else "forest-100")
    fairprobe.search(subject, fairprobe.datasets.census_domain(), max_cases=1000)  # warm up
    parts = {"processes": _processes, "dask": _dask, "workers": _workers, "together": _together}
    print_table(["run", "inputs", "seconds", "inputs/s", "beside"], parts[part](subject, n, n_turns))


def _processes(subject: Any, n: int, n_turns: int) -> Iterator[list[str]]:
    parts = [{"max_inputs": n // 2, "seed": seed} for seed in (0, 1)]
    whole = _alone(subject, one={"max_inputs": n}, two={"max_inputs": n, "n_jobs": 2})
    halves, one, two = _least({"halves": partial(_loaded, subject, *parts), **whole}, n_turns).values()
    yield _row("two halves side by side", n, halves, "")
    yield _row("one process", n, one, f"{one / halves:.3f} times the halves")
    yield _row("two processes", n, two, f"{two / halves:.3f} times the halves, {two / one:.3f} times one process")


def _dask(subject: Any, n: int, n_turns: int) -> Iterator[list[str]]:
    with _cluster(2) as address:
        least = _least(
            {
                **_alone(subject, two={"max_inputs": n, "n_jobs": 2}),
                "workers": partial(_search, subject, n, engine=address),
                "cluster": partial(_search, subject, n, engine="dask", n_jobs=2),
            },
            n_turns,
        )
    two, workers, cluster = least.values()
    yield _row("two processes", n, two, "")
    yield _row("Dask, two workers", n, workers, f"{two / workers:.1%} of the throughput")
    yield _row("Dask, a cluster started for it", n, cluster, f"{two / cluster:.1%} of the throughput")


def _workers(subject: Any, n: int, n_turns: int) -> Iterator[list[str]]:
    first = 0.0
    for n_workers in (1, 2, 4):
        with _cluster(n_workers) as address:
            seconds = min(_search(subject, n, engine=address) for _ in range(n_turns))
        first = first or seconds
        yield _row(f"Dask, workers: {n_workers}", n, seconds, f"{first / seconds:.2f} times one worker")


def _together(subject: Any, n: int, n_turns: int) -> Iterator[list[str]]:
    least = _least(_alone(subject, one={"max_inputs": n}, two={"max_inputs": n, "n_jobs": 2}), n_turns)
    one, two = least.values()
    yield _row("one process, tree", n, one, "")
    yield _row("two processes, tree", n, two, f"{two / one:.3f} times one process")


def _least(runs: dict[str, Callable[[], float]], n_turns: int) -> dict[str, float]:
    """The least seconds of each run, all of them in turn."""
    turns = [{name: run() for name, run in runs.items()} for _ in range(n_turns)]
    return {name: min(turn[name] for turn in turns) for name in runs}


def _row(name: str, n: int, seconds: float, beside: str) -> list[str]:
    return [name, f"{n:,}", f"{seconds:.1f}", f"{n / seconds:,.0f}", beside]


def _search(subject: Any, n: int, **options: Any) -> float:
    begun = time.perf_counter()
    domain = fairprobe.datasets.census_domain()
    fairprobe.search(subject, domain, max_cases=None, max_barren=None, max_judged=n, **options)
    return time.perf_counter() - begun


def _alone(subject: Any, **runs: dict[str, Any]) -> dict[str, Callable[[], float]]:
    return {name: partial(_loaded, subject, settings) for name, settings in runs.items()}


def _loaded(subject: Any, *settings: dict[str, Any]) -> float:
    """Searches in processes of their own, side by side; the seconds of the slowest."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        path.write_bytes(pickle.dumps(subject))
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", LOADED, str(path), json.dumps(each)],
                env=ENVIRONMENT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for each in settings
        ]
        for process in processes:
            assert process.stdout is not None
            process.stdout.readline()
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        return max(float(process.communicate()[0]) for process in processes)


@contextmanager
def _cluster(n_workers: int) -> Iterator[str]:
    """A cluster that runs already, its workers with everything loaded, as one that others use would have it."""
    import distributed as dask

    started: Any = dask.LocalCluster
    client_of: Any = dask.Client

    with (
        started(n_workers=n_workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster,
        client_of(cluster) as client,
    ):
        client.wait_for_workers(n_workers)
        address = cluster.scheduler_address.replace("tcp", "dask")
        _search(model("decision-tree"), 20_000 * n_workers, shard_inputs=5000, engine=address)
        yield address


if __name__ == "__main__":
    main()
