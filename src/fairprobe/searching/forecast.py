"""The plan of a search: its settings, and the inputs, queries and seconds after which each limit would end it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairprobe.domain.domain import Domain
from fairprobe.model.asking import Asker
from fairprobe.model.measuring import measured
from fairprobe.oracle import Oracle
from fairprobe.searching.region import Region
from fairprobe.searching.registry import settled_strategy
from fairprobe.searching.settings import Limits, SearchSettings, settled
from fairprobe.searching.start_rows import start_rows
from fairprobe.store import Coverage


@dataclass(frozen=True)
class Pilot:
    """The speed of a model, measured on some inputs."""

    n_inputs: int
    n_queries: int
    seconds_per_input: float
    how: str
    """The inputs: "uniform inputs", "inputs drawn from the density" or "rows"."""


@dataclass(frozen=True)
class LimitCost:
    """What it takes to reach one limit."""

    limit: str
    """The argument's name; "exhausted" for a domain of which every input is judged."""
    n_inputs: int
    n_queries: int
    seconds: float


@dataclass(frozen=True)
class SearchPlan:
    """What is settled before a search, and what it would take."""

    settings: SearchSettings
    limits: Limits
    pilot: Pilot
    costs: list[LimitCost]


def plan(model: Any, domain: Domain, **arguments: Any) -> SearchPlan:
    """What `search` would do with the same arguments, all of them given. The model is asked for about a second."""
    settings, limits = settled(**arguments)
    settings = settled_strategy(settings, limits, model, arguments["output"])
    domain = domain if arguments["linked"] else domain.without_links()
    seen = _pilot(model, domain, settings, arguments)
    return SearchPlan(settings, limits, seen, costs(domain, limits, seen))


def _pilot(model: Any, domain: Domain, settings: SearchSettings, arguments: dict[str, Any]) -> Pilot:
    """Ask about growing batches of the inputs that the search starts from."""
    rows, rng, density, least = None, np.random.default_rng(0), arguments["density"], arguments["min_plausibility"]
    if arguments["start"] is not None:
        begun = start_rows(domain, arguments["start"], keep=settings.max_changes is not None)
        begun = begun if density is None else begun.plausible(density, least)
        domain, rows = begun.domain, begun.codes
    region = domain if density is None else Region.of(domain, density.within(domain), density.floor(least))
    asker = Asker(model, domain, output=arguments["output"], batch=arguments["batch"])
    oracle = Oracle(asker, arguments["threshold"])

    def judge(n: int) -> int:
        sample = region.sample_codes(n, rng) if rows is None else rows[rng.integers(0, len(rows), size=n)]
        return int(oracle.judge(sample).hits.sum())

    seen = measured(judge, settings.n_global if settings.strategy == "uniform" else settings.n_walkers)
    drawn = "uniform inputs" if density is None else "inputs drawn from the density"
    return Pilot(seen.n_inputs, asker.n_queries, seen.per_input, drawn if rows is None else "rows")


def costs(domain: Domain, limits: Limits, seen: Pilot) -> list[LimitCost]:
    """What it takes to reach each limit that is given; of `max_cases`, if every input were a case."""
    n_members, coverage = len(domain.families), Coverage.of(domain)
    n_in_time = None if limits.max_seconds is None else round(limits.max_seconds / seen.seconds_per_input)
    inputs: dict[str, int | None] = {
        "max_judged": limits.max_judged,
        "max_queries": None if limits.max_queries is None else limits.max_queries // n_members,
        "max_seconds": n_in_time,
        "max_cases": limits.max_cases,
        "max_barren": limits.max_barren,
        "exhausted": None if coverage is None else coverage.left,
    }
    return [
        LimitCost(name, n, n * n_members, n * seen.seconds_per_input) for name, n in inputs.items() if n is not None
    ]
