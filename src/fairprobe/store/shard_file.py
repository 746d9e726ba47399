"""Shard files: the content of a shard as a Parquet file, with arrays of other lengths in its metadata.

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
"""Largest unpacked size of a table or array in a file, in bytes. Chosen: ten times the largest shard of default
size."""

_RULE: Final = f"a shard must unpack to {MOST_BYTES:,} bytes at most, got one that unpacks to more"

SCALARS = (str, bool, int, float, type(None))


@dataclass(frozen=True)
class ShardContent:
    """The content of a shard file: a table, further arrays, and plain values."""

    columns: dict[str, NDArray[Any]]
    """Columns of the table, by name, all of one length."""
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    """Further arrays of whole numbers or truth values, by name, of any shape."""
    about: dict[str, Any] = field(default_factory=dict)
    """Further facts about the shard, as plain values (as in JSON)."""


def of_answers(answers: NDArray[Any], **arrays: NDArray[Any]) -> ShardContent:
    """Return the content of a shard file with a model's answers, one row per input, and with further arrays."""
    columns = [answers] if answers.ndim == 1 else list(answers.T)
    return ShardContent({f"answer {n}": column for n, column in enumerate(columns)}, arrays, {"ndim": answers.ndim})


def answers_of(content: ShardContent) -> NDArray[Any]:
    """Return the model's answers in a content made by `of_answers`, one row per input."""
    columns = list(content.columns.values())
    return columns[0] if content.about["ndim"] == 1 else np.column_stack(columns)


def to_bytes(content: ShardContent) -> Any:
    """Return the bytes of a shard file with this content."""
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
    """Return the content of a shard file, given as bytes; with `columns`, only these columns of its table.

    Raises a RunError if it would unpack to more than `MOST_BYTES`.
    """
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
    """Return two facts about a shard file without reading its table: its number of rows, and its plain values."""
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
    """Return an array of whole numbers in the smallest integer dtype that holds them all; others unchanged."""
    if array.dtype.kind not in "iu" or not array.size:
        return array
    dtype = np.promote_types(np.min_scalar_type(int(array.min())), np.min_scalar_type(int(array.max())))
    return array.astype(dtype, copy=False) if dtype.kind in "iu" else array


def packed(array: NDArray[Any]) -> dict[str, Any]:
    """Return an array as a dictionary of plain values, which JSON can hold: compressed data, dtype and shape."""
    counts_up = array.ndim == 1 and array.dtype.kind != "b" and bool((array[1:] >= array[:-1]).all())
    stored = smallest(np.diff(array, prepend=0) if counts_up else array)
    data = base64.b64encode(zlib.compress(np.ascontiguousarray(stored).tobytes(), 1)).decode()
    shape = list(array.shape)
    return {"dtype": array.dtype.str, "shape": shape, "counts_up": counts_up, "as": stored.dtype.str, "data": data}


def unpacked(made: Mapping[str, Any]) -> NDArray[Any]:
    """Return the array from the dictionary that `packed` made; a RunError if it is too large."""
    unpacking = zlib.decompressobj()
    content = unpacking.decompress(base64.b64decode(made["data"]), MOST_BYTES)
    if unpacking.unconsumed_tail:
        raise RunError(_RULE)
    array = np.frombuffer(content, dtype=made["as"]).astype(made["dtype"])
    return np.cumsum(array, dtype=array.dtype) if made["counts_up"] else array.reshape(made["shape"])
