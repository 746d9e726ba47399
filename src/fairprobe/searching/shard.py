"""One shard (part) of a search: it samples inputs and searches around the cases found, until its quota is judged."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fairprobe.arrays import Codes, Floats
from fairprobe.blocks import Remark
from fairprobe.clock import Clock, Timer
from fairprobe.domain.families import Members
from fairprobe.engine.base import Counts, Report
from fairprobe.engine.interrupts import deferred, interruptible, uninterrupted
from fairprobe.errors import FairprobeError, ModelError, RunError
from fairprobe.oracle import Judgement, Oracle
from fairprobe.searching.hints import make_hinter
from fairprobe.searching.job import Job, Known, Trace
from fairprobe.searching.limits import StopReason
from fairprobe.searching.recorder import Recorder, confirm
from fairprobe.standins import DisagreementError, Screen

FIRST_SLICE = 64
"""Number of inputs judged in the first call of the model under a limit of time; quick models get more. Chosen."""

SLICE_SECONDS = 0.2
"""Seconds that one call of the model may take under a limit of time. After a call that took less than half of it, the
next batch is twice as large. Chosen: the limit is then exceeded only a little."""

CHECKED_BOTH = 32
"""Number of start cases whose families are asked for labels and scores, to check that labels follow. Chosen."""

REPORT_SECONDS = 0.1
"""Smallest number of seconds between two reports of a shard's progress. Chosen."""

GRACE_SECONDS = 5.0
"""Largest number of seconds for asking the model again about the hits that wait at an interruption. Chosen."""

CONFIRM_ROWS = 40_000
"""Number of rows sent to the model in one call to confirm hits (to ask about them again). Chosen."""

HASTY_ROWS = 4000
"""Number of rows sent to the model in one call to confirm hits after an interruption. Chosen: the call ends soon."""

MOST_ROWS = 200_000
"""Number of rows at which the waiting hits are confirmed (asked about again). Chosen: large batches are cheaper."""

LOOK, LOOK_HURRIED = 100, 500
"""Number of inputs of a global round judged at a time, for a strategy that starts early. `LOOK` is the number without
`hurry`, `LOOK_HURRIED` the number with it. Chosen."""

ENOUGH, LONG = 8, 500
"""`ENOUGH`: number of start cases that ends the first global round. `LONG`: number of inputs after which one start
case is enough to end it. Measured."""

ENOUGH_PEOPLE, LONG_PEOPLE = 64, 2000
"""Values that replace `ENOUGH` and `LONG` if inputs are drawn from a density: there, start cases show where people are.
Measured."""

GLOBAL = 0.06
"""Smallest number of inputs of a later global round, as a fraction of all inputs judged before; `LONG` if that is more.
Measured: a longer search is spread more widely."""

FIRST, AGAIN = 6, 2
"""Largest lengths of local searches by an early-starting strategy. `FIRST`: the first one judges `FIRST * n_local`
inputs for each start case. `AGAIN`: a later one judges `AGAIN` times the inputs judged before. Measured: the first
start cases say little about the others."""

MOST_DRY = 7
"""Largest n in this rule: after n local searches in a row that only revisit inputs, 2**n - 1 global rounds follow
without a local search. Chosen."""

FLUSH = 400_000
"""Number of hits that wait before duplicates among them are removed, if hits need no confirming. Measured: large
batches are cheaper."""


@dataclass(frozen=True)
class Quota:
    """The limits of one shard on inputs, cases, inputs without a new case, queries and seconds; None is no limit.

    A shard may exceed what the run needs, and the run cuts off the rest. It never does less.
    """

    n_inputs: int
    n_cases: int | None = None
    n_barren: int | None = None
    n_queries: int | None = None
    seconds: float | None = None


class _Done(Exception):  # noqa: N818  # no error: it unwinds the rounds when the shard has done its part
    def __init__(self, ended: StopReason | None = None) -> None:
        self.ended = ended


def run_shard(job: Job, shard: int, quota: Quota, known: Known | None = None, report: Report | None = None) -> Trace:
    """Run one shard of a search, and return its trace: judged inputs, cases and queries.

    An interruption or a failure ends it early, with the findings so far.
    """
    with deferred():
        first = _Shard(job, shard, quota, known, report)
        try:
            return first.run()
        except DisagreementError as disagreement:
            # What the stand-in led to is worth nothing: the shard begins anew without it.
            again = _Shard(replace(job, accelerate=False), shard, quota, known, report)
            again.remarks.append(Remark("accelerate-off", str(disagreement)))
            again.asker.n_queries += first.asker.n_queries
            return again.run()


