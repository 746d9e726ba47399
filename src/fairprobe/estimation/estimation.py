"""`estimate`: how common discriminatory inputs are in a population; `plan`: what it would take to know."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from fairprobe.blocks import Remark
from fairprobe.checks import checked_count, checked_seed, is_number
from fairprobe.domain.domain import Domain
from fairprobe.domain.health import health_of_domain
from fairprobe.engine import Counts, checked_engine, checked_jobs
from fairprobe.engine.interrupts import terminable
from fairprobe.errors import DomainError, RunError, SettingError
from fairprobe.estimation.bounds import intervals
from fairprobe.estimation.bounds.sequence import ConfidenceSequence
from fairprobe.estimation.exact import Solved, solve
from fairprobe.estimation.favourable import favourable_of
from fairprobe.estimation.populations import (
    JudgedFamilies,
    Population,
    bound,
    judged_rows,
    sides_of,
)
from fairprobe.estimation.share import Share, checked_role
from fairprobe.estimation.spread import JudgingTask, LostInputs, Workers, spread_families
from fairprobe.estimation.stored_estimate import StoredEstimate
from fairprobe.estimation.survey import Count, Survey, beside, n_bound, outcome_table, split_confidence, warn_of
from fairprobe.model import Model
from fairprobe.model.measuring import measured
from fairprobe.model.tables import N_RANDOM
from fairprobe.oracle import ROWS_A_CALL
from fairprobe.progress import Progress, Status, teller
from fairprobe.store.answer_log import AnswerLog
from fairprobe.store.identity import checked_id
from fairprobe.store.run_folder import recorded_settings
from fairprobe.wording import magnitude, percent

if TYPE_CHECKING:
    import pandas as pd

N_EXPERIMENTS = 400
LOOK_SECONDS = 0.3
"""After so long it is foreseen how long a run will take."""

EXACT_LIMIT = 2_000_000
MOST_EXPERIMENTS = 100_000
"""What a run that stops when tight takes at most, so that a share at the very limit does not keep it for ever."""


def estimate(
    model: Model,
    domain: Domain,
    population: str | pd.DataFrame | Any = "domain",
    *,
    n_experiments: int | None = None,
    n_samples: int = 1000,
    confidence: float = 0.95,
    method: str = "auto",
    exact_limit: int = EXACT_LIMIT,
    width: float | None = None,
    max_share: float | None = None,
    max_seconds: float | None = None,
    threshold: float | None = None,
    output: str = "label",
    favourable: Any = None,
    seed: int | None = 0,
    batch: str | None = None,
    linked: bool | None = None,
    weights: Any = None,
    groups: Any = None,
    rows_are: str | None = None,
    gate: str | None = None,
    store: str | PathLike[str] | None = None,
    model_id: str | None = None,
    n_jobs: int = 1,
    engine: str | None = None,
    progress: bool | Progress | None = None,
) -> Share:
    """Estimate the share of discriminatory inputs in a population.

    Args:
        model: anything with `predict`, or a callable that takes a batch and returns one output a row.
        domain: what an input may be, and which parameters are sensitive.
        population: "domain" (uniform, constraints aside), "valid" (uniform over what the constraints allow), a frame of
            real rows, all of which are judged as they are, only their sensitive columns replaced, or a `Density`, from
            which inputs are drawn within the constraints and links.
        n_experiments: experiments of a fixed run, 400 by default; at most 100,000 with `width` or `max_share`.
        n_samples: inputs of an experiment.
        confidence: of the interval low to high (two-sided) and of the bounds lower and upper (one-sided each).
        method: "sample", "exact", or "auto": exact where counts foresee that it takes no longer than sampling would.
        exact_limit: up to so many inputs a domain is enumerated; with "auto", up to as many rows as sampling would ask.
        width: stop as soon as the interval is no wider; it is then valid whenever one stops.
        max_share: stop as soon as the share is known to be above or not above.
        max_seconds: stop sampling after so long; the interval is then valid whenever one stops.
        threshold: an input is discriminatory if its gap is above it; 0 for labels, else it must be given.
        output: "label", "score", "proba" or "value": what is compared.
        favourable: the good outcome, to say who is worse off: a label; for scores and values "highest" or "lowest"; for
            probabilities a class, or "highest" or "lowest" of the last one. One that the model never gives is refused;
            a model that does not tell its classes is asked about inputs until one gets it, beside `n_queries`.
        seed: the same seed and settings give the same result; None draws one, which the result records.
        batch: "array" or "frame" to say what the model eats; by default as it was fitted.
        linked: in a domain with links, True compares linked twins, False those that differ in the sensitive parameters
            alone; None does both, the error split, with the plain share in the linked one's `plain`.
        weights: for a population of rows, what each counts; the interval is then Gaffke's over groups or rows.
        groups: for a population of rows, whose they are: rows of one person tell less than as many people.
        rows_are: for a population of rows, "held-out", "training" or "unknown", the default. Only held-out rows
            represent other people: a share of training rows is a count without an interval, and rows of unknown role
            pass a limit only on the condition that the model was not trained on them.
        gate: "linked" or "plain" where a limit binds that share alone, "none" where no limit binds either. By default
            a limit binds both, and the error, 1 - `confidence`, is split between them.
        store: a folder in which the model's answers are kept as they come. The same call made again takes them from
            there and goes on where it ended, however it did, by whatever workers; with more experiments it goes on
            further. Any other model, domain, population or setting is refused; canary inputs find out a model that
            changed.
        model_id: with `store`, a name for this very model, as for `search`.
        n_jobs: processes that judge; -1 is one for each core. The result does not depend on it.
        engine: as for `search`: "local", "processes", "dask" or "dask://host:port". A shard that keeps failing is left
            out and said: the upper bounds count all its inputs as cases, the lower ones none (`n_lost`).
        progress: True for a line on the standard error, or a callable that takes a `Status`, after every batch.

    Of a population of rows, the share's `cases`, `twins` and `answers` say which they are.

    >>> from fairprobe import Domain, Integer, estimate
    >>> domain = Domain([Integer("age", 17, 90), Integer("sex", 0, 1)], sensitive=["sex"])
    >>> estimate(lambda X: X[:, 0] + 10 * X[:, 1] > 50, domain)
    Share(exactly 13.51% of the domain: 20 of 148 inputs)
    """
    sides, population = sides_of(domain, linked), bound(population, domain)
    each = split_confidence(confidence, n_bound(sides, gate))
    options = Options(
        n_experiments, n_samples, each, method, exact_limit, width, max_share, favourable, seed, max_seconds, rows_are
    )
    targets = [Population(model, side, population, threshold, output, batch, weights, groups) for side in sides]
    shares = stored_shares(targets, [domain.sensitive], options, progress, store, workers_for(n_jobs, engine), model_id)
    warn_of(share for each in shares for share in each)
    return beside(*(share for (share,) in shares))


@dataclass(frozen=True)
class Options:
    """How to estimate."""

    n_experiments: int | None = None
    n_samples: int = 1000
    confidence: float = 0.95
    method: str = "auto"
    exact_limit: int = EXACT_LIMIT
    width: float | None = None
    max_share: float | None = None
    favourable: Any = None
    seed: int | None = 0
    max_seconds: float | None = None
    rows_are: str | None = None

    def __post_init__(self) -> None:
        checked_role(self.rows_are)
        intervals.checked_confidence(self.confidence)
        checked_count("n_samples", self.n_samples)
        if self.n_experiments is not None:
            checked_count("n_experiments", self.n_experiments)
        checked_count("exact_limit", self.exact_limit, at_least=0)
        if self.method not in ("auto", "sample", "exact"):
            raise SettingError.about("method", f"must be auto, sample or exact, got {self.method!r}")
        if self.width is not None and not (is_number(self.width) and 0 < self.width < 1):
            raise SettingError.about("width", f"must lie between 0 and 1, got {self.width!r}")
        if self.max_share is not None and not (is_number(self.max_share) and 0 <= self.max_share < 1):
            raise SettingError.about("max_share", f"must be at least 0 and below 1, got {self.max_share!r}")
        if self.max_seconds is not None and not (is_number(self.max_seconds) and self.max_seconds > 0):
            raise SettingError.about("max_seconds", f"must be a number above 0 or None, got {self.max_seconds!r}")

    def is_tight(self, sequence: ConfidenceSequence) -> bool:
        """Whether the interval is as narrow as wanted, and on one side of the limit."""
        if self.width is None and self.max_share is None:
            return False
        narrow = self.width is None or sequence.high - sequence.low <= self.width
        return narrow and (self.max_share is None or sequence.settles(self.max_share))

    @property
    def n(self) -> int:
        """How many inputs to sample, at most."""
        can_end_early = self.width is not None or bool(self.max_share)  # no sample shows that a share is 0
        return (self.n_experiments or (MOST_EXPERIMENTS if can_end_early else N_EXPERIMENTS)) * self.n_samples

    def rows_foreseen(self, domain: Domain) -> float:
        """How many rows sampling is likely to ask: if it stops when tight, as many as it takes without a hit."""
        n_twins = len(domain.combinations)
        # Without a hit, the interval of a confidence sequence is about 5 / n wide.
        wishes = [5 / wish * n_twins for wish in (self.width, self.max_share) if wish]
        return min(self.n * n_twins, max(ROWS_A_CALL, *wishes)) if wishes else self.n * n_twins

    def plan(self, domain: Domain, n_rows: int | None, output: str) -> EstimatePlan:
        """How a population is looked at: rows, or what is uniform over the domain."""
        n_members = len(domain.families)
        if n_rows is not None:
            return EstimatePlan("rows", n_rows, n_rows * n_members)
        # With "auto" every input is looked at only if sampling might ask as many rows.
        is_worth_it = self.method == "exact" or domain.size <= self.n * n_members
        if self.method != "sample" and domain.size <= self.exact_limit and is_worth_it:
            # Every family is asked about once, whichever of its members is counted.
            return EstimatePlan("enumerate", domain.size, domain.size)
        may_be_solved = self.method != "sample" and output == "label" and domain.families.is_in_boxes
        how = "sample" if self.width is self.max_share is self.max_seconds is None else "sequential"
        return EstimatePlan(how, self.n, self.n * n_members, may_be_solved)


@dataclass(frozen=True)
class EstimatePlan:
    """How a population is looked at, as far as that is settled before the model is asked."""

    how: str
    """One of rows (all of them), enumerate, sample, sequential (a sample until the share is settled)."""
    n_inputs: int
    n_queries: int
    """Both at most."""
    may_be_solved: bool = False
    """Whether the share comes from the model's own structure instead, if it is of a kind that can be solved."""
    n_measured: int = 0
    """Inputs that the guess of the seconds comes from; none if the model was not asked."""
    seconds: float = 0.0


