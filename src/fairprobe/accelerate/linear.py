"""A linear model: the sensitive columns' part of a score is the same for all inputs, so it is added last."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.accelerate.close import decide, rounding
from fairprobe.accelerate.product import product
from fairprobe.accelerate.rows import Batch, Floats, Rows


def evaluator(model: Any, rows: Rows) -> Linear | None:
    """A fitted linear classifier, compiled."""
    weights = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    intercepts = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), len(weights))
    n_classes = len(model.classes_)
    is_plain = np.ndim(model.classes_) == 1 and len(weights) == (1 if n_classes == 2 else n_classes)
    return Linear(weights, intercepts, rows) if is_plain else None


class Linear:
    """Scores w·x + b: one whose sign counts, or one for each class."""

    def __init__(self, weights: Floats, intercepts: Floats, rows: Rows) -> None:
        self.name = "linear model"
        self._weights = np.ascontiguousarray(np.transpose(weights))
        self._intercepts = intercepts
        self._error = rounding(np.abs(rows.spans).max(axis=0), self._weights, intercepts)
        self._parts = rows.twins @ self._weights[rows.sensitive] + intercepts

    def positions(self, batch: Batch) -> NDArray[Any]:
        """By the sign, or the class of the highest score."""
        scores = self._parts[:, None, :] + product(batch.numbers, self._weights)
        found, unsure = decide(scores, self._error)
        if len(unsure[0]):
            found[unsure] = self._as_fitted(batch.whole(*unsure))
        return found

    def _as_fitted(self, rows: Floats) -> NDArray[Any]:
        """With the sums of scikit-learn: in a tie, rounding decides."""
        return decide(rows @ self._weights + self._intercepts, self._error)[0]
