"""What all commands that ask a model have in common."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from fairprobe.cli import live
from fairprobe.cli.loading import SUBJECT, load_model

Again = Callable[[dict[str, Any]], str]
"""The command line that gives the same again, with some options changed."""


def with_defaults(function: Callable[..., Any], given: dict[str, Any]) -> dict[str, Any]:
    """All keyword arguments of a function of the library: those given, the others as its signature says."""
    parameters = inspect.signature(function).parameters.values()
    defaults = {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}
    return {**defaults, **given}


def load(reference: str) -> Any:
    """The model, while a terminal shows that this may take a while."""
    is_subject = reference.startswith(f"{SUBJECT}:")
    with live.spinner(f"loading {reference}{'; the first time it is fitted, which takes a while' * is_subject}"):
        return load_model(reference)
