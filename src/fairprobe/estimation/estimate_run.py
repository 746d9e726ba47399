"""The run of an estimate: it judges a population, and counts hits for some sets of sensitive parameters.

The inputs are judged in shards, by this process or by others. A shard is a function of its number, the population, the
number of inputs and the seed. The result therefore depends neither on the process nor on the order of the shards.

An estimate may be stored in a folder, with the model's answers and the settings by which the folder is recognised. The
number of experiments and the requested width are not among these settings, because an estimate that continues further
asks the same questions first.
"""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from fairprobe.blocks import Remark
from fairprobe.checks import checked_seed
from fairprobe.clock import Clock
from fairprobe.engine.base import Counts, Report, Skipped, checked_engine, checked_jobs, make_engine
from fairprobe.engine.interrupts import terminable
from fairprobe.errors import DomainError, RunError, SettingError
from fairprobe.estimation.bounds import intervals
from fairprobe.estimation.bounds.sequence import ConfidenceSequence
from fairprobe.estimation.exact import NotSolved, Solved, solve
from fairprobe.estimation.favourable import favourable_of
from fairprobe.estimation.populations import Answered, JudgedFamilies, Population
from fairprobe.estimation.share import Share
from fairprobe.estimation.survey import Survey
from fairprobe.model.tables import N_RANDOM
from fairprobe.progress import Status, teller
from fairprobe.store import digests
from fairprobe.store.answers import AnswerLog, Call, Canaries, NotKeptError, recalled, recorded
from fairprobe.store.run_folder import StoredRun, recorded_settings
from fairprobe.wording import magnitude, percent

if TYPE_CHECKING:
    from fairprobe.estimation.estimation import EstimateSettings

LOOK_SECONDS = 0.3
"""Seconds that a run must have taken before its remaining time is predicted; chosen."""

FIGURES = ("sensitive", "linked", "n", "hits", "method", "confidence", "n_queries", "value", "low", "high")
"""Names of the figures of a share that are stored at the end of a run."""


class JudgedShard(NamedTuple):
    """The judged inputs of one shard, with the queries that they took."""

    batch: JudgedFamilies
    n_queries: int
    """Number of rows that the model was asked about for this shard."""
    calls: list[Call]
    """For each call of the model, a checksum of the input and the answers; empty if the estimate is not stored."""


@dataclass
class JudgingTask:
    """Callable that judges the shard with a given number, for an engine; its copy of the asker has its own count."""

    population: Population
    n: int | None
    """Number of inputs of a drawn population; None to judge an input of every family of the domain."""
    seed: int
    sets: Sequence[tuple[str, ...]]
    keeps_calls: bool = False
    known: Mapping[int, Answered] = field(default_factory=dict)
    """Answers about members that another kind of twins has too, by number of the shard."""

    def __post_init__(self) -> None:
        self.population = copy.copy(self.population)
        self.population.oracle = copy.copy(self.population.oracle)
        self.population.oracle.asker = self.asker = copy.copy(self.population.asker)

    def __call__(self, shard: int, seconds: float | None, report: Report | None) -> JudgedShard | None:
        """Judge the inputs of the shard with number `shard`; None if `report` says to stop.

        The result has the number of rows asked about and, if they are kept, the calls of the model. `seconds` has no
        effect.
        """
        noting: AbstractContextManager[list[Call]] = recorded(self.asker) if self.keeps_calls else nullcontext([])
        before, inputs = self.asker.n_queries, self.population.shard(shard, self.n, self.seed)
        with noting as calls, self.population.quiet():
            batch = self.population.judged(inputs, self.sets, self.known.get(shard))
        n_queries = self.asker.n_queries - before
        is_stopped = report is not None and report(Counts(0, len(inputs), n_queries))
        return None if is_stopped else JudgedShard(batch, n_queries, calls)


