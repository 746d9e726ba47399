"""The function `audit`: prepares the state, runs the phases in order, and keeps finished results after a failure."""

from __future__ import annotations

import gc
import platform
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib.metadata import packages_distributions, version
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from fairprobe._version import __version__
from fairprobe.arguments import Column, Outcome, WrittenFolder, done_by
from fairprobe.auditing.content import domain_words, plain
from fairprobe.auditing.phases import PHASES, in_words
from fairprobe.auditing.result import UNFINISHED, Audit, RunFolder
from fairprobe.auditing.state import NOT_IN_CONFIG, AuditSettings, AuditState, heard
from fairprobe.checks import check_names
from fairprobe.domain import Domain
from fairprobe.domain.health import health_of_columns
from fairprobe.engine.interrupts import deferred
from fairprobe.errors import InputError, RunError, SettingError
from fairprobe.estimation.counts import combination_words
from fairprobe.estimation.favourable import favourable_in
from fairprobe.estimation.populations import as_taken
from fairprobe.estimation.verdict import IMPACT, MIN_COMPARABLE, Gate
from fairprobe.model import Model
from fairprobe.model.asking import Asker
from fairprobe.model.known import codes_of, package_of
from fairprobe.oracle import remarks_on_threshold
from fairprobe.progress import Progress
from fairprobe.report.value_names import checked_names
from fairprobe.searching import Found
from fairprobe.store.digests import digest, hash_of_data, hash_of_model

if TYPE_CHECKING:
    import pandas as pd


def _audit(model: Model, X: Any, y: Any, **asked: Any) -> Audit:
    """Run an audit: the implementation of `audit`, which declares the arguments."""
    settings = AuditSettings(**asked)
    run = begin(model, checked_inputs(model, X, settings.sensitive, settings.domain), X, y, settings)
    run.folder = None if settings.folder is None else RunFolder(settings.folder)
    identify(run)
    return run_phases(run)


