"""`fairprobe retrain` as a process: an interrupt, a terminal."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time

import skops.io

COMMAND = [sys.executable, "-m", "fairprobe", "retrain", "--model", "clf:slow"]
DATA = ["--data", "loans.csv", "--label", "loan", "--sensitive", "sex"]
QUICK = [*DATA, "--labels", "mean", "--select-inputs", "500", "--report-inputs", "500", "--max-accuracy-loss", "0.2"]


def test_interrupted_retraining_keeps_the_rounds_done(retrain, folder):
    command = [*COMMAND, *QUICK, "--augment", "flip,twins", "--max-rounds", "3", "--out", "new.skops"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline().startswith("round 1: ")
    time.sleep(0.1)  # then the second round is being fitted
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert err == "interrupted; kept: 1 round, the model of round 1, written to new.skops\n"
    assert "Before and after, " in out
    assert "stopped as it was interrupted" in out
    assert "The same again" not in out
    path = folder / "new.skops"
    assert "clf.Slow" in skops.io.get_untrusted_types(file=path)


def test_running_retraining_on_a_terminal(retrain):
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    command = [*COMMAND, *QUICK, "--max-rounds", "1", "--no-controls"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=follower, env=environment)
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
    assert b"fitting the model to compare with" in shown
    assert b"round 1: twins of 10% cases + all rows flipped (+" in shown
    assert b"fitting the model" not in out
