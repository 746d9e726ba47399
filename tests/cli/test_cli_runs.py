"""`fairprobe runs`, and --store."""

from __future__ import annotations

import json

import pandas as pd

from fairprobe.cli import main

SEARCH = ["search", "--model", "subject:decision-tree", "--domain", "fairprobe.datasets:census_domain"]
SEARCH += ["--shard-inputs", "3000", "--max-cases", "8000"]


def test_a_run_is_listed_shown_exported_and_merged(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main([*SEARCH, "--store", "runs/a", "--out", "cases.parquet"]) == 0
    assert main([*SEARCH, "--store", "runs/a"]) == 0
    assert "finished shards of before, read instead of run" in capsys.readouterr().err
    assert main([*SEARCH, "--store", "runs/a", "--seed", "9"]) == 2
    assert "error: --store must be a run of the same model" in capsys.readouterr().err
    assert main(["runs", "list", "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["path"], listed["kind"], listed["state"]) == ("runs/a", "search", "max-cases")
    assert main(["runs", "show", "runs/a"]) == 0
    assert "8,000 cases in" in capsys.readouterr().out
    assert main(["runs", "export", "runs/a", "--out", "again.parquet"]) == 0
    written = pd.read_parquet("cases.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet("again.parquet"), written)
    assert main(["runs", "merge", "runs/a", "runs/a", "--out", "all.csv", "--memory", "1"]) == 0
    merged = pd.read_csv("all.csv")
    key = [name for name in written.columns[:13] if name != "sex"]
    assert len(merged) == listed["n_cases"] == len(merged[key].drop_duplicates())


def test_bad_use(tmp_path, capsys):
    for arguments in (["lst"], ["show"], ["export", str(tmp_path)], ["merge"], ["list", str(tmp_path / "none")]):
        assert main(["runs", *arguments]) == 2
        assert capsys.readouterr().err.startswith("error: ")


def test_a_model_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logging_model.py").write_text(
        "LOG = open('log', 'w')\ndef model(X): return (X[:, 0] > 50) & bool(LOG)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    asked = ["--model", "logging_model:model", "--domain", "fairprobe.datasets:census_domain", "--store", "runs/a"]
    search = ["search", *asked, "--max-inputs", "3000"]
    assert main(search) == 0
    assert "note: untold-model" in capsys.readouterr().err
    assert main(search) == 2
    assert "name the model with --model-id" in " ".join(capsys.readouterr().err.split())
    estimate = ["estimate", *asked[:-1], "runs/b", "--method", "sample", "--experiments", "1", "--model-id", "mine"]
    assert [main(estimate), main(estimate)] == [0, 0]
    assert "untold-model" not in capsys.readouterr().err
    assert main(["search", *asked[:-2], "--model-id", "mine"]) == 2
    assert "error: --model-id goes with" in capsys.readouterr().err
    import logging_model

    logging_model.LOG.close()
