"""The dry run: what a search would do, and a measured guess of what it would take."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np

from fairprobe.cli.words import FLAGS, counted, duration, say
from fairprobe.domain import Category, Domain, Ordinal, Parameter
from fairprobe.errors import HealthWarning
from fairprobe.model import Asker
from fairprobe.oracle import Oracle
from fairprobe.search import Found, search
from fairprobe.search.settings import Limits, Settings
from fairprobe.store.distinct import COVERABLE

PILOT_SECONDS = 1.0
GROWTH = 4
QUICK = 0.02
"""A model that judges a batch in so many seconds is quick enough for a short search of its own."""

TRIAL_SECONDS = 0.5
TRIAL_INPUTS = 200_000


@dataclass(frozen=True)
class Pilot:
    """What a few small batches told about the model's speed and cases."""

    n_inputs: int
    n_queries: int
    n_cases: int
    seconds_per_input: float
    how: str
    """"uniform inputs" or "a short search"."""


@dataclass(frozen=True)
class Estimate:
    """What meeting one limit takes."""

    limit: str
    n_inputs: int
    n_queries: int
    seconds: float
    is_guess: bool


def pilot(model: Any, domain: Domain, settings: Settings, keywords: dict[str, Any]) -> Pilot:
    """Ask the model about growing batches for about a second; a quick model is then searched for half a second."""
    asker = Asker(model, domain, output=keywords["output"], batch=keywords["batch"])
    oracle = Oracle(asker, keywords["threshold"])
    size = settings.n_global if settings.strategy == "uniform" else settings.n_walkers
    uniform, last = _uniform_batches(oracle, size)
    if last > QUICK:
        return uniform
    found = _short_search(model, domain, keywords)
    if not found.n_judged:
        return uniform
    queries = uniform.n_queries + found.n_queries
    return Pilot(found.n_judged, queries, found.n_cases, found.seconds / found.n_judged, "a short search")


def _uniform_batches(oracle: Oracle, size: int) -> tuple[Pilot, float]:
    """Uniform inputs in batches up to the size that the search would use; also the seconds of the last batch."""
    rng = np.random.default_rng(0)

    def judge(n: int) -> int:
        return int(oracle.judge(oracle.domain.sample_codes(n, rng)).hits.sum())

    n_inputs, n_cases, per_input, last = measured(judge, size)
    return Pilot(n_inputs, oracle.asker.n_queries, n_cases, per_input, "uniform inputs"), last


def measured(judge: Callable[[int], int], most: int) -> tuple[int, int, float, float]:
    """Judge growing batches, up to a size, for about a second: inputs, cases, seconds an input and of the last batch.

    `judge` judges so many inputs and gives the number of cases among them.
    """
    begun = time.perf_counter()
    batch, n_inputs, n_cases = 1, 0, 0
    while True:
        asked = time.perf_counter()
        n_cases += judge(batch)
        seconds = time.perf_counter() - asked
        n_inputs += batch
        left = PILOT_SECONDS - (time.perf_counter() - begun)
        if batch == most or left < GROWTH * seconds:
            return n_inputs, n_cases, seconds / batch, seconds
        batch = min(most, GROWTH * batch)


