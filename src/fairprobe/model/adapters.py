"""Adapters: what is asked of a model, of the piece of code that asks it, and who asks which kind of model.

A new kind of model is one new module, with what `Adapting` lists, and one line in `ADAPTERS`; the smallest to copy is
`function.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any, Literal, Protocol, cast

from numpy.typing import NDArray

from fairprobe.arrays import Codes, Floats
from fairprobe.domain.domain import Domain
from fairprobe.errors import SettingError
from fairprobe.model.categories import own_name
from fairprobe.model.forms import Form

ADAPTERS: dict[str, str] = {
    "service": "fairprobe.model.remote",
    "program": "fairprobe.model.program",
    "estimator": "fairprobe.model.sklearn",
    "torch": "fairprobe.model.torch",
    "function": "fairprobe.model.function",
}
"""The modules, tried in turn: the first that accepts a model asks it."""


class HasPredict(Protocol):
    """Anything with `predict`: one output a row."""

    def predict(self, batch: Any) -> Any:
        """One output a row."""


Model = HasPredict | Callable[[Any], Any]
"""Anything with `predict`, or a callable that takes a batch and returns one output a row."""


class Wrapper:
    """Goes around a model and is asked in its place: each batch comes to `_ask`, with the function that was meant."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, batch: Any) -> Any:
        """Ask the wrapped callable."""
        return self._ask(self.model, batch)

    def __getattr__(self, name: str) -> Any:
        # Only what the wrapped model has: whoever looks finds out what it can do.
        if name in ("classes_", "feature_names_in_", "n_features_in_"):
            return getattr(self.model, name)
        if name in ("predict", "predict_proba", "decision_function"):
            return partial(self._ask, getattr(self.model, name))
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _ask(self, function: Callable[[Any], Any], batch: Any) -> Any:
        return function(batch)


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
    is_elsewhere: bool = False
    """Whether it runs elsewhere, in a service or a program, so that nothing but its answers is known of it."""
    connections: bool = False
    """Whether it is asked over connections of its own: more processes would only send rows that nobody needs."""
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
    afresh: Callable[[], AbstractContextManager[None]] | None = None
    """Inside this a row is sent even if its answer is remembered; None for a model that remembers none."""
    n_sent: Callable[[], int] | None = None
    """Rows sent since it was made, where that is not what was asked: some are remembered, some are sent again."""
    categories: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """By column that was fitted as a pandas categorical, the categories in the order that the model knows them by."""


class Adapting(Protocol):
    """What a module must offer to be registered as an adapter."""

    def accepts(self, model: Any) -> bool:
        """Whether this adapter is for that model."""

    def abilities(self, model: Any) -> Abilities:
        """What such a model can do."""

    def adapt(self, model: Any, domain: Domain, output: str, batch: str | None) -> Adapter:
        """How to ask it about inputs of a domain."""


def adapter_for(model: Any) -> Adapting:
    """The module that asks this model."""
    for path in ADAPTERS.values():
        adapting = cast("Adapting", import_module(path))
        if adapting.accepts(model):
            return adapting
    raise SettingError(f"a model must have predict or be callable, got {type(model).__name__}: {model!r:.80}")


def abilities_of(model: Any) -> Abilities:
    """What a model can do, as its adapter declares."""
    return adapter_for(model).abilities(model)


def columns_of(model: Any, domain: Domain) -> list[str] | None:
    """The columns that a model was fitted on, by the names that the domain has for them; None if it does not say."""
    columns = abilities_of(model).columns
    return None if columns is None else [own_name(column, domain.names) for column in columns]


def register(name: str, path: str) -> None:
    """Add an adapter of your own, the module at `path`; it is tried before those that are there."""
    if not isinstance(path, str) or not re.fullmatch(r"[\w.]+", path):
        raise SettingError(f"an adapter is a module, named as in import, got {path!r}")
    if name in ADAPTERS:
        raise SettingError(f"an adapter's name must be new, got {name!r}, which is {ADAPTERS[name]}")
    others = dict(ADAPTERS)
    ADAPTERS.clear()
    ADAPTERS.update({name: path, **others})
