"""Weights of torch modules, from safetensors files: tensors by name, and nothing that runs."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from fairprobe.errors import DataError, SettingError
from fairprobe.model.sources.load import what_happened
from fairprobe.model.sources.reading import ADVICE, Content, imported, shortened
from fairprobe.model.torch import TorchAdapter


def with_weights(named: Any, path: Path, source: str) -> Any:
    """A copy of a module, or the one that a class or a function makes, with the weights in a file."""
    module = copy.deepcopy(named) if TorchAdapter.accepts(named) else _made(named, source)
    imported("safetensors", "torch", "a file of weights")
    content = Content(path, "weights")
    try:
        tensors = imported("safetensors.torch", "torch", "a file of weights").load(content.data)
    except Exception as error:
        rule = f"weights must be a whole safetensors file, got {shortened(error)}"
        raise DataError(f"{rule}: {path}{ADVICE}") from None
    try:
        module.load_state_dict(tensors)
    except RuntimeError as error:
        rule = f"weights must be those of {source}, got {path} of another architecture"
        raise DataError(f"{rule}: {shortened(error)}") from None
    return module


def _made(maker: Any, source: str) -> Any:
    if not callable(maker):
        got = f"{source}: {type(maker).__name__}"
        raise SettingError.about("weights", f"is for a torch module, or what makes one, got {got}")
    try:
        module = maker()
    except Exception as error:
        got = what_happened(error)
        raise SettingError(f"{source} must be a torch module, or make one when it is called, got {got}") from error
    if not TorchAdapter.accepts(module):
        raise SettingError.about("weights", f"is for a torch module, got {source}, which makes {type(module).__name__}")
    return module
