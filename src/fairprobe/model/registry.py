"""The adapters by name: who asks which kind of model, and what it can do."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, cast

from fairprobe.errors import SettingError
from fairprobe.model.protocol import Abilities, Adapting

ADAPTERS: dict[str, str] = {
    "estimator": "fairprobe.model.sklearn",
    "torch": "fairprobe.model.torch",
    "function": "fairprobe.model.function",
}
"""The modules, tried in turn: the first that accepts a model asks it."""


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


def register(name: str, path: str) -> None:
    """Add an adapter of your own, the module at `path`; it is tried before those that are there."""
    if not isinstance(path, str) or not re.fullmatch(r"[\w.]+", path):
        raise SettingError(f"an adapter is a module, named as in import, got {path!r}")
    if name in ADAPTERS:
        raise SettingError(f"an adapter's name must be new, got {name!r}, which is {ADAPTERS[name]}")
    others = dict(ADAPTERS)
    ADAPTERS.clear()
    ADAPTERS.update({name: path, **others})
