"""The reasons why the rounds of a retraining ended, and why no round was accepted."""

from __future__ import annotations

from fairprobe.retraining.rounds import Round

STOPPED = {
    "schedule": "the schedule was over",
    "not-better": "a round was rejected",
    "searched": "nothing was left to try",
    "max-rounds": "the rounds allowed were used up",
    "max-seconds": "no further round would have fitted into the time that was left",
    "nothing-to-improve": "the model has no discriminatory input among those judged",
    "no-cases": "no case was found to add",
    "failed": "a round failed",
    "interrupted": "it was interrupted",
}
"""By stop reason, why the rounds ended."""


def stopped(reason: str, n_rounds: int) -> str:
    """The reason why the rounds ended, in words."""
    return STOPPED[reason].replace("no further round", "no further round" if n_rounds else "no round")


def why_none(rounds: list[Round], reason: str) -> str:
    """The reason why no round was accepted."""
    reasons = list(dict.fromkeys(each.why for each in rounds))
    if not reasons:
        return stopped(reason, 0)
    return reasons[0] if len(reasons) == 1 else f"{len(rounds)} rounds were rejected, the last as {rounds[-1].why}"
