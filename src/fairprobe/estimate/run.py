"""`estimate` and `breakdown`: how common discriminatory inputs are in a population."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from fairprobe.checks import checked_count, checked_seed, is_number
from fairprobe.domain.domain import Domain, magnitude
from fairprobe.errors import DomainError, HealthWarning, SettingError
from fairprobe.estimate import intervals
from fairprobe.estimate.counting import Count, outcome_table
from fairprobe.estimate.exact import Solved, solve
from fairprobe.estimate.making import Maker
from fairprobe.estimate.populations import Asking, Families, Target, enumerated
from fairprobe.estimate.sequence import ConfidenceSequence
from fairprobe.estimate.share import Share
from fairprobe.model import Model

if TYPE_CHECKING:
    import pandas as pd

N_EXPERIMENTS = 400
EXACT_LIMIT = 2_000_000
MOST_EXPERIMENTS = 100_000
"""What a run that stops when tight takes at most, so that a share at the very limit does not keep it for ever."""

Progress = Callable[[int, int, float, float], None]
"""Told after every batch: inputs judged, hits, and the interval so far."""


def estimate(
    model: Model,
    domain: Domain,
    population: str | pd.DataFrame | Any = "domain",
    *,
    n_experiments: int | None = None,
    n_samples: int = 1000,
    confidence: float = 0.95,
    method: str = "auto",
    exact_limit: int = EXACT_LIMIT,
    width: float | None = None,
    max_share: float | None = None,
    threshold: float | None = None,
    output: str = "label",
    favourable: Any = None,
    seed: int | None = 0,
    batch: str | None = None,
    progress: Progress | None = None,
) -> Share:
    """Estimate the share of discriminatory inputs in a population.

    Args:
        model: anything with `predict`, or a callable that takes a batch and returns one output a row.
        domain: what an input may be, and which parameters are sensitive.
        population: "domain" (uniform, constraints aside), "valid" (uniform over what the constraints allow), or a
            frame of real rows, all of which are judged as they are, only their sensitive columns replaced.
        n_experiments: experiments of a fixed run, 400 by default; at most 100,000 with `width` or `max_share`.
        n_samples: inputs of an experiment.
        confidence: of the interval low to high (two-sided) and of the bounds lower and upper (one-sided each).
        method: "sample", "exact", or "auto": exact where it can be had.
        exact_limit: up to so many inputs a domain is enumerated.
        width: stop as soon as the interval is no wider; it is then valid whenever one stops.
        max_share: stop as soon as the share is known to be above or not above.
        threshold: an input is discriminatory if its gap is above it; 0 for labels, else it must be given.
        output: "label", "score", "proba" or "value": what is compared.
        favourable: the good outcome (a label; for scores "highest" or "lowest"), to say who is worse off.
        seed: the same seed and settings give the same result; None draws one, which the result records.
        batch: "array" or "frame" to say what the model eats; by default as it was fitted.
        progress: a callable that is told after every batch.

    >>> from fairprobe import Domain, Integer, estimate
    >>> domain = Domain([Integer("age", 17, 90), Integer("sex", 0, 1)], sensitive=["sex"])
    >>> estimate(lambda X: X[:, 0] + 10 * X[:, 1] > 50, domain)
    Share(exactly 13.51% of the domain: 20 of 148 inputs)
    """
    options = Options(n_experiments, n_samples, confidence, method, exact_limit, width, max_share, favourable, seed)
    asking = Asking(model, domain, threshold, output, batch)
    return Estimation(asking, population, [domain.sensitive], options, progress).shares()[0]


def breakdown(
    model: Model,
    domain: Domain,
    population: str | pd.DataFrame | Any = "domain",
    *,
    sets: Sequence[Sequence[str]] | None = None,
    n_experiments: int | None = None,
    n_samples: int = 1000,
    confidence: float = 0.95,
    method: str = "auto",
    exact_limit: int = EXACT_LIMIT,
    threshold: float | None = None,
    output: str = "label",
    favourable: Any = None,
    seed: int | None = 0,
    batch: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Share]:
    """Estimate the share for each sensitive parameter alone and for their combinations, in one pass over the inputs.

    For a set of sensitive parameters, twins differ in these alone; the others stay as they are in the input. The
    confidence is split over the sets, so that all intervals hold together. The arguments are those of `estimate`;
    `sets` names the sets, by default all.
    """
    names = checked_sets(domain, sets)
    each = 1 - (1 - intervals.checked_confidence(confidence)) / len(names)
    options = Options(n_experiments, n_samples, each, method, exact_limit, None, None, favourable, seed)
    asking = Asking(model, domain, threshold, output, batch)
    shares = Estimation(asking, population, names, options, progress).shares()
    return {" x ".join(share.sensitive): share for share in shares}


@dataclass(frozen=True)
class Options:
    """How to estimate."""

    n_experiments: int | None = None
    n_samples: int = 1000
    confidence: float = 0.95
    method: str = "auto"
    exact_limit: int = EXACT_LIMIT
    width: float | None = None
    max_share: float | None = None
    favourable: Any = None
    seed: int | None = 0

    def __post_init__(self) -> None:
        intervals.checked_confidence(self.confidence)
        checked_count("n_samples", self.n_samples)
        if self.n_experiments is not None:
            checked_count("n_experiments", self.n_experiments)
        checked_count("exact_limit", self.exact_limit, at_least=0)
        if self.method not in ("auto", "sample", "exact"):
            raise SettingError(f"method must be auto, sample or exact, got {self.method!r}")
        if self.width is not None and not (is_number(self.width) and 0 < self.width < 1):
            raise SettingError(f"width must lie between 0 and 1, got {self.width!r}")
        if self.max_share is not None and not (is_number(self.max_share) and 0 <= self.max_share < 1):
            raise SettingError(f"max_share must be at least 0 and below 1, got {self.max_share!r}")

    @property
    def is_sequential(self) -> bool:
        """Whether it stops when tight."""
        return self.width is not None or self.max_share is not None

    def is_tight(self, sequence: ConfidenceSequence) -> bool:
        """Whether the interval is as narrow as wanted, and on one side of the limit."""
        narrow = self.width is None or sequence.high - sequence.low <= self.width
        decided = self.max_share is None or sequence.low > self.max_share or sequence.high <= self.max_share
        return narrow and decided

    @property
    def n(self) -> int:
        """How many inputs to sample, at most."""
        can_end_early = self.width is not None or bool(self.max_share)  # no sample shows that a share is 0
        return (self.n_experiments or (MOST_EXPERIMENTS if can_end_early else N_EXPERIMENTS)) * self.n_samples


class Estimation:
    """One call: a population, counted for one or more sets of sensitive parameters."""

    def __init__(
        self,
        asking: Asking,
        population: Any,
        sets: Sequence[tuple[str, ...]],
        options: Options,
        progress: Progress | None = None,
    ) -> None:
        self.asking = asking
        self.options = options
        self.sets = sets
        self.progress = progress
        self.target = Target(asking, population)
        self.oracle = self.target.oracle
        seed = checked_seed(options.seed)
        self.maker = Maker(self.oracle, self.target.name, options.confidence, options.favourable, seed)
        self.maker.n_left_out = self.target.n_left_out

    def shares(self) -> list[Share]:
        """A share for each set, in their order."""
        if self.target.rows is not None:
            counts = self._counted(self.target.rows.families(self.oracle))
            return [self.maker.fixed(count, "rows") for count in counts]
        exact = self._exact() if self.options.method != "sample" else None
        if exact is not None:
            return exact
        if self.options.method == "exact":
            warnings.warn(f"not-exact: {self.maker.detail}; sampled instead", HealthWarning, stacklevel=3)
        families = self.target.sampled(self.options.n, self.maker.seed)
        if self.options.is_sequential:
            return self._until_tight(families)
        return [self.maker.fixed(count, "sample") for count in self._counted(families)]

    def _counts(self) -> list[Count]:
        return [Count(self.oracle, names, self.options.n_samples) for names in self.sets]

    def _counted(self, families: Iterator[Families]) -> list[Count]:
        counts = self._counts()
        with self.oracle.asker.quiet() if self.target.rows is None else nullcontext():
            for batch in families:
                for count in counts:
                    count.add(batch)
                if self.progress is not None:
                    hits, n = counts[-1].hits, counts[-1].n
                    self.progress(n, hits, *intervals.clopper_pearson(hits, n, self.options.confidence))
        return counts

    def _until_tight(self, families: Iterator[Families]) -> list[Share]:
        counts = self._counts()
        sequences = [ConfidenceSequence(self.options.confidence) for _ in counts]
        with self.oracle.asker.quiet():
            for batch in families:
                for count, sequence in zip(counts, sequences, strict=True):
                    hits = count.add(batch)
                    sequence.update(int(hits.sum()), len(hits))
                if self.progress is not None:
                    self.progress(counts[-1].n, counts[-1].hits, sequences[-1].low, sequences[-1].high)
                if all(map(self.options.is_tight, sequences)):
                    break
        bounds = [(sequence.low, sequence.high) for sequence in sequences]
        return [self.maker.share(count, "sequential", both, both) for count, both in zip(counts, bounds, strict=True)]

    def _exact(self) -> list[Share] | None:
        domain, limit = self.target.domain, self.options.exact_limit
        if domain.size <= limit:
            self.maker.detail = f"all {domain.size:,} inputs of the domain were looked at"
            counts = self._counted(enumerated(self.oracle))
            if not counts[0].n:
                raise DomainError(f"the constraints must allow an input, got none of {domain.size:,}: loosen them")
            return [self.maker.exact(count) for count in counts]
        if self.oracle.asker.output != "label":
            self.maker.detail = (
                f"the domain has {magnitude(domain.size)} inputs, over the {limit:,} that are enumerated"
            )
            return None
        domains = [Domain(domain.parameters, names, domain.constraints) for names in self.sets]
        shares = []
        for domain in domains:
            solved = solve(self.asking.model, domain)
            if not isinstance(solved, Solved):
                self.maker.detail = solved.reason
                return None
            shares.append(self._solved_share(domain, solved))
        return shares

    def _solved_share(self, domain: Domain, solved: Solved) -> Share:
        value = float(solved.share)
        n_twins = len(domain.combinations)
        self.maker.detail = f"solved for the model's {solved.method}"
        return self.maker.make(
            value,
            (value, value),
            (value, value),
            n=solved.families * n_twins,
            hits=solved.hits * n_twins,
            method="exact",
            sensitive=domain.sensitive,
            n_queries=solved.n_queries,
            outcomes=outcome_table(domain, _by_combination(solved, n_twins)) if solved.hits else None,
        )


def _by_combination(solved: Solved, n_twins: int) -> Counter[tuple[int, Any]]:
    labels = solved.by_label.items()
    return Counter({(place, label): n * n_twins for label, counts in labels for place, n in enumerate(counts)})


def checked_sets(domain: Domain, sets: Sequence[Sequence[str]] | None) -> list[tuple[str, ...]]:
    """Sets of sensitive parameters, by default all there are, the small ones first."""
    if sets is None:
        sizes = range(1, len(domain.sensitive) + 1)
        return [names for size in sizes for names in combinations(domain.sensitive, size)]
    checked = [(names,) if isinstance(names, str) else tuple(names) for names in sets]
    for names in checked:
        unknown = [name for name in names if name not in domain.sensitive]
        if unknown or not names:
            raise SettingError(
                f"a set must name some of {', '.join(domain.sensitive)}; got {', '.join(names) or 'none'}"
            )
    if not checked:
        raise SettingError("sets must hold one set of sensitive parameters at least, got none")
    return [tuple(name for name in domain.sensitive if name in names) for names in checked]
