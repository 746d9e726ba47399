"""Two versions of the package, side by side: the same cases from the same seed, and at what cost.

    python benchmarks/before_after.py OLD/src NEW/src [--turns 5] [--only svm] [--keep digests.json]

Each turn is a process of each version, one after the other, that does everything once; seconds are those of the
processor, as others use the machine too. A ratio is the median over turns of new / old, with its range. Digests are of
cases, twins, gaps and counts: they must be the same, on one machine (fitted models differ between machines).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

MODELS = ("decision-tree", "fair-svm", "mlp", "random-forest", "ensemble", "forest-100", "svm")
STRATEGIES = ("fully-directed", "anchored")
LIMITS: dict[str, dict[str, Any]] = {
    "10,000 cases": {"max_cases": 10_000, "max_inputs": 1_000_000},
    "300,000 inputs": {"max_cases": None, "max_inputs": 300_000},
}
FEW_OF_THE_SVM: dict[str, Any] = {"max_inputs": 60_000}


def main() -> None:
    """Print the table, or do one turn of one version."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*", type=Path)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", default="", help="tasks whose name holds this")
    parser.add_argument("--keep", type=Path, help="write the old version's digests here")
    parser.add_argument("--one-turn", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one_turn:
        for name, task in _tasks(options.only):
            print(json.dumps([name, *_measured(task)]), flush=True)
        return
    old, new = options.sources
    turns = [(_turn(old, options.only), _turn(new, options.only)) for _ in range(options.turns)]
    if options.keep:
        options.keep.write_text(
            json.dumps({name: digest for name, (_, digest) in turns[0][0].items()}, indent=1) + "\n"
        )
    _print(turns)


def _turn(source: Path, only: str) -> dict[str, tuple[float, str]]:
    command = [sys.executable, __file__, "--one-turn", "--only", only]
    environment = os.environ | {
        "PYTHONPATH": str(source.resolve()),
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return {name: (seconds, digest) for name, seconds, digest in map(json.loads, done.stdout.splitlines())}


def _print(turns: list[tuple[dict[str, tuple[float, str]], dict[str, tuple[float, str]]]]) -> None:
    from _common import print_table

    rows = []
    for name in turns[0][0]:
        ratios = sorted(new[name][0] / old[name][0] for old, new in turns)
        digests = {version[name][1] for turn in turns for version in turn}
        rows.append(
            [
                name,
                f"{statistics.median(old[name][0] for old, _ in turns):.3f}",
                f"{statistics.median(ratios):.2f}",
                f"{ratios[0]:.2f}-{ratios[-1]:.2f}",
                "same" if len(digests) == 1 else "DIFFERENT",
            ]
        )
    print_table(["", "old, s", "new / old", "range", "result"], rows)


# One turn


def _tasks(only: str) -> Iterator[tuple[str, Callable[[], str]]]:
    import fairprobe
    from _common import model

    domain = fairprobe.datasets.census_domain()
    for name in MODELS:
        wanted = [
            (f"{name}, {strategy}, {limit}", strategy, settings)
            for strategy in STRATEGIES
            for limit, settings in LIMITS.items()
            if only in f"{name}, {strategy}, {limit}"
        ]
        subject = model(name) if wanted else None
        for title, strategy, settings in wanted:
            few = FEW_OF_THE_SVM if name == "svm" else {}
            yield title, partial(_search, subject, domain, strategy=strategy, **{**settings, **few})
    for title, task in (("estimate of the tree", _estimate), ("retraining of the tree", _retrain)):
        if only in title:
            yield title, partial(task, model("decision-tree"), domain)


def _measured(task: Callable[[], str]) -> tuple[float, str]:
    begun = time.process_time()
    digest = task()
    return time.process_time() - begun, digest


def _search(subject: Any, domain: Any, **settings: Any) -> str:
    import fairprobe

    found = fairprobe.search(subject, domain, seed=0, **settings)
    return _digest(found.to_frame().to_csv(), found.n_cases, found.n_inputs, found.n_judged)


def _estimate(tree: Any, domain: Any) -> str:
    import fairprobe

    shares = [fairprobe.estimate(tree, domain, seed=0, method=method) for method in ("sample", "exact")]
    return _digest(*[(share.hits, share.n, share.low, share.high) for share in shares])


def _retrain(tree: Any, domain: Any) -> str:
    import fairprobe

    X, y = fairprobe.datasets.load_census()
    better = fairprobe.retrain(tree, X, y, domain, augment=["twins", "flip"], max_rounds=3, seed=0)
    shares = [(share.hits, share.n) for share in (*better.before.values(), *better.after.values())]
    return _digest(shares, better.accuracy_before, better.accuracy_after, len(better.rounds))


def _digest(*content: object) -> str:
    return hashlib.sha256(repr(content).encode()).hexdigest()[:16]


if __name__ == "__main__":
    main()
