"""The result of counting exactly, or the reason why a model was not counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np

Method = Literal["tree", "ensemble", "linear"]


@dataclass(frozen=True)
class Solved:
    """The exact number of discriminatory families of a domain.

    Where constraints allow all members of some families and not of others, a family counts as often as it has members
    allowed: its inputs are counted, and `n_each` is 1.
    """

    method: Method
    hits: int
    """Discriminatory families: the labels over all combinations of the sensitive values are not all equal."""
    families: int
    """All families: the value assignments to the parameters that are not sensitive. Only those that are comparable."""
    by_label: dict[Any, list[int]]
    """For each label, by combination, the discriminatory families in which the combination gets the label."""
    n_queries: int = 0
    """Rows sent to the model, to confirm what was read from it."""
    n_each: int = 1
    """Inputs that each counted family stands for."""
    n_not_comparable: int = 0
    """Inputs none of whose twins is allowed."""

    @property
    def share(self) -> Fraction:
        """The discriminatory families among all."""
        return Fraction(self.hits, self.families)


@dataclass(frozen=True)
class NotSolved:
    """The model or the domain does not fit."""

    reason: str
    n_queries: int = field(default=0, compare=False)
    """Rows sent to the model before that was found out."""
    contradicts: bool = False
    """True if the model answered otherwise than its own structure says."""


def exact_dtype(total: int) -> np.dtype[Any]:
    """The type that holds counts up to a total exactly: machine integers if they are wide enough, else Python's."""
    return np.dtype(np.int64) if total < 2**63 else np.dtype(object)
