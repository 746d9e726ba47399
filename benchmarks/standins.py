"""The gain of each kind of stand-in, and of each trick in it: CPU time without it / CPU time with all of them.

Both run in turn in one process, so that they see the same machine; the median of the turns' ratios is printed, with
their range. A machine that others use shifts all times, but both alike: only the ratios mean anything. Times are of the
process's CPU, in one thread (set OPENBLAS_NUM_THREADS=1). What is timed: a search for 10,000 cases, one of 300,000
inputs, one by one walker (the paper's algorithm; 4,000 inputs, 3,000 on the forest of 100), the judgement by which
retraining chooses (50,000 inputs), and a retraining of two rounds (only by `--settings retrain`). libsvm would take
hours, so the SVM has 200 cases, 4,000 and 3,000 inputs, and 10,000 to judge.

    python benchmarks/standins.py [--models forest-100,svm] [--tricks stand-in] [--settings cases] [--turns 3]

What stays gives at least 1.5 times somewhere (2 or 3 turns; one of the forest's one walker and of retraining):

| model | cases: fully-directed, anchored | inputs | one walker | judgement |
|---|---:|---:|---:|---:|
| forest-100 | 1.61, 2.20 | 1.79, 1.52 | 15.1, 15.0 | 1.1 |
| random-forest | 1.46, 1.61 | 1.89, 1.49 | 8.7, 7.7 | 1.1 |
| ensemble | 2.19, 2.00 | 3.08, 1.45 | 9.2, 8.3 | 8.7 |
| svm | 5.9, 6.2 | | | 9.7 |
| svm, single precision | 1.21, 1.25 | 1.11 (20,000) | | 1.76 |
| svm, tiles | 1.19, 1.39 | 1.38 (20,000) | | 2.77 |
| decision-tree (a member of votes) | | not screened | not screened | 1.0 |

A retraining of the ensemble took as long without (0.97): it is fitting that takes its time.

What went, with its best median among the settings, each switched off alone in the code that had them all (1 to 7
turns): crowns with their cells and walks in step 1.07, walks in step alone 1.32, columns that share cells 1.07, cells
by code 1.09, leaves walked to only where they could decide 1.14, and in parts 1.15, settled votes left out 1.18 (1.24
without crowns), one walk a family 1.31, products in blocks 1.13 (1.35 in two threads). What twins of linear models and
networks share could not be switched off alone; the whole stand-in gave 1.21 at most where many inputs are asked about.

Linear models and networks gained only where one walker asked about single inputs (2.69 and 2.90), so theirs went.

Forests of two classes followed inputs from batch to batch, by the limits of the leaves that they came to. In the old
code that gave 1.72 (10,000 cases of forest-100, fully-directed), as else crowns were grown, and all the forest's tricks
together 1.69 and 1.74 (one turn) against its walks of that time. Against the plain walks of today it is less, and so it
went too: it alone 1.10 (cases, fully-directed), 0.84 (anchored), 1.45 (1.44-1.59; inputs, fully-directed), 1.24
(anchored) and 0.78 (one walker); all the old tricks together 1.23, 0.77, 1.42 (1.36-1.50) and 1.11. It is a near thing:
`random`, which is not among the settings, had 1.54 (1.37-1.57) with 300,000 inputs.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest.mock import patch

import fairprobe
from _common import model, print_table
from fairprobe.estimation.populations import Population
from fairprobe.retraining import judging
from fairprobe.standins import Screen, compile_stand_in, quick_asker, svm

MODELS = ("forest-100", "random-forest", "ensemble", "svm", "decision-tree")
STRATEGIES = ("fully-directed", "anchored")
ONE_WALKER = {"max_cases": None, "n_walkers": 1, "n_global": 2000, "n_local": 1000}

Run = Callable[..., object]
"""By default with a stand-in; with accelerate="off" without one."""


class InDouble(svm.RadialKernel):
    """A machine whose first scores are in double precision too."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._singles = self._columns, self._weights


