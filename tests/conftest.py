import gc
import os
import signal
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# NumPy is imported after this. Several processes of two threads each would wait for each other, at a cost of CPU time;
# scripts/test-matrix asks for two.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# The processes that tests start compile the sources once, and not each time anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Where the suite is started in the background Ctrl-C is ignored, and the tests of it would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

# The same examples every time: a failure is a bug of today's change, never luck. scripts/test-slow tries more of them;
# search wider with HYPOTHESIS_PROFILE=wide, which draws other examples each time.
_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
settings.register_profile("fairprobe", deadline=None, derandomize=True, max_examples=20, suppress_health_check=_QUIET)
settings.register_profile("more", deadline=None, derandomize=True, max_examples=200, suppress_health_check=_QUIET)
settings.register_profile("wide", deadline=None, max_examples=2_000, suppress_health_check=_QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fairprobe"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Of a test that is `thinned` the default suite runs every k-th combination: each value, not each with each."""
    for item in items:
        mark = item.get_closest_marker("thinned")
        if mark is not None and sum(item.callspec.indices.values()) % mark.args[0]:
            item.add_marker("slow")


def pytest_collection_finish(session):
    """What was collected stays to the end: to look through it for garbage took a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50, 50)


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory):
    """Fitted subjects are kept for the session, in one folder for all processes of pytest-xdist."""
    if "FAIRPROBE_CACHE" in os.environ:
        yield os.environ["FAIRPROBE_CACHE"]
        return
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "fairprobe-cache"
    os.environ["FAIRPROBE_CACHE"] = str(folder)
    yield str(folder)
    del os.environ["FAIRPROBE_CACHE"]


@pytest.fixture(scope="session", autouse=True)
def fitted_once(cache_folder, tmp_path_factory):
    """A subject that both processes of pytest-xdist want is fitted by one of them, while the other waits."""
    from fairprobe.subjects import fitted

    fit, folder = fitted._fit, Path(cache_folder)

    def fit_or_wait(name, made, rows, labels):
        if os.environ.get("FAIRPROBE_CACHE") != cache_folder:
            return fit(name, made, rows, labels)
        path = fitted.path_for(name, made, rows, labels)
        with locked(folder / f"{name}.lock"):
            model = fitted.read(path, made, rows, labels)
            if model is None:
                model = fit(name, made, rows, labels)
                fitted.write(path, model)
        return model

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitted, "_fit", fit_or_wait)
        yield


@contextmanager
def locked(path):
    """One process at a time, where the system has such locks."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def warm_pools():
    """Processes that tests share; a context in which runs are by them. They are ended when all tests are through."""
    yield warm
    if "warm_workers" in sys.modules:
        sys.modules["warm_workers"].end_all()


@pytest.fixture
def warm_workers(warm_pools):
    """Runs in several processes are by workers that are kept from test to test."""
    with warm_pools():
        yield


@contextmanager
def warm():
    """Inside, what starts worker processes is given those that are kept."""
    from joblib.externals import loky

    from warm_workers import get_executor

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loky, "ProcessPoolExecutor", get_executor)
        for name in ("LOOK_SECONDS", "WORTH_SECONDS"):  # also for what is as short as a test
            patch.setattr(f"fairprobe.engine.processes.{name}", 0.0)
        yield


@pytest.fixture(scope="session")
def census_tree(cache_folder):
    """The decision tree on the encoded census, and its domain."""
    from fairprobe import subjects
    from fairprobe.datasets import census_domain

    return subjects.load("decision-tree"), census_domain()


@pytest.fixture
def undrawn(monkeypatch):
    """Audits draw no pictures, which would take half of their time."""
    monkeypatch.setattr("fairprobe.auditing.content._plots", lambda run: {})


@pytest.fixture(scope="module")
def taken_at_its_word():
    """Models are asked about each input once, as those are that are known to repeat themselves.

    For tests of what is asked and counted; that others are asked about their hits again has tests of its own.
    """
    with pytest.MonkeyPatch.context() as patch:
        for module in ("fairprobe.searching.searching", "fairprobe.estimation.populations"):
            patch.setattr(f"{module}.is_repeatable", lambda model: True)
            patch.setattr(f"{module}.resolution_of", lambda asker, limit=None, rows=None: 0.0)
        yield
