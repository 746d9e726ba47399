"""What a service is spared: rows that it answered before, and requests of a size that it cannot take."""

import numpy as np
import pandas as pd
import pytest

from fairprobe.model.protocols import Batch
from fairprobe.model.transport import AnswerCache, BatchSize


def ask(cache, rows, function, *, afresh=False):
    """The answers to rows, each by a function, and how many of them were asked for."""
    n = 0

    def answers(places):
        nonlocal n
        n += len(places)
        return [function(rows[place]) for place in places]

    return cache.answer([repr(row).encode() for row in rows], answers, afresh=afresh), n


@pytest.mark.parametrize("capacity", [10_000, 100])
def test_a_row_is_asked_about_once_while_there_is_room(capacity):
    cache, rng = AnswerCache(capacity), np.random.default_rng(3)
    for _ in range(20):
        rows = rng.integers(0, 12, (300, 2)).tolist()
        answers, n = ask(cache, rows, lambda row: row[0] * 100 + row[1])
        assert answers == [row[0] * 100 + row[1] for row in rows]
        assert n <= len(set(map(tuple, rows)))
    assert (n == 0) == (capacity > 144)
    assert len(cache) == min(capacity, 144)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1.0]})),
        (pd.DataFrame({"a": [1, 0]}), pd.DataFrame({"a": [True, False]})),
        (pd.DataFrame({"a": ["1"]}), pd.DataFrame({"a": [1]})),
        (pd.DataFrame({"a": [None, "x"]}), pd.DataFrame({"a": ["None", "x"]})),
        (np.array([[0.0]]), np.array([[5e-324]])),
        (np.array([[1]]), np.array([[5e-324]])),
    ],
)
def test_rows_that_are_sent_differently_are_others(one, other):
    assert Batch(one, as_objects=False).rows[0] != Batch(other, as_objects=False).rows[0]


def test_afresh_all_rows_are_sent_and_another_answer_ends_the_cache():
    cache, rows = AnswerCache(100), list(range(5))
    ask(cache, rows, lambda row: row)
    assert ask(cache, rows, lambda row: row, afresh=True)[1] == 5
    assert ask(cache, rows, lambda row: row)[1] == 0
    assert ask(cache, rows, lambda row: row + 1, afresh=True)[0] == [1, 2, 3, 4, 5]
    answers, n = ask(cache, rows, lambda row: row + 2)
    assert (answers, n, cache.is_off) == ([2, 3, 4, 5, 6], 5, True)


@pytest.mark.parametrize("form", [lambda value: value, lambda value: [value, 1 - value]])
@pytest.mark.parametrize(("factor", "is_other"), [(1 + 1e-12, False), (1 + 1e-4, True)])
def test_rounding_is_no_other_answer(form, factor, is_other):
    cache = AnswerCache(100)
    ask(cache, range(5), lambda row: form(row / 3))
    ask(cache, range(5), lambda row: form(row / 3 * factor), afresh=True)
    assert cache.is_off == is_other


def test_the_batch_grows_while_requests_are_quick():
    def grown(seconds_a_row, n_rows=100_000):
        size = BatchSize()
        for _ in range(20):
            n_sent = len(size.parts(list(range(n_rows)))[0])
            size.answered(n_sent, n_sent * seconds_a_row)
        return size.rows

    assert grown(1e-3) == 512
    assert grown(0.1) == 64
    assert grown(1e-6) == 16_384
    assert grown(1e-6, n_rows=200) == 512
    assert [len(part) for part in BatchSize(100).parts(list(range(250)))] == [83, 83, 84]
