"""Confirming: what was proposed by a stand-in is asked of the model; what the model said once is asked once more.

Only a model that is known to repeat itself is taken at its word. So no case is reported that the model itself did not
judge, and none that it would not give again. One that contradicts itself is asked about all its cases twice more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from fairprobe.arrays import Codes, Mask
from fairprobe.blocks import Remark
from fairprobe.clock import Clock
from fairprobe.engine.interrupts import deferred, interruptible
from fairprobe.errors import RunError
from fairprobe.model.measuring import are_ties, unsteadiness
from fairprobe.oracle import Oracle
from fairprobe.searching.found import Found
from fairprobe.searching.job import Job
from fairprobe.searching.recorder import ROWS_KEPT, Confirmation, Waiting
from fairprobe.searching.settings import StopReason
from fairprobe.searching.tally import Tally
from fairprobe.standins import Screen

CASES_A_CALL = 1000


def confirm(oracle: Oracle, screen: Screen | None, waiting: Waiting) -> Confirmation:
    """Ask the model about hits that it, or a screen in its place, judged."""
    order = np.lexsort(waiting.keys.T)  # those alike side by side: trees answer them in about half the time
    asked = waiting.judgement.take(order, np.dtype(np.int64))
    members = asked.members(oracle.families)
    contradicted, rows = np.empty(0, dtype=np.int64), asked.codes[:0]
    if screen is not None:
        judged = oracle.judge(members)
        screen.check(asked.outputs, judged.outputs)
    else:
        judged = oracle.again(asked)
        assert judged.contradicted is not None
        if judged.contradicted.any():
            contradicted = np.sort(waiting.offsets[order][judged.contradicted.any(axis=0)])
            rows = oracle.families.members(asked.codes)[judged.contradicted.ravel()][:ROWS_KEPT]
    back = np.argsort(order)
    hits = np.flatnonzero(judged.hits[back])
    cases = Waiting(judged.take(back[hits], judged.codes.dtype), waiting.keys[hits], waiting.offsets[hits])
    return Confirmation(cases, waiting.offsets, members.sizes[back], contradicted, rows)


def confirmed(job: Job, found: Found, tally: Tally) -> Found:
    """What a run found, less what the model takes back when asked again, with a remark on that."""
    if not tally.n_contradicted:
        return found
    n = f"{tally.n_contradicted:,} hits got another output when asked about again and are not among the cases"
    if job.output == "label" and are_ties(job.model, job.domain, job.batch, np.concatenate(tally.contradicted)):
        text = f"{n}: they lie so near to the decision boundary that rounding decides"
        return replace(found, health=(*found.health, Remark("rounding-decides", text)))
    asker, clock, kept = job.asker(), Clock(found.limits.max_seconds), np.arange(found.n_cases)
    oracle, failure = Oracle(asker, job.threshold, job.resolution), None

    def ask() -> None:
        nonlocal kept, failure
        try:
            with asker.quiet(), asker.afresh():
                for _ in range(2):
                    kept = kept[_are_cases(found, kept, oracle, clock)]
        except RunError as error:
            failure = error

    # After an interruption the cases that were not asked about again stay, and that is said.
    is_interrupted = found.stop_reason is StopReason.INTERRUPTED or _is_interrupted(ask)
    asked = (
        f"interrupted, {len(kept):,} cases are kept that were cases each time they were asked about, twice or more"
        if is_interrupted
        else f"all {found.n_cases:,} cases were then asked about twice more: the {len(kept):,} that were cases each "
        "time are kept"
    )
    result = replace(
        found,
        _cases=found._cases.take(kept),
        health=(*found.health, Remark("stochastic-model", f"the model answers the same row differently: {n}; {asked}")),
        n_queries=found.n_queries + asker.n_queries,
        seconds=found.seconds + clock.seconds,
        stop_reason=StopReason.INTERRUPTED if is_interrupted else found.stop_reason,
    )
    if failure is not None:
        failure.found = result
        raise failure
    return result


def in_other_batches(job: Job, found: Found) -> Found:
    """What a run found, with a remark if the model's answers depend on the rows asked together."""
    if job.is_repeatable or found.limits.max_queries is not None or found.stop_reason is StopReason.INTERRUPTED:
        return found
    asker, remarks = job.asker(), list[Remark]()
    is_interrupted = _is_interrupted(lambda: remarks.extend(unsteadiness(asker)))
    return replace(
        found,
        health=(*found.health, *(remark for remark in remarks if remark[0] not in dict(found.health))),
        n_queries=found.n_queries + asker.n_queries,
        stop_reason=StopReason.INTERRUPTED if is_interrupted else found.stop_reason,
    )


def _is_interrupted(work: Callable[[], object]) -> bool:
    """Do some work; gives whether Ctrl-C ended it."""
    with deferred():
        try:
            with interruptible():
                work()
        except KeyboardInterrupt:
            return True
    return False


def _are_cases(found: Found, rows: Codes, oracle: Oracle, clock: Clock) -> Mask:
    """Which of the cases at these rows are cases again. Those that the limits leave no room to ask about are not.

    It may take as long as the search was allowed to.
    """
    again, limits = np.zeros(len(rows), dtype=bool), found.limits
    for first in range(0, len(rows), CASES_A_CALL):
        n = CASES_A_CALL
        if limits.max_queries is not None:
            n = min(n, (limits.max_queries - found.n_queries - oracle.asker.n_queries) // len(oracle.families))
        batch = rows[first : first + n]
        if not len(batch) or clock.is_over:
            break
        again[first : first + len(batch)] = oracle.judge(found._cases.case[batch].astype(np.int64)).hits
    return again
