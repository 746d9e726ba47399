"""Adapters: one class per kind of model, which says how to ask the model and what it can do.

A new kind of model is one new module with a subclass of `Adapter`, and one line in `ADAPTERS`. The smallest to copy is
`FunctionAdapter`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pkgutil import resolve_name
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from fairprobe.domain.domain import Domain
from fairprobe.errors import SettingError
from fairprobe.model.categories import own_name
from fairprobe.model.forms import ArrayForm, Form, FrameForm, ObjectForm, natural_dtype

ADAPTERS: dict[str, str] = {
    "estimator": "fairprobe.model.sklearn:EstimatorAdapter",
    "torch": "fairprobe.model.torch:TorchAdapter",
    "function": "fairprobe.model.adapters:FunctionAdapter",
}
"""Adapter classes as "module:Class", by name. They are tried in order, and the first that accepts a model is used."""


class HasPredict(Protocol):
    """Protocol of any object with a method `predict` that returns one output for each row."""

    def predict(self, batch: Any) -> Any:
        """Return one output for each row."""


Model = HasPredict | Callable[[Any], Any]
"""Anything with `predict`, or a callable that takes a batch and returns one output for each row."""


class Adapter:
    """Base class: how to ask one model, and what the model can do. No other code inspects a model for this."""

    scores: bool = False
    """True if the model has a method of its own for scores: distances from the boundary between labels."""
    probabilities: bool = False
    is_stepwise: bool = False
    """True if scores are constant on regions, as for trees. Such scores have no slope to follow."""
    is_elsewhere: ClassVar[bool] = False
    """True for a service or a program, of which only the answers are known."""
    connections: bool = False
    """True if the model is asked over its own parallel connections, so that further processes gain nothing."""
    labels_follow: Literal["proba", "score"] | None = None
    """Output, "proba" or "score", from which the labels can be computed, so that labels need no query. None if not
    known."""
    classes: NDArray[Any] | None = None
    columns: tuple[str, ...] | None = None
    """Names of the columns on which the model was fitted, in its order; None if not known."""
    is_function: bool = False
    """True for a plain callable, which gives the same answers whichever output is asked for."""
    always_finite: bool = False
    """True if scikit-learn's check of batches for NaN may be skipped when the domain has no missing values."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.name = type(model).__name__

    @staticmethod
    def accepts(model: Any) -> bool:
        """Return True if this adapter can ask the model."""
        raise NotImplementedError

    def columns_in(self, domain: Domain) -> list[str] | None:
        """Return the columns on which the model was fitted, under the domain's names; None if they are not known."""
        return None if self.columns is None else [own_name(column, domain.names) for column in self.columns]

    def form(self, domain: Domain, batch: str | None) -> Form:
        """Return the object that turns codes into batches for this model.

        `batch` is "array", "frame", or None for the form that the model was fitted with.
        """
        raise NotImplementedError

    def method(self, output: str, form: Form) -> Callable[[Any], Any]:
        """Return the function from a batch to the model's raw answers for `output`; the rows may hold any values."""
        raise NotImplementedError

    def fast(self, method: Callable[[Any], Any], output: str, form: Form) -> Callable[[Any], Any]:
        """Return `method` without checks that rows made from the domain do not need; by default `method` itself."""
        return method

    def afresh(self) -> AbstractContextManager[None]:
        """Within the context, send every row, even if its answer is cached."""
        return nullcontext()

    @property
    def n_sent(self) -> int | None:
        """The number of rows sent so far, if the model counts them itself because of caching and retries; else None."""
        return None


class Wrapper:
    """Base class for an object that is asked in place of a model.

    Every call passes through `_ask`, which gets the model's own function and the batch.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, batch: Any) -> Any:
        """Return the answers of the wrapped callable to a batch."""
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
    """Return the adapter for a model; a service or program is its own. Raise a SettingError if none fits."""
    if isinstance(model, Adapter):
        return model
    for path in ADAPTERS.values():
        kind: type[Adapter] = resolve_name(path)
        if kind.accepts(model):
            return kind(model)
    advice = ""
    if callable(getattr(model, "predict_proba", None)):
        ask = "lambda rows: model.predict_proba(rows)[:, 1]"
        advice = f"; it has predict_proba alone: give a function, such as `{ask}` with output='score' and a threshold"
    raise SettingError(f"a model must have predict or be callable, got {type(model).__name__}: {model!r:.80}{advice}")


def columns_of(model: Any, domain: Domain) -> list[str] | None:
    """Return the columns on which a model was fitted, under the domain's names; None if they are not known."""
    return adapter_for(model).columns_in(domain)


def register(name: str, path: str) -> None:
    """Register an adapter class of your own, given as "package.module:Class"; it is tried before all earlier ones."""
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
        """Return the form of batches with all visible parameters: an array if all are numbers, otherwise a DataFrame.

        `batch` overrides this choice.
        """
        is_numeric = all(parameter.is_numeric for parameter in domain.seen)
        if batch == "frame" or (batch is None and not is_numeric):
            return FrameForm(domain, domain.visible)
        return ArrayForm(domain, natural_dtype(domain)) if is_numeric else ObjectForm(domain)

    def method(self, output: str, form: Form) -> Callable[[Any], Any]:
        """Return the model itself, which is called for every output."""
        function: Callable[[Any], Any] = self.model
        return function


def last_class(ask: Callable[[Any], Any], batch: Any) -> Any:
    """Return the second of two probability columns as each row's score; other answers of `ask` are unchanged."""
    probabilities = np.asarray(ask(batch))
    is_pair = probabilities.ndim == 2 and probabilities.shape[1] == 2
    return probabilities[:, 1] if is_pair else probabilities


def margin(scores: Any) -> Any:
    """Return the second of two columns of scores minus the first; scores of any other shape are returned unchanged."""
    return scores[:, 1] - scores[:, 0] if scores.shape[1:] == (2,) else scores


class Elsewhere(Adapter):
    """A model that runs elsewhere, in a service or a program, of which only the answers are known.

    It is its own adapter. A copy in another process opens its own connections or starts its own program.
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
        """Return the model's answers to a batch, one per row; `output` is "label", "score", "proba" or "value"."""
        raise NotImplementedError

    def method(self, output: str, form: Form) -> Callable[[Any], Any]:
        """Return the function from a batch to the answers for `output`.

        If the model gives probabilities but no scores, a score is the probability of the last class.
        """
        if output == "score" and not self.scores and self.probabilities:
            return partial(last_class, partial(self.ask, "proba"))
        return partial(self.ask, output)

    def predict(self, rows: Any) -> NDArray[Any]:
        """Return one label for each row of a batch."""
        return self.ask("label", rows)

    def close(self) -> None:
        """Close the connections, or end the program; this also happens when the model is no longer used."""
        self._here.close()
