"""The recorder of a shard notes every judged input and counts every case once; the tally of a run adds shards up.

The tally adds shards in order, cuts the last one where a limit is reached, and counts each case once.

The model confirms every hit that a stand-in proposed. A model that is not known to repeat itself is also asked again
about its own hits. No case is thus reported that the model itself did not judge.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairprobe.arrays import Codes
from fairprobe.blocks import Remark
from fairprobe.domain.domain import Domain
from fairprobe.engine.base import Counts, Skipped
from fairprobe.errors import FairprobeError
from fairprobe.oracle import Judgement, Oracle
from fairprobe.searching.job import Cases, Known, Trace
from fairprobe.searching.limits import Limits, StopReason
from fairprobe.standins import Screen
from fairprobe.store import Coverage, Distinct, Keys, first_seen

ROWS_KEPT = 64
"""Largest number of rows of a shard that are stored, of those whose output differed when asked again, to find the
reason. Chosen."""


@dataclass(frozen=True)
class Waiting:
    """Hits (inputs judged discriminatory) that have not been counted as cases, with the keys of their families.

    The offset of a hit is the number of inputs judged before it.
    """

    judgement: Judgement
    keys: Codes
    offsets: Codes

    def __len__(self) -> int:
        return len(self.offsets)

    def take(self, rows: Codes, dtype: np.dtype[np.signedinteger]) -> Waiting:
        """Return the hits at the given positions, with their codes in the given dtype."""
        return Waiting(self.judgement.take(rows, dtype), self.keys[rows], self.offsets[rows])

    @classmethod
    def join(cls, parts: list[Waiting]) -> Waiting:
        """Concatenate hits that wait to be confirmed; `parts` are in the order in which the hits were found."""
        return cls(
            Judgement.join([part.judgement for part in parts]),
            np.concatenate([part.keys for part in parts]),
            np.concatenate([part.offsets for part in parts]),
        )


@dataclass(frozen=True)
class Confirmation:
    """The result of asking the model again about hits: the cases, the rows sent, and the hits with other outputs."""

    cases: Waiting
    asked: Codes
    """Offsets (numbers of inputs judged before) of all hits that the model was asked about again."""
    n_rows: Codes
    """Number of rows that were sent to ask about each of these hits, by hit."""
    contradicted: Codes
    """Offsets of those hits that got other outputs this time, in order."""
    contradicted_rows: Codes
    """Up to `ROWS_KEPT` of the rows, as codes, whose second output differed from the first."""


def confirm(oracle: Oracle, screen: Screen | None, waiting: Waiting) -> Confirmation:
    """Ask the model again about hits that it or its stand-in judged, and return which of them are cases."""
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
    return Confirmation(cases, waiting.offsets, members.sizes[back], contradicted, rows)


class Recorder:
    """Record of all judgements of one shard, in order. Hits wait until the shard decides which of them are cases."""

    def __init__(self, oracle: Oracle, known: Known | None) -> None:
        self._oracle = oracle
        self._keys = Keys(oracle.domain)
        self._small = np.min_scalar_type(-int(oracle.domain.levels.max()))
        """Smallest dtype that holds all codes of the domain. It saves memory, because many hits may wait."""
        self._knows = known is not None
        self._distinct = known.distinct.copy() if known else Distinct(self._keys.n_words)
        self._n_known = len(self._distinct)
        self._waiting: list[Waiting] = []
        self._proposed = Distinct(self._keys.n_words)
        """Keys of all hits that were checked for duplicates."""
        self._n_sifted = 0
        """Number of waiting hits, from the first on, that are known to be of families new to this shard."""
        self._cases: list[Cases] = []
        self._no_cases = Cases.none(oracle.domain)
        self._judged_keys: list[Codes] = []
        self._batches: list[tuple[int, int]] = []
        """For each batch, two numbers: of inputs judged by its end, and of rows sent without those that confirm
        hits."""
        self._last_new = -(known.n_barren if known else 0)
        self._coverage = known.coverage.copy() if known and known.coverage else Coverage.of(oracle.domain)
        self._n_covered = 0
        """Number of batches whose inputs are marked as judged in `_coverage`."""
        self._first_output: object = None
        self._confirmations: list[Confirmation] = []
        self._not_comparable: list[Codes] = []
        self.n_judged = 0
        self.n_confirming = 0
        """Number of rows sent to the model so far to confirm hits."""
        self.is_contradicted = False
        """True if the model gave some hit another output when asked again."""
        self.n_waiting = 0
        """Number of hits that wait to be counted as cases; several may be of one family."""
        self.varies_at: int | None = None
        """Offset of the first batch by whose end the model had given two different outputs; None if there is none."""

    def add(self, judgement: Judgement, n_queries: int) -> None:
        """Record a judged batch of inputs; `n_queries` is the number of rows that the shard has sent by its end."""
        keys = self._keys.of(judgement.codes)
        rows = np.flatnonzero(judgement.hits)
        if len(rows):
            waiting = judgement.take(rows, self._small)
            self._waiting.append(Waiting(waiting, keys.take(rows, axis=0), self.n_judged + rows))
            self.n_waiting += len(rows)
        if not self.n_judged:  # only answers tell the type of the columns that no cases have
            self._no_cases = Cases.none(self._oracle.domain, judgement.outputs)
        if judgement.present is not None:
            self._not_comparable.append(self.n_judged + np.flatnonzero(~judgement.comparable))
        if self.varies_at is None:  # does the model ever change its output?
            outputs = judgement.outputs if judgement.present is None else judgement.outputs[judgement.present]
            flat = outputs.reshape(-1, *judgement.outputs.shape[2:])
            if self._first_output is None and len(flat):
                self._first_output = flat[0]
            if len(flat) and (flat != self._first_output).any():
                self.varies_at = self.n_judged
        self._judged_keys.append(keys)
        self.n_judged += len(keys)
        self._batches.append((self.n_judged, n_queries - self.n_confirming))

    # From hits to cases

    def settle_all(self) -> Codes:
        """Count all waiting hits as cases, except those of known families; return the offsets of all waiting hits."""
        if not self.n_waiting:
            return np.empty(0, dtype=np.int64)
        joined = Waiting.join(self._waiting)
        self._keep(joined)
        self._waiting, self._n_sifted, self.n_waiting = [], 0, 0
        return joined.offsets

    def sift(self) -> None:
        """Remove waiting hits of families that the shard has seen, because confirming each would cost queries."""
        if self.n_waiting == self._n_sifted:
            return
        waiting, is_new = Waiting.join(self._waiting), np.ones(self.n_waiting, dtype=bool)
        is_new[self._n_sifted :] = self._proposed.add(waiting.keys[self._n_sifted :])
        self._set_waiting(waiting.take(np.flatnonzero(is_new), self._small))

    def _set_waiting(self, sifted: Waiting) -> None:
        self._waiting, self._n_sifted, self.n_waiting = [sifted], len(sifted), len(sifted)

    def proposals(self, n: int) -> Waiting | None:
        """Return up to `n` waiting hits to confirm, in order and distinct within the shard; None if no hit waits.

        They stay among the waiting hits until they are settled.
        """
        self.sift()
        if not self.n_waiting:
            return None
        return self._waiting[0].take(np.arange(min(n, self.n_waiting)), np.dtype(np.int64))

    def settle(self, confirmation: Confirmation) -> None:
        """Record the answers about the last proposals: they wait no longer, and the confirmed ones become cases."""
        self._confirmations.append(confirmation)
        self.n_confirming += int(confirmation.n_rows.sum())
        self.is_contradicted |= len(confirmation.contradicted) > 0
        self._keep(confirmation.cases)
        self._set_waiting(self._waiting[0].take(np.arange(len(confirmation.asked), self.n_waiting), self._small))

    def _keep(self, confirmed: Waiting) -> None:
        new = np.flatnonzero(self._distinct.add(confirmed.keys))
        if len(new):
            ends = self._oracle.ends(confirmed.judgement.take(new, self._small))
            # Cases that an earlier shard found are no news, and end no barren stretch.
            self._cases.append(Cases(**vars(ends), offsets=confirmed.offsets[new]))
            self._last_new = int(confirmed.offsets[new[-1]]) + 1

    @property
    def n_new(self) -> int:
        """The number of cases of this shard that no earlier shard is known to have found."""
        return len(self._distinct) - self._n_known

    @property
    def n_barren(self) -> int:
        """The number of inputs judged since the last new case, those of earlier shards included."""
        return self.n_judged - self._last_new

    def has_covered_all(self) -> bool:
        """Return True if every family of the domain was judged; always False for a domain too large to keep track."""
        if self._coverage is None:
            return False
        known = self._batches[self._n_covered - 1][0] if self._n_covered else 0
        if self.n_judged > known and self.n_judged - known >= self._coverage.left:
            self._coverage.add(np.concatenate(self._judged_keys[self._n_covered :]))
            self._n_covered = len(self._judged_keys)
        return not self._coverage.left

    # All of it

    def trace(self, **more: Any) -> Trace:
        """Return the record as a `Trace`, whose other fields are `more`; hits that still wait are unconfirmed."""
        keys = np.concatenate([np.empty((0, self._keys.n_words), dtype=np.int64), *self._judged_keys])
        cases = Cases.join(self._cases) if self._cases else self._no_cases
        is_new = first_seen(keys)  # once, in the end: large batches are told apart more cheaply
        asked, (ends, queries) = self._confirmations, np.array(self._batches, dtype=np.int64).reshape(-1, 2).T
        no_rows = np.empty((0, len(self._oracle.domain.levels)), dtype=np.int64)
        return Trace(
            n_judged=self.n_judged,
            batch_ends=ends,
            batch_queries=queries,
            not_comparable=_joined(self._not_comparable),
            confirmed=_joined(each.asked for each in asked),
            confirmed_rows=np.append(0, np.cumsum(_joined(each.n_rows for each in asked))),
            contradicted=_joined(each.contradicted for each in asked),
            contradicted_rows=np.concatenate([no_rows, *(each.contradicted_rows for each in asked)])[:ROWS_KEPT],
            is_new=is_new,
            new_keys=None if self._coverage is None else keys[is_new],
            case_keys=keys[cases.offsets],
            cases=cases,
            distinct=self._distinct if self._knows else None,
            varies_at=self.varies_at,
            unconfirmed=_joined(part.offsets for part in self._waiting),
            **more,
        )


def _joined(parts: Iterable[Codes]) -> Codes:
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])


# The tally of a run


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

        (None, None) if no limit is reached. `offsets` are those of the new cases. If two limits are reached at once,
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
