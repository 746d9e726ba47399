"""The tally of a run: shards in order, cut exactly where a limit is met, cases distinct over all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairprobe.arrays import Codes
from fairprobe.domain.domain import Domain
from fairprobe.errors import FairprobeError
from fairprobe.search.job import Known, Snapshot, Trace
from fairprobe.search.settings import Limits, StopReason
from fairprobe.store import Cases, Coverage, Distinct, Keys


@dataclass(frozen=True)
class _Cut:
    """The result ends before this offset of the shard, for this reason."""

    offset: int
    reason: StopReason


class Tally:
    """Adds shards from 0 on, until a limit is met."""

    def __init__(self, domain: Domain, limits: Limits) -> None:
        self._domain = domain
        self._limits = limits
        self._distinct = Distinct(Keys(domain).n_words)
        self._coverage = Coverage.of(domain)
        self._parts: list[Cases] = []
        self._n_barren = 0
        self.n_inputs = 0
        self.n_judged = 0
        self.n_queries = 0
        self.n_shards = 0
        self.n_not_comparable = 0
        self.output_varies = False
        self.n_contradicted = 0
        self.contradicted: list[Codes] = []
        """Some of the rows that got other outputs when asked about again."""
        self.n_unconfirmed = 0
        self.n_asked_once = 0
        self.remarks: tuple[tuple[str, str], ...] = ()
        self.stop_reason: StopReason | None = None
        self.failure: FairprobeError | None = None

    @property
    def n_cases(self) -> int:
        """Distinct cases so far."""
        return sum(map(len, self._parts))

    def cases(self) -> Cases:
        """All distinct cases."""
        found = [part for part in self._parts if len(part)] or self._parts[:1]
        return Cases.join(found) if found else Cases.none(self._domain)

    def known(self) -> Known:
        """What a shard that runs next may know."""
        return Known(self._distinct, self._coverage, self._n_barren)

    def snapshot(self) -> Snapshot:
        """How far the run has got."""
        return Snapshot(self.n_cases, self.n_judged, self.n_queries)

    def add(self, trace: Trace) -> None:
        """Add the next shard, as much of it as the limits let in."""
        cases, distinct = self._new_cases(trace)
        coverage = None if self._coverage is None else self._coverage.copy()
        cut = self._cut(trace, cases.offsets, coverage)
        n_judged = cut.offset if cut else trace.n_judged
        kept = int(np.searchsorted(cases.offsets, n_judged))
        n_barren = n_judged - int(cases.offsets[kept - 1]) - 1 if kept else self._n_barren + n_judged
        n_unconfirmed = int(np.searchsorted(trace.unconfirmed, n_judged))
        n_asked_once = int(np.searchsorted(trace.asked_once, n_judged))
        is_short = trace.failure is not None and n_unconfirmed + n_asked_once > 0  # what failed was not past the cut
        n_contradicted = int(np.searchsorted(trace.contradicted, n_judged))
        # All at once: Ctrl-C in the middle must not leave figures that do not belong together.
        self.__dict__.update(
            _distinct=distinct,
            _coverage=coverage,
            _parts=[*self._parts, cases.take(slice(kept))],
            _n_barren=n_barren,
            n_judged=self.n_judged + n_judged,
            n_inputs=self.n_inputs + trace.n_distinct(n_judged),
            n_queries=self.n_queries
            + (trace.n_sent if trace.failure and (is_short or not cut) else trace.n_queries(n_judged)),
            n_shards=self.n_shards + 1,
            n_not_comparable=self.n_not_comparable + int(np.searchsorted(trace.not_comparable, n_judged)),
            output_varies=self.output_varies or (trace.varies_at is not None and trace.varies_at < n_judged),
            n_contradicted=self.n_contradicted + n_contradicted,
            contradicted=[*self.contradicted, trace.contradicted_rows] if n_contradicted else self.contradicted,
            n_unconfirmed=self.n_unconfirmed + n_unconfirmed,
            n_asked_once=self.n_asked_once + n_asked_once,
            remarks=tuple(dict.fromkeys([*self.remarks, *trace.remarks])),
            stop_reason=cut.reason if cut and not is_short else trace.ended,
            failure=None if cut and not is_short else trace.failure,
        )

    def _new_cases(self, trace: Trace) -> tuple[Cases, Distinct]:
        """The shard's cases that no shard before had, and the set of all."""
        if trace.distinct is not None:
            return trace.cases, trace.distinct
        distinct = self._distinct.copy()
        return trace.cases.take(distinct.add(trace.case_keys)), distinct

    def _cut(self, trace: Trace, offsets: Codes, coverage: Coverage | None) -> _Cut | None:
        """Where the first limit is met in this shard; of two met at once, the first listed is named."""
        cuts = [
            self._cases_cut(offsets),
            _coverage_cut(trace, coverage),
            self._inputs_cut(trace),
            self._barren_cut(trace.n_judged, offsets),
        ]
        return min((cut for cut in cuts if cut), key=lambda cut: cut.offset, default=None)

    def _cases_cut(self, offsets: Codes) -> _Cut | None:
        if self._limits.max_cases is None:
            return None
        left = self._limits.max_cases - self.n_cases
        return _Cut(int(offsets[left - 1]) + 1, StopReason.MAX_CASES) if len(offsets) >= left else None

    def _inputs_cut(self, trace: Trace) -> _Cut | None:
        left = _difference(self._limits.max_inputs, self.n_judged)
        return _Cut(left, StopReason.MAX_INPUTS) if left is not None and trace.n_judged >= left else None

    def _barren_cut(self, n_judged: int, offsets: Codes) -> _Cut | None:
        """Where as many inputs as max_barren were judged in a row without a new case."""
        if self._limits.max_barren is None:
            return None
        starts = np.concatenate([[-self._n_barren], offsets + 1])
        ends = np.concatenate([offsets, [n_judged]])
        barren = np.flatnonzero(ends - starts >= self._limits.max_barren)
        if not len(barren):
            return None
        found_any = self.n_cases > 0 or barren[0] > 0
        reason = StopReason.NOTHING_NEW if found_any else StopReason.NOTHING_FOUND
        return _Cut(int(starts[barren[0]]) + self._limits.max_barren, reason)


def _difference(limit: int | None, used: int) -> int | None:
    return None if limit is None else limit - used


def _coverage_cut(trace: Trace, coverage: Coverage | None) -> _Cut | None:
    if coverage is None or trace.new_keys is None:
        return None
    new = coverage.add(trace.new_keys)
    return None if coverage.left else _Cut(int(np.flatnonzero(trace.is_new)[new[-1]]) + 1, StopReason.EXHAUSTED)
