"""Weights of torch modules, from safetensors files: tensors by name, and nothing that runs."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from fairprobe.errors import DataError, SettingError
from fairprobe.model.sources.named import what_happened
from fairprobe.model.sources.reading import ADVICE, Content, imported, shortened
from fairprobe.model.torch import TorchAdapter

SHOWN = 3
"""Most differences that a message names. Chosen."""


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
    differences = _differences(module.state_dict(), tensors)
    if differences:
        more = f" and {len(differences) - SHOWN} more" if len(differences) > SHOWN else ""
        raise DataError(
            f"weights must be those of {source}, got {path} with {'; '.join(differences[:SHOWN])}{more}: another "
            "architecture"
        )
    module.load_state_dict(tensors)
    return module


def _made(maker: Any, source: str) -> Any:
    if not callable(maker):
        raise SettingError.about(
            "weights", f"is for a torch module, or what makes one, got {source}: {type(maker).__name__}"
        )
    try:
        module = maker()
    except Exception as error:
        raise SettingError(
            f"{source} must be a torch module, or make one when it is called, got {what_happened(error)}"
        ) from error
    if not TorchAdapter.accepts(module):
        raise SettingError.about("weights", f"is for a torch module, got {source}, which makes {type(module).__name__}")
    return module


def _differences(own: dict[str, Any], given: dict[str, Any]) -> list[str]:
    torch = imported("torch", "torch", "weights")
    shapes = {name: (tuple(own[name].shape), tuple(given[name].shape)) for name in own if name in given}
    return [
        *(f"no {name!r}" for name in own if name not in given),
        *(f"{name!r}, which it has not" for name in given if name not in own),
        *(f"{name!r} of the shape {there}, not {here}" for name, (here, there) in shapes.items() if here != there),
        *(
            f"{name!r} as {given[name].dtype}, not {own[name].dtype}"
            for name in shapes
            if torch.promote_types(own[name].dtype, given[name].dtype) != own[name].dtype
        ),
    ]
