"""What an estimate would take: how a population is looked at, and a guess of the seconds."""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass
from typing import Any

from fairprobe.checks import checked_seed
from fairprobe.domain.domain import Domain
from fairprobe.estimate.counting import Count
from fairprobe.estimate.populations import Asking, Rows, chunk
from fairprobe.estimate.run import Estimation, Options, Plan
from fairprobe.model.measuring import measured


@dataclass(frozen=True)
class Cost(Plan):
    """How a population is looked at, and a guess of how long that takes."""

    n_measured: int = 0
    """Inputs that the guess comes from."""
    seconds: float = 0.0


def options_of(arguments: dict[str, Any]) -> Options:
    """The options among the arguments of `estimate` or `breakdown`, made sure of."""
    return Options(**{name: arguments[name] for name in Options.__dataclass_fields__ if name in arguments})


def plan(model: Any, domain: Domain, population: Any, **arguments: Any) -> Cost:
    """What `estimate` would do with the same arguments, all of them given; the model is asked for about a second."""
    asking = Asking(model, domain, arguments["threshold"], arguments["output"], arguments["batch"])
    estimation = Estimation(asking, population, [domain.sensitive], options_of(arguments))
    target, seeds = estimation.target, itertools.count(checked_seed(arguments["seed"]))
    count = Count(target.oracle, domain.sensitive, 1)

    def judge(n: int) -> int:
        before = count.hits
        if target.rows is None:
            batches = target.sampled(n, next(seeds))
        else:
            some = Rows(target.domain, target.rows.frame.head(n))
            batches = some.families(target.oracle, [domain.sensitive], twice=False)
        for families in batches:
            count.add(families)
        return count.hits - before

    seen = measured(judge, chunk(target.oracle, estimation.plan.n_inputs))
    seconds = estimation.plan.n_queries / len(domain.families) * seen.per_input
    return Cost(**asdict(estimation.plan), n_measured=seen.n_inputs, seconds=seconds)