def _short_search(model: Any, domain: Domain, keywords: dict[str, Any]) -> Found:
    limits = dict.fromkeys(("max_cases", "max_queries", "max_barren"))
    short = {**keywords, **limits, "max_inputs": TRIAL_INPUTS, "max_seconds": TRIAL_SECONDS, "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HealthWarning)
        return search(model, domain, **short)


def estimates(domain: Domain, limits: Limits, seen: Pilot) -> list[Estimate]:
    """For each limit given, what meeting it takes; exact queries but for max_cases, which is a guess."""
    per_input, n_members = seen.seconds_per_input, len(domain.combinations)

    def of(name: str, n_inputs: int, *, is_guess: bool = False) -> Estimate:
        return Estimate(name, n_inputs, n_inputs * n_members, n_inputs * per_input, is_guess)

    found = []
    if limits.max_inputs is not None:
        found.append(of("max_inputs", limits.max_inputs))
    if limits.max_queries is not None:
        found.append(of("max_queries", limits.max_queries // n_members))
    if limits.max_seconds is not None:
        found.append(of("max_seconds", round(limits.max_seconds / per_input), is_guess=True))
    if limits.max_cases is not None:
        found.append(of("max_cases", limits.max_cases))
        if seen.n_cases:
            found.append(of("max_cases", round(limits.max_cases * seen.n_inputs / seen.n_cases), is_guess=True))
    if limits.max_barren is not None:
        found.append(of("max_barren", limits.max_barren))
    if domain.n_families is not None and domain.n_families <= COVERABLE:
        found.append(of("exhausted", domain.n_families))
    return found


@dataclass(frozen=True)
class Plan:
    """All that a dry run says."""

    model: str
    domain: Domain
    settings: Settings
    limits: Limits
    keywords: dict[str, Any]
    seen: Pilot
    out: str | None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "dry_run": True,
            "model": self.model,
            "domain": domain_as_dict(self.domain),
            "output": self.keywords["output"],
            "threshold": self.keywords["threshold"],
            "seed": self.keywords["seed"],
            "settings": asdict(self.settings),
            "limits": asdict(self.limits),
            "pilot": asdict(self.seen),
            "estimates": [asdict(estimate) for estimate in estimates(self.domain, self.limits, self.seen)],
            "out": self.out,
        }

    def lines(self) -> list[tuple[str, int]]:
        """For people: paragraphs, and how far their lines after the first are indented."""
        return [
            ("A dry run: this is what the search would do. Nothing is written.", 0),
            ("", 0),
            *((line, 13) for line in self._what()),
            ("", 0),
            (self._measured(), 0),
            ("It would stop at the first of these:", 0),
            *((f"  {line}", 4) for line in self._costs()),
        ]

    def _measured(self) -> str:
        seen = self.seen
        return (
            f"Measured on {counted(seen.n_inputs, 'input')} ({counted(seen.n_queries, 'query')}, {seen.how}): "
            f"{counted(round(1 / seen.seconds_per_input), 'input')} a second, {counted(seen.n_cases, 'case')}."
        )

    def _what(self) -> list[str]:
        return [
            *model_lines(self.model, self.domain, self.keywords),
            f"  strategy   {self.settings.strategy}, seed {self.keywords['seed']}",
            f"  settings   {_settings(self.settings)}",
            f"  out        {self.out or 'a summary only; --out FILE writes the cases'}",
            *domain_lines(self.domain),
        ]

    def _costs(self) -> list[str]:
        found = estimates(self.domain, self.limits, self.seen)
        lines = [_cost(estimate, self.limits) for estimate in found]
        if self.limits.max_cases is not None and not self.seen.n_cases:
            lines.append("the measurement saw no case, so there is no guess of how long cases take to find")
        return lines


class Printable(Protocol):
    """A plan that can be shown."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""

    def lines(self) -> list[tuple[str, int]]:
        """For people: paragraphs, and how far their lines after the first are indented."""


def print_plan(plan: Printable, as_json: bool) -> None:
    """Write a plan to the standard output."""
    if as_json:
        sys.stdout.write(json.dumps(plan.as_dict()) + "\n")
        return
    for line, indent in plan.lines():
        say(line, indent=" " * indent)


def model_lines(model: str, domain: Domain, keywords: dict[str, Any]) -> list[str]:
    """What is asked, and what an input costs."""
    n_members = len(domain.combinations)
    named = ", ".join(f"{name} ({domain[name].levels} values)" for name in domain.sensitive)
    threshold = keywords["threshold"]
    return [
        f"  model      {model}, output {keywords['output']}"
        + (f", threshold {threshold:g}" if threshold is not None else ""),
        f"  sensitive  {named}: an input has {counted(n_members - 1, 'twin')} and costs {counted(n_members, 'query')}",
    ]


def domain_lines(domain: Domain) -> list[str]:
    """The domain and its parameters."""
    width = max(len(name) for name in domain.names)
    return [
        f"  domain     {counted(len(domain.parameters), 'parameter')}, {counted(domain.size, 'input')}"
        + (f", less what {counted(len(domain.constraints), 'constraint')} forbid" if domain.constraints else ""),
        *(f"    {p.name:{width}}  {describe_parameter(p)}" for p in domain.parameters),
    ]


def domain_as_dict(domain: Domain) -> dict[str, Any]:
    """The domain, for JSON."""
    return {
        "n_inputs": domain.size,
        "parameters": {p.name: describe_parameter(p) for p in domain.parameters},
        "sensitive": list(domain.sensitive),
        "n_twins": len(domain.combinations) - 1,
    }


def _cost(estimate: Estimate, limits: Limits) -> str:
    queries, time_taken = counted(estimate.n_queries, "query"), duration(estimate.seconds)
    if estimate.limit == "exhausted":
        return f"all {counted(estimate.n_inputs, 'distinct input')} of the domain judged: {queries} at least"
    limit = f"{FLAGS[estimate.limit]} {getattr(limits, estimate.limit):,}"
    if estimate.limit == "max_seconds":
        return f"{limit}: about {queries}"
    if estimate.limit == "max_barren":
        return f"{limit} in a row without a new case: {queries}, {time_taken}"
    if estimate.limit == "max_cases" and estimate.is_guess:
        return f"{limit}: a guess from the cases seen: about {queries}, {time_taken}"
    if estimate.limit == "max_cases":
        return f"{limit}: if every input were a case: {queries}, {time_taken}"
    return f"{limit}: {queries} at most, {time_taken}"


def _settings(settings: Settings) -> str:
    numbers = {name: value for name, value in asdict(settings).items() if name != "strategy"}
    words = {True: "yes", False: "no"}
    return ", ".join(f"{FLAGS[name]} {words[v] if isinstance(v, bool) else v}" for name, v in numbers.items())


def describe_parameter(parameter: Parameter) -> str:
    """What values a parameter may take, in a line.

    >>> from fairprobe.domain import Integer
    >>> describe_parameter(Integer("age", 17, 90))
    'integer, 17 to 90'
    """
    missing = ", or missing" if parameter.missing else ""
    if isinstance(parameter, (Category, Ordinal)):
        listed = ", ".join(map(str, parameter.values))
        shown = listed if len(listed) <= 40 else f"{len(parameter.values)} values: {listed[:32].rsplit(',', 1)[0]}, ..."
        return f"{parameter.kind}, {shown}{missing}"
    low, high, step = (getattr(parameter, name) for name in ("low", "high", "step"))
    by = f" by {step:g}" if step != 1 else ""
    return f"{parameter.kind}, {low} to {high}{by}{missing}"
