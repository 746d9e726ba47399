"""Growth: time and memory for 10,000, 100,000 and 1,000,000 distinct cases of the decision tree, median of 7 seeds.

Each size runs in a process of its own; its peak of memory, both frames of the result included, is the first seed's.

    python benchmarks/growth.py
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys

import fairprobe
from _common import model, print_table

SIZES = (10_000, 100_000, 1_000_000)
N_SEEDS = 7


def main() -> None:
    """Print the table; with a number, run that size."""
    if len(sys.argv) > 1:
        _run(int(sys.argv[1]))
        return
    rows: list[tuple[int, float, float, int, str]] = []
    for size in SIZES:
        seconds, megabytes, found = map(float, _measured(size))
        factor = f"{seconds / rows[-1][1]:.1f}" if rows else ""
        rows.append((size, seconds, megabytes, int(found), factor))
    print_table(
        ["cases", "seconds", "peak memory, MB", "found", "times the time before (limit 12)"],
        [[f"{size:,}", f"{s:.3f}", f"{mb:.0f}", f"{found:,}", factor] for size, s, mb, found, factor in rows],
    )


def _measured(size: int) -> list[str]:
    command = [sys.executable, __file__, str(size)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def _run(size: int) -> None:
    subject, domain = model("decision-tree"), fairprobe.datasets.census_domain()
    fairprobe.search(subject, domain, max_cases=1000)  # warm up
    seconds, megabytes = [], 0.0
    for seed in range(N_SEEDS):
        found = fairprobe.search(subject, domain, max_cases=size, seed=seed)
        seconds.append(found.seconds)
        n_cases = found.n_cases
        assert len(found.cases) == len(found.twins) == n_cases
        megabytes = megabytes or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        del found
    print(statistics.median(seconds), megabytes, n_cases)


if __name__ == "__main__":
    main()
