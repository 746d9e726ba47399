"""`fairprobe estimate --dry-run`: what would be done, and what it would take."""

from __future__ import annotations

import json

import pytest

ROWS = ("--data", "rows.csv", "--label", "income")


def test_says_what_it_would_do_and_writes_nothing(estimate, folder):
    outcome = estimate(*ROWS, "--dry-run", "--method", "sample", "--plot", "plot.svg", "--max-share", 0.1, "--seed", 7)
    assert outcome.code == 0
    for part in (
        "toys:flips, output label",
        "sex (2 values): an input has 1 twin and costs 2 queries",
        "confidence 95%, method sample, seed 7",
        "10% of the rows",
        "plot.svg",
        "integer, 17 to 90",
        "rows: all 3 rows: 6 queries, under a second",
        "domain: a sample of 400 experiments of 1,000 inputs: 800,000 queries, ",
    ):
        assert part in outcome.out
    assert not (folder / "plot.svg").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "domain: all 740,000 inputs: 740,000 queries, "),
        (["--exact-limit", 5], "domain: exact if the model is of a kind that can be solved, else a sample of 400"),
        (
            ["--method", "sample", "--width", 0.01],
            "a sample until the share is settled, at most 100,000 experiments of 1,000 inputs: 200,000,000 queries",
        ),
        (["--method", "sample", "--experiments", 5, "--samples", 10], "5 experiments of 10 inputs: 100 queries"),
    ],
)
def test_how_the_domain_would_be_looked_at(estimate, arguments, words):
    assert words in estimate("--dry-run", *arguments).out


def test_rows_whose_own_value_is_not_compared_cost_no_more(estimate):
    content = json.loads(estimate(*ROWS, "--dry-run", "--json", "--sensitive", "age=17,48", "--population", "rows").out)
    assert content["populations"]["rows"]["n_queries"] == 6


def test_as_json(estimate):
    content = json.loads(estimate(*ROWS, "--dry-run", "--json", "--max-share", 0.5, "--method", "sample").out)
    assert content["dry_run"] is True
    assert content["gate"] == "rows"
    assert content["settings"]["confidence"] == 0.95
    assert content["domain"]["n_twins"] == 1
    domain = content["populations"]["domain"]
    assert (domain["how"], domain["n_inputs"], domain["n_queries"]) == ("sample", 400_000, 800_000)
    assert domain["seconds"] > 0
    assert domain["n_measured"] >= 10_000


def test_slow_model_is_asked_little(estimate):
    content = json.loads(estimate("--dry-run", "--json", "--method", "sample", model="toys:slow").out)
    domain = content["populations"]["domain"]
    assert domain["seconds"] > 0.1
