"""Engines: shards in order, whoever runs them."""

from __future__ import annotations

import itertools
import os
import threading
import time

import numpy as np
import pytest
from joblib.externals.loky.process_executor import TerminatedWorkerError

from fairprobe.engine import checked_jobs, make_engine
from fairprobe.errors import RunError, SettingError


def square(shard, seconds, report):
    if report is not None:
        report((shard, 0, 0))
    return shard**2, os.getpid()


def slow_first(shard, seconds, report):
    time.sleep(0.3 if shard == 0 else 0.0)
    return shard


def until_told(shard, seconds, report):
    """Runs until it is told to stop, and says how often it asked."""
    for number in itertools.count():
        if report((number, 0, 0)):
            return shard, number
        time.sleep(0.01)
    raise AssertionError


def failing(shard, seconds, report):
    if shard == 2:
        raise ArithmeticError("two is too many")
    return shard


def dying(shard, seconds, report):
    if shard == 1:
        os._exit(7)
    return shard


@pytest.fixture
def engines():
    made = []

    def make(*arguments):
        made.append(make_engine(*arguments))
        return made[-1]

    yield make
    for engine in made:
        engine.close()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_come_in_order(engines, n_jobs):
    results = list(itertools.islice(engines(square, n_jobs).results(), 7))
    assert [value for value, _ in results] == [0, 1, 4, 9, 16, 25, 36]
    assert (os.getpid() in {pid for _, pid in results}) == (n_jobs == 1)


def as_told(shard, seconds, report):
    return seconds


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_deadline_travels_as_seconds_left(warm_workers, engines, n_jobs):
    left = itertools.count(10, -1)
    results = engines(as_told, n_jobs, None, lambda: next(left)).results()
    assert list(itertools.islice(results, 4)) == [10, 9, 8, 7]
    assert next(engines(as_told, n_jobs).results()) is None


def test_who_finishes_first_does_not_matter(warm_workers, engines):
    assert list(itertools.islice(engines(slow_first, 2).results(), 5)) == [0, 1, 2, 3, 4]


def test_progress_is_told(engines):
    seen = []
    engine = engines(square, 1, seen.append)
    list(itertools.islice(engine.results(), 3))
    assert seen == [[(0, 0, 0)], [(1, 0, 0)], [(2, 0, 0)]]


def test_workers_tell_how_far_they_got_and_hand_over_what_they_have(warm_workers, engines):
    def interrupt(counts):
        if counts[0][0] > 0 and counts[1][0] > 0:
            raise KeyboardInterrupt

    engine = engines(until_told, 2, interrupt)
    with pytest.raises(KeyboardInterrupt):
        next(engine.results())
    finished = engine.finish()
    assert [shard for shard, _ in finished[:2]] == [0, 1]
    assert all(n_reports > 0 for _, n_reports in finished[:2])


def test_a_failing_shard(warm_workers, engines):
    results = engines(failing, 2).results()
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(RunError, match="a shard must not fail, got ArithmeticError: two is too many"):
        next(results)


def test_a_dying_worker(engines):
    results = engines(dying, 2).results()
    with pytest.raises(RunError, match="a worker process must live as long as the run, got one that died"):
        list(itertools.islice(results, 3))


def test_a_worker_that_died_before_a_shard_is_sent(warm_workers, engines, monkeypatch):
    """What was under way before comes out all the same."""
    engine = engines(square, 2)

    def fail(*_):
        raise TerminatedWorkerError("gone")

    results = engine.results()
    assert next(results)[0] == 0
    monkeypatch.setattr(engine._executor, "submit", fail)
    assert [next(results)[0], next(results)[0]] == [1, 4]
    with pytest.raises(RunError, match="a worker process must live as long as the run, got one that died"):
        next(results)


def test_a_task_that_cannot_be_sent():
    lock = threading.Lock()
    with pytest.raises(SettingError, match=r"n_jobs=2 needs a model and constraints that can be sent .*; use n_jobs=1"):
        make_engine(lambda shard, seconds, report: lock, 2)


@pytest.mark.parametrize("n_jobs", [0, -2, 1.5, "2", None, True])
def test_n_jobs_must_be_a_number_of_processes(n_jobs):
    with pytest.raises(SettingError, match="n_jobs must be a whole number of at least 1, or -1 for all cores, got"):
        checked_jobs(n_jobs)


def test_minus_one_is_a_process_for_each_core(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert checked_jobs(-1) == 3
    assert checked_jobs(2) == 2
    assert checked_jobs(np.int64(2)) == 2


class Shelf(dict):
    """Keeps results in memory."""

    def __init__(self, *held):
        super().__init__(held)
        self.saved = []

    def load(self, shard):
        return self.get(shard)

    def save(self, shard, result):
        self.saved.append(shard)
        self[shard] = result


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_is_kept_is_not_run_again_and_what_is_run_is_kept(warm_workers, engines, n_jobs):
    kept = Shelf((0, "zero"), (2, "two"))
    results = engines(slow_first, n_jobs, None, lambda: None, kept).results()
    assert list(itertools.islice(results, 5)) == ["zero", 1, "two", 3, 4]
    assert sorted(kept.saved)[:3] == [1, 3, 4]
    assert {shard: kept[shard] for shard in (1, 3, 4)} == {1: 1, 3: 3, 4: 4}
