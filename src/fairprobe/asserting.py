"""An assertion for tests that a model keeps a limit on its share of discriminatory inputs.

It returns the verdict, or raises an error with a case and the command that reproduces it. The pytest plugin,
`fairprobe_pytest`, calls it; this module does not depend on pytest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairprobe.arguments import arguments_of, filled
from fairprobe.auditing.auditing import audit, begin, checked_inputs, failed, go
from fairprobe.auditing.content import case_order
from fairprobe.auditing.gating import Judged
from fairprobe.auditing.state import AuditSettings, AuditState, heard
from fairprobe.checks import checked_count
from fairprobe.domain import Domain
from fairprobe.errors import FairprobeError, SettingError
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
    remarks: list[tuple[str, str]] = []
    with heard(lambda *remark: remarks.append(remark)):
        inputs = checked_inputs(model, data, sensitive, domain)
    n_explain = int(budget * (1 - TO_SEARCH))
    cost = len(inputs.families) * (1 if is_repeatable(model) else 2)
    asked |= {
        "max_share": max_share,
        "populations": [Gate.of(asked["gate"]).population or "rows"],
        "seed": seed,
        # Each case and its twins are asked about before and after; the rest of the budget takes as much again.
        "search_cases": max(1, min(MOST_FOUND, n_explain // (4 * cost))),
        "max_judged": max(1, int(budget * TO_SEARCH) // cost),
        "explain_queries": max(1, n_explain),
    }
    run = begin(model, inputs, data, None, AuditSettings(**asked))
    for check, message in remarks:
        run.remark(check, message, "")
    inputs = run.domain.without_links() if run.settings.linked is False else run.domain
    question = Question.of(inputs, run.settings.output, run.settings.threshold)
    replayed = None if cases is None or not cases.exists() else _replayed(run, cases, inputs, question)
    go(run, "shares")
    verdict = run.judged
    if verdict.outcome == Outcome.PASSED:
        return Assertion(verdict, replayed, _health(run))
    # The verdict stands already, so that an error here is no more than a remark.
    for phase in ("search", "why") if n_explain >= 4 * cost else ("search",):
        try:
            go(run, phase)
        except Exception as error:
            failed(run, phase, error, "failed")
        if run.interrupted is not None:
            raise KeyboardInterrupt
    lines = [] if replayed is None else [f"saved before: {replayed.sentence()}"]
    kept = _worth_keeping(run, replayed)
    if cases is not None and len(kept):
        try:
            SavedCases(kept, question, inputs, about).write(cases)
            lines.append(f"saved: {counted(len(kept), 'case')} in {cases.parent.name}/{cases.name}")
        except FairprobeError as error:
            run.remark("saved-cases", f"the cases could not be saved: {error}", "shares")
    seed = run.settings.seed
    lines.append(f"seed: {seed}" if again is None else f"again: {again.format(seed=seed, budget=budget)}")
    notes = (f"note: {each}" for each in _health(run))
    raise DiscriminationError(
        "\n".join([verdict.sentence, *map(closed, verdict.details), *_worst(run), *notes, *lines])
    )


def _health(run: AuditState) -> tuple[str, ...]:
    return tuple(f"{each['check']}: {each['message']}" for each in run.health)


def _replayed(run: AuditState, file: Path, domain: Domain, question: Question) -> Replayed | None:
    """Ask the model about the cases in a file of saved cases; None, with a remark, if they cannot be read or asked."""
    try:
        before = SavedCases.read(file)
        assert before.question is not None  # a file of saved cases tells it
        difference = before.question.difference(question)
        if difference is not None:
            return Replayed.unasked(before.cases, difference)
        with heard(partial(run.remark, phase="")):
            return replay(before.cases, run.model, domain, **run.settings.some("output", "threshold", "batch"))
    except FairprobeError as error:
        run.remark("saved-cases", f"no saved cases were replayed: {error}", "shares")
        return None


def _worth_keeping(run: AuditState, replayed: Replayed | None) -> pd.DataFrame:
    """Return the distinct cases to save, at most `MOST_SAVED` in all.

    They are taken in this order: those that still hold, newly found ones, unsure ones, fixed ones.
    """
    import pandas as pd

    old = (CaseStatus.HOLDS, CaseStatus.UNSURE, CaseStatus.FIXED)
    frames = [] if replayed is None else [replayed.of(status) for status in old]
    if run.found is not None and run.found.n_cases:
        frames.insert(1, run.found.cases.iloc[case_order(run)[:MOST_SAVED]])
    frames = [frame[list(run.domain.names)].astype(object) for frame in frames if len(frame)] or [pd.DataFrame()]
    return pd.concat(frames, ignore_index=True).drop_duplicates(ignore_index=True).head(MOST_SAVED)


def _worst(run: AuditState) -> list[str]:
    """Return lines for an error message on the worst case that was found and on a region that holds many cases."""
    found, why = run.found, run.why
    if found is None or not found.n_cases:
        return ["worst case: the search found none"]
    region = "not looked for: the budget is too small"
    if why is not None:
        region = why.rules[0].sentence() if why.rules else "none holds cases and few other inputs"
    return [f"worst case: {found.case_in_words(case_order(run)[0])}", f"region: {region}"]
