"""A search stored in a folder: its shards as files, the settings by which it is recognised, and its cases.

A shard is finished if it judged all of its inputs. It then depends on its number alone and serves a run with any
limits. A shard that knew the cases of earlier shards leaves them out, as the tally would. A last shard that a limit cut
short is kept as `partial` and serves only a run with the same limits.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.blocks import Remark
from fairprobe.domain.domain import Domain
from fairprobe.errors import RunError
from fairprobe.frames import write_csv as write_frame
from fairprobe.progress import Progress, Status
from fairprobe.searching.found import CaseTables, Found
from fairprobe.searching.job import Cases, Job, Trace
from fairprobe.searching.limits import Limits, StopReason
from fairprobe.searching.recorder import Tally
from fairprobe.searching.start_rows import StartRows
from fairprobe.store import Distinct, Keys, digests
from fairprobe.store.answers import Canaries
from fairprobe.store.digests import hash_of_data
from fairprobe.store.run_folder import Entry, RunReader, StoredRun, unusable
from fairprobe.store.shard_file import ShardContent, from_bytes

if TYPE_CHECKING:
    import pandas as pd

ARRAYS = (
    *("batch_ends", "batch_queries", "confirmed", "confirmed_rows", "is_new", "new_keys", "not_comparable"),
    *("unconfirmed", "asked_once", "contradicted", "contradicted_rows"),
)
FIGURES = ("shard", "n_judged", "n_sent", "varies_at", "remarks")

ROWS = 250_000
"""Largest number of cases in one frame that `merged` yields. Chosen: a frame of a wide domain stays below 1 GB."""


class StoredSearch:
    """Folder with the shards of one search: the engine reads finished shards from it and writes new ones to it."""

    def __init__(self, run: StoredRun, job: Job, limits: Limits, canaries: Canaries) -> None:
        self.run = run
        self._job = job
        self._limits = limits
        self._canaries = canaries
        self._keys = Keys(job.domain)
        self._under = asdict(limits)
        self._n_sent: dict[int, int] = {}
        """Number of queries of each shard that was read or run, by the shard's number."""
        self._n_asked = 0
        """Number of rows that the call sent to the model before the first shard."""

    @classmethod
    @contextmanager
    def opened(
        cls, path: str | PathLike[str], job: Job, limits: Limits, domain: Domain, start: StartRows | None
    ) -> Iterator[StoredSearch]:
        """Open a folder, new or of the same search, for the shards of a job; used as a context.

        `domain` is the domain as the user gave it.
        """
        rows = None if start is None else start.frame
        with StoredRun.opened(path, "search", identity_of(job, domain, rows)) as run:
            yield cls(run, job, limits, Canaries(run, job.asker(), rows, job.resolution))

    def begin(self, n_asked: int, progress: Progress | None) -> None:
        """Note the queries sent before the first shard, and report the number of finished shards of a resumed run."""
        self._n_asked = n_asked
        n = sum(map(str.isdigit, self.run.entries))
        if progress is not None and n:
            text = f"{self.run.path}: {n:,} finished shard{'s' * (n != 1)} of before, read instead of run"
            progress(Status(text, {"n_shards": n}, is_over=True))

    # For the engine

    def load(self, shard: int) -> Trace | None:
        """Return the stored trace of a finished shard, or of a cut one if the limits are the same; None otherwise."""
        name, part = f"{shard:06d}", f"{shard:06d}.partial"
        finished = self._read(name)
        if finished is not None and self._is_affordable(finished):
            return finished
        return self._read(part, limits=self._under)

    def _read(self, name: str, limits: dict[str, Any] | None = None) -> Trace | None:
        data = self.run.read(name)
        content = None if data is None else from_bytes(data)
        if content is None or content.about.get("limits") != limits:
            return None
        trace = trace_of(content, self._job.domain, self._keys)
        self._n_sent[trace.shard] = trace.n_sent
        return trace

    def _is_affordable(self, trace: Trace) -> bool:
        """Return True if this call's limit on queries would have let a stored, finished shard finish."""
        most, before = self._limits.max_queries, [self._n_sent.get(shard) for shard in range(trace.shard)]
        if most is None:
            return True
        if self._job.strategy.wants_scores or None in before:
            return False
        largest = int(np.diff(trace.batch_ends, prepend=0).max(initial=0))
        sent = self._n_asked + trace.n_sent + sum(each for each in before if each is not None)
        return sent + 2 * len(self._job.domain.families) * largest <= most

    def save(self, shard: int, result: Trace) -> None:
        """Store the trace of a shard that is finished, or that a limit other than time cut short; else store nothing.

        A cut trace is stored with the limits, because it can be used under the same limits only.
        """
        name, part = f"{shard:06d}", f"{shard:06d}.partial"
        self._n_sent[shard] = result.n_sent
        content = content_of(result, self._job.domain)
        if self._is_finished(result):
            self.run.save(name, content)
            self.run.drop(part)
        elif result.ended in (None, StopReason.MAX_QUERIES) and result.failure is None:
            self.run.save(part, replace(content, about={**content.about, "limits": self._under}))

    def _is_finished(self, trace: Trace) -> bool:
        left_over = len(trace.unconfirmed) + len(trace.asked_once)
        if trace.ended is not None or left_over or trace.n_judged < self._job.settings.shard_inputs:
            return False
        # Near a limit on queries a strategy goes without hints.
        return self._limits.max_queries is None or not self._job.strategy.wants_scores

    # The end

    def note_end(self, found: Found, tally: Tally) -> None:
        """Store how a call of `search` ended: its stop reason, its limits, its counts and its seconds."""
        names = ("n_cases", "n_judged", "n_distinct", "n_queries", "seconds")
        figures = {name: getattr(found, name) for name in names}
        counts = {"n_shards": tally.n_shards, "n_settled": tally.n_cases}
        self.run.note(end={**figures, "stop_reason": str(found.stop_reason), "limits": self._under, **counts})

    def checked(self, found: Found) -> Found:
        """Return the result with the remarks on the stored run, after a check that the model has not changed.

        The check asks about the canary inputs again. After an interruption it is left out.
        """
        if found.stop_reason is not StopReason.INTERRUPTED:
            try:
                self._canaries.check()
            except RunError as error:
                error.found = found
                raise
        return replace(found, health=(*self.run.remarks, *found.health))


