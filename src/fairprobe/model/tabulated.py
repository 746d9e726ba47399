"""Tabulated batches: what a model's steps make of inputs, put together out of tables and not by the steps.

A batch of text columns asks the same few hundred values of an encoder again and again. Here each level of a parameter
is looked up: which columns of the estimator's batch it fills, and with what. Wide numbers are not looked up; what
scalers do to a number is done to those of the batch. The batch has the form that the steps give, dense or sparse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.domain import Domain
from fairprobe.domain.parameters import Integer, Parameter, Real
from fairprobe.domain.values import is_missing
from fairprobe.model.adapters import Adapter
from fairprobe.model.categories import category_places
from fairprobe.model.known import own_kind
from fairprobe.model.tables import FEW, WIDE, Seen, Table, UnfitError, passes, positions

LOOKED_UP: Final = 200_000
"""Numbers of more levels are computed for each batch: a table would not stay in the processor's cache."""

TRIED: Final = 256
"""Random inputs on which tables and steps must give the same, bit by bit."""

Change = Callable[[Floats], Floats]
"""What a step does to the numbers of a column."""


@dataclass(frozen=True)
class Slot:
    """A place in a row that one parameter fills: the column, which may depend on the level, and the value."""

    parameter: int
    columns: Codes
    """By level; the last one for all levels beyond."""
    values: NDArray[Any]
    """By level, unless they are computed."""
    compute: Change | None = None
    """From codes."""


class Tabulated:
    """Batches of one estimator, by inputs of one domain. A form like those in `forms.py`."""

    def __init__(
        self, domain: Domain, slots: Sequence[Slot], background: NDArray[Any], like: Any, *, order: str = "C"
    ) -> None:
        self.domain = domain
        self.background = background
        """What stands in the columns that no slot fills."""
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

    def families(self, codes: Codes) -> Any:
        """A block of rows for each combination of the sensitive values."""
        return self._batch(*self._filled_families(codes))

    def singles(self, codes: Codes, *, with_twins: bool) -> NDArray[np.float32]:
        """Either as trees work on them: dense, in single precision."""
        columns, values = self._filled_families(codes) if with_twins else self._filled(codes)
        return self._dense(columns, values.astype(np.float32))

    @cached_property
    def is_finite(self) -> bool:
        """Whether no value is missing or infinite."""
        return bool(np.isfinite(self._values).all() and np.isfinite(self.background).all())

    def _filled(self, codes: Codes) -> tuple[NDArray[Any], NDArray[Any]]:
        """By input, then slot: the column and the value."""
        places = codes.take(self._parameters, axis=1) * self._steps + self._starts
        columns, values = self._columns.take(places), self._values.take(places)
        for place in self._computed:
            values[:, place] = self._fill(place, codes[:, self._parameters[place]])[1]
        return columns, values

    def _filled_families(self, codes: Codes) -> tuple[NDArray[Any], NDArray[Any]]:
        """The same for all members, block after block."""
        families = self.domain.families
        columns, values = (np.repeat(each[None], len(families), axis=0) for each in self._filled(codes))
        for parameter, varied in families.varied(codes):
            for place in self._places(parameter):
                columns[:, :, place], values[:, :, place] = self._fill(place, varied)
        return columns.reshape(-1, columns.shape[2]), values.reshape(-1, values.shape[2])

    def _places(self, parameter: int) -> list[int]:
        """The slots of a parameter."""
        return [place for place, slot in enumerate(self.slots) if slot.parameter == parameter]

    def _fill(self, place: int, codes: Codes) -> tuple[NDArray[Any], NDArray[Any]]:
        """The same for one slot."""
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
        """Whether the slots are the columns, one each."""
        firsts = [slot.columns[0] for slot in self.slots if (slot.columns == slot.columns[0]).all()]
        return np.array_equal(firsts, np.arange(len(self.background)))

    @cached_property
    def _is_mixed(self) -> bool:
        """Whether the columns of two parameters lie between each other's, so that rows must be sorted."""
        ends: dict[int, list[int]] = {}
        for slot in self.slots:
            ends.setdefault(slot.parameter, []).extend([int(slot.columns.min()), int(slot.columns.max())])
        spans = sorted((min(each), max(each)) for each in ends.values())
        return any(after[0] <= before[1] for before, after in zip(spans, spans[1:], strict=False))


