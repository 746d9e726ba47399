"""Models that answer the same row differently: found out by asking about every case again."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from fairprobe.arrays import Codes, Mask
from fairprobe.engine.interrupts import deferred, interruptible
from fairprobe.errors import RunError
from fairprobe.model.repeatability import are_ties
from fairprobe.search.found import Found
from fairprobe.search.job import Job
from fairprobe.search.settings import StopReason
from fairprobe.search.tally import Tally

ROWS = 1000
"""So many cases at a time."""


def confirmed(job: Job, found: Found, tally: Tally) -> Found:
    """What was found, less what the model takes back when asked again, with a remark on that."""
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
        self.oracle = replace(job, accelerate=False).oracle()  # the model itself
        self.started = time.monotonic()
        self.kept = np.arange(found.n_cases)
        self.is_interrupted = found.stop_reason is StopReason.INTERRUPTED

    def run(self) -> None:
        """Ask, until interrupted: then the cases that were not asked about again stay, and that is said."""
        if self.is_interrupted:
            return
        with deferred():
            try:
                with interruptible(), self.oracle.asker.quiet():
                    for _ in range(2):
                        self.kept = self.kept[self._are_cases(self.kept)]
            except KeyboardInterrupt:
                self.is_interrupted = True

    def _are_cases(self, rows: Codes) -> Mask:
        """Which of the cases at these rows are cases again."""
        again = np.zeros(len(rows), dtype=bool)
        for first in range(0, len(rows), ROWS):
            batch = rows[first : first + min(ROWS, self._n_affordable())]
            if not len(batch) or self._is_late():
                break
            codes = self.found._cases.case[batch].astype(np.int64)
            again[first : first + len(batch)] = self.oracle.judge(codes).hits
        return again

    def _n_affordable(self) -> int:
        """How many cases max_queries leaves room for."""
        limit = self.found.limits.max_queries
        if limit is None:
            return ROWS
        return (limit - self.found.n_queries - self.oracle.asker.n_queries) // len(self.oracle.families)

    def _is_late(self) -> bool:
        """Confirming may take as long as the search was allowed to."""
        limit = self.found.limits.max_seconds
        return limit is not None and time.monotonic() - self.started > limit

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
            n_queries=found.n_queries + self.oracle.asker.n_queries,
            seconds=found.seconds + time.monotonic() - self.started,
            stop_reason=StopReason.INTERRUPTED if self.is_interrupted else found.stop_reason,
        )
