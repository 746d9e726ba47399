"""What is asked of a model, and of the piece of code that asks it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from fairprobe.model.forms import Form


class HasPredict(Protocol):
    """Anything with `predict`: one output a row."""

    def predict(self, batch: Any) -> Any:
        """One output a row."""


Model = HasPredict | Callable[[Any], Any]
"""Anything with `predict`, or a callable that takes a batch and returns one output a row."""


@dataclass(frozen=True)
class Adapter:
    """How to ask one model: the function to call and the form of its batches."""

    function: Callable[[Any], Any]
    """For inputs of the domain."""
    form: Form
    name: str
    careful: Callable[[Any], Any] | None = None
    """For rows from outside, where the function leaves out a check that inputs of the domain do not need."""
    finite_only: bool = False
    """Whether its batches never hold a missing number, so that scikit-learn need not look for one."""
