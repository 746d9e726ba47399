"""Adapter for a plain callable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairprobe.domain.domain import Domain
from fairprobe.model.adapters import Adapter
from fairprobe.model.forms import ArrayForm, Form, FrameForm, ObjectForm, natural_dtype


class FunctionAdapter(Adapter):
    """Calls the model as it is: with an array if all parameters are numbers, otherwise with a frame."""

    is_function = True

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.name = getattr(model, "__name__", self.name)

    @staticmethod
    def accepts(model: Any) -> bool:
        """Return True for anything that can be called."""
        return callable(model)

    def form(self, domain: Domain, batch: str | None) -> Form:
        """An array or a frame of all visible parameters."""
        is_numeric = all(parameter.is_numeric for parameter in domain.seen)
        if batch == "frame" or (batch is None and not is_numeric):
            return FrameForm(domain, domain.visible)
        return ArrayForm(domain, natural_dtype(domain)) if is_numeric else ObjectForm(domain)

    def method(self, output: str, form: Form) -> Callable[[Any], Any]:
        """The callable itself, for every output."""
        function: Callable[[Any], Any] = self.model
        return function
