"""Where rows are given, a search starts from them and keeps to what a density fitted to them says is plausible."""

import json

import numpy as np
import pandas as pd
import pytest

MODEL = """
def favours_men(frame):
    band = (frame["age"] > 40) & (frame["age"] < 55)
    nobody = (frame["age"] < 25) & (frame["pay"] > 60)
    return (band | nobody) & (frame["sex"] == "M")
"""
LIMITS = ("--max-judged", 1500, "--max-cases", "none", "--walkers", 50, "--global", 300)


@pytest.fixture
def run(fairprobe, folder):
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, 600)
    rows = pd.DataFrame(
        {"age": age, "sex": rng.choice(["F", "M"], 600), "pay": np.minimum(99, age + rng.integers(0, 20, 600))}
    )
    rows.to_csv(folder / "pay.csv", index=False)
    rows.head(10).to_csv(folder / "few.csv", index=False)
    (folder / "paid.py").write_text(MODEL)

    def run(command, *arguments, data="pay.csv"):
        about = ("--data", data, "--sensitive", "sex") if data else ()
        return fairprobe(command, "--model", "paid:favours_men", *about, *arguments)

    return run


def test_a_search_keeps_to_plausible_people_and_says_so(run, folder):
    outcome = run("search", *LIMITS, "--out", "cases.csv").says()
    words = " ".join(outcome.out.split())
    assert " less plausible rows left out), then inputs drawn from the density" in words
    assert "plausibility at least 0.05" in words
    cases = pd.read_csv(folder / "cases.csv")
    assert cases["plausibility_case"].min() >= 0.05
    assert {"plausibility_twin", "distance"} <= set(cases.columns)
    assert (cases["age"] > 40).all()
    content = json.loads(run("search", *LIMITS, "--json").out)
    assert (content["from"], content["min_plausibility"]) == ("rows", 0.05)


def test_anywhere_in_the_domain(run):
    for options, start in ((["--min-plausibility", "none"], "rows"), (["--from", "domain"], "domain")):
        content = json.loads(run("search", *LIMITS, *options, "--json").out)
        assert (content["from"], content["min_plausibility"]) == (start, None)


@pytest.mark.parametrize("options", [["--from", "density"], ["--strategy", "uniform", "--min-plausibility", 0.2]])
def test_inputs_drawn_from_the_density(run, options):
    assert "started from  inputs drawn from the density" in run("search", *LIMITS, *options).out
    content = json.loads(run("search", *LIMITS, *options, "--json").out)
    assert (content["from"], content["n_start_rows"]) == ("density", None)


def test_a_few_changes_are_free_unless_asked(run):
    content = json.loads(run("search", *LIMITS, "--max-changes", 1, "--json").out)
    assert content["min_plausibility"] is None
    content = json.loads(run("search", *LIMITS, "--max-changes", 1, "--min-plausibility", 0.1, "--json").out)
    assert content["min_plausibility"] == 0.1


def test_too_few_rows_for_a_density(run):
    outcome = run("search", *LIMITS, data="few.csv").says()
    assert "note: no-density: a density needs 20 rows at least" in outcome.err
    run("search", *LIMITS, "--from", "density", data="few.csv").refuses("a density needs 20 rows at least", "got 10")
    run("search", *LIMITS, "--min-plausibility", 0.1, data="few.csv").refuses("a density needs 20 rows at least")


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--min-plausibility", "1"], ["--min-plausibility must be at least 0 and below 1", "1"]),
        (["--min-plausibility", "0.1", "--from", "domain"], ["does not go with --from domain"]),
        (["--min-plausibility", "none", "--from", "density"], ["does not go with --from density"]),
        (["--from", "density", "--max-changes", "1"], ["--max-changes goes with rows to start from"]),
    ],
)
def test_what_is_refused(run, options, parts):
    run("search", *LIMITS, *options).refuses(*parts)


def test_it_needs_rows(search, estimate):
    search("--from", "density").refuses("--from density needs --data, got none")
    search("--min-plausibility", "0.1").refuses("--min-plausibility needs --data, got none")
    estimate("--population", "density").refuses("--population density needs --data, got none")


def test_the_share_of_a_density(run):
    few = ("--experiments", 5, "--samples", 200)
    run("estimate", "--population", "rows,density", *few).says()
    shares = json.loads(run("estimate", "--population", "rows,density", *few, "--json").out)["shares"]
    assert shares["density"]["n"] == 1000
    assert shares["density"]["value"] > 0
    assert "density" not in json.loads(run("estimate", *few, "--json").out)["shares"]
    assert run("estimate", "--population", "density", *few, "--max-share", 0.01).code == 1
    run("estimate", "--population", "density", "--method", "exact").refuses("--method must be auto or sample")
