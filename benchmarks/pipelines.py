"""Pipelines over the natural census, and boosters on its categories: what tables of their preprocessing give.

Searches with tables take turns with searches without (`accelerate="off"`), in one process and one thread; and, if
asked, with searches by another version, in a process of its own. Times are of the process's CPU, as others use the
machine too; the least of the turns counts, as what else it does can only add to that. "Last step" is what the last step
alone needs to predict the same rows in the same batches, without strategy, recorder and counting; "overhead" is the
search with tables over that.

    python benchmarks/pipelines.py [--models one-hot-logistic,lightgbm] [--cases 300000] [--turns 3] [--before OLD/src]

`asked` is what was asked for: how many times as many cases a second as before. Measured once, with 300,000 cases, 3
turns beside other work (boosters 2 turns; scikit-learn 1.9, pandas 3.1); before is 50ee6ab:

| model | cases/s: off | tables | tables / off | before | tables / before | asked |
|---|---:|---:|---:|---:|---:|---:|
| one-hot-logistic | 49,147 | 217,426 | 4.42 | 49,411 | 4.40 | 4 |
| one-hot-mlp | 40,974 | 160,660 | 3.92 | 47,809 | 3.36 | 3 |
| one-hot-tree | 58,750 | 202,920 | 3.45 | 65,820 | 3.08 | 3 |
| ordinal-boosting | 35,823 | 47,782 | 1.33 | 36,768 | 1.30 | 1.2 |
| lightgbm | 53,748 | 75,012 | 1.40 | 59,290 | 1.27 | 1.3 |
| xgboost | 45,859 | 57,163 | 1.25 | 51,000 | 1.12 | 1.3 |

To confirm a case takes two rows of the whole pipeline, 1.8 to 2.1 microseconds each on the frames of a result, about
1.6 where text is plain strings, which nothing can stand in for: of the 1.4 s of a logistic search, more than half.

Boosters are another matter: nearly all is their own `predict`. XGBoost's takes 3.2 of the 5.9 seconds of before.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # threads that wait would count as work
sys.path.append(str(Path(__file__).parents[1]))  # where evaluation/ is

import pandas as pd

import fairprobe
from _common import print_table
from evaluation.pipelines import PIPELINES, fitted_pipeline

ASKED = {
    "one-hot-logistic": 4,
    "one-hot-mlp": 3,
    "one-hot-tree": 3,
    "ordinal-boosting": 1.2,
    "lightgbm": 1.3,
    "xgboost": 1.3,
}
WAYS: dict[str, dict[str, Any]] = {"tables": {}, "off": {"accelerate": "off"}}


def main() -> None:
    """Print the table, or the seconds of one search by whichever version is there."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(ASKED))
    parser.add_argument("--cases", type=int, default=300_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--before", type=Path, metavar="OLD/src", help="another version, to compare with")
    parser.add_argument("--one-search", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one_search:
        print(seconds_of_one_search(options.models, options.cases))
        return
    header = ["model", "cases/s: off", "tables", "tables / off"]
    header += ["before", "tables / before"] if options.before else []
    header += ["asked", "last step", "overhead", "to confirm"]
    rows = (row(name, options.cases, options.turns, options.before) for name in options.models.split(","))
    print_table(header, rows)


def row(name: str, n_cases: int, turns: int, before: Path | None) -> list[object]:
    """One model."""
    from fairprobe.model.known import last_step
    from fairprobe.searching.shard import CONFIRM_ROWS

    model, domain = fitted(name)

    def found(how: str) -> fairprobe.Found:
        return fairprobe.search(model, domain, strategy="anchored", max_cases=n_cases, **WAYS[how])

    batches = list(batches_of(lambda: found("tables")))
    pairs = pd.concat([found("tables").cases, found("tables").twins])
    last = last_step(model)
    least: dict[str, float] = {}
    cases = {}

    def keep(what: str, seconds: float) -> None:
        least[what] = min(least.get(what, seconds), seconds)

    for _ in range(turns):
        for how in WAYS:
            begun = time.process_time()
            cases[how] = found(how).cases
            keep(how, time.process_time() - begun)
        begun = time.process_time()
        for batch in batches:
            last.predict(batch)
        keep("last", time.process_time() - begun)
        begun = time.process_time()
        for first in range(0, len(pairs), CONFIRM_ROWS):
            model.predict(pairs[first : first + CONFIRM_ROWS])
        keep("whole", time.process_time() - begun)
        if before is not None:
            keep("before", seconds_before(before, name, n_cases))
    assert cases["tables"].equals(cases["off"])
    rates = {how: f"{n_cases / seconds:,.0f}" for how, seconds in least.items()}

    def ratio(to: str) -> str:
        return f"{least[to] / least['tables']:.2f}"

    return [
        *(name, rates["off"], rates["tables"], ratio("off")),
        *([rates["before"], ratio("before")] if before is not None else []),
        *(ASKED[name], f"{least['last']:.2f}", f"{least['tables'] / least['last']:.2f}"),
        f"{least['whole']:.2f}",
    ]


def seconds_before(source: Path, name: str, n_cases: int) -> float:
    """What the same search takes by another version, in a process of its own."""
    command = [sys.executable, __file__, "--one-search", "--models", name, "--cases", str(n_cases)]
    environment = os.environ | {"PYTHONPATH": str(source.resolve())}
    return float(subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout)


def seconds_of_one_search(name: str, n_cases: int) -> float:
    """After a short one, with all imports and first calls."""
    model, domain = fitted(name)
    fairprobe.search(model, domain, strategy="anchored", max_cases=1000)
    begun = time.process_time()
    found = fairprobe.search(model, domain, strategy="anchored", max_cases=n_cases)
    seconds = time.process_time() - begun
    assert len(found.cases) == n_cases
    return seconds


def batches_of(run: Callable[[], object]) -> Iterator[Any]:
    """The batches that the last step is asked about in a run."""
    from fairprobe.standins import StandIn

    asked: list[Any] = []
    plain = StandIn.ask_families

    def record(self: StandIn, codes: Any) -> Any:
        asked.append((self.columns.form, codes))
        return plain(self, codes)

    with patch.object(StandIn, "ask_families", record):
        run()
    return (form.families(codes) for form, codes in asked)


def fitted(name: str) -> tuple[Any, fairprobe.Domain]:
    """A model, and the domain of its rows."""
    X, y = fairprobe.datasets.load_census(encoded=False)
    if name in PIPELINES:
        return fitted_pipeline(name), fairprobe.Domain.from_frame(X, ["sex"])
    text = [column for column in X if X[column].dtype.kind not in "if"]
    X = X.astype(dict.fromkeys(text, "category"))
    return booster(name).fit(X, (y == ">50K").astype(int)), fairprobe.Domain.from_frame(X, ["sex"])


def booster(name: str) -> Any:
    """In one thread, by default settings."""
    if name == "lightgbm":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_jobs=1, verbose=-1)
    from xgboost import XGBClassifier

    return XGBClassifier(n_jobs=1, enable_categorical=True)


if __name__ == "__main__":
    main()
