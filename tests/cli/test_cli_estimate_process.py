"""`fairprobe estimate` as a process: exit codes, an interrupt, a terminal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

from fairprobe.cli import estimate as command

ESTIMATE = [sys.executable, "-m", "fairprobe", "estimate", "--domain", "domain.toml"]
ROWS = ("--data", "rows.csv", "--label", "income")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*ESTIMATE, *arguments], capture_output=True, text=True, timeout=120, check=False)


def test_interrupted_estimate_says_what_is_known(folder):
    process = subprocess.Popen(
        [*ESTIMATE, "--model", "toys:slow", "--method", "sample", "--experiments", "100000", *ROWS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 120
    while (
        not os.path.exists("called") or os.path.getsize("called") < 30
    ):  # calls of the model, some of them to see whether batches matter
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert err.startswith("interrupted; kept: rows; domain: so far 13.")
    assert err.count("\n") == 1
    assert "rows: 33.33% of the rows" in out
    assert "Verdict" not in out


def test_interrupted_estimate_in_json(estimate):
    done = estimate("--method", "sample", "--json", "--max-share", "0.1351", model="toys:interrupts")
    assert done.code == 130, done.err
    content = json.loads(done.out)
    assert content["interrupted"] is True
    assert content["shares"] == {}
    assert content["verdict"] is None
    assert content["unfinished"]["n"] > 0
    assert 0.12 < content["unfinished"]["hits"] / content["unfinished"]["n"] < 0.15


def test_interrupted_before_the_first_batch(estimate, monkeypatch):
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command.Estimate, "_estimate", stop)
    outcome = estimate()
    assert outcome.code == 130
    assert outcome.err == "interrupted; kept: nothing\n"
