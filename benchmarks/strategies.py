"""Strategies against each other: at equal judged inputs, at equal queries and at equal seconds, over many seeds.

    python benchmarks/strategies.py [--seeds 20] [--subjects mlp,svm] [--budgets inputs,queries] [--out folder]

Writes a JSON and a figure for each subject (cases over inputs generated, as the paper's figure of effectiveness), and
strategies.md about all subjects whose JSON is there. What is in a JSON already is not run again, so that an interrupted
run goes on where it stopped, and subjects can be run side by side. Strategies take turns, seed by seed, so that all see
the same machine.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import fairprobe
from _common import model
from fairprobe.estimate.plot import svg_panels

Runs = list[dict[str, Any]]

SUBJECTS = (*fairprobe.subjects.names(), "forest-100")
STRATEGIES = ("uniform", "random", "semi-directed", "fully-directed", "genetic", "anchored", "guided")
RIVALS = ("fully-directed", "genetic")
BUDGETS: dict[str, dict[str, Any]] = {
    "inputs": {"max_inputs": 100_000},
    "queries": {"max_queries": 200_000},
    "seconds": {"max_seconds": 1.0},
}
SLOW: dict[str, dict[str, Any]] = {
    "inputs": {"max_inputs": 20_000, "accelerate": "auto"},
    "queries": {"max_queries": 20_000, "n_global": 2_000},
    "seconds": {"max_seconds": 5.0, "n_global": 2_000},
}
"""Of the SVM: libsvm answers some 3,000 rows a second."""

N_REFERENCES = {"svm": 20_000}
"""Uniform inputs whose cases recall is about; 100,000 for the others."""

NOTES = """Medians over seeds. Yield measures a search, never a model. Recall, of the cases that independent uniform
sampling finds, and the mean pairwise Hamming distance (of 12) say how widely the cases are spread; so do the cells of a
coarse grid and, for trees, the combinations of leaves that the cases fall into.

A strategy is compared with `fully-directed` and with `genetic` by its distinct cases: the probability that it finds
more in one run than the other does (a half if they are alike), and the p of Mann-Whitney's test, not adjusted for the
number of comparisons. `guided` also asks for scores, which are queries too: on most models twice as many.

Searches are not accelerated, but for the SVM's at equal inputs, which would take hours; what is found is the same. The
SVM's budgets are smaller: 20,000 inputs (others 100,000), 20,000 queries (200,000), 5 seconds (1). A global round is
5,000 inputs, for the SVM at equal queries and seconds 2,000. Strategies took turns, seed by seed, so their seconds can
be compared; those of different subjects cannot, as the machine did other work too."""


def main() -> None:
    """Run what is missing and write everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--subjects", default=",".join(SUBJECTS))
    parser.add_argument("--strategies", default=",".join(STRATEGIES))
    parser.add_argument("--budgets", default=",".join(BUDGETS))
    parser.add_argument("--out", type=Path, default=Path())
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    strategies, budgets = options.strategies.split(","), options.budgets.split(",")
    for name in options.subjects.split(","):
        file, runs = _file(options.out, name), kept(options.out, name)
        for _ in _missing(runs, name, itertools.product(budgets, range(options.seeds), strategies)):
            _keep(runs, file)
        _draw(runs, name, file.with_suffix(".svg"))
    (options.out / "strategies.md").write_text(page(options.out))
    print(f"{options.out / 'strategies.md'} is written")


def page(folder: Path) -> str:
    """The page about all runs that a folder holds."""
    return _page({name: runs for name in SUBJECTS if (runs := kept(folder, name))})


def kept(folder: Path, name: str) -> Runs:
    """The runs on a subject so far."""
    file = _file(folder, name)
    runs: Runs = json.loads(file.read_text()) if file.exists() else []
    return runs


def _file(folder: Path, name: str) -> Path:
    return folder / f"strategies-{name}.json"


def _missing(runs: Runs, name: str, wanted: Iterable[tuple[str, int, str]]) -> Iterator[None]:
    """Add the runs that are not there yet, one by one."""
    there = {(run["budget"], run["seed"], run["strategy"]) for run in runs}
    missing = [run for run in wanted if run not in there]
    subject = model(name) if missing else None
    for budget, seed, strategy in missing:
        runs.append(_run(name, subject, budget, strategy, seed))
        yield


def _keep(runs: Runs, file: Path) -> None:
    """One run a line; the file is always whole."""
    part = file.with_suffix(".part")
    part.write_text("[\n" + ",\n".join(map(json.dumps, runs)) + "\n]\n")
    part.replace(file)


def _run(name: str, subject: Any, budget: str, strategy: str, seed: int) -> dict[str, Any]:
    domain = fairprobe.datasets.census_domain()
    limits = {"accelerate": "off", **(SLOW if name == "svm" else BUDGETS)[budget]}
    found = fairprobe.search(subject, domain, strategy=strategy, max_cases=None, seed=seed, **limits)
    spread = found.coverage(subject, n=N_REFERENCES.get(name, 100_000))
    run: dict[str, Any] = {
        "budget": budget,
        "seed": seed,
        "strategy": strategy,
        "cases": found.n_cases,
        "yield": found.yield_,
        "queries": found.n_queries,
        "seconds": found.seconds,
        "recall": spread.recall,
        "hamming": spread.hamming,
        "cells": spread.cells,
        "leaves": spread.leaves,
    }
    if budget == "inputs" and seed == 0:
        run["curve"] = _curve(found)
    return {key: round(value, 6) if isinstance(value, float) else value for key, value in run.items()}


