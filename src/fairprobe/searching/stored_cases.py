"""The distinct cases of stored searches, written shard by shard so that they are never all in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Mask
from fairprobe.csv_tables import write_csv as write_frame
from fairprobe.domain.domain import Domain
from fairprobe.errors import RunError, SettingError
from fairprobe.searching.found import Found
from fairprobe.searching.settings import Limits, SearchSettings, StopReason
from fairprobe.searching.stored_search import cases_of
from fairprobe.store import Cases, Keys
from fairprobe.store.identity import domain_of
from fairprobe.store.merging import MEMORY, first_of_all
from fairprobe.store.run_folder import Entry, RunReader
from fairprobe.store.shard_file import from_bytes, summary_of

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

    def finished(self) -> list[Entry]:
        """All finished shards, in order."""
        return [entry for name, entry in sorted(self.run.entries.items()) if name.isdigit()]

    def of_result(self) -> tuple[list[Entry], int | None]:
        """The shards of the last result and its number of cases. An unfinished run: its shards up to a gap."""
        end = self.end
        if end is None or end["stop_reason"] in (StopReason.INTERRUPTED, StopReason.FAILED):
            entries = self.finished()
            return [entry for place, entry in enumerate(entries) if int(entry.name) == place], None
        if end["n_settled"] != end["n_cases"]:
            n = end["n_settled"] - end["n_cases"]
            raise RunError(
                f"a result must follow from its shards, got one of a model that took {n:,} cases back when asked "
                "again: make the search again, with store and out"
            )
        prefix = end.get("prefix", "")  # of earlier versions, which might give a stand-in up
        names = [f"{prefix}{shard:06d}" for shard in range(end["n_shards"])]
        found = [self.run.entries.get(name) or self.run.entries.get(f"{name}.partial") for name in names]
        entries = [entry for entry in found if entry is not None]
        if len(entries) < len(found):
            raise RunError(f"all shards of the result must be there, got {len(entries)} of {len(found)}: search again")
        return entries, end["n_cases"]

    def n_cases(self, entry: Entry) -> int:
        """The number of cases of a shard."""
        return summary_of(self._bytes(entry))[0]

    def cases(self, entry: Entry) -> Cases:
        """The cases of a shard."""
        return cases_of(from_bytes(self._bytes(entry)), self.domain)

    def _bytes(self, entry: Entry) -> bytes:
        data = self.run.read(entry.name)
        if data is None:
            raise RunError(f"{self.run.remarks[-1][1]}; make the search again, which runs this shard anew")
        return data

    def frame(self, cases: Cases) -> pd.DataFrame:
        """The cases as `Found.to_frame` gives them, without the columns that need rows or a density."""
        settings = self.run.about["settings"]
        own = {name: settings[name] for name in SearchSettings.__dataclass_fields__ if name in settings}
        return Found(
            domain=self.domain,
            settings=SearchSettings(**own),
            limits=Limits(),
            output=settings["output"],
            threshold=settings["threshold"],
            seed=settings["seed"],
            n_distinct=0,
            n_judged=0,
            n_queries=0,
            seconds=0.0,
            stop_reason=StopReason.INTERRUPTED,
            health=(),
            _cases=cases,
        ).to_frame()


Part = tuple[StoredCases, list[Entry]]


def merged(parts: Sequence[Part], memory: int = MEMORY) -> Iterator[pd.DataFrame]:
    """The distinct cases of some shards, in order, in frames of at most `ROWS` rows."""
    check_alike([stored for stored, _ in parts])
    shards = [(stored, entry) for stored, entries in parts for entry in entries]
    n = sum(stored.n_cases(entry) for stored, entry in shards)
    keys = Keys(parts[0][0].domain)
    first = first_of_all(
        (keys.of(stored.cases(entry).case.astype(np.int64)) for stored, entry in shards), n, keys.n_words, memory
    )
    return _frames(shards, first)


def _frames(shards: list[tuple[StoredCases, Entry]], first: Mask) -> Iterator[pd.DataFrame]:
    done = 0
    for stored, entry in shards:
        cases = stored.cases(entry)
        cases, done = cases.take(first[done : done + len(cases)]), done + len(cases)
        for begin in range(0, len(cases), ROWS) or [0] * (entry is shards[-1][1]):  # without cases, the columns alone
            yield stored.frame(cases.take(slice(begin, begin + ROWS)))


def check_alike(runs: Sequence[StoredCases]) -> None:
    """Refuse runs that differ in domain, output or threshold, as their cases cannot be merged."""
    first = runs[0].run.about
    for other in runs[1:]:
        about = other.run.about
        for name, mine, theirs in (
            ("domain", first["domain"], about["domain"]),
            *((name, first["settings"][name], about["settings"][name]) for name in ("output", "threshold")),
        ):
            if mine != theirs:
                raise SettingError.about(
                    "store", f"must be runs of one {name} to be merged, got {other.run.path}, which has another"
                )


def write_parquet(frames: Iterator[pd.DataFrame], path: Path, as_plain: Callable[[Any], Any], most: int | None) -> int:
    """Write at most `most` rows of frames as one Parquet file; gives the number of rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer, n = None, 0
    try:
        for frame in _cut(frames, most):
            table = pa.Table.from_pandas(as_plain(frame), preserve_index=False)
            writer = writer or pq.ParquetWriter(path, table.schema)
            writer.write_table(table.cast(writer.schema))
            n += len(frame)
    finally:
        if writer is not None:
            writer.close()
    return n


def write_csv(frames: Iterator[pd.DataFrame], path: Path, most: int | None) -> int:
    """Write at most `most` rows of frames as one CSV file; gives the number of rows."""
    n = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        for frame in _cut(frames, most):
            write_frame(frame, file, header=not n)
            n += len(frame)
    return n


def _cut(frames: Iterator[pd.DataFrame], most: int | None) -> Iterator[pd.DataFrame]:
    left = most
    for frame in frames:
        if left is None:
            yield frame
            continue
        yield frame.head(left)
        left -= min(left, len(frame))
        if not left:
            return
