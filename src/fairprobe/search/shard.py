"""One shard of a search: global rounds, start cases, local search, until its quota is judged or the run has enough."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from fairprobe.arrays import Codes
from fairprobe.domain.families import Members
from fairprobe.engine import Report
from fairprobe.engine.interrupts import deferred, interruptible, uninterrupted
from fairprobe.errors import FairprobeError, ModelError, RunError
from fairprobe.oracle import Judgement
from fairprobe.search.confirm import Confirmer
from fairprobe.search.hints import make_hinter
from fairprobe.search.job import Job, Known, Trace
from fairprobe.search.recorder import Recorder
from fairprobe.search.registry import load_strategy
from fairprobe.search.settings import StopReason
from fairprobe.search.strategy import Hints
from fairprobe.standins import DisagreementError, Screen


@dataclass(frozen=True)
class Quota:
    """When a shard has done its part. It may do more than the run needs (what follows is cut), never less."""

    n_inputs: int
    n_cases: int | None = None
    n_barren: int | None = None
    n_queries: int | None = None
    seconds: float | None = None


class _Done(Exception):  # noqa: N818  # no error: it unwinds the rounds when the shard has done its part
    def __init__(self, ended: StopReason | None = None) -> None:
        self.ended = ended


def run_shard(job: Job, shard: int, quota: Quota, known: Known | None = None, report: Report | None = None) -> Trace:
    """Run one shard. An interruption or a failure ends it early, with what was found."""
    with deferred():
        first = _Shard(job, shard, quota, known, report)
        try:
            return first.run()
        except DisagreementError as disagreement:
            # What the stand-in led to is worth nothing: the shard begins anew without it.
            again = _Shard(replace(job, accelerate=False), shard, quota, known, report)
            again.remarks.append(("accelerate-off", str(disagreement)))
            again.oracle.asker.n_queries += first.oracle.asker.n_queries
            return again.run()


class _Shard:
    def __init__(self, job: Job, shard: int, quota: Quota, known: Known | None, report: Report | None) -> None:
        self.job = job
        self.shard = shard
        self.quota = quota
        self.report = report
        self.rng = job.rng(shard)
        self.oracle = job.oracle()
        self.oracle.asker.limit = quota.n_queries
        self.recorder = Recorder(self.oracle, known)
        self.strategy = load_strategy(job.strategy_path)(job.domain, job.settings, self.rng)
        self.hinter = make_hinter(job, self.strategy.wants)
        self.screen = self._screen()
        self.judging = self.oracle if self.screen is None else self.oracle.by(self.screen)
        self.confirmer = Confirmer(self.oracle, self.screen, is_repeatable=job.is_repeatable)
        self.remarks: list[tuple[str, str]] = []
        self.asked_once = np.empty(0, dtype=np.int64)
        self.deadline = None if quota.seconds is None else time.monotonic() + quota.seconds
        self.slice = FIRST_SLICE
        self.next_report = time.monotonic() + REPORT_SECONDS

    def _screen(self) -> Screen | None:
        """What judges in the model's place, where something can."""
        if not self.job.accelerate or not self.job.domain.families.is_complete or self.job.stand_in is None:
            return None
        return Screen(self.oracle.asker, self.job.stand_in)

    def run(self) -> Trace:
        """All of it: what was confirmed is in the trace, whatever ended the shard."""
        ended: StopReason | None = None
        failure: FairprobeError | None = None
        try:
            with interruptible(), self.oracle.asker.quiet():
                self._rounds()
        except _Done as done:
            ended = done.ended
        except (KeyboardInterrupt, Exception) as error:
            ended, failure = self._ended_by(error)
        return self._finish(ended, failure)

    def _ended_by(self, error: BaseException) -> tuple[StopReason, FairprobeError | None]:
        """An interruption, or a failure: of the model, or of anything else that is asked to do its part."""
        if isinstance(error, DisagreementError):
            raise error
        if isinstance(error, KeyboardInterrupt):
            return StopReason.INTERRUPTED, None
        if isinstance(error, FairprobeError):
            return StopReason.FAILED, error
        failure = RunError(
            f"a search by {self.job.settings.strategy!r} must not fail, got {type(error).__name__}: {error}"
        )
        failure.__cause__ = error
        return StopReason.FAILED, failure

    def _finish(self, ended: StopReason | None, failure: FairprobeError | None) -> Trace:
        """Settle what still waits, and give all that was recorded.

        After an interruption there are some seconds for that, and none after a second one; after a failure the model
        is tried once more.
        """
        is_cut_short = ended in (StopReason.INTERRUPTED, StopReason.FAILED)
        try:
            with interruptible(), self.oracle.asker.quiet():
                self._settle(time.monotonic() + GRACE_SECONDS if is_cut_short else math.inf)
        except (KeyboardInterrupt, Exception) as error:
            if not is_cut_short:
                ended, failure = self._ended_by(error)
        self._keep_unasked()
        return self.recorder.trace(
            self.shard,
            ended,
            failure,
            self.oracle.asker.n_queries,
            contradicted=self.confirmer.contradicted,
            contradicted_rows=self.confirmer.contradicted_rows,
            asked_once=self.asked_once,
            remarks=tuple(self.remarks),
        )

    def _keep_unasked(self) -> None:
        """Hits that could not be asked about again: by what stood in for the model, they are none; by itself, they are.

        Not if it has contradicted itself before.
        """
        if self.screen is not None or len(self.confirmer.contradicted):
            return
        waiting = self.recorder.proposals(self.recorder.n_waiting)
        if waiting is not None:
            self.recorder.settle(len(waiting), waiting)
            self.asked_once = waiting.offsets

    # The search

    def _rounds(self) -> None:
        """Global search, then local search from its cases, again and again; after rows in vain, uniform inputs."""
        for turn in itertools.count(self.shard):
            if self.job.start is not None and self._explore(self._start_rows(turn)):
                continue
            self._explore(self.job.domain.sample_codes(self.job.settings.n_global, self.rng))

    def _start_rows(self, turn: int) -> Codes:
        """As many of the rows given to start from as a global round has, in turn."""
        rows, n = self.job.start, self.job.settings.n_global
        assert rows is not None
        return rows[(turn * n + np.arange(min(n, len(rows)))) % len(rows)]

    def _explore(self, sample: Codes) -> bool:
        """Judge a global sample and walk from its cases; says whether there were any."""
        cases = sample[self._judge(self.oracle.families.of(sample)).hits]
        if self.strategy.is_local and len(cases):
            for group in self._groups(cases):
                self._walk(group)
        return len(cases) > 0

    def _groups(self, cases: Codes) -> Iterator[Codes]:
        """As many start cases as walkers at a time; where there are fewer, they are used in turn."""
        n = self.job.settings.n_walkers
        for first in range(0, len(cases), n):
            group = cases[first : first + n]
            yield group[np.arange(n) % len(group)]

    def _walk(self, cases: Codes) -> None:
        """Local search from these cases, for as many inputs as `n_local` trials of all walkers are."""
        self.strategy.start(cases)
        left = self.job.settings.n_local * self.job.settings.n_walkers
        while left > 0:
            members = self.oracle.families.of(self.strategy.ask())
            judgement = self._judge(members)
            self.strategy.tell(judgement, self._hints(members))
            left -= len(judgement.codes)

    def _hints(self, members: Members) -> Hints | None:
        """Hints for a strategy that wants them, if the quota has room for these and for another input."""
        hinter = self.hinter
        if hinter is None or self._queries_left() < (len(members) + 1) * len(members.families):
            return None
        before = hinter.n_queries
        try:
            hints = hinter.hints(members)
        except ModelError as error:  # it answers with labels, which is all that counts
            hints = self.hinter = None
            self.remarks.append(("no-hints", f"{error}; the search went on without {self.strategy.wants}"))
        self.oracle.asker.n_queries += hinter.n_queries - before
        return hints

    # Judging within the quota

    def _judge(self, members: Members) -> Judgement:
        """Judge and record a batch. When the quota is used up by it, the shard is done."""
        parts: list[Judgement] = []
        while True:
            room = self._room(members)
            if not room:
                raise _Done(StopReason.MAX_QUERIES)
            judgement = self._judge_in_time(members.head(room))
            with uninterrupted():
                self.recorder.add(judgement, self.oracle.asker.n_queries - self.confirmer.n_queries)
            if len(judgement.codes) < room:
                raise _Done(StopReason.MAX_SECONDS)
            if self._is_done():
                raise _Done
            parts.append(judgement)
            if room == len(members):
                break
            members = members.tail(room)
        self._report_at_times()
        return Judgement.join(parts)

    def _room(self, members: Members) -> int:
        """How many of these inputs the quota has room for, even if all of them were hits to be asked about again."""
        room = min(len(members), self.quota.n_inputs - self.recorder.n_judged)
        if self.quota.n_queries is None:
            return room
        costs = np.cumsum(members.sizes[:room] * (2 if self.confirmer.is_needed else 1))
        affordable = int(np.searchsorted(costs, self._queries_left(), side="right"))
        if affordable < room and self.recorder.n_waiting:
            self._settle()  # fewer may be new than wait
            affordable = int(np.searchsorted(costs, self._queries_left(), side="right"))
        return affordable

    def _queries_left(self) -> float:
        """What the quota leaves, less what it takes to ask about hits again."""
        if self.quota.n_queries is None:
            return math.inf
        reserved = self.recorder.n_waiting * len(self.oracle.families) if self.confirmer.is_needed else 0
        return self.quota.n_queries - self.oracle.asker.n_queries - reserved

    def _judge_in_time(self, members: Members) -> Judgement:
        """With a deadline a batch is judged in slices, so that a slow model cannot run far past it."""
        if self.quota.n_queries is not None:
            self.oracle.asker.limit = int(self._queries_left()) + self.oracle.asker.n_queries
        if self.deadline is None:
            return self.judging.judge(members)
        parts: list[Judgement] = []
        done = 0
        while not parts or (done < len(members) and time.monotonic() < self.deadline):
            begun = time.monotonic()
            parts.append(self.judging.judge(self.oracle.families.of(members.codes[done : done + self.slice])))
            done += len(parts[-1].codes)
            if time.monotonic() - begun < SLICE_SECONDS / 2:
                self.slice *= 2
        return Judgement.join(parts)

    # Settling what was found

    def _settle(self, until: float = math.inf) -> None:
        """Say which hits are cases. What is confirmed is written down before the model is asked about more."""
        if not self.confirmer.is_needed:
            with uninterrupted():
                self.recorder.settle_all()
            return
        size = max(1, (HASTY_ROWS if until < math.inf else CONFIRM_ROWS) // len(self.oracle.families))
        if self.deadline is not None:
            size = self.slice
        while time.monotonic() < until:
            with uninterrupted():
                waiting = self.recorder.proposals(size)
            if waiting is None:
                return
            confirmed, n_rows = self.confirmer.confirm(waiting)
            with uninterrupted():
                self.recorder.settle(len(waiting), confirmed, n_rows)

    def _is_done(self) -> bool:
        quota, recorder = self.quota, self.recorder
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise _Done(StopReason.MAX_SECONDS)
        if recorder.n_waiting >= self._most_waiting():
            self._settle()
        return (
            recorder.n_judged >= quota.n_inputs
            or (quota.n_cases is not None and self._has_found(quota.n_cases))
            or (quota.n_barren is not None and self._is_barren(quota.n_barren))
            or recorder.has_covered_all()
        )

    def _most_waiting(self) -> int:
        """Hits may wait until they are so many: larger batches are cheaper, but a deadline is not to be missed."""
        if not self.confirmer.is_needed:
            return FLUSH
        return self.slice if self.deadline is not None else MOST_ROWS // len(self.oracle.families)

    def _has_found(self, n: int) -> bool:
        """Whether at least n new cases were found; they are told apart only if there could be as many."""
        recorder = self.recorder
        if recorder.n_new + recorder.n_waiting < n:
            return False
        if self.confirmer.is_needed:
            with uninterrupted():
                recorder.sift()
        if recorder.n_new + recorder.n_waiting >= n:
            self._settle()
        return recorder.n_new >= n

    def _is_barren(self, n: int) -> bool:
        """Whether n inputs were judged since the last new case."""
        if self.recorder.n_barren >= n:
            self._settle()
        return self.recorder.n_barren >= n

    def _report_at_times(self) -> None:
        if self.report is None or time.monotonic() < self.next_report:
            return
        self.next_report = time.monotonic() + REPORT_SECONDS
        with uninterrupted():
            self.recorder.sift() if self.confirmer.is_needed else self.recorder.settle_all()
        n_cases = self.recorder.n_new + self.recorder.n_waiting
        if self.report((n_cases, self.recorder.n_judged, self.oracle.asker.n_queries)):
            raise _Done(StopReason.INTERRUPTED)


FIRST_SLICE = 64
SLICE_SECONDS = 0.2
REPORT_SECONDS = 0.1
GRACE_SECONDS = 5.0
"""How long what waits may take to be confirmed after an interruption."""

CONFIRM_ROWS = 40_000
"""Rows sent at a time to confirm."""

HASTY_ROWS = 4000
"""The same after an interruption."""

MOST_ROWS = 200_000
"""Hits wait until confirming takes so many rows."""

FLUSH = 400_000
"""Cases that need no confirming wait until there are so many: a set grows cheaper in large batches."""
