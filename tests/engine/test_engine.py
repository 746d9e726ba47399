"""Engines: shards in order, whoever runs them. What all of them must do, `engine_checks` in conformance.py knows."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from fairprobe.engine import processes
from fairprobe.engine.base import Counts, Skipped, checked_engine, make_engine
from fairprobe.errors import RunError, SettingError
from tests.engine.conformance import engine_checks


@pytest.mark.parametrize("options", [{}, {"n_jobs": 2}, {"engine": "processes"}], ids=str)
@pytest.mark.parametrize(("name", "check"), engine_checks())
def test_conformance(warm_workers, options, name, check):
    check(partial(make_engine, **options))


# Processes


@pytest.fixture
def engines(monkeypatch):
    monkeypatch.setattr("fairprobe.engine.processes.LOOK_SECONDS", 0.0)
    made = []

    def make(*arguments, **options):
        made.append(make_engine(*arguments, **options))
        return made[-1]

    yield make
    for engine in made:
        engine.close()


def where(shard, seconds, report):
    time.sleep(0.05)
    return os.getpid()


def test_what_is_too_short_to_gain_stays_here(engines):
    engine = engines(where, 2, foreseen=lambda under_way: 1.0)
    assert set(itertools.islice(engine.results(), 6)) == {os.getpid()}
    assert engine._pool is None


def test_a_pool_takes_over_when_the_run_turns_out_to_be_long(warm_workers, engines, monkeypatch):
    """Its length is predicted from the shard that runs here, and the pool starts beside it."""
    monkeypatch.setattr("fairprobe.engine.processes.WORTH_SECONDS", 6.0)

    def task(shard, seconds, report):
        report(Counts(7, 8, 9))
        return where(shard, seconds, report)

    engine = engines(task, 2, foreseen=lambda under_way: 100.0 if Counts(7, 8, 9) in under_way else 0.0)
    first, *others = itertools.islice(engine.results(), 8)
    assert first == os.getpid()
    assert first not in others
    assert len(set(others)) == 2


ORPHAN = """
import os, sys, time
from fairprobe.engine import processes
from fairprobe.engine.base import Counts, make_engine
def task(shard, seconds, report):
    if shard:
        print(os.getpid(), flush=True)
    while shard and not report(Counts(0, 0, 0)):
        time.sleep(0.01)
processes.LOOK_SECONDS = 0.0
engine = make_engine(task, 2)
next(engine.results())
sys.stdin.read()
"""


def test_workers_end_with_a_process_that_is_killed():
    with subprocess.Popen([sys.executable, "-c", ORPHAN], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        workers = [int(process.stdout.readline()) for _ in range(2)]
        process.kill()
    end = time.monotonic() + 30
    while any(is_alive(pid) for pid in workers):
        assert time.monotonic() < end
        time.sleep(0.05)


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def dies_elsewhere(here, deadly, folder, shard, seconds, report):
    time.sleep(0.05)
    if os.getpid() != here and shard in deadly:
        with open(folder / f"{shard}-{time.monotonic_ns()}", "w"):
            os._exit(7)
    return shard


def test_a_worker_that_dies_once_costs_nothing(engines, tmp_path):
    here = os.getpid()

    def task(shard, seconds, report):
        if os.getpid() != here and not (tmp_path / "died").exists():
            (tmp_path / "died").touch()
            os._exit(7)
        time.sleep(0.05)
        return shard

    assert list(itertools.islice(engines(task, 2).results(), 30)) == list(range(30))
    assert (tmp_path / "died").exists()


@pytest.mark.slow
def test_a_shard_that_kills_its_workers_is_left_out_and_no_other(engines, tmp_path, monkeypatch):
    """With others under way beside it: they are run again, and only the guilty one is left out."""
    monkeypatch.setattr("fairprobe.engine.base.TRIES", 2)  # to start processes takes long
    task = partial(dies_elsewhere, os.getpid(), {1}, tmp_path)
    results = list(engines(task, 2, n_shards=6).results())
    assert [result for result in results if not isinstance(result, Skipped)] == [0, 2, 3, 4, 5]
    assert results[1].shard == 1
    assert results[1].reason.startswith("TerminatedWorkerError")
    assert 2 <= len(list(tmp_path.iterdir())) <= 3


def test_a_task_that_cannot_be_sent():
    lock = threading.Lock()
    with pytest.raises(SettingError, match=r"n_jobs=2 needs a model and constraints that can be sent .*; use n_jobs=1"):
        make_engine(lambda shard, seconds, report: lock, 2)


# What is asked for


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        (
            "dusk",
            r"engine must be one of local, processes, dask, or dask://host:port, got 'dusk': did you mean 'dask'\?",
        ),
        (3, "engine must be one of local, processes, dask, or dask://host:port, got 3"),
        ("local://here:1", "engine must be one of .*, got 'local://here:1'"),
        ("dask://", "engine must name a scheduler as dask://host:port, got 'dask://'"),
        ("dask://host", "engine must name a scheduler as dask://host:port, got 'dask://host'"),
        ("dask://host:eight", "engine must name a scheduler as dask://host:port"),
    ],
)
def test_an_engine_that_is_none(engine, message):
    with pytest.raises(SettingError, match=message):
        checked_engine(engine)


def test_workers_elsewhere_are_not_counted_by_n_jobs():
    with pytest.raises(SettingError, match="n_jobs is for workers of this machine, got 2 with engine='dask://a:1'"):
        checked_engine("dask://a:1", 2)


@pytest.mark.parametrize("name", ["numpy", "pandas", "sklearn", "fairprobe", "python"])
def test_a_process_with_another_version_says_so(monkeypatch, name):
    content = processes.as_content(print, "n_jobs=2", "")
    assert processes.task_of(content) is print
    real = processes.versions()
    monkeypatch.setattr(processes, "versions", lambda: {**real, name: "0.0.7"})
    with pytest.raises(RunError, match=rf"a worker must have version {real[name]} of {name}, got 0\.0\.7: install"):
        processes.task_of(content)(0, None, None)
