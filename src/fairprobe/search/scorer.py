"""Scores of twins, for strategies that learn from them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairprobe.domain.domain import Domain
from fairprobe.domain.parameters import Codes
from fairprobe.model.asking import Asker
from fairprobe.model.torch_module import is_module
from fairprobe.search.job import Job
from fairprobe.search.strategy import Hints

LEAST = 1e-9
"""A probability nearer to 0 or 1 than this is as good as that."""


class Scorer:
    """Asks for the decision function; where there is none, for probabilities, as log-odds."""

    def __init__(self, asker: Asker, *, are_probabilities: bool) -> None:
        self._asker = asker
        self._are_probabilities = are_probabilities

    @classmethod
    def of(cls, job: Job) -> Scorer | None:
        """A scorer, or None where the model gives no scores."""
        has_function, has_proba = (hasattr(job.model, name) for name in ("decision_function", "predict_proba"))
        if not (has_function or has_proba or is_module(job.model)):
            return None
        asker = Asker(job.model, job.domain, output="score", batch=job.batch)
        return cls(asker, are_probabilities=has_proba and not has_function)

    @property
    def n_queries(self) -> int:
        """Rows sent."""
        return self._asker.n_queries

    def hints(self, codes: Codes) -> Hints | None:
        """The scores; None for more classes than two, whose scores are on no line."""
        members, present = existing_twins(self._asker.domain, codes)
        answers = self._asker.ask(members)
        if answers.ndim != 1:
            return None
        if self._are_probabilities:
            answers = np.clip(answers, LEAST, 1 - LEAST)
            answers = np.log(answers / (1 - answers))
        scores = np.full(present.shape, np.nan)
        scores[present] = answers
        return Hints(scores)


def existing_twins(domain: Domain, codes: Codes) -> tuple[Codes, NDArray[np.bool_]]:
    """All members of the inputs' families that exist, and which do: by combination, then input."""
    members = domain.families(codes)
    present = domain.allows(members)
    return members[present], present.reshape(len(domain.combinations), len(codes))
