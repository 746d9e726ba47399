"""Variables: parameters as rules see them, with their values by code, in runs of codes that no rule separates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes
from fairprobe.domain.expressions import Compare, Constant, Formula, Name, Operand, leaves_of, names_in
from fairprobe.domain.parameters import Parameter
from fairprobe.domain.values import plain_or_none

MOST_LEVELS = 4_000_000
"""Levels of a parameter that tables list one by one; chosen. A larger parameter is cut at the constants in rules."""


class TooManyError(Exception):
    """A table would need too many states or values."""


@dataclass(frozen=True)
class Variable:
    """A parameter in cells: runs of levels that no rule separates. Rules see the value of a cell's first level."""

    column: int
    n_levels: int
    starts: Codes
    """The first level of each cell."""
    operands: Mapping[str, Operand]
    """The value at each first level, by the name of the parameter and of those derived from it."""

    @property
    def sizes(self) -> Codes:
        """How many levels each cell has."""
        return np.diff(self.starts, append=self.n_levels)

    def cells(self, codes: Codes) -> Codes:
        """The cell of each code."""
        if len(self.starts) == self.n_levels:
            return codes
        return np.searchsorted(self.starts, codes, side="right") - 1

    def value(self, cell: int) -> dict[str, Any]:
        """The values at a cell by name; None where missing."""
        return {name: plain_or_none(values[cell]) for name, values in self.operands.items()}


def make_variable(
    column: int, parameter: Parameter, derived: Mapping[str, Sequence[Any]], rules: Sequence[Formula]
) -> Variable:
    """The variable of a parameter; `derived` has, by name, the derived values for its levels."""
    n = parameter.levels
    if n <= MOST_LEVELS:
        starts = np.arange(n)
    else:
        if derived or not hasattr(parameter, "step"):
            raise TooManyError
        starts = _cut(
            parameter, [leaf for rule in rules for leaf in leaves_of(rule) if parameter.name in names_in(leaf)]
        )
    operands: dict[str, Operand] = {parameter.name: operand(parameter, starts)}
    for name, values in derived.items():
        operands[name] = as_operand(values)
    return Variable(column, n, starts, operands)


def operand(parameter: Parameter, codes: Codes) -> Operand:
    """A parameter's values as rules see them: numbers as floats, anything else as objects."""
    if is_number(parameter):
        return parameter.numbers(codes)
    distinct, places = np.unique(codes, return_inverse=True)
    return as_operand(np.asarray(parameter.decode(distinct), dtype=object))[places]


def is_number(parameter: Parameter) -> bool:
    """Whether rules see numbers. Truth values are not numbers; other things in a column of numbers count as missing."""
    own = parameter.own
    return own.is_numeric and not any(isinstance(value, bool) for value in getattr(own, "values", ()))


def as_operand(values: Sequence[Any] | NDArray[Any]) -> Operand:
    """Values as rules see them: None where one is missing."""
    told = [plain_or_none(value) for value in values]
    if all(value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)) for value in told):
        return np.array([math.nan if value is None else value for value in told], dtype=np.float64)
    made = np.empty(len(told), dtype=object)
    made[:] = told
    return made


def _cut(parameter: Parameter, leaves: Sequence[Compare]) -> Codes:
    """First levels of cells: single levels next to each constant, and the runs between, where rules cannot differ."""
    constants: list[float] = []
    for leaf in leaves:
        if not isinstance(leaf.left, Name) or not isinstance(leaf.right, Constant):
            raise TooManyError
        value = leaf.right.value
        constants += value if isinstance(value, tuple) else [] if value is None else [value]
    n_values = parameter.levels - parameter.missing
    low, step = parameter.low, parameter.step  # type: ignore[attr-defined]  # so many values only a grid has
    near = np.rint((np.array(constants) - low) / step).clip(-3, n_values + 2).astype(np.int64)
    starts = (near[:, None] + np.arange(-1, 3)).ravel()
    starts = np.unique(np.concatenate([[0], starts[(starts >= 0) & (starts < n_values)]]))
    return np.append(starts, n_values) if parameter.missing else starts
