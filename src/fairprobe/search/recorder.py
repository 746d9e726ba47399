"""The recorder of a shard: every input judged, every case found, each counted once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairprobe.errors import FairprobeError
from fairprobe.oracle import Judgement, Oracle
from fairprobe.search.job import Known, Trace
from fairprobe.search.settings import StopReason
from fairprobe.store import Cases, Coverage, Distinct, Keys

LOOKED_AT = 20_000
"""Whether the model contradicts itself is looked for among so many inputs."""

FLUSH = 400_000
"""Cases wait until there are so many: a set grows cheaper in large batches."""

CONFIRM = 2000
"""With a deadline, proposed cases are confirmed so many at a time: a slow model must not run far past it."""

Queued = tuple[Judgement, NDArray[np.int64], NDArray[np.int64]]
"""Cases found or proposed, their keys, and how many inputs were judged before each."""


class Recorder:
    """Takes judgements in order. Cases wait in a queue; only when someone needs their number are they told apart."""

    def __init__(self, oracle: Oracle, known: Known | None, *, in_haste: bool = False) -> None:
        self.oracle = oracle
        self._in_haste = in_haste
        self._keys = Keys(oracle.domain)
        self._small = np.min_scalar_type(-int(oracle.domain.levels.max()))
        self._knows = known is not None
        self._distinct = known.distinct.copy() if known else Distinct(self._keys.n_words)
        self._n_known = len(self._distinct)
        self._waiting: list[Queued] = []
        self._n_waiting = 0
        self._cases: list[Cases] = []
        self._no_cases = Cases.none(oracle.domain)
        self._judged_keys: list[NDArray[np.int64]] = []
        self._verdicts: list[NDArray[np.bool_]] = []
        self._batch_ends: list[int] = []
        self._batch_queries: list[int] = []
        self._last_new = -(known.n_barren if known else 0)
        self._coverage = known.coverage.copy() if known and known.coverage else Coverage.of(oracle.domain)
        self._first_output: object = None
        self._proposed = Distinct(self._keys.n_words)
        self._confirmed: list[NDArray[np.int64]] = []
        """The offsets of what the model was asked to confirm, each family once."""
        self.n_judged = 0
        self._n_confirming = 0
        """Queries sent to confirm; they count for the batches that proposed."""
        self.output_varies = False

    def add(self, judgement: Judgement) -> None:
        """Take a batch that was judged."""
        keys = self._keys.of(judgement.codes)
        self._judged_keys.append(keys)
        rows = np.flatnonzero(judgement.hits)
        if len(rows):
            self._queue(judgement, rows, keys)
        if not self.output_varies:
            self._watch(judgement)
        if not self.n_judged:
            self._no_cases = Cases.none(self.oracle.domain, judgement.outputs)
        if self.n_judged < LOOKED_AT:
            self._verdicts.append(judgement.hits)
        self.n_judged += len(keys)
        self._batch_ends.append(self.n_judged)
        self._batch_queries.append(self.oracle.asker.n_queries - self._n_confirming)
        if self._coverage is not None:
            self._coverage.add(keys)

    def _queue(self, judgement: Judgement, rows: NDArray[np.int64], keys: NDArray[np.int64]) -> None:
        self._waiting.append((judgement.take(rows, self._small), keys.take(rows, axis=0), self.n_judged + rows))
        self._n_waiting += len(rows)
        if self._n_waiting >= (CONFIRM if self._in_haste and self.oracle.proposes else FLUSH):
            self.flush()

    def _watch(self, judgement: Judgement) -> None:
        """Does the model ever change its output? Looked at only until it does."""
        outputs = judgement.outputs if judgement.present is None else judgement.outputs[judgement.present]
        flat = outputs.reshape(-1, *judgement.outputs.shape[2:])
        if self._first_output is None:
            self._first_output = flat[0]
        self.output_varies = bool((flat != self._first_output).any())

    def flush(self) -> None:
        """Tell the waiting cases apart."""
        if not self._waiting:
            return
        judgement, keys, offsets = self._awaited()
        # Nothing waits any more, lest a model that fails to confirm is asked the same again.
        self._waiting, self._n_waiting = [], 0
        if self.oracle.proposes:
            judgement, keys, offsets = self._confirm(judgement, keys, offsets)
        new = np.flatnonzero(self._distinct.add(keys))
        if len(new):
            ends = self.oracle.ends(judgement.take(new, self._small))
            self._cases.append(Cases.of(ends, offsets[new]))
            self._last_new = int(offsets[new[-1]]) + 1

    def _awaited(self) -> Queued:
        parts, keys, offsets = zip(*self._waiting, strict=True)
        return Judgement.join(parts), np.concatenate(keys), np.concatenate(offsets)

    def _sift(self) -> None:
        """Let only proposals wait that are new to this shard: every call of the model has its price."""
        judgement, keys, offsets = self._awaited()
        rows = np.flatnonzero(self._proposed.copy().add(keys))
        self._waiting = [(judgement.take(rows, self._small), keys[rows], offsets[rows])]
        self._n_waiting = len(rows)

    def _confirm(self, judgement: Judgement, keys: NDArray[np.int64], offsets: NDArray[np.int64]) -> Queued:
        """What the model makes of the proposals that are new to this shard."""
        rows = np.flatnonzero(self._proposed.add(keys))
        self._confirmed.append(offsets[rows])
        rows = rows[np.lexsort(keys[rows].T)]  # those alike side by side: trees answer them in about half the time
        sent = self.oracle.asker.n_queries
        confirmed = self.oracle.confirm(judgement.take(rows, np.dtype(np.int64)))
        self._n_confirming += self.oracle.asker.n_queries - sent
        in_turn = np.argsort(rows)
        hits = in_turn[confirmed.hits[in_turn]]
        return confirmed.take(hits, self._small), keys[rows[hits]], offsets[rows[hits]]

    def n_new(self) -> int:
        """How many new cases were found."""
        self.flush()
        return len(self._distinct) - self._n_known

    def has_found(self, n: int) -> bool:
        """Whether at least n new cases were found; tells cases apart only if there could be as many."""
        if self.oracle.proposes and self._waiting and self._may_have_found(n):
            self._sift()
        return self._may_have_found(n) and self.n_new() >= n

    def _may_have_found(self, n: int) -> bool:
        return len(self._distinct) - self._n_known + self._n_waiting >= n

    def is_barren(self, n: int) -> bool:
        """Whether n inputs were judged since the last new case."""
        if self.n_judged - self._last_new < n:
            return False
        self.flush()
        return self.n_judged - self._last_new >= n

    def has_covered_all(self) -> bool:
        """Whether every family of a small domain was judged."""
        return self._coverage is not None and not self._coverage.left

    def trace(self, shard: int, ended: StopReason | None, failure: FairprobeError | None) -> Trace:
        """All that was recorded."""
        self.flush()
        no_keys = np.empty((0, self._keys.n_words), dtype=np.int64)
        keys, verdicts = np.concatenate([no_keys, *self._judged_keys]), np.concatenate([[], *self._verdicts])
        return Trace(
            shard=shard,
            n_judged=self.n_judged,
            batch_ends=np.array(self._batch_ends, dtype=np.int64),
            batch_queries=np.array(self._batch_queries, dtype=np.int64),
            confirmed=np.sort(np.concatenate([np.empty(0, dtype=np.int64), *self._confirmed])),
            n_twins=len(self.oracle.domain.combinations),
            n_sent=self.oracle.asker.n_queries,
            keys=keys,
            cases=Cases.join(self._cases) if self._cases else self._no_cases,
            distinct=self._distinct if self._knows else None,
            output_varies=self.output_varies,
            disagreement=self.oracle.disagreement,
            contradiction=first_contradiction(keys[: len(verdicts)], verdicts),
            ended=ended,
            failure=failure,
        )


def first_contradiction(keys: NDArray[np.int64], hits: NDArray[np.bool_]) -> int | None:
    """The first input that is no case though it was one before, or the other way round.

    >>> first_contradiction(np.array([[5], [7], [5], [7]]), np.array([True, False, True, True]))
    3
    """
    import pandas as pd

    ids, _ = pd.factorize(pd.MultiIndex.from_arrays(list(keys.T)) if keys.shape[1] > 1 else keys[:, 0])
    firsts = np.flatnonzero(~pd.Series(ids).duplicated().to_numpy())
    differs = hits != hits[firsts[ids]]
    return int(differs.argmax()) if differs.any() else None
