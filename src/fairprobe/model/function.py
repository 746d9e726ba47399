"""Adapter for a plain callable."""

from __future__ import annotations

from typing import Any

from fairprobe.domain.domain import Domain
from fairprobe.model.adapters import Abilities, Adapter
from fairprobe.model.forms import ArrayForm, FrameForm, ObjectForm
from fairprobe.model.sklearn import natural_dtype


def accepts(model: Any) -> bool:
    """Whether this adapter is for that model."""
    return callable(model)


def abilities(model: Any) -> Abilities:
    """Nothing but answers is known of it."""
    return Abilities(getattr(model, "__name__", type(model).__name__))


def adapt(model: Any, domain: Domain, output: str, batch: str | None) -> Adapter:
    """Call it as it is: with an array if all parameters are numbers, else with a frame."""
    name = getattr(model, "__name__", type(model).__name__)
    numeric = all(parameter.is_numeric for parameter in domain.seen)
    if batch == "frame" or (batch is None and not numeric):
        return Adapter(model, FrameForm(domain, domain.visible), name, is_function=True)
    form = ArrayForm(domain, natural_dtype(domain)) if numeric else ObjectForm(domain)
    return Adapter(model, form, name, is_function=True)
