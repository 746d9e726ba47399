"""Adapter for torch modules. Torch is imported only where there is a module, which has imported it already."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.domain.domain import Domain
from fairprobe.errors import SettingError
from fairprobe.model.adapters import Adapter, margin
from fairprobe.model.forms import ArrayForm, Form


class TorchAdapter(Adapter):
    """Adapter of a `torch.nn.Module`, which is called with a float32 tensor.

    If the module gives one number per row, it is a score: label 1 above 0, otherwise 0. If it gives several, the label
    is the position of the largest.
    """

    scores = True

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self._is_isolated = hasattr(model, "is_torch_")
        self.name = model.__name__ if self._is_isolated else self.name

    @staticmethod
    def accepts(model: Any) -> bool:
        """Return True for a `torch.nn.Module`, or for one in a process of its own (`isolate`).

        `EstimatorAdapter` is tried first, so a module with `predict` is an estimator.
        """
        names = ((base.__module__, base.__name__) for base in type(model).__mro__)
        return bool(getattr(model, "is_torch_", False)) or ("torch.nn.modules.module", "Module") in names

    def form(self, domain: Domain, batch: str | None) -> Form:
        """Return the form of batches: a float32 array of all visible parameters. Refuse a domain with text."""
        if batch == "frame" or not all(parameter.is_numeric for parameter in domain.seen):
            raise SettingError("a torch module needs numbers, got another batch or parameter: wrap it in a function")
        return ArrayForm(domain, np.float32)

    def method(self, output: str, form: Form) -> Callable[[Any], Any]:
        """Return the function from a batch to the module's labels, scores or values."""
        if output == "proba":
            raise SettingError("output='proba' needs probabilities, got a torch module: wrap it in a function")
        if self._is_isolated:
            return partial(self.model.ask, f"torch:{output}")
        return partial(ask_module, self.model, output)


def ask_module(model: Any, output: str, batch: NDArray[Any]) -> NDArray[Any]:
    """Return a torch module's answers to a batch: labels for "label", otherwise its numbers in double precision.

    For "score", two outputs per row become their difference, second minus first.
    """
    torch: Any = import_module("torch")  # an extra: its types are not there to be checked
    with torch.no_grad(), evaluating(model):
        answers = model(_moved(model, torch.from_numpy(np.ascontiguousarray(batch)))).cpu().double().numpy()
    if output == "label":
        return answers.argmax(axis=1) if answers.ndim == 2 and answers.shape[1] > 1 else (answers > 0).astype(np.int64)
    return margin(answers) if output == "score" else answers


def _moved(model: Any, rows: Any) -> Any:
    """Return a tensor of rows moved to the device of the module's first weight."""
    weight = next(chain(model.parameters(), model.buffers()), rows)
    return rows.to(weight.device)


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Within the context, a torch module is in evaluation mode; afterwards each part has its previous mode again."""
    training = [part for part in model.modules() if part.training]
    for part in training:
        part.training = False
    try:
        yield
    finally:
        for part in training:
            part.training = True
