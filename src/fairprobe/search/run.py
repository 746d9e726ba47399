"""`search`: shards, from 0 on, until a limit is met."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

from fairprobe.accelerate import may_screen
from fairprobe.checks import checked_seed
from fairprobe.domain.domain import Domain
from fairprobe.domain.parameters import Codes
from fairprobe.engine import Report, checked_jobs, make_engine
from fairprobe.errors import DataError, HealthWarning, RunError, SettingError
from fairprobe.model import Model
from fairprobe.model.asking import Asker
from fairprobe.model.threads import releases_lock
from fairprobe.oracle import checked_threshold
from fairprobe.search.auto import choose_strategy
from fairprobe.search.found import Found
from fairprobe.search.health import health_of_settings
from fairprobe.search.job import Job, Snapshot, Trace
from fairprobe.search.progress import Progress, print_line
from fairprobe.search.registry import AUTO, load_strategy, strategy_path
from fairprobe.search.settings import Limits, Settings, StopReason
from fairprobe.search.shard import Quota, run_shard
from fairprobe.search.stochastic import confirmed
from fairprobe.search.tally import Tally

if TYPE_CHECKING:
    import pandas as pd

N_GLOBAL = 5000
N_LOCAL = 150
SHARD_INPUTS = 1_000_000
SHOW_SECONDS = 0.1
ACCELERATE = ("auto", "off")


def search(
    model: Model,
    domain: Domain,
    *,
    strategy: str = "fully-directed",
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
    seed: int | None = 0,
    start: pd.DataFrame | Any = None,
    n_jobs: int = 1,
    accelerate: str = "auto",
    batch: str | None = None,
    progress: bool | Progress = False,
) -> Found:
    """Search the domain for discriminatory inputs.

    Args:
        model: anything with `predict`, or a callable that takes a batch and returns one output a row.
        domain: what an input may be, and which parameters are sensitive.
        strategy: "uniform", "random", "semi-directed", "fully-directed" (the paper's), "anchored", "guided", "genetic",
            "gradient" (torch modules), or "auto", which picks by what the model offers.
        max_cases: stop after so many distinct cases.
        max_seconds: stop after so long.
        max_queries: never send the model more rows.
        max_inputs: never judge more inputs.
        max_barren: stop when so many inputs in a row brought no new case.
        threshold: an input is discriminatory if its gap is above it; 0 for labels, else it must be given.
        output: "label", "score", "proba" or "value": what is compared.
        n_walkers: walkers in lockstep over shared probabilities; with 1, the paper's algorithm trial by trial.
        n_global: uniform inputs of a global round, whose cases are the seeds of the local search.
        n_local: trials of a walker.
        delta_v: how much a trial changes the probability of a direction.
        delta_pr: how much a case changes the probability of a parameter.
        shard_inputs: judged inputs of a shard, the unit that is run, retried and spread over processes.
        diversify: whether anchored and guided walkers leave what is exhausted or over-represented for other cases.
        seed: the same seed and settings give the same result; None draws one, which the result records.
        start: rows to start from instead of uniform inputs; numbers between two steps go to the nearer one.
        n_jobs: processes, or threads for models that release the interpreter's lock; -1 is one for each core. The
            result does not depend on it.
        accelerate: "auto" lets a compiled stand-in for the model, where there is one, say which inputs may be cases,
            and asks the model about those alone; "off" asks the model about all, as does a limit on queries.
        batch: "array" or "frame" to say what the model eats; by default as it was fitted.
        progress: True for a line on the standard error, or a callable.

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
    if not isinstance(domain, Domain):
        raise SettingError(f"domain must be a fairprobe.Domain, got {type(domain).__name__}: see Domain.from_frame")
    strategy = choose_strategy(model, output) if strategy == AUTO else strategy
    n_jobs = checked_jobs(n_jobs)
    settings = Settings(strategy, n_walkers, n_global, n_local, delta_v, delta_pr, shard_inputs, diversify)
    limits = Limits(max_cases, max_seconds, max_queries, max_inputs, max_barren)
    limits.check_affords(len(domain.combinations))
    chosen = load_strategy(strategy_path(strategy))
    chosen.check_model(model)
    if start is not None and not chosen.is_local:
        raise SettingError(f"start needs a strategy that walks from the rows given, got strategy={strategy!r}")
    job = Job(
        model=model,
        domain=domain,
        settings=settings,
        strategy_path=strategy_path(strategy),
        output=output,
        batch=batch,
        threshold=checked_threshold(threshold, output),
        seed=checked_seed(seed),
        start=None if start is None else _start_codes(domain, start),
        accelerate=_checked_accelerate(accelerate) and max_queries is None and may_screen(model, n_walkers),
        n_threads=n_jobs if releases_lock(model) else 1,
    )
    Asker(model, domain, output=output, batch=batch)  # a model that does not fit is refused before any work
    for name, message in health_of_settings(job, limits):
        warnings.warn(f"{name}: {message}", HealthWarning, stacklevel=2)
    run = _Run(job, limits, n_jobs, progress)
    found = run.run()
    if run.tally.is_stochastic and found.stop_reason is not StopReason.INTERRUPTED:
        found = confirmed(job, found)
    for name, message in found.health:
        warnings.warn(f"{name}: {message}", HealthWarning, stacklevel=2)
    return found


def _checked_accelerate(accelerate: str) -> bool:
    if accelerate not in ACCELERATE:
        raise SettingError(f"accelerate must be one of {', '.join(ACCELERATE)}, got {accelerate!r}")
    return accelerate == "auto"


class _Run:
    """One call of `search`."""

    def __init__(self, job: Job, limits: Limits, n_jobs: int, progress: bool | Progress) -> None:
        import pandas  # noqa: F401  # now, as Ctrl-C in the middle of an import would leave it half done

        self.job = job
        self.limits = limits
        self.progress = progress if callable(progress) else (print_line if progress else None)
        self.tally = Tally(job.domain, limits)
        self.started = time.monotonic()
        self.next_show = SHOW_SECONDS
        self.plan = _Plan(job, limits, self.started)
        n_jobs = 1 if job.n_threads > 1 else n_jobs  # threads keep the cores busy
        if limits.max_queries is not None and job.costs_vary:
            n_jobs = 1  # only the shards before tell how many queries are left
        task = self._next_shard if n_jobs == 1 else self.plan
        self.engine = make_engine(task, n_jobs, self._show if self.progress else None)

    def run(self) -> Found:
        try:
            self._run()
        finally:
            self.engine.close()
        return self._result()

    def _run(self) -> None:
        try:
            for trace in self.engine.results():
                self.tally.add(trace)
                if self.tally.stop_reason is not None:
                    break
                if self.progress is not None:
                    self._show([])
        except KeyboardInterrupt:
            self.tally.stop_reason = StopReason.INTERRUPTED
        except RunError as error:
            self.tally.failure, self.tally.stop_reason = error, StopReason.FAILED
        if self.tally.stop_reason is StopReason.INTERRUPTED:
            self._keep_the_rest()

    def _next_shard(self, shard: int, report: Report | None) -> Trace:
        known = self.tally.known()
        quota = self.plan.quota(shard, n_cases=self.tally.n_cases, n_queries=self.tally.n_queries)
        return run_shard(self.job, shard, quota, known, report)

    def _keep_the_rest(self) -> None:
        for trace in self.engine.finish():
            if trace.shard >= self.tally.n_shards:
                self.tally.add(trace)
        self.tally.stop_reason = StopReason.INTERRUPTED

    def _result(self) -> Found:
        found = Found.of(self.job, self.limits, self.tally, time.monotonic() - self.started)
        failure = self.tally.failure
        if isinstance(failure, RunError):
            failure.found = found
            raise failure
        if failure is not None:  # a constraint, say: only what was found makes it a failed run
            raise RunError(str(failure), found) if found.n_cases else failure
        return found

    def _show(self, under_way: list[tuple[int, int, int]]) -> None:
        seconds = time.monotonic() - self.started
        if self.progress is None or seconds < self.next_show:
            return
        self.next_show = seconds + SHOW_SECONDS
        done = self.tally.snapshot()
        counts = [(done.n_cases, done.n_judged, done.n_queries), *under_way]
        self.progress(Snapshot(*(sum(column) for column in zip(*counts, strict=True))), seconds)


class _Plan:
    """What each shard has to do. Sent to workers, it is their task: all they need is in it."""

    def __init__(self, job: Job, limits: Limits, started: float) -> None:
        self.job = job
        self.limits = limits
        self.deadline = None if limits.max_seconds is None else started + limits.max_seconds

    def __call__(self, shard: int, report: Report | None) -> Trace:
        return run_shard(self.job, shard, self.quota(shard), None, report)

    def quota(self, shard: int, *, n_cases: int = 0, n_queries: int = 0) -> Quota:
        """The quota of a shard, given what is known of those before it."""
        limits = self.limits
        before = shard * self.job.settings.shard_inputs
        quotas = [self.job.settings.shard_inputs]
        if limits.max_inputs is not None:
            quotas.append(limits.max_inputs - before)
        if limits.max_queries is not None and not self.job.costs_vary:
            quotas.append(limits.max_queries // len(self.job.domain.combinations) - before)
        return Quota(
            n_inputs=max(0, min(quotas)),
            n_cases=None if limits.max_cases is None else limits.max_cases - n_cases,
            n_barren=limits.max_barren,
            n_queries=limits.max_queries - n_queries if limits.max_queries and self.job.costs_vary else None,
            deadline=self.deadline,
        )


def _start_codes(domain: Domain, rows: Any) -> Codes:
    codes = domain.encode(rows, nearest=True)
    inside = domain.contains(codes)
    if not inside.any():
        raise DataError(f"a row to start from must lie in the domain, got none among {len(codes)}")
    if not inside.all():
        n = int((~inside).sum())
        message = (
            f"start-rows-outside: {n:,} of {len(codes):,} rows to start from lie outside the domain and are left out"
        )
        warnings.warn(message, HealthWarning, stacklevel=3)
    return codes[inside]
