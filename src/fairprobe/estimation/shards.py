"""Shards of an estimate: batches of inputs, judged by this process or by others, in an order that is always the same.

A shard is a function of its number, the population, the number of inputs and the seed. So the result depends neither on
who judged it nor on which shards were judged before.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from fairprobe.engine import Counts, Report, Skipped, make_engine
from fairprobe.estimation.populations import JudgedFamilies, Population
from fairprobe.model.asking import Asker
from fairprobe.store.answer_log import AnswerLog, Call, NotKeptError, recalled, recorded


@dataclass(frozen=True)
class JudgedShard:
    """The result of one shard."""

    batch: JudgedFamilies
    n_queries: int
    """Rows that the model was asked about."""
    calls: list[Call]
    """The calls of the model with its answers; empty where they are not kept."""


@dataclass(frozen=True)
class LostInputs:
    """Inputs of a shard that kept failing: nothing is known of them."""

    n: int
    why: str


@dataclass
class JudgingTask:
    """Judges one shard after the other, with a count of queries of its own."""

    population: Population
    n: int
    """Inputs in all, of a population that is drawn from."""
    seed: int
    sets: Sequence[tuple[str, ...]]
    is_enumerated: bool = False
    """True to judge an input of every family of the domain, instead of inputs that are drawn."""
    keeps_calls: bool = False

    def __post_init__(self) -> None:
        self.population = copy.copy(self.population)
        self.population.oracle = copy.copy(self.population.oracle)
        self.population.oracle.asker = copy.copy(self.population.oracle.asker)

    @property
    def asker(self) -> Asker:
        """The asker; nothing stands in for the model in an estimate."""
        assert isinstance(self.population.oracle.asker, Asker)
        return self.population.oracle.asker

    def __call__(self, shard: int, seconds: float | None, report: Report | None) -> JudgedShard | None:
        """Judge a shard; None if it was stopped."""
        noting: AbstractContextManager[list[Call]] = recorded(self.asker) if self.keeps_calls else nullcontext([])
        before, inputs = self.asker.n_queries, self.inputs(shard)
        with noting as calls, self.population.quiet():
            batch = self.population.judged(inputs, self.sets)
        n_queries = self.asker.n_queries - before
        if report is not None and report(Counts(0, len(inputs), n_queries)):
            return None
        return JudgedShard(batch, n_queries, calls)

    def inputs(self, shard: int) -> Any:
        """The inputs of a shard, as codes or as a frame."""
        population = self.population
        return population.enumerated(shard) if self.is_enumerated else population.shard(shard, self.n, self.seed)

    @property
    def n_shards(self) -> int:
        """The number of shards."""
        return self.population.n_enumerated if self.is_enumerated else self.population.n_shards(self.n)


class KeptAnswers:
    """Keeps the results of shards for an engine, as the answers of the model."""

    def __init__(self, log: AnswerLog, task: JudgingTask) -> None:
        self._log = log
        self._task = replace(task, keeps_calls=False)

    def load(self, shard: int) -> JudgedShard | None:
        """Judge a shard by the answers in the log; None if they are not all there."""
        calls = self._log.load(shard)
        if calls is None:
            return None
        try:
            with recalled(self._task.asker, calls):
                return self._task(shard, None, None)
        except NotKeptError:
            return None

    def save(self, shard: int, result: JudgedShard | None) -> None:
        """Keep the calls of a shard that was not stopped."""
        if result is not None:
            self._log.save(shard, result.calls)


def judged_shards(
    task: JudgingTask,
    n_jobs: int,
    engine: str | None,
    foreseen: Callable[[list[Counts]], float],
    log: AnswerLog | None = None,
) -> Iterator[JudgedShard | LostInputs]:
    """The results of all shards in order, with what is lost in its place."""
    kept = None if log is None else KeptAnswers(log, task)
    running = make_engine(task, n_jobs, kept=kept, engine=engine, n_shards=task.n_shards, foreseen=foreseen)
    try:
        for result in running.results():
            if isinstance(result, Skipped):
                yield LostInputs(len(task.inputs(result.shard)), result.words())
            elif result is None:
                return
            else:
                yield result
    finally:
        running.close()
