"""Construction of stand-ins for fitted models, for kinds of models where a stand-in was measured to be faster.

Each kind has a function from the model and its columns to a `Compiled` or None. In a pipeline whose preprocessing works
column by column, the last step is compiled or asked itself. Its inputs come from tables.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib import import_module
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.domain import Domain
from fairprobe.errors import DataError, FairprobeError, SettingError
from fairprobe.model.adapters import adapter_for
from fairprobe.model.forms import ArrayForm, FrameForm
from fairprobe.model.known import known_kind, last_step
from fairprobe.model.sklearn import method_for
from fairprobe.model.tables import Seen, UnfitError
from fairprobe.model.tabulated import Tabulated, tabulate, tabulate_frame

COMPILERS: Final = {
    "forest": "ensembles:trees",
    "kernel": "svm:machine",
    "tree": "ensembles:trees",
    "vote": "ensembles:vote",
}
"""Function that compiles a kind of model, as "module:function", by kind. The module is imported when it is needed."""

SCREENING: Final = ("forest", "kernel", "vote")
"""Kinds of models so much slower than their stand-ins that searches ask them only to confirm. Measured."""

TABULATED: Final = ("pipeline", "booster")
"""Kinds of models whose preprocessed batches may be assembled from tables."""

BY_ROWS: Final = ("forest", "tree")
"""Kinds of models whose stand-ins work row by row, without knowing which rows are twins. They also work behind
preprocessing."""

SLOW: Final = ("kernel", "vote")
"""Kinds of models so slow that, as the last step of a pipeline, tables for the other steps save nothing. Measured."""

Places = NDArray[np.intp] | Mask
"""Positions in a model's classes, by row; for two classes possibly a mask of the second class."""


@dataclass(frozen=True)
class Compiled:
    """A model in compiled form: fast functions from a batch to its labels and probabilities."""

    name: str
    """Description of the model for messages."""
    places: Callable[[Batch], Places]
    """Function that returns the position of each row's label among the classes."""
    probabilities: Callable[[Batch], Floats] | None = None
    """Function that returns probabilities, indexed by row, then class, which a soft vote needs. None if the model has
    none."""


@dataclass(frozen=True)
class Columns:
    """The columns of a model's batches: their names, and the form that makes batches from codes of a domain."""

    domain: Domain
    form: ArrayForm | Tabulated
    names: list[str]


class Batch:
    """A batch of inputs, with all their twins or with none, and its rows, which are computed when first needed.

    All members of a vote use the same object, so that its arrays are computed once.
    """

    def __init__(self, columns: Columns, codes: Codes, *, with_twins: bool = True) -> None:
        self.domain, self._form, self.codes, self.with_twins = columns.domain, columns.form, codes, with_twins
        self.shape = len(columns.domain.families) if with_twins else 1, len(codes)
        """Number of combinations of sensitive values (1 without twins), and number of inputs."""

    @cached_property
    def rows(self) -> Any:
        """The batch as the estimator itself would get it: a block of rows for each combination of sensitive values."""
        return self._form.families(self.codes) if self.with_twins else self._form.rows(self.codes)

    @cached_property
    def doubles(self) -> Floats:
        """The rows of the batch in double precision."""
        return np.ascontiguousarray(self.rows, dtype=np.float64)

    @cached_property
    def singles(self) -> NDArray[np.float32]:
        """The rows of the batch in single precision, in which trees work."""
        rows = self.rows.toarray() if hasattr(self.rows, "toarray") else self.rows
        return np.ascontiguousarray(rows, dtype=np.float32)


@dataclass(frozen=True)
class StandIn:
    """A stand-in: fast functions that answer about inputs of a domain in place of a model.

    Its answers should equal the model's. Searches check this.
    """

    name: str
    """Description of the model for messages."""
    columns: Columns
    answer: Callable[[Batch], NDArray[Any]]
    """Function that returns one answer for each row of a batch."""
    takes_rows: bool = True
    """True if the stand-in can answer for single inputs; False if only for inputs with all their twins."""
    last: Any = None
    """Estimator whose batches come from tables; None if there are no tables."""

    def ask_families(self, codes: Codes) -> NDArray[Any]:
        """Return the answers for inputs and all their twins, by combination of sensitive values, then input."""
        batch = Batch(self.columns, codes)
        answers = self.answer(batch)
        return answers.reshape(*batch.shape, *answers.shape[1:])

    def ask(self, codes: Codes) -> NDArray[Any]:
        """Return one answer for each input, given as codes; without its twins where `takes_rows`."""
        if self.takes_rows:
            return self.answer(Batch(self.columns, codes, with_twins=False))
        return self.ask_families(codes)[self.columns.domain.families.place(codes), np.arange(len(codes))]

    def giving(self, output: str) -> StandIn | None:
        """Return a copy of this stand-in that answers with another output of the model, such as "proba".

        None if the stand-in has no tables.
        """
        return None if self.last is None else replace(self, answer=partial(_answers, method_for(self.last, output)))


