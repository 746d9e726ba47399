"""In threads and processes of ours a model is asked as it is here: by scikit-learn's settings, and joblib's."""

from __future__ import annotations

import multiprocessing
import time

import joblib
import pytest
import sklearn
from joblib import Parallel, delayed
from joblib.externals.loky import reusable_executor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Domain, Integer, search
from fairprobe.engine.base import make_engine
from fairprobe.engine.processes import AsHere

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


def test_settings_in_threads():
    assert same(framed(SVC(gamma=1.0)))


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
