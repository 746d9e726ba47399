"""The dry run of `fairprobe estimate`: what it would do, and a measured guess of what it would take."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from fairprobe.cli.plan import domain_as_dict, domain_lines, measured, model_lines
from fairprobe.cli.populations import Job
from fairprobe.cli.words import counted, duration
from fairprobe.estimate.counting import Count
from fairprobe.estimate.populations import Asking, Rows, Target, chunk
from fairprobe.estimate.share import percent


@dataclass(frozen=True)
class Cost:
    """What a population takes."""

    how: str
    """One of rows, enumerate, sample, sequential."""
    may_be_solved: bool
    """Whether the model may be of a kind whose share is computed without any of this; that is not tried."""
    n_inputs: int
    n_queries: int
    """Both at most, if it stops as soon as the share is settled."""
    n_measured: int
    """Inputs that the guess comes from."""
    seconds: float


@dataclass(frozen=True)
class EstimatePlan:
    """All that a dry run says."""

    model: str
    job: Job
    costs: dict[str, Cost]
    plot: str | None

    @classmethod
    def measure(cls, name: str, model: Any, job: Job, plot: str | None) -> EstimatePlan:
        """Ask the model about some inputs of each population, for a second at most each."""
        return cls(name, job, {population: _cost(model, job, population) for population in job.populations}, plot)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        hidden = ("population", "progress")
        return {
            "dry_run": True,
            "model": self.model,
            "domain": domain_as_dict(self.job.domain),
            "settings": {key: value for key, value in self.job.keywords.items() if key not in hidden},
            "gate": self.job.gate,
            "by_parameter": self.job.by_parameter,
            "populations": {name: asdict(cost) for name, cost in self.costs.items()},
            "plot": self.plot,
        }

    def lines(self) -> list[tuple[str, int]]:
        """For people: paragraphs, and how far their lines after the first are indented."""
        return [
            ("A dry run: this is what the estimate would do. Nothing is written.", 0),
            ("", 0),
            *((line, 13) for line in self._what()),
            ("", 0),
            ("Populations, with a guess of the time from asking about some inputs:", 0),
            *((f"  {name}: {self._words(name, cost)}", 4) for name, cost in self.costs.items()),
        ]

    def _what(self) -> list[str]:
        keywords, limit = self.job.keywords, self.job.keywords["max_share"]
        return [
            *model_lines(self.model, self.job.domain, keywords),
            f"  settings   confidence {percent(keywords['confidence'])}, method {keywords['method']}, "
            f"seed {keywords['seed']}",
            *([f"  limit      {percent(limit)} of the {self.job.gate}"] if limit is not None else []),
            *([f"  plot       {self.plot}"] if self.plot else []),
            *domain_lines(self.job.domain),
        ]

    def _words(self, name: str, cost: Cost) -> str:
        inputs, samples = counted(cost.n_inputs, "input"), self.job.keywords["n_samples"]
        experiments = f"{counted(cost.n_inputs // samples, 'experiment')} of {counted(samples, 'input')}"
        words = {
            "rows": f"all {counted(cost.n_inputs, 'row')}",
            "enumerate": f"all {inputs}",
            "sample": f"a sample of {experiments}",
            "sequential": f"a sample until the share is settled, at most {experiments}",
        }[cost.how]
        most = " at most" if cost.how == "sequential" else ""
        solved = "exact if the model is of a kind that can be solved, else " if cost.may_be_solved else ""
        return f"{solved}{words}: {counted(cost.n_queries, 'query')}, {duration(cost.seconds)}{most}"


def _cost(model: Any, job: Job, name: str) -> Cost:
    keywords = job.keywords
    asking = Asking(model, job.domain, keywords["threshold"], keywords["output"], keywords["batch"])
    target = Target(asking, job.population(name))
    n_members = len(job.domain.combinations)
    if target.rows is not None:
        n, how = len(target.rows), "rows"
        n_members += bool((target.rows.own < 0).any())  # a row whose own value is none of those compared goes in too
    else:
        n = job.n_inputs(name)
        how = "sequential" if job.is_sequential(name) else "sample"
    families = _Families(target, keywords["seed"])
    n_measured, _, seconds, _ = measured(families.judge, chunk(target.oracle, n))
    if job.is_enumerated(name):
        # Every family is asked about once, whichever of its members is counted.
        return Cost("enumerate", False, n, n, n_measured, n / n_members * seconds)
    return Cost(how, job.may_be_solved(name), n, n * n_members, n_measured, n * seconds)


class _Families:
    """Judges so many inputs of a population at a time."""

    def __init__(self, target: Target, seed: int) -> None:
        self._target = target
        self._seeds: Iterator[int] = itertools.count(seed)
        self._count = Count(target.oracle, target.domain.sensitive, 1)

    def judge(self, n: int) -> int:
        """Judge `n` inputs; gives the number of hits."""
        before = self._count.hits
        for families in self._batches(n):
            self._count.add(families)
        return self._count.hits - before

    def _batches(self, n: int) -> Iterator[Any]:
        if self._target.rows is None:
            return self._target.sampled(n, next(self._seeds))
        return Rows(self._target.domain, self._target.rows.frame.head(n)).families(self._target.oracle)
