"""Rows: the codes of inputs, in all combinations of sensitive values, as the numbers in a model's columns."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fairprobe.arrays import Codes, Floats
from fairprobe.domain.domain import Domain
from fairprobe.domain.parameters import Parameter
from fairprobe.errors import DataError, SettingError
from fairprobe.model.forms import ArrayForm
from fairprobe.model.registry import abilities_of
from fairprobe.model.sklearn import adapt

Singles = NDArray[np.float32]


class Rows:
    """How the codes of a domain become a model's columns, in the model's own order."""

    def __init__(self, domain: Domain, form: ArrayForm, names: list[str]) -> None:
        self.form = form
        self.n_combinations = len(domain.families)
        self.sensitive = [names.index(name) for name in domain.sensitive]
        self.free = [column for column in range(len(names)) if column not in self.sensitive]
        members = form.families(np.zeros((1, len(domain.levels)), dtype=np.int64))
        self.combinations: Floats = members[:, self.sensitive].astype(np.float64)
        """By combination, the values of the sensitive columns: the same for all inputs."""

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
        return cls(domain, form, list(abilities_of(model).columns or domain.names))


class Batch:
    """Some inputs with all their twins. The members of a vote share what is worked out here."""

    def __init__(self, rows: Rows, codes: Codes) -> None:
        self.rows = rows
        self.codes = codes

    @property
    def shape(self) -> tuple[int, int]:
        """The number of combinations, and of inputs."""
        return self.rows.n_combinations, len(self.codes)

    @cached_property
    def doubles(self) -> Floats:
        """All members, a block of rows for each combination: just what the model itself would be given."""
        return self._members(np.float64)

    @cached_property
    def singles(self) -> Singles:
        """The same as trees see them."""
        return self._members(np.float32)

    def _members(self, dtype: DTypeLike) -> NDArray[Any]:
        return np.ascontiguousarray(self.rows.form.families(self.codes), dtype=dtype)


def _is_plain(parameter: Parameter) -> bool:
    """Whether the model sees it as a float64 that is never missing, be it in an array or in a frame."""
    return parameter.is_numeric and not parameter.missing and parameter.dtype.lower() not in ("float16", "float32")
