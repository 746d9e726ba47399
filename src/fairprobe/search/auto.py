"""`auto`: the strategy that suits what a model offers."""

from __future__ import annotations

from typing import Any

from fairprobe.model.registry import abilities_of
from fairprobe.search.registry import AUTO


def settled_strategy(strategy: str, model: Any, output: str) -> str:
    """The strategy asked for, "auto" settled for the model."""
    return choose_strategy(model, output) if strategy == AUTO else strategy


def choose_strategy(model: Any, output: str = "label") -> str:
    """The name of a strategy.

    - The gradients of a torch module guide best.
    - Trees have leaves: their scores are steps, which guide no better than labels, at twice the queries.
    - Other models are guided by their scores, or by their labels where they give none.
    - Gaps of scores above a threshold have no boundary to aim at.
    """
    if output != "label":
        return "anchored"
    can = abilities_of(model)
    if can.gradients:
        return "gradient"
    return "anchored" if can.leaves else "guided"
