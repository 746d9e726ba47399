"""The function `search`, which looks for cases in shards (parts of a fixed size) until a limit is reached."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from fairprobe.arguments import WrittenFolder, done_by
from fairprobe.blocks import Remark
from fairprobe.checks import checked_choice, checked_seed
from fairprobe.domain.density import Density, checked_density
from fairprobe.domain.domain import Domain, checked_domain
from fairprobe.engine.base import checked_engine, checked_jobs
from fairprobe.engine.interrupts import terminable
from fairprobe.errors import HealthWarning, SettingError
from fairprobe.model import Model
from fairprobe.model.asking import Asker
from fairprobe.model.known import is_repeatable
from fairprobe.model.measuring import resolution_of, unsteadiness
from fairprobe.oracle import checked_threshold, remarks_on_threshold
from fairprobe.progress import Progress, teller
from fairprobe.searching.found import Found
from fairprobe.searching.job import Job
from fairprobe.searching.limits import Limits, SearchSettings, settled
from fairprobe.searching.registry import AUTO, NEARBY, load_strategy, settled_strategy, strategy_path
from fairprobe.searching.run import Run
from fairprobe.searching.shard import LOOK
from fairprobe.searching.start_rows import start_rows
from fairprobe.searching.stored_search import StoredSearch
from fairprobe.searching.strategy import Strategy
from fairprobe.standins import may_screen
from fairprobe.store.digests import checked_id
from fairprobe.store.run_folder import recorded_settings

if TYPE_CHECKING:
    import pandas as pd

N_GLOBAL = 5000
N_LOCAL = 150
SHARD_INPUTS = 400_000
ACCELERATE = ("auto", "off")
MIN_PLAUSIBILITY = 0.05


def _search(**arguments: Any) -> Found:
    """Search a domain for discriminatory inputs; this is the body of `search`, with its arguments by name."""
    its = SimpleNamespace(**arguments)
    settings, limits = settled(**arguments)
    domain = checked_domain(its.domain) if its.linked else checked_domain(its.domain).without_links()
    n_jobs = checked_jobs(its.n_jobs)
    checked_engine(its.engine, n_jobs)
    recorded = recorded_settings(its.store)
    settings = settled_strategy(settings, limits, its.model, its.output, recorded)
    limits.check_affords(len(domain.families), asked_twice=not is_repeatable(its.model))
    strategy = _checked_strategy(settings, its)
    remarks: list[Remark] = []
    # A model that does not fit is refused before any work.
    asker = Asker(its.model, domain, output=its.output, batch=its.batch)
    its.seed = checked_seed(recorded.get("seed") if its.seed is None else its.seed)
    start = None
    if its.density is not None:
        its.density = checked_density(its.density, domain)
        its.density.floor(its.min_plausibility)
        remarks += its.density.health
    if its.start is not None:
        start = start_rows(domain, its.start, keep=its.max_changes is not None)
        start = start if its.density is None else start.plausible(its.density, its.min_plausibility)
        remarks += start.remarks
    checked_choice("accelerate", its.accelerate, ACCELERATE)
    job = Job(
        **{name: getattr(its, name) for name in ("model", "output", "batch", "seed", "density", "min_plausibility")},
        domain=domain if start is None else start.domain,
        settings=settings,
        strategy=strategy,
        threshold=checked_threshold(its.threshold, its.output),
        start=None if start is None else start.codes,
        accelerate=its.accelerate == "auto" and limits.max_queries is None and may_screen(its.model),
        is_repeatable=is_repeatable(its.model),
        resolution=resolution_of(asker, limits.max_queries),
        model_id=checked_id(its.model_id, its.store),
    )
    if not job.is_repeatable and limits.max_queries is not None:  # without it, it is asked when all found is safe
        remarks += unsteadiness(asker, limits.max_queries)
    remarks += [*remarks_on_threshold(its.threshold, its.output), *_health_of_budget(job, limits, its.engine)]
    run = Run(job, limits, start, remarks, n_jobs, its.engine, teller(its.progress), asker)
    if its.store is None:
        found = run.found()
    else:
        with terminable(), StoredSearch.opened(its.store, job, limits, domain, start) as kept:
            found = run.found(kept)
    for name, message in found.health:
        warnings.warn(f"{name}: {message}", HealthWarning, stacklevel=3)  # where `search` was called
    return found


def _checked_strategy(settings: SearchSettings, its: SimpleNamespace) -> type[Strategy]:
    """Return the class of the strategy; refuse one that does not suit the model, `start` or `max_changes`."""
    strategy = load_strategy(strategy_path(settings.strategy))
    has_changes, got = settings.max_changes is not None, f"got strategy={settings.strategy!r}"
    if has_changes != (settings.strategy == NEARBY) or (has_changes and its.start is None):
        raise SettingError.about("max_changes", f"goes with rows to start from and strategy {NEARBY!r}, {got}")
    if its.start is not None and not strategy.is_local:
        raise SettingError.about("start", f"needs a strategy that walks from the rows given, {got}")
    return strategy


@done_by(_search, max_inputs="max_judged")
def search(
    model: Model,
    domain: Domain,
    *,
    strategy: str = AUTO,
    max_cases: int | None = 10_000,
    max_seconds: float | None = None,
    max_queries: int | None = None,
    max_judged: int | None = None,
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
            or "auto", which picks by what the model offers and by the limits given.
        max_cases: stop after this many distinct cases.
        max_seconds: stop after this many seconds.
        max_queries: never send more rows than this to the model.
        max_judged: never judge more inputs than this; repeats count again.
        max_barren: stop after this many judged inputs in a row without a new case.
        threshold: an input is discriminatory if its gap is above it; 0 for labels, else it must be given.
        output: "label", "score", "proba" or "value": what is compared.
        n_walkers: walkers in lockstep; with 1, the paper's algorithm trial by trial ("auto" is then "fully-directed").
        n_global: largest number of uniform inputs in a global round, whose cases are the start cases of the local
            search. Strategies beyond the paper start as soon as there are enough start cases.
        n_local: number of trials of a walker.
        delta_v: change of the probability of a direction by one trial.
        delta_pr: change of the probability of a parameter by one case.
        shard_inputs: number of judged inputs of a shard, the unit that is run, retried and spread over processes.
        hurry: True if all walkers of strategies beyond the paper begin at once, many at each start case. Each call is
            then about many inputs, which gives more cases per second and fewer per judged input. By default only
            with "auto", if `max_seconds` is given without a limit on queries or inputs.
        diversify: True if anchored and guided walkers leave exhausted or over-represented regions for other cases.
        seed: the same seed and settings give the same result; None draws one, which the result records.
        start: rows to start from instead of uniform inputs; numbers between two steps go to the nearer one, and a row
            whose sensitive value is not compared gets the first compared value.
        max_changes: with `start`, the largest number of changed values of a row. No uniform input is then drawn, so
            that every case is about one of your rows (`found.origins`). Values off the grid are kept.
        density: draw inputs from this density instead of uniformly, and judge none below `min_plausibility`; twins need
            only be allowed. Less plausible start rows are left out.
        min_plausibility: with `density`, the fraction of held-out rows that an input must be at least as likely as.
        n_jobs: number of processes; -1 is one for each core. The result does not depend on it. A run that is too short
            to gain by other processes stays in this one. A service is asked by one process, over the number of
            connections that its settings state.
        engine: who runs the shards: "local" (this process alone), "processes", "dask" (a local cluster of `n_jobs`
            workers) or "dask://host:port", a scheduler. By default "processes" if `n_jobs` asks for several. The result
            does not depend on it. A shard that keeps failing is left out with a remark; the search is "incomplete".
        accelerate: "auto" uses a faster stand-in for the model, if there is one: it proposes hits, and the model is
            asked about these alone. A stand-in is a compiled model, or a pipeline's last step on tables of the previous
            steps' outputs. "off" asks the model about all inputs, as does a limit on queries.
        batch: "array" or "frame", the form of the model's batches; by default the form on which it was fitted.
        linked: False ignores the domain's links and the constraints that they imply.
        store: a folder in which every finished shard is stored. A repeated call resumes the run where it ended, for any
            reason, and gives the result of an uninterrupted run; with higher limits it continues. Any other model,
            domain or setting is refused. Canary inputs detect a changed model. They are asked about at the start, at
            the end and when a run is resumed: 1,000 rows each time, in addition to `max_queries`.
        model_id: with `store`, a name that you give to this model, by which a resumed run recognises it. It is needed
            for a model whose content cannot be read, for example because it holds an open file.
        progress: True for a line on the standard error, or a callable that takes a `Status`.

    Returns:
        The cases, with the settings and the cost of the search. A failing model raises a ModelError that holds the
        cases so far in its `found`; Ctrl-C returns them.

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
    raise NotImplementedError


def _health_of_budget(job: Job, limits: Limits, engine: str | None) -> Iterator[Remark]:
    """Yield remarks on limits under which no local search starts, or under which shards cannot run in parallel."""
    settings = job.settings
    n_affordable = limits.max_queries and limits.max_queries // len(job.domain.families)
    budget = min(n for n in (limits.max_judged, n_affordable, settings.shard_inputs) if n is not None)
    n_first = min(LOOK, settings.n_global) if job.strategy.is_eager else settings.n_global
    if job.strategy.is_local and budget <= n_first:
        text = (
            f"{budget:,} inputs are no more than the {n_first:,} that a global round takes at least, so the local "
            f"search of {settings.strategy!r} never starts: raise the limit or lower n_global"
        )
        yield Remark("small-budget", text)
    if engine not in (None, "local") and limits.max_queries is not None and job.costs_vary:
        text = "inputs differ in their queries, so with max_queries one shard follows the other, all in this process"
        yield Remark("not-spread", text)
