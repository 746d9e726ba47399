"""The command line: a config, what is wrong with one, exit codes, and what is printed."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest
from audited import rows

from fairprobe.cli import main

MODEL = """
import numpy as np

def model(frame):
    good = (frame["age"] > 50) | ((frame["sex"] == "Male") & (frame["age"] > 40))
    return np.where(good, "yes", "no")

def interrupted(frame):
    if len(frame) < 100:
        raise KeyboardInterrupt
    return model(frame)

def whole(frame):
    return (model(frame) == "yes").astype(int)

class Blind:
    feature_names_in_ = np.array(["height"])
    classes_ = np.array(["no", "yes"])

    def predict(self, frame):
        return np.where(frame["height"] > 50, "yes", "no")

blind = Blind()

def fails(frame):
    if len(frame) < 100:
        raise ValueError("no")
    return model(frame)
"""

CONFIG = """
model = "audited_model:model"
data = "rows.csv"
sensitive = ["sex"]
n_experiments = 1
n_samples = 100
search_cases = 50
max_inputs = 2000
explain_queries = 2000
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "audited_model.py").write_text(MODEL)
    rows().to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "fairprobe.toml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_config_is_found_and_options_override_it(here, capsys):
    asked = ["--max-share", "0.01", "--rows-are", "held-out", "--out", "kept", "--html", "page.html"]
    assert main(["audit", "fairprobe.toml", "--trust-config", *asked]) == 1
    said = capsys.readouterr()
    assert (here / "page.html").read_text() == (here / "kept/report.html").read_text()
    assert said.out.startswith("violated: 25% of the rows (10 of 40) get another outcome")
    assert re.search("Real rows +plain +sex", said.out)
    assert "The same again:" in said.out
    assert "rows: 25% of the rows" in said.err
    assert main(["audit", "fairprobe.toml", "--model", "audited_model:model", "--max-share", "0.9"]) == 0
    assert "rows-unknown" in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_a_dry_run_reads_the_good_outcome_as_the_run_does(here, capsys, more):
    limit = ["--max-share", "sex=Female: 0.9", "--populations", "rows", "--model", "audited_model:whole"]
    assert main(["audit", "fairprobe.toml", *limit, "--favourable", "1", "--rows-are", "held-out", *more]) == 0
    assert main(["audit", "fairprobe.toml", *limit, "--favourable", "2", *more]) == 2
    assert "one of 0, 1" in capsys.readouterr().err


def test_of_a_project(here, capsys):
    (here / "fairprobe.toml").unlink()
    (here / "pyproject.toml").write_text(f'[project]\nname = "x"\n[tool.fairprobe]\n{CONFIG}\nmax-share = 0.01\n')
    assert main(["audit", "pyproject.toml", "--trust-config", "--json"]) == 1
    figures = json.loads(capsys.readouterr().out)
    assert figures["verdict"]["outcome"] == "violated"
    assert figures["error"] is None
    assert main(["audit", "pyproject.toml", "--model", "audited_model:model", "--dry-run"]) == 0
    assert re.search("  search +4,000  ", capsys.readouterr().out)


def test_limits_by_who_is_worse_off(here, capsys):
    text = CONFIG + 'favourable = "yes"\n[max_share]\n"sex=Female" = 0.01\n'
    (here / "fairprobe.toml").write_text(text)
    assert main(["audit", "fairprobe.toml", "--trust-config"]) == 1
    assert "get a worse outcome as sex=Female" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('sensitiv = ["sex"]', "did you mean 'sensitive'?"),
        ("seed = 'x'", "seed must be a whole number, got 'x'"),
        ("retrain = 1", "retrain must be true or false, got 1"),
        ("sensitive = 3", "sensitive must be a list of names"),
        ("max_share = 'x'", "max-share must be a number"),
        ("max-sahre = 1", "did you mean 'max-share'?"),
        ("model =", "must be TOML"),
    ],
)
def test_a_wrong_config(here, capsys, text, message):
    (here / "fairprobe.toml").write_text(text)
    assert main(["audit"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert message in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fairprobe.tmol"], "did you mean 'fairprobe.toml'?"),
        (["--out", "rows.csv"], "must be a folder that can be written to"),
        (["--favourable", "maybe"], "one of 'no', 'yes'"),
        (["--html", "report.pdf"], "must end in .html"),
        (["--mask", "twon"], "did you mean 'town'?"),
    ],
)
def test_wrong_options(here, capsys, arguments, message):
    config = [] if arguments[0].startswith("fair") else ["fairprobe.toml", "--trust-config"]
    assert main(["audit", *config, *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_nothing_given(here, capsys):
    (here / "fairprobe.toml").unlink()
    assert main(["audit"]) == 2
    assert "--model must name the model" in capsys.readouterr().err


def test_interrupted_and_failed(here, capsys):
    assert main(["audit", "fairprobe.toml", "--model", "audited_model:interrupted"]) == 130
    assert "interrupted; kept: no share" in capsys.readouterr().err
    assert main(["audit", "fairprobe.toml", "--model", "audited_model:fails"]) == 3
    assert "error: the model must answer every row" in capsys.readouterr().err


def test_init(here, capsys):
    assert main(["init", "rows.csv"]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert main(["init", "rows.csv", "--out", "new.toml", "--model", "audited_model:model"]) == 0
    said = capsys.readouterr().out
    assert "sensitive: sex" in said
    assert "  fairprobe audit new.toml --trust-config" in said
    effort = ["--search-cases", "20", "--explain-queries", "1000", "--experiments", "1", "--samples", "50"]
    assert main(["audit", "new.toml", *effort]) == 2
    assert "fairprobe audit new.toml --trust-config" in capsys.readouterr().err
    assert main(["audit", "new.toml", "--trust-config", *effort]) == 1
    assert main(["init", "rows.csv", "--label", "nope", "--out", "x.toml"]) == 2


def test_names_of_values_come_from_a_config_or_from_options(here, capsys):
    with (here / "fairprobe.toml").open("a") as file:
        file.write('[labels.sex]\nFemale = "women"\n[labels.outcome]\nyes = "loan"\n')
    options = ["--max-share", "0.01", "--favourable", "yes", "--rows-are", "held-out"]
    asked = ["audit", "fairprobe.toml", "--trust-config", *options]
    assert main(asked) == 1
    assert "sex=women" in capsys.readouterr().out
    assert main([*asked, "--labels", "sex:Male=men"]) == 1
    assert "sex=Female" in capsys.readouterr().out
    for bad in ("sex:other=x", "sex"):
        assert main([*asked, "--labels", bad]) == 2
        assert "labels must" in capsys.readouterr().err


def test_a_model_without_the_attribute_is_audited_by_matched_twins(here, capsys):
    told = rows().rename(columns={"age": "height"})[["height", "sex"]]
    pd.concat([told] * 4).to_csv("few.csv", index=False)
    asked = ["--model", "audited_model:blind", "--data", "few.csv", "--max-share", "0.01", "--favourable", "yes"]
    asked += ["--sensitive", "sex", "--rows-are", "held-out", "--html", "page.html", "--no-selfcheck"]
    assert main(["audit", *asked]) == 4
    said = capsys.readouterr().out
    assert "the model does not take sex, so only matched twins can be compared" in said
    page = (here / "page.html").read_text()
    few = "Too few rows to learn matched twins, so they cannot show that a limit is kept"
    assert few in page
    assert "Audit again with more rows" in page