class KeptAnswers:
    """Store of shards for an engine: it keeps the model's answers, and judges a shard again by them."""

    def __init__(self, log: AnswerLog, task: JudgingTask) -> None:
        self._log = log
        self._task = replace(task, keeps_calls=False)

    def load(self, shard: int) -> JudgedShard | None:
        """Return a shard judged by stored answers alone, without the model; None if some answers are missing."""
        calls = self._log.load(shard)
        if calls is None:
            return None
        try:
            with recalled(self._task.asker, calls):
                return self._task(shard, None, None)
        except NotKeptError:
            return None

    def save(self, shard: int, result: JudgedShard | None) -> None:
        """Store the model's answers of a judged shard; None, for a stopped shard, is ignored."""
        if result is not None:
            self._log.save(shard, result.calls)


class EstimateRun:
    """One call of `estimate` or `breakdown`: it counts a population for one or more sets of sensitive parameters."""

    def __init__(
        self,
        population: Population,
        sets: Sequence[tuple[str, ...]],
        settings: EstimateSettings,
        log: AnswerLog | None = None,
        known: Mapping[int, Answered] | None = None,
    ) -> None:
        if population.density is not None:
            if settings.method == "exact":
                raise SettingError.about("method", "must be auto or sample for a density, got 'exact'")
            settings = settings.but(method="sample")  # only what is uniform can be counted or solved
        self.population = population
        self.log = log
        self.known = known or {}
        self.answered: dict[int, Answered] = {}
        """Answers by shard that serve plain twins too, if this run compares linked twins and `known` is a dict."""
        is_same = population.rows is not None or population.density is not None  # the same inputs for either twins
        self._keeps = known is not None and is_same and bool(population.domain.links)
        self.settings = settings
        self.progress = teller(settings.progress)
        self.clock = Clock()
        self.plan = settings.plan(population.domain, None if population.rows is None else len(population.rows))
        n_sequences = len(sets) if self.plan.how == "sequential" else 0
        self.sequences = [ConfidenceSequence(settings.confidence) for _ in range(n_sequences)]
        seed = checked_seed(settings.seed)
        self.survey = Survey(
            population, sets, settings.confidence, seed, settings.n_samples, settings.favourable, settings.rows_are
        )

    def shares(self) -> list[Share]:
        """Count or solve the population, and return a share for each set of sensitive parameters, in their order."""
        how, survey, population = self.plan.how, self.survey, self.population
        if how == "enumerate":
            return self._enumerated()
        if how != "rows" and self.settings.method != "sample":
            solved = self._solved()
            if solved is not None:
                return solved
        if population.density is not None:
            survey.health += population.density.health
        self._count()
        return survey.shares(how, [(each.low, each.high) for each in self.sequences] or None, self._not_tight())

    def _enumerated(self) -> list[Share]:
        survey, size = self.survey, self.population.domain.size
        survey.detail = f"all {size:,} inputs of the domain were looked at"
        self._count()
        if not survey.counts[0].n + survey.counts[0].n_not_comparable:
            raise DomainError(f"the constraints must allow an input, got none of {size:,}: loosen them")
        return survey.shares("exact")

    def _solved(self) -> list[Share] | None:
        """Return exact shares, computed from the model's structure; None if that fails or would take too many steps.

        The reason for None is recorded as the shares' `detail`.
        """
        domain, settings, survey, asker = self.population.domain, self.settings, self.survey, self.population.asker
        if asker.output != "label":
            limit = f"over the {settings.exact_limit:,} that are enumerated"
            if domain.size <= settings.exact_limit:
                limit = f"and {settings.n:,} sampled with their twins are fewer"
            self._not_solved(f"the domain has {magnitude(domain.size)} inputs, {limit}")
            return None
        found: list[Solved] = []
        for count in survey.counts:
            part = domain.with_sensitive(count.sensitive)
            solved = solve(self.population.model, part, quickly=settings.method == "auto")
            if isinstance(solved, NotSolved):
                asker.n_queries += solved.n_queries + sum(each.n_queries for each in found)
                self._not_solved(solved.reason, is_contradicted=solved.contradicts)
                return None
            found.append(solved)
        most = percent(1 - (1 - settings.confidence) ** (1 / N_RANDOM))
        survey.detail = (
            f"solved for the model's {found[0].method}; the model agreed on all of {N_RANDOM} random families, so "
            f"with {percent(settings.confidence)} confidence it answers otherwise on fewer than {most}"
        )
        for count, each in zip(survey.counts, found, strict=True):
            count.n, count.hits = domain.size, each.hits
            by_label = each.by_label.items()
            count.by_outcome = Counter({(place, label): n for label, by in by_label for place, n in enumerate(by)})
        shares = zip(survey.shares("exact"), found, strict=True)
        return [replace(share, n_queries=each.n_queries) for share, each in shares]

    def _not_solved(self, why: str, *, is_contradicted: bool = False) -> None:
        """Record why there is no exact share, as the shares' `detail`.

        A remark states it too if method="exact" was requested or the model contradicts its own structure.
        """
        self.survey.detail = why
        if self.settings.method == "exact" or is_contradicted:
            self.survey.health.append(Remark("not-exact", f"{why}; sampled instead"))

    # Judging and counting

    def _count(self) -> None:
        """Judge and count the whole population; a sequential sample, until the goal is reached or the time is over."""
        # What is not sequential is not ended by time: its interval holds only for the number fixed beforehand.
        settings, clock = self.settings, Clock(self.settings.max_seconds)
        has_goal = settings.width is not None or settings.max_share is not None
        for batch in self._judged():
            hits = self.survey.add(batch)
            for sequence, mine in zip(self.sequences, hits, strict=False):
                sequence.update(int(mine.sum()), len(mine))
            if self.progress is not None:
                self.progress(self._status())
            if self.sequences and (clock.is_over or (has_goal and not list(self._not_tight()))):
                return

    def _judged(self) -> Iterator[JudgedFamilies]:
        """Yield the judged batches in order, from this process or from workers; lost shards are noted and skipped."""
        settings, population, is_enumerated = self.settings, self.population, self.plan.how == "enumerate"
        n, sets = None if is_enumerated else settings.n, [count.sensitive for count in self.survey.counts]
        task = JudgingTask(population, n, self.survey.seed, sets, self.log is not None, self.known)
        running = make_engine(
            task,
            checked_jobs(settings.n_jobs),
            kept=None if self.log is None else KeptAnswers(self.log, task),
            engine=settings.engine,
            n_shards=population.n_shards(n),
            foreseen=self._foreseen,
        )
        try:
            for shard, result in enumerate(running.results()):
                if result is None:
                    return
                if isinstance(result, Skipped):
                    self._lose(len(population.shard(result.shard, n, self.survey.seed)), result.words())
                    continue
                population.asker.n_queries += result.n_queries
                if self._keeps:
                    inputs = None if population.rows is not None else population.shard(shard, n, self.survey.seed)
                    self.answered[shard] = Answered.of(result.batch, population.oracle, inputs)
                yield from population.as_each_member(result.batch) if is_enumerated else [result.batch]
        finally:
            running.close()

    def _lose(self, n: int, why: str) -> None:
        """Count `n` inputs of a shard that kept failing as lost; an exact share, which needs all inputs, fails."""
        if self.plan.how == "enumerate":
            raise RunError(f"an exact share needs every input, got {n:,} families without an answer: {why}")
        self.survey.lose(n, why)
        for sequence in self.sequences:
            sequence.lose(n)

    def _foreseen(self, under_way: list[Counts]) -> float:
        """Return the predicted remaining seconds: 0 before one is possible, infinite for a sequential sample."""
        seconds = self.clock.seconds
        n = self.survey.counts[-1].n + sum(counts.n_judged for counts in under_way)
        if seconds < LOOK_SECONDS or not n:
            return 0.0
        return math.inf if self.sequences else seconds * (self.plan.n_inputs / n - 1)

    def _status(self) -> Status:
        """Return the progress to show: the share of the last set of sensitive parameters so far, with its interval."""
        count = self.survey.counts[-1]
        low, high = intervals.clopper_pearson(count.hits, count.n, self.settings.confidence)
        if self.sequences:
            low, high = self.sequences[-1].low, self.sequences[-1].high
        text = f"{percent(count.value)}, between {percent(low)} and {percent(high)} after {count.n:,} inputs"
        done = None if self.sequences else count.n / self.plan.n_inputs
        return Status(text, {"n": count.n, "hits": count.hits, "low": low, "high": high}, done)

    def _not_tight(self) -> Iterator[Remark]:
        """Yield remarks if an interval is wider than `width`, or does not show if the share is above `max_share`."""
        width, limit = self.settings.width, self.settings.max_share
        if width is not None and any(each.high - each.low > width for each in self.sequences):
            text = f"the interval is still wider than the {percent(width)} asked for"
            yield Remark("wide-interval", f"after {self.sequences[0].n:,} inputs {text}")
        if limit is not None and not all(each.settles(limit) for each in self.sequences):
            text = f"it is still open whether the share is above {percent(limit)}"
            yield Remark("not-settled", f"after {self.sequences[0].n:,} inputs {text}")


