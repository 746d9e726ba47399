"""Files of densities: a Parquet table of counts with a description as metadata. They hold no row of the data.

The table has four columns: `part` ("level", "factor" or "held-out"), `item` (which column, or which factor), `place`
(a level's place, or a cell of the factor's table) and `value` (a count of rows, or a logarithm). What they are counts
of is in the file's metadata, as JSON, with the domain as TOML.
"""

from __future__ import annotations

import hashlib
import json
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Codes, Floats
from fairprobe.checks import parsed_toml
from fairprobe.domain import toml
from fairprobe.domain.bins import Bins
from fairprobe.domain.density import Density
from fairprobe.domain.domain import Domain
from fairprobe.domain.factors import Factor
from fairprobe.errors import DataError, DomainError

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1
KEY = b"fairprobe-density"
PARTS = ("level", "factor", "held-out")


def write(path: str | PathLike[str], density: Density) -> None:
    """Write the file."""
    import pyarrow.parquet as pq

    about, table = _content(density)
    try:
        pq.write_table(table.replace_schema_metadata({KEY: json.dumps(about)}), path)
    except OSError as error:
        raise DataError(f"a density must be written where that can be done, got {error}: {path}") from None


def digest_of(density: Density) -> str:
    """A hash of all that defines a density."""
    return str(_content(density)[0]["digest"])


def _content(density: Density) -> tuple[dict[str, Any], pa.Table]:
    import pyarrow as pa

    parts: list[tuple[int, int, Codes, Floats]] = []
    for item, bins in enumerate(density.bins):
        parts.append((0, item, bins.seen, bins.counts.astype(np.float64)))
    for item, factor in enumerate(density.factors):
        cells = np.flatnonzero(factor.counts)
        parts.append((1, item, cells, factor.counts.ravel()[cells].astype(np.float64)))
    parts.append((2, 0, np.arange(len(density.held_out)), density.held_out))
    columns = {
        "part": pa.DictionaryArray.from_arrays(
            pa.array(np.concatenate([np.full(len(places), part, dtype=np.int8) for part, _, places, _ in parts])),
            pa.array(PARTS),
        ),
        "item": pa.array(np.concatenate([np.full(len(places), item) for _, item, places, _ in parts])),
        "place": pa.array(np.concatenate([places for _, _, places, _ in parts])),
        "value": pa.array(np.concatenate([values for *_, values in parts])),
    }
    about: dict[str, Any] = {
        "format": FORMAT,
        "domain": toml.text_of(density.domain),
        "callables": len(density.domain.restrictions.callables),
        "n_rows": density.n_rows,
        "n_left_out": density.n_left_out,
        "bins": [
            {
                "n_levels": bins.n_levels,
                "starts": bins.starts.tolist(),
                "order": None if bins.order is None else bins.order.tolist(),
                "strength": bins.strength,
            }
            for bins in density.bins
        ],
        "factors": [
            {"child": factor.child, "parents": factor.parents, "strengths": factor.strengths}
            for factor in density.factors
        ],
    }
    table = pa.table(columns)
    about["digest"] = _digest(about, table)
    return about, table


def _digest(about: dict[str, Any], table: pa.Table) -> str:
    """A hash of the file's content, which detects a file that was changed or cut."""
    said = json.dumps({name: value for name, value in about.items() if name != "digest"}, sort_keys=True)
    digest = hashlib.sha256(said.encode())
    digest.update(json.dumps(table["part"].cast("string").to_pylist()).encode())
    for name, dtype in (("item", np.int64), ("place", np.int64), ("value", np.float64)):
        digest.update(np.ascontiguousarray(table[name].to_numpy(), dtype=dtype).tobytes())
    return digest.hexdigest()


def read(path: str | PathLike[str], domain: Domain | None = None) -> Density:
    """Read the file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(Path(path))
        about = json.loads((table.schema.metadata or {})[KEY])
        if about["format"] != FORMAT:
            raise DataError(f"{path}: a density file's format must be {FORMAT}, got {about['format']!r}")
        is_whole = about["digest"] == _digest(about, table)
    except OSError as error:
        raise DataError(f"a density file must be readable, got {error.strerror or error}: {path}") from None
    except (pa.ArrowException, KeyError, ValueError, TypeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"{path}: must be what Density.to_parquet wrote, got {type(error).__name__}: {error}; fit it again"
        ) from None
    if not is_whole:
        raise DataError(f"{path}: must be as Density.to_parquet wrote it, got a file that was changed since")
    density = _from_table(about, table, path)
    if domain is not None:
        return density.within(domain)
    if about["callables"]:
        raise DomainError(
            f"{path}: its domain had {about['callables']} constraints that are callables, which no file holds: "
            "give the domain, Density.from_parquet(path, domain)"
        )
    return density


def _from_table(about: dict[str, Any], table: pa.Table, path: str | PathLike[str]) -> Density:
    part = np.array(table["part"].cast("string").to_pylist())
    items, places, values = (table[name].to_numpy() for name in ("item", "place", "value"))

    def of(name: str, item: int) -> tuple[Codes, Floats]:
        rows = (part == name) & (items == item)
        return places[rows].astype(np.int64), values[rows]

    bins = []
    for item, each in enumerate(about["bins"]):
        seen, counts = of("level", item)
        order = None if each["order"] is None else np.array(each["order"], dtype=np.int64)
        starts = np.array(each["starts"], dtype=np.int64)
        bins.append(Bins(each["n_levels"], starts, order, seen, counts.astype(np.int64), each["strength"]))
    factors = []
    for item, each in enumerate(about["factors"]):
        shape = [len(bins[column]) for column in (*each["parents"], each["child"])]
        cells, counts = of("factor", item)
        filled = np.zeros(int(np.prod(shape)), dtype=np.int64)
        filled[cells] = counts.astype(np.int64)
        made = Factor(each["child"], tuple(each["parents"]), tuple(each["strengths"]), filled.reshape(shape))
        factors.append(made)
    try:
        domain = Domain._of(toml.parse(parsed_toml(about["domain"])))
    except DomainError as error:
        raise DataError(f"{path}: {error}") from None
    held_out = of("held-out", 0)[1]
    return Density(domain, bins, factors, held_out, n_rows=about["n_rows"], n_left_out=about["n_left_out"])
