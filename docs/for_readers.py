"""The reference as people read it: defaults as values, where the source names a constant; examples as code."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import Any

import griffe

EXAMPLE = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)


class ForReaders(griffe.Extension):
    """Changes what was read from the source before it is shown."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Fence the doctests: to Markdown `>>>` is a quotation in a quotation."""
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(lambda match: f"```pycon\n{match[0]}\n```", obj.docstring.value)

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
