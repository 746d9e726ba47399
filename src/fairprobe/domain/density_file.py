"""Files of densities: a Parquet table of counts with a description as metadata. They hold no row.

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

from fairprobe.arrays import Codes
from fairprobe.checks import parsed_toml
from fairprobe.domain import toml
from fairprobe.domain.density import Density
from fairprobe.domain.domain import Domain
from fairprobe.domain.factors import Bins, Factor
from fairprobe.errors import DataError, DomainError

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1
KEY = b"fairprobe-density"


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
    import pandas as pd
    import pyarrow as pa

    tables = [factor.counts.ravel() for factor in density.factors]
    parts = [
        *(("level", item, bins.seen, bins.counts) for item, bins in enumerate(density.bins)),
        *(("factor", item, np.flatnonzero(counts), counts[counts > 0]) for item, counts in enumerate(tables)),
        ("held-out", 0, np.arange(len(density.held_out)), density.held_out.astype(np.float64)),
    ]
    frames = [
        pd.DataFrame({"part": part, "item": item, "place": places, "value": values.astype(np.float64)})
        for part, item, places, values in parts
    ]
    table = pa.Table.from_pandas(pd.concat(frames).astype({"part": "category"}), preserve_index=False)
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
    except DataError:
        raise
    except OSError as error:
        raise DataError(f"a density file must be readable, got {error.strerror or error}: {path}") from None
    except (pa.ArrowException, KeyError, ValueError, TypeError) as error:
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
    parts = dict(iter(table.to_pandas().groupby(["part", "item"], observed=True)))

    def of(name: str, item: int) -> tuple[Codes, Codes]:
        part = parts.get((name, item), table.slice(0, 0).to_pandas())
        return part["place"].to_numpy(dtype=np.int64), part["value"].to_numpy(dtype=np.int64)

    bins, factors = [], []
    for item, each in enumerate(about["bins"]):
        order = None if each["order"] is None else np.array(each["order"], dtype=np.int64)
        starts = np.array(each["starts"], dtype=np.int64)
        bins.append(Bins(each["n_levels"], starts, order, *of("level", item), each["strength"]))
    for item, each in enumerate(about["factors"]):
        counts = np.zeros([len(bins[column]) for column in (*each["parents"], each["child"])], dtype=np.int64)
        cells, values = of("factor", item)
        counts.ravel()[cells] = values
        factors.append(Factor(each["child"], tuple(each["parents"]), tuple(each["strengths"]), counts))
    try:
        domain = Domain._of(toml.parse(parsed_toml(about["domain"])))
    except DomainError as error:
        raise DataError(f"{path}: {error}") from None
    held_out = parts["held-out", 0]["value"].to_numpy()
    return Density(domain, bins, factors, held_out, n_rows=about["n_rows"], n_left_out=about["n_left_out"])
