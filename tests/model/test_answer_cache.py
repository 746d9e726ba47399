import numpy as np
import pandas as pd
import pytest

from fairprobe.model.answer_cache import AnswerCache


class Asked:
    """Answers by a function, and counts the rows."""

    def __init__(self, batch, function):
        self.batch, self.function, self.n = batch, function, 0

    def __call__(self, places):
        self.n += len(places)
        rows = self.batch.iloc[places] if hasattr(self.batch, "iloc") else self.batch[places]
        return np.asarray(self.function(rows))


def ask(cache, batch, function, *, afresh=False):
    asked = Asked(batch, function)
    return cache.answer(batch, asked, afresh=afresh), asked.n


def test_a_row_is_asked_about_once():
    cache, rng = AnswerCache(10_000), np.random.default_rng(3)
    for _ in range(20):
        batch = rng.integers(0, 12, (300, 2))
        answers, n = ask(cache, batch, lambda rows: rows[:, 0] * 100 + rows[:, 1])
        assert (answers == batch[:, 0] * 100 + batch[:, 1]).all()
        assert n <= len(np.unique(batch, axis=0))
    assert n == 0
    assert len(cache) == 144


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1.0]})),
        (pd.DataFrame({"a": [1, 0]}), pd.DataFrame({"a": [True, False]})),
        (pd.DataFrame({"a": ["1"]}), pd.DataFrame({"a": [1]})),
        (pd.DataFrame({"a": [1], "b": [2]}), pd.DataFrame({"b": [1], "a": [2]})),
        (pd.DataFrame({"a": [None, "x"]}), pd.DataFrame({"a": ["None", "x"]})),
        (np.array([[0.0]]), np.array([[5e-324]])),
        (np.array([[1]]), np.array([[5e-324]])),
    ],
)
def test_rows_that_are_sent_differently_are_others(one, other):
    cache = AnswerCache(100)
    ask(cache, one, lambda rows: np.arange(len(rows)))
    answers, n = ask(cache, other, lambda rows: 10 + np.arange(len(rows)))
    assert n >= 1
    assert answers[0] == 10


def test_values_that_python_holds_to_be_equal_are_not_mixed_up():
    batch = pd.DataFrame({"a": np.array([1, True, 1.0, "x"], dtype=object)})
    answers, n = ask(AnswerCache(100), batch, lambda rows: [str(value) for value in rows["a"]])
    assert answers.tolist() == ["1", "True", "1.0", "x"]
    assert n == 4


def test_it_is_bounded_and_right_when_full():
    cache, rng = AnswerCache(100), np.random.default_rng(0)
    for _ in range(50):
        batch = rng.integers(0, 40, (80, 2))
        answers, _ = ask(cache, batch, lambda rows: rows.sum(axis=1))
        assert (answers == batch.sum(axis=1)).all()
        assert len(cache) <= 100


def test_text_numbers_and_probabilities():
    batch = np.arange(4)[:, None]
    for function in (
        lambda rows: np.array(["a", "bb", "ccc", "dddd"], dtype=object)[rows[:, 0]],
        lambda rows: np.column_stack([rows[:, 0] / 7, 1 - rows[:, 0] / 7]),
    ):
        cache = AnswerCache(100)
        ask(cache, batch[:2], function)
        answers, n = ask(cache, batch, function)
        assert (answers == function(batch)).all()
        assert n == 2


def test_afresh_all_rows_are_sent_and_another_answer_ends_the_cache():
    cache, batch = AnswerCache(100), np.arange(5)[:, None]
    ask(cache, batch, lambda rows: rows[:, 0])
    assert ask(cache, batch, lambda rows: rows[:, 0], afresh=True)[1] == 5
    assert ask(cache, batch, lambda rows: rows[:, 0])[1] == 0
    answers, _ = ask(cache, batch, lambda rows: rows[:, 0] + 1, afresh=True)
    assert answers.tolist() == [1, 2, 3, 4, 5]
    answers, n = ask(cache, batch, lambda rows: rows[:, 0] + 2)
    assert (answers.tolist(), n, cache.is_off) == ([2, 3, 4, 5, 6], 5, True)


def test_rounding_is_no_other_answer():
    cache, batch = AnswerCache(100), np.arange(5)[:, None]
    ask(cache, batch, lambda rows: rows[:, 0] / 3)
    ask(cache, batch, lambda rows: rows[:, 0] / 3 * (1 + 1e-12), afresh=True)
    assert not cache.is_off
