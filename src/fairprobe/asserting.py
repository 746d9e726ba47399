"""An assertion for tests that a model keeps a limit on its share of discriminatory inputs.

It returns the verdict, or raises an error with a case and the command that reproduces it. The pytest plugin,
`fairprobe_pytest`, calls it; this module does not depend on pytest.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairprobe.arguments import arguments_of, filled
from fairprobe.auditing.auditing import audit, begin, checked_inputs, failed, go
from fairprobe.auditing.content import case_order
from fairprobe.auditing.gating import Judged
from fairprobe.auditing.state import AuditSettings, AuditState
from fairprobe.checks import checked_count
from fairprobe.domain import Domain
from fairprobe.errors import FairprobeError, HealthWarning, SettingError
from fairprobe.estimation.verdict import Gate, Outcome
from fairprobe.model.known import is_repeatable
from fairprobe.replaying import CaseStatus, Replayed, replay
from fairprobe.replaying.saved import Question, SavedCases
from fairprobe.wording import closed, counted

if TYPE_CHECKING:
    import pandas as pd

BUDGET = 400_000
"""Default number of queries (rows sent to the model) to search for cases and explain them, if a limit is not kept.

Chosen."""

TO_SEARCH = 0.25
"""Fraction of the budget for the search; chosen. Explaining gets the rest, as it measures regions on fresh inputs."""

MOST_FOUND = 1_000
"""Largest number of cases after which the search stops; chosen: enough to learn regions from."""

MOST_SAVED = 100
"""Largest number of cases in a file of saved cases; chosen."""

SETTINGS = """
    gate favourable rows_are output threshold confidence min_comparable linked method n_experiments n_samples batch
