"""Adapters: how each kind of model is asked, and what it can do.

A new kind of model is one new module with a subclass of `Adapter`, and one line in `ADAPTERS`. The smallest to copy is
`FunctionAdapter`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from importlib import import_module
from typing import Any, ClassVar, Literal, Protocol

from numpy.typing import NDArray

from fairprobe.arrays import Floats
from fairprobe.domain.domain import Domain
from fairprobe.errors import SettingError
from fairprobe.model.answers import last_class
from fairprobe.model.categories import own_name
from fairprobe.model.forms import ArrayForm, Form, FrameForm, ObjectForm, natural_dtype

ADAPTERS: dict[str, str] = {
    "estimator": "fairprobe.model.sklearn:EstimatorAdapter",
    "torch": "fairprobe.model.torch:TorchAdapter",
    "function": "fairprobe.model.adapters:FunctionAdapter",
}
"""Classes of adapters, tried in turn: the first that accepts a model asks it."""


class HasPredict(Protocol):
    """Anything with `predict`: one output for each row."""

    def predict(self, batch: Any) -> Any:
        """One output for each row."""


Model = HasPredict | Callable[[Any], Any]
"""Anything with `predict`, or a callable that takes a batch and returns one output for each row."""


class Adapter:
    """Knows how one model is asked and what it can do; no other code looks at the model to find that out."""

    scores: bool = False
    """True if the model tells how far an input is from the boundary between its labels."""
    probabilities: bool = False
    is_stepwise: bool = False
    """True if the scores are those of leaves: steps, which say nothing of what lies beyond them."""
    is_elsewhere: ClassVar[bool] = False
    """True for a service or a program: nothing but its answers is known of it."""
    connections: bool = False
    """True if the model is asked over connections of its own: more processes would only send rows twice."""
    labels_follow: Literal["proba", "score"] | None = None
    """The output that the labels follow from, so that asking for that one is enough; None if that is not known."""
    classes: NDArray[Any] | None = None
    columns: tuple[str, ...] | None = None
    """The names of the columns that the model was fitted on, in its order."""
    is_function: bool = False
    """True for a plain callable, which gives the same answers whatever output it is asked for."""
    always_finite: bool = False
    """True if scikit-learn need not look for missing numbers in batches of a domain that has none."""
    gradients: Callable[[Any], tuple[Floats, Floats] | None] | None = None
    """Gives the score of each row and how each column changes it; None for scores of more than two classes."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.name = type(model).__name__

    @staticmethod
    def accepts(model: Any) -> bool:
        """Return True if this adapter is for that model."""
        raise NotImplementedError

    def columns_in(self, domain: Domain) -> list[str] | None:
        """The columns that the model was fitted on, by the names that the domain has for them."""
        return None if self.columns is None else [own_name(column, domain.names) for column in self.columns]

    def form(self, domain: Domain, batch: str | None) -> Form:
        """The form of the model's batches; `batch` is "array", "frame" or None for the model's own."""
        raise NotImplementedError

    def method(self, output: str, form: Form) -> Callable[[Any], Any]:
        """The function that gives an output for a batch, whatever rows are in it."""
        raise NotImplementedError

    def fast(self, method: Callable[[Any], Any], output: str, form: Form) -> Callable[[Any], Any]:
        """That function without the checks that inputs of the domain do not need."""
        return method

    def afresh(self) -> AbstractContextManager[None]:
        """Inside this, a row is sent even if its answer is remembered."""
        return nullcontext()

    @property
    def n_sent(self) -> int | None:
        """Rows sent so far, where a model counts them itself: some are remembered, some are sent again."""
        return None


