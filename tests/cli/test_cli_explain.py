"""`fairprobe explain`: what it shows, what it refuses, how it ends."""

import functools
import json
import re
import shlex
import signal

import pandas as pd
import pytest

import fairprobe.cli.explain as command

FEW = ("--max-cases", 200, "--explain-queries", 20_000)


@pytest.fixture
def explain(fairprobe):
    """Runs `fairprobe explain` on the domain of the current folder."""

    def run(*arguments, model="toys:flips", where=("--domain", "domain.toml")):
        return fairprobe("explain", "--model", model, *where, *arguments)

    return run


@pytest.fixture
def loans(retrain):
    """Models and labelled rows in the current folder; gives the options for them."""
    return ("--data", "loans.csv", "--label", "loan", "--sensitive", "sex")


def test_what_is_shown(explain):
    outcome = explain(*FEW).says()
    lines = outcome.out.splitlines()
    assert lines[0] == "1 region holds 100% of 200 cases."
    place = next(
        i for i, line in enumerate(lines) if re.match(r" +precision  interval +coverage +of the domain +region$", line)
    )
    assert re.match(r"  1 +100% +\S+% to 100% +100% +\S+% +age 41 to 50$", lines[place + 1])
    assert "1. age >= 41 and age <= 50" in outcome.out
    for part in (
        "Who gets what: ",
        "--favourable OUTCOME",
        "Through what: ",
        "How severe: ",
        "simulated",
        "  region 1 decided ",
    ):
        assert part in outcome.out
    assert len(lines) <= 45
    assert not re.search(r"\bfair\b|biased", outcome.out.replace("fairprobe", ""))


def test_the_same_again(explain, fairprobe):
    first = explain(*FEW, "--seed", "none", "--favourable", "true")
    second = fairprobe(*shlex.split(first.out.split("The same again:")[1])[1:]).says()
    assert re.sub(r"[\d.]+ s ", "", second.out) == re.sub(r"[\d.]+ s ", "", first.out)
    assert "Who is worse off: sex=0 is worse off than sex=1" in first.out


@pytest.mark.parametrize("more", [[], ["--dry-run"], ["--from", "domain"]])
def test_a_good_outcome_that_is_never_seen_is_refused(explain, more):
    explain(*FEW, "--favourable", "yess", *more).refuses("--favourable must be an outcome that was seen", "'yess'")


def test_rows_and_labels(explain, loans):
    some = ("--max-cases", 200, "--explain-queries", 100_000, "--from", "domain")
    explain(*some, "--favourable", "yes", model="clf:fitted", where=loans).says(
        "real rows", "in the data", "sex held constant at ", "sex=0 is worse off than sex=1"
    )


def test_files(explain, folder):
    outcome = explain(*FEW, "--json", "--out", "why.json").says()
    shown, written = json.loads(outcome.out), json.loads((folder / "why.json").read_text())
    assert shown["regions"] == written["regions"]
    assert shown["regions"][0]["text"] == "age >= 41 and age <= 50"
    assert shown["search"]["n_cases"] == shown["n_cases"] == 200
    assert (shown["error"], shown["interrupted"]) == (None, False)


def test_cases_of_a_search(explain, search, folder):
    assert search("--max-cases", 200, "--out", "cases.csv").code == 0
    outcome = explain("--cases", "cases.csv", "--explain-queries", 20_000).says()
    assert outcome.out.startswith("1 region holds 100% of 200 cases.")
    assert " to search" not in outcome.out


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("--explain-queries", 0), ("--explain-queries must be", "got 0")),
        (("--population", "rows"), ("--population must be one of domain", "'rows'")),
        (("--population", "density"), ("--population density needs --data",)),
        (("--out", "why.csv"), ("--out must end in .json",)),
        (("--cases", "cases.csv", "--strategy", "random"), ("--strategy is about a search", "--cases")),
        (("--cases", "nowhere.csv"), ("nowhere.csv",)),
        (("--label", "income"), ("--label is about the columns of --data",)),
    ],
)
def test_bad_options(explain, arguments, parts):
    explain(*arguments).refuses(*parts)


def test_bad_cases(explain, folder):
    (folder / "short.csv").write_text("age,sex\n45,0\n")
    explain("--cases", "short.csv").refuses("short.csv", "got none for pay")
    (folder / "outside.csv").write_text("age,sex,pay\n45,0,1\n200,0,1\n")
    explain("--cases", "outside.csv").refuses("outside.csv", "age=200", "1 of 2", "give the domain")


def test_labels_that_the_model_never_gives(explain, loans, folder):
    rows = pd.read_csv(folder / "loans.csv")
    rows.assign(loan=rows["loan"].map({"yes": 1, "no": 0})).to_csv(folder / "loans.csv", index=False)
    (folder / "clf.py").write_text((folder / "clf.py").read_text().replace('rows["loan"])', 'rows["loan"].map(str))'))
    explain(model="clf:fitted", where=loans).refuses("--label must name a column of the model's labels", "got 1, 0")
    explain(where=("--data", "loans.csv", "--label", "lone", "--sensitive", "sex")).refuses("--label must be one of")


def test_interrupted_while_explaining(explain, folder, monkeypatch):
    interrupted = functools.wraps(command.explain)(lambda *_, **__: signal.raise_signal(signal.SIGINT))
    monkeypatch.setattr(command, "explain", interrupted)
    outcome = explain(*FEW, "--out", "why.json").says(code=130)
    assert "interrupted; kept: 200 cases in " in outcome.err
    assert not (folder / "why.json").exists()
