"""Health checks: named remarks on a run that works, but may not tell what you think it tells."""

from __future__ import annotations

from collections.abc import Iterator

from fairprobe.search.job import Job
from fairprobe.search.registry import load_strategy
from fairprobe.search.settings import Limits
from fairprobe.search.tally import Tally

Remark = tuple[str, str]
"""The check's name and what it says."""


def health_of_settings(job: Job, limits: Limits) -> Iterator[Remark]:
    """What can be said before the run."""
    settings = job.settings
    n_twins = len(job.domain.combinations)
    budgets = [limits.max_inputs, limits.max_queries and limits.max_queries // n_twins, settings.shard_inputs]
    budget = min(b for b in budgets if b is not None)
    if load_strategy(job.strategy_path).is_local and budget <= settings.n_global:
        yield (
            "small-budget",
            f"{budget:,} inputs are no more than the {settings.n_global:,} of one global round, so the local search of "
            f"{settings.strategy!r} never starts: raise the limit or lower n_global",
        )


def health_of_result(job: Job, tally: Tally) -> list[Remark]:
    """What can be said after the run."""
    remarks = [] if tally.disagreement is None else [("accelerate-off", tally.disagreement)]
    return remarks + _health_of_nothing_found(job, tally)


def _health_of_nothing_found(job: Job, tally: Tally) -> list[Remark]:
    if not tally.n_judged or tally.n_cases:
        return []
    names = ", ".join(job.domain.sensitive)
    if not tally.output_varies:
        return [
            ("constant-output", f"the model gave the same output to all {tally.n_queries:,} rows it was asked about")
        ]
    if job.output == "label":
        return [
            (
                "unused-sensitive",
                f"the model's output never changed with {names} in {tally.n_judged:,} inputs: it may not use "
                f"{names} at all. Another parameter may still stand in for {names}; this search cannot see that",
            )
        ]
    return []
