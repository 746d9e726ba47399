"""The recorder of a shard: every input judged, every case found, each counted once. It never asks the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairprobe.arrays import Codes
from fairprobe.errors import FairprobeError
from fairprobe.oracle import Judgement, Oracle
from fairprobe.search.job import Known, Trace
from fairprobe.search.settings import StopReason
from fairprobe.store import Cases, Coverage, Distinct, Keys, first_seen


@dataclass(frozen=True)
class Waiting:
    """Hits that are not told apart yet: their judgements, their keys, and how many inputs were judged before each."""

    judgement: Judgement
    keys: Codes
    offsets: Codes

    def __len__(self) -> int:
        return len(self.offsets)

    def take(self, rows: Codes, dtype: np.dtype[np.signedinteger]) -> Waiting:
        """Some of them, their codes in a dtype that may be smaller."""
        return Waiting(self.judgement.take(rows, dtype), self.keys[rows], self.offsets[rows])

    @classmethod
    def join(cls, parts: list[Waiting]) -> Waiting:
        """All of them, in order."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            Judgement.join([part.judgement for part in parts]),
            np.concatenate([part.keys for part in parts]),
            np.concatenate([part.offsets for part in parts]),
        )


class Recorder:
    """Takes judgements in order. Hits wait until somebody says which of them are cases."""

    def __init__(self, oracle: Oracle, known: Known | None) -> None:
        self._oracle = oracle
        self._keys = Keys(oracle.domain)
        self._small = np.min_scalar_type(-int(oracle.domain.levels.max()))
        self._knows = known is not None
        self._distinct = known.distinct.copy() if known else Distinct(self._keys.n_words)
        self._n_known = len(self._distinct)
        self._waiting: list[Waiting] = []
        self._proposed = Distinct(self._keys.n_words)
        """What was given out to be confirmed, or is sifted."""
        self._sifted: Waiting | None = None
        self._cases: list[Cases] = []
        self._no_cases = Cases.none(oracle.domain)
        self._judged_keys: list[Codes] = []
        self._batch_ends: list[int] = []
        self._batch_queries: list[int] = []
        self._last_new = -(known.n_barren if known else 0)
        self._coverage = known.coverage.copy() if known and known.coverage else Coverage.of(oracle.domain)
        self._to_cover: list[Codes] = []
        """Keys that the coverage does not know yet, those judged after the first `_n_covered`."""
        self._n_covered = 0
        self._first_output: object = None
        self._confirmed: list[Codes] = []
        """The offsets of what the model was asked to confirm."""
        self._confirmed_rows: list[Codes] = []
        """The rows that each took."""
        self._not_comparable: list[Codes] = []
        self.n_judged = 0
        self.n_waiting = 0
        """Hits that wait; some may be the same."""
        self.varies_at: int | None = None
        """Where the first batch begins by whose end two outputs differed."""

    def add(self, judgement: Judgement, n_queries: int) -> None:
        """Take a batch that was judged; `n_queries` were sent by its end, confirmations aside."""
        keys = self._keys.of(judgement.codes)
        rows = np.flatnonzero(judgement.hits)
        if len(rows):
            waiting = judgement.take(rows, self._small)
            self._waiting.append(Waiting(waiting, keys.take(rows, axis=0), self.n_judged + rows))
            self.n_waiting += len(rows)
        if not self.n_judged:
            self._no_cases = Cases.none(self._oracle.domain, judgement.outputs)
        if judgement.present is not None:
            self._not_comparable.append(self.n_judged + np.flatnonzero(~judgement.comparable))
        if self.varies_at is None:
            self._watch(judgement)
        self._judged_keys.append(keys)
        if self._coverage is not None:
            self._to_cover.append(keys)
        self.n_judged += len(keys)
        self._batch_ends.append(self.n_judged)
        self._batch_queries.append(n_queries)

    def _watch(self, judgement: Judgement) -> None:
        """Does the model ever change its output? Looked at only until it does."""
        outputs = judgement.outputs if judgement.present is None else judgement.outputs[judgement.present]
        flat = outputs.reshape(-1, *judgement.outputs.shape[2:])
        if not len(flat):
            return
        if self._first_output is None:
            self._first_output = flat[0]
        if (flat != self._first_output).any():
            self.varies_at = self.n_judged

    # From hits to cases

    def settle_all(self) -> None:
        """All that wait are cases, unless they are known."""
        if self._waiting:
            self._keep(Waiting.join(self._waiting))
            self._waiting, self.n_waiting = [], 0

    def sift(self) -> None:
        """Let only hits wait that are new to this shard: every call of the model has its price."""
        if not self._waiting:
            return
        waiting = Waiting.join(self._waiting)
        proposed = self._proposed.copy()
        rows = np.flatnonzero(proposed.add(waiting.keys))
        new = waiting.take(rows, self._small)
        sifted = new if self._sifted is None else Waiting.join([self._sifted, new])
        self._proposed, self._sifted, self._waiting, self.n_waiting = proposed, sifted, [], len(sifted)

    def proposals(self, n: int) -> Waiting | None:
        """The next hits that are new to this shard, in order; they wait on until they are settled."""
        self.sift()
        if self._sifted is None or not len(self._sifted):
            return None
        return self._sifted.take(np.arange(min(n, len(self._sifted))), np.dtype(np.int64))

    def settle(self, n: int, confirmed: Waiting | None, n_rows: Codes | None = None) -> None:
        """The first n that wait are done with; those that were confirmed are cases, unless they are known.

        `n_rows` are the rows that confirming took for each, if it took any.
        """
        assert self._sifted is not None
        offsets, rest = self._sifted.offsets[:n], np.arange(n, len(self._sifted))
        if n_rows is not None:
            self._confirmed.append(offsets)
            self._confirmed_rows.append(n_rows)
        if confirmed is not None and len(confirmed):
            self._keep(confirmed)
        self._sifted, self.n_waiting = self._sifted.take(rest, self._small), self.n_waiting - n

    def _keep(self, confirmed: Waiting) -> None:
        distinct = self._distinct.copy()
        new = np.flatnonzero(distinct.add(confirmed.keys))
        if len(new):
            ends = self._oracle.ends(confirmed.judgement.take(new, self._small))
            cases = Cases.of(ends, confirmed.offsets[new])
            self._distinct, self._last_new = distinct, int(cases.offsets[-1]) + 1
            self._cases.append(cases)

    def _all_waiting(self) -> list[Waiting]:
        return [*([] if self._sifted is None else [self._sifted]), *self._waiting]

    @property
    def n_new(self) -> int:
        """How many new cases were settled."""
        return len(self._distinct) - self._n_known

    @property
    def n_barren(self) -> int:
        """Inputs judged since the last new case that was settled."""
        return self.n_judged - self._last_new

    def has_covered_all(self) -> bool:
        """Whether every family of a small domain was judged. They are told apart only once there could be as many."""
        if self._coverage is None:
            return False
        if self._to_cover and self.n_judged - self._n_covered >= self._coverage.left:
            self._coverage.add(np.concatenate(self._to_cover))
            self._to_cover, self._n_covered = [], self.n_judged
        return not self._coverage.left

    # All of it

    def trace(
        self, shard: int, ended: StopReason | None, failure: FairprobeError | None, n_sent: int, **more: Any
    ) -> Trace:
        """All that was recorded; what still waits was not confirmed."""
        keys = np.concatenate([np.empty((0, self._keys.n_words), dtype=np.int64), *self._judged_keys])
        cases = Cases.join(self._cases) if self._cases else self._no_cases
        is_new = first_seen(keys)
        nothing = np.empty(0, dtype=np.int64)
        return Trace(
            shard=shard,
            n_judged=self.n_judged,
            batch_ends=np.array(self._batch_ends, dtype=np.int64),
            batch_queries=np.array(self._batch_queries, dtype=np.int64),
            not_comparable=np.concatenate([nothing, *self._not_comparable]),
            confirmed=np.concatenate([nothing, *self._confirmed]),
            confirmed_rows=np.cumsum(np.concatenate([[0], *self._confirmed_rows])).astype(np.int64),
            n_sent=n_sent,
            is_new=is_new,
            new_keys=None if self._coverage is None else keys[is_new],
            case_keys=keys[cases.offsets],
            cases=cases,
            distinct=self._distinct if self._knows else None,
            varies_at=self.varies_at,
            unconfirmed=np.concatenate([nothing, *(part.offsets for part in self._all_waiting())]),
            ended=ended,
            failure=failure,
            **more,
        )