def compile_stand_in(model: Any, domain: Domain, output: str = "label", batch: str | None = None) -> StandIn | None:
    """Return a stand-in that answers with a model's labels for inputs and all their twins.

    None for another output than labels, for a model of unknown kind, and where a stand-in cannot be made.

    >>> from fairprobe.datasets import census_domain
    >>> compile_stand_in(lambda rows: rows[:, 0] > 5, census_domain()) is None
    True
    """
    kind = known_kind(model)
    if output != "label":
        return None
    if kind in TABULATED:
        return _behind_tables(model, domain, batch)
    if kind not in COMPILERS or (kind not in BY_ROWS and (domain.hidden or not domain.families.is_plain)):
        return None
    columns = _columns_of(model, domain)
    if columns is None or (compiled := compiled_for(model, columns)) is None:
        return None
    return StandIn(compiled.name, columns, partial(_labels, compiled, model), takes_rows=kind in BY_ROWS)


def compiled_for(model: Any, columns: Columns) -> Compiled | None:
    """Return fast functions for the answers of a model, or of a member of a vote; None if it cannot be compiled."""
    path = COMPILERS.get(known_kind(model) or "")
    if path is None:
        return None
    module, function = path.split(":")
    return getattr(import_module(f"fairprobe.standins.{module}"), function)(model, columns)


def may_screen(model: Any) -> bool:
    """Return True if a stand-in is likely to make a search of this model faster, by the kind of the model."""
    kind = known_kind(model)
    return kind in SCREENING or (kind in TABULATED and known_kind(last_step(model)) not in SLOW)


def quietly(method: Callable[[Any], Any], rows: Any) -> NDArray[Any]:
    """Return a method's answers about rows as an array, with all warnings suppressed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(method(rows))


def _columns_of(model: Any, domain: Domain) -> Columns | None:
    """Return the columns of a model's batches; None unless all its parameters are numbers without missing values.

    None also if the model takes no arrays, or if its parameters are half or single precision.
    """
    for parameter in domain.seen:
        if not parameter.is_numeric or parameter.missing or parameter.dtype.lower() in ("float16", "float32"):
            return None
    try:
        form = adapter_for(model).form(domain, "array")
    except (DataError, SettingError):
        return None  # the asker of the model says what is wrong
    names = list(adapter_for(model).columns or domain.visible)
    return Columns(domain, form, names) if isinstance(form, ArrayForm) else None


def _behind_tables(model: Any, domain: Domain, batch: str | None) -> StandIn | None:
    """Return a stand-in for a pipeline or booster whose batches come from tables; None if that is impossible."""
    last = last_step(model)
    try:
        form = _tabulated(model, domain, batch)
    except (UnfitError, FairprobeError):
        return None  # the asker of the model says what is wrong, if anything is
    columns = Columns(domain, form, list(domain.visible))
    name = f"its {type(last).__name__}, on tables of what the steps before make of each value"
    compiled = compiled_for(last, columns) if known_kind(last) in BY_ROWS and form.is_finite else None
    answer = partial(_answers, last.predict) if compiled is None else partial(_labels, compiled, last)
    return StandIn(name, columns, answer, last=last)


def _tabulated(model: Any, domain: Domain, batch: str | None) -> Tabulated:
    if known_kind(model) == "booster":
        adapter = adapter_for(model)
        form, names = adapter.form(domain, batch), adapter.columns
        if names is None or not isinstance(form, FrameForm):
            raise UnfitError("there is no frame to spare")
        return tabulate_frame(domain, names, form)
    seen = Seen(model, domain, batch=batch)
    if not seen.steps or type(seen.asker.form) is ArrayForm:
        raise UnfitError("there is no step to spare, or none that takes long: numbers in an array")
    return tabulate(seen)


def _labels(compiled: Compiled, model: Any, batch: Batch) -> NDArray[Any]:
    return np.asarray(model.classes_.take(compiled.places(batch)))


def _answers(method: Callable[[Any], Any], batch: Batch) -> NDArray[Any]:
    return quietly(method, batch.rows)
