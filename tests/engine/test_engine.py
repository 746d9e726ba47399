"""Engines: shards in order, and models asked as here, whoever runs them. What all must do stands in conformance.py."""

import itertools
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import joblib
import pytest
import sklearn
from joblib import Parallel, delayed
from joblib.externals.loky import reusable_executor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Domain, Integer, search
from fairprobe.engine import processes
from fairprobe.engine.base import Counts, Skipped, checked_engine, make_engine
from fairprobe.engine.processes import AsHere
from fairprobe.errors import RunError, SettingError
from tests.engine.conformance import engine_checks


@pytest.mark.parametrize("options", [{}, {"n_jobs": 2}, {"engine": "processes"}], ids=str)
@pytest.mark.parametrize(("name", "check"), engine_checks())
def test_conformance(warm_workers, options, name, check):
    check(partial(make_engine, **options))


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


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ("dusk", r"must be one of local, processes, dask, or dask://host:port, got 'dusk': did you mean 'dask'\?"),
        ("local://here:1", "engine must be one of .*, got 'local://here:1'"),
        ("dask://", "engine must name a scheduler as dask://host:port, got 'dask://'"),
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


DOMAIN = Domain([*(Integer(name, 0, 30) for name in "abc"), Integer("s", 0, 1)], ["s"])
X = DOMAIN.sample(300, seed=0)
Y = (X["a"] + 5 * X["s"] > 17).astype(int)
SETTINGS = {"max_inputs": 600, "shard_inputs": 200, "n_walkers": 100, "n_global": 150, "n_local": 4, "max_cases": None}


@pytest.fixture(autouse=True)
def settings_of_this_test():
    with sklearn.config_context():
        yield


@pytest.fixture
def at_once(monkeypatch):
    """Processes of ours are started at once, and are those that the package starts itself."""
    for name in ("LOOK_SECONDS", "WORTH_SECONDS"):
        monkeypatch.setattr(f"fairprobe.engine.processes.{name}", 0.0)


def at_leisure(shard, seconds, report):
    """So long that other processes get their part."""
    time.sleep(0.3)


def same(model):
    """Whether two processes find what one does, which here starts no further ones for the model either."""
    one = AsHere(search, shares_cores=True)(model, DOMAIN, **SETTINGS)
    assert one.n_cases > 0
    return one.to_frame().equals(search(model, DOMAIN, n_jobs=2, **SETTINGS).to_frame())


@pytest.mark.slow
def test_our_processes_are_not_those_that_joblib_keeps_for_all(at_once):
    """A model may want them, and would then end a run of ours, or be ended."""
    kept = reusable_executor._executor
    made = make_engine(at_leisure, n_jobs=2, n_shards=6)
    assert len(list(made.results())) == 6
    assert made._pool is not None
    assert reusable_executor._executor is kept
    made.close()


def columns_by_name(frame):
    return frame.assign(both=frame["a"] * frame["s"])


def framed(final):
    sklearn.set_config(transform_output="pandas")
    return make_pipeline(StandardScaler(), FunctionTransformer(columns_by_name), final).fit(X, Y)


def test_settings_in_processes(warm_workers):
    assert same(framed(DecisionTreeClassifier(max_depth=4, random_state=0)))


def told(shard, seconds, report):
    """What a task finds where it runs."""
    names = ("transform_output", "assume_finite", "enable_metadata_routing")
    joined = Parallel(n_jobs=2, backend=None)(delayed(multiprocessing.current_process)() for _ in range(2))
    settings = sklearn.get_config()
    return [settings[name] for name in names], len({each.pid for each in joined}), joblib.effective_n_jobs(3)


@pytest.mark.parametrize("engine", ["processes", pytest.param("dask", marks=pytest.mark.slow)])
def test_what_a_task_finds(warm_workers, engine):
    """Its settings, one process for all that joblib does, and as many parts as were asked for."""
    if engine == "dask":
        pytest.importorskip("distributed")
    sklearn.set_config(transform_output="pandas", assume_finite=True, enable_metadata_routing=True)
    made = make_engine(told, n_jobs=2, engine=engine, n_shards=4)
    sklearn.set_config(transform_output="default")
    results = list(made.results())
    made.close()
    assert results == [(["pandas", True, True], 1, 3)] * 4


@pytest.mark.parametrize(("n_jobs", "expected"), [(None, 1), (3, 3), (-1, joblib.cpu_count())])
def test_jobs_that_share_the_cores(n_jobs, expected):
    assert AsHere(lambda: joblib.effective_n_jobs(n_jobs), shares_cores=True)() == expected
