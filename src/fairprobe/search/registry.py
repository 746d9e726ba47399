"""The strategies by name, and which suits a model. The names are listed without importing any of them."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairprobe.checks import nearest
from fairprobe.errors import SettingError
from fairprobe.model.adapters import abilities_of

if TYPE_CHECKING:
    from fairprobe.search.strategy import Strategy

STRATEGIES: dict[str, str] = {
    "uniform": "fairprobe.search.strategies.uniform:Uniform",
    "random": "fairprobe.search.strategies.random_walk:RandomWalk",
    "semi-directed": "fairprobe.search.strategies.semi_directed:SemiDirected",
    "fully-directed": "fairprobe.search.strategies.fully_directed:FullyDirected",
    "anchored": "fairprobe.search.strategies.anchored:Anchored",
    "guided": "fairprobe.search.strategies.guided:Guided",
    "genetic": "fairprobe.search.strategies.genetic:Genetic",
}
"""For any model."""

TORCH_STRATEGIES: dict[str, str] = {"gradient": "fairprobe.search.strategies.gradient:Gradient"}
"""For torch modules only."""

NEARBY = "nearby"
ROW_STRATEGIES: dict[str, str] = {NEARBY: "fairprobe.search.strategies.nearby:Nearby"}
"""For real rows with a few changes only: what `max_changes` is about."""

DEFAULT = "fully-directed"

AUTO = "auto"
"""Stands for the strategy that suits the model; `guided` as long as that is not known."""


def strategy_path(name: str) -> str:
    """Where the class behind a name is: "module:Class"."""
    known = {**STRATEGIES, **TORCH_STRATEGIES, **ROW_STRATEGIES, AUTO: STRATEGIES["guided"]}
    if not isinstance(name, str) or name not in known:
        raise SettingError.about("strategy", f"must be one of {', '.join(known)}; got {name!r}{nearest(name, known)}")
    return known[name]


def load_strategy(path: str) -> type[Strategy]:
    """The class at a path."""
    module, attribute = path.split(":")
    found: type[Strategy] = getattr(import_module(module), attribute)
    return found


def register(name: str, path: str) -> None:
    """Add a strategy of your own: `path` is "module:Class"."""
    if not isinstance(path, str) or not re.fullmatch(r"[\w.]+:\w+", path):
        raise SettingError(f'a strategy is at "module:Class", got {path!r}')
    if name in {*STRATEGIES, *TORCH_STRATEGIES, *ROW_STRATEGIES, AUTO}:
        raise SettingError(f"a strategy's name must be new, got {name!r}, which is {strategy_path(name)}")
    STRATEGIES[name] = path


def settled_strategy(strategy: str, model: Any, output: str, max_changes: int | None = None) -> str:
    """The strategy asked for, "auto" settled for the model; with `max_changes` the one that keeps to it."""
    if max_changes is not None and strategy in (DEFAULT, AUTO):
        return NEARBY
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
