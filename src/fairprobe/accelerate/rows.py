"""Rows: codes as the numbers in a model's columns, with the sensitive ones kept apart."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.domain.domain import Domain
from fairprobe.domain.parameters import Codes, Parameter
from fairprobe.errors import DataError, SettingError
from fairprobe.model.estimator import adapt
from fairprobe.model.forms import ArrayForm

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]


class Rows:
    """How the codes of a domain become a model's columns, in the model's own order."""

    def __init__(self, domain: Domain, form: ArrayForm, names: list[str]) -> None:
        self.domain = domain
        self.form = form
        self.parameters = [domain[name] for name in names]
        self.places = [domain.names.index(name) for name in names]
        """By column of the model, the column of the codes."""
        self.sensitive = [names.index(name) for name in domain.sensitive]
        self.free = [column for column in range(len(names)) if column not in self.sensitive]
        self.twins: Floats = np.column_stack(
            [domain[name].numbers(codes) for name, codes in zip(domain.sensitive, domain.combinations.T, strict=True)]
        )
        """By combination, the values of the sensitive columns."""

    @cached_property
    def spans(self) -> Floats:
        """The lowest value of each column, and the highest."""
        return np.array([_span(parameter) for parameter in self.parameters]).T

    @classmethod
    def of(cls, model: Any, domain: Domain) -> Rows | None:
        """For a model whose columns are all plain numbers; None for any other."""
        if not all(map(_is_plain, domain.parameters)):
            return None
        try:
            form = adapt(model, domain, "label", "array").form
        except (DataError, SettingError):
            return None  # whoever asks the model says what is wrong
        if not isinstance(form, ArrayForm):
            return None
        return cls(domain, form, [str(name) for name in getattr(model, "feature_names_in_", domain.names)])

    def batch(self, codes: Codes) -> Batch:
        """The inputs to be scored together with their twins."""
        return Batch(self, codes)


class Batch:
    """Some inputs, and what their twins share."""

    def __init__(self, rows: Rows, codes: Codes) -> None:
        self.rows = rows
        self.codes = codes

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of combinations, and of inputs."""
        return len(self.rows.twins), len(self.codes)

    @cached_property
    def numbers(self) -> Floats:
        """The model's columns, nothing in the sensitive ones."""
        numbers = np.ascontiguousarray(self.rows.form.rows(self.codes), dtype=np.float64)
        numbers[:, self.rows.sensitive] = 0.0
        return numbers

    @cached_property
    def singles(self) -> Singles:
        """The columns as trees see them, the sensitive ones of the first combination."""
        singles = np.ascontiguousarray(self.rows.form.rows(self.codes), dtype=np.float32)
        singles[:, self.rows.sensitive] = self.rows.twins[0]
        return singles

    def whole(self, combinations: NDArray[np.intp], inputs: NDArray[np.intp]) -> Floats:
        """The rows of some of the twins."""
        rows = self.numbers[inputs]
        rows[:, self.rows.sensitive] = self.rows.twins[combinations]
        return rows

    def whole_singles(self, combinations: NDArray[np.intp], inputs: NDArray[np.intp]) -> Singles:
        """The rows of some of the twins, as trees see them."""
        rows = self.singles[inputs]
        rows[:, self.rows.sensitive] = self.rows.twins[combinations]
        return rows


def _is_plain(parameter: Parameter) -> bool:
    """Whether the model sees it as a float64 that is never missing, be it in an array or in a frame."""
    return parameter.is_numeric and not parameter.missing and parameter.dtype.lower() not in ("float16", "float32")


def _span(parameter: Parameter) -> tuple[float, float]:
    is_grid = parameter.kind in ("integer", "real")
    codes = np.array([0, parameter.levels - 1]) if is_grid else np.arange(parameter.levels)
    numbers = parameter.numbers(codes)
    return float(numbers.min()), float(numbers.max())
