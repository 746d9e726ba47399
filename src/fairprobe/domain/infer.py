"""Inference of parameters (kinds, bounds, values and dtypes) from a frame of inputs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.blocks import Remark
from fairprobe.checks import nearest
from fairprobe.domain.parameters import Category, Integer, Ordinal, Parameter, Real
from fairprobe.domain.values import plain
from fairprobe.errors import DataError, DomainError

if TYPE_CHECKING:
    import pandas as pd

WIDE = 100
"""Number of levels above which a parameter's moves are 1% and 10% of its range instead of one step; chosen."""

MOST_DECIMALS = 6
"""Largest number of decimals of the values for which a grid is as fine as the values; chosen."""

MOST_CODES = 12
"""Largest number of levels of an integer parameter whose values may be codes of categories; chosen, as for proxies."""

MOST_SHOWN = 5
"""Largest number of values that no row has and that a remark names; chosen."""


def infer_parameters(frame: pd.DataFrame, given: Iterable[Parameter] = ()) -> list[Parameter]:
    """Return a parameter for each column of a frame; given parameters replace inferred ones of the same name."""
    _check_frame(frame)
    by_name = {parameter.name: parameter for parameter in given}
    unknown = [name for name in by_name if name not in frame.columns]
    if unknown:
        near = nearest(unknown[0], frame.columns)
        raise DomainError(f"a parameter given must be a column of the frame, got {', '.join(unknown)}{near}")
    return [by_name[name] if name in by_name else infer_parameter(frame[name]) for name in frame.columns]


def infer_parameter(column: pd.Series[Any]) -> Parameter:
    """Return the parameter (kind, bounds, values and dtype) that fits a column of a frame."""
    import pandas as pd

    name, dtype = str(column.name), str(column.dtype)
    present = column.dropna()
    missing = len(present) < len(column)
    if present.empty:
        raise DataError(
            f"column {name!r} must hold a value, got only missing ones: leave it out (--ignore on the command line)"
        )
    if isinstance(column.dtype, pd.CategoricalDtype):
        kind = Ordinal if column.dtype.ordered else Category
        return kind(name, tuple(column.dtype.categories), missing=missing, dtype="category")
    if pd.api.types.is_bool_dtype(column.dtype):
        return Category(name, (False, True), missing=missing, dtype=dtype)
    if pd.api.types.is_integer_dtype(column.dtype):
        return _integer(name, int(present.min()), int(present.max()), missing, dtype)
    if pd.api.types.is_float_dtype(column.dtype):
        return _number(name, present.to_numpy(dtype=np.float64), missing, dtype)
    return _listed(name, present, missing, dtype)


def only_seen(
    frame: pd.DataFrame, parameters: Iterable[Parameter], sensitive: Mapping[str, Sequence[Any] | None]
) -> dict[str, Sequence[Any] | None]:
    """Return the sensitive parameters with their values to compare, without values that no row has.

    `parameters` are the inferred ones. A category, or a number that may be the code of one, is compared only if a row
    has it or the caller lists it: the model has never seen any other, so its answer is arbitrary. `unseen_remarks`
    names the values that are left out.
    """
    compared = dict(sensitive)
    for parameter in parameters:
        if parameter.name in compared and compared[parameter.name] is None:
            unseen = unseen_values(frame, parameter)
            if unseen:
                values = map(plain, parameter.decode(np.arange(parameter.levels - parameter.missing)))
                compared[parameter.name] = [value for value in values if value not in unseen]
    return compared


def unseen_values(frame: pd.DataFrame, parameter: Parameter) -> list[Any]:
    """Return the values of a parameter that no row has; empty for a number with more than `MOST_CODES` values."""
    if not isinstance(parameter, (Category, Ordinal)) and parameter.levels > MOST_CODES:
        return []
    codes = np.setdiff1d(np.arange(parameter.levels - parameter.missing), parameter.encode(frame[parameter.name]))
    return [plain(value) for value in parameter.decode(codes)]


def unseen_remarks(frame: pd.DataFrame, parameter: Parameter) -> Iterator[Remark]:
    """Yield remarks that name values of a sensitive parameter that no row has, whether compared or left out."""
    compared = unseen_values(frame, parameter)
    declared = infer_parameter(frame[parameter.name])
    apart = [value for value in unseen_values(frame, declared) if parameter.encode([value])[0] < 0]
    for unseen, how in ((compared, "is compared at"), (apart, "is not compared at")):
        if unseen:
            shown = ", ".join(map(repr, unseen[:MOST_SHOWN])) + (", ..." if len(unseen) > MOST_SHOWN else "")
            text = (
                f"the sensitive parameter {parameter.name!r} {how} {shown}, which no row has: the values listed in "
                f"sensitive={{{parameter.name!r}: [...]}} are compared, else those that rows have"
            )
            yield Remark("unseen-values", text)


def _integer(name: str, low: int, high: int, missing: bool, dtype: str) -> Integer:
    moves = _wide_moves(high - low + 1)
    return Integer(name, low, high, missing=missing, dtype=dtype, moves=moves)


def _number(name: str, values: Any, missing: bool, dtype: str) -> Parameter:
    """Return an Integer if all numbers of a column are whole, else a Real on a grid as fine as the numbers.

    Floats count as whole if they have no fraction.
    """
    if not np.isfinite(values).all():
        raise DataError(f"column {name!r} must hold finite numbers, got an infinite one")
    low, high = float(values.min()), float(values.max())
    if (values == np.rint(values)).all() and max(abs(low), abs(high)) < 2**53:
        return _integer(name, int(low), int(high), missing, dtype)
    blur = 4 * float(np.finfo("float32" if dtype.lower() == "float32" else "float64").eps) * max(abs(low), abs(high))
    step = _resolution(values, high - low, blur)
    first, last = math.floor((low + blur) / step + 1e-9), math.ceil((high - blur) / step - 1e-9)
    low, high, levels = float(f"{first * step:.12g}"), float(f"{last * step:.12g}"), last - first + 1
    return Real(name, low, high, step, missing=missing, dtype=dtype, moves=_wide_moves(levels))


def _resolution(values: Any, span: float, blur: float) -> float:
    """Return a grid's step: the largest power of ten below 1 that divides all values, or a thousandth of the range."""
    for decimals in range(1, MOST_DECIMALS + 1):
        if np.abs(values - np.round(values, decimals)).max() <= min(blur, 10.0 ** -(decimals + 1)):
            return float(10.0**-decimals)
    return float(10.0 ** math.floor(math.log10(max(span, 1e-9) / 1000) + 1e-9))


def _listed(name: str, present: pd.Series[Any], missing: bool, dtype: str) -> Category:
    odd = [value for value in present.tolist() if not isinstance(value, (str, bool, int, float))]
    if odd:
        raise DataError(
            f"column {name!r} must hold numbers, strings or truth values, got {type(odd[0]).__name__} ({dtype}): "
            "convert it or leave it out"
        )
    values = present.unique().tolist()
    return Category(
        name, tuple(sorted(values, key=lambda value: (str(type(value)), value))), missing=missing, dtype=dtype
    )


def _wide_moves(levels: int) -> tuple[int, ...]:
    if levels <= WIDE:
        return (-1, 1)
    small, large = round(levels / 100), round(levels / 10)
    return (-large, -small, small, large)


def _check_frame(frame: Any) -> None:
    if frame.empty:
        raise DataError(f"a domain is inferred from one row and one column at least, got the shape {frame.shape}")
    odd = [name for name in frame.columns if not isinstance(name, str)]
    if odd:
        raise DataError(f"columns must be named by strings, got {odd[0]!r}")
