"""Failures lose nothing and blame no one who is innocent: of the model, of a strategy, of a worker."""

from __future__ import annotations

import pytest

from fairprobe import Domain, Integer, search
from fairprobe.errors import ModelError, RunError
from fairprobe.searching import STRATEGIES, Walk, register
from fairprobe.testing import CountingModel

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
    """Falls over after some trials."""

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
