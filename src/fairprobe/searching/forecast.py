"""What a search would do and take: for each limit, the inputs, queries and seconds after which it ends the search."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from fairprobe.domain.domain import Domain
from fairprobe.errors import HealthWarning
from fairprobe.model.asking import Asker
from fairprobe.model.measuring import measured
from fairprobe.oracle import Oracle
from fairprobe.searching.region import Region
from fairprobe.searching.registry import settled_strategy
from fairprobe.searching.searching import search
from fairprobe.searching.settings import Limits, SearchSettings, settled
from fairprobe.searching.start_rows import start_rows
from fairprobe.store import Coverage

_QUICK: Final = 0.02
"""A model that judges a batch in so many seconds is quick enough for a short search of its own."""

_SHORT: Final = {
    "max_cases": None,
    "max_queries": None,
    "max_barren": None,
    "max_inputs": 200_000,
    "max_seconds": 0.5,
    "n_jobs": 1,
    "engine": None,
    "store": None,
}


@dataclass(frozen=True)
class Pilot:
    """What some inputs told about the model's speed and cases."""

    n_inputs: int
    n_queries: int
    n_cases: int
    seconds_per_input: float
    how: str
    """"uniform inputs", "inputs drawn from the density", "rows" or "a short search"."""


@dataclass(frozen=True)
class LimitCost:
    """What meeting one limit takes."""

    limit: str
    """The argument's name; "exhausted" for a domain that is covered."""
    n_inputs: int
    n_queries: int
    seconds: float
    is_guess: bool


@dataclass(frozen=True)
class SearchPlan:
    """What is settled before a search, and what it would take."""

    settings: SearchSettings
    limits: Limits
    pilot: Pilot
    costs: list[LimitCost]


def plan(model: Any, domain: Domain, **arguments: Any) -> SearchPlan:
    """What `search` would do with the same arguments, all of them given; the model is asked for about a second."""
    settings, limits = settled(**arguments)
    settings = settled_strategy(settings, limits, model, arguments["output"])
    arguments["strategy"] = settings.strategy
    domain = domain if arguments["linked"] else domain.without_links()
    seen = _pilot(model, domain, settings, arguments)
    return SearchPlan(settings, limits, seen, costs(domain, limits, seen))


def _pilot(model: Any, domain: Domain, settings: SearchSettings, arguments: dict[str, Any]) -> Pilot:
    """Ask about growing batches of what it starts from; a quick model is then searched for half a second."""
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
    if seen.last <= _QUICK:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HealthWarning)
            found = search(model, domain, **{**arguments, **_SHORT})
        if found.n_judged:
            n_queries, per_input = asker.n_queries + found.n_queries, found.seconds / found.n_judged
            return Pilot(found.n_judged, n_queries, found.n_cases, per_input, "a short search")
    drawn = "uniform inputs" if density is None else "inputs drawn from the density"
    how = drawn if rows is None else "rows"
    return Pilot(seen.n_inputs, asker.n_queries, seen.hits, seen.per_input, how)


def costs(domain: Domain, limits: Limits, seen: Pilot) -> list[LimitCost]:
    """For each limit given, what meeting it takes; exact queries but for time and cases, which are guesses."""
    n_members, coverage = len(domain.families), Coverage.of(domain)
    n_in_time = None if limits.max_seconds is None else round(limits.max_seconds / seen.seconds_per_input)
    n_for_cases = None
    if limits.max_cases is not None and seen.n_cases:
        n_for_cases = round(limits.max_cases * seen.n_inputs / seen.n_cases)
    inputs: list[tuple[str, int | None, bool]] = [
        ("max_inputs", limits.max_inputs, False),
        ("max_queries", None if limits.max_queries is None else limits.max_queries // n_members, False),
        ("max_seconds", n_in_time, True),
        ("max_cases", limits.max_cases, False),  # if every input were a case
        ("max_cases", n_for_cases, True),
        ("max_barren", limits.max_barren, False),
        ("exhausted", None if coverage is None else coverage.left, False),
    ]
    return [
        LimitCost(name, n, n * n_members, n * seen.seconds_per_input, is_guess)
        for name, n, is_guess in inputs
        if n is not None
    ]
