"""The search strategies by name, and the choice of one for a model. Listing the names imports none of them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairprobe.checks import checked_choice
from fairprobe.errors import SettingError
from fairprobe.model.adapters import adapter_for
from fairprobe.searching.limits import Limits, SearchSettings

if TYPE_CHECKING:
    from fairprobe.searching.strategy import Strategy

STRATEGIES: dict[str, str] = {
    "uniform": "fairprobe.searching.strategies.uniform:Uniform",
    "random": "fairprobe.searching.strategies.random_walk:RandomWalk",
    "semi-directed": "fairprobe.searching.strategies.semi_directed:SemiDirected",
    "fully-directed": "fairprobe.searching.strategies.fully_directed:FullyDirected",
    "anchored": "fairprobe.searching.strategies.anchored:Anchored",
    "guided": "fairprobe.searching.strategies.guided:Guided",
    "genetic": "fairprobe.searching.strategies.genetic:Genetic",
}
"""Location of the class of each strategy for any model, as "module:Class", by the strategy's name."""

NEARBY = "nearby"
OTHER_STRATEGIES: dict[str, str] = {
    "gradient": "fairprobe.searching.strategies.guided:Guided",
    NEARBY: "fairprobe.searching.strategies.nearby:Nearby",
}
"""Location of the class of each other strategy, as "module:Class", by name: "gradient" is an old name of "guided", and
"nearby" is for `max_changes`."""

LEARNED = 1250
"""Smallest number of judged inputs with which a strategy that learns from scores is worth its extra queries.
Measured."""

AUTO = "auto"
"""Name of the choice by model and limits. Until these are known, "auto" is loaded as the strategy "guided"."""


def strategy_path(name: str) -> str:
    """Return the location of the class of a strategy, as "module:Class", by the strategy's name."""
    known = {**STRATEGIES, **OTHER_STRATEGIES, AUTO: STRATEGIES["guided"]}
    return known[checked_choice("strategy", name, known)]


def load_strategy(path: str) -> type[Strategy]:
    """Import a strategy and return its class, given its location as "module:Class"."""
    module, attribute = path.split(":")
    return getattr(import_module(module), attribute)


def register(name: str, path: str) -> None:
    """Add a search strategy of your own under a new name; `path` is the location of its class, "module:Class"."""
    if not isinstance(path, str) or not re.fullmatch(r"[\w.]+:\w+", path):
        raise SettingError(f'a strategy is at "module:Class", got {path!r}')
    if name in {*STRATEGIES, *OTHER_STRATEGIES, AUTO}:
        raise SettingError(f"a strategy's name must be new, got {name!r}, which is {strategy_path(name)}")
    STRATEGIES[name] = path


def settled_strategy(
    settings: SearchSettings, limits: Limits, model: Any, output: str, before: Mapping[str, Any] | None = None
) -> SearchSettings:
    """Return the settings of a search with a strategy chosen in place of "auto", and True or False for `hurry`.

    A resumed run keeps its original settings, `before`, even if its new limits would suggest others.
    """
    hurry = settings.hurry
    if settings.strategy != AUTO:
        return replace(settings, hurry=bool(hurry))
    if before and "strategy" in before:
        name, hurry = before["strategy"], before.get("hurry", False) if hurry is None else hurry
    elif settings.max_changes is not None:
        name = NEARBY
    elif settings.n_walkers == 1:  # who asks for one walker asks for the paper's algorithm
        name = "fully-directed"
    else:
        name = choose_strategy(model, output, limits)
    if hurry is None:
        is_only_time = limits.max_seconds is not None and limits.max_queries is None and limits.max_judged is None
        hurry = is_only_time
    return replace(settings, strategy=name, hurry=hurry)


def choose_strategy(model: Any, output: str = "label", limits: Limits | None = None) -> str:
    """Return the name of the strategy for a model and the limits of a search (`docs/strategies.md` has the figures).

    - "anchored" for outputs other than labels: gaps above a threshold have no boundary to aim at.
    - "anchored" for trees: their scores are steps, which guide no better than labels do.
    - "anchored" without scores, or if limits allow fewer than `LEARNED` inputs: there is too little to learn from.
    - "guided" for other models whose scores come with the labels in one query. Under a limit of seconds this holds only
      if labels follow from probabilities; otherwise the model, a linear one, answers too quickly for learning to pay.
    - "guided" if scores cost queries of their own, but only if judged inputs are limited, and not queries or seconds.
    """
    if output != "label":
        return "anchored"
    can, few = adapter_for(model), limits or Limits()
    if can.is_stepwise or not (can.scores or can.probabilities) or _most_inputs(few) < LEARNED:
        return "anchored"
    if can.labels_follow is None:
        is_worth_it = few.max_judged is not None and few.max_queries is None and few.max_seconds is None
    else:
        is_worth_it = few.max_seconds is None or can.labels_follow == "proba"
    return "guided" if is_worth_it else "anchored"


def _most_inputs(limits: Limits) -> float:
    """Return the largest number of inputs that the limits of a search let it judge; each takes two queries or more."""
    by_queries = None if limits.max_queries is None else limits.max_queries / 2
    return min((n for n in (limits.max_judged, by_queries) if n is not None), default=math.inf)
