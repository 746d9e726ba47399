"""Tabulated batches: the preprocessed input of a pipeline's last step, assembled from tables.

An encoder computes the same few hundred values again for every batch of text columns. Here each level of a parameter is
looked up in a table instead: it gives the columns to fill and their values. For a number with many levels, its own
transformer is run. The batch is dense or sparse, like the pipeline's own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats
from fairprobe.domain.domain import Domain
from fairprobe.domain.parameters import Integer, Parameter, Real
from fairprobe.model.categories import category_places
from fairprobe.model.forms import FrameForm
from fairprobe.model.known import own_kind
from fairprobe.model.tables import NARROW, LevelTable, Seen, UnfitError, keeps_order, parts_of, passes, positions

TRIED: Final = 256
"""Number of random inputs on which tables and preprocessing must agree bit by bit. Also the number of levels of a
number that are tried to find the columns that it fills. Chosen."""

MOST_TABULATED: Final = 50_000
"""Largest number of levels of a parameter that are sent through all preprocessing steps. Chosen."""

LOOKED_UP: Final = 200_000
"""Largest number of levels of a numeric parameter that are looked up in a table; with more, values are computed.
Chosen: larger tables do not fit into the processor's cache."""

ONE_FOR_EACH: Final = ("Binarizer", "PowerTransformer", "QuantileTransformer")
"""Names of transformers that compute one column from each column, in addition to those known to keep its order. Such a
column differs between its ends if it changes at all."""


@dataclass(frozen=True)
class Slot:
    """One entry of a preprocessed row that a parameter fills; its column and value depend on the parameter's level."""

    parameter: int
    columns: Codes
    """Number of the column to fill, indexed by level; a single number if the values are computed."""
    values: NDArray[Any]
    """Value of the entry, indexed by level; not used if the values are computed."""
    compute: Callable[[Codes], Floats] | None = None

    def extremes(self, n_levels: int) -> NDArray[Any]:
        """Return values of the slot that include its smallest and largest; for a table, all its values.

        Computed values are monotone, so the first, the last and the missing level are enough.
        """
        return self.values if self.compute is None else self.compute(np.array([0, n_levels - 2, n_levels - 1]))


class Tabulated:
    """Form that assembles preprocessed batches for one estimator from codes of one domain; see `forms.py`."""

    def __init__(
        self, domain: Domain, slots: Sequence[Slot], background: NDArray[Any], like: Any, *, order: str = "C"
    ) -> None:
        self.domain = domain
        self.background = background
        """One preprocessed row, with the values of the columns that no slot fills."""
        self._sparse = type(like) if hasattr(like, "tocsr") else None
        self._order: Any = order
        # Slots in the order of their columns, so that the rows of a sparse batch are too.
        self.slots = slots = sorted(slots, key=lambda slot: int(slot.columns.min()))
        self._parameters = np.array([slot.parameter for slot in slots], dtype=np.int64)
        self._computed = [i for i, slot in enumerate(slots) if slot.compute is not None]
        self._steps = np.array([slot.compute is None for slot in slots], dtype=np.int64)
        self._starts = np.cumsum([0, *(len(slot.columns) for slot in slots)])[:-1]
        self._columns: NDArray[np.int32] = np.concatenate([slot.columns for slot in slots]).astype(np.int32)
        self._values = np.concatenate([slot.values for slot in slots]).astype(background.dtype)

    def rows(self, codes: Codes) -> Any:
        """Return the preprocessed batch of some inputs, given as codes, one per row."""
        return self._batch(*self._filled(codes))

    def families(self, codes: Codes) -> Any:
        """Return the preprocessed batch of all family members: one block of rows per sensitive combination."""
        n = len(self.domain.families)
        columns, values = (np.repeat(each[None], n, axis=0) for each in self._filled(codes))
        for parameter, varied in self.domain.families.varied(codes):
            for place in np.flatnonzero(self._parameters == parameter).tolist():
                columns[:, :, place], values[:, :, place] = self._fill(place, varied)
        return self._batch(columns.reshape(-1, columns.shape[2]), values.reshape(-1, values.shape[2]))

    @cached_property
    def is_finite(self) -> bool:
        """True if no value in any batch can be missing or infinite."""
        extremes = (slot.extremes(self.domain.parameters[slot.parameter].levels) for slot in self.slots)
        return all(np.isfinite(values).all() for values in (self.background, *extremes))

    def _filled(self, codes: Codes) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return two arrays for preprocessed rows: the columns to fill and their values, both by input, then slot."""
        places = codes.take(self._parameters, axis=1) * self._steps + self._starts
        columns, values = self._columns.take(places), self._values.take(places)
        for place in self._computed:
            values[:, place] = self._fill(place, codes[:, self._parameters[place]])[1]
        return columns, values

    def _fill(self, place: int, codes: Codes) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the columns and values of one slot (entry of preprocessed rows) for given levels of its parameter."""
        slot, start = self.slots[place], self._starts[place]
        if slot.compute is not None:
            return self._columns[start], slot.compute(codes.ravel()).reshape(codes.shape)
        return self._columns.take(codes + start), self._values.take(codes + start)

    def _batch(self, columns: NDArray[Any], values: NDArray[Any]) -> Any:
        if self._sparse is not None:
            return self._in_rows(columns, values)
        if self._is_full:
            return np.asarray(values, order=self._order)
        batch = np.empty((len(values), len(self.background)), dtype=values.dtype)
        batch[:] = self.background
        batch.reshape(-1).put(columns + np.arange(0, batch.size, batch.shape[1])[:, None], values)
        return np.asarray(batch, order=self._order)

    def _in_rows(self, columns: NDArray[Any], values: NDArray[Any]) -> Any:
        assert self._sparse is not None
        if self._is_mixed:
            order = columns.argsort(axis=1)
            columns, values = np.take_along_axis(columns, order, 1), np.take_along_axis(values, order, 1)
        kept = values != 0  # as everywhere, what is 0 is not there
        ends = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int32)
        shape = (len(values), len(self.background))
        return self._sparse((values[kept], columns[kept], ends), shape=shape, copy=False)

    @cached_property
    def _is_full(self) -> bool:
        """True if each slot has one fixed column and the slots fill all columns in order."""
        firsts = [slot.columns[0] for slot in self.slots if (slot.columns == slot.columns[0]).all()]
        return np.array_equal(firsts, np.arange(len(self.background)))

    @cached_property
    def _is_mixed(self) -> bool:
        """True if the column ranges of two parameters overlap, so that the entries of sparse rows must be sorted."""
        ends: dict[int, list[int]] = {}
        for slot in self.slots:
            ends.setdefault(slot.parameter, []).extend([int(slot.columns.min()), int(slot.columns.max())])
        spans = sorted((min(each), max(each)) for each in ends.values())
        return any(after[0] <= before[1] for before, after in pairwise(spans))


