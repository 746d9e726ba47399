"""One call of `search`: an engine runs the shards, and the tally adds them up until a limit is reached."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from fairprobe.arrays import Codes, Mask
from fairprobe.blocks import Remark
from fairprobe.clock import Clock, Timer
from fairprobe.engine.base import Counts, Engine, Report, Skipped, checked_engine, make_engine
from fairprobe.engine.interrupts import deferred, interruptible
from fairprobe.errors import RunError
from fairprobe.model.adapters import adapter_for
from fairprobe.model.asking import Asker
from fairprobe.model.measuring import are_ties, unsteadiness
from fairprobe.oracle import Oracle
from fairprobe.progress import Progress, Status
from fairprobe.searching.found import Found
from fairprobe.searching.job import Job, Trace
from fairprobe.searching.limits import Limits, StopReason
from fairprobe.searching.recorder import Tally
from fairprobe.searching.shard import Quota, run_shard
from fairprobe.searching.start_rows import StartRows
from fairprobe.searching.stored_search import StoredSearch

CASES_A_CALL = 1000
"""Number of cases that the model is asked about again in one call of it. Chosen."""

SHOW_SECONDS = 0.1
"""Seconds between two displays of progress. Chosen."""

LOOK_SECONDS = 0.1
"""Seconds that a run must have taken before its remaining time is predicted. Chosen."""


@dataclass
class Run:
    """One call of `search`: it runs the shards of a job in order, from 0 on, and adds them up."""

    job: Job
    limits: Limits
    start: StartRows | None
    remarks: Sequence[Remark]
    n_jobs: int
    engine: str | None
    """Name of the engine (who runs the shards) that the user asked for; None for the default."""
    progress: Progress | None
    asker: Asker
    """Asker that was used for questions before the search, such as rounding; its queries count too."""

    def __post_init__(self) -> None:
        import pandas  # noqa: F401  # now, as Ctrl-C in the middle of an import would leave it half done

        self.tally = Tally(self.job.domain, self.limits, self.asker.n_queries)
        self._n_asked = self.asker.n_queries
        self._clock = Clock(self.limits.max_seconds)
        self._timer = Timer(SHOW_SECONDS)

    def found(self, kept: StoredSearch | None = None) -> Found:
        """Run the search and return its result, without cases that the model contradicts when asked again.

        `kept` is the folder with the shards of earlier calls, if the search is stored.
        """
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
        """Return the name of the engine to use: "local" if other processes could not help, else the requested one."""
        if adapter_for(self.job.model).connections:
            return "local"  # the limits of a service are for all its connections together
        if self.limits.max_queries is not None and self.job.costs_vary:
            return "local"  # only the shards before tell how many queries are left
        if n_shards == 1 and self.engine in (None, "processes"):
            return "local"
        return self.engine or checked_engine(None, self.n_jobs)[0]

    def _next_shard(self, shard: int, seconds: float | None, report: Report | None) -> Trace:
        """Run a shard in this process, with the findings of all shards before it, and return its trace."""
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
        """Return the predicted remaining seconds of the search at its speed so far; 0 before one is possible."""
        seconds, done = self._clock.seconds, self._status(under_way).fraction
        if seconds < LOOK_SECONDS or done is None:
            return 0.0
        return seconds * (1 - done) / done if done else math.inf


def _quota(job: Job, limits: Limits, shard: int, seconds: float | None, n_queries: int, n_cases: int = 0) -> Quota:
    """Return the quota (limits) of a shard, given the queries and cases of earlier shards."""
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
    """Run a shard in a worker process, without the findings of other shards, and return its trace."""
    # Where all inputs take as many queries, the shards before send as many as their quotas allow.
    n_queries = n_asked + shard * job.settings.shard_inputs * len(job.domain.families)
    return run_shard(job, shard, _quota(job, limits, shard, seconds, n_queries), None, report)


def status_of(so_far: Counts, limits: Limits, seconds: float) -> Status:
    """Return the progress of a search to show, with a lower bound of its yield.

    It is a bound because it divides the cases by all judged inputs, repeats included.
    """
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


# Afterwards


def confirmed(job: Job, found: Found, tally: Tally) -> Found:
    """Return the result of a search without cases that the model contradicts when asked again, with a remark.

    If no hit was contradicted before, the result is unchanged. If all contradictions are ties that rounding decides,
    only a remark is added. Otherwise the model is asked about all cases twice more.
    """
    if not tally.n_contradicted:
        return found
    n = f"{tally.n_contradicted:,} hits got another output when asked about again and are not among the cases"
    if job.output == "label" and are_ties(job.model, job.domain, job.batch, np.concatenate(tally.contradicted)):
        text = f"{n}: they lie so near to the decision boundary that rounding decides"
        return replace(found, health=(*found.health, Remark("rounding-decides", text)))
    asker, clock, kept = job.asker(), Clock(found.limits.max_seconds), np.arange(found.n_cases)
    oracle, failure = Oracle(asker, job.threshold, job.resolution), None

    def ask() -> None:
        nonlocal kept, failure
        try:
            with asker.quiet(), asker.afresh():
                for _ in range(2):
                    kept = kept[_are_cases(found, kept, oracle, clock)]
        except RunError as error:
            failure = error

    # After an interruption the cases that were not asked about again stay, and that is said.
    is_interrupted = found.stop_reason is StopReason.INTERRUPTED or _is_interrupted(ask)
    asked = (
        f"interrupted, {len(kept):,} cases are kept that were cases each time they were asked about, twice or more"
        if is_interrupted
        else f"all {found.n_cases:,} cases were then asked about twice more: the {len(kept):,} that were cases each "
        "time are kept"
    )
    result = replace(
        found,
        _cases=found._cases.take(kept),
        health=(*found.health, Remark("stochastic-model", f"the model answers the same row differently: {n}; {asked}")),
        n_queries=found.n_queries + asker.n_queries,
        seconds=found.seconds + clock.seconds,
        stop_reason=StopReason.INTERRUPTED if is_interrupted else found.stop_reason,
    )
    if failure is not None:
        failure.found = result
        raise failure
    return result


def in_other_batches(job: Job, found: Found) -> Found:
    """Return the result of a search, with a remark if the model's answers depend on the other rows of a batch."""
    if job.is_repeatable or found.limits.max_queries is not None or found.stop_reason is StopReason.INTERRUPTED:
        return found
    asker, remarks = job.asker(), list[Remark]()
    is_interrupted = _is_interrupted(lambda: remarks.extend(unsteadiness(asker)))
    return replace(
        found,
        health=(*found.health, *(remark for remark in remarks if remark[0] not in dict(found.health))),
        n_queries=found.n_queries + asker.n_queries,
        stop_reason=StopReason.INTERRUPTED if is_interrupted else found.stop_reason,
    )


def _is_interrupted(work: Callable[[], object]) -> bool:
    """Call a function, and return True if Ctrl-C ended it."""
    with deferred():
        try:
            with interruptible():
                work()
        except KeyboardInterrupt:
            return True
    return False


def _are_cases(found: Found, rows: Codes, oracle: Oracle, clock: Clock) -> Mask:
    """Return a mask of some cases, given by their positions: True where the model, asked again, confirms the case.

    It is False where the limits leave no query or time. Confirming may take as long as the search was allowed to.
    """
    again, limits = np.zeros(len(rows), dtype=bool), found.limits
    for first in range(0, len(rows), CASES_A_CALL):
        n = CASES_A_CALL
        if limits.max_queries is not None:
            n = min(n, (limits.max_queries - found.n_queries - oracle.asker.n_queries) // len(oracle.families))
        batch = rows[first : first + n]
        if not len(batch) or clock.is_over:
            break
        again[first : first + len(batch)] = oracle.judge(found._cases.case[batch].astype(np.int64)).hits
    return again
