"""A screen gives the model's own judgements by fewer queries, and closes at the first label that is not the model's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from fairprobe import Domain, Integer, subjects
from fairprobe.accelerate import compile_twins, quick_asker
from fairprobe.accelerate.screen import CHECKED, Screened
from fairprobe.datasets import census_domain
from fairprobe.model.asking import Asker
from fairprobe.oracle import Oracle

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


def test_same_judgements_by_fewer_queries() -> None:
    plain, screen = Oracle(Asker(model, DOMAIN)), screened(model)
    for codes in batches(5, 2000):
        expected, got = plain.judge(codes), screen.judge(codes)
        assert np.array_equal(got.hits, expected.hits)
        assert np.array_equal(got.outputs, expected.outputs)
        assert np.array_equal(got.gaps, expected.gaps)
    assert screen.disagreement is None
    n_hits = sum(int(plain.judge(codes).hits.sum()) for codes in batches(5, 2000))
    first = plain.judge(batches(1, 2000)[0][:CHECKED]).hits.sum()
    assert screen.asker.n_queries == 2 * (CHECKED + n_hits - first)


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

    plain, screen = Oracle(Asker(model, DOMAIN)), screened(liar)
    first, second, third = batches(3, 1000)
    screen.judge(first)
    lies[0] = True
    assert np.array_equal(screen.judge(second).hits, plain.judge(second).hits)
    assert screen.disagreement is not None
    before = screen.asker.n_queries
    assert np.array_equal(screen.judge(third).hits, plain.judge(third).hits)
    assert screen.asker.n_queries == before + 2 * len(third)


def test_a_model_without_twins_is_asked_as_ever() -> None:
    screen = screened(None)
    for codes in batches(2, 1000):
        screen.judge(codes)
    assert screen.asker.n_queries == 2 * 2 * 1000


def test_a_batch_of_cases_sends_the_next_to_the_model() -> None:
    screen = screened(model)
    cases = np.column_stack([np.full(1000, 45), np.zeros(1000, dtype=np.int64)])
    screen.judge(cases)
    before = screen.asker.n_queries
    screen.judge(batches(1, 1000)[0])
    assert screen.asker.n_queries == before + 2000


def test_quick_asker_answers_as_the_model() -> None:
    domain, forest = census_domain(), subjects.load("random-forest")
    asker = Asker(forest, domain)
    quick = quick_asker(forest, asker)
    assert compile_twins(forest, domain) is not None
    assert quick is not asker
    codes = domain.sample_codes(2000, np.random.default_rng(3))
    assert np.array_equal(quick.ask_families(codes), asker.ask_families(codes))
