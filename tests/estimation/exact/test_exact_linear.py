"""Linear classifiers: what is counted by halves is what asking about every input gives."""

import numpy as np
import pytest
from exact_truth import HALF, Sum, assert_counted, assert_sampled, known_as, small_domains, training_rows
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, RidgeClassifierCV, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from fairprobe import Domain, Integer
from fairprobe.estimation.exact import NotSolved, linear, solve, solving
from fairprobe.subjects import FairSVM

SEEDS = st.integers(0, 2**31)


@pytest.fixture(scope="module", autouse=True)
def sum_is_known():
    with known_as(Sum=f"{Sum.__module__}:linear"):
        yield


def estimators():
    return st.sampled_from(
        [
            LogisticRegression(max_iter=10_000),
            LinearSVC(max_iter=100_000, tol=1e-2),
            LinearSVC(fit_intercept=False, max_iter=100_000, tol=1e-2),
            RidgeClassifier(),
            RidgeClassifierCV(),
            SGDClassifier(max_iter=20, tol=None, random_state=0),
            Perceptron(max_iter=20, tol=None, random_state=0),
            FairSVM(),
        ]
    )


@HALF
@given(small_domains(missing=False, with_words=True), estimators(), SEEDS)
def test_linear_behind_preprocessing(domain, estimator, seed):
    X, y = training_rows(domain, seed)
    prepare = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (OneHotEncoder(), make_column_selector(dtype_exclude="number")),
        sparse_threshold=0 if isinstance(estimator, FairSVM) else 1,
    )
    model = make_pipeline(prepare, estimator).fit(X, y)
    solved = solve(model, domain)
    assert_counted(solved, model, domain)
    assert solved.method == "linear"


def tenths():
    """Sums of tenths, of which many would be 0 but for rounding."""
    domain = Domain([Integer(f"x{i}", 0, 9) for i in range(4)] + [Integer("s", 0, 1)], sensitive=["s"])
    return Sum([0.1, 0.2, -0.3, 0.7, -0.4], -0.6), domain


def test_scores_near_zero_are_asked_for_unless_they_are_too_many(monkeypatch):
    model, domain = tenths()
    scores = model.decision_function(np.indices([10] * 4 + [2]).reshape(5, -1).T)
    assert ((np.abs(scores) < 1e-12) & (scores != 0)).sum() > 50
    assert_counted(solve(model, domain), model, domain)
    monkeypatch.setattr(linear, "MAX_NEAR", 20)
    reason = solve(model, domain).reason
    assert "within a rounding error of a score of 0, over the 20 that the model can be asked about" in reason


def test_a_parameter_without_weight_only_multiplies():
    wide = [Integer("id", 0, 10**5), Integer("zip", 0, 10**6)]
    domain = Domain([*wide, Integer("x", 0, 99), Integer("s", 0, 1)], sensitive=["s"])
    solved = solve(Sum([0, 0, 0.3, 1.7], -10), domain)
    above = [{x for x in range(100) if 0.3 * x + 1.7 * s - 10 > 0} for s in (0, 1)]
    assert solved.hits == 2 * len(above[1] - above[0]) * (10**5 + 1) * (10**6 + 1)


def test_halves_of_millions(monkeypatch):
    domain = Domain([Integer(f"x{i}", 0, 9) for i in range(12)] + [Integer("s", 0, 1)], sensitive=["s"])
    model = Sum(np.random.default_rng(0).normal(size=13))
    assert_sampled(solve(model, domain), model, domain)
    monkeypatch.setattr(solving, "MAX_HALF", 999_999)
    assert solve(model, domain) == NotSolved("the halves would have 1,000,000 combinations, over the 999,999 allowed")
