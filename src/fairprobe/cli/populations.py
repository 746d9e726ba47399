"""What `fairprobe estimate` is about to do: which populations, how each is looked at, and what is knowably wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.cli import values
from fairprobe.domain import Domain
from fairprobe.errors import DomainError, SettingError
from fairprobe.estimate.run import N_EXPERIMENTS, Options
from fairprobe.estimate.share import POPULATIONS

if TYPE_CHECKING:
    import pandas as pd

GATES = ("rows", "domain", "valid")
"""What a limit is about by default: the first of these that is estimated."""

N_TRIED = 100
"""Inputs drawn to see whether constraints leave enough to sample from."""


@dataclass(frozen=True)
class Job:
    """The populations of one model, and how they are estimated."""

    domain: Domain
    rows: pd.DataFrame | None
    populations: tuple[str, ...]
    gate: str | None
    """The population that the limit is about; None without a limit."""
    keywords: dict[str, Any]
    """All keyword arguments of `estimate`; the seed is a number."""
    by_parameter: bool

    def population(self, name: str) -> Any:
        """What `estimate` takes as its population."""
        return self.rows if name == "rows" else name

    def arguments(self, name: str) -> dict[str, Any]:
        """What `estimate` takes for a population, or `breakdown` if the shares are wanted by parameter.

        Only the population that the limit is about is sampled until that is settled. No sample can show that a limit
        of 0 is kept, so it is then as large as usual, not as large as can be.
        """
        left_out = {"population", "progress", "max_share"}
        arguments = {key: value for key, value in self.keywords.items() if key not in left_out}
        if self.by_parameter:
            del arguments["width"]
            return arguments
        limit = self.keywords["max_share"] if name == self.gate else None
        if limit == 0 and arguments["n_experiments"] is None:
            arguments["n_experiments"] = N_EXPERIMENTS
        return {**arguments, "max_share": limit}

    def options(self, name: str) -> Options:
        """The same as the library sees it."""
        arguments = self.arguments(name)
        return Options(**{key: arguments[key] for key in Options.__dataclass_fields__ if key in arguments})

    def is_enumerated(self, name: str) -> bool:
        """Whether every input of the population is looked at."""
        return name != "rows" and self.keywords["method"] != "sample" and self._size <= self.keywords["exact_limit"]

    def is_sequential(self, name: str) -> bool:
        """Whether inputs are sampled until the share is settled."""
        return name != "rows" and not self.is_enumerated(name) and self.options(name).is_sequential

    def may_be_solved(self, name: str) -> bool:
        """Whether the share may come from the model's own structure, which only the model can tell."""
        has_constraints = name == "valid" and self.domain.constraints
        return (
            name != "rows"
            and self.keywords["method"] != "sample"
            and self.keywords["output"] == "label"
            and not has_constraints
        )

    def n_inputs(self, name: str) -> int:
        """How many inputs are judged, at most."""
        if name == "rows":
            assert self.rows is not None
            return len(self.rows)
        return self._size if self.is_enumerated(name) else self.options(name).n

    @property
    def _size(self) -> int:
        return self.domain.size


def make_job(
    domain: Domain,
    rows: pd.DataFrame | None,
    asked: Sequence[str],
    gate: str | None,
    keywords: dict[str, Any],
    *,
    by_parameter: bool,
    plot: bool,
) -> Job:
    """Choose the populations, and refuse what cannot work before the model is asked anything."""
    populations = _chosen(asked, domain, rows)
    if keywords["max_share"] is not None:
        gate = gate or next(name for name in GATES if name in populations)
        if gate not in populations:
            raise SettingError(f"--gate must be one of the populations {', '.join(populations)}; got {gate!r}")
    job = Job(domain, rows, populations, gate, keywords, by_parameter and len(domain.sensitive) > 1)
    if plot:
        _check_plot(job)
    if "valid" in populations:
        _check_valid(job)
    return job


def checked_populations(texts: Sequence[str]) -> tuple[str, ...]:
    """Populations as they are named in options."""
    names = tuple(dict.fromkeys(values.names(texts)))
    unknown = [name for name in names if name not in POPULATIONS]
    if unknown or (texts and not names):
        raise SettingError(f"--population must be one of {', '.join(POPULATIONS)}; got {', '.join(unknown) or 'none'}")
    return names


def checked_gate(gate: str | None, max_share: float | None) -> str | None:
    """The population that the limit is about."""
    if gate is None:
        return None
    if gate not in GATES:
        raise SettingError(f"--gate must be one of {', '.join(GATES)}; got {gate!r}")
    if max_share is None:
        raise SettingError(f"--gate says what --max-share is about, got --gate {gate} without --max-share")
    return gate


def _chosen(asked: Sequence[str], domain: Domain, rows: pd.DataFrame | None) -> tuple[str, ...]:
    if not asked:
        every = {"rows": rows is not None, "valid": bool(domain.constraints), "domain": True}
        return tuple(name for name, is_there in every.items() if is_there)
    if "rows" in asked and rows is None:
        raise SettingError("--population rows needs --data, got none")
    if "valid" in asked and not domain.constraints:
        raise SettingError(
            "--population valid is the part of the domain that constraints allow, got a domain without any: "
            "use --population domain"
        )
    return tuple(asked)


def _check_plot(job: Job) -> None:
    sampled = [name for name in job.populations if name != "rows"]
    if not sampled:
        raise SettingError(
            "--plot shows how a sample converges, got only rows, all of which are judged: give no --plot"
        )
    if all(map(job.is_enumerated, sampled)):
        raise SettingError(
            f"--plot shows how a sample converges, got a domain of {job.domain.size:,} inputs, all of which are "
            "judged: add --method sample, or give no --plot"
        )


def _check_valid(job: Job) -> None:
    """Raise if the constraints leave nothing, or so little that it cannot be sampled."""
    if not job.is_enumerated("valid"):
        job.domain.sample_codes(N_TRIED, np.random.default_rng(0))
    elif job.domain.n_families == 0:
        raise DomainError(
            f"the constraints must allow an input at least, got 0 allowed of {job.domain.size:,}: loosen them"
        )