# Stored in a folder


def stored_shares(
    targets: Sequence[Population], sets: Sequence[tuple[str, ...]], settings: EstimateSettings
) -> list[list[Share]]:
    """Return, for each population, a list with a share for each set of sensitive parameters.

    With `settings.store`, a folder, the model is not asked again for answers that are stored there.
    """
    settings = settings.but(favourable=favourable_of(settings.favourable, targets))
    store, model_id, first = settings.store, digests.checked_id(settings.model_id, settings.store), targets[0]
    checked_engine(settings.engine, checked_jobs(settings.n_jobs))
    if store is None:
        return _shares_in_turn(targets, [None] * len(targets), sets, settings)
    seed = checked_seed(recorded_settings(store).get("seed") if settings.seed is None else settings.seed)
    settings = settings.but(seed=seed)
    asked = {"sets": [list(names) for names in sets], "seed": seed, "method": settings.method}
    with terminable(), StoredRun.opened(store, "estimate", identity_of(targets, asked, model_id)) as run:
        canaries = Canaries(run, first.asker, first.rows, first.oracle.resolution)
        logs = [AnswerLog(run, "linked-" if target.domain.links else "") for target in targets]
        found = _shares_in_turn(targets, logs, sets, settings)
        canaries.check()
        figures = [share.jsonable() for shares in found for share in shares]
        run.note(end={"shares": [{name: each[name] for name in FIGURES} for each in figures]})
    return [[replace(share, health=(*run.remarks, *share.health)) for share in shares] for shares in found]


