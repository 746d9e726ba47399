import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.utils.estimator_checks import parametrize_with_checks

from fairprobe.errors import DataError, SettingError
from fairprobe.subjects import FairSVM


@parametrize_with_checks([FairSVM(), FairSVM(sensitive=0, class_weight="balanced")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def biased_data(seed: int, n: int = 60, d: int = 4):
    """Rows whose labels and columns are correlated with column 1, which is 0 or 1; not separable."""
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
    """As `LinearSVC` does, it counts the intercept among the weights."""
    return (w @ w + b * b) / 2 + costs @ np.maximum(0, 1 - signs * (Z @ w + b))


def reference(Z, signs, costs, s):
    """Solve the quadratic program in w, b and one slack a row by sequential least squares."""
    n, d = Z.shape
    bound = np.zeros(d + 1 + n) if s is None else np.concatenate([Z.T @ (s - s.mean()) / n, np.zeros(n + 1)])
    margins = np.column_stack([signs[:, None] * Z, signs, np.eye(n)])
    total = costs.sum()
    result = minimize(
        lambda v: (v[: d + 1] @ v[: d + 1] / 2 + costs @ v[d + 1 :]) / total,
        np.concatenate([np.zeros(d + 1), np.ones(n)]),
        jac=lambda v: np.concatenate([v[: d + 1], costs]) / total,
        bounds=[(None, None)] * (d + 1) + [(0, None)] * n,
        constraints=[
            {"type": "ineq", "fun": lambda v: margins @ v - 1, "jac": lambda v: margins},
            {"type": "ineq", "fun": lambda v: bound @ v, "jac": lambda v: bound},
            {"type": "ineq", "fun": lambda v: -bound @ v, "jac": lambda v: -bound},
        ],
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    assert result.success, result.message
    return result.x[:d], result.x[d]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("sensitive", "C", "weight"), [(1, 1.0, None), (1, 0.05, "balanced"), (None, 0.3, None)])
def test_the_optimum_is_that_of_an_independent_solver(seed, sensitive, C, weight):
    X, y = biased_data(seed)
    model = FairSVM(sensitive, C=C, class_weight=weight, tol=1e-6).fit(X, y)

    scale = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / scale
    signs = np.where(y == "yes", 1.0, -1.0)
    costs = C * np.where(y == "yes", *[len(y) / 2 / (y == c).sum() if weight else 1.0 for c in ("yes", "no")])
    w, b = reference(Z, signs, costs, None if sensitive is None else X[:, 1])

    ours = model.coef_[0] * scale
    reached = objective(ours, model.intercept_[0] + model.coef_[0] @ X.mean(axis=0), Z, signs, costs)
    assert reached == pytest.approx(objective(w, b, Z, signs, costs), rel=1e-4)
    np.testing.assert_allclose(ours, w, atol=2e-2)


def test_scores_do_not_covary_with_the_column_but_labels_change_with_it():
    X, y = biased_data(0, n=300)
    model = FairSVM(1).fit(X, y)
    assert abs(covariance(FairSVM().fit(X, y), X, 1)) > 0.1
    assert covariance(model, X, 1) == pytest.approx(0.0, abs=1e-9)
    assert abs(model.coef_[0, 1]) > 0.1


def test_a_column_named_in_a_frame():
    X, y = biased_data(0)
    frame = pd.DataFrame(X, columns=["age", "sex", "hours", "gain"])
    named = FairSVM("sex").fit(frame, y)
    np.testing.assert_allclose(named.coef_, FairSVM(1).fit(X, y).coef_, rtol=1e-6)
    assert named.feature_names_in_.tolist() == ["age", "sex", "hours", "gain"]


def test_a_constant_sensitive_column_constrains_nothing_and_alone_it_leaves_only_the_intercept():
    X, y = biased_data(0)
    assert FairSVM(0).fit(X[:, 1:2], y).coef_ == pytest.approx(np.zeros((1, 1)), abs=1e-12)
    X[:, 1] = 0.1
    np.testing.assert_array_equal(FairSVM(1).fit(X, y).coef_, FairSVM().fit(X, y).coef_)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sensitive": 4}, "sensitive must be a column's index from 0 to 3, .* got 4"),
        ({"sensitive": -1}, "sensitive must be a column's index from 0 to 3, .* got -1"),
        ({"sensitive": "sex"}, "sensitive must be .* a column's name if fitted on a frame, got 'sex'"),
    ],
)
def test_a_column_that_is_not_there_is_refused(settings, message):
    with pytest.raises(SettingError, match=message):
        FairSVM(**settings).fit(*biased_data(0))


@pytest.mark.parametrize(
    ("labels", "message"), [([0, 1, 2] * 20, "The type of the target is multiclass"), ([0] * 60, "got one class")]
)
def test_only_two_classes(labels, message):
    X, _ = biased_data(0)
    with pytest.raises(DataError, match=message):
        FairSVM().fit(X, labels)