class Sums:
    """Weighted sums over the columns of a tabulated batch, without the batch: what each level adds is known.

    Twins share what they have in common.
    """

    def __init__(self, form: Tabulated, weights: Floats, constant: float) -> None:
        self._form = form
        base = np.zeros((1, len(form.domain.levels)), dtype=np.int64)
        varied = [parameter for parameter, _ in form.domain.families.varied(base)]
        slots = form.slots
        self._fixed = [i for i, slot in enumerate(slots) if slot.parameter not in varied and slot.compute is None]
        self._others = [i for i in range(len(slots)) if i not in self._fixed]
        self._weights = weights
        self._added = [slot.values * weights[slot.columns] for slot in slots]
        sizes = [len(self._added[i]) for i in self._fixed]
        self._table = np.concatenate([*(self._added[i] for i in self._fixed), np.zeros(1)])
        self._starts = np.cumsum([0, *sizes])[:-1]
        self._parameters = np.array([slots[i].parameter for i in self._fixed], dtype=np.int64)
        self._constant = constant + float(form.background @ weights)
        largest = sum(float(np.abs(self._at_ends(i)).max()) for i in range(len(slots)))
        largest += abs(constant) + float(np.abs(form.background) @ np.abs(weights))
        self.error = 4 * (len(slots) + len(weights) + 2) * float(np.finfo(np.float64).eps) * largest
        """What rounding may do to a sum, in whatever order it is taken, at the most."""

    def _at_ends(self, place: int) -> Floats:
        """What a slot adds, at its largest: of a number that is computed, at its first or last level."""
        slot = self._form.slots[place]
        if slot.compute is None:
            return self._added[place]
        n_levels = int(self._form.domain.levels[slot.parameter])
        ends = np.unique([0, max(0, n_levels - 2), n_levels - 1])  # the last may be a missing value
        return np.asarray(slot.compute(ends) * self._weights[slot.columns[0]])

    def rows(self, codes: Codes) -> Floats:
        """For the inputs themselves."""
        sums = self._shared(codes)
        for place in self._others:
            sums += self._adds(place, codes[:, self._form.slots[place].parameter])
        return sums

    def families(self, codes: Codes) -> Floats:
        """By member, then input."""
        form, sums = self._form, self._shared(codes)
        varied = dict(form.domain.families.varied(codes))
        for place in self._others:
            parameter = form.slots[place].parameter
            # Those that members share come first, so that they are added once.
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
    """The batches of the estimator at the end of a pipeline.

    Raises:
        UnfitError: a step gives something else than numbers in an array, or other numbers than tables do.
    """
    domain = seen.domain
    codes = np.concatenate(
        [domain.sample_codes(TRIED, np.random.default_rng(0)), [0 * domain.levels, domain.levels - 1]]
    )
    like = seen.transformed(codes)
    is_sparse = hasattr(like, "tocsr")
    if (
        (is_sparse and like.format != "csr")
        or not (is_sparse or isinstance(like, np.ndarray))
        or like.dtype.kind not in "fiu"
    ):
        raise UnfitError(f"the preprocessing must make an array of numbers, got {type(like).__name__}")
    background, slots = seen.base.copy(), list[Slot]()
    for parameter in range(len(domain.parameters)):
        slots += _slots(seen, parameter)
    changed = np.concatenate([[], *(slot.columns for slot in slots)]).astype(np.int64)
    background[changed] = 0
    if is_sparse and background.any():
        # What is the same in every row is a slot of the first parameter, whatever its level.
        for column in np.flatnonzero(background):
            n = int(domain.levels[0])
            slots.append(Slot(0, np.full(n, column), np.full(n, background[column])))
    if not slots:
        raise UnfitError("the preprocessing leaves nothing of the inputs")
    order = "F" if not is_sparse and like.flags.f_contiguous and not like.flags.c_contiguous else "C"
    made = Tabulated(domain, slots, background, like, order=order)
    if not _same(made.rows(codes), like):
        raise UnfitError("the columns that the preprocessing makes do not depend on one parameter each")
    return made


