"""Runs ended at any moment, by kill -9, SIGTERM or a full disk: in the end the cases are the same."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import kept_run
import pytest
from kept_run import DOMAIN, SETTINGS, bytes_of

import fairprobe
from fairprobe.store.run_folder import RunReader

SCRIPT = Path(kept_run.__file__)
SLOW = "0.01"
"""Seconds that a call of the model takes, a dozen of which make a shard."""

WITHIN = 0.5
"""Seconds after the search has begun within which it is ended: some shards."""

CASES = {2: 6000, 3: 6000, 50: 60_000}
"""By how often a run is ended, cases enough for it to last."""


def finished(run: Path) -> dict[str, str]:
    """The hashes of what is finished, by shard."""
    if not (run / "run.toml").exists():
        return {}
    return {name: entry.hash for name, entry in RunReader(run).entries.items() if name.isdigit()}


@pytest.fixture(scope="module")
def whole():
    return bytes_of(fairprobe.search(kept_run.model, DOMAIN, **SETTINGS))


def end_often(command, run, number, times, rng):
    """Start the search again and again, and end each while it searches; gives how many were ended in the middle."""
    n_ended = 0
    for _ in range(times):
        before = finished(run)
        written = {name: RunReader(run).entries[name].path.stat().st_mtime_ns for name in before}
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            assert process.stdout.readline() == "begun\n"
            time.sleep(WITHIN * rng.random())
            process.send_signal(number)
            n_ended += process.wait(timeout=60) == -number
        after = finished(run)
        assert {name: after[name] for name in before} == before
        for name, when in written.items():  # no finished shard is run again
            assert RunReader(run).entries[name].path.stat().st_mtime_ns == when
    return n_ended


@pytest.mark.parametrize(
    ("number", "times"),
    [
        (signal.SIGKILL, 3),
        (signal.SIGTERM, 2),
        pytest.param(signal.SIGKILL, 50, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, 50, marks=pytest.mark.slow),
    ],
)
def test_ended_at_random_moments(tmp_path, number, times):
    run, out, cases = tmp_path / "run", tmp_path / "cases", CASES[times]
    command = [sys.executable, SCRIPT, run, out, SLOW, str(cases)]
    n_ended = end_often(command, run, number, times, random.Random(7))
    n_before = len(finished(run))
    subprocess.run([*command[:4], "0", str(cases)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    # All of them struck in the middle of the search, which had got somewhere and was not over.
    assert n_ended == times
    assert times < 50 or 10 < n_before < len(finished(run))
    assert out.read_bytes() == bytes_of(fairprobe.search(kept_run.model, DOMAIN, **SETTINGS | {"max_cases": cases}))
    assert not list((run / "shards").glob(".*.part")) or number == signal.SIGKILL
