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
