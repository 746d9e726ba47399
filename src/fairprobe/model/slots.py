"""Slots: the places in a row of the estimator's batch that one parameter fills.

Levels are looked up in a table. A number with many levels is computed, by the arithmetic of the steps on its way.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.parameters import Integer, Parameter, Real
from fairprobe.domain.values import is_missing
from fairprobe.model.known import own_kind
from fairprobe.model.tables import NARROW, WIDE, Seen, Table, UnfitError, passes, positions

LOOKED_UP: Final = 200_000
"""Most levels of a number that are looked up; others are computed. Chosen: larger tables leave the cache."""

ONE_FOR_EACH: Final = ("Binarizer", "PowerTransformer", "QuantileTransformer")
"""Steps that make one column of each column, by more than plain arithmetic."""

Change = tuple[Callable[..., Floats], Any]
"""An operation on the numbers of a column, and its second operand."""

Way = tuple[int, list[Change]]
"""A column that a number ends up in, and the operations on the way there."""


@dataclass(frozen=True)
class Slot:
    """A place in a row that one parameter fills: the column, which may depend on the level, and the value."""

    parameter: int
    columns: Codes
    """By level; only one if the values are computed."""
    values: NDArray[Any]
    """By level, unless they are computed."""
    compute: Callable[[Codes], Floats] | None = None

    def extremes(self, n_levels: int) -> NDArray[Any]:
        """All values; of computed ones the first, the last and the missing one, as the others lie between."""
        return self.values if self.compute is None else self.compute(np.array([0, n_levels - 2, n_levels - 1]))


def slots_of(seen: Seen, parameter: int) -> list[Slot]:
    """The slots that a parameter fills."""
    kind = seen.domain.parameters[parameter]
    if kind.name in seen.domain.hidden:
        return []
    if kind.levels > NARROW and isinstance(kind, Integer | Real):
        ways = _ways(seen, kind.name)
        if ways is not None:
            return _numbers(seen, parameter, ways)
    if kind.levels > WIDE:
        raise UnfitError(f"what is made of the {kind.levels:,} levels of {kind.name!r} is not known number by number")
    return _entries(parameter, seen.table(parameter, np.ones(len(seen.base), dtype=bool)))


def _entries(parameter: int, table: Table) -> list[Slot]:
    """A table as slots: as many as a level has numbers other than 0, at most."""
    filled: Mask = table.values != 0
    width = int(filled.sum(axis=1).max(initial=0))
    order = np.sort(np.argsort(~filled, axis=1, kind="stable")[:, :width], axis=1)
    columns, values = table.columns[order], np.take_along_axis(table.values, order, axis=1)
    return [Slot(parameter, columns[:, i], values[:, i]) for i in range(width)]


@dataclass(frozen=True)
class Computed:
    """The numbers in one column, computed from the codes of a parameter."""

    kind: Parameter
    changes: tuple[Change, ...]
    at_missing: float | None

    def __call__(self, codes: Codes) -> Floats:
        """The values of a batch of codes."""
        numbers = self.kind.numbers(codes)
        for change, by in self.changes:
            numbers = change(numbers, by)
        if self.at_missing is not None:
            numbers[codes == self.kind.levels - 1] = self.at_missing
        return numbers


def _numbers(seen: Seen, parameter: int, ways: Sequence[Way]) -> list[Slot]:
    """Slots of the columns that a number ends up in, and of those that tell whether it is missing."""
    kind = seen.domain.parameters[parameter]
    missing = seen.at(parameter, np.array([kind.levels - 1]))[0] if kind.missing else None
    ways = list(ways)
    if missing is not None:
        known, nought = [column for column, _ in ways], (np.multiply, 0.0)
        told = [i for i in np.flatnonzero(missing != seen.base).tolist() if i not in known]
        ways += [(i, [nought, (np.add, float(seen.base[i]))]) for i in told]
    slots = []
    for column, changes in ways:
        compute = Computed(kind, tuple(changes), None if missing is None else float(missing[column]))
        slots.append(computed_slot(parameter, column, kind, compute))
    return slots


def computed_slot(parameter: int, column: int, kind: Parameter, compute: Callable[[Codes], Floats]) -> Slot:
    """A slot of one column, looked up unless the levels are too many."""
    if kind.levels > LOOKED_UP:
        return Slot(parameter, np.array([column]), np.zeros(1), compute)
    return Slot(parameter, np.full(kind.levels, column), compute(np.arange(kind.levels)))


def _ways(seen: Seen, name: str) -> list[Way] | None:
    """The ways of a number through all steps; None if they are more than plain arithmetic."""
    ways: list[Way] | None = [(seen.order.index(name), [])]
    is_sparse = False
    for step in seen.steps:
        ways = _through(step, ways, is_sparse)
        is_sparse = bool(getattr(step, "sparse_output_", False))
    return ways


def _through(step: Any, ways: list[Way] | None, is_sparse: bool = False) -> list[Way] | None:
    """The ways of numbers through one more step."""
    if ways is None or passes(step):
        return [] if isinstance(step, str) and step == "drop" else ways
    found: list[Way] = []
    for place, done in ways:
        more = _BY_KIND[own_kind(step) or ""](step, place, is_sparse) if own_kind(step) in _BY_KIND else None
        if more is None:
            return None
        found += [(to, [*done, *changes]) for to, changes in more]
    return found


def _by_columns(step: Any, place: int, is_sparse: bool) -> list[Way] | None:
    found: list[Way] = []
    for name, part, mine in step.transformers_:
        given = positions(step, mine)
        ways = _through(part, [(i, []) for i, each in enumerate(given) if each == place])
        if ways is None:
            return None
        weight = (step.transformer_weights or {}).get(name)
        weighted: list[Change] = [] if weight is None else [(np.multiply, weight)]
        first = step.output_indices_[name].start
        found += [(first + to, [*changes, *weighted]) for to, changes in ways]
    return found


def _by_steps(step: Any, place: int, is_sparse: bool) -> list[Way] | None:
    ways: list[Way] | None = [(place, [])]
    for _, part in step.steps:
        ways = _through(part, ways, is_sparse)
    return ways


def _by_column(step: Any, place: int, is_sparse: bool) -> list[Way] | None:
    """The way through a step that selects columns, or that makes one column of each; None for other steps."""
    if hasattr(step, "get_support"):
        kept = step.get_support(indices=True).tolist()
        return [(kept.index(place), [])] if place in kept else []
    is_one_for_each = type(step).__name__ in ONE_FOR_EACH or getattr(step, "encode", None) == "ordinal"
    return [(place, [(_transformed, (step, place))])] if is_one_for_each and not is_sparse else None


def _transformed(numbers: Floats, by: tuple[Any, int]) -> Floats:
    """Numbers as a step transforms them in one of its columns; the other columns are zeros, which do not matter."""
    step, place = by
    rows = np.zeros((len(numbers), step.n_features_in_))
    rows[:, place] = numbers
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the columns' names are missing
        return np.asarray(step.transform(rows)[:, place], dtype=np.float64)


def _scaled(step: Any, place: int, is_sparse: bool) -> list[Way] | None:
    """The way through a scaler: subtract, then divide; or multiply, then add. Imputers leave numbers as they are."""
    name = type(step).__name__
    if getattr(step, "clip", False):
        return None
    if name == "SimpleImputer":
        left_out = [is_missing(each) for each in np.asarray(step.statistics_, dtype=object)]
        is_whole = not any(left_out) or step.keep_empty_features
        return [(place, [])] if is_whole and is_missing(step.missing_values) else None
    if name == "MinMaxScaler":
        return [(place, [(np.multiply, step.scale_[place]), (np.add, step.min_[place])])]
    centre = {"StandardScaler": "mean_", "RobustScaler": "center_"}.get(name)
    changes: list[Change] = []
    if centre is not None and getattr(step, "with_mean", True) and getattr(step, centre) is not None:
        changes.append((np.subtract, getattr(step, centre)[place]))
    if step.scale_ is not None:
        by = step.scale_[place]
        changes.append((np.multiply, 1 / by) if is_sparse else (np.divide, by))
    return [(place, changes)]


_BY_KIND: Final[dict[str, Callable[[Any, int, bool], list[Way] | None]]] = {
    "columns": _by_columns,
    "pipeline": _by_steps,
    "identity": lambda step, place, is_sparse: [(place, [])],
    "columnwise": _by_column,
    "monotone": _scaled,
}
"""By kind of step, where it leaves a number; `tabulate` tries whether that is so, to the last bit."""
