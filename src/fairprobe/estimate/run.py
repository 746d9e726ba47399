"""`estimate` and `breakdown`: how common discriminatory inputs are in a population."""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from fairprobe.checks import checked_count, checked_seed, is_number
from fairprobe.domain.checked import checked_domain
from fairprobe.domain.domain import Domain, magnitude
from fairprobe.errors import DomainError, HealthWarning, SettingError
from fairprobe.estimate import intervals
from fairprobe.estimate.counting import Count, outcome_table
from fairprobe.estimate.exact import Solved, solve
from fairprobe.estimate.making import Maker
from fairprobe.estimate.populations import ROWS_A_CALL, Asking, Judged, Target
from fairprobe.estimate.sequence import ConfidenceSequence
from fairprobe.estimate.share import Remark, Share, percent
from fairprobe.model import Model
from fairprobe.model.measuring import SAFETY, are_ties
from fairprobe.oracle import Oracle
from fairprobe.progress import Progress, Status, teller

if TYPE_CHECKING:
    import pandas as pd

N_EXPERIMENTS = 400
EXACT_LIMIT = 2_000_000
MOST_EXPERIMENTS = 100_000
"""What a run that stops when tight takes at most, so that a share at the very limit does not keep it for ever."""


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
    max_seconds: float | None = None,
    threshold: float | None = None,
    output: str = "label",
    favourable: Any = None,
    seed: int | None = 0,
    batch: str | None = None,
    progress: bool | Progress | None = None,
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
        method: "sample", "exact", or "auto": exact where counts foresee that it takes no longer than sampling would.
        exact_limit: up to so many inputs a domain is enumerated; with "auto", up to as many rows as sampling would ask.
        width: stop as soon as the interval is no wider; it is then valid whenever one stops.
        max_share: stop as soon as the share is known to be above or not above.
        max_seconds: stop sampling after so long; the interval is then valid whenever one stops.
        threshold: an input is discriminatory if its gap is above it; 0 for labels, else it must be given.
        output: "label", "score", "proba" or "value": what is compared.
        favourable: the good outcome (a label; for scores "highest" or "lowest"), to say who is worse off.
        seed: the same seed and settings give the same result; None draws one, which the result records.
        batch: "array" or "frame" to say what the model eats; by default as it was fitted.
        progress: True for a line on the standard error, or a callable that takes a `Status`, after every batch.

    >>> from fairprobe import Domain, Integer, estimate
    >>> domain = Domain([Integer("age", 17, 90), Integer("sex", 0, 1)], sensitive=["sex"])
    >>> estimate(lambda X: X[:, 0] + 10 * X[:, 1] > 50, domain)
    Share(exactly 13.51% of the domain: 20 of 148 inputs)
    """
    options = Options(
        n_experiments, n_samples, confidence, method, exact_limit, width, max_share, favourable, seed, max_seconds
    )
    asking = Asking(model, checked_domain(domain), threshold, output, batch)
    share = Estimation(asking, population, [domain.sensitive], options, progress).shares()[0]
    for name, message in share.health:
        warnings.warn(f"{name}: {message}", HealthWarning, stacklevel=2)
    return share


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
    progress: bool | Progress | None = None,
) -> dict[str, Share]:
    """Estimate the share for each sensitive parameter alone and for their combinations, in one pass over the inputs.

    For a set of sensitive parameters, twins differ in these alone; the others stay as they are in the input. The
    confidence is split over the sets, so that all intervals hold together. The arguments are those of `estimate`;
    `sets` names the sets, by default all.
    """
    names = checked_sets(checked_domain(domain), sets)
    each = 1 - (1 - intervals.checked_confidence(confidence)) / len(names)
    options = Options(n_experiments, n_samples, each, method, exact_limit, None, None, favourable, seed)
    asking = Asking(model, domain, threshold, output, batch)
    shares = Estimation(asking, population, names, options, progress).shares()
    for name, message in dict.fromkeys(remark for share in shares for remark in share.health):
        warnings.warn(f"{name}: {message}", HealthWarning, stacklevel=2)
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
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        intervals.checked_confidence(self.confidence)
        checked_count("n_samples", self.n_samples)
        if self.n_experiments is not None:
            checked_count("n_experiments", self.n_experiments)
        checked_count("exact_limit", self.exact_limit, at_least=0)
        if self.method not in ("auto", "sample", "exact"):
            raise SettingError.about("method", f"must be auto, sample or exact, got {self.method!r}")
        if self.width is not None and not (is_number(self.width) and 0 < self.width < 1):
            raise SettingError.about("width", f"must lie between 0 and 1, got {self.width!r}")
        if self.max_share is not None and not (is_number(self.max_share) and 0 <= self.max_share < 1):
            raise SettingError.about("max_share", f"must be at least 0 and below 1, got {self.max_share!r}")
        if self.max_seconds is not None and not (is_number(self.max_seconds) and self.max_seconds > 0):
            raise SettingError.about("max_seconds", f"must be a number above 0 or None, got {self.max_seconds!r}")

    @property
    def is_sequential(self) -> bool:
        """Whether it stops when tight, or when the time is over."""
        return self.width is not None or self.max_share is not None or self.max_seconds is not None

    def is_tight(self, sequence: ConfidenceSequence) -> bool:
        """Whether the interval is as narrow as wanted, and on one side of the limit."""
        if self.width is None and self.max_share is None:
            return False
        narrow = self.width is None or sequence.high - sequence.low <= self.width
        decided = self.max_share is None or sequence.low > self.max_share or sequence.high <= self.max_share
        return narrow and decided

    @property
    def n(self) -> int:
        """How many inputs to sample, at most."""
        can_end_early = self.width is not None or bool(self.max_share)  # no sample shows that a share is 0
        return (self.n_experiments or (MOST_EXPERIMENTS if can_end_early else N_EXPERIMENTS)) * self.n_samples

    def rows_foreseen(self, domain: Domain) -> float:
        """How many rows sampling is likely to ask: if it stops when tight, as many as it takes without a hit."""
        n_twins = len(domain.combinations)
        wishes = [5 / wish * n_twins for wish in (self.width, self.max_share) if wish]
        return min(self.n * n_twins, max(ROWS_A_CALL, *wishes)) if wishes else self.n * n_twins

    def enumerates(self, domain: Domain) -> bool:
        """Whether every input is looked at: with "auto", only if sampling might ask as many rows."""
        if self.method == "sample" or domain.size > self.exact_limit:
            return False
        return self.method == "exact" or domain.size <= self.n * len(domain.combinations)

    def plan(self, domain: Domain, n_rows: int | None, output: str) -> Plan:
        """How a population is looked at: rows, or what is uniform over the domain."""
        n_members = len(domain.families)
        if n_rows is not None:
            return Plan("rows", n_rows, n_rows * n_members)
        if self.enumerates(domain):
            # Every family is asked about once, whichever of its members is counted.
            return Plan("enumerate", domain.size, domain.size)
        may_be_solved = self.method != "sample" and output == "label" and not domain.constraints
        how = "sequential" if self.is_sequential else "sample"
        return Plan(how, self.n, self.n * n_members, may_be_solved)


@dataclass(frozen=True)
class Plan:
    """How a population is looked at, as far as that is settled before the model is asked."""

    how: str
    """One of rows (all of them), enumerate, sample, sequential (a sample until the share is settled)."""
    n_inputs: int
    n_queries: int
    """Both at most."""
    may_be_solved: bool = False
    """Whether the share comes from the model's own structure instead, if it is of a kind that can be solved."""