def stored_shares(
    targets: Sequence[Population],
    sets: Sequence[tuple[str, ...]],
    options: Options,
    progress: bool | Progress | None,
    store: str | PathLike[str] | None,
    workers: Workers | None = None,
    model_id: str | None = None,
) -> list[list[Share]]:
    """The shares of each target by set; with a store, what the model was asked before is not asked again."""
    options = replace(options, favourable=favourable_of(options.favourable, targets))
    model_id = checked_id(model_id, store)
    if store is None:
        return [Estimation(target, sets, options, progress, workers=workers).shares() for target in targets]
    seed = recorded_settings(store).get("seed") if options.seed is None else options.seed
    options, shares = replace(options, seed=checked_seed(seed)), []
    with terminable(), StoredEstimate.opened(store, targets, sets, options.seed, options.method, model_id) as kept:
        for target in targets:
            if workers is None:
                with kept.listening(target) as log:
                    shares.append(Estimation(target, sets, options, progress, log.flush).shares())
            else:
                with kept.kept_for(target) as log:
                    shares.append(Estimation(target, sets, options, progress, log.flush, workers, log).shares())
        return kept.ended(shares)


def workers_for(n_jobs: int, engine: str | None) -> Workers | None:
    """Who judges; None for this process alone."""
    n_jobs = checked_jobs(n_jobs)
    return None if checked_engine(engine, n_jobs)[0] == "local" else Workers(n_jobs, engine)


