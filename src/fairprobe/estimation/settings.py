"""Settings of an estimate: the checked arguments of `estimate`, and the method of counting that follows from them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

from fairprobe.arguments import filled
from fairprobe.checks import check_above_0, checked_count, checked_fraction
from fairprobe.domain.domain import Domain
from fairprobe.errors import SettingError
from fairprobe.estimation.bounds.intervals import checked_confidence
from fairprobe.estimation.share import checked_role
from fairprobe.estimation.verdict import Gate

N_EXPERIMENTS = 400
"""Default number of experiments of a sample whose size is fixed in advance; the paper's number."""

EXACT_LIMIT = 2_000_000
"""Size of the largest domain that is enumerated, in inputs; chosen: a fast model answers them in seconds."""

MOST_EXPERIMENTS = 100_000
"""Default number of experiments of a sample that may stop early by `width` or `max_share`; chosen: it ends even if the
share equals the limit."""


class EstimatePlan(NamedTuple):
    """The method of counting a population, as far as it is known before the model is asked."""

    how: str
    """Method: "rows" (judge all rows), "enumerate" (all inputs), "sample" (a fixed number of inputs) or "sequential" (a
    sample that may stop early)."""
    n_inputs: int
    """Largest number of judged inputs."""
    n_queries: int
    """Largest number of rows that the model is asked about."""


class Settings(SimpleNamespace):
    """The checked arguments of `estimate` as attributes, with its defaults; `estimate` describes them."""

    def __init__(self, **given: Any) -> None:
        from fairprobe.estimation.estimation import estimate

        every = filled(estimate, given, but=["population"])
        super().__init__(**{**every, "rows_are": checked_role(every["rows_are"])})
        Gate.of(self.gate)
        checked_confidence(self.confidence)
        checked_count("n_samples", self.n_samples)
        if self.n_experiments is not None:
            checked_count("n_experiments", self.n_experiments)
        checked_count("exact_limit", self.exact_limit, at_least=0)
        if self.method not in ("auto", "sample", "exact"):
            raise SettingError.about("method", f"must be auto, sample or exact, got {self.method!r}")
        if self.width is not None:
            checked_fraction("width", self.width)
        if self.max_share is not None:
            checked_fraction("max_share", self.max_share, from_zero=True)
        check_above_0("max_seconds", self.max_seconds)

    def but(self, **changes: Any) -> Settings:
        """Return a copy of the settings with some of them changed, checked again."""
        return Settings(**{**vars(self), **changes})

    @property
    def n(self) -> int:
        """The largest number of inputs to sample: experiments times inputs of an experiment."""
        can_end_early = self.width is not None or bool(self.max_share)  # no sample shows that a share is 0
        n_experiments = self.n_experiments or (MOST_EXPERIMENTS if can_end_early else N_EXPERIMENTS)
        return int(n_experiments * self.n_samples)

    def plan(self, domain: Domain, n_rows: int | None) -> EstimatePlan:
        """Return how to count the discriminatory inputs: the method, and the largest numbers of inputs and queries.

        `n_rows` is the size of a population of rows; None for inputs of the domain.
        """
        n_members = len(domain.families)
        if n_rows is not None:
            return EstimatePlan("rows", n_rows, n_rows * n_members)
        # With "auto" every input is looked at only if sampling might ask as many rows.
        is_worth_it = self.method == "exact" or domain.size <= self.n * n_members
        if self.method != "sample" and domain.size <= self.exact_limit and is_worth_it:
            # Every family is asked about once, whichever of its members is counted.
            return EstimatePlan("enumerate", domain.size, domain.size)
        how = "sample" if self.width is self.max_share is self.max_seconds is None else "sequential"
        return EstimatePlan(how, self.n, self.n * n_members)