class Estimation:
    """One call: a population, counted for one or more sets of sensitive parameters."""

    def __init__(
        self,
        asking: Asking,
        population: Any,
        sets: Sequence[tuple[str, ...]],
        options: Options,
        progress: bool | Progress | None = None,
    ) -> None:
        self.asking = asking
        self.options = options
        self.sets = sets
        self.progress = teller(progress)
        self.target = Target(asking, population)
        self.oracle = self.target.oracle
        n_rows = None if self.target.rows is None else len(self.target.rows)
        self.plan = options.plan(self.target.domain, n_rows, asking.output)
        seed = checked_seed(options.seed)
        self.maker = Maker(self.oracle, self.target.name, options.confidence, options.favourable, seed)
        self.maker.n_left_out = self.target.n_left_out
        self.watch = Watch(asking)

    def shares(self) -> list[Share]:
        """A share for each set, in their order."""
        if self.plan.how == "rows":
            counts = self._counted(self.target.families(0, None, self.sets))
            return [self.maker.fixed(count, "rows") for count in counts]
        exact = self._exact() if self.options.method != "sample" else None
        if exact is not None:
            return exact
        if self.options.method == "exact":
            self.maker.health.append(("not-exact", f"{self.maker.detail}; sampled instead"))
        families = self.target.sampled(self.options.n, self.maker.seed)
        if self.plan.how == "sequential":
            return self._until_tight(families)
        return [self.maker.fixed(count, "sample") for count in self._counted(families)]

    def _counts(self) -> list[Count]:
        return [Count(self.oracle, names, self.options.n_samples) for names in self.sets]

    def _counted(self, families: Iterator[Judged]) -> list[Count]:
        counts = self._counts()
        with self.oracle.asker.quiet() if self.target.rows is None else nullcontext():
            for batch in families:
                self.watch.add(batch)
                for count in counts:
                    count.add(batch)
                if self.progress is not None:
                    hits, n = counts[-1].hits, counts[-1].n
                    self._tell(n, hits, *intervals.clopper_pearson(hits, n, self.options.confidence))
        self.maker.health += self.watch.remarks(self.oracle)
        return counts

    def _tell(self, n: int, hits: int, low: float, high: float) -> None:
        assert self.progress is not None
        text = f"{percent(hits / n) if n else 'n/a'}, between {percent(low)} and {percent(high)} after {n:,} inputs"
        done = None if self.plan.how == "sequential" else n / self.plan.n_inputs
        self.progress(Status(text, {"n": n, "hits": hits, "low": low, "high": high}, done))

    def _until_tight(self, families: Iterator[Judged]) -> list[Share]:
        counts = self._counts()
        sequences = [ConfidenceSequence(self.options.confidence) for _ in counts]
        end = math.inf if self.options.max_seconds is None else time.monotonic() + self.options.max_seconds
        with self.oracle.asker.quiet():
            for batch in families:
                self.watch.add(batch)
                for count, sequence in zip(counts, sequences, strict=True):
                    hits = count.add(batch)
                    sequence.update(int(hits.sum()), len(hits))
                if self.progress is not None:
                    self._tell(counts[-1].n, counts[-1].hits, sequences[-1].low, sequences[-1].high)
                if all(map(self.options.is_tight, sequences)) or time.monotonic() >= end:
                    break
        self.maker.health += [*self.watch.remarks(self.oracle), *self._not_tight(sequences)]
        bounds = [(sequence.low, sequence.high) for sequence in sequences]
        return [self.maker.share(count, "sequential", both, both) for count, both in zip(counts, bounds, strict=True)]

    def _not_tight(self, sequences: Sequence[ConfidenceSequence]) -> Iterator[Remark]:
        """What was asked for and not reached."""
        if all(map(self.options.is_tight, sequences)):
            return
        n, width, limit = sequences[0].n, self.options.width, self.options.max_share
        if width is not None and any(sequence.high - sequence.low > width for sequence in sequences):
            yield "wide-interval", f"after {n:,} inputs the interval is still wider than the {percent(width)} asked for"
        if limit is not None and any(sequence.low <= limit < sequence.high for sequence in sequences):
            yield "not-settled", f"after {n:,} inputs it is still open whether the share is above {percent(limit)}"

    def _exact(self) -> list[Share] | None:
        domain = self.target.domain
        if self.plan.how == "enumerate":
            self.maker.detail = f"all {domain.size:,} inputs of the domain were looked at"
            counts = self._counted(self.target.enumerated())
            if not counts[0].n + counts[0].n_not_comparable:
                raise DomainError(f"the constraints must allow an input, got none of {domain.size:,}: loosen them")
            return [self.maker.exact(count) for count in counts]
        if self.oracle.asker.output != "label":
            limit = f"over the {self.options.exact_limit:,} that are enumerated"
            if domain.size <= self.options.exact_limit:
                limit = f"and {self.options.n:,} sampled with their twins are fewer"
            self.maker.detail = f"the domain has {magnitude(domain.size)} inputs, {limit}"
            return None
        # The sets are sampled together, but solved one by one.
        n_rows = self.options.rows_foreseen(domain) / len(self.sets)
        domains = [domain.with_sensitive(names) for names in self.sets]
        shares: list[Share] = []
        for domain in domains:
            solved = solve(self.asking.model, domain, n_rows=n_rows if self.options.method == "auto" else None)
            if not isinstance(solved, Solved):
                self.maker.detail = solved.reason
                self.oracle.asker.n_queries += solved.n_queries + sum(share.n_queries for share in shares)
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