def _same(made: Any, like: Any) -> bool:
    """Whether two batches are the same, bit by bit."""
    if hasattr(like, "tocsr"):
        parts = [(made.indptr, like.indptr), (made.indices, like.indices), (made.data, like.data)]
    else:
        parts = [(made, like)]
    return made.dtype == like.dtype and all(np.array_equal(a, b, equal_nan=b.dtype.kind == "f") for a, b in parts)


def _slots(seen: Seen, parameter: int) -> list[Slot]:
    """What a parameter fills in."""
    kind = seen.domain.parameters[parameter]
    if kind.name in seen.domain.hidden:
        return []
    if kind.levels > FEW and isinstance(kind, Integer | Real):
        followed = _followed(seen, parameter)
        if followed is not None:
            return [_number(seen, parameter, *followed), *_indicators(seen, parameter, followed[0])]
    if kind.levels > WIDE:
        raise UnfitError(
            f"what the preprocessing makes of the {kind.levels:,} levels of {kind.name!r} is no arithmetic"
        )
    table = seen.table(parameter, np.ones(len(seen.base), dtype=bool))
    return _entries(parameter, table)


def _entries(parameter: int, table: Table) -> list[Slot]:
    """A table with many zeros as few slots: as many as a level has other numbers, at the most."""
    filled: Mask = table.values != 0
    width = int(filled.sum(axis=1).max(initial=0))
    order = np.sort(np.argsort(~filled, axis=1, kind="stable")[:, :width], axis=1)
    columns, values = table.columns[order], np.take_along_axis(table.values, order, axis=1)
    return [Slot(parameter, columns[:, i], values[:, i]) for i in range(width)]


# Wide numbers


def _number(seen: Seen, parameter: int, column: int, changes: list[Change]) -> Slot:
    """A number whose column is computed from it."""
    kind, at_missing = seen.domain.parameters[parameter], _at_missing(seen, parameter)

    def compute(codes: Codes) -> Floats:
        numbers = kind.numbers(codes)
        for change in changes:
            numbers = change(numbers)
        if at_missing is not None:
            numbers[codes == kind.levels - 1] = at_missing[column]
        return numbers

    if kind.levels > LOOKED_UP:
        return Slot(parameter, np.array([column]), np.zeros(1), compute)
    return Slot(parameter, np.full(kind.levels, column), compute(np.arange(kind.levels)))


def _indicators(seen: Seen, parameter: int, column: int) -> list[Slot]:
    """The other columns that a missing value changes."""
    kind, at_missing = seen.domain.parameters[parameter], _at_missing(seen, parameter)
    if at_missing is None:
        return []
    others = [i for i in np.flatnonzero(at_missing != seen.base).tolist() if i != column]

    def made(other: int) -> Slot:
        def compute(codes: Codes) -> Floats:
            return np.where(codes == kind.levels - 1, at_missing[other], seen.base[other])

        return Slot(parameter, np.array([other]), np.zeros(1), compute)

    return [made(other) for other in others]


def _at_missing(seen: Seen, parameter: int) -> NDArray[Any] | None:
    """The base row with a missing value."""
    kind = seen.domain.parameters[parameter]
    return seen.at(parameter, np.array([kind.levels - 1]))[0] if kind.missing else None


def _followed(seen: Seen, parameter: int) -> tuple[int, list[Change]] | None:
    """The one column that a number becomes, and what is done to it on the way; None if that is no plain arithmetic."""
    name = seen.domain.names[parameter]
    place, changes = seen.order.index(name), list[Change]()
    for step in seen.steps:
        way = _way(step, place)
        if way is None:
            return None
        place, more = way
        changes += more
    return place, changes


