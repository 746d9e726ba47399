"""Workers that are copies: made only where it is safe, the same results, and gone with the process that made them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import copied_run
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairprobe.engine.copies import may_copy
from fairprobe.errors import SettingError
from fairprobe.model.known import bears_copying
from fairprobe.store.run_folder import StoredRun
from tests.engine.conformance import engine_checks

SCRIPT = Path(copied_run.__file__)

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="copies are made on Linux only")


def started(*arguments):
    """A process group of its own, so that Ctrl-C reaches all of it and nothing else."""
    return subprocess.Popen(
        [sys.executable, SCRIPT, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def output(*arguments):
    with started(*arguments) as process:
        try:
            out, err = process.communicate(timeout=120)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, err
    return out.split(), err


@only_linux
def test_conformance():
    assert output("conformance")[0] == [name for name, _ in engine_checks()]


@only_linux
@pytest.mark.parametrize("what", ["same", pytest.param("killed", marks=pytest.mark.slow)])
def test_the_same_is_found_also_if_a_copy_is_killed(what):
    assert output(what) == (["same"], "")


@only_linux
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_copies_end_with_their_original_and_hold_no_lock(tmp_path, number):
    run = tmp_path / "run"
    with started("long", run) as process:
        try:
            copies = [int(pid) for pid in process.stdout.readline().split()]
            assert len(copies) == 2
            with pytest.raises(SettingError, match=f"which process {process.pid} holds"), opened(run):
                pass
            if number == signal.SIGINT:
                os.killpg(process.pid, number)
            else:
                process.send_signal(number)
            if number == signal.SIGKILL:
                process.wait()
            else:
                out, err = process.communicate(timeout=60)
                assert err == ""
                assert number == signal.SIGTERM or out.splitlines()[-1] == "interrupted True"
            with pytest.raises(SettingError, match="must be a run of the same model"), opened(run):  # nobody has it
                pass
            until_gone(copies)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def opened(run):
    return StoredRun.opened(run, "search", {})


def until_gone(pids):
    end = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() and "Z" not in state(pid) for pid in pids):
        assert time.monotonic() < end
        time.sleep(0.05)


def state(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return "Z"


def test_a_process_with_other_threads_is_not_copied():
    n = threading.active_count()
    over = threading.Event()
    other = threading.Thread(target=over.wait)
    other.start()
    try:
        assert not may_copy(n)
        assert may_copy(n + 1) == (sys.platform == "linux")
    finally:
        over.set()
        other.join()


def test_only_what_is_known_is_asked_in_copies():
    """A function may call anything, and boosters of other packages wait for threads that are not there."""
    assert bears_copying(copied_run.tree())
    X = copied_run.DOMAIN.sample(100, seed=1).to_numpy()
    assert bears_copying(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, X[:, 0] > 9))
    assert not bears_copying(lambda X: X[:, 0] > 9)
    lightgbm = pytest.importorskip("lightgbm")
    booster = lightgbm.LGBMClassifier(n_estimators=2, n_jobs=1, verbose=-1).fit(X, X[:, 0] > 9)
    assert not bears_copying(booster)
    assert not bears_copying(make_pipeline(StandardScaler(), booster))
