"""`fairprobe estimate` as a process: exit codes, an interrupt, a terminal."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time

import pytest

from fairprobe.cli import estimate as command

ESTIMATE = [sys.executable, "-m", "fairprobe", "estimate", "--domain", "domain.toml"]
ROWS = ("--data", "rows.csv", "--label", "income")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*ESTIMATE, *arguments], capture_output=True, text=True, timeout=120, check=False)


def test_real_run(folder):
    done = run("--model", "toys:flips", *ROWS, "--max-share", "0.1", "--gate", "domain")
    assert done.returncode == 1, done.stderr
    assert done.stderr == ""
    assert "exactly 13.51% of the domain" in done.stdout
    assert "\x1b" not in done.stdout


def interrupted(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs on a slow model and is interrupted while that is being asked."""
    process = subprocess.Popen(
        [*ESTIMATE, "--model", "toys:slow", "--method", "sample", "--experiments", "100000", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 120
    while not os.path.exists("called") or os.path.getsize("called") < 5:  # calls of the model
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def test_interrupted_estimate_says_what_is_known(folder):
    done = interrupted(*ROWS)
    assert done.returncode == 130, done.stderr
    assert done.stderr.startswith("interrupted; kept: rows; domain: 13.")
    assert " so far, " in done.stderr
    assert done.stderr.count("\n") == 1
    assert "rows: 33.33% of the rows" in done.stdout
    assert "Verdict" not in done.stdout


def test_interrupted_estimate_in_json(folder):
    done = interrupted("--json", "--max-share", "0.1351")
    assert done.returncode == 130, done.stderr
    content = json.loads(done.stdout)
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


@pytest.mark.parametrize("arguments", [["--width", "0.005"], ["--experiments", "400"]])
def test_running_estimate_on_a_terminal(folder, arguments):
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    process = subprocess.Popen(
        [*ESTIMATE, "--model", "toys:slow", "--method", "sample", *arguments],
        stdout=subprocess.PIPE,
        stderr=follower,
        env=environment,
    )
    os.close(follower)
    shown = b""
    try:
        while chunk := os.read(leader, 65_536):
            shown += chunk
    except OSError:  # the other end is closed
        pass
    os.close(leader)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert b"domain: 13." in shown
    assert b" so far, " in shown
    assert b"so far" not in out