@done_by(_audit, max_inputs="max_judged")
def audit(
    model: Model,
    X: pd.DataFrame | Any,
    y: Any = None,
    *,
    sensitive: Sequence[str] | Mapping[str, Sequence[Any] | None] | None = None,
    domain: Domain | None = None,
    max_share: float | Mapping[str, float] | None = None,
    gate: str | None = None,
    min_ratio: float | None = None,
    favourable: Outcome | None = None,
    rows_are: str | None = None,
    keep: Sequence[Column] | None = None,
    output: str = "label",
    threshold: float | None = None,
    confidence: float = 0.95,
    min_comparable: float = MIN_COMPARABLE,
    populations: Sequence[str] | None = None,
    linked: bool | None = None,
    method: str = "auto",
    n_experiments: int = 100,
    n_samples: int = 1000,
    width: float | None = 0.02,
    report_cases: int = 1000,
    search_cases: int = 10_000,
    max_queries: int = 2_000_000,
    max_judged: int = 200_000,
    max_barren: int = 100_000,
    min_plausibility: float = 0.05,
    explain_queries: int = 300_000,
    retrain: bool = False,
    retrain_seconds: float | None = None,
    mask: Sequence[Column] = (),
    show_rows: bool = False,
    labels: Mapping[str, Mapping[Any, str]] | None = None,
    seed: int | None = 0,
    date: str | None = None,
    title: str | None = None,
    name: str | None = None,
    data_name: str | None = None,
    folder: WrittenFolder | None = None,
    store: WrittenFolder | None = None,
    model_id: str | None = None,
    selfcheck: bool | Mapping[str, Any] = True,
    command: str | None = None,
    batch: str | None = None,
    progress: bool | Progress = False,
) -> Audit:
    """Audit a model: measure how common discriminatory inputs are, find and explain cases, and compare with a limit.

    Args:
        model: anything with `predict`, or a callable that takes a batch and returns one output per row.
        X: real rows, as a frame or as an array with its columns in domain order.
        y: the labels of the rows. Retraining needs them; with them, an explanation compares cases to the data.
        sensitive: the sensitive columns, if no domain is given; a mapping also names the values to compare.
        domain: what an input may be, with its constraints and links. By default, what the rows span.
        max_share: the largest share allowed. Or limits by who is worse off, as ``{"sex=Female": 0.01}``, with
            `favourable`.
        gate: the population that the limit is about, by default the rows; "plain" or "linked" names one share of it.
            "matched" names the share by matched twins, and needs `keep`. "impact" names the ratio of the observed
            rates of the favourable label: the lowest rate of a group divided by the highest.
        min_ratio: with the gate "impact", the smallest ratio allowed, 0.8 by default.
        favourable: the good outcome, to say who is worse off: a label or class that the model gives, or "highest" or
            "lowest".
        rows_are: "held-out", "training" or "unknown", the default: what the rows are to the model. See `estimate`.
        keep: the columns that stay unchanged in matched twins, which are measured for each sensitive column that the
            model does not take. See `estimate`.
        output: "label", "score", "proba" or "value": the output that is compared.
        threshold: an input is discriminatory if its gap is above this number. It is 0 for labels; all other outputs
            need one.
        confidence: the confidence of all intervals.
        min_comparable: the least fraction of the population that must be comparable for a limit to be passed.
        populations: some of rows, density, domain and valid; by default all there are.
        linked: for a domain with links, True or False for linked or plain twins alone; None for both.
        method: how shares of the domain and of its allowed part are measured, as in `estimate`.
        n_experiments: the number of experiments of a sample.
        n_samples: the number of inputs of an experiment.
        width: a sample that no limit binds stops as soon as its interval is no wider than this. None takes all
            experiments.
        report_cases: the most cases, and the most rows that get another answer, in the report.
        search_cases: the search stops after this many cases.
        max_queries: the most rows that the model may be asked about. The shares of the rows come first and are always
            whole; what is left is for further populations, the search and the explanation. A part that has too few
            says so.
        max_judged: the search stops after it has judged this many inputs.
        max_barren: the search stops after this many judged inputs in a row without a new case.
        min_plausibility: inputs of the search are at least as likely as this fraction of held-out rows.
        explain_queries: the most rows that the explanation may ask the model about.
        retrain: try whether training can make the shares smaller.
        retrain_seconds: the longest time for retraining; with it the result depends on the machine.
        mask: columns whose values appear in no output.
        show_rows: show real rows in the report. By default it has their index and what differs.
        labels: names of values, by column, for all that people read: ``{"sex": {0: "women", 1: "men"}}``. Outcomes of
            the model are named under the name of `y`, or "outcome". Figures and rules keep the values.
        seed: equal seeds and settings give equal bytes.
        date: the date that the report shows.
        title: the title of the report.
        name: the name of the model in the report.
        data_name: the name of the data in the report.
        folder: the folder that keeps all results, with a list of all attempts on the same model and data.
        store: a folder that keeps finished parts of the shares and of the search (see `search`). The same audit, run
            again, continues from them.
        model_id: a name that identifies the model, in place of a digest of its content.
        selfcheck: check at the end that fairprobe measures correctly on this machine, once per process.
            Or the result of `fairprobe selfcheck` elsewhere, as ``{"ok": True, "line": "..."}``.
        command: the command that repeats the audit, for the report.
        batch: "array" or "frame": what the model takes. By default, what it was fitted on.
        progress: True for lines on the standard error, or a callable that takes a `Status`.

    Ctrl-C keeps the phases that are done, and the result says which phase it stopped. A phase that fails leaves a
    remark such as `no-why`, and the others go on. Without the share that the limit binds, an error is raised, whose
    `found` is the audit so far.

    >>> import pandas as pd
    >>> from fairprobe import audit
    >>> rows = pd.DataFrame({"age": range(20, 60), "sex": ["Female", "Male"] * 20})
    >>> model = lambda frame: (frame["age"] > 50) | ((frame["sex"] == "Male") & (frame["age"] > 40))
    >>> audit(model, rows, sensitive=["sex"], max_share=0.01).verdict
    Verdict(violated: 25% of the rows (10 of 40) get another outcome when sex changes; the limit is 1%)
    """
    raise NotImplementedError


# Before the work: everything that can be refused is refused here


