"""Defaults in the reference as they are: `n_global=5000`, where the source names a constant."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import griffe


class Defaults(griffe.Extension):
    """Puts the value in the place of the constant's name."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Look the defaults up in the function itself, as Python has it."""
        named = [each for each in func.parameters if isinstance(each.default, (griffe.ExprName, griffe.ExprAttribute))]
        if not named or not func.is_public:
            return
        owner = import_module(func.module.path)
        for step in func.path.removeprefix(f"{func.module.path}.").split("."):
            owner = getattr(owner, step)
        real = inspect.signature(owner).parameters
        for each in named:
            each.default = repr(real[each.name].default)
