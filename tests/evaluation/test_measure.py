"""The measurements against what is known otherwise."""

import numpy as np
import pytest

from evaluation import measure
from fairprobe import estimate, search
from fairprobe.model.asking import Asker
from fairprobe.oracle import Oracle


def test_search_inputs_is_a_search(census_tree):
    model, domain = census_tree
    arguments = ("decision-tree", ["sex"], "fully-directed", 3000, 1)
    settings = {"n_walkers": 1, "n_global": 1000, "n_local": 100}
    found = search(model, domain, strategy="fully-directed", max_cases=None, max_judged=3000, seed=1, **settings)
    assert found.n_judged == 3000
    assert measure.search_inputs(*arguments, **settings)["percent"] == pytest.approx(100 * found.yield_, rel=1e-4)
    curve = measure.search_curve(*arguments, **settings)["cases"]
    assert curve[0] == 0
    assert curve[-1] == found.n_cases
    assert curve == sorted(curve)


def test_neighbours_by_a_plain_loop(census_tree):
    outcome = measure.neighbours("decision-tree", 5, 0)
    model, domain = census_tree
    found = search(model, domain, strategy="uniform", max_cases=5, seed=0)
    oracle = Oracle(Asker(model, domain))
    parts = []
    for case in domain.encode(found.cases):
        hits = []
        for column in domain.free_columns:
            for value in (case[column] - 1, case[column] + 1):
                if 0 <= value < domain.levels[column]:
                    near = case.copy()
                    near[column] = value
                    hits.append(bool(oracle.judge(near[None]).hits[0]))
        parts.append(np.mean(hits))
    assert outcome["mean"] == pytest.approx(np.mean(parts), rel=1e-4)
    assert outcome["error"] == pytest.approx(np.std(parts, ddof=1) / np.sqrt(5), rel=1e-4)


def test_share_has_the_hits_of_each_experiment(census_tree):
    hits = measure.share("decision-tree", 6, 500, 0)["hits"]
    share = estimate(*census_tree, method="sample", n_experiments=6, n_samples=500, seed=0)
    assert sum(hits) == share.hits
    assert np.cumsum(hits) / (500 * np.arange(1, 7)) == pytest.approx(share.history)