# Of a pipeline


def tabulate(seen: Seen) -> Tabulated:
    """Return a form that assembles the input of the estimator at the end of a pipeline from tables.

    Raises:
        UnfitError: a step gives something else than numbers in an array, or other numbers than tables do.
    """
    domain = seen.domain
    levels = np.array([kind.levels for kind in domain.parameters])
    # A fixed seed: whether there are tables must not depend on chance. The first and last levels are among them.
    codes = np.random.default_rng(0).integers(0, levels, size=(TRIED, len(levels)))
    codes[:2] = 0 * levels, levels - 1
    like = seen.transformed(codes)
    is_sparse = getattr(like, "format", None) == "csr"
    if not (is_sparse or isinstance(like, np.ndarray)) or like.dtype.kind not in "fiu":
        raise UnfitError(f"the preprocessing must make an array of numbers, got {type(like).__name__}")
    slots = _slots(seen)
    background = seen.base.copy()
    background[np.concatenate([[], *(slot.columns for slot in slots)]).astype(np.int64)] = 0
    if not slots or (is_sparse and background.any()):
        raise UnfitError("the preprocessing must make columns that depend on the inputs")
    order = "F" if not is_sparse and like.flags.f_contiguous and not like.flags.c_contiguous else "C"
    made = Tabulated(domain, slots, background, like, order=order)
    if not _same(made.rows(codes), like):
        raise UnfitError("the columns that the preprocessing makes do not depend on one parameter each")
    return made


def _same(made: Any, like: Any) -> bool:
    """Return True if two batches, both dense or both sparse, have equal dtypes and values."""
    if hasattr(like, "tocsr"):
        parts = [(made.indptr, like.indptr), (made.indices, like.indices), (made.data, like.data)]
    else:
        parts = [(made, like)]
    return made.dtype == like.dtype and all(np.array_equal(a, b, equal_nan=b.dtype.kind == "f") for a, b in parts)


