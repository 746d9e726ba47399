"""Hints: scores of twins, and their gradients, for strategies that learn from them: queries like all others.

Where a model's labels follow from its scores, one question has both answers: the hinter is then asked for the labels
too, and what it heard are the hints.
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
from fairprobe.standins import Screen

LEAST = 1e-9
"""A probability nearer to 0 or 1 than this is as good as that."""


class Hinter:
    """Asks a model for hints on inputs and their twins; the rows that it sends, another asker counts."""

    output = "label"

    def __init__(self, job: Job, counter: Asker, *, gradients: bool) -> None:
        can = adapter_for(job.model)
        self.tells_labels = can.labels_follow is not None and not gradients
        """Whether labels are said to follow from what it asks for."""
        self._classes = can.classes
        output = can.labels_follow if can.labels_follow is not None and not gradients else "score"
        self.asker = Asker(job.model, job.domain, output=output, batch=job.batch)
        self._source: Answering = self.asker
        stand_in = job.stand_in.giving(output) if job.accelerate and job.stand_in is not None else None
        if stand_in is not None:
            self._source = Screen(self.asker, stand_in)
        self._counter = counter
        self._heard: list[NDArray[Any]] = []
        self._with_gradients = gradients
        self.domain = job.domain
        lines = [parameter.affine for parameter in job.domain.parameters]
        self._steps = np.array([line[1] if line else 0.0 for line in lines])
        # Whatever else is asked goes to the model.
        self.ask, self.ask_families, self.ask_frame = counter.ask, counter.ask_families, counter.ask_frame
        self.quiet, self.afresh = counter.quiet, counter.afresh

    @property
    def n_queries(self) -> int:
        """Rows sent to the model, by whomever."""
        return self._counter.n_queries

    @n_queries.setter
    def n_queries(self, n: int) -> None:
        self._counter.n_queries = n

    @property
    def has_heard(self) -> bool:
        """Whether hints wait that need no further question."""
        return bool(self._heard)

    def ask_members(self, members: Members) -> NDArray[Any]:
        """The labels of those members that count, out of scores that are kept as hints."""
        assert self._classes is not None
        scores = self._scores(members)
        self._heard.append(scores)
        places = scores.argmax(axis=2) if scores.ndim == 3 else (scores > 0).astype(np.int64)
        labels = self._classes.take(places)
        if members.present is not None:
            labels[~members.present] = np.zeros(1, dtype=labels.dtype)
        return labels

    def hints(self, members: Members) -> Hints | None:
        """The hints, heard or asked for; None for more classes than two, whose scores are on no line."""
        if self._with_gradients:
            return self._gradients(members)
        heard, self._heard = self._heard or [self._scores(members)], []
        scores = np.concatenate(heard, axis=1)
        if scores.ndim == 3:
            if scores.shape[2] != 2:
                return None
            scores = scores[:, :, 1]
        if self.asker.output == "proba" or self.asker.gives_probabilities:
            # As log-odds, which have no ends to crowd at.
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
            self._counter.n_queries += self.asker.n_queries - before

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
    """By member, then input: the answers of those that count, nothing for the others."""
    spread = np.full((*present.shape, *answers.shape[1:]), np.nan)
    spread[present] = answers
    return spread


def make_hinter(job: Job, wants: str | None, counter: Asker) -> Hinter | None:
    """What gives a strategy the hints it wants; None where nothing does, as for outputs that are no labels."""
    if wants is None or job.output != "label":
        return None
    can = adapter_for(job.model)
    by_gradients = wants == "gradients"
    return Hinter(job, counter, gradients=by_gradients) if by_gradients or can.scores or can.probabilities else None
