"""Health checks: named remarks on a run that works, but may not tell what you think it tells."""

from __future__ import annotations

from collections.abc import Iterator

from fairprobe.model.repeatability import SAFETY
from fairprobe.search.job import Job
from fairprobe.search.registry import load_strategy
from fairprobe.search.settings import Limits
from fairprobe.search.tally import Tally

Remark = tuple[str, str]
"""The check's name and what it says."""


def health_of_settings(job: Job, limits: Limits) -> Iterator[Remark]:
    """What can be said before the run."""
    settings = job.settings
    n_members = len(job.domain.families)
    budgets = [limits.max_inputs, limits.max_queries and limits.max_queries // n_members, settings.shard_inputs]
    budget = min(b for b in budgets if b is not None)
    if load_strategy(job.strategy_path).is_local and budget <= settings.n_global:
        yield (
            "small-budget",
            f"{budget:,} inputs are no more than the {settings.n_global:,} of one global round, so the local search of "
            f"{settings.strategy!r} never starts: raise the limit or lower n_global",
        )


def health_of_result(job: Job, tally: Tally) -> list[Remark]:
    """What can be said after the run."""
    remarks = list(tally.remarks)
    if tally.n_unconfirmed:
        remarks.append(
            (
                "unconfirmed",
                f"{tally.n_unconfirmed:,} hits were left when it ended that the model had not confirmed: they are not "
                "among the cases",
            )
        )
    if tally.n_asked_once:
        text = f"{tally.n_asked_once:,} of the cases could be asked about once only, as the search ended before"
        remarks.append(("asked-once", text))
    if job.resolution > job.threshold / 1000:
        remarks.append(
            (
                "rounding",
                f"the model's outputs for one row differ by up to {job.resolution / SAFETY:.2g} with the size of the "
                f"batch, so a gap counts above {job.threshold + job.resolution:.3g}",
            )
        )
    if tally.n_judged and tally.n_not_comparable > (1 - MIN_COMPARABLE) * tally.n_judged:
        remarks.append(("not-comparable", not_comparable(tally.n_not_comparable, tally.n_judged)))
    return remarks + _health_of_nothing_found(job, tally)


def not_comparable(n: int, total: int) -> str:
    """Why inputs say nothing."""
    return (
        f"{n:,} of {total:,} inputs could not be compared: the constraints forbid all their twins. A rule that names a "
        "sensitive parameter does that"
    )


def _health_of_nothing_found(job: Job, tally: Tally) -> list[Remark]:
    n_compared = tally.n_judged - tally.n_not_comparable
    if not n_compared or tally.n_cases or tally.n_unconfirmed:
        return []
    names = ", ".join(job.domain.sensitive)
    if not tally.output_varies:
        return [
            ("constant-output", f"the model gave the same output to all {tally.n_queries:,} rows it was asked about")
        ]
    if job.output == "label" and not tally.n_contradicted:
        return [
            (
                "unused-sensitive",
                f"the model's output never changed with {names} in {n_compared:,} inputs: it may not use "
                f"{names} at all. Another parameter may still stand in for {names}; this search cannot see that",
            )
        ]
    return []


MIN_COMPARABLE = 0.9
"""A smaller part of the inputs that can be compared is worth a remark."""
