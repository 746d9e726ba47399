"""Adapter for torch modules. Torch is imported only where there is a module, which has imported it already."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.arrays import Floats
from fairprobe.domain.domain import Domain
from fairprobe.errors import SettingError
from fairprobe.model.adapters import Abilities, Adapter
from fairprobe.model.forms import ArrayForm


def accepts(model: Any) -> bool:
    """Whether it is a `torch.nn.Module`; one with a `predict` of its own is asked as an estimator before."""
    if getattr(model, "is_torch_", False):  # it is one in another process
        return True
    names = ((base.__module__, base.__name__) for base in type(model).__mro__)
    return ("torch.nn.modules.module", "Module") in names


def abilities(model: Any) -> Abilities:
    """Scores and their gradients."""
    return Abilities(type(model).__name__, scores=True, gradients=not hasattr(model, "is_torch_"))


def adapt(model: Any, domain: Domain, output: str, batch: str | None) -> Adapter:
    """Call it with a float32 tensor. One output a row is a score, above 0 for label 1; of several the largest wins."""
    if batch == "frame" or not all(parameter.is_numeric for parameter in domain.seen):
        raise SettingError(
            "a torch module needs numbers, got parameters or a batch that are none: wrap it in a function"
        )
    if output == "proba":
        raise SettingError(
            "output='proba' needs probabilities, got a torch module: wrap it in a function, or use 'score'"
        )
    if hasattr(model, "is_torch_"):
        return Adapter(partial(model.ask, f"torch:{output}"), ArrayForm(domain, np.float32), model.__name__)
    return Adapter(
        partial(_ask, model, output),
        ArrayForm(domain, np.float32),
        type(model).__name__,
        gradients=partial(_gradients, model),
    )


def _ask(model: Any, output: str, batch: NDArray[Any]) -> NDArray[Any]:
    torch: Any = import_module("torch")  # an extra: its types are not there to be checked
    with torch.no_grad(), evaluating(model):
        answers = model(_moved(model, torch.from_numpy(np.ascontiguousarray(batch)))).cpu().double().numpy()
    if output == "label":
        return answers.argmax(axis=1) if answers.ndim == 2 and answers.shape[1] > 1 else (answers > 0).astype(np.int64)
    if output == "score" and answers.ndim == 2 and answers.shape[1] == 2:
        return answers[:, 1] - answers[:, 0]
    return answers


def _gradients(model: Any, batch: NDArray[Any]) -> tuple[Floats, Floats] | None:
    """The score of each row, above 0 for the label 1, and its gradient; None for more classes than two."""
    torch: Any = import_module("torch")
    with evaluating(model):
        rows = _moved(model, torch.from_numpy(batch)).requires_grad_()
        answers = model(rows)
        if answers.ndim == 2 and answers.shape[1] > 2:
            return None
        is_pair = answers.ndim == 2 and answers.shape[1] == 2
        scores = answers[:, 1] - answers[:, 0] if is_pair else answers.reshape(-1)
        (gradients,) = torch.autograd.grad(scores.sum(), rows)
    return scores.detach().cpu().double().numpy(), gradients.cpu().double().numpy()


def _moved(model: Any, rows: Any) -> Any:
    """Rows on the device of the module's first weight, where it takes its input."""
    weight = next(chain(model.parameters(), model.buffers()), rows)
    return rows.to(weight.device)


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """The module in evaluation mode, as it is used; in the end each part of it has the mode it had."""
    training = [part for part in model.modules() if part.training]
    for part in training:
        part.training = False
    try:
        yield
    finally:
        for part in training:
            part.training = True