def _shares_in_turn(
    targets: Sequence[Population],
    logs: Sequence[AnswerLog | None],
    sets: Sequence[tuple[str, ...]],
    settings: EstimateSettings,
) -> list[list[Share]]:
    """Return the shares of each population; members that linked and plain twins have in common are asked about once."""
    shares, known = [], dict[int, Answered]()
    for target, log in zip(targets, logs, strict=True):
        run = EstimateRun(target, sets, settings, log, known if len(targets) > 1 else None)
        shares.append(run.shares())
        known = run.answered
    return shares


def identity_of(targets: Sequence[Population], settings: dict[str, Any], model_id: str | None) -> dict[str, Any]:
    """Return the values by which a stored estimate is recognised: all that the model's answers depend on.

    The number of inputs is left out, so that the estimate may continue with more.
    """
    first = targets[0]
    return {
        "model": digests.of_model(first.model, model_id),
        "data": {
            "rows": None if first.rows is None else digests.hash_of_data(first.rows),
            "weights": None if first.weights is None else digests.digest(first.weights.tolist()),
            "groups": None if first.groups is None else digests.digest(first.groups.tolist()),
            "density": digests.of_density(first.density),
        },
        "settings": {
            **settings,
            "population": first.name,
            "compared": ["linked" if target.domain.links else "plain" for target in targets],
            "output": first.asker.output,
            "threshold": first.oracle.threshold,
            "batch": first.batch,
        },
        "domain": digests.of_domain(first.domain),
    }