def checked_inputs(model: Any, X: Any, sensitive: Any, domain: Domain | None) -> Domain:
    """Return the given domain or, without one, a domain inferred from the rows `X`.

    Sensitive columns that the model does not take as input are marked as hidden.
    """
    if domain is None:
        if sensitive is None:
            raise SettingError.about("sensitive", "must name the sensitive columns where no domain is given, got None")
        domain = Domain.from_frame(X, sensitive=sensitive)
    elif sensitive is not None:
        raise SettingError.about("sensitive", "is said by the domain already, got both: leave one of them out")
    return as_taken(model, domain)


def begin(model: Any, domain: Domain, X: Any, y: Any, settings: AuditSettings) -> AuditState:
    """Return the state of a new audit, with its populations and favourable outcome, after checking the arguments."""
    if y is None and settings.retrain:
        raise SettingError.about("retrain", "needs the labels of the rows: give y, got None")
    given = domain.rows(X, y=y)
    of_threshold = list(remarks_on_threshold(settings.threshold, settings.output))
    settings = settings.but(threshold=None) if of_threshold else settings
    run = AuditState(model, domain, given.frame, given.labels, settings)
    for check, message in of_threshold:
        run.remark(check, message, "data")
    if not run.rows.index.is_unique:
        run.rows = run.rows.reset_index(drop=True)
        run.remark("repeated-index", "the rows' index repeats itself: rows are numbered from 0", "shares")
    others = [name for name in domain.names if name not in domain.sensitive]
    check_names("mask", settings.mask, others, "must name parameters that are not sensitive,")
    known = [combination_words(domain, place) for place in range(len(domain.combinations))]
    rule = "by who is worse off must name combinations of sensitive values,"
    check_names("max_share", settings.directions, known, rule)
    asked = settings.some("output", "threshold", "batch")
    run.favourable = favourable_in(settings.favourable, model, domain, run.rows, **asked)
    is_label = run.favourable is not None and run.favourable.is_label
    if Gate.of(settings.gate).twins == IMPACT and not is_label:
        raise SettingError.about("favourable", f"must be a label for gate='impact', got {settings.favourable!r}")
    label, masked = getattr(y, "name", None), frozenset(run.mask.columns)
    run.value_names = checked_names(settings.labels, domain, model, run.rows, label, masked, **asked)
    choose_populations(run)
    return run


def choose_populations(run: AuditState) -> None:
    """Set `run.populations` to the requested populations; the one that the limit binds comes first.

    Without a request, it chooses all populations that the data allow. A requested population that they do not allow
    raises a SettingError.
    """
    asked, gate = run.settings.populations, Gate.of(run.settings.gate)
    if "valid" in (asked or ()) and not run.domain.constraints:
        raise SettingError.about("populations", "may name 'valid' in a domain with constraints only, got none")
    names = list(asked or ["rows", "density", "domain", *(["valid"] if run.domain.constraints else [])])
    # Else the density is fitted when it is needed, so that the share of the rows is known first.
    is_asked = "density" in (asked or ()) or gate.population == "density"
    if is_asked and "density" in names and run.fit_density() is None:
        names.remove("density")
    run.populations = sorted(names, key=lambda each: each != gate.named(names))


def identify(run: AuditState) -> None:
    """Set `run.identity` to the digests of model, data and settings, and record the attempt.

    The attempt is recorded before the work, so that a broken-off one counts too.
    """
    settings, domain = run.settings, run.domain
    for check, message in health_of_columns(run.rows, domain):
        run.remark(check, message, "data")
    run.asker = Asker(run.model, domain, output=settings.output, batch=settings.batch)
    asked = settings.some("output", "batch", "model_id")
    model_hash, hash_of, n_queries = hash_of_model(run.model, domain, run.rows, **asked)
    run.sampling.append(("hash", "canaries, which tell one model from another", "uniform", n_queries, n_queries))
    if run.favourable is not None and run.favourable.n_queries:
        n = run.favourable.n_queries
        run.sampling.append(("favourable", "whether the outcome is ever seen", "rows, inputs", n, n))
    config = run.mask.everywhere(plain(vars(settings), but=NOT_IN_CONFIG))
    config |= {"mask": list(run.mask.columns), "domain": domain_words(domain, run.mask)}
    run.identity = {
        "model": {"name": run.name, "kind": type(run.model).__name__, "hash": model_hash, "hash_of": hash_of},
        "data": {
            "name": settings.data_name,
            "n_rows": len(run.rows),
            "hash": hash_of_data(run.rows[list(domain.names)], run.labels),
            "role": settings.rows_are,
        },
        "config": config,
        "config_hash": digest(config),
        "versions": versions_of(run.model),
    }
    if run.folder is not None:
        run.attempts = run.folder.note({**run.attempt, "outcome": UNFINISHED})