class Watch:
    """Whether the model says the same of the same row when its hits are asked about again."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._n = 0
        self._rows: Any = None

    def add(self, batch: Judged) -> None:
        """Note a batch."""
        self._n += batch.n_contradicted
        if batch.contradicted is not None and self._rows is None:
            self._rows = batch.contradicted

    def remarks(self, oracle: Oracle) -> list[Remark]:
        """What is to be said of it, and of the rounding of outputs that are no labels."""
        remarks: list[Remark] = []
        if oracle.resolution > oracle.threshold / 1000:
            limit = oracle.threshold + oracle.resolution
            remarks.append(
                (
                    "rounding",
                    f"the model's outputs for one row differ by up to {oracle.resolution / SAFETY:.2g} with the size "
                    f"of the batch, so a gap counts above {limit:.3g}",
                )
            )
        if not self._n:
            return remarks
        n = f"{self._n:,} hits got another output when asked about again, and do not count"
        model, domain, batch = self._asking.model, oracle.domain, self._asking.batch
        if oracle.is_label and are_ties(model, domain, batch, self._rows):
            text = f"{n} unless they were hits both times: they lie so near to the boundary that rounding decides"
            return [*remarks, ("rounding-decides", text)]
        text = f"the model answers the same row differently: {n} unless they were hits both times"
        return [*remarks, ("stochastic-model", text)]


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