def _slots(seen: Seen) -> list[Slot]:
    """Return the slots (entries of preprocessed rows) that the visible parameters fill, in the parameters' order."""
    is_plain = len(seen.steps) == 1 and own_kind(seen.steps[0]) == "columns" and type(seen.asker.form) is FrameForm
    found: dict[int, list[Slot]] = {}
    looked_up: list[int] = []
    for parameter, kind in enumerate(seen.domain.parameters):
        if kind.name in seen.domain.hidden:
            continue
        if kind.levels > NARROW and isinstance(kind, Integer | Real) and is_plain:
            found[parameter] = _numbers(seen, parameter)
        elif kind.levels > MOST_TABULATED:
            got = f"the {kind.levels:,} levels of {kind.name!r}"
            raise UnfitError(f"what is made of {got} is not known number by number")
        else:
            looked_up.append(parameter)
    for parameter, table in seen.tables(looked_up).items():
        found[parameter] = _entries(parameter, table)
    return [slot for parameter in sorted(found) for slot in found[parameter]]


def _entries(parameter: int, table: LevelTable) -> list[Slot]:
    """Return the slots (entries of preprocessed rows) for a table of one parameter.

    There are as many as the largest number of non-zero entries that a level has.
    """
    filled = table.values != 0
    width = int(filled.sum(axis=1).max(initial=0))
    order = np.sort(np.argsort(~filled, axis=1, kind="stable")[:, :width], axis=1)
    columns, values = table.columns[order], np.take_along_axis(table.values, order, axis=1)
    return [Slot(parameter, columns[:, i], values[:, i]) for i in range(width)]


def _numbers(seen: Seen, parameter: int) -> list[Slot]:
    """Return the slots of a numeric parameter with many levels, by the parts of a ColumnTransformer that take it."""
    kind, step = seen.domain.parameters[parameter], seen.steps[0]
    last = kind.levels - 1 - kind.missing
    some = np.unique(np.append(np.linspace(0, last, TRIED).astype(np.int64), kind.levels - 1))
    slots = []
    for name, part, mine in step.transformers_:
        names = [seen.order[place] for place in positions(step, mine)]
        if kind.name not in names or (passes(part) and part != "passthrough"):
            continue
        if not all(keeps_order(each) or type(each).__name__ in ONE_FOR_EACH for each in parts_of(part)):
            raise UnfitError(f"what {type(part).__name__} makes of {kind.name!r} is not known number by number")
        base = [seen.domain[each].numbers(np.zeros(1, dtype=np.int64))[0] for each in names]
        weight = (step.transformer_weights or {}).get(name, 1)
        made = partial(_through, part, np.array(base), names.index(kind.name), weight, kind)
        try:
            rows = made(some)
        except Exception as error:
            raise UnfitError(f"{type(part).__name__} must take numbers, got {type(error).__name__}: {error}") from error
        first = step.output_indices_[name].start
        changed = np.flatnonzero((rows != rows[0]).any(axis=0)).tolist()
        slots += [_number(parameter, first + i, kind, partial(_column, made, i)) for i in changed]
    return slots


def _through(part: Any, base: Floats, place: int, weight: float, kind: Parameter, codes: Codes) -> Floats:
    """Return a transformer's output rows for levels of a numeric parameter, its other inputs being as in `base`."""
    rows = np.tile(base, (len(codes), 1))
    rows[:, place] = kind.numbers(codes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the columns' names are missing
        made = rows if isinstance(part, str) else part.transform(rows)
    made = made.toarray() if hasattr(made, "toarray") else np.asarray(made)
    return np.asarray(made if weight == 1 else made * weight, dtype=np.float64)


def _column(made: Callable[[Codes], Floats], column: int, codes: Codes) -> Floats:
    return made(codes)[:, column]


def _number(parameter: int, column: int, kind: Parameter, compute: Callable[[Codes], Floats]) -> Slot:
    """Return the slot of a numeric parameter in one column: a table, or a function if there are too many levels."""
    if kind.levels > LOOKED_UP:
        return Slot(parameter, np.array([column]), np.zeros(1), compute)
    return Slot(parameter, np.full(kind.levels, column), compute(np.arange(kind.levels)))


# Of a frame with pandas categoricals


def tabulate_frame(domain: Domain, columns: Sequence[str], form: FrameForm) -> Tabulated:
    """Return a form for a booster fitted on a DataFrame: categories become their positions, missing values NaN."""
    slots = []
    for column, name in enumerate(columns):
        kind, parameter = domain[name], domain.names.index(name)
        if name in form.categories:
            codes = category_places(kind, form.categories[name])[: kind.levels].astype(np.float64)
            slots.append(Slot(parameter, np.full(kind.levels, column), np.where(codes < 0, np.nan, codes)))
        elif not kind.is_numeric or kind.dtype == "category":
            raise UnfitError(f"the values of {name!r} are no numbers, and the model does not tell its categories")
        else:
            slots.append(_number(parameter, column, kind, kind.numbers))
    return Tabulated(domain, slots, np.zeros(len(columns)), None)
