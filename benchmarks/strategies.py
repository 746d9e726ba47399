"""Strategies against each other: at equal judged inputs, at equal queries and at equal seconds, over many seeds.

    python benchmarks/strategies.py [--seeds 20] [--subjects mlp,svm] [--strategies anchored,guided] [--out folder]

Writes strategies.json, strategies.md and a figure for each subject (cases over inputs generated, as the paper's figure
of effectiveness). What is in the JSON already is not run again, so that an interrupted run goes on where it stopped.

Figures are without acceleration, but for the SVM at equal inputs: it would take hours, and what is found is the same.
A strategy is compared with `fully-directed` and with `genetic` by the number of distinct cases: Mann-Whitney's test,
and the probability that it finds more in one run than the other does (a half if they are alike).
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import fairprobe
from _common import model
from fairprobe.estimate.plot import svg_panels

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
    "queries": {"max_queries": 10_000},
    "seconds": {"max_seconds": 2.0},
}
"""Of the SVM: libsvm answers some 2,500 rows a second."""

N_REFERENCES = {"svm": 20_000}
"""Uniform inputs whose cases recall is about; 100,000 for the others."""


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
    file = options.out / "strategies.json"
    results: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    for name in options.subjects.split(","):
        subject = model(name)
        for budget in options.budgets.split(","):
            for strategy in options.strategies.split(","):
                runs = results.setdefault(name, {}).setdefault(budget, {}).setdefault(strategy, [])
                for seed in range(len(runs), options.seeds):
                    runs.append(_run(name, subject, budget, strategy, seed))
                file.write_text(json.dumps(results))
        _draw(results[name], name, options.out / f"strategies-{name}.svg")
    page = _page(results)
    (options.out / "strategies.md").write_text(page)
    print(page)


def _run(name: str, subject: Any, budget: str, strategy: str, seed: int) -> dict[str, Any]:
    domain = fairprobe.datasets.census_domain()
    limits = {"accelerate": "off", **(SLOW if name == "svm" else BUDGETS)[budget]}
    found = fairprobe.search(subject, domain, strategy=strategy, max_cases=None, seed=seed, **limits)
    run: dict[str, Any] = {
        "cases": found.n_cases,
        "yield": found.yield_,
        "judged": found.n_judged,
        "queries": found.n_queries,
        "seconds": found.seconds,
    }
    if budget != "seconds":
        spread = found.coverage(subject, n=N_REFERENCES.get(name, 100_000))
        run |= {"recall": spread.recall, "hamming": spread.hamming, "cells": spread.cells, "leaves": spread.leaves}
    if budget == "inputs" and seed == 0:
        run["curve"] = _curve(found)
    return run


def _curve(found: Any) -> list[list[int]]:
    """Distinct cases after so many inputs judged, at a hundred points."""
    import numpy as np

    offsets = np.sort(found._cases.offsets)  # one shard, so that offsets count the inputs of the run
    at = np.linspace(0, found.n_judged, 101).astype(int)
    return [at.tolist(), np.searchsorted(offsets, at).tolist()]


def _page(results: dict[str, Any]) -> str:
    parts = ["# Strategies", "Medians over seeds. Yield measures a search, never a model."]
    for budget in BUDGETS:
        parts += [f"## At equal {budget}", _table(results, budget)]
    return "\n\n".join(parts) + "\n"


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


def _table(results: dict[str, Any], budget: str) -> str:
    rows = [
        [name, strategy, *_row(runs, budgets[budget])]
        for name, budgets in results.items()
        for strategy, runs in budgets.get(budget, {}).items()
        if runs
    ]
    lines = [HEADER, ["---"] * len(HEADER), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def _row(runs: list[dict[str, Any]], rivals: dict[str, list[dict[str, Any]]]) -> list[str]:
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
        *(_against(runs, rivals.get(rival, [])) for rival in RIVALS),
    ]


def _median(runs: Sequence[dict[str, Any]], key: str) -> float:
    return statistics.median(run[key] or 0.0 for run in runs)


def _formatted(runs: Sequence[dict[str, Any]], key: str, form: str) -> str:
    return "" if runs[0].get(key) is None else format(_median(runs, key), form)


def _against(runs: list[dict[str, Any]], rival: list[dict[str, Any]]) -> str:
    """The probability of more cases, and Mann-Whitney's p."""
    if not rival or rival is runs:
        return ""
    from scipy.stats import mannwhitneyu

    ours, theirs = ([run["cases"] for run in each] for each in (runs, rival))
    test = mannwhitneyu(ours, theirs, alternative="two-sided")
    return f"{test.statistic / (len(ours) * len(theirs)):.2f} (p = {test.pvalue:.1g})"


def _draw(results: dict[str, Any], name: str, path: Path) -> None:
    """Cases over inputs generated, a line a strategy."""
    curves = {strategy: runs[0]["curve"] for strategy, runs in results.get("inputs", {}).items() if runs}
    with svg_panels(path, 6.4, 4) as [axes]:
        for strategy, (inputs, cases) in curves.items():
            axes.plot(inputs, cases, label=strategy, linewidth=1.6)
        axes.set_xlabel("inputs generated")
        axes.set_ylabel("distinct cases")
        axes.set_title(f"{name}, seed 0", loc="left", fontsize=10)
        axes.legend(frameon=False, fontsize=8)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)


if __name__ == "__main__":
    main()
