"""Weights of torch modules, from safetensors files: tensors by name, and nothing that runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairprobe.errors import SettingError


def with_weights(model: Any, path: Path, source: str) -> Any:
    """A module, or what makes one, with the weights in a file."""
    raise SettingError(f"weights of {source} cannot be read yet, got {path}")
