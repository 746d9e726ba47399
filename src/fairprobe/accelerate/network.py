"""A multi-layer perceptron: the first layer's products with the columns that twins share are computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.accelerate.close import decide, rounding
from fairprobe.accelerate.product import product
from fairprobe.accelerate.rows import Batch, Floats, Rows

SMALL = 1000
"""So many weights cost no more than the calls."""


def _identity(layer: Floats) -> None:
    pass


def _logistic(layer: Floats) -> None:
    from scipy.special import expit

    expit(layer, out=layer)


def _tanh(layer: Floats) -> None:
    np.tanh(layer, out=layer)


def _relu(layer: Floats) -> None:
    np.maximum(layer, 0, out=layer)


ACTIVATIONS: dict[str, Callable[[Floats], None]] = {
    "identity": _identity,
    "logistic": _logistic,
    "tanh": _tanh,
    "relu": _relu,
}


def evaluator(model: Any, rows: Rows) -> Network | None:
    """A fitted network, compiled; not one that gives many labels a row."""
    n_classes = len(model.classes_)
    n_outputs = 1 if n_classes == 2 else n_classes
    is_plain = np.ndim(model.classes_) == 1 and model.n_outputs_ == n_outputs and model.activation in ACTIVATIONS
    one_label = model.out_activation_ == ("logistic" if n_outputs == 1 else "softmax")
    return Network(model, rows) if is_plain and one_label and _is_worth_it(model.coefs_) else None


def _is_worth_it(layers: list[Floats]) -> bool:
    """Whether what twins share, or the calls around it, are a good part of the work."""
    return sum(weights.size for weights in layers[1:]) <= max(layers[0].size, SMALL)


class Network:
    """Layers of weights."""

    def __init__(self, model: Any, rows: Rows) -> None:
        self.name = f"network of {len(model.coefs_):,} layers"
        self._weights = [np.asarray(weights, dtype=np.float64) for weights in model.coefs_]
        self._intercepts = [np.asarray(intercepts, dtype=np.float64) for intercepts in model.intercepts_]
        self._activate = ACTIVATIONS[model.activation]
        self._error = self._largest_error(np.abs(rows.spans).max(axis=0))
        self._parts = rows.twins @ self._weights[0][rows.sensitive] + self._intercepts[0]

    def positions(self, batch: Batch) -> NDArray[Any]:
        """By the sign of the last layer, or its highest."""
        shared = product(batch.numbers, self._weights[0])
        scores = np.empty((*batch.shape, self._weights[-1].shape[1]))
        for combination, part in enumerate(self._parts):
            scores[combination] = self._onwards(shared + part)
        found, unsure = decide(scores, self._error)
        if len(unsure[0]):
            found[unsure] = self._as_fitted(batch.whole(*unsure))
        return found

    def _largest_error(self, sizes: Floats) -> Floats:
        """How far the last layer may be off: no activation makes a difference larger."""
        error = np.zeros_like(sizes)
        for weights, intercepts in zip(self._weights, self._intercepts, strict=True):
            error = error @ np.abs(weights) + rounding(sizes, weights, intercepts)
            sizes = sizes @ np.abs(weights) + np.abs(intercepts)
        return error

    def _onwards(self, layer: Floats) -> Floats:
        """From the first layer's sums to the last's."""
        for weights, intercepts in zip(self._weights[1:], self._intercepts[1:], strict=True):
            self._activate(layer)
            layer = product(layer, weights)
            layer += intercepts
        return layer

    def _as_fitted(self, rows: Floats) -> NDArray[Any]:
        """With the sums and the rounding of scikit-learn, to the last probability."""
        scores = self._onwards(rows @ self._weights[0] + self._intercepts[0])
        if scores.shape[1] > 1:
            return _softmax(scores).argmax(axis=1)
        _logistic(scores)
        return scores[:, 0] > 0.5


def _softmax(scores: Floats) -> Floats:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