def identity_of(job: Job, domain: Domain, start: pd.DataFrame | None) -> dict[str, Any]:
    """Return the values by which a stored search is recognised: all that its shards depend on, as plain values."""
    return {
        "model": digests.of_model(job.model, job.model_id),
        "data": {
            "start": None if start is None else hash_of_data(start),
            "density": digests.of_density(job.density),
        },
        "settings": {
            **asdict(job.settings),
            "seed": job.seed,
            "output": job.output,
            "threshold": job.threshold,
            "batch": job.batch,
            "accelerate": job.accelerate,
            "min_plausibility": None if job.density is None else job.min_plausibility,
        },
        "domain": digests.of_domain(domain),
    }


# A shard as a file


def content_of(trace: Trace, domain: Domain) -> ShardContent:
    """Return the trace of a shard in the form that its file stores: columns of its cases, arrays and figures."""
    cases = trace.cases
    columns: dict[str, Any] = {f"case {name}": cases.case[:, place] for place, name in enumerate(domain.names)}
    columns |= {f"twin {name}": cases.twin[:, domain.names.index(name)] for name in domain.families.varying}
    columns |= {"output case": cases.outputs[:, 0], "output twin": cases.outputs[:, 1], "gap": cases.gaps}
    columns |= {} if cases.classes is None else {"class": cases.classes}
    columns |= {"sets": cases.sets, "offset": cases.offsets}
    arrays = {name: getattr(trace, name) for name in ARRAYS}
    about = {name: getattr(trace, name) for name in FIGURES}
    return ShardContent(columns, {name: array for name, array in arrays.items() if array is not None}, about)


def cases_of(content: ShardContent, domain: Domain) -> Cases:
    """Return the cases in the content of a shard's file."""
    columns = content.columns
    case = np.column_stack([columns[f"case {name}"] for name in domain.names])
    twin = case.copy()
    for name in domain.families.varying:
        twin[:, domain.names.index(name)] = columns[f"twin {name}"]
    outputs = np.column_stack([columns["output case"], columns["output twin"]])
    classes = columns.get("class")
    return Cases(case, twin, columns["gap"], outputs, classes, columns["sets"], columns["offset"])


