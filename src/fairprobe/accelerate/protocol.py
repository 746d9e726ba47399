"""What compiled twins offer, and what each kind of model has to give."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from fairprobe.accelerate.rows import Batch
from fairprobe.domain.parameters import Codes

Positions = NDArray[np.intp] | NDArray[np.bool_]
"""Places among a model's classes, by combination of sensitive values, then input."""


class Twins(Protocol):
    """Stands in for one model, asked about inputs of one domain."""

    @property
    def name(self) -> str:
        """What was compiled, in words."""

    def ask_families(self, codes: Codes) -> NDArray[Any]:
        """The labels for each input in all combinations of sensitive values: a row a combination, in domain order."""


class Evaluator(Protocol):
    """One kind of model, compiled."""

    @property
    def name(self) -> str:
        """What it is, in words."""

    def positions(self, batch: Batch) -> Positions:
        """The place of each label among the classes, by combination, then input."""


@runtime_checkable
class Likelihoods(Evaluator, Protocol):
    """One that gives the classes' probabilities too: what a soft vote needs."""

    def probabilities(self, batch: Batch) -> NDArray[np.float64]:
        """By combination, input and class."""
