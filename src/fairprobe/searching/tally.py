"""The tally of a run adds shards in order, cuts the last one where a limit is reached, and counts each case once."""

from __future__ import annotations

import numpy as np

from fairprobe.arrays import Codes
from fairprobe.blocks import Remark
from fairprobe.domain.domain import Domain
from fairprobe.engine.base import Counts, Skipped
from fairprobe.errors import FairprobeError
from fairprobe.searching.job import Cases, Known, Trace
from fairprobe.searching.limits import Limits, StopReason
from fairprobe.store import Coverage, Distinct, Keys


class Tally:
    """Totals and distinct cases of a search, from its shards in order, until a limit is reached."""

    def __init__(self, domain: Domain, limits: Limits, n_queries: int = 0) -> None:
        self._domain = domain
        self._limits = limits
        self._distinct = Distinct(Keys(domain).n_words)
        self._coverage = Coverage.of(domain)
        self._parts: list[Cases] = []
        self._n_barren = 0
        self.n_distinct = 0
        self.n_judged = 0
        self.n_queries = n_queries
        self.n_shards = 0
        self.n_not_comparable = 0
        self.output_varies = False
        self.n_contradicted = 0
        self.contradicted: list[Codes] = []
        """Some of the rows, as codes, whose outputs differed when the model was asked again."""
        self.n_unconfirmed = 0
        self.n_asked_once = 0
        self.remarks: tuple[Remark, ...] = ()
        self.stop_reason: StopReason | None = None
        self.failure: FairprobeError | None = None
        self.skipped: tuple[Skipped, ...] = ()
        """The shards that were left out because they kept failing, with the reasons."""

    @property
    def n_cases(self) -> int:
        """The number of distinct cases so far."""
        return sum(map(len, self._parts))

    @property
    def counts(self) -> Counts:
        """The numbers of distinct cases, judged inputs and queries so far."""
        return Counts(self.n_cases, self.n_judged, self.n_queries)

    def cases(self) -> Cases:
        """Return all distinct cases of the shards added so far, in order."""
        if len(self._parts) > 1:
            self._parts = [Cases.join(self._parts)]
        return self._parts[0] if self._parts else Cases.none(self._domain)

    def release(self) -> None:
        """Free the memory of the cases' keys, about as much as that of the cases. No shard may be added afterwards."""
        self._distinct, self._coverage = Distinct(0), None

    def known(self) -> Known:
        """Return the findings of the shards added so far, for the next shard to use."""
        return Known(self._distinct, self._coverage, self._n_barren)

    def skip(self, skipped: Skipped) -> None:
        """Count the next shard as left out, because it kept failing."""
        self.skipped, self.n_shards = (*self.skipped, skipped), self.n_shards + 1

    def add(self, trace: Trace) -> None:
        """Add the trace of the next shard, up to the input at which a limit is reached."""
        cases, distinct = trace.cases, trace.distinct
        if distinct is None:  # it ran beside the shards before, so it may have found their cases again
            distinct = self._distinct
            cases = cases.take(distinct.add(trace.case_keys))
        cut, reason = self._cut(trace, cases.offsets)
        n_judged = trace.n_judged if cut is None else cut

        def kept(offsets: Codes) -> int:
            return int(np.searchsorted(offsets, n_judged))

        n_cases, n_unconfirmed, n_asked_once = kept(cases.offsets), kept(trace.unconfirmed), kept(trace.asked_once)
        n_contradicted = kept(trace.contradicted)
        # A failure past the cut is none, unless it left hits before the cut unasked.
        failed = trace.failure is not None and (cut is None or n_unconfirmed + n_asked_once > 0)
        self.n_queries += trace.n_sent if failed else trace.n_queries(n_judged)
        self.n_distinct += int(np.count_nonzero(trace.is_new[:n_judged]))
        self.n_not_comparable += kept(trace.not_comparable)
        self.output_varies |= trace.varies_at is not None and trace.varies_at < n_judged
        self.contradicted += [trace.contradicted_rows] if n_contradicted else []
        self.n_contradicted += n_contradicted
        self.n_unconfirmed += n_unconfirmed
        self.n_asked_once += n_asked_once
        self.remarks = tuple(dict.fromkeys([*self.remarks, *trace.remarks]))
        self.stop_reason = trace.ended if failed or cut is None else reason
        self.failure = trace.failure if failed else None
        self._n_barren = n_judged - int(cases.offsets[n_cases - 1]) - 1 if n_cases else self._n_barren + n_judged
        self._distinct = distinct
        self._parts.append(cases.take(slice(n_cases)))
        self.n_judged += n_judged
        self.n_shards += 1

    def _cut(self, trace: Trace, offsets: Codes) -> tuple[int | None, StopReason | None]:
        """Return the number of the shard's inputs that count because a limit is then reached, and the stop reason.

        Both are None if no limit is reached. `offsets` are those of the new cases. If two limits are reached at once,
        the first one in this function counts.
        """
        limits, cuts = self._limits, list[tuple[int, StopReason]]()
        if limits.max_cases is not None and len(offsets) >= limits.max_cases - self.n_cases:
            cuts.append((int(offsets[limits.max_cases - self.n_cases - 1]) + 1, StopReason.MAX_CASES))
        if self._coverage is not None and trace.new_keys is not None:
            new = self._coverage.add(trace.new_keys)
            if not self._coverage.left:
                cuts.append((int(np.flatnonzero(trace.is_new)[new[-1]]) + 1, StopReason.EXHAUSTED))
        if limits.max_judged is not None and trace.n_judged >= limits.max_judged - self.n_judged:
            cuts.append((limits.max_judged - self.n_judged, StopReason.MAX_INPUTS))
        if limits.max_barren is not None:
            # The stretches without a new case, the first of which began in the shards before.
            starts = np.concatenate([[-self._n_barren], offsets + 1])
            barren = np.flatnonzero(np.append(offsets, trace.n_judged) - starts >= limits.max_barren)
            if len(barren):
                found_any = self.n_cases > 0 or barren[0] > 0
                reason = StopReason.NOTHING_NEW if found_any else StopReason.NOTHING_FOUND
                cuts.append((int(starts[barren[0]]) + limits.max_barren, reason))
        return min(cuts, key=lambda cut: cut[0], default=(None, None))
