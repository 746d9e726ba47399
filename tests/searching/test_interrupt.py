"""Ctrl-C keeps what was found. Tried in processes of their own, as the signal goes to whoever runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are sent the POSIX way")

HEAD = """
    import json, os, signal, sys, threading, time
    signal.signal(signal.SIGINT, signal.default_int_handler)
    import numpy as np
    from fairprobe import search, testing
    BOX = testing.box(n_free=8, levels=20, low=2, high=15)
    MAIN = os.getpid()

    def report(found):
        print(json.dumps({"reason": str(found.stop_reason), "n_cases": found.n_cases, "n_judged": found.n_judged}))

    def compared(found):  # fails unless it is the beginning of a run that was not interrupted
        whole = search(BOX.model, BOX.domain, max_inputs=max(1, found.n_judged), **SETTINGS)
        assert found.to_frame().equals(whole.to_frame().head(found.n_cases))
        return found

    SETTINGS = dict(max_cases=None, n_walkers=50, n_global=300, n_local=20, shard_inputs=5_000)
"""


def start(body):
    script = textwrap.dedent(HEAD) + textwrap.dedent(body)
    return subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def outcome(process):
    try:
        out, err = process.communicate(timeout=120)
    finally:
        if process.poll() is None:
            process.kill()
    assert process.returncode == 0, err
    return json.loads(out.splitlines()[-1])


def shown(n_jobs):
    """Of two processes that were interrupted, each has a beginning of its own."""
    return "compared" if n_jobs == 1 else ""


def send(process, to_all):
    """Wait until the search runs, then press Ctrl-C: a terminal sends it to all processes, `kill` to one."""
    assert process.stdout.readline().startswith("running")  # two processes may say so at once, on one line
    time.sleep(0.5)
    if to_all:
        os.killpg(process.pid, signal.SIGINT)
    else:
        os.kill(process.pid, signal.SIGINT)


@pytest.mark.parametrize(
    ("n_jobs", "to_all"),
    [(2, True), *(pytest.param(*each, marks=pytest.mark.slow) for each in ((1, True), (2, False)))],
)
def test_sent_from_outside(n_jobs, to_all):
    process = start(
        f"""
        calls = 0
        def model(X):
            global calls
            calls += 1
            if calls == 100:
                print("running", flush=True)
            time.sleep(0.002)
            return BOX.model(X)
        report({shown(n_jobs)}(search(model, BOX.domain, n_jobs={n_jobs}, **SETTINGS)))
        """
    )
    send(process, to_all)
    result = outcome(process)
    assert result["reason"] == "interrupted"
    assert result["n_cases"] > 0


def test_before_the_first_answer():
    process = start(
        """
        def model(X):
            signal.raise_signal(signal.SIGINT)
            return BOX.model(X)
        report(search(model, BOX.domain, **SETTINGS))
        """
    )
    result = outcome(process)
    assert (result["reason"], result["n_cases"], result["n_judged"]) == ("interrupted", 0, 0)
