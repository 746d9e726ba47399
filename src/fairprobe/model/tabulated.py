"""Tabulated batches: the estimator's input, put together out of tables instead of by the steps of a pipeline.

A batch of text columns asks an encoder for the same few hundred values again and again. Here each level of a parameter
is looked up: which columns of the estimator's batch it fills, and with which values. Numbers with many levels are
computed as the steps compute them. The batch is dense or sparse, as the steps make it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats
from fairprobe.domain.domain import Domain
from fairprobe.domain.parameters import Parameter
from fairprobe.model.categories import category_places
from fairprobe.model.forms import FrameForm
from fairprobe.model.slots import Slot, computed_slot, slots_of
from fairprobe.model.tables import Seen, UnfitError

TRIED: Final = 256
"""Random inputs on which tables and steps must agree, bit by bit. Chosen."""


class Tabulated:
    """Makes batches for one estimator out of codes of one domain; a form like those in `forms.py`."""

    def __init__(
        self, domain: Domain, slots: Sequence[Slot], background: NDArray[Any], like: Any, *, order: str = "C"
    ) -> None:
        self.domain = domain
        self.background = background
        """Values of the columns that no slot fills."""
        self._sparse = type(like) if hasattr(like, "tocsr") else None
        self._order: Any = order
        # Slots in the order of their columns, so that the rows of a sparse batch are too.
        self.slots = slots = sorted(slots, key=lambda slot: int(slot.columns.min()))
        self._parameters = np.array([slot.parameter for slot in slots], dtype=np.int64)
        self._computed = [i for i, slot in enumerate(slots) if slot.compute is not None]
        self._steps = np.array([slot.compute is None for slot in slots], dtype=np.int64)
        sizes = [len(slot.columns) for slot in slots]
        self._starts = np.cumsum([0, *sizes])[:-1]
        self._columns: NDArray[np.int32] = np.concatenate([slot.columns for slot in slots]).astype(np.int32)
        self._values = np.concatenate([slot.values for slot in slots]).astype(background.dtype)

    # Batches

    def rows(self, codes: Codes) -> Any:
        """The inputs themselves, one a row."""
        return self._batch(*self._filled(codes))

    def families(self, codes: Codes, *, side_by_side: bool = False) -> Any:
        """A block of rows for each combination of the sensitive values; or, side by side, the members of each input."""
        return self._batch(*self._filled_families(codes, side_by_side=side_by_side))

    def singles(self, codes: Codes, *, with_twins: bool) -> NDArray[np.float32]:
        """Inputs, or whole families, as trees work on them: dense, in single precision."""
        columns, values = self._filled_families(codes) if with_twins else self._filled(codes)
        return self._dense(columns, values.astype(np.float32))

    @cached_property
    def is_finite(self) -> bool:
        """Return True if no value is missing or infinite."""
        return all(np.isfinite(values).all() for values in (self.background, *self.extremes))

    @cached_property
    def extremes(self) -> list[NDArray[Any]]:
        """By slot, values that include its smallest and its largest."""
        return [slot.extremes(self.domain.parameters[slot.parameter].levels) for slot in self.slots]

    def _filled(self, codes: Codes) -> tuple[NDArray[Any], NDArray[Any]]:
        """Columns and values, by input, then slot."""
        places = codes.take(self._parameters, axis=1) * self._steps + self._starts
        columns, values = self._columns.take(places), self._values.take(places)
        for place in self._computed:
            values[:, place] = self._fill(place, codes[:, self._parameters[place]])[1]
        return columns, values

    def _filled_families(self, codes: Codes, *, side_by_side: bool = False) -> tuple[NDArray[Any], NDArray[Any]]:
        """Columns and values of all members, block after block or input after input."""
        families, axis = self.domain.families, int(side_by_side)
        columns, values = (
            np.repeat(np.expand_dims(each, axis), len(families), axis=axis) for each in self._filled(codes)
        )
        for parameter, varied in families.varied(codes):
            for place in self._places(parameter):
                columns[:, :, place], values[:, :, place] = self._fill(place, varied.T if side_by_side else varied)
        return columns.reshape(-1, columns.shape[2]), values.reshape(-1, values.shape[2])

    def _places(self, parameter: int) -> list[int]:
        """The slots of a parameter."""
        return [place for place, slot in enumerate(self.slots) if slot.parameter == parameter]

    def _fill(self, place: int, codes: Codes) -> tuple[NDArray[Any], NDArray[Any]]:
        """Columns and values of one slot for some codes."""
        slot, start = self.slots[place], self._starts[place]
        if slot.compute is not None:
            return self._columns[start], slot.compute(codes.ravel()).reshape(codes.shape)
        return self._columns.take(codes + start), self._values.take(codes + start)

    def _batch(self, columns: NDArray[Any], values: NDArray[Any]) -> Any:
        if self._sparse is not None:
            return self._in_rows(columns, values)
        return np.asarray(self._dense(columns, values), order=self._order)

    def _dense(self, columns: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
        if self._is_full:
            return values
        batch = np.empty((len(values), len(self.background)), dtype=values.dtype)
        batch[:] = self.background
        batch.reshape(-1).put(columns + np.arange(0, batch.size, batch.shape[1])[:, None], values)
        return batch

    def _in_rows(self, columns: NDArray[Any], values: NDArray[Any]) -> Any:
        assert self._sparse is not None
        if self._is_mixed:
            order = columns.argsort(axis=1)
            columns, values = np.take_along_axis(columns, order, 1), np.take_along_axis(values, order, 1)
        n, width = values.shape
        kept = values != 0  # as everywhere, what is 0 is not there
        if kept.all():
            ends, columns, values = np.arange(0, values.size + 1, width), columns.reshape(-1), values.reshape(-1)
        else:
            ends = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
            columns, values = columns[kept], values[kept]
        return self._sparse((values, columns, ends.astype(np.int32)), shape=(n, len(self.background)), copy=False)

    @cached_property
    def _is_full(self) -> bool:
        """Return True if each slot fills one column, and all columns are filled in order."""
        firsts = [slot.columns[0] for slot in self.slots if (slot.columns == slot.columns[0]).all()]
        return np.array_equal(firsts, np.arange(len(self.background)))

    @cached_property
    def _is_mixed(self) -> bool:
        """Return True if the columns of two parameters interleave, so that rows must be sorted."""
        ends: dict[int, list[int]] = {}
        for slot in self.slots:
            ends.setdefault(slot.parameter, []).extend([int(slot.columns.min()), int(slot.columns.max())])
        spans = sorted((min(each), max(each)) for each in ends.values())
        return any(after[0] <= before[1] for before, after in pairwise(spans))


class Sums:
    """Weighted sums over the columns of a tabulated batch, added up level by level without making the batch.

    Parts that twins have in common are added once.
    """

    def __init__(self, form: Tabulated, weights: Floats, constant: float) -> None:
        self._form = form
        base = np.zeros((1, len(form.domain.levels)), dtype=np.int64)
        varied = [parameter for parameter, _ in form.domain.families.varied(base)]
        slots, precision = form.slots, np.finfo(np.result_type(form.background, weights, np.float32)).eps
        weights = weights.astype(np.float64)
        self._weights = weights
        self._added = [slot.values * weights[slot.columns] for slot in slots]
        fixed = [i for i, slot in enumerate(slots) if slot.parameter not in varied and slot.compute is None]
        # Those that members share come first, so that they are added once.
        others = (i for i in range(len(slots)) if i not in fixed)
        self._others = sorted(others, key=lambda i: slots[i].parameter in varied)
        self._table = np.concatenate([*(self._added[i] for i in fixed), np.zeros(1)])
        self._starts = np.cumsum([0, *(len(self._added[i]) for i in fixed)])[:-1]
        self._parameters = np.array([slots[i].parameter for i in fixed], dtype=np.int64)
        self._constant = constant + float(form.background @ weights)
        largest = abs(constant) + float(np.abs(form.background) @ np.abs(weights))
        for slot, values in zip(slots, form.extremes, strict=True):
            largest += float(np.abs(values * weights[slot.columns]).max())
        self.error = 4 * (len(slots) + len(weights) + 2) * float(precision) * largest
        """Largest error that rounding can cause in a sum, in any order of adding."""

    def rows(self, codes: Codes) -> Floats:
        """Sums for the inputs themselves."""
        sums = self._shared(codes)
        for place in self._others:
            sums += self._adds(place, codes[:, self._form.slots[place].parameter])
        return sums

    def families(self, codes: Codes) -> Floats:
        """Sums by member, then input."""
        form, sums = self._form, self._shared(codes)
        varied = dict(form.domain.families.varied(codes))
        for place in self._others:
            parameter = form.slots[place].parameter
            sums = sums + self._adds(place, varied.get(parameter, codes[:, parameter]))
        return np.broadcast_to(sums, (len(form.domain.families), len(codes)))

    def _shared(self, codes: Codes) -> Floats:
        places = codes.take(self._parameters, axis=1) + self._starts
        return np.einsum("ij->i", self._table.take(places)) + self._constant  # a quarter of the time of `sum`

    def _adds(self, place: int, codes: Codes) -> Floats:
        slot = self._form.slots[place]
        if slot.compute is None:
            return self._added[place].take(codes)
        return np.asarray(slot.compute(codes.ravel()).reshape(codes.shape) * self._weights[slot.columns[0]])


# Of a pipeline


def tabulate(seen: Seen) -> Tabulated:
    """A form for the estimator at the end of a pipeline.

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
    slots = [slot for parameter in range(len(levels)) for slot in slots_of(seen, parameter)]
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
    """Return True if two batches are equal, bit by bit."""
    if hasattr(like, "tocsr"):
        parts = [(made.indptr, like.indptr), (made.indices, like.indices), (made.data, like.data)]
    else:
        parts = [(made, like)]
    return made.dtype == like.dtype and all(np.array_equal(a, b, equal_nan=b.dtype.kind == "f") for a, b in parts)


# Of a frame with pandas categoricals


def tabulate_frame(domain: Domain, columns: Sequence[str], form: FrameForm) -> Tabulated:
    """A form for a booster fitted on a frame: a categorical becomes the place of its category, a missing value NaN."""
    places = {name: domain.names.index(name) for name in columns}
    slots = [_column(domain.parameters[places[name]], places[name], i, form) for i, name in enumerate(columns)]
    return Tabulated(domain, slots, np.zeros(len(columns)), None)


def _column(kind: Parameter, parameter: int, column: int, form: FrameForm) -> Slot:
    categories = form.categories.get(kind.name)
    if categories is not None:
        codes = category_places(kind, categories)[: kind.levels].astype(np.float64)
        return Slot(parameter, np.full(kind.levels, column), np.where(codes < 0, np.nan, codes))
    if not kind.is_numeric or kind.dtype == "category":
        raise UnfitError(f"the values of {kind.name!r} are no numbers, and the model does not tell its categories")
    return computed_slot(parameter, column, kind, kind.numbers)