# The packages that a model uses: those of its class, of its parts, and of names in its functions

PACKAGES = ("numpy", "pandas", "scikit-learn", "scipy")
"""Names of the packages whose versions every audit states."""

MOST_LOOKED_AT = 5_000
"""Largest number of objects within a model whose classes are looked at, the nearest to the model first; chosen."""


def versions_of(model: Any) -> dict[str, str]:
    """Return versions by name: those of fairprobe, Python, the packages of every audit, and the model's packages."""
    roots = _roots(model) - {"fairprobe", *sys.stdlib_module_names}
    names = {*PACKAGES}.union(*(_by_module().get(root, ()) for root in roots))
    told = {"fairprobe": __version__, "python": platform.python_version()}
    return told | {name: version(name) for name in sorted(names)}


@cache
def _by_module() -> dict[str, Sequence[str]]:
    return {**packages_distributions()}


def _roots(model: Any) -> set[str]:
    """Return the names of the top-level modules that the classes of a model and of its parts come from."""
    roots, seen, queue = set(), {id(model): model}, deque([model])
    while queue and len(seen) < MOST_LOOKED_AT:
        each = queue.popleft()
        names = [getattr(one, "__module__", None) for one in (*type(each).__mro__, each)]
        names += [each.__name__] if isinstance(each, ModuleType) else []
        roots |= set(map(package_of, names)) - {""}
        new = {id(part): part for part in _parts(each) if id(part) not in seen}
        seen |= new
        queue.extend(new.values())
    return roots


def _parts(of: Any) -> Sequence[Any]:
    """Return the objects that an object holds, or that a function refers to; empty for a class or a module."""
    if isinstance(of, FunctionType):
        names = (name for code in codes_of(of.__code__) for name in code.co_names)
        named = [of.__globals__[name] for name in names if name in of.__globals__]
        return [*named, *(of.__closure__ or ()), *(of.__defaults__ or ())]
    return () if isinstance(of, (type, ModuleType)) else gc.get_referents(of)


# The work


def run_phases(run: AuditState) -> Audit:
    """Run all phases and return the audit; a phase that fails leaves a remark, and the next ones still run.

    An error before the share that the limit binds is raised, with the audit so far as its `found`.
    """
    failure: RunError | None = None
    for phase in PHASES:
        try:
            go(run, phase)
        except KeyboardInterrupt:
            run.interrupted = run.phase
        except Exception as error:
            if not run.sets:
                if isinstance(error, InputError):
                    raise  # nothing is known yet
                failure = error if isinstance(error, RunError) else RunError(in_words(error))
                run.interrupted = f"{run.phase}, which failed: {error}"
            failed(run, phase, error)
        if run.interrupted is not None:
            break
    with deferred():  # Ctrl-C while all is written down comes too late, and loses nothing
        result = _finished(run)
    if failure is not None:
        failure.found = result
        raise failure
    return result


def go(run: AuditState, phase: str) -> None:
    """Run one phase, which adds its results to the state; its health checks are kept as remarks."""
    if phase == "retraining" and not run.settings.retrain:
        return
    run.phase = phase
    run.tell(f"{phase} ...")
    with heard(partial(run.remark, phase=phase)):
        PHASES[phase](run)


def failed(run: AuditState, phase: str, error: Exception, check: str | None = None) -> None:
    """Record the failure of a phase as a remark named `check`, and keep the cases that a failed search had found."""
    found = getattr(error, "found", None)
    if isinstance(found, Found):
        run.found = found
    run.remark(check or f"no-{phase}", in_words(error), phase)


def _finished(run: AuditState) -> Audit:
    if run.folder is not None:
        run.attempts = run.folder.note(run.attempt)
    result = Audit.of(run)
    if run.folder is not None:
        try:
            run.folder.write(result)
        except RunError as error:
            error.found = result  # a full disk is no reason to lose what was found
            raise
    run.tell(run.judged.sentence, is_over=True)
    return result
