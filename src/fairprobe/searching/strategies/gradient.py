"""`gradient`: a strategy whose walkers follow the gradients of a torch module (as ADF and EIDIG do)."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.domain.domain import Domain
from fairprobe.errors import SettingError
from fairprobe.model.adapters import adapter_for
from fairprobe.oracle import Judgement
from fairprobe.searching.limits import SearchSettings
from fairprobe.searching.strategies.anchored import Jumps
from fairprobe.searching.strategies.guided import Guided

HEADSTRONG = 0.5
"""Probability that a jump goes up or down by chance instead of by the gradient. Chosen: walkers that always follow the
gradient end at the bounds."""


class Gradient(Guided):
    """Anchored walkers whose jumps follow the sign of the gradient of the twins' difference."""

    wants = "gradients"

    def __init__(self, domain: Domain, settings: SearchSettings, rng: np.random.Generator) -> None:
        super().__init__(domain, settings, rng)
        self.widening = np.empty((len(self.columns), 0))
        """Change of the difference between the twins' scores by one step up, by parameter, then walker."""

    @classmethod
    def check_model(cls, model: Any) -> None:
        """Raise a SettingError for a model other than a torch module, which has no gradients, or without torch."""
        if find_spec("torch") is None:
            raise SettingError("strategy='gradient' needs torch, got none: pip install 'fairprobe[torch]'")
        if not adapter_for(model).gradients:
            raise SettingError(
                f"strategy='gradient' needs a torch module, got {type(model).__name__}: use 'guided' or 'anchored'"
            )

    def take(self, walkers: Codes) -> None:
        """Replace the walkers by those at the positions `walkers`; one whose position is listed twice is copied."""
        super().take(walkers)
        self.widening = self.widening.take(walkers, axis=1)

    def admit(self, seeds: Codes, reach: Floats) -> None:
        """Add a walker at each of these start cases, with this reach by parameter."""
        super().admit(seeds, reach)
        self.widening = np.concatenate([self.widening, np.zeros((len(self.columns), len(seeds)))], axis=1)

    def goes_down(self, cells: Codes, draws: Floats) -> Mask:
        """Return a boolean mask by jump: True where it goes down, to move the twins' scores apart or by chance."""
        slope = self.widening.take(cells)
        by_chance = (draws < HEADSTRONG) | (slope == 0)
        return np.where(by_chance, draws % HEADSTRONG < HEADSTRONG / 2, slope < 0)

    def learn(self, judgement: Judgement, jumps: Jumps) -> None:
        """Replace the slopes of each walker whose last input was a case by the model's gradients at that case."""
        super().learn(judgement, jumps)
        if self.hints is None or self.hints.gradients is None:
            return
        gradients = self.hints.gradients[:, :, self.columns]
        low, high = np.nanargmin(self.hints.scores, axis=0), np.nanargmax(self.hints.scores, axis=0)
        each = np.arange(len(judgement.codes))
        lower, upper = gradients[low, each].T, gradients[high, each].T
        asked = self._asked
        self.slope[:, asked] = np.where(judgement.hits, (lower + upper) / 2, self.slope[:, asked])
        self.widening[:, asked] = np.where(judgement.hits, upper - lower, self.widening[:, asked])
