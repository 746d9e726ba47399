"""Shards on Dask: the same results whatever becomes of the workers, and plain words if the scheduler is gone."""

import contextlib
import logging
import os
import re
import socket
import subprocess
import sys
import threading
import time
from functools import partial

import pytest

from fairprobe import estimate, search, testing
from fairprobe.engine.base import make_engine
from fairprobe.errors import RunError
from tests.engine.conformance import engine_checks

distributed = pytest.importorskip("distributed")

BOX = testing.box(n_free=5, levels=20, low=2, high=12)
SETTINGS = {"max_cases": None, "max_inputs": 6400, "shard_inputs": 800, "n_walkers": 30, "n_global": 200, "n_local": 20}


class Processes:
    """A scheduler and workers as a person would start them, each a process of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.workers = []
        self.scheduler = None
        self.port = free_port()

    @property
    def engine(self):
        return f"dask://127.0.0.1:{self.port}"

    def start_scheduler(self):
        self.scheduler = self._start(
            "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"
        )
        self._until_answers()

    def start_worker(self, **environment):
        module = ("distributed.cli.dask_worker", f"tcp://127.0.0.1:{self.port}", "--nthreads", "1", "--no-nanny")
        worker = self._start(*module, "--no-dashboard", "--local-directory", str(self.folder), **environment)
        self.workers.append(worker)
        return worker

    def _start(self, module, *arguments, **environment):
        return subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            env=os.environ | environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def _until_answers(self):
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return
            time.sleep(0.05)
        raise AssertionError("no scheduler")

    def end(self):
        for process in [*self.workers, self.scheduler]:
            if process is not None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                process.wait()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture(autouse=True)
def quiet_logs():
    """What Dask says of connections that end is no part of a test."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(before)


@pytest.fixture
def cluster(tmp_path):
    processes = Processes(tmp_path)
    processes.start_scheduler()
    yield processes
    processes.end()


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory):
    """For tests that leave them as they were."""
    processes = Processes(tmp_path_factory.mktemp("dask"))
    processes.start_scheduler()
    processes.start_worker()
    processes.start_worker()
    yield processes.engine
    processes.end()


@pytest.mark.parametrize(("name", "check"), engine_checks(), ids=lambda value: value if isinstance(value, str) else "")
def test_conformance(two_workers, name, check):
    check(partial(make_engine, engine=two_workers))


def result(found):
    """All but how long it took."""
    return found.to_frame(), {key: value for key, value in found.jsonable().items() if key != "seconds"}


def same(one, other):
    return one[0].equals(other[0]) and one[1] == other[1]


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_a_cluster_on_this_machine_finds_the_same(n_jobs):
    told = []
    found = search(BOX.model, BOX.domain, engine="dask", n_jobs=n_jobs, progress=told.append, **SETTINGS)
    assert same(result(found), result(search(BOX.model, BOX.domain, **SETTINGS)))
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/status", told[0].figures["dashboard"])


def slow(seconds):
    """A model that takes its time; a function within one, which workers get as it stands."""

    def model(X):
        time.sleep(seconds)
        return BOX.model(X)

    return model


def once_begun(n_judged, action):
    """A progress callback that does something, in a thread of its own, as soon as so much is judged."""
    threads = []

    def watch(status):
        if status.figures.get("n_judged", 0) >= n_judged and not threads:
            threads.append(threading.Thread(target=action))
            threads[0].start()

    return watch, threads


def test_a_cluster_without_workers_and_one_whose_workers_are_all_killed_before_a_new_one_joins(cluster, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("fairprobe.engine.dask.TIMEOUT_SECONDS", 1.0)
        with pytest.raises(RunError, match="a Dask cluster must have a worker within 1 s, got none at"):
            search(BOX.model, BOX.domain, engine=cluster.engine, **SETTINGS)
    workers = [cluster.start_worker(), cluster.start_worker()]

    def act():
        for worker in workers:
            worker.kill()
        for worker in workers:
            worker.wait()
        cluster.start_worker()

    watch, acted = once_begun(900, act)
    model = slow(0.01)
    found = search(model, BOX.domain, engine=cluster.engine, progress=watch, **SETTINGS)
    assert acted
    assert same(result(found), result(search(BOX.model, BOX.domain, **SETTINGS)))


def test_no_scheduler(monkeypatch):
    monkeypatch.setattr("fairprobe.engine.dask.TIMEOUT_SECONDS", 1.0)
    with pytest.raises(RunError, match="a Dask scheduler must answer within 1 s, got no answer from"):
        search(BOX.model, BOX.domain, engine=f"dask://127.0.0.1:{free_port()}", **SETTINGS)


def test_an_estimate_is_the_same(two_workers):
    options = {"method": "sample", "n_experiments": 100}
    one, two = (estimate(BOX.model, BOX.domain, engine=engine, **options) for engine in ("local", two_workers))
    assert {**one.jsonable(), "seconds": 0} == {**two.jsonable(), "seconds": 0}
