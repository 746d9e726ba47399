"""A screen gives the model's own judgements by fewer queries, and closes at the first label that is not the model's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from fairprobe import Domain, Integer, search, subjects
from fairprobe.accelerate import compile_twins, quick_asker
from fairprobe.accelerate.screen import CHECKED, Screened
from fairprobe.datasets import census_domain
from fairprobe.errors import SettingError
from fairprobe.model.asking import Asker
from fairprobe.oracle import Oracle
from fairprobe.search.recorder import Recorder

DOMAIN = Domain([Integer("age", 0, 99), Integer("sex", 0, 1)], sensitive=["sex"])


def model(X: Any) -> Any:
    """Discriminates at ages 40 to 49."""
    return (X[:, 0] + 10 * X[:, 1]) >= 50


@dataclass
class Says:
    """Twins that say what a function says."""

    function: Callable[[Any], Any]
    name: str = "a function"

    def ask_families(self, codes: Any) -> Any:
        return self.function(DOMAIN.families(codes)).reshape(2, -1)


def screened(function: Callable[[Any], Any] | None) -> Screened:
    return Screened(Asker(model, DOMAIN), None, lambda: None if function is None else Says(function))


def batches(n: int, size: int) -> list[Any]:
    rng = np.random.default_rng(1)
    return [DOMAIN.sample_codes(size, rng) for _ in range(n)]


def test_same_judgements_by_few_queries() -> None:
    plain, screen = Oracle(Asker(model, DOMAIN)), screened(model)
    for codes in batches(5, 2000):
        expected, got = plain.judge(codes), screen.judge(codes)
        assert np.array_equal(got.hits, expected.hits)
        assert np.array_equal(got.outputs, expected.outputs)
        assert np.array_equal(got.gaps, expected.gaps)
    assert screen.disagreement is None
    assert screen.asker.n_queries == 2 * CHECKED


@pytest.mark.parametrize("function", [lambda X: X[:, 1] > 0, lambda X: X[:, 0] >= 50], ids=["too many", "too few"])
def test_twins_that_are_wrong_at_once_are_not_used(function: Callable[[Any], Any]) -> None:
    plain, screen = Oracle(Asker(model, DOMAIN)), screened(function)
    for codes in batches(3, 1000):
        assert np.array_equal(screen.judge(codes).hits, plain.judge(codes).hits)
    assert "gave another label" in str(screen.disagreement)
    assert screen.asker.n_queries == plain.asker.n_queries


def test_a_lie_told_later_makes_no_false_case_and_closes_the_screen() -> None:
    lies = [False]

    def liar(X: Any) -> Any:
        return X[:, 1] > 0 if lies[0] else model(X)

    screen = screened(liar)
    recorder = Recorder(screen, None)
    first, second, third = batches(3, 1000)
    recorder.add(screen.judge(first))
    recorder.flush()
    lies[0] = True
    recorder.add(screen.judge(second))
    assert recorder.n_new() == 10
    assert screen.disagreement is not None
    before = screen.asker.n_queries
    recorder.add(screen.judge(third))
    assert screen.asker.n_queries == before + 2 * len(third)
    cases = recorder.trace(0, None, None).cases.case
    assert set(cases[:, 0].tolist()) == set(range(40, 50))


def test_each_family_is_confirmed_once() -> None:
    screen = screened(model)
    recorder = Recorder(screen, None)
    for codes in batches(20, 1000):
        recorder.add(screen.judge(codes))
    trace = recorder.trace(0, None, None)
    assert len(trace.cases) == 10
    assert trace.n_sent == 2 * (CHECKED + 10)
    assert trace.n_queries(trace.n_judged) == trace.n_sent
    assert trace.n_queries(1) == 2 * (CHECKED + np.sum(trace.confirmed < 1000))


def test_a_model_without_twins_is_asked_as_ever() -> None:
    screen = screened(None)
    for codes in batches(2, 1000):
        screen.judge(codes)
    assert screen.asker.n_queries == 2 * 2 * 1000


@pytest.mark.parametrize("limits", [{"max_cases": 3000}, {"max_inputs": 12_000}, {"max_cases": 3000, "n_jobs": 2}])
def test_a_search_finds_the_same_by_fewer_queries(limits: dict[str, Any]) -> None:
    domain, forest = census_domain(), subjects.load("random-forest")
    options = {"max_cases": None, "shard_inputs": 5000, "n_global": 1000, **limits}
    off = search(forest, domain, accelerate="off", **options)
    auto = search(forest, domain, accelerate="auto", **options)
    assert auto.cases.equals(off.cases)
    assert auto.twins.equals(off.twins)
    assert (auto.n_judged, auto.n_inputs, auto.yield_) == (off.n_judged, off.n_inputs, off.yield_)
    assert auto.n_queries < off.n_queries
    alone = search(forest, domain, accelerate="auto", **{**options, "n_jobs": 1})
    assert alone.n_queries == auto.n_queries


def test_a_limit_on_queries_asks_the_model_alone() -> None:
    domain, forest = census_domain(), subjects.load("random-forest")
    counting = [
        search(forest, domain, max_queries=20_000, n_global=1000, accelerate=accelerate).n_judged
        for accelerate in ("auto", "off")
    ]
    assert counting[0] == counting[1] == 10_000


def test_accelerate_is_auto_or_off() -> None:
    with pytest.raises(SettingError, match="accelerate must be one of auto, off, got 'on'"):
        search(model, DOMAIN, accelerate="on")


def test_quick_asker_answers_as_the_model() -> None:
    domain, forest = census_domain(), subjects.load("random-forest")
    asker = Asker(forest, domain)
    quick = quick_asker(forest, asker)
    assert compile_twins(forest, domain) is not None
    assert quick is not asker
    codes = domain.sample_codes(2000, np.random.default_rng(3))
    assert np.array_equal(quick.ask_families(codes), asker.ask_families(codes))


def test_a_model_that_refuses_no_rows_is_not_asked_about_none() -> None:
    """Where few cases are left, all that is proposed was proposed before."""

    def refusing(X: Any) -> Any:
        assert len(X), "as scikit-learn does"
        return model(X)

    screen = Screened(Asker(refusing, DOMAIN), None, lambda: Says(model))
    recorder = Recorder(screen, None)
    codes = DOMAIN.sample_codes(2000, np.random.default_rng(0))
    for _ in range(2):
        recorder.add(screen.judge(codes))
        assert not recorder.has_found(11)
        assert recorder.n_new() == 10
