"""One call of `search`: an engine runs the shards, and the tally adds them up until a limit is met."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from fairprobe.blocks import Remark
from fairprobe.clock import Clock, Timer
from fairprobe.engine.base import Counts, Engine, Report, Skipped, checked_engine, make_engine
from fairprobe.engine.interrupts import deferred, interruptible
from fairprobe.errors import RunError
from fairprobe.model.adapters import adapter_for
from fairprobe.model.asking import Asker
from fairprobe.progress import Progress, Status
from fairprobe.searching.confirm import confirmed, in_other_batches
from fairprobe.searching.found import Found
from fairprobe.searching.job import Job, Trace
from fairprobe.searching.settings import Limits, StopReason
from fairprobe.searching.shard import Quota, run_shard
from fairprobe.searching.start_rows import StartRows
from fairprobe.searching.stored_search import StoredSearch
from fairprobe.searching.tally import Tally

SHOW_SECONDS = 0.1
"""How often progress is shown. Chosen."""

LOOK_SECONDS = 0.1
"""The time that a run takes is predicted when it has lasted this long. Chosen."""


@dataclass
class Run:
    """The shards of one call of `search`, from 0 on."""

    job: Job
    limits: Limits
    start: StartRows | None
    remarks: Sequence[Remark]
    n_jobs: int
    engine: str | None
    """The engine that the user asked for."""
    progress: Progress | None
    asker: Asker
    """Has asked what comes before the search; these queries count too."""

    def __post_init__(self) -> None:
        import pandas  # noqa: F401  # now, as Ctrl-C in the middle of an import would leave it half done

        self.tally = Tally(self.job.domain, self.limits, self.asker.n_queries)
        self._n_asked = self.asker.n_queries
        self._clock = Clock(self.limits.max_seconds)
        self._timer = Timer(SHOW_SECONDS)

    def found(self, kept: StoredSearch | None = None) -> Found:
        """The cases found, without those that the model takes back. `kept` has the shards of earlier runs."""
        try:
            found = in_other_batches(self.job, confirmed(self.job, self._found(kept), self.tally))
            if kept is not None:
                kept.note_end(found, self.tally)
                found = kept.checked(found)
        except RunError as error:
            if error.found is not None:
                error.found = replace(error.found, sent=self.asker.sent)
            raise
        return replace(found, sent=self.asker.sent)

    def _found(self, kept: StoredSearch | None) -> Found:
        tally, engine = self.tally, self._engine(kept)
        with deferred() as interrupts:
            try:
                self._add_shards(engine)
            finally:
                engine.close()
            if interrupts.pending:
                interrupts.pending = False
                tally.stop_reason = tally.stop_reason or StopReason.INTERRUPTED
        tally.release()
        found = Found.of(self.job, self.limits, tally, self._clock.seconds, self.remarks, self.start)
        if isinstance(tally.failure, RunError):
            tally.failure.found = found
            raise tally.failure
        if tally.failure is not None:  # a constraint, say: only what was found makes it a failed run
            raise RunError(str(tally.failure), found) if found.n_cases else tally.failure
        return found

    def _engine(self, kept: StoredSearch | None) -> Engine:
        job, limits = self.job, self.limits
        n_shards = None if limits.max_judged is None else math.ceil(limits.max_judged / job.settings.shard_inputs)
        name = self._engine_name(n_shards)
        if kept is not None:
            kept.begin(self._n_asked, self.progress)
        engine = make_engine(
            self._next_shard if name == "local" else partial(_shard_beside_others, job, limits, self._n_asked),
            self.n_jobs,
            engine=name,
            watch=self._show if self.progress else None,
            seconds_left=lambda: None if limits.max_seconds is None else max(0.0, self._clock.left),
            kept=kept,
            n_shards=n_shards,
            foreseen=self._foreseen,
        )
        if engine.address is not None and self.progress is not None:
            told = {"dashboard": engine.address}
            self.progress(Status(f"Dask's dashboard: {engine.address}", told, is_over=True))
        return engine

    def _engine_name(self, n_shards: int | None) -> str:
        """The engine to use: the local one where others could take no part."""
        if adapter_for(self.job.model).connections:
            return "local"  # the limits of a service are for all its connections together
        if self.limits.max_queries is not None and self.job.costs_vary:
            return "local"  # only the shards before tell how many queries are left
        if n_shards == 1 and self.engine in (None, "processes"):
            return "local"
        return self.engine or checked_engine(None, self.n_jobs)[0]

    def _next_shard(self, shard: int, seconds: float | None, report: Report | None) -> Trace:
        """Run a shard after all shards before it; it knows what they found."""
        quota = _quota(self.job, self.limits, shard, seconds, self.tally.n_queries, self.tally.n_cases)
        return run_shard(self.job, shard, quota, self.tally.known(), report)

    def _add_shards(self, engine: Engine) -> None:
        tally = self.tally
        try:
            for trace in engine.results():
                if isinstance(trace, Skipped):
                    tally.skip(trace)
                    continue
                tally.add(trace)
                if tally.stop_reason is not None:
                    break
                with interruptible():
                    self._show([])
            if tally.skipped:
                tally.stop_reason = StopReason.INCOMPLETE if tally.failure is None else tally.stop_reason
        except KeyboardInterrupt:
            tally.stop_reason = StopReason.INTERRUPTED
        except RunError as error:
            tally.failure, tally.stop_reason = error, StopReason.FAILED
        if tally.stop_reason is StopReason.INTERRUPTED:
            for trace in engine.finish():  # what the shards under way have is kept
                if trace.shard >= tally.n_shards:
                    tally.add(trace)
            # A shard that was told to stop may have ended by a limit or failed: the person came first.
            tally.stop_reason, tally.failure = StopReason.INTERRUPTED, None

    def _show(self, under_way: list[Counts]) -> None:
        if self.progress is not None and self._timer.is_due():
            self.progress(self._status(under_way))

    def _status(self, under_way: list[Counts]) -> Status:
        so_far = Counts(*map(sum, zip(self.tally.counts, *under_way, strict=True)))
        return status_of(so_far, self.limits, self._clock.seconds)

    def _foreseen(self, under_way: list[Counts]) -> float:
        """How many more seconds it will take if it goes on as it began; 0 before that can be told."""
        seconds, done = self._clock.seconds, self._status(under_way).fraction
        if seconds < LOOK_SECONDS or done is None:
            return 0.0
        return seconds * (1 - done) / done if done else math.inf


def _quota(job: Job, limits: Limits, shard: int, seconds: float | None, n_queries: int, n_cases: int = 0) -> Quota:
    """What a shard has to do, given the queries and cases of those before it."""
    n_inputs = job.settings.shard_inputs
    if limits.max_judged is not None:
        n_inputs = max(0, min(n_inputs, limits.max_judged - shard * n_inputs))
    return Quota(
        n_inputs=n_inputs,
        n_cases=None if limits.max_cases is None else limits.max_cases - n_cases,
        n_barren=limits.max_barren,
        n_queries=None if limits.max_queries is None else max(0, limits.max_queries - n_queries),
        seconds=seconds,
    )


def _shard_beside_others(
    job: Job, limits: Limits, n_asked: int, shard: int, seconds: float | None, report: Report | None
) -> Trace:
    """Run a shard in a worker, which is sent all that it needs and does not know what the shards before find."""
    # Where all inputs take as many queries, the shards before send as many as their quotas allow.
    n_queries = n_asked + shard * job.settings.shard_inputs * len(job.domain.families)
    return run_shard(job, shard, _quota(job, limits, shard, seconds, n_queries), None, report)


def status_of(so_far: Counts, limits: Limits, seconds: float) -> Status:
    """How far a search has got. Repeats are told apart at the end only, so until then the yield has a lower bound."""
    rate = so_far.n_cases / seconds if seconds else 0.0
    bound = so_far.n_cases / so_far.n_judged if so_far.n_judged else 0.0
    used = [
        (so_far.n_cases, limits.max_cases),
        (so_far.n_judged, limits.max_judged),
        (so_far.n_queries, limits.max_queries),
        (seconds, limits.max_seconds),
    ]
    return Status(
        f"{so_far.n_cases:,} cases, yield >={bound:.1%}, {rate:,.0f} cases/s",
        {**so_far._asdict(), "seconds": seconds},
        min(1.0, max((done / limit for done, limit in used if limit is not None), default=0.0)),
    )
