"""How much faster compiled twins are: the time of asking the model / the time of asking its compiled twins.

Both score the same inputs and all their twins, batch by batch in turn, so that both see the same machine. `uniform`
inputs are drawn from the domain; `walkers` are those that a fully-directed search asks about, which lie closer to where
the label changes. A search asks about 1,000 inputs at a time. Compiling is timed with the first batch.

    python benchmarks/accelerate.py
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fairprobe
from _common import model, print_table, recorded
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

TURNS = 15
Codes = NDArray[np.int64]


def main() -> None:
    """Print the table."""
    header = ["model", "inputs", "at a time", "model, ms", "twins, ms", "ratio", "spread", "goal", "compiled in, ms"]
    print_table(header, (row for name in GOALS for row in _rows(name)))


def _rows(name: str) -> list[list[object]]:
    subject, domain = model(name), fairprobe.datasets.census_domain()
    asker = Asker(subject, domain)
    n_turns = 3 if name == "svm" else TURNS
    begun = time.perf_counter()
    twins = compile_twins(subject, domain)
    assert twins is not None
    twins.ask_families(_uniform(domain, 1, 1)[0])
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
    """Every third batch of a search: new inputs each time, as the processor would learn those it saw before."""
    batches = recorded(subject, lambda: fairprobe.search(subject, domain, max_cases=None, max_inputs=60_000))
    whole = [np.asarray(batch, dtype=np.float64)[:1000] for batch in batches if len(batch) == 2000]
    return [domain.encode(rows) for rows in whole[::3]]


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
