"""Stand-in for support vector machines: twins share the products with the support vectors, in single precision.

The kernel exp(-gamma |x - s|²) has one factor for the columns that twins share and one for the sensitive columns. The
second factor is known for each combination and support vector, so it becomes part of the weights. A batch then costs
one product of matrices, one exp and another product, for any number of twins. Scores too close to 0 for single
precision are computed again in double precision, and those too close for that by libsvm's own sums.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Floats, Mask
from fairprobe.standins.compile import Batch, Columns, Compiled

VECTORS = 256
"""Number of support vectors that are processed at a time. Measured: their kernel values fit into the processor's
cache."""

MULTIPLICATIONS = 2**18
"""Largest number of multiplications in one matrix product. Measured: OpenBLAS does this many in one thread. Waiting for
other threads on a busy machine took up to 70 times as long."""


def machine(model: Any, columns: Columns) -> Compiled | None:
    """Return a fast function for the labels of a two-class SVM with linear or radial kernel; None for any other SVM.

    libsvm gives a score of exactly 0 to the second class.
    """
    if model._sparse or len(model.classes_) != 2:
        return None
    name = f"{len(model.support_vectors_):,} support vectors"
    if model.kernel == "linear":
        vectors, duals = np.asarray(model.support_vectors_, dtype=np.float64), np.asarray(model.dual_coef_)[0]
        sums = duals @ vectors, np.abs(duals) @ np.abs(vectors)
        return Compiled(name, partial(_linear, vectors, duals, *sums, float(model.intercept_[0])))
    return Compiled(name, RadialKernel(model, columns).places) if model.kernel == "rbf" and model._gamma > 0 else None


def _linear(vectors: Floats, duals: Floats, weights: Floats, sizes: Floats, intercept: float, batch: Batch) -> Mask:
    """Return a mask of the rows of the second class, by the sign of a linear kernel's scores.

    Scores so close to 0 that rounding may decide are computed by libsvm's own sums.
    """
    rows = batch.doubles
    scores = rows @ weights + intercept
    # A sum of m products is off by m roundings of the sum of their sizes at most, whatever the order.
    roundings = 2 * (len(vectors) + rows.shape[1] + 2) * np.finfo(np.float64).eps
    for row in np.flatnonzero(np.abs(scores) <= roundings * (np.abs(rows) @ sizes + abs(intercept))):
        scores[row] = np.cumsum((vectors @ rows[row]) * duals)[-1] + intercept
    return scores >= 0


class RadialKernel:
    """Labels of an SVM with a radial kernel, computed for all twins together.

    The part of the kernel that the sensitive columns give is a weight by support vector and combination of sensitive
    values.
    """

    def __init__(self, model: Any, columns: Columns) -> None:
        self._vectors = np.asarray(model.support_vectors_, dtype=np.float64)
        self._duals = np.asarray(model.dual_coef_)[0]
        self._gamma = float(model._gamma)
        self._intercept = float(model.intercept_[0])
        sensitive = [columns.names.index(name) for name in columns.domain.sensitive]
        self._free = [column for column in range(len(columns.names)) if column not in sensitive]
        self._centre = self._vectors[:, self._free].mean(axis=0)  # small numbers lose less
        away = self._vectors[:, self._free] - self._centre
        squares = (away**2).sum(axis=1)
        self._reach = np.sqrt(squares.max())
        self._columns = np.vstack([2 * self._gamma * away.T, -self._gamma * squares, np.ones(len(away))])
        # The values of the sensitive columns in each combination, which are the same for all inputs.
        members = columns.form.families(np.zeros((1, len(columns.domain.levels)), dtype=np.int64))
        combinations = members[:, sensitive].astype(np.float64)
        distances = ((combinations[:, None, :] - self._vectors[:, sensitive]) ** 2).sum(axis=2)
        weights = self._duals * np.exp(-self._gamma * distances)
        self._weights = np.vstack([weights, np.abs(weights)]).T
        self._singles = self._columns.astype(np.float32), self._weights.astype(np.float32)

    def places(self, batch: Batch) -> Mask:
        """Return a mask of the rows of the second class, by the sign of the score.

        Scores are computed in single precision, in double precision where their error could change the sign, and as
        libsvm does where it still could.
        """
        n = batch.shape[1]
        rows = self._rows(batch.doubles[:n])
        scores, errors = self._scores(rows, *self._singles)
        unsure = np.flatnonzero((np.abs(scores) <= errors).any(axis=1))
        scores[unsure], errors = self._scores(rows[unsure], self._columns, self._weights)
        places, combinations = (np.abs(scores[unsure]) <= errors).nonzero()
        for place, combination in zip(unsure[places], combinations, strict=True):
            scores[place, combination] = self._as_libsvm(batch.doubles[combination * n + place])
        return scores.T.ravel() >= 0

    def _rows(self, inputs: Floats) -> Floats:
        """Return the inputs as rows whose products with `self._columns` are the exponents -gamma |x - s|²."""
        away = inputs[:, self._free] - self._centre
        return np.column_stack([away, np.ones(len(away)), -self._gamma * (away**2).sum(axis=1)])

    def _scores(self, rows: Floats, columns: NDArray[Any], weights: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return the scores, indexed by input, then combination of sensitive values, and bounds of their errors."""
        sums = _sums(rows.astype(columns.dtype), columns, weights)
        n = weights.shape[1] // 2
        # A sum of m products is off by m roundings of the sum of their sizes at most, and so are the exponents.
        sizes = (np.sqrt(-rows[:, -1]) + np.sqrt(self._gamma) * self._reach) ** 2
        roundings = (rows.shape[1] + 2) * sizes + VECTORS + 8
        errors = np.expm1(np.minimum(np.finfo(columns.dtype).eps * roundings, 50))
        return sums[:, :n] + self._intercept, errors[:, None] * sums[:, n:]

    def _as_libsvm(self, row: Floats) -> float:
        """Return the score of one row, summed exactly as libsvm does, because rounding decides a tie."""
        distances = ((self._vectors - row) ** 2).sum(axis=1)
        return float(np.cumsum(self._duals * np.exp(-self._gamma * distances))[-1] + self._intercept)


def _sums(rows: NDArray[Any], columns: NDArray[Any], weights: NDArray[Any]) -> Floats:
    """Return weighted sums of kernel values, indexed by row, then column of `weights`.

    They are computed in tiles that fit into the processor's cache.
    """
    sums = np.zeros((len(rows), weights.shape[1]))
    size = max(1, MULTIPLICATIONS // (VECTORS * max(rows.shape[1], weights.shape[1])))
    for top in range(0, len(rows), size):
        some = rows[top : top + size]
        for left in range(0, columns.shape[1], VECTORS):
            kernel = some @ columns[:, left : left + VECTORS]
            np.minimum(kernel, 0, out=kernel)  # rounding could lift an exponent above 0, and far above
            np.exp(kernel, out=kernel)
            sums[top : top + size] += kernel @ weights[left : left + VECTORS]
    return sums
