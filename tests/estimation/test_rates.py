"""Rates of the favourable outcome by combination of sensitive values: counts, intervals, weights, missing members."""

import math

import numpy as np
import pandas as pd
import pytest

from fairprobe.estimation.counts import RowAnswers
from fairprobe.estimation.rates import rates_of

WORDS = ("sex=Female", "sex=Male")


def answers_of(outputs, present=None, words=WORDS):
    outputs = np.asarray(outputs)
    n = outputs.shape[1]
    present = np.ones(outputs.shape, dtype=bool) if present is None else np.asarray(present)
    return RowAnswers(pd.RangeIndex(n), np.arange(n), words, outputs, present)


def test_a_rate_is_the_fraction_of_rows_that_would_get_the_outcome():
    answers = answers_of([["no", "yes", "no", "no"], ["yes", "yes", "no", "yes"]])
    table = rates_of(answers, answers.outputs == "yes", 0.95)
    assert list(table.columns[:5]) == ["combination", "rate", "difference", "low", "high"]
    assert table["combination"].tolist() == list(WORDS)
    assert table["rate"].tolist() == [0.25, 0.75]
    assert table["difference"].tolist() == [-0.5, 0.0]
    assert table["low"][0] < -0.5 < table["high"][0]
    assert (table["low"][1], table["high"][1]) == (0.0, 0.0)


def test_a_difference_is_about_the_rows_that_can_have_both():
    outputs = [["yes", "no", "no", "no"], ["no", "yes", "yes", "no"]]
    present = [[True, True, False, True], [True, True, True, True]]
    table = rates_of(answers_of(outputs, present), np.asarray(outputs) == "yes", 0.95)
    assert table["rate"].tolist() == [pytest.approx(1 / 3), 0.5]
    assert table["n"].tolist() == [3, 4]
    assert table["difference"].tolist() == [0.0, 0.0]  # of the three rows, one only as a woman and one only as a man


def test_training_rows_have_no_interval_and_an_absent_combination_no_rate():
    outputs = np.array([["yes", "no"], ["no", "no"], ["no", "no"]])
    present = np.array([[True, True], [True, True], [False, False]])
    table = rates_of(answers_of(outputs, present, (*WORDS, "sex=Other")), outputs == "yes", 0.95, is_count=True)
    assert math.isnan(table["rate"][2])
    assert math.isnan(table["difference"][2])
    assert table[["low", "high"]].isna().all(axis=1).tolist() == [False, True, True]


@pytest.mark.parametrize("design", ["alike", "weights", "groups"])
def test_the_interval_holds_the_true_difference(design):
    """Three combinations, of which two are equally good: the best is chosen by the data."""
    rng, misses, n, n_runs = np.random.default_rng(5), 0, 240, 60
    for _ in range(n_runs):
        person = rng.random(n)
        groups = None
        if design == "groups":
            groups = np.arange(n) // 4
            person = rng.random(n // 4)[groups]
        outputs = np.stack([person < 0.3, person < 0.4, person > 0.6])
        weights = rng.exponential(size=n) if design == "weights" else None
        table = rates_of(answers_of(outputs, words=("a", "b", "c")), outputs, 0.9, weights=weights, groups=groups)
        best = table["difference"].idxmax()
        truth = np.array([0.3, 0.4, 0.4]) - [0.3, 0.4, 0.4][best]
        misses += not ((table["low"] <= truth) & (truth <= table["high"])).all()
    assert misses <= 12  # expected at most 6; above 12 has a chance of under 1%