def trace_of(content: ShardContent, domain: Domain, keys: Keys) -> Trace:
    """Return the trace of a shard from the content of its file."""
    cases = cases_of(content, domain)
    about = {name: content.about[name] for name in FIGURES}
    return Trace(
        **{"new_keys": None, **content.arrays, **about, "remarks": tuple(map(Remark._make, about["remarks"]))},
        cases=cases,
        case_keys=keys.of(cases.case.astype(np.int64)),
        distinct=None,
    )


# Cases, shard by shard, so that they are never all in memory


class StoredCases:
    """Reader of the cases of one stored search, shard by shard."""

    def __init__(self, path: str | Path) -> None:
        self.run = RunReader(path)
        if self.run.kind != "search":
            raise unusable(f"must be the run of a search, got that of an {self.run.kind}: {path}")
        settings = self.run.about["settings"]
        if "max_changes" in settings or "callables" in self.run.about["domain"]:
            what = "max_changes, whose cases hold values of its rows" if "max_changes" in settings else "callables"
            advice = "make the search again, with store and out; what is stored is not asked again"
            raise unusable(f"must have a domain that {path} holds, got one with {what}: {advice}")
        self.domain: Domain = digests.domain_of(self.run.about["domain"])
        self.end = self.run.end
        self.question = {
            "domain": self.run.about["domain"],
            **{name: settings[name] for name in ("output", "threshold")},
        }

    def finished(self) -> list[Entry]:
        """Return the entries (name, path and hash of the file) of all finished shards, in order."""
        return [entry for name, entry in sorted(self.run.entries.items()) if name.isdigit()]

    def of_result(self) -> tuple[list[Entry], int | None]:
        """Return the entries of the shards that the last result came from, and its number of cases.

        After an interruption or a failure, return the finished shards up to the first missing one, and None.
        """
        end = self.end
        if end is None or end["stop_reason"] in (StopReason.INTERRUPTED, StopReason.FAILED):
            entries = self.finished()
            return [entry for place, entry in enumerate(entries) if int(entry.name) == place], None
        n = end["n_settled"] - end["n_cases"]
        if n:
            got = f"got one of a model that took {n:,} cases back when asked again"
            raise RunError(f"a result must follow from its shards, {got}: make the search again, with store and out")
        names = [f"{shard:06d}" for shard in range(end["n_shards"])]
        found = [self.run.entries.get(name) or self.run.entries.get(f"{name}.partial") for name in names]
        entries = [entry for entry in found if entry is not None]
        if len(entries) < len(found):
            raise RunError(f"all shards of the result must be there, got {len(entries)} of {len(found)}: search again")
        return entries, end["n_cases"]

    def cases(self, entry: Entry) -> Cases:
        """Read the cases of the shard with this entry."""
        data = self.run.read(entry.name)
        if data is None:
            raise RunError(f"{self.run.remarks[-1].message}; make the search again, which runs this shard anew")
        return cases_of(from_bytes(data), self.domain)

    def frame(self, cases: Cases) -> pd.DataFrame:
        """Return cases as a frame in the form of `Found.to_frame`, without columns that need rows or a density."""
        return CaseTables(self.domain, cases).to_frame()


Part = tuple[StoredCases, list[Entry]]


def merged(parts: Sequence[Part], most: int | None = None) -> Iterator[pd.DataFrame]:
    """Yield the distinct cases of some stored shards, the first `most` of them, in frames of up to `ROWS` rows.

    Only the keys of the cases stay in memory.
    """
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
    """Raise a SettingError if stored searches differ in domain, output or threshold: they cannot be merged."""
    first = runs[0].question
    for other in runs[1:]:
        for name, value in other.question.items():
            if value != first[name]:
                raise unusable(f"must be runs of one {name} to be merged, got {other.run.path}, which has another")


def write_parquet(frames: Iterator[pd.DataFrame], path: Path, as_plain: Callable[[Any], Any]) -> int:
    """Write frames one after the other into one Parquet file, and return the number of rows.

    `as_plain` converts a frame to values that Parquet can hold.
    """
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
    """Write frames one after the other into one CSV file, and return the number of rows."""
    n = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        for frame in frames:
            write_frame(frame, file, header=not n)
            n += len(frame)
    return n
