"""Adapter for torch modules. Torch is imported only where there is a module, which has imported it already."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe.domain.domain import Domain
from fairprobe.errors import SettingError
from fairprobe.model.forms import ArrayForm
from fairprobe.model.protocol import Adapter


def is_module(model: Any) -> bool:
    """Whether it is a `torch.nn.Module`."""
    return any(
        base.__module__ == "torch.nn.modules.module" and base.__name__ == "Module" for base in type(model).__mro__
    )


def accepts(model: Any) -> bool:
    """Whether this adapter is for that model; one with a `predict` of its own is asked as an estimator."""
    return is_module(model)


def adapt(model: Any, domain: Domain, output: str, batch: str | None) -> Adapter:
    """Call it with a float32 tensor. One output a row is a score, above 0 for label 1; of several the largest wins."""
    if batch == "frame" or not all(parameter.is_numeric for parameter in domain.parameters):
        raise SettingError(
            "a torch module needs numbers, got parameters or a batch that are none: wrap it in a function"
        )
    if output == "proba":
        raise SettingError(
            "output='proba' needs probabilities, got a torch module: wrap it in a function, or use 'score'"
        )
    return Adapter(partial(_ask, model, output), ArrayForm(domain, np.float32), type(model).__name__)


def _ask(model: Any, output: str, batch: NDArray[Any]) -> NDArray[Any]:
    torch: Any = import_module("torch")  # an extra: its types are not there to be checked
    with torch.no_grad():
        answers = model(torch.from_numpy(np.ascontiguousarray(batch))).double().numpy()
    if output == "label":
        return answers.argmax(axis=1) if answers.ndim == 2 and answers.shape[1] > 1 else (answers > 0).astype(np.int64)
    if output == "score" and answers.ndim == 2 and answers.shape[1] == 2:
        return answers[:, 1] - answers[:, 0]
    return answers
