"""Stand-ins for linear models and networks whose preprocessing is tabulated, without scikit-learn's checks."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from fairprobe.arrays import Codes, Floats
from fairprobe.model.tabulated import Tabulated
from fairprobe.standins.compile import Batch, Columns, Compiled, Places


def linear(model: Any, columns: Columns) -> Compiled | None:
    """Return a fast function for the labels of a linear classifier of two classes behind tables; None for others.

    Its score is the sum of the contributions of the parameters' levels, which are looked up.
    """
    if len(model.classes_) != 2 or np.size(model.intercept_) != 1 or not isinstance(columns.form, Tabulated):
        return None
    return Compiled("linear model", partial(_by_sums, model, _Sums(columns.form, model)))


def network(model: Any, columns: Columns) -> Compiled | None:
    """Return a fast function for the labels of a two-class perceptron behind tables; None for other models."""
    is_plain = len(model.classes_) == 2 and model.n_outputs_ == 1 and model.out_activation_ == "logistic"
    if not is_plain or not isinstance(columns.form, Tabulated):
        return None
    return Compiled(f"network of {len(model.coefs_):,} layers", partial(_by_layers, model))


def _by_layers(model: Any, batch: Batch) -> Places:
    # This method is private in scikit-learn. If it changes, the check of stand-ins finds out and drops this one.
    return np.asarray(model._forward_pass_fast(batch.rows, check_input=False)[:, 0] > 0.5)


def _by_sums(model: Any, sums: _Sums, batch: Batch) -> Places:
    """Return a mask of the rows of the second class, by the sign of the score.

    If rounding could decide the sign, the score is computed as scikit-learn does.
    """
    scores = sums.of(batch)
    places = scores > 0
    close = np.abs(scores) <= sums.error
    if close.any():
        places[close] = (batch.rows @ model.coef_.T + model.intercept_).ravel()[close] > 0
    return places


class _Sums:
    """Computes scores of a linear model from codes: a score is the sum of the contributions of the levels."""

    def __init__(self, form: Tabulated, model: Any) -> None:
        self._slots, weights = form.slots, np.ravel(model.coef_).astype(np.float64)
        self._weights = weights
        self._added = [slot.values * weights[slot.columns] for slot in form.slots]
        looked_up = [i for i, slot in enumerate(form.slots) if slot.compute is None]
        # All tables in one: by input, one call looks all of them up.
        self._table = np.concatenate([*(self._added[i] for i in looked_up), np.zeros(1)])
        self._starts = np.cumsum([0, *(len(self._added[i]) for i in looked_up)])[:-1]
        self._parameters = np.array([form.slots[i].parameter for i in looked_up], dtype=np.int64)
        self._computed = [i for i, slot in enumerate(form.slots) if slot.compute is not None]
        constant, background = float(np.ravel(model.intercept_)[0]), form.background
        self._constant = constant + float(background @ weights)
        largest = abs(constant) + float(np.abs(background) @ np.abs(weights))
        for slot in form.slots:
            extremes = slot.extremes(form.domain.parameters[slot.parameter].levels)
            largest += float(np.abs(extremes * weights[slot.columns]).max())
        precision = np.finfo(np.result_type(background, weights, np.float32)).eps
        self.error = 4 * (len(form.slots) + len(weights) + 2) * float(precision) * largest
        """Upper bound of the rounding error of a score. Derived: it holds for any order of summation."""

    def of(self, batch: Batch) -> Floats:
        """Return the scores of a batch, one per row: a block of inputs for each combination of sensitive values."""
        sums = self._rows(batch.codes)
        if not batch.with_twins:
            return sums
        members = np.repeat(sums[None], batch.shape[0], axis=0)
        for parameter, varied in batch.domain.families.varied(batch.codes):
            for place, slot in enumerate(self._slots):
                if slot.parameter == parameter:
                    members += self._adds(place, varied) - self._adds(place, batch.codes[:, parameter])
        return members.ravel()

    def _rows(self, codes: Codes) -> Floats:
        places = codes.take(self._parameters, axis=1) + self._starts
        sums: Floats = np.einsum("ij->i", self._table.take(places)) + self._constant  # a quarter of the time of `sum`
        for place in self._computed:
            sums += self._adds(place, codes[:, self._slots[place].parameter])
        return sums

    def _adds(self, place: int, codes: Codes) -> Floats:
        slot = self._slots[place]
        if slot.compute is None:
            return self._added[place].take(codes)
        return np.asarray(slot.compute(codes.ravel()).reshape(codes.shape) * self._weights[slot.columns[0]])
