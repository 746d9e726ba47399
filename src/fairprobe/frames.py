"""Frames of rows: makes them of polars, pyarrow and numpy with their dtypes, and writes them as CSV files."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from fairprobe.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd


def as_pandas(rows: Any, names: Sequence[str] | None = None) -> pd.DataFrame:
    """Return rows as a pandas frame; a pandas frame is returned unchanged.

    The columns of an array get the `names`, or x0, x1 and so on without names. Types that pandas also has are kept:
    categories in their order, truth values and whole numbers. The last two become nullable if a value is missing. An
    Enum of polars becomes a categorical without an order.

    >>> import pyarrow
    >>> as_pandas(pyarrow.table({"age": [30, None], "sex": ["Female", "Male"]})).dtypes["age"]
    Int64Dtype()
    """
    import pandas as pd

    if isinstance(rows, pd.DataFrame):
        _check_distinct(rows.columns.tolist())
        return rows
    table = _as_arrow(rows)
    if table is not None:
        return _of_arrow(table)
    array = np.asarray(rows)
    if array.dtype.names is not None:  # a structured one names its columns
        return pd.DataFrame({name: array[name] for name in array.dtype.names})
    if array.ndim != 2 or (names is not None and array.shape[1] != len(names)):
        form = "two axes" if names is None else f"{len(names)} columns in domain order"
        raise DataError(
            f"an array of inputs must have {form}, got the shape {array.shape} of {type(rows).__name__}: "
            "give a frame of pandas or polars, a table of pyarrow, or such an array"
        )
    columns = [f"x{place}" for place in range(array.shape[1])] if names is None else list(names)
    frame = pd.DataFrame(array, columns=columns)
    return frame.infer_objects() if names is None else frame


def as_values(values: Any) -> Any:
    """Return one column of values, such as labels: as a numpy array if it is of polars or pyarrow, else unchanged."""
    polars, pyarrow = sys.modules.get("polars"), sys.modules.get("pyarrow")
    if polars is not None and isinstance(values, polars.Series):
        values = values.to_arrow()
    if pyarrow is not None and isinstance(values, (pyarrow.Array, pyarrow.ChunkedArray)):
        return _column(values).to_numpy()
    return values


def is_array(rows: Any) -> bool:
    """Return True if rows have no column names, as an array of numpy without fields."""
    return not hasattr(type(rows), "columns") and getattr(getattr(rows, "dtype", None), "names", None) is None


def _as_arrow(rows: Any) -> Any:
    """Return rows of polars or pyarrow as a pyarrow table; None for other rows.

    Neither package is imported: rows can only be theirs if the caller has imported it.
    """
    polars, pyarrow = sys.modules.get("polars"), sys.modules.get("pyarrow")
    if polars is not None:
        if isinstance(rows, polars.LazyFrame):
            rows = rows.collect()
        if isinstance(rows, polars.DataFrame):
            return rows.to_arrow()
    if pyarrow is not None:
        if isinstance(rows, pyarrow.RecordBatch):
            return pyarrow.Table.from_batches([rows])
        if isinstance(rows, pyarrow.Table):
            return rows
    return None


def _of_arrow(table: Any) -> pd.DataFrame:
    import pandas as pd

    names = table.column_names
    if table.schema.pandas_metadata and len(set(names)) == len(names):
        return table.to_pandas()  # it knows what it was
    _check_distinct(names)
    columns = {name: _column(table.column(name)) for name in names}
    for field in table.schema:
        if any(key.startswith(b"_PL_ENUM") for key in field.metadata or {}):
            columns[field.name] = columns[field.name].cat.as_unordered()
    return pd.DataFrame(columns)


def _check_distinct(names: Sequence[Any]) -> None:
    if len(set(names)) < len(names):
        repeated = ", ".join(dict.fromkeys(str(name) for name in names if names.count(name) > 1))
        raise DataError(f"columns must have distinct names, got {repeated} more than once")


def _column(column: Any) -> pd.Series[Any]:
    """Return a pyarrow column as a pandas column; with missing values, int and bool columns get nullable dtypes."""
    import pandas as pd
    import pyarrow as pa

    kinds = {
        getattr(pa, f"{sign}{size}")(): getattr(pd, f"{name}{size}Dtype")()
        for sign, name in (("int", "Int"), ("uint", "UInt"))
        for size in (8, 16, 32, 64)
    }
    if pa.types.is_dictionary(column.type):  # older versions of pyarrow take no unsigned places
        column = column.cast(pa.dictionary(pa.int64(), column.type.value_type, column.type.ordered))
    nullable = {**kinds, pa.bool_(): pd.BooleanDtype()} if column.null_count else {}
    made: pd.Series[Any] = column.to_pandas(types_mapper=nullable.get)
    return made


# CSV files in which no spreadsheet program takes a text for a formula

_STARTS = "[-=+@\uff0d\uff1d\uff0b\uff20]"
"""Characters with which a spreadsheet formula may begin, including their full-width forms."""

_BLANK = r"(?:[^\S\t\r\n]|\ufeff)*"
"""Characters that a spreadsheet program may skip. At the beginning of a file, one is the mark of its encoding."""

_FORMULA = rf"(?:\A(?='*(?:\ufeff|{_BLANK}(?:[\t\r\n]|{_STARTS})))|(?<=[\t\r\n;])(?='*{_BLANK}{_STARTS}))"
"""Pattern of the places in a text where a spreadsheet program might begin a formula. Where commas are decimal points,
a semicolon separates cells. A text that begins with the mark of an encoding is one too: readers would drop the mark."""

_BARE, _MARKED = re.compile(_FORMULA), re.compile(_FORMULA.replace("(?='", "'(?='"))


def write_csv(frame: pd.DataFrame, target: Path | IO[str], *, header: bool = True) -> None:
    """Write a frame as CSV, with an apostrophe before each text that a spreadsheet program might run as a formula.

    Numbers stay unchanged.
    """
    told = _replaced(frame, _BARE, "'")
    # Python quotes no bare carriage return, which ends a line to those who read it.
    has_returns = any("\r" in text for name, column in told.items() for text in (str(name), *_texts(column)))
    quoting = csv.QUOTE_NONNUMERIC if has_returns else csv.QUOTE_MINIMAL
    told.to_csv(target, index=False, header=header, quoting=quoting, lineterminator="\n")


def restored(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame read from a file of `write_csv` without the apostrophes that `write_csv` added."""
    return _replaced(frame, _MARKED, "")


def _replaced(frame: pd.DataFrame, pattern: re.Pattern[str], mark: str) -> pd.DataFrame:
    def changed(value: Any) -> Any:
        return pattern.sub(mark, value) if isinstance(value, str) else value

    told = frame.rename(columns=changed)
    for place, (_, column) in enumerate(frame.items()):  # by place, as two columns may have one name
        if any(map(pattern.search, _texts(column))):
            told.isetitem(place, column.astype(object).map(changed))
    return told


def _texts(column: pd.Series[Any]) -> set[str]:
    if getattr(column.dtype, "kind", "O") in "iufb":
        return set()
    return {value for value in column.astype(object) if isinstance(value, str)}
