"""`search`: shards, from 0 on, until a limit is met."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any

from fairprobe.arguments import WrittenFolder
from fairprobe.blocks import Remark
from fairprobe.checks import checked_seed
from fairprobe.domain.density import Density, checked_density
from fairprobe.domain.domain import Domain, checked_domain
from fairprobe.domain.health import health_of_domain
from fairprobe.engine import Counts, Report, Skipped, checked_engine, checked_jobs, make_engine
from fairprobe.engine.interrupts import deferred, interruptible, terminable
from fairprobe.errors import HealthWarning, RunError, SettingError
from fairprobe.model import Model
from fairprobe.model.adapters import adapter_for
from fairprobe.model.asking import Asker
from fairprobe.model.known import is_repeatable
from fairprobe.model.measuring import resolution_of, unsteadiness
from fairprobe.oracle import checked_threshold
from fairprobe.progress import Progress, Status, teller
from fairprobe.searching.confirm import confirmed, in_other_batches, sampled
from fairprobe.searching.found import Found
from fairprobe.searching.job import Job, Trace
from fairprobe.searching.registry import AUTO, NEARBY, load_strategy, settled_strategy, strategy_path
from fairprobe.searching.settings import Limits, StopReason, settled
from fairprobe.searching.shard import LOOK, Quota, run_shard
from fairprobe.searching.start_rows import StartRows, start_rows
from fairprobe.searching.stored_search import StoredSearch
from fairprobe.searching.tally import Tally
from fairprobe.standins import may_screen
from fairprobe.store.identity import checked_id
from fairprobe.store.run_folder import recorded_settings

if TYPE_CHECKING:
    import pandas as pd

N_GLOBAL = 5000
N_LOCAL = 150
SHARD_INPUTS = 400_000
SHOW_SECONDS = 0.1
LOOK_SECONDS = 0.1
"""After so long it is foreseen how long a run will take."""

ACCELERATE = ("auto", "off")
CONFIRM = ("all", "sample")
MIN_PLAUSIBILITY = 0.05


def search(
    model: Model,
    domain: Domain,
    *,
    strategy: str = AUTO,
    max_cases: int | None = 10_000,
    max_seconds: float | None = None,
    max_queries: int | None = None,
    max_inputs: int | None = None,
    max_barren: int | None = 1_000_000,
    threshold: float | None = None,
    output: str = "label",
    n_walkers: int = 1000,
    n_global: int = N_GLOBAL,
    n_local: int = N_LOCAL,
    delta_v: float = 0.001,
    delta_pr: float = 0.001,
    shard_inputs: int = SHARD_INPUTS,
    diversify: bool = True,
    hurry: bool | None = None,
    seed: int | None = 0,
    start: pd.DataFrame | Any = None,
    max_changes: int | None = None,
    density: Density | None = None,
    min_plausibility: float = MIN_PLAUSIBILITY,
    n_jobs: int = 1,
    engine: str | None = None,
    accelerate: str = "auto",
    confirm: str = "all",
    batch: str | None = None,
    linked: bool = True,
    store: WrittenFolder | None = None,
    model_id: str | None = None,
    progress: bool | Progress = False,
) -> Found:
    """Search the domain for discriminatory inputs.

    Args:
        model: anything with `predict`, or a callable that takes a batch and returns one output a row.
        domain: what an input may be, and which parameters are sensitive.
        strategy: "uniform", "random", "semi-directed", "fully-directed" (the paper's), "anchored", "guided", "genetic",
            "gradient" (torch modules), or "auto", which picks by what the model offers and by the limits given.
        max_cases: stop after so many distinct cases.
        max_seconds: stop after so long.
        max_queries: never send the model more rows.
        max_inputs: never judge more inputs.
        max_barren: stop when so many inputs in a row brought no new case.
        threshold: an input is discriminatory if its gap is above it; 0 for labels, else it must be given.
        output: "label", "score", "proba" or "value": what is compared.
        n_walkers: walkers in lockstep; with 1, the paper's algorithm trial by trial ("auto" is then "fully-directed").
        n_global: uniform inputs of a global round at most, whose cases are the seeds of the local search. Strategies
            beyond the paper start as soon as there are enough of them.
        n_local: trials of a walker.
        delta_v: how much a trial changes the probability of a direction.
        delta_pr: how much a case changes the probability of a parameter.
        shard_inputs: judged inputs of a shard, the unit that is run, retried and spread over processes.
        hurry: whether walkers beyond the paper's begin all at once, many at each start case, so that calls are about
            many inputs: more cases in few seconds, fewer for the inputs judged. By default only with "auto" where
            `max_seconds` is the only one given of seconds, queries and inputs; never for machines of support vectors,
            which take as long for a row in a large call as in a small one.
        diversify: whether anchored and guided walkers leave what is exhausted or over-represented for other cases.
        seed: the same seed and settings give the same result; None draws one, which the result records.
        start: rows to start from instead of uniform inputs; numbers between two steps go to the nearer one, and a row
            whose sensitive value is none of those compared is taken as the first that is.
        max_changes: with `start`, change so many values of a row at most, and draw no uniform input: every case is then
            about one of your rows (`found.origins`). Values off the grid are kept.
        density: inputs are drawn from it instead of uniformly, and none is judged that is less plausible than asked;
            twins need only be allowed. Rows to start from that are less plausible are left out.
        min_plausibility: with `density`, the part of held-out rows that an input must be at least as likely as.
        n_jobs: processes, or threads for models that release the interpreter's lock; -1 is one for each core. The
            result does not depend on it. What is too short to gain by other processes stays in this one. A
            service is asked by one process, over as many connections as it was said.
        engine: who runs the shards: "local" (this process alone), "processes", "dask" (a local cluster of `n_jobs`
            workers) or "dask://host:port", a scheduler. By default "processes" if `n_jobs` asks for several. The result
            does not depend on it. A shard that keeps failing is left out and said: the search is then "incomplete".
        accelerate: "auto" lets a stand-in for the model, where there is one, say which inputs may be cases, and asks
            the model about those alone: a compiled one, or a pipeline's last step on tables of what the steps before
            make of each value. "off" asks the model about all, as does a limit on queries.
        confirm: "all" reports no case that the whole model did not judge; "sample" asks it about 1,000 of the cases in
            the end, chosen evenly, and about everything again should it judge one of these otherwise.
        batch: "array" or "frame" to say what the model eats; by default as it was fitted.
        linked: False sets the domain's links, and what they forbid, aside.
        store: a folder in which every finished shard is kept. The same call made again takes the run up where it ended,
            however it did, and gives what it would have given uninterrupted; with higher limits it goes on. Any other
            model, domain or setting is refused. Canary inputs, asked about at the start, at the end and when a run is
            taken up (1,000 rows each time), find out a model that changed; they come on top of `max_queries`.
        model_id: with `store`, a name for this very model, which then is what must be the same. It is needed where
            nothing else tells the model from another: one that holds an open file, say.
        progress: True for a line on the standard error, or a callable that takes a `Status`.

    Returns:
        What was found. A failing model raises a ModelError with the same in its `found`; Ctrl-C returns it.

    >>> from fairprobe import Domain, Integer
    >>> domain = Domain([Integer("age", 17, 90), Integer("sex", 0, 1)], sensitive=["sex"])
    >>> found = search(lambda X: X[:, 0] + 10 * X[:, 1] > 50, domain, max_cases=5)
    >>> found.n_cases, str(found.stop_reason)
    (5, 'max-cases')
    >>> found.cases.head(2)
       age  sex
    0   48    0
    1   49    1
    """
    given = domain = checked_domain(domain) if linked else checked_domain(domain).without_links()
    n_jobs = checked_jobs(n_jobs)
    name, _ = checked_engine(engine, n_jobs)
    settings, limits = settled(**locals())  # which of the arguments are settings, and which limits, is known there
    recorded = recorded_settings(store)
    settings = settled_strategy(settings, limits, model, output, recorded)
    strategy = settings.strategy
    if (max_changes is not None) != (strategy == NEARBY) or (max_changes is not None and start is None):
        raise SettingError.about(
            "max_changes", f"goes with rows to start from and strategy {NEARBY!r}, got strategy={strategy!r}"
        )
    repeats = is_repeatable(model)
    limits.check_affords(len(domain.families), asked_twice=not repeats)
    chosen = load_strategy(strategy_path(strategy))
    chosen.check_model(model)
    if start is not None and not chosen.is_local:
        raise SettingError.about("start", f"needs a strategy that walks from the rows given, got strategy={strategy!r}")
    # Nothing is drawn with `max_changes`, so that it does not matter how thin the domain is.
    remarks: list[Remark] = health_of_domain(domain) if max_changes is None else []
    if density is not None:
        density = checked_density(density, domain)
        density.floor(min_plausibility)
        remarks += density.health
    asker = Asker(model, domain, output=output, batch=batch)  # a model that does not fit is refused before any work
    threshold = checked_threshold(threshold, output)
    seed = checked_seed(recorded.get("seed") if seed is None else seed)
    begun = None if start is None else start_rows(domain, start, keep=max_changes is not None)
    if begun is not None:
        begun = begun if density is None else begun.plausible(density, min_plausibility)
        domain, remarks = begun.domain, [*remarks, *begun.remarks]
    if accelerate not in ACCELERATE:
        raise SettingError.about("accelerate", f"must be one of {', '.join(ACCELERATE)}, got {accelerate!r}")
    if confirm not in CONFIRM:
        raise SettingError.about("confirm", f"must be one of {', '.join(CONFIRM)}, got {confirm!r}")
    may_use = may_screen(model, n_walkers, confirms_all=confirm == "all")
    job = Job(
        model=model,
        domain=domain,
        settings=settings,
        strategy=chosen,
        output=output,
        batch=batch,
        threshold=threshold,
        seed=seed,
        start=None if begun is None else begun.codes,
        accelerate=accelerate == "auto" and max_queries is None and may_use,
        n_threads=n_jobs if adapter_for(model).threads and name != "dask" else 1,
        is_repeatable=repeats,
        resolution=resolution_of(asker, max_queries),
        density=density,
        min_plausibility=min_plausibility,
        model_id=checked_id(model_id, store),
        confirm=confirm,
    )
    remarks += _beforehand(asker, max_queries, repeats=repeats)
    n_affordable = limits.max_queries and limits.max_queries // len(domain.families)
    budget = min(n for n in (limits.max_inputs, n_affordable, settings.shard_inputs) if n is not None)
    n_first = min(LOOK, settings.n_global) if chosen.is_eager else settings.n_global
    if chosen.is_local and budget <= n_first:
        text = (
            f"{budget:,} inputs are no more than the {n_first:,} that a global round takes at least, so the local "
            f"search of {strategy!r} never starts: raise the limit or lower n_global"
        )
        remarks.append(Remark("small-budget", text))
    if engine not in (None, "local") and limits.max_queries is not None and job.costs_vary:
        text = "inputs differ in their queries, so with max_queries one shard follows the other, all in this process"
        remarks.append(Remark("not-spread", text))
    # What it took to measure the resolution counts too: max_queries is about all rows sent.
    whole = partial(
        _searched,
        job,
        limits=limits,
        n_jobs=n_jobs,
        engine=engine,
        progress=progress,
        remarks=remarks,
        n_asked=asker.n_queries,
    )
    found = _with_sent(partial(_stored, store, whole, job, limits, given, begun, progress), asker)
    for name, message in found.health:
        warnings.warn(f"{name}: {message}", HealthWarning, stacklevel=2)
    return found


def _beforehand(asker: Asker, max_queries: int | None, *, repeats: bool) -> tuple[Remark, ...]:
    """With a limit on queries, its part for other batches; without, they are asked when all that was found is safe."""
    return () if repeats or max_queries is None else unsteadiness(asker, max_queries)


def _stored(
    store: str | PathLike[str] | None,
    whole: Callable[..., Found],
    job: Job,
    limits: Limits,
    domain: Domain,
    begun: StartRows | None,
    progress: bool | Progress,
) -> Found:
    """What a search finds, with all its shards kept, if there is a place for them."""
    if store is None:
        return whole(begun=begun)
    with terminable(), StoredSearch.opened(store, job, limits, domain, begun) as kept:
        kept.tell(teller(progress))
        return kept.found(whole(begun=begun, kept=kept))


def _searched(
    job: Job,
    *,
    limits: Limits,
    n_jobs: int,
    engine: str | None,
    progress: bool | Progress,
    remarks: Sequence[Remark],
    begun: StartRows | None,
    n_asked: int,
    kept: StoredSearch | None = None,
) -> Found:
    """What a search finds, less what the model does not confirm."""
    run = _Run(job, limits, n_jobs, engine, progress, n_asked, kept)
    found, difference = sampled(job, confirmed(job, run.run(remarks, begun), run.tally))
    if difference is not None:  # what stood in for the model led nowhere: everything is asked again
        job, remarks = replace(job, accelerate=False), [*remarks, Remark("accelerate-off", difference)]
        kept = None if kept is None else kept.without_stand_in(job)
        run = _Run(job, limits, n_jobs, engine, progress, found.n_queries, kept)
        found = confirmed(job, run.run(remarks, begun), run.tally)
    found = in_other_batches(job, found)
    if kept is not None:
        kept.note_end(found, run.tally)
    return found


def _with_sent(run: Callable[[], Found], asker: Asker) -> Found:
    """What a run finds, also if it fails, with the rows sent since the asker was made, where the model counts them."""
    try:
        found = run()
    except RunError as error:
        if error.found is not None:
            error.found = replace(error.found, sent=asker.sent)
        raise
    return replace(found, sent=asker.sent)


class _Run:
    """One call of `search`."""

    def __init__(
        self,
        job: Job,
        limits: Limits,
        n_jobs: int,
        engine: str | None,
        progress: bool | Progress,
        n_asked: int,
        kept: StoredSearch | None = None,
    ) -> None:
        import pandas  # noqa: F401  # now, as Ctrl-C in the middle of an import would leave it half done

        self.job = job
        self.limits = limits
        self.progress = teller(progress)
        self.tally = Tally(job.domain, limits, n_asked)
        self.started = time.monotonic()
        self.next_show = SHOW_SECONDS
        if job.n_threads > 1 or adapter_for(job.model).connections:
            engine = "local"  # threads keep the cores busy, or connections a service, whose limits are for all together
        if limits.max_queries is not None and job.costs_vary:
            engine = "local"  # only the shards before tell how many queries are left
        n_shards = None if limits.max_inputs is None else math.ceil(limits.max_inputs / job.settings.shard_inputs)
        if n_shards == 1 and engine in (None, "processes"):
            engine = "local"  # nobody could take part
        is_local = checked_engine(engine, n_jobs)[0] == "local"
        task = self._next_shard if is_local else partial(_shard_beside_others, job, limits, n_asked)
        if kept is not None:
            kept.n_asked = n_asked
        self.engine = make_engine(
            task,
            n_jobs,
            engine=engine,
            watch=self._show if self.progress else None,
            seconds_left=self._seconds_left,
            kept=kept,
            n_shards=n_shards,
            foreseen=self._foreseen,
        )
        if self.engine.address is not None and self.progress is not None:
            told = {"dashboard": self.engine.address}
            self.progress(Status(f"Dask's dashboard: {self.engine.address}", told, is_over=True))

    def _seconds_left(self) -> float | None:
        most = self.limits.max_seconds
        return None if most is None else max(0.0, self.started + most - time.monotonic())

    def _next_shard(self, shard: int, seconds: float | None, report: Report | None) -> Trace:
        """A shard that runs after all before it, and knows what they found."""
        quota = _quota(self.job, self.limits, shard, seconds, self.tally.n_queries, self.tally.n_cases)
        return run_shard(self.job, shard, quota, self.tally.known(), report)

    def run(self, remarks: Sequence[Remark], start: StartRows | None) -> Found:
        """What was found; `remarks` were made before."""
        tally = self.tally
        with deferred() as interrupts:
            try:
                self._add_shards()
            finally:
                self.engine.close()
            if interrupts.pending:
                interrupts.pending = False
                tally.stop_reason = tally.stop_reason or StopReason.INTERRUPTED
        tally.release()
        found = Found.of(self.job, self.limits, tally, time.monotonic() - self.started, remarks, start)
        if isinstance(tally.failure, RunError):
            tally.failure.found = found
            raise tally.failure
        if tally.failure is not None:  # a constraint, say: only what was found makes it a failed run
            raise RunError(str(tally.failure), found) if found.n_cases else tally.failure
        return found

    def _add_shards(self) -> None:
        tally = self.tally
        try:
            for trace in self.engine.results():
                if isinstance(trace, Skipped):
                    tally.skip(trace)
                    continue
                tally.add(trace)
                if tally.stop_reason is not None:
                    break
                with interruptible():
                    self._show([])
            if tally.skipped:
                tally.stop_reason = StopReason.INCOMPLETE if tally.failure is None else tally.stop_reason
        except KeyboardInterrupt:
            tally.stop_reason = StopReason.INTERRUPTED
        except RunError as error:
            tally.failure, tally.stop_reason = error, StopReason.FAILED
        if tally.stop_reason is StopReason.INTERRUPTED:
            for trace in self.engine.finish():  # what the shards under way have is kept
                if trace.shard >= tally.n_shards:
                    tally.add(trace)
            # A shard that was told to stop may have ended by a limit or failed: the person came first.
            tally.stop_reason, tally.failure = StopReason.INTERRUPTED, None

    def _show(self, under_way: list[Counts]) -> None:
        seconds = time.monotonic() - self.started
        if self.progress is None or seconds < self.next_show:
            return
        self.next_show = seconds + SHOW_SECONDS
        self.progress(status_of(self._so_far(under_way), self.limits, seconds))

    def _so_far(self, under_way: list[Counts]) -> Counts:
        return Counts(*map(sum, zip(self.tally.counts, *under_way, strict=True)))

    def _foreseen(self, under_way: list[Counts]) -> float:
        """How long it will yet take, if it goes on as it began."""
        seconds = time.monotonic() - self.started
        done = status_of(self._so_far(under_way), self.limits, seconds).fraction
        if seconds < LOOK_SECONDS or done is None:
            return 0.0
        return seconds * (1 - done) / done if done else math.inf


def _quota(job: Job, limits: Limits, shard: int, seconds: float | None, n_queries: int, n_cases: int = 0) -> Quota:
    """What a shard has to do, given the queries and cases of those before it."""
    n_inputs = job.settings.shard_inputs
    if limits.max_inputs is not None:
        n_inputs = max(0, min(n_inputs, limits.max_inputs - shard * n_inputs))
    return Quota(
        n_inputs=n_inputs,
        n_cases=None if limits.max_cases is None else limits.max_cases - n_cases,
        n_barren=limits.max_barren,
        n_queries=None if limits.max_queries is None else max(0, limits.max_queries - n_queries),
        seconds=seconds,
    )


def _shard_beside_others(
    job: Job, limits: Limits, n_asked: int, shard: int, seconds: float | None, report: Report | None
) -> Trace:
    """A shard in a worker, to which all that it needs is sent: what those before it find is not known yet."""
    # Where inputs all take the same, as many as they have quotas were sent by the shards before.
    n_queries = n_asked + shard * job.settings.shard_inputs * len(job.domain.families)
    return run_shard(job, shard, _quota(job, limits, shard, seconds, n_queries), None, report)


def status_of(so_far: Counts, limits: Limits, seconds: float) -> Status:
    """How far a search has got. Repeats are told apart at the end only, so until then the yield has a lower bound."""
    rate = so_far.n_cases / seconds if seconds else 0.0
    bound = so_far.n_cases / so_far.n_judged if so_far.n_judged else 0.0
    used = [
        (so_far.n_cases, limits.max_cases),
        (so_far.n_judged, limits.max_inputs),
        (so_far.n_queries, limits.max_queries),
        (seconds, limits.max_seconds),
    ]
    return Status(
        f"{so_far.n_cases:,} cases, yield >={bound:.1%}, {rate:,.0f} cases/s",
        {**so_far._asdict(), "seconds": seconds},
        min(1.0, max((done / limit for done, limit in used if limit is not None), default=0.0)),
    )
