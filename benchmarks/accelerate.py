"""How much faster compiled twins are: the time of asking the model / the time of asking its compiled twins.

Both score the same inputs and all their twins, batch by batch in turn, so that both see the same machine. `uniform`
inputs are drawn from the domain; `walkers` are those that a fully-directed search asks about, which lie closer to where
the label changes. A search asks about 1,000 inputs at a time. Compiling is timed with the first batch.

With `--searches`, what a search gains by them: the time to 10,000 distinct cases with accelerate="auto" / with "off",
in turn. The more of its inputs are cases, the more is left for the model to confirm.

    python benchmarks/accelerate.py [--searches] [--strategy random] [--models forest-100,random-forest]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fairprobe
from _common import model, print_table, recorded, turns
from fairprobe.accelerate import Twins, agrees, compile_twins
from fairprobe.domain import Domain
from fairprobe.model import Asker

GOALS = {
    "svm": 10.0,
    "forest-100": 4.0,
    "random-forest": 3.0,
    "ensemble": 3.0,
    "mlp": 1.0,
    "decision-tree": 1.0,
    "fair-svm": 1.0,
}
"""At 1,000 uniform inputs."""

SEARCH_GOALS = {"forest-100": 0.5, "random-forest": 1.0, "ensemble": 1.0, "svm": 0.2}
"""At most."""

TURNS = 15
WARM = 10_000
"""Inputs asked about first: a forest is only compiled in full when many come."""

Codes = NDArray[np.int64]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--searches", action="store_true")
    parser.add_argument("--strategy", default="fully-directed")
    parser.add_argument("--models")
    options = parser.parse_args()
    names = options.models.split(",") if options.models else list(SEARCH_GOALS if options.searches else GOALS)
    if options.searches:
        header = ["model", "auto, s", "off, s", "ratio", "spread", "goal"]
        print_table(header, (_search_row(name, options.strategy) for name in names))
        return
    header = ["model", "inputs", "at a time", "model, ms", "twins, ms", "ratio", "spread", "goal", "compiled in, ms"]
    print_table(header, (row for name in names for row in _rows(name)))


def _search_row(name: str, strategy: str) -> list[object]:
    search = partial(fairprobe.search, model(name), fairprobe.datasets.census_domain(), strategy=strategy)
    n_turns = 1 if name == "svm" else TURNS  # without acceleration it takes minutes
    measured = turns(lambda: search(accelerate="auto"), lambda: search(accelerate="off"), n_turns)
    return [name, *measured, SEARCH_GOALS.get(name, "")]


def _rows(name: str) -> list[list[object]]:
    subject, domain = model(name), fairprobe.datasets.census_domain()
    asker = Asker(subject, domain)
    n_turns = 3 if name == "svm" else TURNS
    begun = time.perf_counter()
    twins = compile_twins(subject, domain)
    assert twins is not None
    twins.ask_families(_uniform(domain, WARM, 1)[0])
    compiled = f"{1000 * (time.perf_counter() - begun):.0f}"
    batches = {("uniform", 1000): _uniform(domain, 1000, n_turns), ("uniform", 10_000): _uniform(domain, 10_000, 7)}
    if name == "svm":
        del batches["uniform", 10_000]  # the model would take ten seconds a batch
    else:
        batches["walkers", 1000] = _walkers(subject, domain)[:n_turns]
    return [
        [
            name,
            kind,
            f"{n:,}",
            *_turns(asker, twins, some),
            GOALS[name] if (kind, n) == ("uniform", 1000) else "",
            compiled,
        ]
        for (kind, n), some in batches.items()
    ]


def _uniform(domain: Domain, n: int, n_batches: int) -> list[Codes]:
    return [domain.sample_codes(n, np.random.default_rng(seed)) for seed in range(n_batches)]


def _walkers(subject: Any, domain: Domain) -> list[Codes]:
    """The batches of a search, in order."""
    batches = recorded(subject, lambda: fairprobe.search(subject, domain, max_cases=None, max_inputs=60_000))
    whole = [np.asarray(batch, dtype=np.float64)[:1000] for batch in batches if len(batch) == 2000]
    return [domain.encode(rows) for rows in whole]


def _turns(asker: Asker, twins: Twins, batches: Sequence[Codes]) -> list[str]:
    with asker.quiet():
        pairs = [(_ms(asker.ask_families, codes), _ms(twins.ask_families, codes)) for codes in batches]
    assert agrees(twins, asker, batches[0])
    ratios = sorted(theirs / ours for theirs, ours in pairs)
    medians = [f"{statistics.median(column):.2f}" for column in zip(*pairs, strict=True)]
    return [*medians, f"{statistics.median(ratios):.1f}", f"{ratios[0]:.1f}-{ratios[-1]:.1f}"]


def _ms(ask: Callable[[Codes], object], codes: Codes) -> float:
    begun = time.perf_counter()
    ask(codes)
    return 1000 * (time.perf_counter() - begun)


if __name__ == "__main__":
    main()
