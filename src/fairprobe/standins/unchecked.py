"""Trees, linear models and networks: scikit-learn's own arithmetic to the last bit, so that ties fall alike.

But without its checks and threads, which take most of the time where few rows are asked about.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairprobe.arrays import Floats
from fairprobe.standins.compile import Batch, Columns, Places


def trees(model: Any, columns: Columns) -> Trees | None:
    """A fitted tree or forest of one label a row."""
    members = [member.tree_ for member in getattr(model, "estimators_", [model])]
    return Trees(members) if model.n_outputs_ == 1 and members else None


class Trees:
    """The mean of the trees' probabilities, summed in scikit-learn's order."""

    def __init__(self, trees: list[Any]) -> None:
        self.name = f"forest of {len(trees):,} trees" if len(trees) > 1 else f"tree of {trees[0].n_leaves:,} leaves"
        self._trees = trees

    def places(self, batch: Batch) -> Places:
        """The class with the highest mean."""
        likely = self.probabilities(batch)
        return np.asarray(likely[:, 1] > likely[:, 0] if likely.shape[1] == 2 else likely.argmax(axis=1))

    def probabilities(self, batch: Batch) -> Floats:
        """The mean over the trees."""
        singles = batch.singles
        total: Floats = np.zeros((len(singles), self._trees[0].value.shape[2]))
        for tree in self._trees:
            total += tree.predict(singles)
        total /= len(self._trees)
        return total


def linear(model: Any, columns: Columns) -> Linear | None:
    """A fitted linear classifier of one label a row."""
    n_classes, n_scores = len(model.classes_), len(np.atleast_2d(model.coef_))
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


def network(model: Any, columns: Columns) -> Network | None:
    """A fitted multi-layer perceptron of one label a row."""
    n_classes = len(model.classes_)
    n_outputs = 1 if n_classes == 2 else n_classes
    is_plain = np.ndim(model.classes_) == 1 and n_classes > 1 and model.n_outputs_ == n_outputs
    one_label = model.out_activation_ == ("logistic" if n_outputs == 1 else "softmax")
    return Network(model) if is_plain and one_label else None


class Network:
    """Layers of weights."""

    def __init__(self, model: Any) -> None:
        self.name = f"network of {len(model.coefs_):,} layers"
        self._model = model

    def places(self, batch: Batch) -> Places:
        """The class that is likelier than not, or the likeliest."""
        # Private in scikit-learn, but its own arithmetic to the last bit; were it another one day, screens would see.
        likely = self._model._forward_pass_fast(batch.doubles, check_input=False)
        return np.asarray(likely[:, 0] > 0.5 if likely.shape[1] == 1 else likely.argmax(axis=1))
