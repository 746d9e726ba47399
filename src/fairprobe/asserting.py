"""A limit as an assertion, for tests: the verdict of an audit, or an error that says where and how to see it again.

The pytest plugin, `fairprobe_pytest`, calls it; it knows nothing of pytest.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairprobe.auditing.auditing import begin, checked_inputs, choose_populations, failed, go
from fairprobe.auditing.evidence import case_order
from fairprobe.auditing.gating import Judged
from fairprobe.auditing.settings import AuditSettings
from fairprobe.auditing.state import AuditState
from fairprobe.checks import checked_count, checked_seed
from fairprobe.domain import Domain
from fairprobe.errors import FairprobeError, HealthWarning, SettingError
from fairprobe.estimation.gate import Gate
from fairprobe.estimation.verdict import MIN_COMPARABLE, Outcome
from fairprobe.model.asking import describe
from fairprobe.model.known import is_repeatable
from fairprobe.replaying import CaseStatus, Replayed, replay
from fairprobe.replaying.saved import Question, SavedCases

if TYPE_CHECKING:
    import pandas as pd

BUDGET = 400_000
"""Queries to search and explain with, where a limit is not kept."""

TO_SEARCH = 0.25
"""Of the budget; the rest is for explaining, which measures regions on fresh inputs."""

MOST_FOUND = 1_000
"""Cases: enough to learn regions from."""

MOST_SAVED = 100


class DiscriminationError(AssertionError):
    """A limit is not known to be kept: violated, or inconclusive."""


@dataclass(frozen=True)
class Assertion:
    """What came of it."""

    verdict: Judged
    replayed: Replayed | None = None
    """The cases saved before; None where there were none."""
    remark: str = ""
    """What went wrong with the file of cases."""
    health: tuple[str, ...] = ()
    """What health checks have to say."""

    def sentence(self) -> str:
        """The verdict, and what became of the cases saved before."""
        said = [self.verdict.sentence]
        if self.replayed is not None:
            said.append(f"saved before: {self.replayed.sentence()}")
        return "; ".join([*said, self.remark] if self.remark else said)


def assert_no_discrimination(
    model: Any,
    data: pd.DataFrame | Any,
    *,
    sensitive: Sequence[str] | Mapping[str, Sequence[Any] | None] | None = None,
    max_share: float | Mapping[str, float] | None = None,
    domain: Domain | None = None,
    gate: str | None = None,
    favourable: Any = None,
    rows_are: str | None = None,
    output: str = "label",
    threshold: float | None = None,
    confidence: float = 0.95,
    min_comparable: float = MIN_COMPARABLE,
    linked: bool | None = None,
    method: str = "auto",
    n_experiments: int = 100,
    n_samples: int = 1000,
    batch: str | None = None,
    seed: int | None = 0,
    budget: int = BUDGET,
    cases: Path | None = None,
    about: str = "",
    again: str | None = None,
) -> Assertion:
    """Assert that no more than `max_share` of the rows change their outcome with a sensitive parameter.

    The verdict is that of `audit` with the same arguments. Violated or inconclusive raises a `DiscriminationError`,
    which names the worst case found, the region that holds most, and the command that shows it again.

    Args:
        model: anything with `predict`, or a callable that takes a batch and returns one output a row.
        data: real rows, a frame or an array with its columns in domain order.
        sensitive: the sensitive columns, where no domain is given; as a mapping with the values to compare.
        max_share: the share allowed; or by who is worse off: ``{"sex=Female": 0.01}``, with `favourable`.
        domain: what an input may be, with its constraints and links; by default what the rows span.
        gate: the population that the limit is about, by default the rows; "plain" or "linked" names one share of it.
        favourable: the good outcome, as in `audit`.
        rows_are: "held-out", "training" or "unknown", as in `estimate`: training rows never pass.
        output: "label", "score", "proba" or "value": what is compared.
        threshold: an input is discriminatory if its gap is above it; 0 for labels, else it must be given.
        confidence: of the intervals.
        min_comparable: nothing passes unless so much of the population could be compared.
        linked: in a domain with links, True or False for linked or plain twins alone; None for both.
        method: as in `audit`.
        n_experiments: of a sample, where the limit is not about rows.
        n_samples: inputs of an experiment.
        batch: "array" or "frame" to say what the model eats; by default as it was fitted.
        seed: the same seed and settings give the same result.
        budget: rows that the model may be asked about to search for cases and to explain them, where the limit is not
            kept. The verdict does not depend on it.
        cases: a file where cases found are saved, and replayed from before anything else.
        about: what the file is to say of them.
        again: a command that shows it again, as a format with `{seed}` and `{budget}`.
    """
    if max_share is None:
        raise SettingError.about("max_share", "must say the share allowed, as 0.01; got None")
    checked_count("budget", budget)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", HealthWarning)
        inputs = checked_inputs(model, data, sensitive, domain)
    n_explain = int(budget * (1 - TO_SEARCH))
    cost = len(inputs.families) * (1 if is_repeatable(model) else 2)
    settings = AuditSettings.of(
        max_share=max_share,
        gate=gate,
        min_comparable=min_comparable,
        favourable=favourable,
        rows_are=rows_are,
        output=output,
        threshold=threshold,
        confidence=confidence,
        populations=[Gate.of(gate).population or "rows"],
        n_experiments=n_experiments,
        n_samples=n_samples,
        method=method,
        linked=linked,
        # Each case and its twins are asked about before and after; as much again is for all else.
        search_cases=max(1, min(MOST_FOUND, n_explain // (4 * cost))),
        max_judged=max(1, int(budget * TO_SEARCH) // cost),
        explain_queries=max(1, n_explain),
        batch=batch,
    )
    run = begin(model, inputs, data, None, settings, checked_seed(seed))
    run.keep_health(caught)
    choose_populations(run)
    saved = _Saved(run, cases, about)
    go(run, "shares")
    verdict = run.judged
    if verdict.outcome == Outcome.PASSED:
        return Assertion(verdict, saved.replayed, saved.remark, _health(run))
    _look_into(run, explain=n_explain >= 4 * cost)
    saved.keep()
    command = None if again is None else again.format(seed=run.seed, budget=budget)
    raise DiscriminationError("\n".join(_failure(run, verdict, saved, command)))


def _look_into(run: AuditState, *, explain: bool) -> None:
    """Search and explain. The verdict stands already: what fails now is no more than a remark."""
    for phase in ("search", "why") if explain else ("search",):
        try:
            go(run, phase)
        except Exception as error:
            failed(run, phase, error, "failed")
        if run.interrupted is not None:
            raise KeyboardInterrupt


def _health(run: AuditState) -> tuple[str, ...]:
    return tuple(f"{each['check']}: {each['message']}" for each in run.health)


class _Saved:
    """The cases of a file: replayed first, and written with those found."""

    def __init__(self, run: AuditState, file: Path | None, about: str) -> None:
        self.run, self.file, self.about = run, file, about
        self.replayed: Replayed | None = None
        self.remark = ""
        self.n_kept = 0
        settings = run.settings
        self.domain = run.domain.without_links() if settings.linked is False else run.domain
        self.question = Question.of(self.domain, settings.output, settings.threshold)
        if file is not None and file.exists():
            try:
                self._replay(SavedCases.read(file))
            except FairprobeError as error:
                self.remark = f"no saved cases were replayed: {error}"

    def _replay(self, before: SavedCases) -> None:
        difference = before.question.difference(self.question)
        if difference is not None:
            self.replayed = Replayed.unasked(before.cases, difference)
            return
        settings = self.run.settings
        asked = {name: getattr(settings, name) for name in ("output", "threshold", "batch")}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", HealthWarning)
            self.replayed = replay(before.cases, self.run.model, self.domain, **asked)
        self.run.keep_health(caught)

    def keep(self) -> None:
        """Those that still hold, those found now, then those fixed, as long as there is room."""
        import pandas as pd

        parts, names = self.run, list(self.domain.names)
        frames = []
        if self.replayed is not None:
            frames += [self.replayed.of(status) for status in (CaseStatus.HOLDS, CaseStatus.UNSURE, CaseStatus.FIXED)]
        if parts.found is not None and parts.found.n_cases:
            frames.insert(1, parts.found.cases.iloc[case_order(parts)[:MOST_SAVED]])
        frames = [frame[names].astype(object) for frame in frames if len(frame)]
        if self.file is None or not frames:
            return
        kept = pd.concat(frames, ignore_index=True).drop_duplicates(ignore_index=True).head(MOST_SAVED)
        try:
            SavedCases(kept, self.question, self.domain, self.about).write(self.file)
            self.n_kept = len(kept)
        except FairprobeError as error:
            self.remark = f"the cases could not be saved: {error}"


def _failure(run: AuditState, verdict: Judged, saved: _Saved, command: str | None) -> list[str]:
    """The lines of the message."""
    found, why = run.found, run.why
    lines = [verdict.sentence]
    if found is None or not found.n_cases:
        lines.append("worst case: the search found none")
    else:
        place = case_order(run)[0]
        words = found.case_in_words(place)
        if found.start is None:  # which names no row
            words = f"{describe(found.domain, found._cases.case[place])}: {words}"
        lines.append(f"worst case: {words}")
        regions = () if why is None else why.rules
        none = "none holds cases and few other inputs" if why is not None else "not looked for: the budget is too small"
        lines.append(f"region: {regions[0].sentence() if regions else none}")
    lines += [f"note: {each}" for each in _health(run)]
    if saved.replayed is not None:
        lines.append(f"saved before: {saved.replayed.sentence()}")
    if saved.remark:
        lines.append(f"note: {saved.remark}")
    if saved.n_kept and saved.file is not None:
        where = f"{saved.file.parent.name}/{saved.file.name}"
        lines.append(f"saved: {saved.n_kept} case{'s' * (saved.n_kept > 1)} in {where}")
    lines.append(f"again: {command}" if command is not None else f"seed: {run.seed}")
    return lines
