"""Engines: a search of the forest of 100 trees by one process, by two, by Dask, and as two independent halves.

    python benchmarks/engines.py processes 1_600_000    one process, two, two halves side by side (limit 1.08 times)
    python benchmarks/engines.py processes 400_000      two must not be slower than one
    python benchmarks/engines.py dask 1_600_000         two workers of Dask (limit 95% of two processes' throughput)
    python benchmarks/engines.py workers 1_600_000      throughput of one worker of Dask, two and four
    python benchmarks/engines.py together               shards that merge as quickly as they are found: the tree

Halves are two processes that have everything loaded, each with half of the inputs; the time is that of the slower one.
All others are whole calls of `search`, the start of processes and the end of them included.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fairprobe
from _common import model, print_table

HALF = """
import pickle, sys, time, warnings
warnings.simplefilter("ignore")
import fairprobe
subject, domain = pickle.load(open(sys.argv[1], "rb")), fairprobe.datasets.census_domain()
fairprobe.search(subject, domain, max_cases=100)
print("ready", flush=True)
sys.stdin.readline()
begun = time.perf_counter()
fairprobe.search(subject, domain, max_cases=None, max_barren=None, max_inputs=int(sys.argv[2]), seed=int(sys.argv[3]))
print(time.perf_counter() - begun, flush=True)
"""


def main() -> None:
    """Print the table asked for."""
    warnings.simplefilter("ignore")
    part, n = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20_000_000
    subject = model("decision-tree" if part == "together" else "forest-100")
    fairprobe.search(subject, fairprobe.datasets.census_domain(), max_cases=1000)  # warm up
    parts = {"processes": _processes, "dask": _dask, "workers": _workers, "together": _together}
    print_table(["run", "inputs", "seconds", "inputs/s", "beside"], parts[part](subject, n))


def _processes(subject: Any, n: int) -> Iterator[list[str]]:
    halves = _halves(subject, n)
    yield _row("two halves side by side", n, halves, "")
    one = _search(subject, n)
    yield _row("one process", n, one, f"{one / halves:.3f} times the halves")
    two = _search(subject, n, n_jobs=2)
    yield _row("two processes", n, two, f"{two / halves:.3f} times the halves, {two / one:.3f} times one process")


def _dask(subject: Any, n: int) -> Iterator[list[str]]:
    two = _search(subject, n, n_jobs=2)
    yield _row("two processes", n, two, "")
    with _cluster(2) as address:
        seconds = _search(subject, n, engine=address)
    yield _row("Dask, two workers", n, seconds, f"{two / seconds:.1%} of the throughput")
    seconds = _search(subject, n, engine="dask", n_jobs=2)
    yield _row("Dask, a cluster started for it", n, seconds, f"{two / seconds:.1%} of the throughput")


def _workers(subject: Any, n: int) -> Iterator[list[str]]:
    first = 0.0
    for n_workers in (1, 2, 4):
        with _cluster(n_workers) as address:
            seconds = _search(subject, n, engine=address)
        first = first or seconds
        yield _row(f"Dask, workers: {n_workers}", n, seconds, f"{first / seconds:.2f} times one worker")


def _together(subject: Any, n: int) -> Iterator[list[str]]:
    one = _search(subject, n)
    yield _row("one process, tree", n, one, "")
    two = _search(subject, n, n_jobs=2)
    yield _row("two processes, tree", n, two, f"{two / one:.3f} times one process")


def _row(name: str, n: int, seconds: float, beside: str) -> list[str]:
    return [name, f"{n:,}", f"{seconds:.1f}", f"{n / seconds:,.0f}", beside]


def _search(subject: Any, n: int, **options: Any) -> float:
    begun = time.perf_counter()
    domain = fairprobe.datasets.census_domain()
    fairprobe.search(subject, domain, max_cases=None, max_barren=None, max_inputs=n, **options)
    return time.perf_counter() - begun


def _halves(subject: Any, n: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        path.write_bytes(pickle.dumps(subject))
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", HALF, str(path), str(n // 2), str(seed)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for seed in (0, 1)
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
        client.run(_load)
        yield cluster.scheduler_address.replace("tcp", "dask")


def _load() -> None:
    import pandas  # noqa: F401
    import sklearn.ensemble  # noqa: F401

    import fairprobe  # noqa: F401


if __name__ == "__main__":
    main()
