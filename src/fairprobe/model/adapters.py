"""Adapters: the way to ask each kind of model, and its capabilities.

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
    """The way to ask one model, and its capabilities; no other code inspects the model for these."""

    scores: bool = False
    """True if the model gives scores: the distance of an input from the boundary between its labels."""
    probabilities: bool = False
    is_stepwise: bool = False
    """True if the scores are those of leaves: steps, which have no slope."""
    is_elsewhere: ClassVar[bool] = False
    """True for a service or a program, of which only the answers are known."""
    connections: bool = False
    """True if the model is asked over its own connections, so that more processes would only send rows twice."""
    labels_follow: Literal["proba", "score"] | None = None
    """Output from which the labels follow, so that asking for it is enough; None if not known."""
    classes: NDArray[Any] | None = None
    columns: tuple[str, ...] | None = None
    """Names of the columns on which the model was fitted, in its order; None if not known."""
    is_function: bool = False
    """True for a plain callable, which gives the same answers for any output."""
    always_finite: bool = False
    """True if scikit-learn need not check for missing numbers in batches of a domain without missing values."""
    gradients: Callable[[Any], tuple[Floats, Floats] | None] | None = None
    """Function that returns the score of each row and its gradient; None for scores of more than two classes."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.name = type(model).__name__

    @staticmethod
    def accepts(model: Any) -> bool:
        """Return True if this adapter is for that model."""
        raise NotImplementedError

    def columns_in(self, domain: Domain) -> list[str] | None:
        """Return the columns on which the model was fitted, by the names that the domain has for them."""
        return None if self.columns is None else [own_name(column, domain.names) for column in self.columns]

    def form(self, domain: Domain, batch: str | None) -> Form:
        """Return the form of the model's batches; `batch` is "array", "frame" or None for the model's own."""
        raise NotImplementedError

    def method(self, output: str, form: Form) -> Callable[[Any], Any]:
        """Return the function that gives an output for a batch with any rows."""
        raise NotImplementedError

    def fast(self, method: Callable[[Any], Any], output: str, form: Form) -> Callable[[Any], Any]:
        """Return `method` without the checks that inputs of the domain do not need."""
        return method

    def afresh(self) -> AbstractContextManager[None]:
        """Within the context, send every row, even if its answer is cached."""
        return nullcontext()

    @property
    def n_sent(self) -> int | None:
        """Return the number of rows sent, if the model counts them itself because of caching and retries."""
        return None


class Wrapper:
    """Wrapper of a model that is asked in its place: `_ask` gets each batch and the intended function."""

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
    """Return the adapter that asks this model; a model that runs elsewhere is its own adapter."""
    if isinstance(model, Adapter):
        return model
    for path in ADAPTERS.values():
        module, _, name = path.partition(":")
        kind: type[Adapter] = getattr(import_module(module), name)
        if kind.accepts(model):
            return kind(model)
    raise SettingError(f"a model must have predict or be callable, got {type(model).__name__}: {model!r:.80}")


def columns_of(model: Any, domain: Domain) -> list[str] | None:
    """Return the columns on which a model was fitted, by the domain's names for them; None if not known."""
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
    """Adapter that calls the model: with an array if all parameters are numbers, otherwise with a frame."""

    is_function = True

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.name = getattr(model, "__name__", self.name)

    @staticmethod
    def accepts(model: Any) -> bool:
        """Return True for anything that can be called."""
        return callable(model)

    def form(self, domain: Domain, batch: str | None) -> Form:
        """Return an array or a frame of all visible parameters."""
        is_numeric = all(parameter.is_numeric for parameter in domain.seen)
        if batch == "frame" or (batch is None and not is_numeric):
            return FrameForm(domain, domain.visible)
        return ArrayForm(domain, natural_dtype(domain)) if is_numeric else ObjectForm(domain)

    def method(self, output: str, form: Form) -> Callable[[Any], Any]:
        """Return the callable itself, for every output."""
        function: Callable[[Any], Any] = self.model
        return function


class Elsewhere(Adapter):
    """A model that runs elsewhere, in a service or a program, of which only the answers are known.

    It is its own adapter. In another process it connects or starts again.
    """

    is_elsewhere = True

    def __init__(self, name: str, make: Callable[[], Any], answers: Collection[str] = ()) -> None:
        from fairprobe.model.background import PerProcess  # imports asyncio, which takes its time

        super().__init__(None)  # not itself: a cycle of references would keep what it holds open
        self.name = name
        """Name of the address or program, without secrets."""
        self._here = PerProcess(make)
        self.scores, self.probabilities = "score" in answers, "proba" in answers
        self.is_function = not (self.scores or self.probabilities)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    def ask(self, output: str, rows: Any) -> NDArray[Any]:
        """Return the answers to the rows of a batch, read as that output."""
        raise NotImplementedError

    def method(self, output: str, form: Form) -> Callable[[Any], Any]:
        """Return the answer named after the output, else the only one; a score may be of probabilities."""
        if output == "score" and not self.scores and self.probabilities:
            return partial(last_class, partial(self.ask, "proba"))
        return partial(self.ask, output)

    def predict(self, rows: Any) -> NDArray[Any]:
        """Return one answer for each row."""
        return self.ask("label", rows)

    def close(self) -> None:
        """Close the connections, or end the program; this also happens when the model is no longer used."""
        self._here.close()
