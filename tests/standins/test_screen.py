"""A screen gives the model's own judgements by fewer queries; one label that is not the model's, and it is given up."""

import signal
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from fairprobe import Domain, Integer, search, subjects
from fairprobe.datasets import census_domain
from fairprobe.model.asking import Asker
from fairprobe.oracle import Oracle
from fairprobe.searching.job import Job
from fairprobe.searching.limits import SearchSettings, StopReason
from fairprobe.searching.shard import Quota, run_shard
from fairprobe.searching.strategies.uniform import Uniform
from fairprobe.standins import DisagreementError, Screen
from fairprobe.standins.screen import CHECKED

DOMAIN = Domain([Integer("age", 0, 99), Integer("sex", 0, 1)], sensitive=["sex"])


def model(X: Any) -> Any:
    return (X[:, 0] + 10 * X[:, 1]) >= 50


@dataclass
class Says:
    function: Callable[[Any], Any]
    name: str = "a function"

    def ask_families(self, codes: Any) -> Any:
        return self.function(DOMAIN.families.members(codes)).reshape(2, -1)


def screened(function: Callable[[Any], Any]) -> tuple[Asker, Oracle]:
    asker = Asker(model, DOMAIN)
    return asker, Oracle(Screen(asker, Says(function)))


def batches(n: int, size: int) -> list[Any]:
    rng = np.random.default_rng(1)
    return [DOMAIN.sample_codes(size, rng) for _ in range(n)]


def test_same_judgements_by_few_queries() -> None:
    plain, (asker, screened_oracle) = Oracle(Asker(model, DOMAIN)), screened(model)
    for codes in batches(5, 2000):
        expected, got = plain.judge(codes), screened_oracle.judge(DOMAIN.families.of(codes))
        assert np.array_equal(got.hits, expected.hits)
        assert np.array_equal(got.outputs, expected.outputs)
        assert np.array_equal(got.gaps, expected.gaps)
    assert asker.n_queries == screened_oracle.asker.n_queries == 2 * CHECKED


@pytest.mark.parametrize("function", [lambda X: X[:, 1] > 0, lambda X: X[:, 0] >= 50], ids=["too many", "too few"])
def test_a_stand_in_that_is_wrong_at_once_is_not_used(function: Callable[[Any], Any]) -> None:
    _, oracle = screened(function)
    with pytest.raises(DisagreementError, match="gave another label to"):
        oracle.judge(DOMAIN.families.of(batches(1, 1000)[0]))


def test_small_batches_are_checked_by_one_call() -> None:
    asker, oracle = screened(model)
    calls = []
    ask = asker.function
    asker.function = lambda rows: (calls.append(len(rows)), ask(rows))[1]
    for codes in batches(30, 20):
        oracle.judge(DOMAIN.families.of(codes))
    assert calls == [2 * CHECKED]
    assert asker.n_queries == 2 * CHECKED


@pytest.mark.parametrize("n_batches", [2, 10])
def test_what_waits_to_be_checked_counts_as_asked_and_is_checked_in_the_end(n_batches: int) -> None:
    some = batches(n_batches, 20)
    known = set(some[0][:, 0].tolist())  # wrong about none of the first batch
    asker, oracle = screened(lambda X: np.where(np.isin(X[:, 0], list(known)), model(X), ~model(X)))
    for number, codes in enumerate(some, 1):
        oracle.judge(DOMAIN.families.of(codes))
        assert asker.n_queries == 2 * 20 * number
    with pytest.raises(DisagreementError, match="gave another label to"):
        oracle.asker.finish()  # type: ignore[attr-defined]
    assert asker.n_queries == 2 * 20 * n_batches


def test_an_interruption_before_the_check_keeps_nothing_that_a_liar_said() -> None:
    def liar(X: Any) -> Any:
        n_asked[0] += len(X)
        if n_asked[0] > 2 * 300:
            signal.raise_signal(signal.SIGINT)
        return model(X) if n_asked[0] <= 2 * 100 else X[:, 1] > 0

    n_asked = [0]
    trace = run_shard(job({"accelerate": True}, stand_in=Says(liar), n_global=100), 0, Quota(3000))
    assert trace.ended is StopReason.INTERRUPTED
    assert set(trace.cases.case[:, 0].tolist()) <= set(range(40, 50))


def test_a_model_that_fails_at_the_check_confirms_nothing() -> None:
    def fails(X: Any) -> Any:
        raise ValueError("not today")

    failing = replace(job({"accelerate": True}, n_global=100), model=fails)
    failing.__dict__["stand_in"] = Says(model)
    trace = run_shard(failing, 0, Quota(3000))
    assert trace.ended is StopReason.FAILED
    assert not len(trace.cases)


def job(settings: dict[str, Any], **stand_in: Any) -> Job:
    n_global = stand_in.pop("n_global", 1000)
    chosen = SearchSettings("uniform", 1000, n_global, 10, 0.001, 0.001, 10_000)
    made = Job(model, DOMAIN, chosen, Uniform, "label", None, 0.0, 0, is_repeatable=True, **settings)
    made.__dict__.update(stand_in)  # what is worked out once, put in its place
    return made


def test_a_lie_told_later_makes_no_false_case_and_costs_no_true_one() -> None:
    n_asked = [0]

    def liar(X: Any) -> Any:
        n_asked[0] += len(X)
        return X[:, 1] > 0 if n_asked[0] > 2 * CHECKED else model(X)

    honest = run_shard(job({}), 0, Quota(3000))
    lied = run_shard(job({"accelerate": True}, stand_in=Says(liar)), 0, Quota(3000))
    assert [name for name, _ in lied.remarks] == ["accelerate-off"]
    assert np.array_equal(lied.cases.case, honest.cases.case)
    assert set(lied.cases.case[:, 0].tolist()) == set(range(40, 50))
    assert lied.n_sent > honest.n_sent  # what was asked in vain is counted


LIMITS = [
    {"max_cases": 3000},
    {"max_inputs": 6000},
    pytest.param({"max_cases": 3000, "n_jobs": 2}, marks=pytest.mark.slow),
]


@pytest.mark.parametrize("limits", LIMITS)
def test_a_search_finds_the_same_by_fewer_queries(limits: dict[str, Any]) -> None:
    domain, forest = census_domain(), subjects.load("random-forest")
    options = {"max_cases": None, "shard_inputs": 5000, "n_global": 1000, **limits}
    off = search(forest, domain, accelerate="off", **{**options, "n_jobs": 1})
    auto = search(forest, domain, accelerate="auto", **options)
    assert auto.cases.equals(off.cases)
    assert auto.twins.equals(off.twins)
    assert (auto.n_judged, auto.n_inputs, auto.yield_) == (off.n_judged, off.n_inputs, off.yield_)
    assert auto.n_queries < off.n_queries
    if "n_jobs" in limits:
        alone = search(forest, domain, accelerate="auto", **{**options, "n_jobs": 1})
        assert alone.n_queries == auto.n_queries
