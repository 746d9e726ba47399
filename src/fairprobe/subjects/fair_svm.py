"""A linear support vector machine whose scores do not vary with a sensitive column over the training rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from fairprobe.arrays import Floats
from fairprobe.errors import DataError, SettingError


class FairSVM(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A linear support vector machine with a constraint on covariance, after Zafar et al.

    It minimises the hinge loss plus the squared norm of the weights subject to ``mean((s - mean(s)) * score) = 0``. s
    is the sensitive column, and the means are over the training rows. The method is from Zafar, Valera, Gomez
    Rodriguez, Gummadi: "Fairness Constraints: Mechanisms for Fair Classification", AISTATS 2017. Weights that satisfy
    the constraint are orthogonal to one direction, so `LinearSVC` is fitted to the standardised rows with that
    direction projected away.

    The constraint holds for the training rows taken together. It does not keep one person's label from changing with
    s: the column keeps a weight of its own, which offsets the columns that are correlated with it.

    Args:
        sensitive: the sensitive column's index, or its name if fitted on a frame; None for no constraint.
        C: the weight of the hinge loss against the squared norm.
        class_weight: None, "balanced" or a mapping of classes to weights, as elsewhere in scikit-learn.
        tol: the tolerance of `LinearSVC`.
        max_iter: the iterations allowed to `LinearSVC`.

    Attributes:
        classes_: the two labels; a score above 0 means the second.
        coef_: the weights of the columns as they are, of shape (1, n_features).
        intercept_: the intercept, of shape (1,).
        n_iter_: the iterations that `LinearSVC` took.
    """

    def __init__(
        self,
        sensitive: int | str | None = None,
        *,
        C: float = 1.0,
        class_weight: Mapping[Any, float] | str | None = None,
        tol: float = 1e-3,
        max_iter: int = 100_000,
    ) -> None:
        self.sensitive = sensitive
        self.C = C
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any) -> FairSVM:
        """Fit the weights to rows X and their labels y, of two classes, and return the estimator."""
        from sklearn.svm import LinearSVC  # it starts joblib, which changes the environment

        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y")
        if kind != "binary":
            raise DataError(f"Only binary classification is supported. The type of the target is {kind}.")
        if len(np.unique(y)) < 2:
            raise DataError(f"the labels must be of two classes, got one class: {y[0]!r}")
        centre, scale = X.mean(axis=0), np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 1.0)
        projection = _projection((X - centre) / scale, self._sensitive_index())
        machine = LinearSVC(
            loss="hinge", C=self.C, class_weight=self.class_weight, tol=self.tol, max_iter=self.max_iter, random_state=0
        )
        machine.fit((X - centre) / scale @ projection, y)
        self.classes_, self.n_iter_ = machine.classes_, machine.n_iter_
        self.coef_ = machine.coef_ @ projection / scale
        self.intercept_ = machine.intercept_ - self.coef_ @ centre
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return the score of each row: above 0 for the second class."""
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=False) @ self.coef_[0] + self.intercept_[0])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted label of each row."""
        scores = self.decision_function(X)
        return np.asarray(self.classes_[(scores > 0).astype(np.intp)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _sensitive_index(self) -> int | None:
        if self.sensitive is None:
            return None
        columns = [*range(self.n_features_in_), *getattr(self, "feature_names_in_", ())]
        if self.sensitive in columns:  # by either of its two names
            return columns.index(self.sensitive) % self.n_features_in_
        raise SettingError(
            f"sensitive must be a column's index from 0 to {self.n_features_in_ - 1}, "
            f"or a column's name if fitted on a frame, got {self.sensitive!r}"
        )


def _projection(rows: Floats, column: int | None) -> Floats:
    """Return the projection matrix that makes linear scores of standardised rows uncorrelated with a column.

    It is the identity for None and for a constant column.
    """
    identity = np.eye(rows.shape[1])
    if column is None or not np.ptp(rows[:, column]):
        return identity
    covariances = rows.T @ (rows[:, column] - rows[:, column].mean())
    return np.asarray(identity - np.outer(covariances, covariances) / (covariances @ covariances))