"""
"""Names of the arguments of `audit` that an assertion also takes, because its verdict depends on them."""


class DiscriminationError(AssertionError):
    """Raised by `assert_no_discrimination` if the limit is violated or is not shown to be kept."""


@dataclass(frozen=True)
class Assertion:
    """The result of an assertion that holds: its verdict, and the status of cases saved by earlier runs."""

    verdict: Judged
    replayed: Replayed | None = None
    """Result of asking the model again about cases that an earlier run saved; None if there were none."""
    health: tuple[str, ...] = ()
    """Messages of the health checks, each as "name: message"."""

    def sentence(self) -> str:
        """Return the verdict as a sentence, with the status of the cases that an earlier run saved."""
        saved = "" if self.replayed is None else f"; saved before: {self.replayed.sentence()}"
        return f"{self.verdict.sentence}{saved}"


def assert_no_discrimination(
    model: Any,
    data: pd.DataFrame | Any,
    *,
    sensitive: Sequence[str] | Mapping[str, Sequence[Any] | None] | None = None,
    max_share: float | Mapping[str, float] | None = None,
    domain: Domain | None = None,
    seed: int | None = 0,
    budget: int = BUDGET,
    cases: Path | None = None,
    about: str = "",
    again: str | None = None,
    **settings: Any,
) -> Assertion:
    """Assert that no more than `max_share` of the rows change their outcome with a sensitive parameter.

    The verdict is that of `audit` with the same arguments. A violated or inconclusive verdict raises a
    `DiscriminationError`. Its message names the worst case found, a region that holds many cases, and the command that
    repeats the test.

    The other arguments are those of `audit` that its verdict depends on: gate, favourable, rows_are, output, threshold,
    confidence, min_comparable, linked, method, n_experiments, n_samples and batch.

    Args:
        model: anything with `predict`, or a callable that takes a batch and returns one output per row.
        data: real rows, as a frame or as an array with its columns in domain order.
        sensitive: the sensitive columns, if no domain is given; a mapping also names the values to compare.
        max_share: the largest share allowed. Or limits by who is worse off, as ``{"sex=Female": 0.01}``, with
            `favourable`.
        domain: what an input may be, with its constraints and links. By default, what the rows span.
        seed: equal seeds and settings give equal results.
        budget: the most rows that the model may be asked about to search for cases and to explain them, if the limit is
            not kept. The verdict does not depend on it.
        cases: the file in which found cases are saved. The model is asked first about cases that it holds already.
        about: a note on the origin of the cases that is written to the file, such as the name of a test.
        again: the command that repeats the test, for the error message; `{seed}` and `{budget}` in it are filled in.
        settings: other arguments of `audit`, as listed above.
    """
    if max_share is None:
        raise SettingError.about("max_share", "must say the share allowed, as 0.01; got None")
    checked_count("budget", budget)
    asked = filled(audit, settings, but=[name for name in arguments_of(audit) if name not in SETTINGS.split()])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", HealthWarning)
        inputs = checked_inputs(model, data, sensitive, domain)
    n_explain = int(budget * (1 - TO_SEARCH))
    cost = len(inputs.families) * (1 if is_repeatable(model) else 2)
    effort = {
        # Each case and its twins are asked about before and after; the rest of the budget takes as much again.
        "search_cases": max(1, min(MOST_FOUND, n_explain // (4 * cost))),
        "max_judged": max(1, int(budget * TO_SEARCH) // cost),
        "explain_queries": max(1, n_explain),
    }
    populations = [Gate.of(asked["gate"]).population or "rows"]
    every = AuditSettings(max_share=max_share, populations=populations, seed=seed, **asked, **effort)
    run = begin(model, inputs, data, None, every)
    run.keep_health(caught)
    saved = _Saved(run, cases, about)
    go(run, "shares")
    verdict = run.judged
    if verdict.outcome == Outcome.PASSED:
        return Assertion(verdict, saved.replayed, _health(run))
    # The verdict stands already, so that an error here is no more than a remark.
    for phase in ("search", "why") if n_explain >= 4 * cost else ("search",):
        try:
            go(run, phase)
        except Exception as error:
            failed(run, phase, error, "failed")
        if run.interrupted is not None:
            raise KeyboardInterrupt
    saved.keep()
    command = None if again is None else again.format(seed=every.seed, budget=budget)
    raise DiscriminationError("\n".join(_failure(run, verdict, saved, command)))


def _health(run: AuditState) -> tuple[str, ...]:
    return tuple(f"{each['check']}: {each['message']}" for each in run.health)


class _Saved:
    """The file of saved cases. The model is asked about its cases first; a failure adds the newly found cases."""

    def __init__(self, run: AuditState, file: Path | None, about: str) -> None:
        self.run, self.file, self.about = run, file, about
        self.replayed: Replayed | None = None
        self.n_kept = 0
        settings = run.settings
        self.domain = run.domain.without_links() if settings.linked is False else run.domain
        self.question = Question.of(self.domain, settings.output, settings.threshold)
        if file is not None and file.exists():
            try:
                self._replay(SavedCases.read(file))
            except FairprobeError as error:
                run.remark("saved-cases", f"no saved cases were replayed: {error}", "shares")

    def _replay(self, before: SavedCases) -> None:
        assert before.question is not None  # a file of saved cases tells it
        difference = before.question.difference(self.question)
        if difference is not None:
            self.replayed = Replayed.unasked(before.cases, difference)
            return
        asked = self.run.settings.some("output", "threshold", "batch")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", HealthWarning)
            self.replayed = replay(before.cases, self.run.model, self.domain, **asked)
        self.run.keep_health(caught)

    def keep(self) -> None:
        """Write cases to the file: those that still hold, newly found, unsure and fixed ones, up to `MOST_SAVED`."""
        import pandas as pd

        run, replayed, frames = self.run, self.replayed, []
        if replayed is not None:
            frames += [replayed.of(status) for status in (CaseStatus.HOLDS, CaseStatus.UNSURE, CaseStatus.FIXED)]
        if run.found is not None and run.found.n_cases:
            frames.insert(1, run.found.cases.iloc[case_order(run)[:MOST_SAVED]])
        frames = [frame[list(self.domain.names)].astype(object) for frame in frames if len(frame)]
        if self.file is None or not frames:
            return
        kept = pd.concat(frames, ignore_index=True).drop_duplicates(ignore_index=True).head(MOST_SAVED)
        try:
            SavedCases(kept, self.question, self.domain, self.about).write(self.file)
            self.n_kept = len(kept)
        except FairprobeError as error:
            run.remark("saved-cases", f"the cases could not be saved: {error}", "shares")


def _failure(run: AuditState, verdict: Judged, saved: _Saved, command: str | None) -> list[str]:
    """Return the lines of the error message: verdict, worst case, region, remarks, saved cases and command."""
    found, why = run.found, run.why
    lines = [verdict.sentence, *map(closed, verdict.details)]
    if found is None or not found.n_cases:
        lines.append("worst case: the search found none")
    else:
        place = case_order(run)[0]
        region = "not looked for: the budget is too small"
        if why is not None:
            region = why.rules[0].sentence() if why.rules else "none holds cases and few other inputs"
        lines += [f"worst case: {found.case_in_words(place)}", f"region: {region}"]
    lines += [f"note: {each}" for each in _health(run)]
    if saved.replayed is not None:
        lines.append(f"saved before: {saved.replayed.sentence()}")
    if saved.n_kept and saved.file is not None:
        lines.append(f"saved: {counted(saved.n_kept, 'case')} in {saved.file.parent.name}/{saved.file.name}")
    lines.append(f"again: {command}" if command is not None else f"seed: {run.settings.seed}")
    return lines
