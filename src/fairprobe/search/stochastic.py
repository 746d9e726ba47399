"""Models that answer the same row differently: found out by inputs judged twice; their cases are confirmed twice."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fairprobe.errors import RunError
from fairprobe.search.found import Found
from fairprobe.search.job import Job

ROWS = 1000
"""So many cases at a time."""


def confirmed(job: Job, found: Found) -> Found:
    """Only the cases that are cases twice more, as far as the limits let us ask, with a remark on the rest."""
    again = _Again(job, found)
    kept = np.arange(found.n_cases)
    try:
        for _ in range(2):
            kept = kept[again.are_cases(kept)]
    except RunError as failure:
        failure.found = found
        raise
    remark = (
        "stochastic-model",
        f"the model answers the same row differently. All {found.n_cases:,} cases were asked about twice more: "
        f"the {len(kept):,} that were cases both times are kept",
    )
    return replace(
        found,
        _cases=found._cases.take(kept),
        health=(*found.health, remark),
        n_queries=found.n_queries + again.oracle.asker.n_queries,
        seconds=found.seconds + time.monotonic() - again.started,
    )


class _Again:
    """Asks about cases again, within the limits: what cannot be asked about is not confirmed."""

    def __init__(self, job: Job, found: Found) -> None:
        self.found = found
        self.oracle = replace(job, accelerate=False).oracle()  # the model itself
        self.started = time.monotonic()

    def are_cases(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of the cases at these rows are cases again."""
        again = np.zeros(len(rows), dtype=bool)
        with self.oracle.asker.quiet():
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
        return (limit - self.found.n_queries - self.oracle.asker.n_queries) // len(self.found.domain.combinations)

    def _is_late(self) -> bool:
        """Confirming may take as long as the search was allowed to."""
        limit = self.found.limits.max_seconds
        return limit is not None and time.monotonic() - self.started > limit
