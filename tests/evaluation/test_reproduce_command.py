"""`scripts/reproduce`: what it refuses, what it tells, and that Ctrl-C loses nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from evaluation import __main__ as command
from evaluation.run import FILE

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("option", "value"), [("--seed", "-1"), ("--seed", "x"), ("--jobs", "0")])
def test_bad_options(capsys, folder, option, value):
    with pytest.raises(SystemExit) as left:
        command.main((option, value))
    assert left.value.code == 2
    assert f"{option}: must be a whole number" in capsys.readouterr().err


def test_dry_run_measures_nothing(capsys, folder):
    assert command.main(["figures", "--quick", "--dry-run"]) == 0
    assert "would take 40 measurements of 40" in capsys.readouterr().out
    assert not list(folder.iterdir())


def test_a_part_is_written(capsys, folder, monkeypatch):
    small = replace(
        command.QUICK, subjects=("decision-tree",), part=0.005, n_experiments=3, n_neighbourhoods=5, n_first=5,
        fit_seeds=(4,),
    )  # fmt: skip
    monkeypatch.setattr(command, "QUICK", small)
    assert command.main(["figures", "--quick", "--jobs", "1", "--out", "out"]) == 0
    captured = capsys.readouterr()
    assert "written: out/paper.md" in captured.out
    assert "of 13 measurements" in captured.err
    assert "## The subjects" in (folder / "out" / "paper.md").read_text(encoding="utf-8")
    assert not (folder / "out" / "strategies.md").exists()


OF_THE_TREE = """
import sys
from dataclasses import replace
from evaluation import __main__ as command
from evaluation import ledger
ledger.WRITE_SECONDS = 0.0
command.QUICK = replace(command.QUICK, subjects=("decision-tree",), n_seeds=20)
sys.exit(command.main(sys.argv[1:]))
"""
"""The command about one subject, so that no other has to be fitted."""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for other processes")
@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_an_interruption_keeps_what_was_measured(folder, cache_folder, census_tree, n_jobs):
    arguments = ["effectiveness", "--quick", "--out", "out", "--jobs", str(n_jobs)]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    process = subprocess.Popen(
        [sys.executable, "-c", OF_THE_TREE, *arguments], stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    ledger = folder / "out" / FILE
    deadline = time.monotonic() + 120
    while not ledger.exists() and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes of the command
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "interrupted; what was measured is kept in out" in err
    assert "Traceback" not in err
    assert json.loads(ledger.read_text())["tasks"]
