"""A support vector machine: twins share the products with the support vectors, in single precision.

The kernel exp(-gamma |x - s|²) is one factor of the columns that twins share and one of the sensitive columns. The
second is known for each combination and support vector, so it goes into the weights: a batch costs one product of
matrices, one exp and another product, whatever the number of twins. Scores too close to 0 for single precision are
computed again in double.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fairprobe.accelerate.linear import Linear
from fairprobe.accelerate.product import block_of
from fairprobe.accelerate.rows import Batch, Floats, Rows

VECTORS = 256
"""At a time: the kernel values stay in the processor's cache."""


def evaluator(model: Any, rows: Rows) -> Kernel | LinearKernel | None:
    """A fitted machine of two classes, with one of two kernels."""
    if model._sparse or len(model.classes_) != 2:
        return None
    if model.kernel == "linear":
        return LinearKernel(model, rows)
    return Kernel(model, rows) if model.kernel == "rbf" and model._gamma > 0 else None


class LinearKernel(Linear):
    """A linear kernel makes a linear model; ties are left to the sums of libsvm."""

    def __init__(self, model: Any, rows: Rows) -> None:
        super().__init__(model.coef_, model.intercept_, rows)
        self.name = f"{len(model.support_vectors_):,} support vectors"
        self._vectors = np.asarray(model.support_vectors_, dtype=np.float64)
        self._duals = np.asarray(model.dual_coef_)[0]

    def _as_fitted(self, rows: Floats) -> NDArray[np.bool_]:
        sums = np.cumsum((rows @ self._vectors.T) * self._duals, axis=1)[:, -1]
        return sums + self._intercepts[0] >= 0


class Kernel:
    """Support vectors, with the weights of each for every combination of sensitive values."""

    def __init__(self, model: Any, rows: Rows) -> None:
        vectors = np.asarray(model.support_vectors_, dtype=np.float64)
        self.name = f"{len(vectors):,} support vectors"
        self._free = rows.free
        self._gamma = float(model._gamma)
        self._intercept = float(model.intercept_[0])
        shared = vectors[:, rows.free]
        self._centre = shared.mean(axis=0)  # small numbers lose less in single precision
        self._vectors = self._expanded(shared)
        distances = ((rows.twins[:, None, :] - vectors[:, rows.sensitive]) ** 2).sum(axis=2)
        self._weights = (np.asarray(model.dual_coef_)[0] * np.exp(-self._gamma * distances)).T
        self._reach = np.sqrt(((shared - self._centre) ** 2).sum(axis=1).max())
        sizes = np.abs(self._weights)
        self._singles = self._vectors.astype(np.float32), np.hstack([self._weights, sizes]).astype(np.float32)

    def _expanded(self, vectors: Floats) -> Floats:
        """Columns whose products with `_rows` are the exponents -gamma |x - s|²."""
        away = vectors - self._centre
        squares = -self._gamma * (away**2).sum(axis=1)
        return np.vstack([2 * self._gamma * away.T, squares, np.ones(len(away))])

    def _rows(self, batch: Batch) -> Floats:
        away = batch.numbers[:, self._free] - self._centre
        squares = -self._gamma * (away**2).sum(axis=1)
        return np.column_stack([away, np.ones(len(away)), squares])

    def positions(self, batch: Batch) -> NDArray[np.bool_]:
        """By the sign; libsvm gives a score of exactly 0 to the second class."""
        rows, n = self._rows(batch), len(self._weights.T)
        sums = _sums(rows, *self._singles, np.float32)
        scores, sizes = sums[:, :n] + self._intercept, sums[:, n:]
        unsure = np.flatnonzero((np.abs(scores) <= self._error(rows)[:, None] * sizes).any(axis=1))
        scores[unsure] = _sums(rows[unsure], self._vectors, self._weights, np.float64) + self._intercept
        second: NDArray[np.bool_] = scores.T >= 0
        return second

    def _error(self, rows: Floats) -> Floats:
        """A bound on the error of the sums, in units of the sums without signs.

        A product of m terms is off by m roundings of the sum of their sizes at most, and so is the exponent.
        """
        away = np.sqrt(-rows[:, -1] / self._gamma)
        exponents = self._gamma * (away + self._reach) ** 2
        rounding = np.finfo(np.float32).eps / 2
        return np.expm1(np.minimum(rounding * ((rows.shape[1] + 2) * exponents + VECTORS + 8), 50))


def _sums(rows: Floats, vectors: NDArray[Any], weights: NDArray[Any], dtype: DTypeLike) -> Floats:
    """The weighted sums of kernel values, tile by tile."""
    sums = np.zeros((len(rows), weights.shape[1]))
    size = block_of(VECTORS * max(rows.shape[1], weights.shape[1]))
    for top in range(0, len(rows), size):
        some = rows[top : top + size].astype(dtype)
        for left in range(0, vectors.shape[1], VECTORS):
            kernel = some @ vectors[:, left : left + VECTORS]
            np.exp(kernel, out=kernel)
            sums[top : top + size] += kernel @ weights[left : left + VECTORS]
    return sums