class Wrapper:
    """Stands in front of a model and is asked in its place: `_ask` gets each batch and the function that was meant."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, batch: Any) -> Any:
        """Ask the wrapped callable."""
        return self._ask(self.model, batch)

    def __getattr__(self, name: str) -> Any:
        # Only what the wrapped model has, so that an adapter finds out what it can do.
        if name in ("classes_", "feature_names_in_", "n_features_in_"):
            return getattr(self.model, name)
        if name in ("predict", "predict_proba", "decision_function"):
            return partial(self._ask, getattr(self.model, name))
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _ask(self, function: Callable[[Any], Any], batch: Any) -> Any:
        return function(batch)


def adapter_for(model: Any) -> Adapter:
    """The adapter that asks this model; a model that runs elsewhere is its own."""
    if isinstance(model, Adapter):
        return model
    for path in ADAPTERS.values():
        module, _, name = path.partition(":")
        kind: type[Adapter] = getattr(import_module(module), name)
        if kind.accepts(model):
            return kind(model)
    raise SettingError(f"a model must have predict or be callable, got {type(model).__name__}: {model!r:.80}")


def columns_of(model: Any, domain: Domain) -> list[str] | None:
    """The columns that a model was fitted on, by the names that the domain has for them; None if it does not say."""
    return adapter_for(model).columns_in(domain)


def register(name: str, path: str) -> None:
    """Add an adapter of your own, the class at `path` (package.module:Class); it is tried before the others."""
    if not isinstance(path, str) or not re.fullmatch(r"[\w.]+:\w+", path):
        raise SettingError(f"an adapter is a class, named as package.module:Class, got {path!r}")
    if name in ADAPTERS:
        raise SettingError(f"an adapter's name must be new, got {name!r}, which is {ADAPTERS[name]}")
    others = dict(ADAPTERS)
    ADAPTERS.clear()
    ADAPTERS.update({name: path, **others})


class FunctionAdapter(Adapter):
    """Calls the model as it is: with an array if all parameters are numbers, otherwise with a frame."""

    is_function = True

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.name = getattr(model, "__name__", self.name)

    @staticmethod
    def accepts(model: Any) -> bool:
        """Return True for anything that can be called."""
        return callable(model)

    def form(self, domain: Domain, batch: str | None) -> Form:
        """An array or a frame of all visible parameters."""
        is_numeric = all(parameter.is_numeric for parameter in domain.seen)
        if batch == "frame" or (batch is None and not is_numeric):
            return FrameForm(domain, domain.visible)
        return ArrayForm(domain, natural_dtype(domain)) if is_numeric else ObjectForm(domain)

    def method(self, output: str, form: Form) -> Callable[[Any], Any]:
        """The callable itself, for every output."""
        function: Callable[[Any], Any] = self.model
        return function


class Elsewhere(Adapter):
    """A model that runs elsewhere, in a service or a program: nothing is known of it but its answers.

    It is its own adapter. Sent to another process, it is connected or started there anew.
    """

    is_elsewhere = True

    def __init__(self, name: str, make: Callable[[], Any], answers: Collection[str] = ()) -> None:
        from fairprobe.model.background import PerProcess  # imports asyncio, which takes its time

        super().__init__(None)  # not itself: a cycle of references would keep what it holds open
        self.name = name
        """What runs, without secrets."""
        self._here = PerProcess(make)
        self.scores, self.probabilities = "score" in answers, "proba" in answers
        self.is_function = not (self.scores or self.probabilities)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    def ask(self, output: str, rows: Any) -> NDArray[Any]:
        """The answers to the rows of a batch, read as that output."""
        raise NotImplementedError

    def method(self, output: str, form: Form) -> Callable[[Any], Any]:
        """The answer that goes by the output's name, else the one that there is; a score may be of probabilities."""
        if output == "score" and not self.scores and self.probabilities:
            return partial(last_class, partial(self.ask, "proba"))
        return partial(self.ask, output)

    def predict(self, rows: Any) -> NDArray[Any]:
        """One answer for each row."""
        return self.ask("label", rows)

    def close(self) -> None:
        """Let go of the connections, or end the program; that also happens when the model is no longer used."""
        self._here.close()
