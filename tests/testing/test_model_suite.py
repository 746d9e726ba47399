"""The conformance suite for models passes good ones and finds each fault."""

import itertools

import numpy as np
import pandas as pd
import pytest

from fairprobe import Category, Domain, Integer, Real
from fairprobe.testing import model_contract

DOMAIN = Domain([Integer("age", 17, 90), Integer("hours", 0, 99), Integer("sex", 0, 1)], sensitive=["sex"])
ROWS = DOMAIN.sample(300, seed=0)
GAPPY = [Category("job", ["a", "b"], missing=True), Real("rate", 0, 1, 0.1, missing=True)]
MIXED = Domain([*GAPPY, Category("sex", [0, 1])], ["sex"])


def test_corners_are_asked_about():
    seen = []

    def model(frame):
        seen.append(frame)
        return np.zeros(len(frame))

    model_contract(model, MIXED, batch="frame")
    asked = pd.concat(seen)
    assert asked["job"].isna().any()
    assert asked["rate"].isna().any()
    assert {0.0, 1.0} <= set(asked["rate"])


def counted():
    calls = itertools.count()
    return lambda X: np.full(len(X), next(calls))


def changes_its_batch(X):
    answer = X[:, 0] > 50
    X[:, 0] = 0
    return answer


def ranks(X):
    return X[:, 0] > np.median(X[:, 0])


def first_row_differs(X):
    answer = X[:, 0] > 50
    answer[0] = ~answer[0]
    return answer


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (counted(), "must give the same answer to the same batch, got 0 and 1 for age="),
        (first_row_differs, "must give the same answer to a row wherever it stands in a batch, got"),
        (ranks, "must give the same answer to a row alone and in a batch, got"),
        (changes_its_batch, "must not change the batch it is given"),
    ],
)
def test_faults_are_found(model, message):
    with pytest.raises(AssertionError, match=message):
        model_contract(model, DOMAIN)


def test_scores_may_differ_in_the_last_bits_only():
    def blurred(X, by=1e-9):
        return X[:, 0] / 90 + by * (len(X) == 1)

    model_contract(blurred, DOMAIN, outputs=["score"])
    with pytest.raises(AssertionError, match="the same answer to a row alone and in a batch"):
        model_contract(lambda X: blurred(X, 0.01), DOMAIN, outputs=["score"])
