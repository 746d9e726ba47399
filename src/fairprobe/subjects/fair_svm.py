"""A linear support vector machine whose scores' covariance with a sensitive column is bounded."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from fairprobe.arrays import Floats
from fairprobe.errors import DataError, SettingError
from fairprobe.subjects.hinge import Problem, Solution, solve


class FairSVM(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A linear support vector machine under a bound on covariance, after Zafar et al.

    It minimises ``|w|²/2 + C * sum(class weight * max(0, 1 - y * (w·x + b)))`` subject to
    ``|mean((s - mean(s)) * (w·x + b))| <= covariance_limit``, where s is the sensitive column and the means are over
    the training rows (Zafar, Valera, Gomez Rodriguez, Gummadi: "Fairness Constraints: Mechanisms for Fair
    Classification", AISTATS 2017). The bound is about the training rows taken together. It does not keep one
    person's label from changing with s: the column keeps a weight of its own, which makes up for the columns that
    go along with it.

    Args:
        sensitive: the sensitive column's index, or its name if fitted on a frame; None bounds nothing.
        C: the weight of the hinge loss against the squared norm.
        covariance_limit: the largest covariance allowed, in units of s times units of score.
        class_weight: None, "balanced" or a mapping of classes to weights, as elsewhere in scikit-learn.
        standardize: whether |w|² is that of the weights on columns of mean 0 and deviation 1; otherwise it is that of
            the weights on the columns as they are. `coef_` and `intercept_` are for the columns as they are either way.
        tol: the objective reached is at most this share of it above the optimum, as shown by the duality gap.
        max_iter: steps allowed to the solver, which runs twice if the bound is active.

    Attributes:
        classes_: the two labels; a score above 0 means the second.
        coef_: the weights w, of shape (1, n_features).
        intercept_: b, of shape (1,).
        covariance_: the covariance of the training rows' scores with the sensitive column, or None.
        n_iter_: steps taken by the solver.
    """

    def __init__(
        self,
        sensitive: int | str | None = None,
        *,
        C: float = 1.0,
        covariance_limit: float = 0.0,
        class_weight: Mapping[Any, float] | str | None = None,
        standardize: bool = True,
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        self.sensitive = sensitive
        self.C = C
        self.covariance_limit = covariance_limit
        self.class_weight = class_weight
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any) -> FairSVM:
        """Fit to rows X and their labels y, of two classes."""
        self._check_settings()
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_ = _two_classes(y)
        column = self._sensitive_index()
        signs = np.where(y == self.classes_[1], 1.0, -1.0)
        weights = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        if not (weights > 0).all():
            raise SettingError(f"class_weight must be above 0 for both classes, got {self.class_weight!r}")
        costs = self.C * np.where(signs > 0, weights[1], weights[0])

        varies = np.ptp(X, axis=0) > 0
        centre, scale = X.mean(axis=0), np.where(self.standardize & varies, X.std(axis=0), 1.0)
        rows = (X - centre) / scale
        covariances = None if column is None else rows.T @ _deviations(X[:, column]) / len(X)

        solution = self._solve(rows, signs, costs, covariances)
        self.coef_ = (solution.weights / scale)[np.newaxis, :]
        self.intercept_ = np.array([solution.intercept]) - self.coef_ @ centre
        self.covariance_ = None if covariances is None else float(covariances @ solution.weights)
        self.n_iter_ = solution.n_iter
        return self

    def decision_function(self, X: Any) -> Floats:
        """Give the score w·x + b of each row."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        scores: Floats = X @ self.coef_[0] + self.intercept_[0]
        return scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the label of each row."""
        scores = self.decision_function(X)
        labels: NDArray[Any] = self.classes_[(scores > 0).astype(np.intp)]
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _solve(self, rows: Floats, signs: Floats, costs: Floats, covariances: Floats | None) -> Solution:
        found = solve(Problem(rows, signs, costs, np.ones(len(rows))), tol=self.tol, max_iter=self.max_iter)
        if covariances is not None and abs(covariances @ found.weights) > self.covariance_limit:
            # The problem is convex, so its optimum lies on the bound that the unbounded optimum is beyond. The weights
            # on it are the smallest of them plus any weights orthogonal to that.
            side = float(np.sign(covariances @ found.weights))
            fixed = side * self.covariance_limit * covariances / (covariances @ covariances)
            basis = np.linalg.qr(covariances[:, np.newaxis], mode="complete")[0][:, 1:]
            problem = Problem(rows @ basis, signs, costs, 1.0 - signs * (rows @ fixed), float(fixed @ fixed) / 2)
            bounded = solve(problem, tol=self.tol, max_iter=self.max_iter)
            n_iter, converged = found.n_iter + bounded.n_iter, found.converged and bounded.converged
            found = Solution(fixed + basis @ bounded.weights, bounded.intercept, n_iter, converged)
        if not found.converged:
            warnings.warn(
                f"the solver stopped after {found.n_iter} steps short of tol={self.tol:g}: "
                "increase max_iter or tol, or scale the columns",
                ConvergenceWarning,
                stacklevel=3,
            )
        return found

    def _check_settings(self) -> None:
        rules = {
            "C": ("above 0 and finite", 0 < self.C < np.inf),
            "covariance_limit": ("at least 0", self.covariance_limit >= 0),
            "tol": ("above 0", self.tol > 0),
            "max_iter": ("at least 1", self.max_iter >= 1),
        }
        for name, (rule, kept) in rules.items():
            if not kept:
                raise SettingError(f"{name} must be {rule}, got {getattr(self, name)!r}")

    def _sensitive_index(self) -> int | None:
        if self.sensitive is None:
            return None
        if isinstance(self.sensitive, str):
            names = list(getattr(self, "feature_names_in_", []))
            if self.sensitive in names:
                return names.index(self.sensitive)
        elif isinstance(self.sensitive, numbers.Integral) and 0 <= self.sensitive < self.n_features_in_:
            return int(self.sensitive)
        raise SettingError(
            f"sensitive must be a column's index from 0 to {self.n_features_in_ - 1}, "
            f"or a column's name if fitted on a frame, got {self.sensitive!r}"
        )


def _two_classes(y: NDArray[Any]) -> NDArray[Any]:
    check_classification_targets(y)
    kind = type_of_target(y, input_name="y")
    if kind != "binary":
        raise DataError(f"Only binary classification is supported. The type of the target is {kind}.")
    classes = np.unique(y)
    if len(classes) < 2:
        raise DataError(f"the labels must be of two classes, got one class: {classes[0]!r}")
    return classes


def _deviations(column: Floats) -> Floats:
    """Give what each value is off the mean: exactly nothing for a constant, which rounding may keep from its mean."""
    return column - (column.mean() if np.ptp(column) > 0 else column)
