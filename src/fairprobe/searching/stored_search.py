"""A search on disk: its shards as files, and the identity by which it is recognised.

A shard is finished if it judged all of its inputs. It then depends on its number alone and serves a run with any
limits. If it knew the cases of earlier shards it leaves them out, as the tally would. A last shard that a limit cut
short is kept as `partial` and serves only a run with the same limits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.blocks import Remark
from fairprobe.domain.domain import Domain
from fairprobe.errors import RunError
from fairprobe.progress import Progress, Status
from fairprobe.searching.found import Found
from fairprobe.searching.job import Cases, Job, Trace
from fairprobe.searching.settings import Limits, StopReason
from fairprobe.searching.start_rows import StartRows
from fairprobe.searching.tally import Tally
from fairprobe.store import Keys, identity
from fairprobe.store.canaries import Canaries
from fairprobe.store.identity import hash_of_data
from fairprobe.store.run_folder import StoredRun
from fairprobe.store.shard_file import ShardContent, from_bytes

if TYPE_CHECKING:
    import pandas as pd

ARRAYS = (
    *("batch_ends", "batch_queries", "confirmed", "confirmed_rows", "is_new", "new_keys", "not_comparable"),
    *("unconfirmed", "asked_once", "contradicted", "contradicted_rows"),
)
FIGURES = ("shard", "n_judged", "n_sent", "varies_at", "remarks")


class StoredSearch:
    """Keeps the shards of a search for an engine."""

    def __init__(self, run: StoredRun, job: Job, limits: Limits, canaries: Canaries) -> None:
        self.run = run
        self._job = job
        self._limits = limits
        self._canaries = canaries
        self._keys = Keys(job.domain)
        self._under = asdict(limits)
        self._n_sent: dict[int, int] = {}
        """The queries of each shard that was read or run."""
        self._n_asked = 0
        """Queries sent before the first shard."""

    @classmethod
    @contextmanager
    def opened(
        cls, path: str | PathLike[str], job: Job, limits: Limits, domain: Domain, start: StartRows | None
    ) -> Iterator[StoredSearch]:
        """Begin a stored search or take one up. `domain` is the domain as the user gave it."""
        rows = None if start is None else start.frame
        with StoredRun.opened(path, "search", identity_of(job, domain, rows)) as run:
            yield cls(run, job, limits, Canaries(run, job.asker(), rows, job.resolution))

    def begin(self, n_asked: int, progress: Progress | None) -> None:
        """Take the queries sent before the first shard; tell that a run is taken up, and where it stands."""
        self._n_asked = n_asked
        n = sum(map(str.isdigit, self.run.entries))
        if progress is not None and n:
            text = f"{self.run.path}: {n:,} finished shard{'s' * (n != 1)} of before, read instead of run"
            progress(Status(text, {"n_shards": n}, is_over=True))

    # For the engine

    def load(self, shard: int) -> Trace | None:
        """The shard if it is finished, or as much of it as the same limits let in; otherwise None."""
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
        """Whether this run's limit on queries would have let the shard come to its end."""
        most, before = self._limits.max_queries, [self._n_sent.get(shard) for shard in range(trace.shard)]
        if most is None:
            return True
        if self._job.strategy.wants is not None or None in before:
            return False
        largest = int(np.diff(trace.batch_ends, prepend=0).max(initial=0))
        sent = self._n_asked + trace.n_sent + sum(each for each in before if each is not None)
        return sent + 2 * len(self._job.domain.families) * largest <= most

    def save(self, shard: int, result: Trace) -> None:
        """Keep a shard that is finished, or that was cut short by a limit other than time."""
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
        return self._limits.max_queries is None or self._job.strategy.wants is None

    # The end

    def note_end(self, found: Found, tally: Tally) -> None:
        """Write down how the call ended."""
        names = ("n_cases", "n_judged", "n_distinct", "n_queries", "seconds")
        self.run.note_end(
            **{name: getattr(found, name) for name in names},
            stop_reason=str(found.stop_reason),
            limits=self._under,
            n_shards=tally.n_shards,
            n_settled=tally.n_cases,
        )

    def checked(self, found: Found) -> Found:
        """The result with the remarks on the run; the model is asked whether it is still the same."""
        if found.stop_reason is not StopReason.INTERRUPTED:
            try:
                self._canaries.check()
            except RunError as error:
                error.found = found
                raise
        return replace(found, health=(*self.run.remarks, *found.health))


def identity_of(job: Job, domain: Domain, start: pd.DataFrame | None) -> dict[str, Any]:
    """All that the shards of a search depend on, as plain values."""
    return {
        "model": identity.of_model(job.model, job.model_id),
        "data": {
            "start": None if start is None else hash_of_data(start),
            "density": identity.of_density(job.density),
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
        "domain": identity.of_domain(domain),
    }


# A shard as a file


def content_of(trace: Trace, domain: Domain) -> ShardContent:
    """A shard as the content of its file."""
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
    """The cases of a shard."""
    columns = content.columns
    case = np.column_stack([columns[f"case {name}"] for name in domain.names])
    twin = case.copy()
    for name in domain.families.varying:
        twin[:, domain.names.index(name)] = columns[f"twin {name}"]
    outputs = np.column_stack([columns["output case"], columns["output twin"]])
    classes = columns.get("class")
    return Cases(case, twin, columns["gap"], outputs, classes, columns["sets"], columns["offset"])


def trace_of(content: ShardContent, domain: Domain, keys: Keys) -> Trace:
    """A shard from the content of its file."""
    cases = cases_of(content, domain)
    about = {name: content.about[name] for name in FIGURES}
    return Trace(
        **{"new_keys": None, **content.arrays, **about, "remarks": tuple(map(Remark._make, about["remarks"]))},
        cases=cases,
        case_keys=keys.of(cases.case.astype(np.int64)),
        distinct=None,
    )
