"""One shard of a search: global rounds, seeds, local search, until its quota is judged or the run has enough."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairprobe.domain.parameters import Codes
from fairprobe.engine import Report
from fairprobe.errors import FairprobeError, ModelError
from fairprobe.oracle import Judgement
from fairprobe.search.hints import make_hinter
from fairprobe.search.job import Job, Known, Trace
from fairprobe.search.recorder import Recorder
from fairprobe.search.registry import load_strategy
from fairprobe.search.settings import StopReason
from fairprobe.search.strategy import Hints


@dataclass(frozen=True)
class Quota:
    """When a shard has done its part. It may do more than the run needs (what follows is cut), never less."""

    n_inputs: int
    n_cases: int | None = None
    n_barren: int | None = None
    n_queries: int | None = None
    deadline: float | None = None
    """By the monotonic clock, which all processes of a machine share."""


class _Done(Exception):  # noqa: N818  # no error: it unwinds the rounds when the shard has done its part
    def __init__(self, ended: StopReason | None = None) -> None:
        self.ended = ended


def run_shard(job: Job, shard: int, quota: Quota, known: Known | None = None, report: Report | None = None) -> Trace:
    """Run one shard. An interruption or a failing model ends it early, with what was found."""
    return _Shard(job, shard, quota, known, report).run()


class _Shard:
    def __init__(self, job: Job, shard: int, quota: Quota, known: Known | None, report: Report | None) -> None:
        self.job = job
        self.shard = shard
        self.quota = quota
        self.report = report
        self.rng = job.rng(shard)
        self.oracle = job.oracle()
        self.recorder = Recorder(self.oracle, known, in_haste=quota.deadline is not None)
        self.strategy = load_strategy(job.strategy_path)(job.domain, job.settings, self.rng)
        self.hinter = make_hinter(job, self.strategy.wants)
        self.slice = FIRST_SLICE
        self.next_report = time.monotonic() + REPORT_SECONDS

    def run(self) -> Trace:
        ended: StopReason | None = None
        failure: FairprobeError | None = None
        try:
            with self.oracle.asker.quiet():
                self._rounds()
        except _Done as done:
            ended = done.ended
        except KeyboardInterrupt:
            ended = StopReason.INTERRUPTED
        except FairprobeError as error:
            ended, failure = StopReason.FAILED, error
        return self.recorder.trace(self.shard, ended, failure)

    # The search

    def _rounds(self) -> None:
        """Global search, then local search from its seeds, again and again; after rows in vain, uniform inputs."""
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
        seeds = sample[self._judge(sample).hits]
        if self.strategy.is_local and len(seeds):
            for group in self._groups(seeds):
                self._walk(group)
        return len(seeds) > 0

    def _groups(self, seeds: Codes) -> Iterator[Codes]:
        """As many seeds as walkers at a time; where there are fewer, they are used in turn."""
        n = self.job.settings.n_walkers
        for first in range(0, len(seeds), n):
            group = seeds[first : first + n]
            yield group[np.arange(n) % len(group)]

    def _walk(self, seeds: Codes) -> None:
        """Local search from these seeds, for as many inputs as `n_local` trials of all walkers are."""
        self.strategy.start(seeds)
        left = self.job.settings.n_local * self.job.settings.n_walkers
        while left > 0:
            judgement = self._judge(self.strategy.ask())
            self.strategy.tell(judgement, self._hints(judgement.codes))
            left -= len(judgement.codes)

    def _hints(self, codes: Codes) -> Hints | None:
        """Hints for a strategy that wants them, if the quota has room for these and for another input."""
        hinter, n_twins = self.hinter, len(self.job.domain.combinations)
        if hinter is None or self._queries_left() < (len(codes) + 1) * n_twins:
            return None
        before = hinter.n_queries
        try:
            hints = hinter.hints(codes)
        except ModelError:  # it answers with labels, which is all that counts
            hints = self.hinter = None
        self.oracle.asker.n_queries += hinter.n_queries - before
        return hints

    # Judging within the quota

    def _judge(self, codes: Codes) -> Judgement:
        """Judge and record a batch. When the quota cuts it short or is used up by it, the shard is done."""
        wanted = codes[: self._room(codes)]
        if not len(wanted):
            raise _Done
        judgement = self._judge_in_time(wanted)
        self.recorder.add(judgement)
        if len(judgement.codes) < len(wanted):
            raise _Done(StopReason.MAX_SECONDS)
        if len(wanted) < len(codes) or self._is_done():
            raise _Done
        self._report_at_times()
        return judgement

    def _room(self, codes: Codes) -> int:
        """How many of these inputs the quota has room for."""
        room = min(len(codes), self.quota.n_inputs - self.recorder.n_judged)
        if self.quota.n_queries is None:
            return room
        return int(np.searchsorted(np.cumsum(self.oracle.costs(codes[:room])), self._queries_left(), side="right"))

    def _queries_left(self) -> float:
        return math.inf if self.quota.n_queries is None else self.quota.n_queries - self.oracle.asker.n_queries

    def _judge_in_time(self, codes: Codes) -> Judgement:
        """With a deadline a batch is judged in slices, so that a slow model cannot run far past it."""
        if self.quota.deadline is None:
            return self.oracle.judge(codes)
        parts: list[Judgement] = []
        done = 0
        while not parts or (done < len(codes) and time.monotonic() < self.quota.deadline):
            begun = time.monotonic()
            parts.append(self.oracle.judge(codes[done : done + self.slice]))
            done += len(parts[-1].codes)
            if time.monotonic() - begun < SLICE_SECONDS / 2:
                self.slice *= 2
        return Judgement.join(parts)

    def _is_done(self) -> bool:
        quota, recorder = self.quota, self.recorder
        if quota.deadline is not None and time.monotonic() >= quota.deadline:
            raise _Done(StopReason.MAX_SECONDS)
        return (
            recorder.n_judged >= quota.n_inputs
            or (quota.n_cases is not None and recorder.has_found(quota.n_cases))
            or (quota.n_barren is not None and recorder.is_barren(quota.n_barren))
            or recorder.has_covered_all()
        )

    def _report_at_times(self) -> None:
        if self.report is None or time.monotonic() < self.next_report:
            return
        self.next_report = time.monotonic() + REPORT_SECONDS
        if self.report((self.recorder.n_new(), self.recorder.n_judged, self.oracle.asker.n_queries)):
            raise _Done(StopReason.INTERRUPTED)


FIRST_SLICE = 64
SLICE_SECONDS = 0.2
REPORT_SECONDS = 0.1
