"""What is asked again on purpose is asked of the model itself, past a cache; nothing is said of one that wavers."""

import warnings

import numpy as np
import pandas as pd
import pytest
from serving import Served, serving

import fairprobe
from fairprobe import Category, Domain, Integer
from fairprobe.errors import HealthWarning
from fairprobe.explanation import repair, shrink
from fairprobe.model.remote import connect
from fairprobe.replaying import CaseStatus, replay

DOMAIN = Domain([Integer("age", 17, 90), Integer("hours", 1, 99), Category("sex", ["F", "M"])], sensitive=["sex"])
CASES = DOMAIN.sample(40, seed=3)
ROWS = DOMAIN.sample(60, seed=4)
STOCHASTIC = "stochastic-model"


def flips(frame):
    return np.where((frame["age"] > 50) == (frame["sex"] == "M"), "yes", "no")


@pytest.fixture
def coin():
    """A service that draws its answers, of which all about the cases is remembered."""
    rng = np.random.default_rng(0)
    with serving(Served(lambda frame: rng.choice(["yes", "no"], len(frame)))) as served:
        remote = connect(served.url, protocol="mlflow")
        remote.predict(pd.concat([CASES.assign(sex=sex) for sex in "FM"]))
        yield remote


@pytest.fixture
def steady():
    """What serves `flips`, and the model behind its address."""
    with serving(Served(flips)) as served:
        yield served, connect(served.url, protocol="mlflow")


def test_a_coin_is_not_explained_shrunk_or_repaired_without_a_word(coin):
    made = [
        fairprobe.explain(CASES, coin, domain=DOMAIN, max_queries=20_000),
        shrink(CASES, coin, DOMAIN, towards=ROWS, max_queries=20_000),
        repair(CASES, coin, DOMAIN, max_queries=20_000),
    ]
    for each in made:
        assert STOCHASTIC in dict(each.health)
        assert "cases-gone" not in dict(each.health)


def test_cases_that_are_none_any_more_are_asked_twice_too():
    """A single answer in 80 is another one the second time: then nothing says that the others were fixed."""
    answers = iter([np.full(80, "no"), np.array(["no"] * 79 + ["yes"])])
    result = replay(CASES, lambda frame: next(answers), DOMAIN)
    assert result.n(CaseStatus.UNSURE) == len(CASES)


def test_what_a_service_repeats_holds_until_the_service_changes(steady):
    """Nothing that it said before is used, though all cases are remembered as cases."""
    served, remote = steady
    with warnings.catch_warnings():
        warnings.simplefilter("error", HealthWarning)
        assert replay(CASES, remote, DOMAIN).n(CaseStatus.HOLDS) == len(CASES)
    sent = remote.n_sent
    assert replay(CASES, remote, DOMAIN).n(CaseStatus.HOLDS) == len(CASES)
    assert remote.n_sent - sent == 2 * 2 * len(CASES)
    served.predict = lambda frame: np.full(len(frame), "no")
    assert replay(CASES, remote, DOMAIN).n(CaseStatus.FIXED) == len(CASES)


def test_what_is_remembered_is_contradicted_by_a_service_that_changed(steady):
    served, remote = steady
    assert fairprobe.estimate(remote, DOMAIN, ROWS).hits == len(ROWS)
    served.predict = lambda frame: np.full(len(frame), "no")
    assert fairprobe.estimate(remote, DOMAIN, ROWS).has(STOCHASTIC)
