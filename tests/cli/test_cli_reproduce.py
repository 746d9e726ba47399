"""`fairprobe reproduce`: what it refuses, what it tells, and that Ctrl-C loses nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from fairprobe.cli import reproduce as command


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("tables",), "must be one of figures, effectiveness, efficiency, retraining, all, got 'tables'"),
        (("--seed", "-1"), "--seed must be a whole number of at least 0, got -1"),
        (("--seed", "x"), "must be a whole number, got 'x'"),
        (("--jobs", "0"), "--jobs must be a whole number of at least 1, or -1"),
        (("--out", "rows.csv"), "--out must be a folder that can be written, got 'rows.csv'"),
        (("figures", "extra"), "extra"),
    ],
)
def test_bad_options(fairprobe, arguments, part):
    fairprobe("reproduce", *arguments).refuses(part)


def test_a_damaged_ledger_is_refused_and_kept(fairprobe, folder):
    (folder / "out").mkdir()
    (folder / "out" / "paper.json").write_text("{")
    fairprobe("reproduce", "--quick", "--out", "out").refuses("paper.json", "earlier run", "--out")
    assert (folder / "out" / "paper.json").read_text() == "{"


def test_dry_run_measures_nothing(fairprobe, folder):
    outcome = fairprobe("reproduce", "figures", "--quick", "--dry-run")
    assert outcome.code == 0
    assert "would take 27 measurements of 27" in outcome.out
    assert not (folder / "fairprobe-paper").exists()


def test_a_part_is_written(fairprobe, folder, monkeypatch):
    monkeypatch.setattr(command, "QUICK", _small(command.QUICK))
    outcome = fairprobe("reproduce", "figures", "--quick", "--jobs", 1, "--out", "out")
    assert outcome.code == 0
    assert "written: out/paper.md" in outcome.out
    assert "of 12 measurements" in outcome.err
    assert "## The subjects" in (folder / "out" / "paper.md").read_text(encoding="utf-8")


def _small(plan):
    from dataclasses import replace

    return replace(plan, subjects=("decision-tree",), n_experiments=3, n_neighbourhoods=5, n_first=5)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for other processes")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interruption_keeps_what_was_measured(folder, cache_folder, census_tree, n_jobs):
    arguments = ["reproduce", "effectiveness", "--quick", "--out", "out", "--jobs", str(n_jobs)]
    process = subprocess.Popen(
        [sys.executable, "-m", "fairprobe", *arguments], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    ledger = folder / "out" / "paper.json"
    deadline = time.monotonic() + 120
    while not ledger.exists() and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes of the command
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "interrupted; what was measured is kept in out" in err
    assert "Traceback" not in err
    assert json.loads(ledger.read_text())["cells"]
