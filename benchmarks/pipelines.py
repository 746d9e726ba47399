"""Searches of pipelines and boosters over the natural census: with tables of the preprocessing, without, and before.

    python benchmarks/pipelines.py [--models one-hot-logistic,lightgbm] [--cases 300000] [--turns 3] [--before OLD/src]

Searches of two versions take turns, each in a process of its own with one thread. Seconds are those of the processor,
as others use the machine too; the least of the turns counts, as other work can only add to it. "off" is the search
without anything that stands in for the model (`accelerate="off"`). Models whose packages are missing are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # threads that wait would count as work
sys.path.append(str(Path(__file__).parents[1]))  # where evaluation/ is

MODELS = ("one-hot-logistic", "one-hot-mlp", "one-hot-tree", "ordinal-boosting", "lightgbm", "xgboost")
WAYS: dict[str, dict[str, Any]] = {"all": {}, "off": {"accelerate": "off"}}
HERE = Path(__file__).parents[1] / "src"


def main() -> None:
    """Print the table, or the seconds of one search by whichever version is there."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--cases", type=int, default=300_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--before", type=Path, metavar="OLD/src", help="another version, to compare with")
    parser.add_argument("--one-turn", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one_turn:
        print(json.dumps(one_turn(options.models, options.cases)))
        return
    from _common import print_table

    header = [
        "model",
        "cases/s",
        "cases/s: off",
        "all / off",
        *(["new / before, s", "cases"] if options.before else []),
    ]
    names = [name for name in options.models.split(",") if name not in ("lightgbm", "xgboost") or find_spec(name)]
    print_table(header, (row(name, options) for name in names))


def row(name: str, options: argparse.Namespace) -> list[object]:
    """One model."""
    versions = [HERE, *([options.before] if options.before else [])]
    turns = [[measured(source, name, options.cases) for source in versions] for _ in range(options.turns)]
    least = [{way: min(turn[version][0][way] for turn in turns) for way in WAYS} for version in range(len(versions))]
    cases = {turn[version][1] for turn in turns for version in range(len(versions))}
    rates = [f"{options.cases / least[0][way]:,.0f}" for way in WAYS]
    beside = [f"{least[0]['all'] / least[1]['all']:.2f}", "same" if len(cases) == 1 else "DIFFERENT"]
    return [name, *rates, f"{least[0]['off'] / least[0]['all']:.2f}", *(beside if options.before else [])]


def measured(source: Path, name: str, n_cases: int) -> tuple[dict[str, float], str]:
    """Seconds by way of searching, and a digest of the cases, of one version in a process of its own."""
    command = [sys.executable, __file__, "--one-turn", "--models", name, "--cases", str(n_cases)]
    environment = os.environ | {"PYTHONPATH": str(source.resolve())}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    seconds, digest = json.loads(done.stdout)
    return seconds, digest


def one_turn(name: str, n_cases: int) -> tuple[dict[str, float], str]:
    """All ways of one search, after a short one with all imports and first calls."""
    import pandas as pd

    import fairprobe

    model, domain = fitted(name)
    fairprobe.search(model, domain, strategy="anchored", max_cases=1000)
    seconds, digests = {}, set()
    for way, settings in WAYS.items():
        begun = time.process_time()
        found = fairprobe.search(model, domain, strategy="anchored", max_cases=n_cases, **settings)
        seconds[way] = time.process_time() - begun
        assert len(found.cases) == n_cases
        digests.add(f"{pd.util.hash_pandas_object(found.cases.astype(str)).sum():x}")
    assert len(digests) == 1, "a search finds the same cases with tables and without"
    return seconds, digests.pop()


def fitted(name: str) -> tuple[Any, Any]:
    """A model, and the domain of its rows."""
    import fairprobe
    from evaluation.pipelines import PIPELINES, fitted_pipeline

    X, y = fairprobe.datasets.load_census(encoded=False)
    if name in PIPELINES:
        return fitted_pipeline(name), fairprobe.Domain.from_frame(X, ["sex"])
    text = [column for column in X if X[column].dtype.kind not in "if"]
    X = X.astype(dict.fromkeys(text, "category"))
    return booster(name).fit(X, (y == ">50K").astype(int)), fairprobe.Domain.from_frame(X, ["sex"])


def booster(name: str) -> Any:
    """A gradient-boosting model in one thread, with default settings."""
    if name == "lightgbm":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_jobs=1, verbose=-1)
    from xgboost import XGBClassifier

    return XGBClassifier(n_jobs=1, enable_categorical=True)


if __name__ == "__main__":
    main()
