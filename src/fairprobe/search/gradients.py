"""Scores and their gradients, of torch modules."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from fairprobe.domain.parameters import Codes
from fairprobe.model.forms import ArrayForm
from fairprobe.search.job import Job
from fairprobe.search.scorer import existing_twins
from fairprobe.search.strategy import Hints


class Gradients:
    """Asks a torch module for scores, and how each parameter changes them; a row is one query."""

    def __init__(self, job: Job) -> None:
        self._model = job.model
        self._domain = job.domain
        self._form = ArrayForm(job.domain, np.float32)
        lines = [parameter.affine for parameter in job.domain.parameters]
        self._steps = np.array([line[1] if line else 0.0 for line in lines])
        self.n_queries = 0

    def hints(self, codes: Codes) -> Hints | None:
        """Scores and gradients; None for more classes than two, whose scores are on no line."""
        torch: Any = import_module("torch")  # an extra: its types are not there to be checked
        members, present = existing_twins(self._domain, codes)
        self.n_queries += len(members)
        batch = torch.from_numpy(self._form.rows(members)).requires_grad_()
        scores = _scores(self._model(batch))
        if scores is None:
            return None
        (gradients,) = torch.autograd.grad(scores.sum(), batch)
        hints = Hints(np.full(present.shape, np.nan), np.full((*present.shape, codes.shape[1]), np.nan))
        assert hints.gradients is not None
        hints.scores[present] = scores.detach().double().numpy()
        hints.gradients[present] = gradients.double().numpy() * self._steps
        return hints


def _scores(answers: Any) -> Any:
    """One score a row, above 0 for the label 1."""
    if answers.ndim == 1 or answers.shape[1] == 1:
        return answers.reshape(-1)
    return answers[:, 1] - answers[:, 0] if answers.shape[1] == 2 else None