TRICKS: dict[str, dict[str, Callable[[], Any]]] = {
    "svm": {
        "single precision": lambda: patch.object(svm, "RadialKernel", InDouble),
        "tiles": lambda: patch.multiple(svm, VECTORS=2**20, MULTIPLICATIONS=2**40),
    },
}
"""By model, what can be switched off by itself."""


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--tricks", default="")
    parser.add_argument("--settings", default="")
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    header = ["model", "setting", "without", "with it, s", "ratio", "spread"]
    print_table(header, _rows(options))


def _rows(options: argparse.Namespace) -> Iterator[list[object]]:
    for name in options.models.split(","):
        for setting, run in _settings(name, model(name)):
            if options.settings not in setting or (setting == "retrain" and not options.settings):
                continue
            switches: dict[str, Run] = {"stand-in": partial(run, accelerate="off")}
            switches |= {trick: partial(_without, switch, run) for trick, switch in TRICKS.get(name, {}).items()}
            for trick, without in switches.items():
                if options.tricks in trick:
                    yield [name, setting, trick, *_compared(run, without, options.turns)]


def _without(switch: Callable[[], Any], run: Run) -> None:
    with switch():
        run()


def _settings(name: str, subject: Any) -> Iterator[tuple[str, Run]]:
    """The runs that are timed for a model."""
    is_slow = name == "svm"
    search = partial(fairprobe.search, subject, fairprobe.datasets.census_domain())
    for strategy in STRATEGIES:
        yield f"cases, {strategy}", partial(search, strategy=strategy, max_cases=200 if is_slow else 10_000)
        n = 4000 if is_slow else 300_000
        yield f"inputs, {strategy}", partial(search, strategy=strategy, max_cases=None, max_inputs=n)
        n = 3000 if name in ("svm", "forest-100") else 4000
        yield f"one walker, {strategy}", partial(search, strategy=strategy, max_inputs=n, **ONE_WALKER)
    yield "judgement", partial(_judge, subject, 10_000 if is_slow else 50_000)
    if not is_slow:
        yield "retrain", partial(_retrain, subject)


def _judge(subject: Any, n: int, accelerate: str = "auto") -> None:
    """Judge inputs of the domain as retraining does, but with a stand-in for any kind of model."""
    domain = fairprobe.datasets.census_domain()
    target = Population(subject, domain, "domain", None, "label", None)
    stand_in = compile_stand_in(subject, domain)
    if accelerate == "auto" and stand_in is not None:
        target.oracle.asker = Screen(target.oracle.asker, stand_in)
    with target.oracle.asker.quiet():
        for _ in target.families(n, 0):
            pass


def _retrain(subject: Any, accelerate: str = "auto") -> None:
    X, y = fairprobe.datasets.load_census()
    with patch.object(judging, "quick_asker", quick_asker if accelerate == "auto" else _the_asker):
        fairprobe.retrain(
            subject, X.to_numpy(), y, fairprobe.datasets.census_domain(),
            controls=False, max_seconds=None, max_rounds=2, search_seconds=None,
        )  # fmt: skip


def _the_asker(model: Any, asker: Any) -> Any:
    return asker


def _compared(run: Run, without: Run, n: int) -> list[str]:
    """With and without in turn: median seconds with it, the median of the ratios, their range."""
    pairs = [(_seconds(run), _seconds(without)) for _ in range(n)]
    ratios = sorted(off / on for on, off in pairs)
    with_it = statistics.median(on for on, _ in pairs)
    return [f"{with_it:.2f}", f"{statistics.median(ratios):.2f}", f"{ratios[0]:.2f}-{ratios[-1]:.2f}"]


def _seconds(run: Run) -> float:
    begun = time.process_time()
    run()
    return time.process_time() - begun


if __name__ == "__main__":
    main()
