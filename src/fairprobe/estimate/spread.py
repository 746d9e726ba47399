"""An estimate's judging, spread over workers: the same inputs in the same order, whoever asks the model about them.

All draws come from one stream, as in an estimate in one process. To draw is cheap beside asking: every worker draws all
inputs, and judges those of its own shards.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairprobe.engine import Counts, Report, Skipped, make_engine
from fairprobe.estimate.populations import JudgedFamilies, Population, chunk
from fairprobe.model.known import bears_copying

BATCHES = 4
"""Of a shard."""

Judged = list[tuple[JudgedFamilies, int]]
"""Batches, each with the rows that were sent for it."""


@dataclass(frozen=True)
class Workers:
    """Who judges, where it is not this process alone."""

    n_jobs: int
    engine: str | None


@dataclass(frozen=True)
class LostInputs:
    """Inputs of a shard that kept failing: nothing is known of them."""

    n: int
    why: str


@dataclass
class JudgingTask:
    """Draws the inputs of a shard and judges them."""

    population: Population
    n: int
    """Inputs in all."""
    seed: int
    sets: Sequence[tuple[str, ...]]
    is_enumerated: bool = False
    _stream: Iterator[Any] | None = field(default=None, repr=False)
    _next: int = 0

    def __post_init__(self) -> None:
        self.population = copy.copy(self.population)  # with a count of queries of its own
        self.population.oracle = copy.copy(self.population.oracle)
        self.population.oracle.asker = copy.copy(self.population.oracle.asker)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_stream": None, "_next": 0}

    def __call__(self, shard: int, seconds: float | None, report: Report | None) -> Judged | None:
        """The shard's batches, none if the inputs are over; None if it was stopped."""
        asker, judged, n_judged = self.population.oracle.asker, Judged(), 0
        with self.population.quiet():
            for part in self.parts(shard):
                before = asker.n_queries
                judged.append((self.population.judged(part, self.sets), 0))
                judged[-1] = (judged[-1][0], asker.n_queries - before)
                n_judged += len(part)
                if report is not None and report(Counts(0, n_judged, asker.n_queries)):
                    return None
        return judged

    def parts(self, shard: int) -> list[Any]:
        """What a shard is about."""
        if self._stream is None or self._next > shard:
            drawn = self.population.parts(self.n, self.seed)
            self._stream, self._next = self.population.enumerated_parts() if self.is_enumerated else drawn, 0
        for _ in itertools.islice(self._stream, BATCHES * (shard - self._next)):
            pass
        self._next = shard + 1
        return list(itertools.islice(self._stream, BATCHES))

    @property
    def n_shards(self) -> int | None:
        """How many there are, as far as that is known beforehand."""
        rows = self.population.rows
        n = self.n if rows is None else len(rows)
        return None if self.is_enumerated else math.ceil(n / chunk(self.population.oracle, n) / BATCHES)


def spread_families(
    task: JudgingTask, workers: Workers, count_queries: Callable[[int], None], foreseen: Callable[[list[Counts]], float]
) -> Iterator[JudgedFamilies | LostInputs]:
    """The batches of all shards in order, with what is lost in its place."""
    population = task.population
    engine = make_engine(
        task,
        workers.n_jobs,
        engine=workers.engine,
        n_shards=task.n_shards,
        foreseen=foreseen,
        may_copy=bears_copying(population.model) and not population.domain.restrictions.callables,
    )
    try:
        for result in engine.results():
            if isinstance(result, Skipped):
                yield LostInputs(sum(map(len, copy.copy(task).parts(result.shard))), result.words())
                continue
            if not result:
                return
            for batch, n_queries in result:
                count_queries(n_queries)
                yield batch
    finally:
        engine.close()
