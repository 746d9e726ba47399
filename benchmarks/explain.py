"""Explanations: planted regions found again, regions of census models against a tree, and how long it takes.

    python benchmarks/explain.py [--only planted,census,time] [--seeds 20]

`planted`: F1 of the regions against the planted ones, by volume, and how many there are, over seeds. Asked: a median of
0.95, none below 0.85, at most twice as many.

`census`: with inputs drawn from a density, at most ten regions; the part of 100,000 fresh cases' inputs that they cover
(asked: 80%), and their precision over that of a tree of ten leaves, fitted to 200,000 other judged inputs, at the same
coverage (asked: 0.9; the tree's leaves are taken by their precision, the last one in part).

`time`: `explain` of 10,000 cases with rows and labels, seconds and those of the processor (asked: under 30).
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Iterator
from typing import Any

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import numpy as np
from sklearn.tree import DecisionTreeClassifier

import fairprobe
from _common import model, print_table
from fairprobe.model.asking import Asker
from fairprobe.oracle import Oracle
from pipelines import fitted
from planted_regions import PLANTED, planted_regions

MODELS = ("decision-tree", "random-forest", "boosting")
N_FRESH, N_TREE = 100_000, 200_000


def main() -> None:
    """Print the tables."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="planted,census,time")
    parser.add_argument("--seeds", type=int, default=20)
    options = parser.parse_args()
    parts = options.only.split(",")
    if "planted" in parts:
        header = ["planted", "F1: median", "least", "regions: planted", "most", "seconds"]
        print_table(header, (planted(name, options.seeds) for name in PLANTED))
    if "census" in parts:
        print_table(["model", "regions", "coverage", "precision", "of the tree", "ratio"], map(census, MODELS))
    if "time" in parts:
        print_table(["model", "cases", "seconds", "processor", "queries"], timed())


def planted(name: str, n_seeds: int) -> list[object]:
    """One kind of regions, over seeds."""
    scores, counts, n_true, begun = list[float](), list[int](), 0, time.process_time()
    for seed in range(n_seeds):
        toy = planted_regions(name, seed)
        found = fairprobe.search(toy, toy.domain, max_cases=1000, seed=seed, batch="frame")
        rules = [region.rule for region in fairprobe.explain(found, toy, seed=seed, batch="frame").regions]
        scores.append(toy.f1(rules))
        counts.append(len(rules))
        n_true = len(toy.rules)
    seconds = (time.process_time() - begun) / n_seeds
    return [name, f"{statistics.median(scores):.3f}", f"{min(scores):.3f}", n_true, max(counts), f"{seconds:.1f}"]


def subject(name: str) -> tuple[Any, Any, Any, Any, Any]:
    """A model, its domain, rows, labels and the good outcome."""
    if name == "boosting":
        pipeline, domain = fitted("ordinal-boosting")
        return pipeline, domain, *fairprobe.datasets.load_census(encoded=False), ">50K"
    X, y = fairprobe.datasets.load_census()
    return model(name), fairprobe.datasets.census_domain(), X, y, 1


def searched(name: str) -> tuple[Any, ...]:
    """What a search within a density found, with all of `subject`."""
    which, domain, X, *others = subject(name)
    density = fairprobe.Density.fit(domain, X)
    found = fairprobe.search(which, domain, density=density, max_cases=10_000)
    return found, density, which, X, *others


def census(name: str) -> list[object]:
    """One model: its regions, and a tree of ten leaves, on inputs that neither has seen."""
    found, density, which, *_ = searched(name)
    regions = fairprobe.explain(found, which, population=density).regions
    oracle, rng = Oracle(Asker(which, found.domain)), np.random.default_rng(99)
    fresh, others = (oracle.judge_batches(density.sample_codes(n, rng)) for n in (N_FRESH, N_TREE))
    frame = found.domain.decode(fresh.codes)
    inside = np.logical_or.reduce([region.matches(frame) for region in regions])
    coverage, precision = fresh.hits[inside].sum() / fresh.hits.sum(), fresh.hits[inside].mean()
    theirs = precision_of_tree(fresh, others, coverage)
    figures = [f"{coverage:.1%}", f"{precision:.1%}", f"{theirs:.1%}", f"{precision / theirs:.2f}"]
    return [name, len(regions), *figures]


def precision_of_tree(fresh: Any, others: Any, coverage: float) -> float:
    """The precision of the best leaves of a tree that cover as much, on the fresh inputs."""
    tree = DecisionTreeClassifier(max_leaf_nodes=10, random_state=0).fit(others.codes, others.hits)
    seen, leaves = (tree.apply(each.codes) for each in (others, fresh))
    best = sorted(np.unique(seen), key=lambda leaf: -others.hits[seen == leaf].mean())
    wanted, n_cases, n = coverage * fresh.hits.sum(), 0.0, 0.0
    for leaf in best:
        inside = leaves == leaf
        part = min(1.0, (wanted - n_cases) / max(1, fresh.hits[inside].sum()))
        n_cases, n = n_cases + part * fresh.hits[inside].sum(), n + part * inside.sum()
        if n_cases >= wanted - 0.5:
            break
    return n_cases / n


def timed() -> Iterator[list[object]]:
    """`explain` as a whole."""
    for name in MODELS:
        found, _, which, X, y, favourable = searched(name)
        begun, used = time.perf_counter(), time.process_time()
        why = fairprobe.explain(found, which, X, y, favourable=favourable)
        seconds = [f"{time.perf_counter() - begun:.1f}", f"{time.process_time() - used:.1f}"]
        yield [name, f"{why.n_cases:,}", *seconds, f"{why.n_queries:,}"]


if __name__ == "__main__":
    main()
