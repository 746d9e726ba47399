from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from fairprobe.errors import DataError, SettingError
from fairprobe.subjects import FairSVM


@parametrize_with_checks([FairSVM(), FairSVM(sensitive=0, covariance_limit=0.5, class_weight="balanced")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def biased_data(seed: int, n: int = 60, d: int = 4):
    """Rows whose labels and columns go along with column 1, which is 0 or 1; not separable."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, n)
    X = rng.normal(size=(n, d)) * np.array([1.0, 1.0, 3.0, 0.5]) + sex[:, None] * np.array([0.8, 0.0, 1.5, -0.2]) + 2.0
    X[:, 1] = sex
    merit = X @ np.array([0.7, 0.8, 0.3, -0.5]) + rng.normal(size=n)
    y = np.where(merit > np.quantile(merit, 0.6), "yes", "no")
    return X, y


def covariance(model, X, column):
    s = X[:, column]
    return float(np.mean((s - s.mean()) * model.decision_function(X)))


def objective(w, b, Z, signs, costs):
    return w @ w / 2 + costs @ np.maximum(0, 1 - signs * (Z @ w + b))


def reference(Z, signs, costs, s, limit):
    """Solve the quadratic program in w, b and one slack a row by sequential least squares."""
    n, d = Z.shape
    a = Z.T @ (s - s.mean()) / n
    margins = np.column_stack([signs[:, None] * Z, signs, np.eye(n)])
    bound = np.concatenate([a, np.zeros(n + 1)])
    total = costs.sum()
    result = minimize(
        lambda v: (v[:d] @ v[:d] / 2 + costs @ v[d + 1 :]) / total,
        np.concatenate([np.zeros(d + 1), np.ones(n)]),
        jac=lambda v: np.concatenate([v[:d], [0.0], costs]) / total,
        bounds=[(None, None)] * (d + 1) + [(0, None)] * n,
        constraints=[
            {"type": "ineq", "fun": lambda v: margins @ v - 1, "jac": lambda v: margins},
            {"type": "ineq", "fun": lambda v: limit - bound @ v, "jac": lambda v: -bound},
            {"type": "ineq", "fun": lambda v: limit + bound @ v, "jac": lambda v: bound},
        ],
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    assert result.success, result.message
    return result.x[:d], result.x[d]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize(("C", "limit", "weight"), [(1.0, 0.0, None), (0.05, 0.02, "balanced"), (10.0, 0.05, None)])
def test_the_optimum_is_that_of_an_independent_solver(seed, standardize, C, limit, weight):
    X, y = biased_data(seed)
    model = FairSVM(1, C=C, covariance_limit=limit, class_weight=weight, standardize=standardize).fit(X, y)

    scale = X.std(axis=0) if standardize else np.ones(X.shape[1])
    Z = (X - X.mean(axis=0)) / scale
    signs = np.where(y == "yes", 1.0, -1.0)
    costs = C * np.where(y == "yes", *[len(y) / 2 / (y == c).sum() if weight else 1.0 for c in ("yes", "no")])
    w, b = reference(Z, signs, costs, X[:, 1], limit)

    ours = model.coef_[0] * scale
    reached = objective(ours, model.intercept_[0] + model.coef_[0] @ X.mean(axis=0), Z, signs, costs)
    assert reached == pytest.approx(objective(w, b, Z, signs, costs), rel=1e-6)
    np.testing.assert_allclose(ours, w, atol=2e-3)


@pytest.mark.parametrize("seed", range(5))
def test_without_a_bound_it_is_a_linear_svm(seed):
    X, y = biased_data(seed, n=200)
    ours = FairSVM(standardize=False, C=0.3).fit(X, y)
    theirs = SVC(kernel="linear", C=0.3, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)
    assert ours.covariance_ is None


@pytest.mark.parametrize("limit", [0.0, 0.01, 0.1, 1.0, 100.0])
def test_the_covariance_is_within_its_limit(limit):
    X, y = biased_data(0, n=300)
    free = covariance(FairSVM().fit(X, y), X, 1)
    model = FairSVM(1, covariance_limit=limit).fit(X, y)
    assert model.covariance_ == pytest.approx(covariance(model, X, 1), abs=1e-9)
    assert model.covariance_ == pytest.approx(min(limit, free), abs=1e-6)


def test_a_negative_covariance_is_bounded_too():
    X, y = biased_data(0)
    X[:, 1] = 1 - X[:, 1]
    assert FairSVM(1, covariance_limit=0.1).fit(X, y).covariance_ == pytest.approx(-0.1)


def test_no_feasible_change_lowers_the_objective():
    X, y = biased_data(3, n=500)
    model = FairSVM(1, C=2.0, standardize=False).fit(X, y)
    signs, costs = np.where(y == "yes", 1.0, -1.0), np.full(len(y), 2.0)
    best = objective(model.coef_[0], model.intercept_[0], X, signs, costs)
    a = X.T @ (X[:, 1] - X[:, 1].mean())
    rng = np.random.default_rng(0)
    for size in (1e-5, 1e-3, 1e-1):
        for _ in range(200):
            change = rng.normal(size=5) * size
            change[:4] -= a * (a @ change[:4]) / (a @ a)
            assert objective(model.coef_[0] + change[:4], model.intercept_[0] + change[4], X, signs, costs) >= best * (
                1 - 1e-8
            )


def test_columns_and_their_units_do_not_matter_when_standardised():
    X, y = biased_data(1)
    model = FairSVM(1).fit(X, y)
    units = np.array([1000.0, 1.0, 0.01, 5.0])
    other = FairSVM(1).fit(X * units + 3.0, y)
    np.testing.assert_allclose(other.decision_function(X * units + 3.0), model.decision_function(X), atol=1e-4)


def test_a_column_named_in_a_frame():
    X, y = biased_data(0)
    frame = pd.DataFrame(X, columns=["age", "sex", "hours", "gain"])
    named = FairSVM("sex").fit(frame, y)
    np.testing.assert_allclose(named.coef_, FairSVM(1).fit(X, y).coef_, rtol=1e-6)
    assert named.feature_names_in_.tolist() == ["age", "sex", "hours", "gain"]


def test_the_label_still_changes_with_the_sensitive_column():
    X, y = biased_data(0, n=300)
    model = FairSVM(1).fit(X, y)
    assert abs(model.coef_[0, 1]) > 0.1


def test_the_sensitive_column_alone_leaves_only_the_intercept():
    X, y = biased_data(0)
    model = FairSVM(0).fit(X[:, 1:2], y)
    assert model.coef_ == pytest.approx(np.zeros((1, 1)), abs=1e-12)


def test_a_constant_sensitive_column_bounds_nothing():
    X, y = biased_data(0)
    X[:, 1] = 0.1
    np.testing.assert_array_equal(FairSVM(1).fit(X, y).coef_, FairSVM().fit(X, y).coef_)
    assert FairSVM(1).fit(X, y).covariance_ == 0.0


def test_separable_rows():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    model = FairSVM(C=1e6, standardize=False).fit(X, [0, 0, 1, 1])
    np.testing.assert_allclose(model.coef_, [[1.0, 0.0]], atol=1e-4)
    np.testing.assert_allclose(model.intercept_, [-1.0], atol=1e-4)


def test_too_few_steps_are_told():
    X, y = biased_data(0)
    with pytest.warns(ConvergenceWarning, match="stopped after 2 steps short of tol=1e-08: increase max_iter"):
        model = FairSVM(max_iter=2).fit(X, y)
    assert model.n_iter_ == 2


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(5))
def test_a_tolerance_beyond_the_precision_spoils_nothing(seed):
    X, y = biased_data(seed)
    model = FairSVM(1, tol=1e-300).fit(X, y)
    np.testing.assert_allclose(model.coef_, FairSVM(1).fit(X, y).coef_, atol=1e-4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"C": 0.0}, "C must be above 0 and finite, got 0.0"),
        ({"C": float("inf")}, "C must be above 0 and finite, got inf"),
        ({"covariance_limit": -0.1}, "covariance_limit must be at least 0, got -0.1"),
        ({"covariance_limit": float("nan")}, "covariance_limit must be at least 0, got nan"),
        ({"tol": 0.0}, "tol must be above 0, got 0.0"),
        ({"max_iter": 0}, "max_iter must be at least 1, got 0"),
        ({"sensitive": 4}, "sensitive must be a column's index from 0 to 3, .* got 4"),
        ({"sensitive": -1}, "sensitive must be a column's index from 0 to 3, .* got -1"),
        ({"sensitive": "sex"}, "sensitive must be .* a column's name if fitted on a frame, got 'sex'"),
        ({"class_weight": {"yes": 0.0, "no": 1.0}}, "class_weight must be above 0 for both classes"),
    ],
)
def test_wrong_settings_are_told_when_fitting(settings, message):
    X, y = biased_data(0)
    with pytest.raises(SettingError, match=message):
        FairSVM(**settings).fit(X, y)


@pytest.mark.parametrize(
    ("labels", "message"), [([0, 1, 2] * 20, "The type of the target is multiclass"), ([0] * 60, "got one class")]
)
def test_only_two_classes(labels, message):
    X, _ = biased_data(0)
    with pytest.raises(DataError, match=message):
        FairSVM().fit(X, labels)
