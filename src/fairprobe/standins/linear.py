"""A linear model: its own product, without the checks that take most of the time where few rows are asked about."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairprobe.arrays import Floats
from fairprobe.standins.protocol import Places
from fairprobe.standins.rows import Batch, Rows


def compiled(model: Any, rows: Rows) -> Linear | None:
    """A fitted linear classifier of one label a row."""
    n_classes = len(model.classes_)
    n_scores = len(np.atleast_2d(model.coef_))
    is_plain = np.ndim(model.classes_) == 1 and n_scores == (1 if n_classes == 2 else n_classes)
    return Linear(model) if is_plain else None


class Linear:
    """Scores w·x + b: one whose sign counts, or one for each class."""

    def __init__(self, model: Any) -> None:
        self.name = "linear model"
        self._weights: Floats = model.coef_.T  # as it is: a copy in another order may be summed in another
        self._intercepts = model.intercept_

    def places(self, batch: Batch) -> Places:
        """With the very sums of scikit-learn, on the very rows: in a tie, rounding decides."""
        scores = batch.doubles @ self._weights + self._intercepts
        return np.asarray(scores.argmax(axis=1) if scores.size > len(scores) else scores.ravel() > 0)
