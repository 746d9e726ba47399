"""`--dry-run`, the same for all commands: the settings, a bound on the queries of each part, and the time they take."""

import json

import pytest

ROWS = ("--data", "rows.csv", "--label", "income")


@pytest.mark.parametrize("command", ["search", "estimate", "explain"])
def test_says_what_it_would_do_and_writes_nothing(fairprobe, folder, command):
    where = {"search": ("--out", "x.csv"), "estimate": ("--out", "x.csv"), "explain": ("--out", "x.json")}[command]
    model = ("--model", "toys:flips", "--domain", "domain.toml")
    before = sorted(folder.iterdir())
    fairprobe(command, *model, *ROWS, "--dry-run", *where, "--seed", 7, "--threshold", 0).says(
        f"A dry run: this is what the {command.replace('explain', 'explanation')} would do. Nothing is written.",
        "toys:flips",
        "3 parameters, 740,000 inputs; sensitive: sex; twins of an input: 1.",
        "--seed ",
        where[1],
        "age: integer, 17 to 90",
        "It would take at most:",
    )
    assert sorted(path for path in folder.iterdir() if path.name != "__pycache__") == before


@pytest.mark.parametrize(
    ("arguments", "n_queries"),
    [
        (["--max-judged", 1000], 2000),
        (["--max-queries", 5001], 5001),
        (["--max-judged", 5000, "--max-queries", 5001], 5001),
        ([], 740_000),
    ],
)
def test_a_search_is_bound_by_its_limits_or_its_domain(search, arguments, n_queries):
    content = json.loads(search("--dry-run", "--json", *arguments).out)
    assert content["dry_run"] is True
    assert content["n_queries"] == {"search": n_queries}
    assert content["domain"]["n_twins"] == 1
    assert (content["settings"]["strategy"], content["settings"]["n_walkers"]) == ("anchored", 1000)


@pytest.mark.parametrize(
    ("arguments", "n_queries"),
    [
        ([], 740_000),
        (["--exact-limit", 5], 800_000),
        (["--method", "sample", "--width", 0.01], 200_000_000),
        (["--method", "sample", "--experiments", 5, "--samples", 10], 100),
    ],
)
def test_an_estimate_is_bound_by_its_method(estimate, arguments, n_queries):
    content = json.loads(estimate("--dry-run", "--json", *arguments).out)
    assert content["n_queries"] == {"domain": n_queries}
    assert content["seconds"]["domain"] > 0


def test_each_population_has_a_bound(estimate):
    content = json.loads(estimate(*ROWS, "--dry-run", "--json", "--max-share", 0.5, "--method", "sample").out)
    assert content["n_queries"] == {"rows": 6, "domain": 800_000}
    assert (content["settings"]["gate"], content["settings"]["confidence"]) == ("rows", 0.95)
