"""Asking a model for hints. They are queries like all others."""

from __future__ import annotations

from typing import Protocol

from fairprobe.domain.parameters import Codes
from fairprobe.search.job import Job
from fairprobe.search.scorer import Scorer
from fairprobe.search.strategy import Hints


class Hinter(Protocol):
    """Gives hints on inputs and their twins, and counts the rows it sends."""

    @property
    def n_queries(self) -> int:
        """Rows sent."""

    def hints(self, codes: Codes) -> Hints | None:
        """Hints, or None where the model has none."""


def make_hinter(job: Job, wants: str | None) -> Hinter | None:
    """What gives a strategy the hints it wants; None where nothing does, as for outputs that are no labels."""
    if wants is None or job.output != "label":
        return None
    if wants == "gradients":
        from fairprobe.search.gradients import Gradients

        return Gradients(job)
    return Scorer.of(job)
