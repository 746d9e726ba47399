"""Runs by copies of this process, which has no threads as those of pytest have: `python copied_run.py WHAT [STORE]`."""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import time
import warnings
from functools import partial

import numpy as np
from conformance import engine_checks
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Domain, Integer, estimate, search
from fairprobe.engine import Counts, Skipped, make_engine, processes

DOMAIN = Domain([*(Integer(f"x{i}", 0, 19) for i in range(5)), Integer("group", 0, 1)], sensitive=["group"])
SETTINGS = {"max_cases": None, "max_barren": None, "shard_inputs": 50_000, "max_inputs": 1_000_000}


def tree():
    rng = np.random.default_rng(0)
    X = DOMAIN.sample(4000, seed=1).to_numpy()
    return DecisionTreeClassifier(random_state=0).fit(X, (X[:, 0] + 3 * X[:, 5] + rng.normal(size=4000) > 12))


def say(*words):
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def started():
    """The processes that are copies of this one."""
    return multiprocessing.active_children()


def check_conformance():
    def reporting(task, shard, seconds, report):
        report(Counts(0, 0, 0))
        time.sleep(0.02)
        return task(shard, seconds, report)

    def make(task, **options):
        return make_engine(partial(reporting, task), 3, may_copy=True, **options)

    for name, check in engine_checks():
        check(make)
        say(name)
    engine = make(odd, n_shards=4)
    results = list(engine.results())
    engine.close()
    assert [isinstance(each, Skipped) for each in results] == [False, False, True, False]


class OddError(Exception):
    """One that can be sent, but not received."""

    def __init__(self, one, other):
        super().__init__("odd")


def odd(shard, seconds, report):
    if shard == 2:
        raise OddError(1, 2)
    return shard


def check_same(*, kills=False):
    """What is found is the same with copies, of which there are two."""
    seen = set()

    def watch(status):
        for copy in started():
            if kills and not seen:
                copy.kill()
            seen.add(copy.pid)

    one = search(tree(), DOMAIN, **SETTINGS)
    found = search(tree(), DOMAIN, n_jobs=3, progress=watch, **SETTINGS)
    assert len(seen) == 2 or (kills and len(seen) > 2), seen  # those that take the place of the dead are others
    assert found.to_frame().equals(one.to_frame())
    assert {**found.summary(), "seconds": 0} == {**one.summary(), "seconds": 0}
    assert kills or not started()
    with tempfile.TemporaryDirectory() as folder:
        settings, store = {"method": "sample", "n_experiments": 1000}, f"{folder}/run"
        runs = ((1, None), (3, None), (3, store), (1, store))
        shares = [estimate(tree(), DOMAIN, n_jobs=n, store=at, **settings) for n, at in runs]
    assert len({str({**share.summary(), "seconds": 0}) for share in shares}) == 1
    say("same")


def check_killed():
    """The same with one that is killed."""
    check_same(kills=True)


def check_long():
    """For ever, with the processes told."""

    def watch(status):
        if len(started()) == 2:
            say(*(copy.pid for copy in started()))

    found = search(tree(), DOMAIN, n_jobs=3, progress=watch, **SETTINGS | {"max_inputs": None}, store=sys.argv[2])
    say(found.stop_reason, found.n_cases > 0)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    processes.WORTH_COPYING = 0.0
    globals()[f"check_{sys.argv[1]}"]()