def _curve(found: Any) -> list[list[int]]:
    """Distinct cases after so many inputs judged, at a hundred points."""
    import numpy as np

    offsets = np.sort(found._cases.offsets)  # one shard, so that offsets count the inputs of the run
    at = np.linspace(0, found.n_judged, 101).astype(int)
    return [at.tolist(), np.searchsorted(offsets, at).tolist()]


def _page(results: dict[str, Runs]) -> str:
    most = "Which strategy found the most, how many times the cases of `fully-directed`, and its recall."
    parts = ["# Strategies against each other", NOTES, "## Most cases", most, _best(results)]
    for budget in BUDGETS:
        parts += [f"## At equal {budget}", _table(results, budget)]
    figures = [f"![{name}: cases over inputs generated](strategies-{name}.svg)" for name in results]
    return "\n\n".join([*parts, "## Cases over inputs generated", *figures]) + "\n"


def _best(results: dict[str, Runs]) -> str:
    """By subject and budget the strategy that finds the most, how many times as many, and its recall."""
    rows = [[name, *(_most(_by_strategy(runs, budget)) for budget in BUDGETS)] for name, runs in results.items()]
    return _markdown(["subject", *(f"at equal {budget}" for budget in BUDGETS)], rows)


def _most(by_strategy: dict[str, Runs]) -> str:
    usual = by_strategy["fully-directed"]
    if not usual:
        return ""
    best = max(by_strategy, key=lambda strategy: _median(by_strategy[strategy], "cases"))
    times = _median(by_strategy[best], "cases") / _median(usual, "cases")
    return f"{best}: {times:.1f} times, recall {_formatted(by_strategy[best], 'recall', '.0%')}"


HEADER = (
    "subject",
    "strategy",
    "seeds",
    "cases",
    "yield",
    "cases/s",
    "queries/case",
    "recall",
    "hamming",
    "cells",
    "leaves",
    "against fully-directed",
    "against genetic",
)


def _table(results: dict[str, Runs], budget: str) -> str:
    by_subject = {name: _by_strategy(runs, budget) for name, runs in results.items()}
    rows = [
        [name, strategy, *_row(runs, rivals)]
        for name, rivals in by_subject.items()
        for strategy, runs in rivals.items()
        if runs
    ]
    return _markdown(HEADER, rows)


def _by_strategy(runs: Runs, budget: str) -> dict[str, Runs]:
    some = [run for run in runs if run["budget"] == budget]
    return {strategy: [run for run in some if run["strategy"] == strategy] for strategy in STRATEGIES}


def _markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in [header, ["---"] * len(header), *rows])


def _row(runs: Runs, rivals: dict[str, Runs]) -> list[str]:
    per_second = [run["cases"] / run["seconds"] for run in runs if run["seconds"]]
    per_case = [run["queries"] / run["cases"] for run in runs if run["cases"]]
    return [
        str(len(runs)),
        f"{_median(runs, 'cases'):,.0f}",
        f"{_median(runs, 'yield'):.1%}",
        f"{statistics.median(per_second):,.0f}" if per_second else "",
        f"{statistics.median(per_case):.2f}" if per_case else "",
        *(_formatted(runs, key, form) for key, form in (("recall", ".1%"), ("hamming", ".2f"))),
        *(_formatted(runs, key, ",.0f") for key in ("cells", "leaves")),
        *(_against(runs, rivals[rival]) for rival in RIVALS),
    ]


def _median(runs: Runs, key: str) -> float:
    return statistics.median(run[key] or 0.0 for run in runs) if runs else 0.0


def _formatted(runs: Runs, key: str, form: str) -> str:
    return "" if runs[0].get(key) is None else format(_median(runs, key), form)


def _against(runs: Runs, rival: Runs) -> str:
    """The probability of more cases, and Mann-Whitney's p."""
    if not rival or rival is runs:
        return ""
    from scipy.stats import mannwhitneyu

    ours, theirs = ([run["cases"] for run in each] for each in (runs, rival))
    test = mannwhitneyu(ours, theirs, alternative="two-sided")
    return f"{test.statistic / (len(ours) * len(theirs)):.2f} (p = {test.pvalue:.1g})"


def _draw(runs: Runs, name: str, path: Path) -> None:
    """Cases over inputs generated, a line a strategy."""
    curves = {run["strategy"]: run["curve"] for run in runs if "curve" in run}
    with svg_panels(path, 6.4, 4) as [axes]:
        for strategy, (inputs, cases) in curves.items():
            axes.plot(inputs, cases, label=strategy, linewidth=1.6)
        axes.set_xlabel("inputs generated")
        axes.set_ylabel("distinct cases")
        axes.set_title(f"{name}, seed 0", loc="left", fontsize=10)
        axes.legend(frameon=False, fontsize=8)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:,.0f}")
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)


if __name__ == "__main__":
    main()
