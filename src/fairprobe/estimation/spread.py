"""An estimate's judging, spread over workers: the same inputs in the same order, whoever asks the model about them.

All draws come from one stream, as in an estimate in one process. To draw is cheap beside asking: every worker draws all
inputs, and judges those of its own shards.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from fairprobe.engine import Counts, Report, Skipped, make_engine
from fairprobe.estimation.populations import JudgedFamilies, Population
from fairprobe.model.asking import Asker
from fairprobe.store.answer_log import AnswerLog, Call, NotTold, recorded

BATCHES = 4
"""Of a shard."""


@dataclass
class JudgedShard:
    """What comes of a shard."""

    batches: list[tuple[JudgedFamilies, int]] = field(default_factory=list)
    """Each with the rows that were sent for it; none if the inputs are over."""
    calls: list[Call] = field(default_factory=list)
    """What the model was asked and said, where that is kept."""


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
    keeps_calls: bool = False
    _stream: Iterator[Any] | None = field(default=None, repr=False)
    _next: int = 0
    _functions: tuple[Any, Any] | None = field(default=None, repr=False)
    """As it was before anybody listened."""

    def __post_init__(self) -> None:
        self.population = copy.copy(self.population)  # with a count of queries of its own
        self.population.oracle = copy.copy(self.population.oracle)
        self.population.oracle.asker = copy.copy(self.population.oracle.asker)
        self._functions = self.asker.function, self.asker.careful

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_stream": None, "_next": 0}

    @property
    def asker(self) -> Asker:
        """Who asks; nothing stands in for the model in an estimate."""
        assert isinstance(self.population.oracle.asker, Asker)
        return self.population.oracle.asker

    def __call__(self, shard: int, seconds: float | None, report: Report | None) -> JudgedShard | None:
        """The shard's batches; None if it was stopped."""
        noting: AbstractContextManager[list[Call]] = nullcontext([])
        if self.keeps_calls:
            assert self._functions is not None
            self.asker.function, self.asker.careful = (
                self._functions
            )  # a copy of the process may have been made while it was listened to
            noting = recorded(self.asker)
        with noting as calls:
            batches = self._judged(shard, report)
        return None if batches is None else JudgedShard(batches, calls)

    def _judged(self, shard: int, report: Report | None) -> list[tuple[JudgedFamilies, int]] | None:
        asker, judged, n_judged = self.asker, list[tuple[JudgedFamilies, int]](), 0
        with self.population.quiet():
            for part in self.parts(shard):
                before = asker.n_queries
                batch = self.population.judged(part, self.sets)
                judged.append((batch, asker.n_queries - before))
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
        return None if self.is_enumerated else math.ceil(n / self.population.oracle.batch_size(n) / BATCHES)


class KeptAnswers:
    """What the model said, as engines keep shards: a log of its calls, in the order in which one process makes them.

    So who judged before does not matter, nor how much of it there was.
    """

    def __init__(self, log: AnswerLog, task: JudgingTask) -> None:
        self._log = log
        self._task = replace(task, keeps_calls=False)
        self._waiting: dict[int, list[Call]] = {}
        """By shard, calls that are written after those of the shards before."""
        self._next = 0
        """The shard whose calls are written next."""
        self._is_all_told = False

    def load(self, shard: int) -> JudgedShard | None:
        """A shard whose answers are there, judged anew by them; what is missing of the last one is asked here."""
        if self._is_all_told:
            return None
        try:
            with self._log.recalling(self._task.asker):
                result = self._task(shard, None, None)
        except NotTold:
            self._is_all_told = True
            return None
        self._next = shard + 1
        return result

    def save(self, shard: int, result: JudgedShard) -> None:
        """Keep what a shard was told."""
        self._waiting[shard] = result.calls
        while self._next in self._waiting:
            self._log.take(self._waiting.pop(self._next))
            self._next += 1


def spread_families(
    task: JudgingTask,
    workers: Workers,
    count_queries: Callable[[int], None],
    foreseen: Callable[[list[Counts]], float],
    log: AnswerLog | None = None,
) -> Iterator[JudgedFamilies | LostInputs]:
    """The batches of all shards in order, with what is lost in its place."""
    engine = make_engine(
        task,
        workers.n_jobs,
        kept=None if log is None else KeptAnswers(log, task),
        engine=workers.engine,
        n_shards=task.n_shards,
        foreseen=foreseen,
    )
    try:
        for result in engine.results():
            if isinstance(result, Skipped):
                yield LostInputs(sum(map(len, copy.copy(task).parts(result.shard))), result.words())
                continue
            if result is None or not result.batches:
                return
            for batch, n_queries in result.batches:
                count_queries(n_queries)
                yield batch
    finally:
        engine.close()
