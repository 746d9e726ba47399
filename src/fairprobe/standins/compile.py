"""Compiling: from a fitted model to its stand-in, where there is a way that was measured to be faster.

Each kind of model has a function that is given the model and the columns that it sees, and gives a `Compiled` or None.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.domain import Domain
from fairprobe.errors import DataError, SettingError
from fairprobe.model.adapters import abilities_of
from fairprobe.model.forms import ArrayForm
from fairprobe.model.known import known_kind
from fairprobe.model.sklearn import adapt

COMPILERS: Final = {
    "forest": "unchecked:trees",
    "kernel": "svm:machine",
    "linear": "unchecked:linear",
    "network": "unchecked:network",
    "tree": "unchecked:trees",
    "vote": "vote:vote",
}
"""By kind of known model, the module here and its function: not imported before there is such a model."""

SCREENING: Final = ("forest", "kernel", "vote")
"""Kinds that are so much slower than their stand-ins that it pays to ask them only to confirm."""

SCREENING_FEW: Final = ("linear", "network")
"""Kinds whose every call costs so much that it pays where few inputs are judged at a time."""

FEW: Final = 100

Places = NDArray[np.intp] | Mask
"""Places among a model's classes; of two classes also whether it is the second."""


@dataclass(frozen=True)
class Compiled:
    """One kind of model, made ready."""

    name: str
    """What it is, in words."""
    places: Callable[[Batch], Places]
    """The place of each member's label among the classes, in the order of the batch's members."""
    probabilities: Callable[[Batch], Floats] | None = None
    """By member and class, where it gives them: what a soft vote needs."""


def likeliest(probabilities: Callable[[Batch], Floats], batch: Batch) -> Places:
    """The class with the highest probability; the first of them in a tie."""
    likely = probabilities(batch)
    # Of two classes a comparison is quicker.
    return np.asarray(likely[:, 1] > likely[:, 0] if likely.shape[1] == 2 else likely.argmax(axis=1))


class Columns:
    """How the codes of a domain become the numbers in a model's columns, in the model's own order."""

    def __init__(self, domain: Domain, form: ArrayForm, names: list[str]) -> None:
        self.form = form
        self.n_combinations = len(domain.families)
        self.sensitive = [names.index(name) for name in domain.sensitive]
        self.free = [column for column in range(len(names)) if column not in self.sensitive]
        members = form.families(np.zeros((1, len(domain.levels)), dtype=np.int64))
        self.combinations: Floats = members[:, self.sensitive].astype(np.float64)
        """By combination, the values of the sensitive columns: the same for all inputs."""

    @classmethod
    def of(cls, model: Any, domain: Domain) -> Columns | None:
        """For a model that sees all parameters as float64, never missing, in an array or a frame; None for others."""
        for parameter in domain.parameters:
            if not parameter.is_numeric or parameter.missing or parameter.dtype.lower() in ("float16", "float32"):
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

    def __init__(self, columns: Columns, codes: Codes) -> None:
        self._columns = columns
        self._codes = codes
        self.shape = columns.n_combinations, len(codes)
        """The number of combinations, and of inputs."""

    @cached_property
    def doubles(self) -> Floats:
        """All members, a block of rows for each combination: just what the model itself would be given."""
        return np.ascontiguousarray(self._columns.form.families(self._codes), dtype=np.float64)

    @cached_property
    def singles(self) -> NDArray[np.float32]:
        """The same as trees see them."""
        return np.ascontiguousarray(self._columns.form.families(self._codes), dtype=np.float32)


@dataclass(frozen=True)
class StandIn:
    """Labels inputs of one domain in the place of one model."""

    compiled: Compiled
    columns: Columns
    classes: NDArray[Any]

    @property
    def name(self) -> str:
        """What it stands in for, in words."""
        return self.compiled.name

    def ask_families(self, codes: Codes) -> NDArray[Any]:
        """The labels for each input in all combinations of sensitive values: a row a combination, in domain order."""
        batch = Batch(self.columns, codes)
        return self.classes.take(self.compiled.places(batch)).reshape(batch.shape)


def compile_stand_in(model: Any, domain: Domain, output: str = "label") -> StandIn | None:
    """Something that gives the model's labels for inputs and all their twins, but faster; None if there is no way.

    >>> from fairprobe.datasets import census_domain
    >>> compile_stand_in(lambda rows: rows[:, 0] > 5, census_domain()) is None
    True
    """
    if output != "label" or known_kind(model) not in COMPILERS or not domain.families.is_plain:
        return None
    columns = Columns.of(model, domain)
    compiled = None if columns is None else compiled_for(model, columns)
    return None if columns is None or compiled is None else StandIn(compiled, columns, model.classes_)


def compiled_for(model: Any, columns: Columns) -> Compiled | None:
    """A model, or a member of one, made ready for its columns."""
    path = COMPILERS.get(known_kind(model) or "")
    if path is None:
        return None
    module, function = path.split(":")
    compiled: Compiled | None = getattr(import_module(f"fairprobe.standins.{module}"), function)(model, columns)
    return compiled


def may_screen(model: Any, n_inputs: int) -> bool:
    """Whether a search that judges so many inputs at a time is likely to gain by a stand-in that proposes."""
    kind = known_kind(model)
    return kind in SCREENING or (kind in SCREENING_FEW and n_inputs <= FEW)
