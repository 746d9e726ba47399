"""Confirming: what was proposed by a stand-in is asked of the model; what the model said once is asked once more.

Only a model that is known to repeat itself is taken at its word. So no case is reported that the model itself did not
judge, and none that it would not give again. One that contradicts itself is asked about all its cases twice more.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from fairprobe.arrays import Codes, Mask
from fairprobe.engine.interrupts import deferred, interruptible
from fairprobe.errors import RunError
from fairprobe.model.measuring import are_ties
from fairprobe.oracle import Oracle
from fairprobe.search.found import Found
from fairprobe.search.job import Job
from fairprobe.search.recorder import ROWS_KEPT, Confirmation, Waiting
from fairprobe.search.settings import StopReason
from fairprobe.search.tally import Tally
from fairprobe.standins import Screen

CASES_A_CALL = 1000


def confirm(oracle: Oracle, screen: Screen | None, waiting: Waiting) -> tuple[Waiting, Confirmation]:
    """Ask the model about hits that it, or a screen in its place, judged: those that are cases, and what that took."""
    order = np.lexsort(waiting.keys.T)  # those alike side by side: trees answer them in about half the time
    asked = waiting.judgement.take(order, np.dtype(np.int64))
    members = asked.members(oracle.families)
    contradicted, rows = np.empty(0, dtype=np.int64), asked.codes[:0]
    if screen is not None:
        judged = oracle.judge(members)
        screen.check(asked.outputs, judged.outputs)
    else:
        judged = oracle.again(asked)
        assert judged.contradicted is not None
        if judged.contradicted.any():
            contradicted = np.sort(waiting.offsets[order][judged.contradicted.any(axis=0)])
            rows = oracle.families.members(asked.codes)[judged.contradicted.ravel()][:ROWS_KEPT]
    back = np.argsort(order)
    hits = np.flatnonzero(judged.hits[back])
    cases = Waiting(judged.take(back[hits], judged.codes.dtype), waiting.keys[hits], waiting.offsets[hits])
    return cases, Confirmation(waiting.offsets, members.sizes[back], contradicted, rows)


def confirmed(job: Job, found: Found, tally: Tally) -> Found:
    """What a run found, less what the model takes back when asked again, with a remark on that."""
    if not tally.n_contradicted:
        return found
    n = f"{tally.n_contradicted:,} hits got another output when asked about again and are not among the cases"
    if job.output == "label" and are_ties(job.model, job.domain, job.batch, np.concatenate(tally.contradicted)):
        text = f"{n}: they lie so near to the decision boundary that rounding decides"
        return replace(found, health=(*found.health, ("rounding-decides", text)))
    again = _Again(job, found)
    try:
        again.run()
    except RunError as failure:
        failure.found = again.result(n)
        raise
    return again.result(n)


class _Again:
    """Asks about all cases twice more, within the limits; what could not be asked about is left out."""

    def __init__(self, job: Job, found: Found) -> None:
        self.found = found
        self.asker = job.asker()  # the model itself
        self.oracle = Oracle(self.asker, job.threshold, job.resolution)
        self.started = time.monotonic()
        self.kept = np.arange(found.n_cases)
        self.is_interrupted = found.stop_reason is StopReason.INTERRUPTED

    def run(self) -> None:
        """Ask, until interrupted: then the cases that were not asked about again stay, and that is said."""
        if self.is_interrupted:
            return
        with deferred():
            try:
                with interruptible(), self.asker.quiet():
                    for _ in range(2):
                        self.kept = self.kept[self._are_cases(self.kept)]
            except KeyboardInterrupt:
                self.is_interrupted = True

    def _are_cases(self, rows: Codes) -> Mask:
        """Which of the cases at these rows are cases again."""
        again, limits = np.zeros(len(rows), dtype=bool), self.found.limits
        for first in range(0, len(rows), CASES_A_CALL):
            n = CASES_A_CALL
            if limits.max_queries is not None:
                n_left = limits.max_queries - self.found.n_queries - self.asker.n_queries
                n = min(n, n_left // len(self.oracle.families))
            # It may take as long as the search was allowed to.
            is_late = limits.max_seconds is not None and time.monotonic() - self.started > limits.max_seconds
            batch = rows[first : first + n]
            if not len(batch) or is_late:
                break
            codes = self.found._cases.case[batch].astype(np.int64)
            again[first : first + len(batch)] = self.oracle.judge(codes).hits
        return again

    def result(self, contradicted: str) -> Found:
        """The cases kept."""
        found, n = self.found, len(self.kept)
        asked = (
            f"interrupted, {n:,} cases are kept that were cases each time they were asked about, twice or more"
            if self.is_interrupted
            else f"all {found.n_cases:,} cases were then asked about twice more: the {n:,} that were cases each time "
            "are kept"
        )
        remark = ("stochastic-model", f"the model answers the same row differently: {contradicted}; {asked}")
        return replace(
            found,
            _cases=found._cases.take(self.kept),
            health=(*found.health, remark),
            n_queries=found.n_queries + self.asker.n_queries,
            seconds=found.seconds + time.monotonic() - self.started,
            stop_reason=StopReason.INTERRUPTED if self.is_interrupted else found.stop_reason,
        )
