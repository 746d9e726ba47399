"""Hints: the scores of twins, or their gradients, for strategies that learn from them.

Hints cost queries. If a model's labels follow from its scores, one query gives both: the hinter then answers for the
labels too, and keeps the scores as hints.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Floats, Mask
from fairprobe.domain.families import Members
from fairprobe.model.adapters import adapter_for
from fairprobe.model.asking import Answering, Asker
from fairprobe.searching.job import Job
from fairprobe.searching.strategy import Hints
from fairprobe.standins import Instead, Screen

LEAST = 1e-9
"""Smallest distance of probabilities from 0 and 1, where log-odds are infinite. Chosen."""


class Hinter(Instead):
    """Source of hints (scores or gradients) about inputs and their twins. Rows sent for hints count as queries."""

    def __init__(self, job: Job, counter: Asker, *, gradients: bool) -> None:
        super().__init__(counter)
        can = adapter_for(job.model)
        follows = None if gradients else can.labels_follow
        self.tells_labels = follows is not None
        """True if labels are derived from the scores that the hinter asks for."""
        self._classes = can.classes
        output = follows or "score"
        self.asker = Asker(job.model, job.domain, output=output, batch=job.batch)
        self._source: Answering = self.asker
        stand_in = job.stand_in.giving(output) if job.accelerate and job.stand_in is not None else None
        if stand_in is not None:
            self._source = Screen(self.asker, stand_in)
        self._heard: list[NDArray[Any]] = []
        self._with_gradients = gradients
        lines = [parameter.affine for parameter in job.domain.parameters]
        self._steps = np.array([line[1] if line else 0.0 for line in lines])

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

    def hints(self, members: Members) -> Hints | None:
        """Return the scores or gradients of families, asked for if necessary.

        None for scores of more than two classes, which have no order, and for a model that gives no gradients.
        """
        if self._with_gradients:
            return self._gradients(members)
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
        return Hints(scores if members.present is None else np.where(members.present, scores, np.nan))

    def _scores(self, members: Members) -> NDArray[Any]:
        with self._counted():
            return self._source.ask_members(members)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        before = self.asker.n_queries
        try:
            yield
        finally:
            self.n_queries += self.asker.n_queries - before

    def _gradients(self, members: Members) -> Hints | None:
        present = members.present
        if present is None:
            present = np.ones((len(members.families), len(members)), dtype=bool)
        with self._counted():
            answered = self.asker.ask_gradients(members.rows[present.ravel()])
        if answered is None:
            return None
        scores, by_column = answered
        return Hints(_spread(scores, present), _spread(by_column * self._steps, present))


def _spread(answers: Floats, present: Mask) -> Floats:
    """Return answers about the present members as an array by member, then input, with NaN for absent members."""
    spread = np.full((*present.shape, *answers.shape[1:]), np.nan)
    spread[present] = answers
    return spread


def make_hinter(job: Job, wants: str | None, counter: Asker) -> Hinter | None:
    """Return the source of the hints that a strategy learns from ("scores" or "gradients").

    None if the strategy learns from none, if the model gives none, or if the compared output is not the label.
    """
    if wants is None or job.output != "label":
        return None
    can = adapter_for(job.model)
    by_gradients = wants == "gradients"
    return Hinter(job, counter, gradients=by_gradients) if by_gradients or can.scores or can.probabilities else None
