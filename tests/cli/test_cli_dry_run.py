"""`--dry-run`: what would be done, and what it would take."""

from __future__ import annotations

import json

import pytest

from fairprobe.domain import Domain, Integer
from fairprobe.engine import Counts
from fairprobe.searching.forecast import Pilot, costs
from fairprobe.searching.run import status_of
from fairprobe.searching.settings import Limits


def test_says_what_it_would_do_and_writes_nothing(search, folder):
    outcome = search("--dry-run", "--out", "cases.csv", "--max-judged", 1_000_000, "--seed", 7)
    assert outcome.code == 0
    for part in (
        "toys:flips",
        "sex (2 values)",
        "1 twin",
        "2 queries",
        "anchored, seed 7",
        "3 parameters, 740,000 inputs",
        "integer, 17 to 90",
        "--max-judged 1,000,000: 2,000,000 queries at most",
        "--max-cases 10,000: if every input were a case: 20,000 queries",
    ):
        assert part in outcome.out
    assert not (folder / "cases.csv").exists()


def test_as_json(search):
    content = json.loads(search("--dry-run", "--json", "--max-queries", 5001).out)
    assert content["dry_run"] is True
    assert content["domain"]["n_twins"] == 1
    assert content["settings"]["n_walkers"] == 1000
    by_limit = {estimate["limit"]: estimate for estimate in content["estimates"]}
    assert by_limit["max_queries"]["n_queries"] == 5000
    assert content["pilot"]["seconds_per_input"] > 0


def test_slow_model_is_asked_little(search):
    content = json.loads(search("--dry-run", "--json", "--walkers", 10**6, model="toys:slow").out)
    assert content["pilot"]["how"] == "uniform inputs"


def test_estimates():
    domain = Domain([Integer("age", 1, 50), Integer("sex", 0, 2)], sensitive=["sex"])
    limits = Limits(max_cases=100, max_seconds=2.0, max_queries=100, max_judged=1000, max_barren=500)
    seen = Pilot(n_inputs=40, n_queries=120, seconds_per_input=0.01, how="uniform inputs")
    found = [(e.limit, e.n_inputs, e.n_queries) for e in costs(domain, limits, seen)]
    assert found == [
        ("max_judged", 1000, 3000),
        ("max_queries", 33, 99),
        ("max_seconds", 200, 600),
        ("max_cases", 100, 300),
        ("max_barren", 500, 1500),
        ("exhausted", 50, 150),
    ]
    assert costs(domain, limits, seen)[0].seconds == pytest.approx(10.0)


def test_progress_in_words():
    told = status_of(Counts(n_cases=50, n_judged=200, n_queries=400), Limits(), 2.0)
    assert told.text == "50 cases, yield >=25.0%, 25 cases/s"
    assert status_of(Counts(0, 0, 0), Limits(), 0.0).text == "0 cases, yield >=0.0%, 0 cases/s"


def test_progress_is_about_the_nearest_limit():
    snapshot = Counts(n_cases=50, n_judged=200, n_queries=400)
    assert status_of(snapshot, Limits(max_cases=100, max_judged=1000), 1.0).fraction == 0.5
    assert status_of(snapshot, Limits(max_cases=100, max_seconds=1.25), 1.0).fraction == 0.8
    assert status_of(snapshot, Limits(), 1.0).fraction == 0.0
    assert status_of(snapshot, Limits(max_queries=100), 1.0).fraction == 1.0
