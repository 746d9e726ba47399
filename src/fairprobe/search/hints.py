"""Hints: scores of twins, and their gradients, for strategies that learn from them: queries like all others."""

from __future__ import annotations

import numpy as np

from fairprobe.arrays import Floats, Mask
from fairprobe.domain.families import Members
from fairprobe.model.adapters import abilities_of
from fairprobe.model.asking import Asker
from fairprobe.search.job import Job
from fairprobe.search.strategy import Hints

LEAST = 1e-9
"""A probability nearer to 0 or 1 than this is as good as that."""


class Hinter:
    """Asks a model for hints on inputs and their twins; its own asker counts the rows that it sends."""

    def __init__(self, job: Job, *, gradients: bool) -> None:
        self.asker = Asker(job.model, job.domain, output="score", batch=job.batch)
        self._with_gradients = gradients
        lines = [parameter.affine for parameter in job.domain.parameters]
        self._steps = np.array([line[1] if line else 0.0 for line in lines])

    def hints(self, members: Members) -> Hints | None:
        """The hints; None for more classes than two, whose scores are on no line."""
        present = members.present
        if present is None:
            present = np.ones((len(members.families), len(members)), dtype=bool)
        rows = members.rows[present.ravel()]
        gradients = None
        if self._with_gradients:
            answered = self.asker.ask_gradients(rows)
            if answered is None:
                return None
            scores, by_column = answered
            gradients = _spread(by_column * self._steps, present)
        else:
            scores = self.asker.ask(rows)
            if scores.ndim != 1:
                return None
            if self.asker.adapter.gives_probabilities:  # as log-odds, which have no ends to crowd at
                scores = np.clip(scores, LEAST, 1 - LEAST)
                scores = np.log(scores / (1 - scores))
        return Hints(_spread(scores, present), gradients)


def _spread(answers: Floats, present: Mask) -> Floats:
    """By member, then input: the answers of those that count, nothing for the others."""
    spread = np.full((*present.shape, *answers.shape[1:]), np.nan)
    spread[present] = answers
    return spread


def make_hinter(job: Job, wants: str | None) -> Hinter | None:
    """What gives a strategy the hints it wants; None where nothing does, as for outputs that are no labels."""
    if wants is None or job.output != "label":
        return None
    can = abilities_of(job.model)
    by_gradients = wants == "gradients"
    return Hinter(job, gradients=by_gradients) if by_gradients or can.scores or can.probabilities else None