class Estimation:
    """One call: a population, counted for one or more sets of sensitive parameters."""

    def __init__(
        self,
        population: Population,
        sets: Sequence[tuple[str, ...]],
        options: Options,
        progress: bool | Progress | None = None,
        after_batch: Callable[[], None] = lambda: None,
        workers: Workers | None = None,
        log: AnswerLog | None = None,
    ) -> None:
        self.population = population
        self.workers = workers
        self.log = log
        self.after_batch = after_batch
        if population.density is not None:
            if options.method == "exact":
                raise SettingError.about("method", "must be auto or sample for a density, got 'exact'")
            options = replace(options, method="sample")  # only what is uniform can be counted or solved
        self.options = options
        self.sets = sets
        self.progress = teller(progress)
        self.started = time.monotonic()
        self.is_contradicted = False
        """Whether the model was found to answer otherwise than its own structure says."""
        n_rows = None if population.rows is None else len(population.rows)
        self.plan = options.plan(population.domain, n_rows, population.oracle.asker.output)
        seed, n_samples = checked_seed(options.seed), options.n_samples
        self.survey = Survey(
            population,
            sets,
            options.confidence,
            seed,
            n_samples=n_samples,
            favourable=options.favourable,
            rows_are=options.rows_are,
        )

    def shares(self) -> list[Share]:
        """A share for each set, in their order."""
        how, survey = self.plan.how, self.survey
        if how == "enumerate":
            return self._enumerated()
        if how != "rows" and self.options.method != "sample":
            solved = self._solved()
            if solved is not None:
                return solved
            if self.options.method == "exact" or self.is_contradicted:
                survey.health.append(Remark("not-exact", f"{survey.detail}; sampled instead"))
        if self.population.density is not None:
            survey.health += self.population.density.health
        elif how != "rows":
            survey.health += health_of_domain(self.population.domain)
        sequences = [ConfidenceSequence(self.options.confidence) for _ in self.sets] if how == "sequential" else []
        self._count(self._families(), sequences)
        if not sequences:
            return survey.shares(how)
        return survey.shares(how, [(each.low, each.high) for each in sequences], self._not_tight(sequences))

    def _families(self, *, is_enumerated: bool = False) -> Iterator[JudgedFamilies | LostInputs]:
        """What is judged: here, or by workers."""
        population, n, seed = self.population, self.options.n, self.survey.seed
        if self.workers is not None:
            task = JudgingTask(population, n, seed, self.sets, is_enumerated, keeps_calls=self.log is not None)
            return spread_families(task, self.workers, self._count_queries, self._foreseen, self.log)
        if is_enumerated:
            return map(population.judged, population.enumerated_parts())
        return population.families(n, seed, self.sets)

    def _count_queries(self, n: int) -> None:
        self.population.oracle.asker.n_queries += n

    def _foreseen(self, under_way: list[Counts]) -> float:
        """How long it will yet take, if it goes on as it began; of one that ends when tight, that is not known."""
        seconds = time.monotonic() - self.started
        n = self.survey.counts[-1].n + sum(counts.n_judged for counts in under_way)
        if seconds < LOOK_SECONDS or not n:
            return 0.0
        return math.inf if self.plan.how == "sequential" else seconds * (self.plan.n_inputs / n - 1)

    def _count(
        self, families: Iterable[JudgedFamilies | LostInputs], sequences: Sequence[ConfidenceSequence] = ()
    ) -> None:
        """Count all of them or, with sequences, until these are tight or the time is over."""
        options = self.options
        # What is not sequential is not ended by time: its interval holds only for the number fixed beforehand.
        end = math.inf if options.max_seconds is None else time.monotonic() + options.max_seconds
        with self.population.quiet():
            for batch in families:
                if isinstance(batch, LostInputs):
                    self.survey.lose(batch.n, batch.why)
                    for sequence in sequences:
                        sequence.lose(batch.n)
                    continue
                hits = self.survey.add(batch)
                self.after_batch()
                for sequence, mine in zip(sequences, hits, strict=False):
                    sequence.update(int(mine.sum()), len(mine))
                if self.progress is not None:
                    self.progress(self._status(sequences))
                if sequences and (all(map(options.is_tight, sequences)) or time.monotonic() >= end):
                    return

    def _status(self, sequences: Sequence[ConfidenceSequence]) -> Status:
        """How far it is with the last set."""
        count = self.survey.counts[-1]
        low, high = intervals.clopper_pearson(count.hits, count.n, self.options.confidence)
        if sequences:
            low, high = sequences[-1].low, sequences[-1].high
        text = f"{percent(count.value)}, between {percent(low)} and {percent(high)} after {count.n:,} inputs"
        done = None if sequences else count.n / self.plan.n_inputs
        return Status(text, {"n": count.n, "hits": count.hits, "low": low, "high": high}, done)

    def _not_tight(self, sequences: Sequence[ConfidenceSequence]) -> Iterator[Remark]:
        """What was asked for and not reached."""
        n, width, limit = sequences[0].n, self.options.width, self.options.max_share
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
        families = self._families(is_enumerated=True)
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
        """The shares by the model's own structure; None if that can't be solved, or would take longer than sampling."""
        domain, options, survey = self.population.domain, self.options, self.survey
        if self.population.oracle.asker.output != "label":
            limit = f"over the {options.exact_limit:,} that are enumerated"
            if domain.size <= options.exact_limit:
                limit = f"and {options.n:,} sampled with their twins are fewer"
            survey.detail = f"the domain has {magnitude(domain.size)} inputs, {limit}"
            return None
        # The sets are sampled together, but solved one by one.
        n_rows = options.rows_foreseen(domain) / len(self.sets) if options.method == "auto" else None
        shares: list[Share] = []
        for part in [domain.with_sensitive(names) for names in self.sets]:
            solved = solve(self.population.model, part, n_rows=n_rows)
            if not isinstance(solved, Solved):
                survey.detail, self.is_contradicted = solved.reason, solved.contradicts
                self.population.oracle.asker.n_queries += solved.n_queries + sum(share.n_queries for share in shares)
                return None
            most = percent(1 - (1 - options.confidence) ** (1 / N_RANDOM))
            survey.detail = (
                f"solved for the model's {solved.method}; the model agreed on all of {N_RANDOM} random families, so "
                f"with {percent(options.confidence)} confidence it answers otherwise on fewer than {most}"
            )
            value = float(solved.share) if solved.families else math.nan
            bounds = (value, value) if solved.families else (0.0, 1.0)
            labels, each = solved.by_label.items(), solved.n_each
            outcomes = {(place, label): n * each for label, counts in labels for place, n in enumerate(counts)}
            share = survey.make(
                value,
                bounds,
                bounds,
                n=solved.families * each,
                n_not_comparable=solved.n_not_comparable,
                hits=solved.hits * each,
                method="exact",
                sensitive=part.sensitive,
                n_queries=solved.n_queries,
                outcomes=outcome_table(part, outcomes) if solved.hits else None,
            )
            shares.append(share)
        return shares


