"""The run of an estimate: a population is counted for some sets of sensitive parameters.

Its inputs are judged in shards, by this process or by others. A shard is a function of its number, the population, the
number of inputs and the seed, so the result depends neither on who judged it nor on which shards were judged before.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from fairprobe.blocks import Remark
from fairprobe.checks import checked_seed
from fairprobe.clock import Clock
from fairprobe.domain.health import health_of_domain
from fairprobe.engine.base import Counts, Report, Skipped, checked_jobs, make_engine
from fairprobe.errors import DomainError, RunError, SettingError
from fairprobe.estimation.bounds import intervals
from fairprobe.estimation.bounds.sequence import ConfidenceSequence
from fairprobe.estimation.counts import outcome_table
from fairprobe.estimation.exact import NotSolved, solve
from fairprobe.estimation.populations import JudgedFamilies, Population
from fairprobe.estimation.settings import Settings
from fairprobe.estimation.share import Share
from fairprobe.estimation.survey import Survey
from fairprobe.model.tables import N_RANDOM
from fairprobe.progress import Status, teller
from fairprobe.store.answers import AnswerLog, Call, NotKeptError, recalled, recorded
from fairprobe.wording import magnitude, percent

LOOK_SECONDS = 0.3
"""Seconds after which it is foreseen how long a run will take; chosen."""


@dataclass(frozen=True)
class JudgedShard:
    """The result of one shard."""

    batch: JudgedFamilies
    n_queries: int
    """Rows that the model was asked about."""
    calls: list[Call]
    """The calls of the model with its answers; empty where they are not kept."""


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
        self.population.oracle.asker = self.asker = copy.copy(self.population.asker)

    def __call__(self, shard: int, seconds: float | None, report: Report | None) -> JudgedShard | None:
        """Judge a shard; None if it was stopped."""
        noting: AbstractContextManager[list[Call]] = recorded(self.asker) if self.keeps_calls else nullcontext([])
        before, inputs = self.asker.n_queries, self.inputs(shard)
        with noting as calls, self.population.quiet():
            batch = self.population.judged(inputs, self.sets)
        n_queries = self.asker.n_queries - before
        is_stopped = report is not None and report(Counts(0, len(inputs), n_queries))
        return None if is_stopped else JudgedShard(batch, n_queries, calls)

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


class EstimateRun:
    """One call: a population, counted for one or more sets of sensitive parameters."""

    def __init__(
        self,
        population: Population,
        sets: Sequence[tuple[str, ...]],
        settings: Settings,
        log: AnswerLog | None = None,
    ) -> None:
        if population.density is not None:
            if settings.method == "exact":
                raise SettingError.about("method", "must be auto or sample for a density, got 'exact'")
            settings = replace(settings, method="sample")  # only what is uniform can be counted or solved
        self.population = population
        self.log = log
        self.settings = settings
        self.sets = sets
        self.progress = teller(settings.progress)
        self.clock = Clock()
        n_rows = None if population.rows is None else len(population.rows)
        self.plan = settings.plan(population.domain, n_rows)
        n_sequences = len(sets) if self.plan.how == "sequential" else 0
        self.sequences = [ConfidenceSequence(settings.confidence) for _ in range(n_sequences)]
        self.survey = Survey(
            population,
            sets,
            settings.confidence,
            checked_seed(settings.seed),
            n_samples=settings.n_samples,
            favourable=settings.favourable,
            rows_are=settings.rows_are,
        )

    def shares(self) -> list[Share]:
        """A share for each set, in their order."""
        how, survey = self.plan.how, self.survey
        if how == "enumerate":
            return self._enumerated()
        if how != "rows" and self.settings.method != "sample":
            solved = self._solved()
            if solved is not None:
                return solved
        if self.population.density is not None:
            survey.health += self.population.density.health
        elif how != "rows":
            survey.health += health_of_domain(self.population.domain)
        self._count(self._judged())
        bounds = [(each.low, each.high) for each in self.sequences]
        return survey.shares(how, bounds or None, self._not_tight())

    def _judged(self, *, is_enumerated: bool = False) -> Iterator[JudgedFamilies]:
        """The batches of families, judged here or by workers."""
        settings = self.settings
        task = JudgingTask(
            self.population, settings.n, self.survey.seed, self.sets, is_enumerated, keeps_calls=self.log is not None
        )
        running = make_engine(
            task,
            checked_jobs(settings.n_jobs),
            kept=None if self.log is None else KeptAnswers(self.log, task),
            engine=settings.engine,
            n_shards=task.n_shards,
            foreseen=self._foreseen,
        )
        try:
            for result in running.results():
                if result is None:
                    return
                if isinstance(result, Skipped):
                    self._lose(len(task.inputs(result.shard)), result.words())
                    continue
                self.population.asker.n_queries += result.n_queries
                yield result.batch
        finally:
            running.close()

    def _lose(self, n: int, why: str) -> None:
        """Go on without the inputs of a shard that kept failing."""
        if self.plan.how == "enumerate":
            raise RunError(f"an exact share needs every input, got {n:,} families without an answer: {why}")
        self.survey.lose(n, why)
        for sequence in self.sequences:
            sequence.lose(n)

    def _foreseen(self, under_way: list[Counts]) -> float:
        """Seconds that are left, if the run goes on as it began; not known for a run that stops when tight."""
        seconds = self.clock.seconds
        n = self.survey.counts[-1].n + sum(counts.n_judged for counts in under_way)
        if seconds < LOOK_SECONDS or not n:
            return 0.0
        return math.inf if self.sequences else seconds * (self.plan.n_inputs / n - 1)

    def _count(self, families: Iterable[JudgedFamilies]) -> None:
        """Count all families or, with sequences, until these are tight or the time is over."""
        # What is not sequential is not ended by time: its interval holds only for the number fixed beforehand.
        clock = Clock(self.settings.max_seconds)
        for batch in families:
            hits = self.survey.add(batch)
            for sequence, mine in zip(self.sequences, hits, strict=False):
                sequence.update(int(mine.sum()), len(mine))
            if self.progress is not None:
                self.progress(self._status())
            if self.sequences and (all(map(self.settings.is_tight, self.sequences)) or clock.is_over):
                return

    def _status(self) -> Status:
        """The progress of the last set."""
        count = self.survey.counts[-1]
        low, high = intervals.clopper_pearson(count.hits, count.n, self.settings.confidence)
        if self.sequences:
            low, high = self.sequences[-1].low, self.sequences[-1].high
        text = f"{percent(count.value)}, between {percent(low)} and {percent(high)} after {count.n:,} inputs"
        done = None if self.sequences else count.n / self.plan.n_inputs
        return Status(text, {"n": count.n, "hits": count.hits, "low": low, "high": high}, done)

    def _not_tight(self) -> Iterator[Remark]:
        """Remarks on a width or a limit that was asked for and not reached."""
        if not self.sequences:
            return
        n, width, limit = self.sequences[0].n, self.settings.width, self.settings.max_share
        if width is not None and any(sequence.high - sequence.low > width for sequence in self.sequences):
            yield Remark(
                "wide-interval", f"after {n:,} inputs the interval is still wider than the {percent(width)} asked for"
            )
        if limit is not None and not all(sequence.settles(limit) for sequence in self.sequences):
            yield Remark(
                "not-settled", f"after {n:,} inputs it is still open whether the share is above {percent(limit)}"
            )

    def _enumerated(self) -> list[Share]:
        survey, size = self.survey, self.population.domain.size
        survey.detail = f"all {size:,} inputs of the domain were looked at"
        families = self._judged(is_enumerated=True)
        self._count(each for batch in families for each in self.population.as_each_member(batch))
        if not survey.counts[0].n + survey.counts[0].n_not_comparable:
            raise DomainError(f"the constraints must allow an input, got none of {size:,}: loosen them")
        bounds = [(count.value, count.value) if count.n else (0.0, 1.0) for count in survey.counts]
        return survey.shares("exact", bounds)

    def _solved(self) -> list[Share] | None:
        """The shares read from the model's own structure; None if it cannot be solved, or not as fast as sampled."""
        domain, settings, survey = self.population.domain, self.settings, self.survey
        if self.population.asker.output != "label":
            limit = f"over the {settings.exact_limit:,} that are enumerated"
            if domain.size <= settings.exact_limit:
                limit = f"and {settings.n:,} sampled with their twins are fewer"
            self._not_solved(f"the domain has {magnitude(domain.size)} inputs, {limit}")
            return None
        n_rows = settings.rows_foreseen(domain) if settings.method == "auto" else math.inf
        shares: list[Share] = []
        for part in [domain.with_sensitive(names) for names in self.sets]:
            solved = solve(self.population.model, part, n_rows=n_rows)
            if isinstance(solved, NotSolved):
                self.population.asker.n_queries += solved.n_queries + sum(share.n_queries for share in shares)
                self._not_solved(solved.reason, is_contradicted=solved.contradicts)
                return None
            most = percent(1 - (1 - settings.confidence) ** (1 / N_RANDOM))
            survey.detail = (
                f"solved for the model's {solved.method}; the model agreed on all of {N_RANDOM} random families, so "
                f"with {percent(settings.confidence)} confidence it answers otherwise on fewer than {most}"
            )
            value = float(solved.share) if solved.n else math.nan
            by_label = solved.by_label.items()
            outcomes = {(place, label): n for label, counts in by_label for place, n in enumerate(counts)}
            share = survey.make(
                value,
                (value, value) if solved.n else (0.0, 1.0),
                n=solved.n,
                n_not_comparable=solved.n_not_comparable,
                hits=solved.hits,
                method="exact",
                sensitive=part.sensitive,
                n_queries=solved.n_queries,
                outcomes=outcome_table(part, outcomes) if solved.hits else None,
            )
            shares.append(share)
        return shares

    def _not_solved(self, why: str, *, is_contradicted: bool = False) -> None:
        """Note the reason; a remark says it where an exact share was asked for, or the model contradicts its class."""
        self.survey.detail = why
        if self.settings.method == "exact" or is_contradicted:
            self.survey.health.append(Remark("not-exact", f"{why}; sampled instead"))
