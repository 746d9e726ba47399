"""The measurements against what is known otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from fairprobe import datasets, estimate, search, subjects
from fairprobe.model.asking import Asker
from fairprobe.oracle import Oracle
from fairprobe.reproduce import tasks


def test_search_inputs_is_a_search(census_tree):
    model, domain = census_tree
    outcome = tasks.search_inputs(
        "decision-tree", ["sex"], "fully-directed", 3000, 1, n_walkers=1, n_global=1000, n_local=100
    )
    found = search(
        model, domain, strategy="fully-directed", n_walkers=1, n_global=1000, n_local=100,
        max_cases=None, max_inputs=3000, seed=1,
    )  # fmt: skip
    assert outcome.figures["n_judged"] == 3000
    assert outcome.figures["n_cases"] == found.n_cases
    assert outcome.figures["percent"] == pytest.approx(100 * found.yield_)
    curve = outcome.figures["curve"]
    assert curve[0] == 0
    assert curve[-1] == found.n_cases
    assert curve == sorted(curve)


@pytest.mark.parametrize("subject", ["random-forest", "ensemble"])
def test_acceleration_changes_no_figure_of_one_walker(subject):
    settings = {"n_walkers": 1, "n_global": 500, "n_local": 200}
    outcomes = [
        tasks.search_inputs(subject, ["sex"], "fully-directed", 2500, 3, accelerate=accelerate, **settings).figures
        for accelerate in ("auto", "off")
    ]
    assert outcomes[0] == outcomes[1]


def test_row_at_a_time_asks_about_one_input_a_call(monkeypatch):
    class Counting:
        """Says whether the first parameter and sex are odd, and remembers what it was asked."""

        def __init__(self):
            self.batches = []

        def predict(self, rows):
            self.batches.append(rows)
            return (rows[:, 0] + rows[:, 8]) % 3

    model = Counting()
    monkeypatch.setattr(tasks, "_loaded", lambda subject: model)
    outcome = tasks.row_at_a_time("any", "random", 50, 30.0, 0, n_walkers=1, n_global=20, n_local=30)
    asked = model.batches
    assert {len(batch) for batch in asked} == {2}
    for first, second in asked:
        differing = np.flatnonzero(first != second)
        assert differing.tolist() == [8]  # sex alone
    assert outcome.times["n_cases"] == 50
    found = search(
        Counting().predict, datasets.census_domain(), strategy="random", max_cases=50, n_walkers=1, n_global=20,
        n_local=30,
    )  # fmt: skip
    assert outcome.times["n_judged"] == found.n_judged


def test_neighbours_by_a_plain_loop(census_tree):
    outcome = tasks.neighbours("decision-tree", ["sex"], 5, 0)
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
    assert outcome.figures["mean"] == pytest.approx(np.mean(parts))
    assert outcome.figures["error"] == pytest.approx(np.std(parts, ddof=1) / np.sqrt(5))


def test_first_case_follows_the_geometric_distribution():
    trials = np.array(tasks.first_case(1, 3000, 0).figures["trials"])
    assert trials.mean() == pytest.approx(100, rel=4 / np.sqrt(3000))  # whose deviation is about its mean
    assert (trials <= 69).mean() == pytest.approx(1 - 0.99**69, abs=4 * 0.5 / np.sqrt(3000))


def test_share_has_the_running_mean(census_tree):
    outcome = tasks.share("decision-tree", ["sex"], 6, 500, 0).figures
    share = estimate(*census_tree, method="sample", n_experiments=6, n_samples=500, seed=0)
    assert outcome["n"] == 3000
    assert outcome["history"][-1] == pytest.approx(outcome["value"], abs=1e-7)
    assert (outcome["low"], outcome["high"]) == (share.low, share.high)


def test_about_subject_counts_real_rows():
    figures = tasks.about_subject("decision-tree").figures
    rows, labels = datasets.load_census(split="test")
    model = subjects.load("decision-tree")
    assert figures["accuracy"] == pytest.approx((model.predict(rows.to_numpy()) == labels).mean())
    flipped = rows.assign(sex=1 - rows["sex"])
    differing = (model.predict(rows.to_numpy()) != model.predict(flipped.to_numpy())).mean()
    assert figures["rows"]["value"] == pytest.approx(differing)


def test_domains_are_those_asked_for():
    both = tasks.search_inputs("decision-tree", ["sex", "race"], "uniform", 2000, 0).figures
    assert both["n_cases"] > tasks.search_inputs("decision-tree", ["sex"], "uniform", 2000, 0).figures["n_cases"]
