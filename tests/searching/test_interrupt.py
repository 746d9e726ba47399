"""Ctrl-C at any moment: what was confirmed before is in the result, whoever confirmed it and wherever it ran."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from fairprobe import Domain, Integer, search
from fairprobe.searching import STRATEGIES

# Ctrl-C may strike in a callback of the garbage collector, where Python ignores it with a warning; it strikes again.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

DOMAIN = Domain([*(Integer(f"x{i}", 0, 19) for i in range(5)), Integer("sex", 0, 1)], sensitive=["sex"])
SETTINGS = {"n_walkers": 50, "n_global": 400, "n_local": 20, "shard_inputs": 20_000, "max_cases": None}


def rule(X):
    return (X[:, 0] + X[:, 1] > 18) & ((X[:, 2] > 9) | (X[:, 5] == 1))


def fitted(kind, **options):
    X = DOMAIN.sample(3000, seed=0).to_numpy()
    return kind(random_state=0, **options).fit(X, rule(X))


MODELS = {
    "function": lambda: rule,
    "tree": lambda: fitted(DecisionTreeClassifier),
    "forest": lambda: fitted(RandomForestClassifier, n_estimators=12),
}


def logging(keep, path):
    keep = getattr(keep, "plain", keep)

    def logged(self, confirmed):
        keep(self, confirmed)
        log = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
        os.write(log, "".join(f"{key}\n" for key in confirmed.keys[:, 0].tolist()).encode())
        os.close(log)

    logged.plain = keep
    return logged


def interrupted(seconds, model, **settings):
    """A search, and Ctrl-C after some seconds; None if it was over before."""
    is_over = threading.Event()

    def strike():
        if not is_over.wait(seconds):
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    thread = threading.Thread(target=strike)
    try:
        thread.start()
        found = search(model, DOMAIN, **(SETTINGS | settings))
        is_over.set()
        thread.join()
        return found
    except KeyboardInterrupt:  # before it began, or after it had ended
        return None


def check(tmp_path, seed, latest=0.3):
    rng = np.random.default_rng(seed)
    name = list(MODELS)[seed % len(MODELS)]
    strategy = list(STRATEGIES)[rng.integers(len(STRATEGIES))]
    accelerate = "auto" if rng.random() < 0.5 else "off"
    recorder = sys.modules["fairprobe.searching.recorder"].Recorder
    plain = recorder._keep
    path = str(tmp_path / f"log-{seed}")
    try:
        model = MODELS[name]()
        recorder._keep = logging(plain, path)
        settings = {"strategy": strategy, "accelerate": accelerate, "seed": seed}
        found = interrupted(10 ** rng.uniform(-2.5, latest), model, **settings)
    finally:
        recorder._keep = plain
    if found is None or not os.path.exists(path):
        return 0
    kept = set(map(int, Path(path).read_text().split()))
    keys = sys.modules["fairprobe.store.distinct"].Keys(DOMAIN).of(DOMAIN.encode(found.cases))
    lost = kept - set(keys[:, 0].tolist())
    assert not lost, f"{len(lost)} of {len(kept)} lost: seed {seed}, {name}, {settings}"
    assert str(found.stop_reason) in ("interrupted", "exhausted", "nothing-new")
    return 1


def test_before_the_first_answer():
    def model(X):
        signal.raise_signal(signal.SIGINT)
        return rule(X)

    found = search(model, DOMAIN, **SETTINGS)
    assert (str(found.stop_reason), found.n_cases, found.n_judged) == ("interrupted", 0, 0)


TWO_PROCESSES = """
import sys, time, warnings
warnings.simplefilter("ignore")
from fairprobe import search, testing
from fairprobe.engine import processes
if __name__ == "__main__":
    processes.LOOK_SECONDS = processes.WORTH_SECONDS = 0.0
    box = testing.box(n_free=8, levels=20, low=2, high=15)
    def slow(X):
        time.sleep(0.01)
        return box.model(X)
    def watch(status):
        if status.figures.get("n_judged", 0) > 300:
            print("running", flush=True)
    settings = {"max_cases": None, "n_walkers": 50, "n_global": 300, "shard_inputs": 5000}
    found = search(slow, box.domain, engine=sys.argv[1], n_jobs=2, progress=watch, **settings)
    print(found.stop_reason, found.n_cases > 0, flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are sent the POSIX way")
@pytest.mark.parametrize("engine", ["processes", pytest.param("dask", marks=pytest.mark.slow)])
def test_ctrl_c_reaches_all_processes_and_loses_nothing(engine):
    """Tried in processes of their own, as the signal goes to whoever runs: a terminal sends it to all of them."""
    if engine == "dask":
        pytest.importorskip("distributed")
    process = subprocess.Popen(
        [sys.executable, "-c", TWO_PROCESSES, engine],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout.readline() == "running\n"
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert out.splitlines()[-1] == "interrupted True", err
    assert err == ""


def test_at_some_moments(tmp_path):
    assert sum(check(tmp_path, seed, latest=0.0) for seed in range(9)) >= 3


@pytest.mark.slow
def test_at_many_moments(tmp_path):
    assert sum(check(tmp_path, seed) for seed in range(200)) > 100
