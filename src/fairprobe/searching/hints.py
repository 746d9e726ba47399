"""Hints: the scores of twins, for strategies that learn from them.

Hints cost queries. If a model's labels follow from its scores, one query gives both: the hinter then answers for the
labels too, and keeps the scores as hints.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Floats
from fairprobe.domain.families import Members
from fairprobe.model.adapters import adapter_for
from fairprobe.model.asking import Answering, Asker
from fairprobe.searching.job import Job
from fairprobe.standins import Instead, Screen

LEAST = 1e-9
"""Smallest distance of probabilities from 0 and 1, where log-odds are infinite. Chosen."""


class Hinter(Instead):
    """Source of hints, the scores of inputs and their twins. Rows sent for hints count as queries."""

    def __init__(self, job: Job, counter: Asker) -> None:
        super().__init__(counter)
        can = adapter_for(job.model)
        self.tells_labels = can.labels_follow is not None
        """True if labels are derived from the scores that the hinter asks for."""
        self._classes = can.classes
        output = can.labels_follow or "score"
        self.asker = Asker(job.model, job.domain, output=output, batch=job.batch)
        self._source: Answering = self.asker
        stand_in = job.stand_in.giving(output) if job.accelerate and job.stand_in is not None else None
        if stand_in is not None:
            self._source = Screen(self.asker, stand_in)
        self._heard: list[NDArray[Any]] = []

    @property
    def has_heard(self) -> bool:
        """True if scores are kept from the last questions for labels, so that hints need no further query."""
        return bool(self._heard)

    def ask_members(self, members: Members) -> NDArray[Any]:
        """Return the labels of families, by member, then input. They follow from scores, which are kept as hints."""
        assert self._classes is not None
        scores = self._scores(members)
        self._heard.append(scores)
        places = scores.argmax(axis=2) if scores.ndim == 3 else (scores > 0).astype(np.int64)
        labels = self._classes.take(places)
        if members.present is not None:
            labels[~members.present] = np.zeros(1, dtype=labels.dtype)
        return labels

    def hints(self, members: Members) -> Floats | None:
        """Return the scores of families, by member, then input, asked for if necessary; NaN for absent members.

        None for scores of more than two classes, which have no order.
        """
        heard, self._heard = self._heard or [self._scores(members)], []
        scores = np.concatenate(heard, axis=1)
        if scores.ndim == 3:
            if scores.shape[2] != 2:
                return None
            scores = scores[:, :, 1]
        if self.asker.output == "proba" or self.asker.gives_probabilities:
            # Log-odds do not crowd at 0 and 1 as probabilities do.
            scores = np.clip(scores, LEAST, 1 - LEAST)
            scores = np.log(scores / (1 - scores))
        return scores if members.present is None else np.where(members.present, scores, np.nan)

    def _scores(self, members: Members) -> NDArray[Any]:
        before = self.asker.n_queries
        try:
            return self._source.ask_members(members)
        finally:
            self.n_queries += self.asker.n_queries - before


def make_hinter(job: Job, counter: Asker) -> Hinter | None:
    """Return the source of the scores that a strategy learns from.

    None if the strategy learns from none, if the model gives none, or if the compared output is not the label.
    """
    can = adapter_for(job.model)
    has_scores = can.scores or can.probabilities
    return Hinter(job, counter) if job.strategy.wants_scores and job.output == "label" and has_scores else None