def _way(step: Any, place: int) -> tuple[int, list[Change]] | None:
    """Where a step leaves the number at a place, and what it does to it."""
    if passes(step):
        return (place, []) if step != "drop" else None
    kind = own_kind(step)
    if kind == "columns":
        met = [
            (name, part, at.index(place))
            for name, part, mine in step.transformers_
            if place in (at := positions(step, mine))
        ]
        if len(met) != 1:
            return None
        name, part, within = met[0]
        way = _way(part, within)
        return None if way is None else (step.output_indices_[name].start + way[0], way[1])
    if kind == "pipeline":
        changes: list[Change] = []
        for _, part in step.steps:
            way = _way(part, place)
            if way is None:
                return None
            place, changes = way[0], [*changes, *way[1]]
        return place, changes
    if kind == "identity":
        return place, []
    if kind == "monotone":
        done = _ARITHMETIC[type(step).__name__](step, place)
        return None if done is None else (place, done)
    return None


def _standard(step: Any, place: int) -> list[Change]:
    return [*_minus(step.mean_ if step.with_mean else None, place), *_over(step.scale_, place)]


def _robust(step: Any, place: int) -> list[Change]:
    return [*_minus(step.center_, place), *_over(step.scale_, place)]


def _largest(step: Any, place: int) -> list[Change] | None:
    return None if getattr(step, "clip", False) else _over(step.scale_, place)


def _span(step: Any, place: int) -> list[Change] | None:
    if step.clip:
        return None
    scale, least = step.scale_[place], step.min_[place]
    return [lambda numbers: numbers * scale, lambda numbers: numbers + least]


def _imputed(step: Any, place: int) -> list[Change] | None:
    """Nothing is done to a number that is there; but columns may be left out, and another number be replaced."""
    statistics = np.asarray(step.statistics_, dtype=object)
    is_whole = not any(map(is_missing, statistics)) or step.keep_empty_features
    return [] if is_whole and is_missing(step.missing_values) else None


def _minus(by: Floats | None, place: int) -> list[Change]:
    return [] if by is None else [lambda numbers, by=by[place]: numbers - by]  # type: ignore[misc]


def _over(by: Floats | None, place: int) -> list[Change]:
    return [] if by is None else [lambda numbers, by=by[place]: numbers / by]  # type: ignore[misc]


_ARITHMETIC: Final[dict[str, Callable[[Any, int], list[Change] | None]]] = {
    "StandardScaler": _standard,
    "RobustScaler": _robust,
    "MaxAbsScaler": _largest,
    "MinMaxScaler": _span,
    "SimpleImputer": _imputed,
}
"""By known class that keeps the order of numbers, its arithmetic; `tabulate` tries whether it is that to the last bit."""


# Of a frame with pandas categoricals


def tabulate_frame(domain: Domain, columns: Sequence[str], adapter: Adapter) -> Tabulated:
    """The numbers that a booster makes of a frame: of a categorical the place of its category, NaN if it is missing."""
    places = {name: domain.names.index(name) for name in columns}
    slots = [_column(domain.parameters[places[name]], places[name], i, adapter) for i, name in enumerate(columns)]
    return Tabulated(domain, slots, np.zeros(len(columns)), None)


def _column(kind: Parameter, parameter: int, column: int, adapter: Adapter) -> Slot:
    categories = adapter.categories.get(kind.name)
    if categories is not None:
        codes = category_places(kind, categories)[: kind.levels].astype(np.float64)
        return Slot(parameter, np.full(kind.levels, column), np.where(codes < 0, np.nan, codes))
    if not kind.is_numeric or kind.dtype == "category":
        raise UnfitError(f"the values of {kind.name!r} are no numbers, and the model does not tell its categories")
    if kind.levels > LOOKED_UP:
        return Slot(parameter, np.array([column]), np.zeros(1), kind.numbers)
    return Slot(parameter, np.full(kind.levels, column), kind.numbers(np.arange(kind.levels)))