def options_of(arguments: dict[str, Any]) -> Options:
    """The options among the arguments of `estimate` or `breakdown`, made sure of."""
    return Options(**{name: arguments[name] for name in Options.__dataclass_fields__ if name in arguments})


def plan(model: Any, domain: Domain, population: Any, **arguments: Any) -> EstimatePlan:
    """What `estimate` would do with the same arguments, all of them given.

    The model is asked for about a second; None is not asked, and then no time is measured.
    """
    population = bound(population, domain)
    sides = [_plan_of(model, side, population, arguments) for side in sides_of(domain, arguments["linked"])]
    totals = {name: sum(getattr(each, name) for each in sides) for name in ("n_queries", "n_measured", "seconds")}
    return replace(sides[0], **totals)


def _plan_of(model: Any, domain: Domain, population: Any, arguments: dict[str, Any]) -> EstimatePlan:
    """The same for linked twins, or for plain ones."""
    if model is None:
        n_rows = population.shape[0] if hasattr(population, "shape") else None
        how = arguments if isinstance(population, str) else {**arguments, "method": "sample"}
        return options_of(how).plan(domain, n_rows, arguments["output"])
    names = ("threshold", "output", "batch", "weights", "groups")
    target = Population(model, domain, population, *(arguments[name] for name in names))
    options = options_of(arguments)
    options = replace(options, favourable=favourable_of(options.favourable, [target]))
    planned = Estimation(target, [domain.sensitive], options).plan
    seeds = itertools.count(checked_seed(arguments["seed"]))
    count = Count(target.oracle, domain.sensitive, 1)

    def judge(n: int) -> int:
        before = count.hits
        batches = target.families(n, next(seeds))
        if target.rows is not None:
            batches = judged_rows(target.oracle, target.rows.head(n), [domain.sensitive], twice=False)
        for batch in batches:
            count.add(batch)
        return count.hits - before

    seen = measured(judge, target.oracle.batch_size(planned.n_inputs))
    seconds = planned.n_queries / len(domain.families) * seen.per_input
    return replace(planned, n_measured=seen.n_inputs, seconds=seconds)
