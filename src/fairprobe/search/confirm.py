"""Confirming: what was proposed by a stand-in is asked of the model; what the model said once is asked once more.

Only a model that is known to repeat itself is taken at its word. So no case is reported that the model itself did not
judge, and none that it would not give again.
"""

from __future__ import annotations

import numpy as np

from fairprobe.arrays import Codes
from fairprobe.oracle import Judgement, Oracle
from fairprobe.search.recorder import Waiting
from fairprobe.standins import Screen

MOST_ROWS = 64
"""So many contradicted rows are enough to tell why."""


class Confirmer:
    """Says which of the hits that wait are cases."""

    def __init__(self, oracle: Oracle, screen: Screen | None, *, is_repeatable: bool) -> None:
        self._oracle = oracle
        self._screen = screen
        self.is_needed = screen is not None or not is_repeatable
        self._contradicted: list[Codes] = []
        self._rows: list[Codes] = []
        self.n_queries = 0
        """Rows sent to confirm."""

    def confirm(self, waiting: Waiting) -> tuple[Waiting, Codes]:
        """Those that are cases, in order, and how many rows each that was asked about took."""
        before = self._oracle.asker.n_queries
        order = np.lexsort(waiting.keys.T)  # those alike side by side: trees answer them in about half the time
        asked = waiting.judgement.take(order, np.dtype(np.int64))
        if self._screen is None:
            judged = self._oracle.again(asked)
            self._note(judged, waiting.offsets[order])
        else:
            judged = self._oracle.judge(asked.members(self._oracle.families))
            self._screen.check(asked.outputs, judged.outputs)
        self.n_queries += self._oracle.asker.n_queries - before
        back = np.argsort(order)
        hits = np.flatnonzero(judged.hits[back])
        kept = Waiting(judged.take(back[hits], judged.codes.dtype), waiting.keys[hits], waiting.offsets[hits])
        sizes = asked.members(self._oracle.families).sizes
        return kept, sizes[back]

    def _note(self, judged: Judgement, offsets: Codes) -> None:
        assert judged.contradicted is not None
        if judged.contradicted.any():
            self._contradicted.append(np.sort(offsets[judged.contradicted.any(axis=0)]))
            rows = self._oracle.families.members(judged.codes)[judged.contradicted.ravel()]
            self._rows.append(rows[:MOST_ROWS])

    @property
    def contradicted(self) -> Codes:
        """The offsets of the hits that got other outputs the second time."""
        return np.concatenate([np.empty(0, dtype=np.int64), *self._contradicted])

    @property
    def contradicted_rows(self) -> Codes:
        """Some of the rows whose output was another one."""
        none = np.empty((0, len(self._oracle.domain.levels)), dtype=np.int64)
        return np.concatenate([none, *self._rows])[:MOST_ROWS]
