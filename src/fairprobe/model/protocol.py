"""What is asked of a model, and of the piece of code that asks it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats
from fairprobe.domain.domain import Domain
from fairprobe.model.forms import Form


class HasPredict(Protocol):
    """Anything with `predict`: one output a row."""

    def predict(self, batch: Any) -> Any:
        """One output a row."""


Model = HasPredict | Callable[[Any], Any]
"""Anything with `predict`, or a callable that takes a batch and returns one output a row."""


@dataclass(frozen=True)
class Abilities:
    """What a model can do. Its adapter declares it here; nobody else looks at the model to find out."""

    name: str
    scores: bool = False
    """Whether it tells how far an input is from the boundary between its labels."""
    probabilities: bool = False
    gradients: bool = False
    leaves: bool = False
    """Whether its scores are those of leaves: steps, that say nothing of what lies beyond them."""
    threads: bool = False
    """Whether threads that ask it side by side are faster than one."""
    labels_follow: Literal["proba", "score"] | None = None
    """The output that its labels follow from, so that asking for that one is enough; None if that is not known."""
    classes: NDArray[Any] | None = None
    columns: tuple[str, ...] | None = None
    """The names of the columns that it was fitted on, in its order."""


@dataclass(frozen=True)
class Adapter:
    """How to ask one model: the function to call and the form of its batches."""

    function: Callable[[Any], Any]
    """For inputs of the domain."""
    form: Form
    name: str
    careful: Callable[[Any], Any] | None = None
    """For rows from outside, where the function leaves out a check that inputs of the domain do not need."""
    is_function: bool = False
    """Whether it is a plain callable, of which nothing else is known."""
    gives_probabilities: bool = False
    """Whether its scores are the probability of a class."""
    finite_only: bool = False
    """Whether its batches never hold a missing number, so that scikit-learn need not look for one."""
    gradients: Callable[[Any], tuple[Floats, Floats] | None] | None = None
    """The score of each row and how each column changes it; None for scores of more than two classes."""
    leaves: Callable[[Any], Codes] | None = None
    """The leaves that each row falls into, a column a tree."""


class Adapting(Protocol):
    """What a module must offer to be registered as an adapter."""

    def accepts(self, model: Any) -> bool:
        """Whether this adapter is for that model."""

    def abilities(self, model: Any) -> Abilities:
        """What such a model can do."""

    def adapt(self, model: Any, domain: Domain, output: str, batch: str | None) -> Adapter:
        """How to ask it about inputs of a domain."""
