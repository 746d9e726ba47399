"""The result depends on the seed and the settings alone, and failures lose nothing and blame no one who is innocent."""

import hashlib
import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from fairprobe import Domain, Integer, search, testing
from fairprobe.errors import HealthWarning, ModelError, RunError
from fairprobe.searching import STRATEGIES, Walk, register
from fairprobe.searching import run as running
from fairprobe.testing import CountingModel

pytestmark = pytest.mark.usefixtures("taken_at_its_word")

BOX = testing.box(n_free=5, levels=20, low=2, high=12)


def digest(found):
    """A fingerprint of everything but the seconds."""
    frame = found.to_frame()
    summary = {key: value for key, value in found.jsonable().items() if key != "seconds"}
    content = frame.to_csv() + str(frame.dtypes.to_dict()) + json.dumps(summary, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def run(model, domain, **settings):
    return search(
        model, domain, **{"n_walkers": 30, "n_global": 200, "n_local": 20, "seed": 1, "max_cases": None} | settings
    )


SHARDED = {
    "inputs": {"max_inputs": 5300, "shard_inputs": 1000},
    "cases": {"max_cases": 900, "shard_inputs": 700},
    "queries": {"max_queries": 9001, "shard_inputs": 1000},
    "together": {"max_cases": 2000, "max_inputs": 4321, "max_queries": 8001, "max_barren": 400, "shard_inputs": 900},
}

CUT = Domain(BOX.domain.parameters, ["group"], [lambda rows: (rows["x0"] < 15) | (rows["group"] == 0)])
"""Families differ in size, so only the shards before tell how many queries are left."""


@pytest.mark.parametrize("domain", [BOX.domain, CUT], ids=["all", "constrained"])
@pytest.mark.parametrize("limits", SHARDED)
@pytest.mark.thinned(2)
def test_two_processes_give_the_same_bytes(warm_workers, limits, domain):
    one, two = (run(BOX.model, domain, n_jobs=n_jobs, **SHARDED[limits]) for n_jobs in (1, 2))
    assert one.n_cases > 100
    assert one.n_queries <= SHARDED[limits].get("max_queries", np.inf)
    assert digest(one) == digest(two)


def test_a_lambda_over_a_frame_a_constraint_and_keys_past_64_bits_in_two_processes(warm_workers):
    toy = testing.loans()
    wide = [Integer(f"x{i}", 1, 10**9) for i in range(8)]
    domain = Domain([*toy.domain.parameters, *wide], ["sex"], [lambda rows: rows["age"] > 24])
    assert domain.families.n_keys > 2**64
    names = list(toy.domain.names)
    model = lambda frame: toy.model(frame[names])  # noqa: E731
    rows = domain.sample(300, seed=3)
    how = {"max_inputs": 1500, "shard_inputs": 400, "strategy": "semi-directed", "start": rows}
    one, two = (run(model, domain, n_jobs=n_jobs, **how) for n_jobs in (1, 2))
    assert one.n_cases > 10
    assert digest(one) == digest(two)


def test_no_worker_is_left_behind_when_the_progress_callback_fails(warm_workers, monkeypatch):
    executor, ended = sys.modules["warm_workers"].WarmExecutor, []
    shutdown = executor.shutdown
    monkeypatch.setattr(executor, "shutdown", lambda self, **how: ended.append(how) or shutdown(self, **how))

    def slow(X):
        time.sleep(0.01)
        return BOX.model(X)

    def broken(status):
        raise ArithmeticError("no progress")

    with pytest.raises(ArithmeticError, match="no progress"):
        run(slow, BOX.domain, n_jobs=2, progress=broken, shard_inputs=5000)
    assert [how["wait"] for how in ended] == [True]


SCRIPT = """
import sys
import time
sys.path.insert(0, {folder!r})
from test_processes import digest, run
from fairprobe import testing
for name in ("loans", "proba", "box"):
    toy = dict(testing.all_toys())[name]
    print(digest(run(toy.model, toy.domain, max_inputs=2000, shard_inputs=700, **toy.settings)))
"""


def test_another_hash_seed_gives_the_same_bytes():
    script = SCRIPT.format(folder=os.path.dirname(__file__))
    command, options = [sys.executable, "-c", script], {"capture_output": True, "text": True, "check": True}
    each = (os.environ | {"PYTHONHASHSEED": seed} for seed in ("1", "4242"))
    outputs = [subprocess.run(command, env=env, **options).stdout for env in each]
    assert outputs[0] == outputs[1]
    assert len(set(outputs[0].split())) == 3


def raises_on_a_rare_family(X):
    """Raises on one family in 400, so that it takes a while to meet one."""
    if ((X[:, 0] == 3) & (X[:, 1] == 17)).any():
        raise RuntimeError("three and seventeen")
    return BOX.model(X)


def test_a_failing_model_keeps_what_was_found(warm_workers):
    """A failure that comes after a limit is none."""
    settings = {"shard_inputs": 500, "n_global": 30, "n_walkers": 10, "seed": 4, "strategy": "fully-directed"}
    whole, results = run(BOX.model, BOX.domain, max_inputs=30_000, **settings), []
    for n_jobs in (1, 2):
        with pytest.raises(ModelError, match="got RuntimeError: three and seventeen; for x0=3, x1=17, ") as error:
            run(raises_on_a_rare_family, BOX.domain, n_jobs=n_jobs, max_inputs=30_000, **settings)
        found = error.value.found
        assert found.stop_reason == "failed"
        assert 0 < found.n_cases < whole.n_cases
        assert found.n_judged > 500  # more than one shard
        assert found.to_frame().equals(whole.to_frame().head(found.n_cases))
        before = run(raises_on_a_rare_family, BOX.domain, n_jobs=n_jobs, max_cases=found.n_cases - 5, **settings)
        results.append((str(error.value), digest(found), digest(before)))
    assert results[0] == results[1]


def test_a_constraint_that_fails_midway():
    calls = []

    def tired(rows):
        calls.append(len(rows))
        if len(calls) > 40:
            raise OSError("no more")
        return np.ones(len(rows), dtype=bool)

    domain = Domain(BOX.domain.parameters, ["group"], [tired])
    with pytest.raises(RunError, match="constraint tired raised OSError: no more") as caught:
        run(BOX.model, domain, n_global=100)
    assert caught.value.found.n_cases > 0


@pytest.mark.parametrize("shard", [0, 2])
def test_a_shard_that_keeps_failing_is_left_out(monkeypatch, shard):
    run_shard = running.run_shard
    monkeypatch.setattr(running, "run_shard", lambda job, n, *rest: 1 / 0 if n == shard else run_shard(job, n, *rest))
    settings = {"max_inputs": 1600, "shard_inputs": 400, "n_global": 20, "n_walkers": 10}
    with pytest.warns(HealthWarning, match=f"incomplete: .* shard {shard} failed 3 times: ZeroDivisionError"):
        found = run(BOX.model, BOX.domain, **settings)
    assert (found.stop_reason, found.n_judged) == ("incomplete", 1200)


DOMAIN = Domain([Integer("age", 0, 99), Integer("years", 0, 99), Integer("sex", 0, 1)], sensitive=["sex"])
SETTINGS = {"max_cases": None, "max_inputs": 8000, "n_walkers": 100, "n_global": 1000, "n_local": 20}


def model(X):
    return (X[:, 0] > 40) & (X[:, 2] == 1)


class FailsOnce:
    """Fails in its third call and never again."""

    def __init__(self):
        self.calls = 0

    def __call__(self, X):
        self.calls += 1
        if self.calls == 3:
            raise ConnectionError("try again")
        return model(X)


def test_a_model_that_fails_once_blames_no_row():
    with pytest.raises(ModelError) as caught:
        search(FailsOnce(), DOMAIN, **SETTINGS)
    message = str(caught.value)
    assert "ConnectionError: try again" in message
    assert "no single row is to blame" in message
    assert "age=" not in message
    assert caught.value.found.n_cases > 0


@pytest.mark.parametrize("limit", [2000, 4500, 10_000])
def test_the_look_for_the_guilty_row_keeps_to_the_limit(limit):
    class Refuses(CountingModel):
        def predict(self, X):
            labels = super().predict(X)
            if (X[:, 0] == 77).any():
                raise KeyError("no such person")
            return labels

    counted = Refuses(model)
    with pytest.raises(ModelError):
        search(counted, DOMAIN, **(SETTINGS | {"max_queries": limit}))
    assert counted.n_rows <= limit


class Clumsy(Walk):
    def learn(self, chosen, down, hits):
        self.n_trials = getattr(self, "n_trials", 0) + 1
        if self.n_trials > 5:
            raise ZeroDivisionError("oops")


class Late(Walk):
    """Raises what an engine could take for its own."""

    def learn(self, chosen, down, hits):
        raise TimeoutError("not the engine's")


@pytest.fixture
def strategies():
    register("clumsy", f"{__name__}:Clumsy")
    register("late", f"{__name__}:Late")
    yield
    del STRATEGIES["clumsy"], STRATEGIES["late"]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(("strategy", "error"), [("clumsy", "ZeroDivisionError: oops"), ("late", "TimeoutError: not")])
def test_a_strategy_that_fails_loses_nothing(warm_workers, strategies, strategy, error, n_jobs):
    """With two processes just as with one; and an error that looks like one of waiting is not waited for."""
    with pytest.raises(RunError, match=error) as caught:
        search(model, DOMAIN, strategy=strategy, n_jobs=n_jobs, **SETTINGS)
    assert caught.value.found.n_cases > 100
