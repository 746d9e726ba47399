"""`audit`: the phases one after the other, each with what is known so far; what is done stays, whatever happens."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arguments import Column, Outcome, WrittenFolder
from fairprobe.auditing import gating
from fairprobe.auditing.audit_settings import AuditSettings
from fairprobe.auditing.content import AuditParts, content_of, domain_words, plain
from fairprobe.auditing.folder import RunFolder
from fairprobe.auditing.libraries import versions_of
from fairprobe.auditing.result import Audit
from fairprobe.auditing.sensitivity import sensitivity
from fairprobe.checks import checked_seed, nearest
from fairprobe.domain import Density, Domain
from fairprobe.domain.health import health_of_columns
from fairprobe.engine.interrupts import deferred
from fairprobe.errors import DataError, FairprobeError, HealthWarning, InputError, ModelError, RunError, SettingError
from fairprobe.estimation import Share, breakdown, estimate, proxies
from fairprobe.estimation.favourable import favourable_in
from fairprobe.estimation.gate import UNBOUND, Gate
from fairprobe.estimation.populations import known_rows
from fairprobe.estimation.survey import combination_words
from fairprobe.explanation import explain
from fairprobe.model import Model
from fairprobe.model.adapters import columns_of
from fairprobe.model.asking import Asker
from fairprobe.oracle import checked_threshold
from fairprobe.progress import Progress, Status, teller
from fairprobe.searching import Found, search
from fairprobe.searching.settings import StopReason
from fairprobe.store.hashes import digest, hash_of_data, hash_of_model
from fairprobe.store.identity import checked_id

if TYPE_CHECKING:
    import pandas as pd

PHASES = ("shares", "impact", "search", "why", "proxies", "sensitivity", "retraining")

MOST_SETS = 3
"""With more sensitive parameters, each alone and all together, but not every set of them."""


def audit(
    model: Model,
    X: pd.DataFrame | Any,
    y: Any = None,
    *,
    sensitive: Sequence[str] | Mapping[str, Sequence[Any] | None] | None = None,
    domain: Domain | None = None,
    max_share: float | Mapping[str, float] | None = None,
    gate: str | None = None,
    favourable: Outcome | None = None,
    rows_are: str | None = None,
    output: str = "label",
    threshold: float | None = None,
    confidence: float = 0.95,
    min_comparable: float = AuditSettings.min_comparable,
    populations: Sequence[str] | None = None,
    linked: bool | None = None,
    method: str = AuditSettings.method,
    n_experiments: int = AuditSettings.n_experiments,
    n_samples: int = AuditSettings.n_samples,
    max_cases: int = AuditSettings.max_cases,
    search_cases: int = AuditSettings.search_cases,
    max_inputs: int = AuditSettings.max_inputs,
    max_barren: int = AuditSettings.max_barren,
    min_plausibility: float = AuditSettings.min_plausibility,
    explain_queries: int = AuditSettings.explain_queries,
    retrain: bool = False,
    retrain_seconds: float | None = None,
    mask: Sequence[Column] = (),
    show_rows: bool = False,
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
    """Audit a model: how common discriminatory inputs are, which and why, held against a limit.

    Args:
        model: anything with `predict`, or a callable that takes a batch and returns one output a row.
        X: real rows, a frame or an array with its columns in domain order.
        y: their labels; needed for retraining, and to tell what was in the data already.
        sensitive: the sensitive columns, where no domain is given; as a mapping with the values to compare.
        domain: what an input may be, with its constraints and links; by default what the rows span.
        max_share: the share allowed; or by who is worse off: ``{"sex=Female": 0.01}``, with `favourable`.
        gate: the population that the limit is about, by default the rows; "plain" or "linked" names one share of it.
        favourable: the good outcome, to say who is worse off, as in `estimate`: a label or class that the model gives,
            or "highest" or "lowest".
        rows_are: "held-out", "training" or "unknown", the default: as in `estimate`.
        output: "label", "score", "proba" or "value": what is compared.
        threshold: an input is discriminatory if its gap is above it; 0 for labels, else it must be given.
        confidence: of all intervals.
        min_comparable: nothing passes unless so much of the population could be compared.
        populations: some of rows, density, domain and valid; by default all there are.
        linked: in a domain with links, True or False for linked or plain twins alone; None for both.
        method: as in `estimate`, for the domain and its valid part.
        n_experiments: of a sample.
        n_samples: inputs of an experiment.
        max_cases: cases and rows shown in the report; the search may find more.
        search_cases: the search stops after so many,
        max_inputs: or after so many inputs,
        max_barren: or when so many in a row brought no new case.
        min_plausibility: inputs of the search are at least as likely as this part of held-out rows.
        explain_queries: rows that the explanation may ask the model about.
        retrain: whether to try whether training can make the shares smaller.
        retrain_seconds: for that, at most; with it the result depends on the machine.
        mask: columns whose values appear in no output.
        show_rows: whether the report shows real rows; by default only their index and what differs.
        seed: the same seed and settings give the same bytes.
        date: as the report is to say it.
        title: of the report.
        name: of the model.
        data_name: of the data.
        folder: where everything is kept, with a list of all attempts on the same model and data.
        store: a folder that keeps what the shares and the search are made of, a run for each (see `search`): the same
            audit made again goes on from there, whatever ended it.
        model_id: a name for this very model, by which it is told from others in place of what it is made of.
        selfcheck: whether to try first, for some seconds and once a process, if all measures right on this machine, for
            the report; or what `fairprobe selfcheck` said elsewhere: ``{"ok": True, "line": "..."}``.
        command: that reproduces it, for the report.
        batch: "array" or "frame" to say what the model eats; by default as it was fitted.
        progress: True for lines on the standard error, or a callable that takes a `Status`.

    Ctrl-C keeps the phases that are done: the result says which one was under way. A phase that fails leaves a remark,
    as `no-why`, and the others go on; without the share that the limit binds there is no result but an error, whose
    `found` is the audit so far.

    >>> import pandas as pd
    >>> from fairprobe import audit
    >>> rows = pd.DataFrame({"age": range(20, 60), "sex": ["Female", "Male"] * 20})
    >>> model = lambda frame: (frame["age"] > 50) | ((frame["sex"] == "Male") & (frame["age"] > 40))
    >>> audit(model, rows, sensitive=["sex"], max_share=0.01).verdict
    Verdict(violated: more than the 1% allowed change their outcome with sex (25% of the rows (10 of 40); ...))
    """
    given = {key: value for key, value in locals().items() if key in AuditSettings.__dataclass_fields__}
    run = Auditing(
        model,
        checked_inputs(model, X, sensitive, domain),
        X,
        y,
        AuditSettings(**given),
        checked_seed(seed),
        progress,
    )
    about = {"date": date, "title": title, "name": name, "data_name": data_name}
    run.model_id = checked_id(model_id, store or folder or "")
    run.prepare({**about, "command": command}, folder, selfcheck)
    run.store = None if store is None else Path(store)
    return run.run()


class Auditing:
    """One audit."""

    def __init__(
        self,
        model: Any,
        domain: Domain,
        X: Any,
        y: Any,
        settings: AuditSettings,
        seed: int,
        progress: bool | Progress = False,
    ) -> None:
        checked_threshold(settings.threshold, settings.output)
        self.model = model
        self.domain = domain
        if y is None and settings.retrain:
            raise SettingError.about("retrain", "needs the labels of the rows: give y, got None")
        given = domain.rows(X, y=y)
        self.rows, self.labels = given.frame, given.labels
        self.settings = settings
        self.seed = seed
        self.progress = teller(progress)
        self.parts = AuditParts(domain, self.rows, settings, seed)
        if not self.rows.index.is_unique:
            self.rows = self.parts.rows = self.rows.reset_index(drop=True)
            self.parts.remark("repeated-index", "the rows' index repeats itself: rows go by place, from 0", "shares")
        self.folder: RunFolder | None = None
        self.store: Path | None = None
        """Where what is asked is kept, a run for each part."""
        self.asker: Asker | None = None
        """Knows how many rows are sent from before the first on."""
        self.model_id: str | None = None
        self._n_stored = 0
        self.phase = ""
        self.populations: dict[str, Any] = {}
        """Those asked for, that of the gate first: it makes the verdict."""
        _check_names("mask", settings.mask, domain)
        _check_directions(settings, domain)
        asked: dict[str, Any] = {name: getattr(settings, name) for name in ("output", "threshold", "batch")}
        self.favourable = favourable_in(settings.favourable, model, domain, self.rows, **asked)
        """The good outcome, which the model does give."""

    # Before the work

    def prepare(self, about: Mapping[str, Any], folder: Any, selfcheck: bool | Mapping[str, Any]) -> None:
        """Everything that can be refused is refused here; hashes, and the attempts on the same model and data."""
        parts, settings = self.parts, self.settings
        if folder is not None:
            self.folder = RunFolder(folder)
        self.choose_populations()
        parts.about = {**about, "selfcheck": _checked_itself() if selfcheck is True else selfcheck or None}
        parts.name = about["name"] or type(self.model).__name__
        parts.kind = type(self.model).__name__
        parts.versions = versions_of(self.model)
        for check, message in health_of_columns(self.rows, self.domain):
            parts.remark(check, message, "data")
        self.asker = Asker(self.model, self.domain, output=settings.output, batch=settings.batch)
        parts.model_hash, parts.model_hash_of, n_queries = hash_of_model(
            self.model, self.domain, self.rows, settings.output, settings.batch, self.model_id
        )
        parts.sampling.append(_sampled("hash", "canaries, which tell one model from another", "uniform", n_queries))
        if self.favourable is not None and self.favourable.n_queries:
            n_queries = self.favourable.n_queries
            parts.sampling.append(_sampled("favourable", "whether the outcome is ever seen", "rows, inputs", n_queries))
        parts.data_hash = hash_of_data(self.rows[list(self.domain.names)], self.labels)
        parts.config = self._config()
        if self.folder is not None:
            parts.attempts = self.folder.begin(self._attempt("not finished"))

    @cached_property
    def _density(self) -> Density | None:
        """Fitted to the rows when it is first asked for; None of rows that are too few."""
        try:
            self.parts.density = Density.fit(self.domain, self.rows, seed=self.seed)
        except DataError as error:
            if "density" in (self.settings.populations or ()):
                raise
            self.parts.remark("no-density", f"{error}", "shares")
        return self.parts.density

    def choose_populations(self) -> None:
        """Those asked for; refuses those that there cannot be."""
        asked = self.settings.populations
        density = self._density if asked is None or "density" in asked else None
        every = {"rows": self.rows, "density": density, "domain": "domain"}
        every["valid"] = "valid" if self.domain.constraints else None
        names = asked or [name for name, population in every.items() if population is not None]
        if "valid" in names and not self.domain.constraints:
            raise SettingError.about("populations", "may name 'valid' in a domain with constraints only, got none")
        gate = Gate.of(self.settings.gate).named(names)
        self.populations = {name: every[name] for name in sorted(names, key=lambda each: each != gate)}

    def _config(self) -> dict[str, Any]:
        """All settings, plain, and the domain: what else than the seed the figures depend on."""
        mask = self.parts.mask
        config = {**self.settings.plain(), "domain": domain_words(self.domain, mask)}
        return {**mask.everywhere(plain(config)), "mask": list(mask.columns)}

    def _attempt(self, outcome: str) -> dict[str, Any]:
        parts = self.parts
        return {
            "model": parts.model_hash,
            "data": parts.data_hash,
            "config_hash": digest(parts.config),
            "seed": self.seed,
            "date": parts.about["date"],
            "outcome": outcome,
        }

    # The phases

    def run(self) -> Audit:
        """All phases; one that fails leaves a remark, and the others go on. Without the share of the gate all fails."""
        failure: RunError | None = None
        for phase in PHASES:
            try:
                self.go(phase)
            except KeyboardInterrupt:
                self.parts.interrupted = self.phase
            except Exception as error:
                if not self.parts.sets:
                    if isinstance(error, InputError):
                        raise  # nothing is known yet
                    failure = error if isinstance(error, RunError) else RunError(_in_words(error))
                    self.parts.interrupted = f"{self.phase}, which failed: {error}"
                self.failed(phase, error)
            if self.parts.interrupted is not None:
                break
        with deferred():  # Ctrl-C while all is written down comes too late, and loses nothing
            result = self._result()
        if failure is not None:
            failure.found = result
            raise failure
        return result

    def failed(self, phase: str, error: Exception, check: str | None = None) -> None:
        """Keep what a phase found before it failed, and say why it did."""
        found = getattr(error, "found", None)
        if isinstance(found, Found):
            self.parts.found = found
        self.parts.remark(check or f"no-{phase}", _in_words(error), phase)

    def go(self, phase: str) -> None:
        """One phase; what health checks have to say is kept."""
        work: dict[str, Callable[[], None]] = {
            "shares": self._shares,
            "impact": self._impact,
            "search": self._search,
            "why": self._why,
            "proxies": self._proxies,
            "sensitivity": self._sensitivity,
            "retraining": self._retraining,
        }
        if phase == "retraining" and not self.settings.retrain:
            return
        self.phase = phase
        self._tell(f"{phase} ...")
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", HealthWarning)
                work[phase]()
        finally:
            self.keep_health(caught)

    def judged(self) -> gating.Judged:
        """What the shares so far say of the limits."""
        return gating.judged(self.parts.main, self.settings, self.favourable)

    def _result(self) -> Audit:
        parts = self.parts
        parts.judged = self.judged()
        parts.n_sent = None if self.asker is None else self.asker.sent
        outcome = "interrupted" if parts.interrupted else parts.judged.outcome
        if self.folder is not None:
            parts.attempts = self.folder.end(self._attempt(outcome))
        result = Audit(parts, content_of(parts))
        if self.folder is not None:
            try:
                self.folder.write(result)
            except RunError as error:
                error.found = result  # a full disk is no reason to lose what was found
                raise
        self._tell(parts.judged.sentence, is_over=True)
        return result

    def _shares(self) -> None:
        """Population after population, those that are about people first."""
        parts = self.parts
        for name, population in self.populations.items():
            try:
                parts.sets[name] = self._estimate(population, name)
            except Exception as error:
                if not parts.sets:
                    raise  # that of the gate comes first: without it there is no verdict
                parts.remark("no-share", f"{name}: {_in_words(error)}", "shares")
                continue
            self._tell(f"{name}: {parts.main[name].sentence()}", is_over=True)
        if "rows" in parts.sets:
            parts.n_relabelled = self._relabelled()

    def _relabelled(self) -> int | None:
        """How many rows change their label, by whichever twins: an answer may move without that."""
        settings, linked = self.settings, self.settings.linked if self.domain.links else None
        if settings.output not in ("score", "proba") or self.asker is None or self.asker.adapter.is_function:
            return None
        rows = self.rows.reset_index(drop=True)
        try:
            share = estimate(self.model, self.domain, rows, linked=linked, seed=self.seed, batch=settings.batch)
        except (ModelError, SettingError):  # it gives no labels
            return None
        self.parts.sampling.append(_sampled("shares", "labels", "all rows given", share.n_queries, share.n))
        sides = [side.cases for side in (share, share.plain) if side is not None and side.cases is not None]
        return len(set().union(*(cases.index for cases in sides)))

    def _estimate(self, population: Any, name: str, **changes: Any) -> list[Share]:
        """The shares by set of sensitive parameters, all of them together last."""
        settings, domain = self.settings, changes.get("domain", self.domain)
        names = list(domain.sensitive)
        sets = None if len(names) <= MOST_SETS else [*([each] for each in names), names]
        linked = settings.linked if domain.links else None
        is_gate = name == next(iter(self.populations))
        found = breakdown(
            self.model,
            domain,
            population,
            sets=sets,
            n_experiments=settings.n_experiments,
            n_samples=settings.n_samples,
            confidence=settings.confidence,
            method=settings.method,
            threshold=changes.get("threshold", settings.threshold),
            output=settings.output,
            seed=self.seed,
            batch=settings.batch,
            linked=linked,
            favourable=self.favourable,
            rows_are=settings.rows_are,
            gate=settings.gate if is_gate else UNBOUND,
            store=self._next_store(name),
            model_id=self.model_id if self.store else None,
            progress=self._under_way(name),
        )
        *apart, together = found.values()
        return [*(gating.at_confidence(share, settings.confidence) for share in apart), together]

    def _next_store(self, name: str) -> Path | None:
        """Parts come in the same order each time, so that a number tells those of one name apart."""
        self._n_stored += 1
        return None if self.store is None else self.store / f"{self._n_stored:02d}-{name}"

    def _impact(self) -> None:
        """How often real rows get the good outcome as they are, by sensitive value."""
        settings, parts = self.settings, self.parts
        if self.favourable is None or not self.favourable.is_label:
            return
        asker = Asker(self.model, self.domain, output="label", batch=settings.batch)
        rows, _ = known_rows(self.domain.rows(self.rows))  # as for shares: what is unknown is not asked about
        good = np.asarray(asker.ask_frame(rows) == self.favourable.word)
        parts.sampling.append(_sampled("impact", "rows as they are", "all rows given", len(rows)))
        for name in self.domain.sensitive:
            column = rows[name].astype(object)
            counts = [
                (value, column == value) for value in sorted(column.dropna().unique(), key=lambda v: (str(type(v)), v))
            ]
            rates = [(value, int(mask.sum()), int(good[mask.to_numpy()].sum())) for value, mask in counts]
            best = max((n_good / n for _, n, n_good in rates), default=0.0)
            parts.impact += [
                (name, value, n, n_good, n_good / n, n_good / n / best if best else None) for value, n, n_good in rates
            ]

    def _search(self) -> None:
        """From the rows, within the density where there is one."""
        parts, settings = self.parts, self.settings
        if not _can_differ(self.domain):
            parts.remark(
                "nothing-to-compare", "no twin differs to the model, so there is nothing to search for", "search"
            )
            return
        within: dict[str, Any] = {}
        if self._density is not None:
            within = {"density": self._density, "min_plausibility": settings.min_plausibility}
        arguments = {
            "max_cases": settings.search_cases,
            "max_judged": settings.max_inputs,
            "max_barren": settings.max_barren,
            "threshold": settings.threshold,
            "output": settings.output,
            "seed": self.seed,
            "batch": settings.batch,
            "linked": settings.linked is not False,
            "progress": self._under_way("search") or False,
            "store": self._next_store("search"),
            "model_id": self.model_id if self.store else None,
            **within,
        }
        try:
            parts.found = search(self.model, self.domain, start=self.rows, **arguments)
        except DataError as error:  # no row can be started from
            parts.remark("not-from-rows", f"{error}", "search")
            parts.found = search(self.model, self.domain, **arguments)
        if parts.found.stop_reason is StopReason.INTERRUPTED:
            parts.interrupted = self.phase
        self._tell(f"search: {parts.found.n_cases:,} cases in {parts.found.n_distinct:,} inputs", is_over=True)

    def _why(self) -> None:
        parts, settings = self.parts, self.settings
        if parts.found is None or not parts.found.n_cases:
            return
        parts.why = explain(
            parts.found,
            self.model,
            self.rows,
            self.labels,
            favourable=self.favourable,
            max_queries=settings.explain_queries,
            seed=self.seed,
            batch=settings.batch,
            progress=self._under_way("why") or False,
        )
        self._tell(f"why: {parts.why.sentences()[0]}", is_over=True)

    def _proxies(self) -> None:
        """What of the other columns gives the sensitive ones away."""
        parts = self.parts
        parts.proxies = proxies(
            self.rows[list(self.domain.names)],
            self.domain.sensitive,
            confidence=self.settings.confidence,
            seed=self.seed,
        )

    def _sensitivity(self) -> None:
        """How the verdict hangs on what was chosen, on the population that it is about."""
        parts, settings = self.parts, self.settings
        name = self.judged().population
        population = self.populations[name]

        def estimate(**changes: Any) -> Share:
            share = self._estimate(population, name, **changes)[-1]
            parts.sampling.append(_sampled("sensitivity", "the same inputs again", name, share.n_queries, share.n))
            return share

        parts.sensitivity = list(sensitivity(parts.main[name], self.domain, settings, self.favourable, estimate))

    def _retraining(self) -> None:
        from fairprobe.retraining import retrain

        parts, settings = self.parts, self.settings
        good = self.favourable
        parts.retrained = retrain(
            self.model,
            self.rows,
            self.labels,
            self.domain,
            max_seconds=settings.retrain_seconds,
            favourable=None if good is None else good.label,
            seed=self.seed,
            confidence=settings.confidence,
            threshold=settings.threshold,
            output=settings.output,
            batch=settings.batch,
            search_seconds=None,
            progress=self._under_way("retraining") or False,
        )

    # What is told meanwhile

    def _tell(self, text: str, *, is_over: bool = False) -> None:
        if self.progress is not None:
            self.progress(Status(text, {"phase": self.phase}, is_over=is_over))

    def _under_way(self, title: str) -> Progress | None:
        tell = self.progress
        if tell is None:
            return None
        return lambda status: tell(replace(status, text=f"{title}: {status.text}", is_over=False))

    def keep_health(self, caught: Sequence[Any]) -> None:
        """Health checks go into the content; all other warnings are passed on."""
        for warning in caught:
            if issubclass(warning.category, HealthWarning):
                check, _, message = str(warning.message).partition(": ")
                self.parts.remark(check, message, self.phase)
            else:
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def _in_words(error: Exception) -> str:
    return str(error) if isinstance(error, FairprobeError) else f"{type(error).__name__}: {error}"


def _sampled(phase: str, what: str, distribution: str, n_queries: int, n_inputs: int | None = None) -> dict[str, Any]:
    return {
        "phase": phase,
        "what": what,
        "distribution": distribution,
        "n_inputs": n_queries if n_inputs is None else n_inputs,
        "n_queries": n_queries,
    }


@cache
def _checked_itself() -> dict[str, Any]:
    from fairprobe.testing.selfcheck import selfcheck

    said = selfcheck()
    return {"ok": said.ok, "line": said.line}


def checked_inputs(model: Any, X: Any, sensitive: Any, domain: Domain | None) -> Domain:
    """The domain given, or what the rows span; sensitive columns that the model does not take are hidden."""
    if domain is None:
        if sensitive is None:
            raise SettingError.about("sensitive", "must name the sensitive columns where no domain is given, got None")
        domain = Domain.from_frame(X, sensitive=sensitive)
    elif sensitive is not None:
        raise SettingError.about("sensitive", "is said by the domain already, got both: leave one of them out")
    columns = columns_of(model, domain)
    lacking = [name for name in domain.sensitive if columns is not None and name not in columns]
    return domain.hiding([*domain.hidden, *lacking]) if set(lacking) - set(domain.hidden) else domain


def _can_differ(domain: Domain) -> bool:
    """Whether twins can be different rows to the model at all."""
    return bool(domain.links) or set(domain.sensitive) != set(domain.hidden)


def _check_directions(settings: AuditSettings, domain: Domain) -> None:
    known = [combination_words(domain, place) for place in range(len(domain.combinations))]
    for name in settings.directions:
        if name not in known:
            rule = f"by who is worse off must name combinations of sensitive values, of {', '.join(known)}"
            raise SettingError.about("max_share", f"{rule}; got {name!r}{nearest(name, known)}")


def _check_names(argument: str, names: Sequence[str], domain: Domain) -> None:
    for name in names:
        if name not in domain.names:
            rule = f"must name parameters, of {', '.join(domain.names)}"
            raise SettingError.about(argument, f"{rule}; got {name!r}{nearest(name, domain.names)}")
        if name in domain.sensitive:
            raise SettingError.about(argument, f"must name parameters that are not sensitive, got {name!r}")
