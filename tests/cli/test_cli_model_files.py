"""Models from files on the command line: every command takes them, what is not harmless must be allowed."""

from __future__ import annotations

import json
import os
import pickle

import pandas as pd
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression

from fairprobe import Domain, Integer

DOMAIN = Domain([Integer("age", 17, 90), Integer("hours", 0, 99), Integer("sex", 0, 1)], sensitive=["sex"])


@pytest.fixture
def files(folder):
    """A model as a file, its domain, and rows with labels."""
    rows = DOMAIN.sample(400, seed=0)
    labels = pd.Series((rows["age"] + 20 * rows["sex"] > 60).astype(int), name="paid")
    model = LogisticRegression().fit(rows, labels)
    skops.io.dump(model, folder / "model.file")
    (folder / "model.pkl").write_bytes(pickle.dumps(model))
    DOMAIN.to_toml(folder / "domain.toml")
    rows.assign(paid=labels).to_csv(folder / "rows.csv", index=False)
    return folder


def run(*arguments):
    from fairprobe.cli import main

    return main([str(argument) for argument in arguments])


def test_a_pickle_must_be_allowed(files, capsys, monkeypatch):
    monkeypatch.chdir(files)
    arguments = ["estimate", "--model", "model.pkl", "--domain", "domain.toml", "--samples", 100, "--experiments", 5]
    assert run(*arguments) == 2
    said = capsys.readouterr().err
    assert "--allow-unsafe-load must allow it" in said
    assert "sklearn.linear_model._logistic.LogisticRegression" in said
    assert run(*arguments, "--allow-unsafe-load") == 0
    assert "note: unsafe-load: model.pkl" in capsys.readouterr().err


def test_what_retrain_writes_is_read_again(files, capsys, monkeypatch):
    monkeypatch.chdir(files)
    data = ["--data", "rows.csv", "--label", "paid", "--domain", "domain.toml"]
    quick = [
        "--augment",
        "flip",
        "--max-rounds",
        1,
        "--no-controls",
        "--report-inputs",
        5000,
        "--max-accuracy-loss",
        0.5,
    ]
    assert run("retrain", "--model", "model.file", *data, *quick, "--out", "better.skops") == 0
    assert run("search", "--model", "better.skops", "--domain", "domain.toml", "--max-judged", 2000, "--json") == 0


@pytest.mark.skipif(os.name == "nt", reason="needs process groups")
def test_a_file_is_searched_in_a_process_of_its_own(files, capsys, monkeypatch):
    monkeypatch.chdir(files)
    (files / "json.py").write_text("raise SystemExit('imported')")
    arguments = ["search", "--model", "model.file", "--domain", "domain.toml", "--max-cases", 5, "--json"]
    assert run(*arguments, "--isolate") == 0
    assert json.loads(capsys.readouterr().out)["n_cases"] == 5
    assert run("search", "--model", "subject:mlp", "--domain", "domain.toml", "--isolate") == 2
    assert "--isolate is for files and modules" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_pipes_are_refused_wherever_a_file_is_named(files, capsys, monkeypatch):
    monkeypatch.chdir(files)
    for name in ("pipe.csv", "pipe.toml"):
        os.mkfifo(files / name)
    for arguments in (["--data", "pipe.csv", "--label", "paid"], ["--domain", "pipe.toml"]):
        assert run("search", "--model", "model.file", *arguments) == 2
        assert "no regular file" in capsys.readouterr().err
