"""Rows as JSON: how a batch is written to services and programs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from fairprobe.errors import DataError


class Batch:
    """The rows of a batch, each of them encoded once; equal bytes are equal rows."""

    def __init__(self, rows: Any, *, as_objects: bool) -> None:
        self.names: list[str] | None = None
        """The names of the columns; None for an array."""
        if isinstance(rows, np.ndarray):
            columns: list[Any] = list(rows.T)
        else:
            self.names = [str(name) for name in rows.columns]
            columns = [rows.iloc[:, place] for place in range(rows.shape[1])]
        self.values = list(map(plain_values, columns))
        """By column, its values, None for a missing one."""
        self._dtypes = [column.dtype for column in columns]
        plain: Any = zip(*self.values, strict=True)
        if as_objects and self.names is not None:
            plain = (dict(zip(self.names, row, strict=True)) for row in plain)
        self.rows = list(map(encoded, plain))
        """The rows as JSON, numbers to the last bit: lists, or objects by the columns' names."""

    @cached_property
    def kinds(self) -> list[str]:
        """By column, its datatype in the Open Inference Protocol."""
        return [_kind(dtype, values) for dtype, values in zip(self._dtypes, self.values, strict=True)]

    def listed(self, places: Sequence[int]) -> bytes:
        """The JSON of a list of some rows."""
        return b"[%b]" % b",".join([self.rows[place] for place in places])


def objects(frame: Any) -> list[dict[str, Any]]:
    """The rows of a frame, each as an object of plain values by name."""
    names = [str(name) for name in frame.columns]
    columns = [plain_values(frame.iloc[:, place]) for place in range(frame.shape[1])]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def encoded(content: Any) -> bytes:
    """Content as JSON."""
    import orjson

    try:
        return orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)
    except TypeError as error:
        raise DataError(f"a row that is sent to a service must be of numbers and text, got {error}") from None


def _kind(dtype: Any, values: list[Any]) -> str:
    kind = dtype.kind if isinstance(dtype, np.dtype) else "O"
    if kind == "O":  # by the values, as pandas' own dtypes do not tell
        held = {type(value) for value in values if value is not None}
        kind = "b" if held == {bool} else "i" if held == {int} else "f" if held and held <= {int, float} else "O"
    return {"i": "INT64", "u": "INT64", "f": "FP64", "b": "BOOL"}.get(kind, "BYTES")


def plain_values(column: Any) -> list[Any]:
    """The values of a column, None for a missing one; no number may be infinite, as JSON has none."""
    import pandas as pd

    values: list[Any] = column.tolist()
    kind = column.dtype.kind if isinstance(column.dtype, np.dtype) else "O"
    if kind not in "iub":
        for place in np.flatnonzero(np.asarray(pd.isna(column))).tolist():
            values[place] = None
    if kind == "f" and np.isinf(np.asarray(column)).any():
        raise DataError("a row that is sent to a service must be of finite numbers, got an infinite one")
    return values
