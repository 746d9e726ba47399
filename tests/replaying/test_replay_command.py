"""`fairprobe replay`: runs of all kinds, what they tell, exit codes."""

import inspect
import json
import sys

import pandas as pd
import pytest
import replayed_runs
from replayed_runs import CASES, domain, linked, rows

from fairprobe import Domain, Integer, audit, estimate, search
from fairprobe.cli import main
from fairprobe.replaying.saved import Question, SavedCases

SMALL = {
    "n_experiments": 1,
    "n_samples": 100,
    "search_cases": 50,
    "max_inputs": 2000,
    "explain_queries": 2000,
    "selfcheck": False,
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "replayed_models.py").write_text(inspect.getsource(replayed_runs))
    rows().to_csv(tmp_path / "rows.csv", index=False)
    domain().to_toml(tmp_path / "domain.toml")
    SavedCases(CASES, Question.of(domain(), "label", None), domain()).write(tmp_path / ".fairprobe" / "a.json")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "replayed_models", raising=False)
    return tmp_path


@pytest.fixture
def replay(here, capsys):
    def run(path, *options, model="flips"):
        capsys.readouterr()
        code = main(["replay", str(path), "--model", f"replayed_models:{model}", *map(str, options)])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return code, said.out, said.err

    return run


def audited(**options):
    return audit(replayed_runs.flips, rows(), sensitive=["sex"], folder="run", **{**SMALL, **options})


def test_cases_that_tests_saved(replay):
    code, out, _ = replay(".fairprobe")
    assert code == 1
    assert out.startswith("of 2 cases 2 still hold, 0 were fixed\n")
    assert "case 1: age=42, sex=Female, town=Ash" in out
    assert "fairprobe replay .fairprobe --model replayed_models:flips" in out
    assert replay(".fairprobe/a.json", model="blind")[0] == 0
    code, out, _ = replay(".fairprobe/a.json", "--json", "--out", "what.csv", model="blind")
    assert [each["status"] for each in json.loads(out)["cases"]] == ["fixed", "fixed"]
    assert pd.read_csv("what.csv")["status"].tolist() == ["fixed", "fixed"]
    code, out, _ = replay(".fairprobe", "--dry-run")
    assert code == 0
    assert "cases        8  " in out


def test_an_audit_needs_nothing_but_its_folder(replay):
    made = audited(show_rows=True)
    code, out, _ = replay("run", "--json")
    said = json.loads(out)
    assert (code, said["n_holds"]) == (1, len(made.content["cases"]))
    assert replay("run", model="blind")[0] == 0


@pytest.mark.parametrize(("options", "n"), [({}, 10), ({"shard_inputs": 60, "max_cases": 7}, 7)], ids=str)
def test_the_folder_of_a_search_needs_nothing_else(replay, options, n):
    found = search(replayed_runs.flips, linked(), store="found", n_global=50, n_walkers=5, **options)
    assert found.n_cases == n
    code, out, _ = replay("found", "--json")
    assert (code, json.loads(out)["n_holds"], len(json.loads(out)["cases"])) == (1, n, n)
    assert replay("found", model="blind")[0] == 0
    code, _, err = replay("found", "--output", "score", "--threshold", 0.1, model="score")
    assert (code, "they were found with output label, not score" in err) == (2, True)


def test_a_folder_of_what_has_no_cases(replay):
    estimate(replayed_runs.flips, domain(), method="sample", n_experiments=1, store="estimated")
    code, _, err = replay("estimated")
    assert (code, "must be the run of a search, got that of an estimate" in err) == (2, True)


def test_rows_told_by_index_are_looked_up(replay):
    made = audited()
    n_rows = sum(set(each["case"]) == {"sex"} for each in made.content["cases"])
    assert n_rows
    code, out, _ = replay("run", model="blind")
    assert code == 4
    assert f"{n_rows} can no longer be asked (a real row is told by its index alone, and no --data" in out
    assert replay("run", "--data", "rows.csv", model="blind")[0] == 0
    rows().assign(age=21).to_csv("others.csv", index=False)
    code, out, _ = replay("run", "--data", "others.csv", model="blind")
    assert code == 4
    assert "--data are other rows than those audited" in out
    code, out, _ = replay("run", "--data", "rows.csv", "--out", "what.csv")
    table = pd.read_csv("what.csv")
    of_rows = table["case"].str.startswith("row ")
    assert (code, of_rows.sum()) == (1, n_rows)
    assert table.loc[of_rows, "age"].isna().all()  # no real row leaves the data