class _Shard:
    def __init__(self, job: Job, shard: int, quota: Quota, known: Known | None, report: Report | None) -> None:
        self.job = job
        self.shard = shard
        self.quota = quota
        self.report = report
        # A stream of its own, which no other shard shares.
        self.rng = np.random.default_rng(np.random.SeedSequence(job.seed, spawn_key=(shard,)))
        self.asker = job.asker()
        self.asker.limit = quota.n_queries
        self.oracle = self.judging = Oracle(self.asker, job.threshold, job.resolution)
        self.screen: Screen | None = None
        if job.accelerate and job.stand_in is not None:
            self.screen = Screen(self.asker, job.stand_in)
            self.judging = self.oracle.by(self.screen)
        self.walking: Oracle | None = None
        """Oracle (judge) for local searches, None before the first one. It gets scores and labels in one query if the
        model allows it."""
        self.confirms = self.screen is not None or not job.is_repeatable
        self.recorder = Recorder(self.oracle, known)
        self.strategy = job.strategy(job.region, job.settings, self.rng)
        self.hinter = make_hinter(job, self.asker)
        self.remarks: list[Remark] = []
        self.clock = None if quota.seconds is None else Clock(quota.seconds)
        self.slice = self.confirm_slice = FIRST_SLICE
        """Under a limit of time, `slice` is the number of inputs judged in one call, and `confirm_slice` the number of
        hits confirmed in one call."""
        self.n_walks = self.n_dry = self.n_whole = 0
        self.is_cut_short = False
        self.timer = Timer(REPORT_SECONDS)

    def run(self) -> Trace:
        """Run the shard and return its trace: the judged inputs, queries and confirmed cases, whatever ends it."""
        ended, failure = self._guarded(self._rounds)
        # Waiting hits are settled. After an interruption there are some seconds for that, after a second one none.
        # After a failure the model is tried once more.
        self.is_cut_short = ended in (StopReason.INTERRUPTED, StopReason.FAILED)
        is_trusted = self.screen is None
        late = self._guarded(lambda: self._settle(Clock(GRACE_SECONDS) if self.is_cut_short else None))
        if not self.is_cut_short and late[0] is not None:
            ended, failure = late
        # Hits that could not be asked about again are no cases if a stand-in judged them. If the model did, they are
        # cases, unless the model has contradicted itself before.
        asked_once = np.empty(0, dtype=np.int64)
        if is_trusted and not self.recorder.is_contradicted:
            self.recorder.sift()
            asked_once = self.recorder.settle_all()
        told = {"ended": ended, "failure": failure, "remarks": tuple(self.remarks)}
        return self.recorder.trace(shard=self.shard, n_sent=self.asker.n_queries, asked_once=asked_once, **told)

    def _guarded(self, work: Callable[[], None]) -> tuple[StopReason | None, FairprobeError | None]:
        """Call a function, and return the reason if something ended it early, and the error if it failed.

        (None, None) if the function ran to its end.
        """
        try:
            with interruptible(), self.asker.quiet():
                work()
        except _Done as done:
            return done.ended, None
        except KeyboardInterrupt:
            return StopReason.INTERRUPTED, None
        except FairprobeError as error:
            return StopReason.FAILED, error
        except Exception as error:
            if isinstance(error, DisagreementError) and not self.is_cut_short:
                raise
            name = self.job.settings.strategy
            failure = RunError(f"a search by {name!r} must not fail, got {type(error).__name__}: {error}")
            failure.__cause__ = error
            return StopReason.FAILED, failure
        return None, None

    # The search

    def _rounds(self) -> None:
        """Alternate global rounds, which judge sampled inputs, and local searches from their cases, until `_Done`.

        Given start rows are judged first. If they lead to no case, inputs are drawn, but never with `max_changes`.
        """
        rows, n = self.job.start, self.job.settings.n_global
        stays = self.job.settings.max_changes is not None
        place = self.shard * n
        while True:
            if rows is not None:
                # A global round takes its number of rows, in turn over rounds and shards.
                n_judged, found = self._explore(rows[(place + np.arange(min(n, len(rows)))) % len(rows)])
                place += n_judged
                if (found and not self.n_whole) or stays:
                    continue
            self._explore(self.job.region.sample_codes(n, self.rng))

    def _explore(self, sample: Codes) -> tuple[int, bool]:
        """Judge sampled inputs and search locally from the cases among them.

        Returns the number of judged inputs, and True if one of them was a case.
        """
        settings, strategy = self.job.settings, self.strategy
        # If local search has found all that is near, only new draws can lead on.
        is_whole, self.n_whole = self.n_whole > 0, max(0, self.n_whole - 1)
        size = len(sample)
        if strategy.is_eager and not is_whole:
            size = LOOK_HURRIED if settings.hurry else LOOK
        starts, n_judged = sample[:0], 0
        enough, long = (ENOUGH, LONG) if self.job.density is None else (ENOUGH_PEOPLE, LONG_PEOPLE)
        if self.n_walks:
            enough, long = len(sample), max(long, int(GLOBAL * self.recorder.n_judged))
            size = max(size, long)  # nothing ends it earlier
        while n_judged < len(sample) and (is_whole or len(starts) < (enough if n_judged < long else 1)):
            some = sample[n_judged : n_judged + size]
            starts = np.concatenate([starts, some[self._judge(self.oracle.families.of(some)).hits]])
            n_judged += len(some)
        found = len(starts) > 0
        if strategy.starts_anywhere:
            starts = sample
        if strategy.is_local and not is_whole and settings.max_changes != 0:
            n = settings.n_walkers
            for first in range(0, len(starts), n):
                self._walk(starts[first : first + n])
        return n_judged, found

    def _walk(self, starts: Codes) -> None:
        """Search locally from start cases, with `n_walkers` walkers (current inputs) moved in trials.

        It ends after `n_local` inputs for each walker, or earlier if the strategy starts early or is spent.
        """
        settings, strategy = self.job.settings, self.strategy
        n = settings.n_walkers
        strategy.start(starts[np.arange(n) % len(starts)])  # if there are fewer than walkers, they are reused in turn
        left = settings.n_local * n
        if strategy.is_eager:
            long = AGAIN * self.recorder.n_judged if self.n_walks else settings.n_local * FIRST * len(starts)
            left = min(left, long)
        self.n_walks += 1
        if self.walking is None:
            self.walking = self._who_walks(starts)
        before, self.judging = self.judging, self.walking
        while left > 0 and not strategy.is_spent:
            members = self.oracle.families.of(strategy.ask())
            judgement = self._judge(members)
            strategy.tell(judgement, self._hints(members))
            left -= len(judgement.codes)
        self.judging = before
        self.n_dry = min(self.n_dry + 1, MOST_DRY) if strategy.is_dry else 0
        self.n_whole = 2**self.n_dry - 1

    def _who_walks(self, cases: Codes) -> Oracle:
        """Return the oracle (judge) for local search. It gets labels from scores if both agree on the first cases."""
        members = self.oracle.families.of(cases[:CHECKED_BOTH])
        n_rows = 2 * int(members.sizes.sum()) + len(members.families)
        if self.hinter is None or not self.hinter.tells_labels or self._queries_left() < n_rows:
            return self.judging
        try:
            labels = self.hinter.ask_members(members)
        except ModelError as error:
            return self._go_on_without(error)
        self.hinter.hints(members)  # nobody wants these
        differ = self.oracle.differ(self.judging.asker.ask_members(members), labels, members.present).any(axis=0)
        if not differ.any():
            return self.oracle.by(self.hinter)
        which = f"the labels of {int(differ.sum()):,} of {len(members):,} inputs"
        text = (
            f"{which} are not those that follow from the model's {self.hinter.asker.output}, so it was asked for both"
        )
        self.remarks.append(Remark("asked-twice", text))
        return self.judging

    def _hints(self, members: Members) -> Floats | None:
        """Return the scores of a batch for the strategy, by member, then input.

        None if the strategy uses no scores, if the quota lacks queries for them and another input, or if the model
        fails.
        """
        if self.hinter is None:
            return None
        if not self.hinter.has_heard and self._queries_left() < (len(members) + 1) * len(members.families):
            return None
        try:
            return self.hinter.hints(members)
        except ModelError as error:  # it answers with labels, which is all that counts
            self._go_on_without(error)
        return None

    def _go_on_without(self, error: ModelError) -> Oracle:
        """Give up hints after the model failed to give them, with a remark, and return the oracle that judges."""
        self.hinter = None
        self.remarks.append(Remark("no-hints", f"{error}; the search went on without scores"))
        return self.judging

    # Judging within the quota

    def _judge(self, members: Members) -> Judgement:
        """Judge and record a batch of families, and return the judgement; raise `_Done` once the quota is used up."""
        parts: list[Judgement] = []
        while True:
            room = self._room(members)
            if not room:
                raise _Done(StopReason.MAX_QUERIES)
            judgement = self._judge_in_time(members.head(room))
            with uninterrupted():
                self.recorder.add(judgement, self.asker.n_queries)
            if len(judgement.codes) < room:  # the deadline came in between
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
        """Return how many inputs of a batch fit into the quota, even if all were hits that must be confirmed."""
        room = min(len(members), self.quota.n_inputs - self.recorder.n_judged)
        if self.quota.n_queries is None:
            return room
        costs = np.cumsum(members.sizes[:room] * (2 if self.confirms else 1))
        affordable = int(np.searchsorted(costs, self._queries_left(), side="right"))
        if affordable < room and self.recorder.n_waiting:
            self._settle()  # fewer may be new than wait
            affordable = int(np.searchsorted(costs, self._queries_left(), side="right"))
        return affordable

    def _queries_left(self) -> float:
        """Return the number of queries left in the quota, less those reserved to ask about hits again."""
        if self.quota.n_queries is None:
            return math.inf
        reserved = self.recorder.n_waiting * len(self.oracle.families) if self.confirms else 0
        return self.quota.n_queries - self.asker.n_queries - reserved

    def _judge_in_time(self, members: Members) -> Judgement:
        """Judge a batch of families within the limit of time, and return the judgement of those judged in time.

        With a limit, the batch is judged in slices, so that a slow model exceeds it only a little.
        """
        if self.quota.n_queries is not None:
            self.asker.limit = int(self._queries_left()) + self.asker.n_queries
        if self.clock is None:
            return self.judging.judge(members)
        parts: list[Judgement] = []
        done = 0
        while not parts or (done < len(members) and not self.clock.is_over):
            slice_clock = Clock()
            parts.append(self.judging.judge(self.oracle.families.of(members.codes[done : done + self.slice])))
            done += len(parts[-1].codes)
            if slice_clock.seconds < SLICE_SECONDS / 2:
                self.slice *= 2  # the model is quick: fewer, larger calls
        return Judgement.join(parts)

    # Settling what was found

    def _settle(self, clock: Clock | None = None) -> None:
        """Turn waiting hits into cases, after asking the model about them again where that is needed.

        Confirmed hits are recorded before the model is asked about more. The work stops when no hit waits or `clock` is
        over.
        """
        if self.screen is not None:
            self.screen.finish()
        if not self.confirms:
            with uninterrupted():
                self.recorder.settle_all()
            return
        clock = clock or Clock()
        size = max(1, (CONFIRM_ROWS if clock.max_seconds is None else HASTY_ROWS) // len(self.oracle.families))
        while not clock.is_over:
            slice_clock = Clock()
            with uninterrupted():
                waiting = self.recorder.proposals(size if self.clock is None else self.confirm_slice)
            if waiting is None:
                return
            confirmation = confirm(self.oracle, self.screen, waiting)
            with uninterrupted():
                self.recorder.settle(confirmation)
            if self.clock is not None and slice_clock.seconds < SLICE_SECONDS / 2:
                self.confirm_slice *= 2

    def _is_done(self) -> bool:
        """Return True if the shard has reached a limit of its quota, or has judged all families of the domain.

        The limits are on inputs, cases, and inputs in a row without a new case. If the time is over, `_Done` is raised.
        Hits are confirmed and counted late, because large batches are cheaper.
        """
        quota, recorder = self.quota, self.recorder
        if self.clock is not None and self.clock.is_over:
            raise _Done(StopReason.MAX_SECONDS)
        most_waiting = FLUSH
        if self.confirms:  # a deadline is not to be missed
            most_waiting = MOST_ROWS // len(self.oracle.families) if self.clock is None else self.confirm_slice
        if recorder.n_waiting >= most_waiting:
            self._settle()
        if recorder.n_judged >= quota.n_inputs or (quota.n_cases is not None and self._has_found(quota.n_cases)):
            return True
        if quota.n_barren is not None and recorder.n_barren >= quota.n_barren:
            self._settle()
            if recorder.n_barren >= quota.n_barren:
                return True
        return recorder.has_covered_all()

    def _has_found(self, n: int) -> bool:
        """Return True if `n` or more new cases were found. Waiting hits are settled only if `n` could be reached."""
        recorder = self.recorder
        if recorder.n_new + recorder.n_waiting < n:
            return False
        if self.confirms:
            with uninterrupted():
                recorder.sift()
        if recorder.n_new + recorder.n_waiting >= n:
            self._settle()
        return recorder.n_new >= n

    def _report_at_times(self) -> None:
        if self.report is None or not self.timer.is_due():
            return
        with uninterrupted():
            self.recorder.sift() if self.confirms else self._settle()
        n_cases = self.recorder.n_new + self.recorder.n_waiting
        if self.report(Counts(n_cases, self.recorder.n_judged, self.asker.n_queries)):
            raise _Done(StopReason.INTERRUPTED)
