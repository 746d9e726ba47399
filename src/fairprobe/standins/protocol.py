"""What a stand-in offers, and what each kind of model has to give."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats, Mask
from fairprobe.standins.rows import Batch

Places = NDArray[np.intp] | Mask
"""Places among a model's classes; of two classes also whether it is the second."""


class StandIn(Protocol):
    """Labels inputs of one domain in the place of one model."""

    @property
    def name(self) -> str:
        """What it stands in for, in words."""

    def ask_families(self, codes: Codes) -> NDArray[Any]:
        """The labels for each input in all combinations of sensitive values: a row a combination, in domain order."""


class Compiled(Protocol):
    """One kind of model, made ready."""

    @property
    def name(self) -> str:
        """What it is, in words."""

    def places(self, batch: Batch) -> Places:
        """The place of each member's label among the classes, in the order of the batch's members."""


@runtime_checkable
class GivesProbabilities(Compiled, Protocol):
    """One that gives the classes' probabilities too: what a soft vote needs."""

    def probabilities(self, batch: Batch) -> Floats:
        """By member and class."""
