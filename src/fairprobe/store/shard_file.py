"""A shard as the bytes of a Parquet file: a table, and arrays of other lengths in the file's metadata.

The columns of the table are numbers; other labels are numbered, and the metadata lists them. Increasing arrays are
stored as differences. All arrays use the fewest bytes possible and are compressed.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairprobe.errors import ModelError, RunError

KEY = b"fairprobe-shard"
MOST_BYTES: Final = 2**29
"""Largest unpacked size, in bytes, of a table or an array. Chosen: ten times the largest shard of the default size."""

_RULE: Final = f"a shard must unpack to {MOST_BYTES:,} bytes at most, got one that unpacks to more"

SCALARS = (str, bool, int, float, type(None))


@dataclass(frozen=True)
class ShardContent:
    """The content of a shard's file."""

    columns: dict[str, NDArray[Any]]
    """Columns by name, all of one length."""
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    """Arrays by name: whole numbers or truth values, of any shape."""
    about: dict[str, Any] = field(default_factory=dict)
    """Plain values."""


def of_answers(answers: NDArray[Any], **arrays: NDArray[Any]) -> ShardContent:
    """Return a model's answers, one row per input, as content; `arrays` are stored beside them."""
    columns = [answers] if answers.ndim == 1 else list(answers.T)
    return ShardContent({f"answer {n}": column for n, column in enumerate(columns)}, arrays, {"ndim": answers.ndim})


def answers_of(content: ShardContent) -> NDArray[Any]:
    """Return the answers that `of_answers` stored."""
    columns = list(content.columns.values())
    return columns[0] if content.about["ndim"] == 1 else np.column_stack(columns)


def to_bytes(content: ShardContent) -> Any:
    """Return the bytes of the file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns, dtypes, labels = {}, {}, {}
    for name, column in content.columns.items():
        dtypes[name] = column.dtype.str
        if column.dtype.kind not in "iufb":
            column, labels[name] = _numbered(column)
        columns[name] = pa.array(np.ascontiguousarray(smallest(column)))
    about = {
        "about": content.about,
        "dtypes": dtypes,
        "labels": labels,
        "arrays": {name: packed(array) for name, array in content.arrays.items()},
    }
    table = pa.table(columns).replace_schema_metadata({KEY: json.dumps(about)})
    stream = pa.BufferOutputStream()
    # Wide numbers, as offsets, count up: their differences are small, and a dictionary of them would be large.
    many = [each.name for each in table.schema if pa.types.is_integer(each.type) and each.type.bit_width > 16]
    few = [name for name in table.column_names if name not in many]
    pq.write_table(
        table,
        stream,
        compression="lz4",
        use_dictionary=few or False,
        column_encoding=dict.fromkeys(many, "DELTA_BINARY_PACKED"),
        write_statistics=False,
    )
    return stream.getvalue()


def from_bytes(data: Any, columns: list[str] | None = None) -> ShardContent:
    """Return the content of a file, or only some columns of its table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = pq.ParquetFile(pa.BufferReader(data))
    groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
    n_numbers = sum(group.num_rows for group in groups) * file.metadata.num_columns
    if max(8 * n_numbers, sum(group.total_byte_size for group in groups)) > MOST_BYTES:
        raise RunError(f"{_RULE} ({n_numbers:,} numbers)")
    about = json.loads(file.schema_arrow.metadata[KEY])
    table = file.read(columns)
    found = {}
    for name in table.column_names:
        column, dtype = table[name].to_numpy(), np.dtype(about["dtypes"][name])
        known = about["labels"].get(name)
        found[name] = column.astype(dtype, copy=False) if known is None else np.array(known, dtype)[column]
    arrays = {name: unpacked(each) for name, each in about["arrays"].items()}
    return ShardContent(found, arrays, about["about"])


def summary_of(data: Any) -> tuple[int, dict[str, Any]]:
    """Return the number of rows of a shard's table, and its plain values, without reading the table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    found = pq.ParquetFile(pa.BufferReader(data))
    return found.metadata.num_rows, json.loads(found.schema_arrow.metadata[KEY])["about"]


def _numbered(column: NDArray[Any]) -> tuple[NDArray[Any], list[Any]]:
    import pandas as pd

    numbers, labels = pd.factorize(column, use_na_sentinel=False)
    values = [label.item() if isinstance(label, np.generic) else label for label in labels.tolist()]
    others = {type(value).__name__ for value in values if not isinstance(value, SCALARS)}
    if others:
        raise ModelError(f"outputs must be texts or numbers to be stored, got {', '.join(sorted(others))}")
    return numbers, values


def smallest(array: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers in the smallest dtype that holds them all."""
    if array.dtype.kind not in "iu" or not array.size:
        return array
    dtype = np.promote_types(np.min_scalar_type(int(array.min())), np.min_scalar_type(int(array.max())))
    return array.astype(dtype, copy=False) if dtype.kind in "iu" else array


def packed(array: NDArray[Any]) -> dict[str, Any]:
    """Return an array as plain values of JSON."""
    counts_up = array.ndim == 1 and array.dtype.kind != "b" and bool((array[1:] >= array[:-1]).all())
    stored = smallest(np.diff(array, prepend=0) if counts_up else array)
    data = base64.b64encode(zlib.compress(np.ascontiguousarray(stored).tobytes(), 1)).decode()
    shape = list(array.shape)
    return {"dtype": array.dtype.str, "shape": shape, "counts_up": counts_up, "as": stored.dtype.str, "data": data}


def unpacked(made: Mapping[str, Any]) -> NDArray[Any]:
    """Return the array that `packed` stored."""
    unpacking = zlib.decompressobj()
    content = unpacking.decompress(base64.b64decode(made["data"]), MOST_BYTES)
    if unpacking.unconsumed_tail:
        raise RunError(_RULE)
    array = np.frombuffer(content, dtype=made["as"]).astype(made["dtype"])
    return np.cumsum(array, dtype=array.dtype) if made["counts_up"] else array.reshape(made["shape"])
