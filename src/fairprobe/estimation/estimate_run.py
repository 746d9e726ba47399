"""The run of an estimate: a population is counted for some sets of sensitive parameters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from fairprobe.blocks import Remark
from fairprobe.checks import checked_seed
from fairprobe.clock import Clock
from fairprobe.domain.health import health_of_domain
from fairprobe.engine import Counts, checked_engine, checked_jobs
from fairprobe.engine.interrupts import terminable
from fairprobe.errors import DomainError, RunError, SettingError
from fairprobe.estimation.bounds import intervals
from fairprobe.estimation.bounds.sequence import ConfidenceSequence
from fairprobe.estimation.counts import outcome_table
from fairprobe.estimation.exact import Solved, solve
from fairprobe.estimation.favourable import favourable_of
from fairprobe.estimation.populations import JudgedFamilies, Population
from fairprobe.estimation.settings import Settings
from fairprobe.estimation.shards import JudgedShard, JudgingTask, LostInputs, judged_shards
from fairprobe.estimation.share import Share
from fairprobe.estimation.stored_estimate import StoredEstimate
from fairprobe.estimation.survey import Survey
from fairprobe.model.tables import N_RANDOM
from fairprobe.progress import Status, teller
from fairprobe.store.answer_log import AnswerLog
from fairprobe.store.identity import checked_id
from fairprobe.store.run_folder import recorded_settings
from fairprobe.wording import magnitude, percent

LOOK_SECONDS = 0.3
"""Seconds after which it is foreseen how long a run will take; chosen."""


def stored_shares(
    targets: Sequence[Population], sets: Sequence[tuple[str, ...]], settings: Settings
) -> list[list[Share]]:
    """The shares of each target by set; with a store, what the model was asked before is not asked again."""
    settings = replace(settings, favourable=favourable_of(settings.favourable, targets))
    store, model_id = settings.store, checked_id(settings.model_id, settings.store)
    checked_engine(settings.engine, checked_jobs(settings.n_jobs))
    if store is None:
        return [EstimateRun(target, sets, settings).shares() for target in targets]
    seed = recorded_settings(store).get("seed") if settings.seed is None else settings.seed
    settings = replace(settings, seed=checked_seed(seed))
    with terminable(), StoredEstimate.opened(store, targets, sets, settings.seed, settings.method, model_id) as kept:
        return kept.ended([EstimateRun(target, sets, settings, kept.answers(target)).shares() for target in targets])


class EstimateRun:
    """One call: a population, counted for one or more sets of sensitive parameters."""

    def __init__(
        self,
        population: Population,
        sets: Sequence[tuple[str, ...]],
        settings: Settings,
        log: AnswerLog | None = None,
    ) -> None:
        self.population = population
        self.log = log
        if population.density is not None:
            if settings.method == "exact":
                raise SettingError.about("method", "must be auto or sample for a density, got 'exact'")
            settings = replace(settings, method="sample")  # only what is uniform can be counted or solved
        self.settings = settings
        self.sets = sets
        self.progress = teller(settings.progress)
        self.clock = Clock()
        self.is_contradicted = False
        """True once the model was found to answer otherwise than its own structure says."""
        n_rows = None if population.rows is None else len(population.rows)
        self.plan = settings.plan(population.domain, n_rows, population.oracle.asker.output)
        seed, n_samples = checked_seed(settings.seed), settings.n_samples
        self.survey = Survey(
            population,
            sets,
            settings.confidence,
            seed,
            n_samples=n_samples,
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
            if self.settings.method == "exact" or self.is_contradicted:
                survey.health.append(Remark("not-exact", f"{survey.detail}; sampled instead"))
        if self.population.density is not None:
            survey.health += self.population.density.health
        elif how != "rows":
            survey.health += health_of_domain(self.population.domain)
        sequences = [ConfidenceSequence(self.settings.confidence) for _ in self.sets] if how == "sequential" else []
        self._count(self._judged(), sequences)
        if not sequences:
            return survey.shares(how)
        return survey.shares(how, [(each.low, each.high) for each in sequences], self._not_tight(sequences))

    def _judged(self, *, is_enumerated: bool = False) -> Iterator[JudgedFamilies | LostInputs]:
        """The batches of families, judged here or by workers, with what is lost in its place."""
        population, settings = self.population, self.settings
        keeps_calls = self.log is not None
        task = JudgingTask(population, settings.n, self.survey.seed, self.sets, is_enumerated, keeps_calls)
        n_jobs = checked_jobs(settings.n_jobs)
        for result in judged_shards(task, n_jobs, settings.engine, self._foreseen, self.log):
            if isinstance(result, JudgedShard):
                population.oracle.asker.n_queries += result.n_queries
                yield result.batch
            else:
                yield result

    def _foreseen(self, under_way: list[Counts]) -> float:
        """Seconds that are left, if the run goes on as it began; not known for a run that stops when tight."""
        seconds = self.clock.seconds
        n = self.survey.counts[-1].n + sum(counts.n_judged for counts in under_way)
        if seconds < LOOK_SECONDS or not n:
            return 0.0
        return math.inf if self.plan.how == "sequential" else seconds * (self.plan.n_inputs / n - 1)

    def _count(
        self, families: Iterable[JudgedFamilies | LostInputs], sequences: Sequence[ConfidenceSequence] = ()
    ) -> None:
        """Count all families or, with sequences, until these are tight or the time is over."""
        settings = self.settings
        # What is not sequential is not ended by time: its interval holds only for the number fixed beforehand.
        clock = Clock(settings.max_seconds)
        for batch in families:
            if isinstance(batch, LostInputs):
                self.survey.lose(batch.n, batch.why)
                for sequence in sequences:
                    sequence.lose(batch.n)
                continue
            hits = self.survey.add(batch)
            for sequence, mine in zip(sequences, hits, strict=False):
                sequence.update(int(mine.sum()), len(mine))
            if self.progress is not None:
                self.progress(self._status(sequences))
            if sequences and (all(map(settings.is_tight, sequences)) or clock.is_over):
                return

    def _status(self, sequences: Sequence[ConfidenceSequence]) -> Status:
        """The progress of the last set."""
        count = self.survey.counts[-1]
        low, high = intervals.clopper_pearson(count.hits, count.n, self.settings.confidence)
        if sequences:
            low, high = sequences[-1].low, sequences[-1].high
        text = f"{percent(count.value)}, between {percent(low)} and {percent(high)} after {count.n:,} inputs"
        done = None if sequences else count.n / self.plan.n_inputs
        return Status(text, {"n": count.n, "hits": count.hits, "low": low, "high": high}, done)

    def _not_tight(self, sequences: Sequence[ConfidenceSequence]) -> Iterator[Remark]:
        """Remarks on a width or a limit that was asked for and not reached."""
        n, width, limit = sequences[0].n, self.settings.width, self.settings.max_share
        if width is not None and any(sequence.high - sequence.low > width for sequence in sequences):
            yield Remark(
                "wide-interval", f"after {n:,} inputs the interval is still wider than the {percent(width)} asked for"
            )
        if limit is not None and not all(sequence.settles(limit) for sequence in sequences):
            yield Remark(
                "not-settled", f"after {n:,} inputs it is still open whether the share is above {percent(limit)}"
            )

    def _enumerated(self) -> list[Share]:
        survey, size = self.survey, self.population.domain.size
        survey.detail = f"all {size:,} inputs of the domain were looked at"
        families = self._judged(is_enumerated=True)
        self._count(each for batch in families for each in self._as_each_member(batch))
        if not survey.counts[0].n + survey.counts[0].n_not_comparable:
            raise DomainError(f"the constraints must allow an input, got none of {size:,}: loosen them")
        bounds = [(count.value, count.value) if count.n else (0.0, 1.0) for count in survey.counts]
        return survey.shares("exact", bounds)

    def _as_each_member(self, batch: JudgedFamilies | LostInputs) -> Iterator[JudgedFamilies]:
        if isinstance(batch, LostInputs):
            raise RunError(f"an exact share needs every input, got {batch.n:,} families without an answer: {batch.why}")
        return self.population.as_each_member(batch)

    def _solved(self) -> list[Share] | None:
        """The shares read from the model's own structure; None if it cannot be solved, or not as fast as sampled."""
        domain, settings, survey = self.population.domain, self.settings, self.survey
        if self.population.oracle.asker.output != "label":
            limit = f"over the {settings.exact_limit:,} that are enumerated"
            if domain.size <= settings.exact_limit:
                limit = f"and {settings.n:,} sampled with their twins are fewer"
            survey.detail = f"the domain has {magnitude(domain.size)} inputs, {limit}"
            return None
        n_rows = settings.rows_foreseen(domain) if settings.method == "auto" else math.inf
        shares: list[Share] = []
        for part in [domain.with_sensitive(names) for names in self.sets]:
            solved = solve(self.population.model, part, n_rows=n_rows)
            if not isinstance(solved, Solved):
                survey.detail, self.is_contradicted = solved.reason, solved.contradicts
                self.population.oracle.asker.n_queries += solved.n_queries + sum(share.n_queries for share in shares)
                return None
            most = percent(1 - (1 - settings.confidence) ** (1 / N_RANDOM))
            survey.detail = (
                f"solved for the model's {solved.method}; the model agreed on all of {N_RANDOM} random families, so "
                f"with {percent(settings.confidence)} confidence it answers otherwise on fewer than {most}"
            )
            value = float(solved.share) if solved.n else math.nan
            bounds = (value, value) if solved.n else (0.0, 1.0)
            outcomes = {
                (place, label): n for label, counts in solved.by_label.items() for place, n in enumerate(counts)
            }
            share = survey.make(
                value,
                bounds,
                bounds,
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