def test_the_run_says_where_its_data_are(replay, capsys):
    options = {name: value for name, value in SMALL.items() if name != "selfcheck"}
    flags = [
        each for name, value in options.items() for each in (f"--{name.removeprefix('n_').replace('_', '-')}", value)
    ]
    asked = ["--model", "replayed_models:flips", "--data", "rows.csv", "--sensitive", "sex", "--rows-are", "training"]
    main(["audit", *asked, "--no-selfcheck", "--out", "run", *map(str, flags)])
    code, out, err = replay("run", model="blind")
    assert (code, "from-run: the run says --data rows.csv" in err) == (0, True), out


def test_masked_values_cannot_be_asked(replay):
    audited(mask=["town"])
    code, out, err = replay("run", "--domain", "domain.toml", "--data", "rows.csv")
    assert code == 4
    assert "values are masked in the run" in out
    code, out, err = replay("run")
    assert (code, "say --domain" in err) == (2, True)


def test_the_table_of_a_search(replay, capsys):
    common = ["--model", "replayed_models:flips", "--domain", "domain.toml", "--max-cases", "20"]
    for name in ("found.csv", "found.parquet"):
        assert main(["search", *common, "--out", name]) == 0
        assert replay(name, "--domain", "domain.toml")[0] == 1
    assert replay("found.csv", "--domain", "domain.toml", model="blind")[0] == 0
    code, _, err = replay("found.csv")
    assert (code, "say --domain, or --data and --sensitive" in err) == (2, True)
    code, _, err = replay("found.csv", "--domain", "domain.toml", "--sensitive", "town")
    assert (code, "must change with what the domain compares, town; got sex" in err) == (2, True)
    linked().to_toml("linked.toml")
    assert replay("found.csv", "--domain", "linked.toml")[0] == 1  # found without the links, and so replayed
    pd.read_csv("found.csv").drop(columns="town").to_csv("less.csv", index=False)
    code, out, _ = replay("less.csv", "--domain", "domain.toml")
    assert (code, "can no longer be asked (without town)" in out) == (4, True)


def test_scores(replay):
    question = Question.of(domain(), "score", 0.2)
    SavedCases(CASES, question, domain()).write("scores.json")
    assert replay("scores.json", model="score")[0] == 1
    code, _, err = replay("scores.json", "--threshold", "0.4", model="score")
    assert (code, "found with threshold 0.2, not 0.4" in err) == (2, True)


def test_a_run_without_cases_passes_nothing(replay):
    SavedCases(CASES.iloc[:0], Question.of(domain(), "label", None), domain()).write("none.json")
    code, out, _ = replay("none.json")
    assert code == 4
    assert "There was no case to ask about" in out


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["nowhere"], "must be a folder or a file that exists"),
        (["empty"], "with audit.json, with run.toml or with saved cases (.json), got none of them in empty"),
        (["replayed_models.py"], "must be a .csv, .csv.gz or .parquet file"),
        (["broken.json"], "broken.json must be as fairprobe writes it, got JSONDecodeError"),
        (["broken"], "must be as fairprobe writes it, got no"),
        ([".fairprobe", "--domain", "domain.toml", "--sensitive", "age"], "found with sensitive sex, not age"),
        ([".fairprobe", "--output", "proba"], "found with output label, not proba"),
        ([".fairprobe", "--out", "what.txt"], "--out must end in .csv or .parquet"),
    ],
)
def test_bad_input(replay, here, arguments, why):
    (here / "broken.json").write_text("{")
    (here / "empty").mkdir()
    (here / "broken").mkdir()
    (here / "broken" / "audit.json").write_text("{}")
    code, out, err = replay(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert why in err


def test_cases_of_another_model_in_the_folder_are_unaskable(replay, here):
    """A function states no columns, so only its failure shows that the cases are not its own."""
    other = Domain([Integer("x", 0, 9), Integer("s", 0, 1)], ["s"])
    cases = pd.DataFrame({"x": [3], "s": [0]}, index=["case 1"])
    SavedCases(cases, Question.of(other, "label", None), other).write(here / ".fairprobe" / "b.json")
    code, out, _ = replay(".fairprobe")
    assert code == 1
    assert out.startswith("of 3 cases 2 still hold, 0 were fixed, 1 can no longer be asked (the model must answer")


def test_a_model_that_fails(replay, here):
    (here / "replayed_models.py").write_text("def fails(frame):\n    raise OSError('gone')\n")
    code, _, err = replay(".fairprobe", model="fails")
    assert (code, "gone" in err) == (3, True)
