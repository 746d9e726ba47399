"""`auto`: the strategy that suits what a model offers."""

from __future__ import annotations

from typing import Any

from fairprobe.model.torch_module import is_module


def choose_strategy(model: Any, output: str = "label") -> str:
    """The name of a strategy.

    - The gradients of a torch module guide best.
    - Trees have leaves (`apply`): their scores are steps, which guide no better than labels, at twice the queries.
    - Other models are guided by their scores, or by their labels where they give none.
    - Gaps of scores above a threshold have no boundary to aim at.
    """
    if output != "label":
        return "anchored"
    if is_module(model):
        return "gradient"
    return "anchored" if hasattr(model, "apply") else "guided"
