"""The distinct cases of stored searches, written shard by shard so that they are never all in memory."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.csv_tables import write_csv as write_frame
from fairprobe.domain.domain import Domain
from fairprobe.errors import RunError, SettingError
from fairprobe.searching.found import CaseTables
from fairprobe.searching.job import Cases
from fairprobe.searching.settings import StopReason
from fairprobe.searching.stored_search import cases_of
from fairprobe.store import Distinct, Keys
from fairprobe.store.identity import domain_of
from fairprobe.store.run_folder import Entry, RunReader
from fairprobe.store.shard_file import from_bytes

if TYPE_CHECKING:
    import pandas as pd

ROWS = 250_000
"""Cases in one frame. Chosen: a frame of a wide domain stays below 1 GB."""


class StoredCases:
    """The cases in the shards of one run."""

    def __init__(self, path: str | Path) -> None:
        self.run = RunReader(path)
        if self.run.kind != "search":
            raise SettingError.about("store", f"must be the run of a search, got that of an {self.run.kind}: {path}")
        settings = self.run.about["settings"]
        if "max_changes" in settings or "callables" in self.run.about["domain"]:
            what = "max_changes, whose cases hold values of its rows" if "max_changes" in settings else "callables"
            raise SettingError.about(
                "store",
                f"must have a domain that {path} holds, got one with {what}: make the search again, with store and out;"
                " what is stored is not asked again",
            )
        self.domain: Domain = domain_of(self.run.about["domain"])
        self.end = self.run.end
        self.question = {
            "domain": self.run.about["domain"],
            **{name: settings[name] for name in ("output", "threshold")},
        }

    def finished(self) -> list[Entry]:
        """All finished shards, in order."""
        return [entry for name, entry in sorted(self.run.entries.items()) if name.isdigit()]

    def of_result(self) -> tuple[list[Entry], int | None]:
        """The shards of the last result and its number of cases. An unfinished run: its shards up to a gap."""
        end = self.end
        if end is None or end["stop_reason"] in (StopReason.INTERRUPTED, StopReason.FAILED):
            entries = self.finished()
            return [entry for place, entry in enumerate(entries) if int(entry.name) == place], None
        n = end["n_settled"] - end["n_cases"]
        if n:
            raise RunError(
                f"a result must follow from its shards, got one of a model that took {n:,} cases back when asked "
                "again: make the search again, with store and out"
            )
        names = [f"{shard:06d}" for shard in range(end["n_shards"])]
        found = [self.run.entries.get(name) or self.run.entries.get(f"{name}.partial") for name in names]
        entries = [entry for entry in found if entry is not None]
        if len(entries) < len(found):
            raise RunError(f"all shards of the result must be there, got {len(entries)} of {len(found)}: search again")
        return entries, end["n_cases"]

    def cases(self, entry: Entry) -> Cases:
        """The cases of a shard."""
        data = self.run.read(entry.name)
        if data is None:
            raise RunError(f"{self.run.remarks[-1].message}; make the search again, which runs this shard anew")
        return cases_of(from_bytes(data), self.domain)

    def frame(self, cases: Cases) -> pd.DataFrame:
        """The cases as `Found.to_frame` gives them, without the columns that need rows or a density."""
        return CaseTables(self.domain, cases).to_frame()


Part = tuple[StoredCases, list[Entry]]


def merged(parts: Sequence[Part], most: int | None = None) -> Iterator[pd.DataFrame]:
    """The first distinct cases of some shards, in order, in frames of `ROWS` rows. Only their keys stay in memory."""
    check_alike([stored for stored, _ in parts])
    shards = [(stored, entry) for stored, entries in parts for entry in entries]
    keys = Keys(parts[0][0].domain)
    distinct = Distinct(keys.n_words)
    for stored, entry in shards:
        cases = stored.cases(entry)
        new = np.flatnonzero(distinct.add(keys.of(cases.case.astype(np.int64))))[:most]
        most = None if most is None else most - len(new)
        is_last = entry is shards[-1][1] or most == 0
        for begin in range(0, len(new), ROWS) or [0] * is_last:  # without cases, the columns alone
            yield stored.frame(cases.take(new[begin : begin + ROWS]))
        if is_last:
            return


def check_alike(runs: Sequence[StoredCases]) -> None:
    """Refuse runs that differ in domain, output or threshold, as their cases cannot be merged."""
    first = runs[0].question
    for other in runs[1:]:
        for name, value in other.question.items():
            if value != first[name]:
                raise SettingError.about(
                    "store", f"must be runs of one {name} to be merged, got {other.run.path}, which has another"
                )


def write_parquet(frames: Iterator[pd.DataFrame], path: Path, as_plain: Callable[[Any], Any]) -> int:
    """Write frames as one Parquet file; gives the number of rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with contextlib.ExitStack() as stack:
        writer, n = None, 0
        for frame in frames:
            table = pa.Table.from_pandas(as_plain(frame), preserve_index=False)
            writer = writer or stack.enter_context(pq.ParquetWriter(path, table.schema))
            writer.write_table(table.cast(writer.schema))
            n += len(frame)
    return n


def write_csv(frames: Iterator[pd.DataFrame], path: Path) -> int:
    """Write frames as one CSV file; gives the number of rows."""
    n = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        for frame in frames:
            write_frame(frame, file, header=not n)
            n += len(frame)
    return n
