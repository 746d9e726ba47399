"""`estimate`, the share of discriminatory inputs in a population, and `breakdown`, by set of sensitive parameters.

`causal_score` and `causal_search` are Themis' measure (Galhotra, Brun, Meliou, FSE 2017): the share of inputs whose
outcome some parameters alone change. Themis stops when a normal approximation of the error looks small, which without
hits happens at once. The interval here is valid whenever the sample stops.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from fairprobe.arguments import Column, Flag, Outcome, WrittenFolder, arguments_of, done_by, filled
from fairprobe.checks import check_above_0, checked_choice, checked_count, checked_fraction, is_number
from fairprobe.domain.density import Density
from fairprobe.domain.domain import Domain, checked_domain
from fairprobe.errors import HealthWarning, SettingError
from fairprobe.estimation.bounds.intervals import checked_confidence, split_confidence
from fairprobe.estimation.estimate_run import stored_shares
from fairprobe.estimation.matched import matched_share
from fairprobe.estimation.populations import Population, bound, sides_of
from fairprobe.estimation.share import Share, checked_role
from fairprobe.estimation.survey import warn_of
from fairprobe.estimation.verdict import Gate
from fairprobe.model import Model
from fairprobe.progress import Progress

if TYPE_CHECKING:
    import pandas as pd

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
    """Largest number of inputs that `estimate` would judge."""
    n_queries: int
    """Largest number of rows that `estimate` would ask the model about."""


class EstimateSettings(SimpleNamespace):
    """The checked arguments of `estimate` as attributes, with its defaults; `estimate` describes them."""

    def __init__(self, **given: Any) -> None:
        every = filled(estimate, given, but=["population"])
        super().__init__(**{**every, "rows_are": checked_role(every["rows_are"])})
        if not Gate.of(self.gate).is_of_twins:
            raise SettingError.about("gate", f"may be so in an audit alone, got {self.gate!r}")
        if self.keep is not None and not self.matched:
            raise SettingError.about("keep", f"goes with matched=True, got {self.keep!r} alone")
        checked_confidence(self.confidence)
        checked_count("n_samples", self.n_samples)
        if self.n_experiments is not None:
            checked_count("n_experiments", self.n_experiments)
        checked_count("exact_limit", self.exact_limit, at_least=0)
        checked_choice("method", self.method, ("auto", "sample", "exact"))
        if self.width is not None:
            checked_fraction("width", self.width)
        if self.max_share is not None:
            checked_fraction("max_share", self.max_share, from_zero=True)
        check_above_0("max_seconds", self.max_seconds)

    def but(self, **changes: Any) -> EstimateSettings:
        """Return a copy of the settings with some of them changed, after checking all of them."""
        return EstimateSettings(**{**vars(self), **changes})

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


def _matched(model: Model, domain: Domain, rows: Any, settings: Mapping[str, Any]) -> Any:
    """Return the share of the rows by matched twins; refuse settings of `estimate` that mean nothing to them."""
    if isinstance(rows, str | Density):
        raise SettingError.about("matched", f"twins are of real rows, got the population {rows!r}")
    taken, every = arguments_of(matched_share), arguments_of(estimate)
    for name, given in settings.items():
        if name not in (*taken, "matched", "progress") and given != every[name].default:
            raise SettingError.about(name, f"means nothing to matched twins, got {given!r}: leave it out")
    found = matched_share(model, domain, rows, **{name: settings[name] for name in taken if name in settings})
    for name, message in found.health:
        warnings.warn(f"{name}: {message}", HealthWarning, stacklevel=5)
    return found


def _estimate(model: Model, domain: Domain, population: Any, **settings: Any) -> Share:
    """Return the share of a population and warn of its remarks; this is the body of `estimate`."""
    if settings["matched"]:
        return _matched(model, domain, population, settings)
    (share,) = shares_of(model, domain, population, [checked_domain(domain).sensitive], EstimateSettings(**settings))
    warn_of([share], stacklevel=4)
    return share


@done_by(_estimate)
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
    favourable: Outcome | None = None,
    seed: int | None = 0,
    batch: str | None = None,
    linked: bool | None = None,
    sample_weight: Column | None = None,
    groups: Column | None = None,
    rows_are: str | None = None,
    gate: str | None = None,
    matched: Flag = False,
    keep: Sequence[Column] | None = None,
    store: WrittenFolder | None = None,
    model_id: str | None = None,
    n_jobs: int = 1,
    engine: str | None = None,
    progress: bool | Progress | None = None,
) -> Share:
    """Estimate the share of discriminatory inputs in a population.

    Args:
        model: anything with `predict`, or a callable that takes a batch and returns one output a row.
        domain: what an input may be, and which parameters are sensitive.
        population: "domain" (uniform, constraints aside), "valid" (uniform over what the constraints allow), a frame of
            real rows, all of which are judged as they are, only their sensitive columns replaced, or a `Density`, from
            which inputs are drawn within the constraints and links.
        n_experiments: number of experiments of a sample, 400 by default; at most 100,000 with `width` or `max_share`.
        n_samples: number of inputs of an experiment.
        confidence: confidence of the interval low to high (two-sided) and of the bounds lower and upper (one-sided).
        method: "sample", "exact" (enumerate the domain or solve the model), or "auto": exact if it takes no longer
            than a sample of the default size, judged by counts.
        exact_limit: number of inputs of the largest domain that is enumerated. With "auto", a domain is enumerated only
            if sampling would ask about as many rows.
        width: stop as soon as the interval is no wider than this. It is then valid at any moment of stopping.
        max_share: stop as soon as the share is known to be above this limit or not.
        max_seconds: stop sampling after this many seconds. The interval is then valid at any moment of stopping.
        threshold: an input is discriminatory if its gap is above it. Labels have 0 by default.
        output: the outputs that are compared: "label", "score", "proba" or "value".
        favourable: the favourable outcome, to say who is worse off. It is a label; for scores and values "highest" or
            "lowest"; for probabilities a class, or "highest" or "lowest" for the probability of the last class. An
            outcome that the model never gives is refused. A model that does not state its classes is asked about inputs
            until one gets the outcome; these rows are not in `n_queries`.
        seed: the same seed and settings give the same result. None draws one, which the result records.
        batch: "array" or "frame", the form of the model's batches; by default that of the data it was fitted on.
        linked: in a domain with links, True compares linked twins, False those that differ in the sensitive parameters
            alone. None does both: the result is the linked share, and its `plain` is the plain share.
        sample_weight: for a population of rows, the weight of each row. The interval is then Gaffke's over groups or
            rows.
        groups: for a population of rows, the person that each row belongs to. Several rows of one person tell less than
            rows of as many people.
        rows_are: for a population of rows, "held-out", "training" or "unknown", the default. Only held-out rows
            represent other people: a share of training rows is a count without an interval, and rows of unknown role
            pass a limit only on the condition that the model was not trained on them.
        gate: "linked" or "plain" if a limit binds that share alone, "none" if no limit binds either. By default a limit
            binds both, and the error, 1 - `confidence`, is split between them.
        matched: True compares people with matched twins: with the values that a person at the same place in the other
            group's distribution has. It answers the question for a model that does not take the sensitive column. The
            population is a frame of real rows, and the result is a `Matched`, not a `Share`.
        keep: with `matched`, the columns that stay unchanged. They decide the answer. By default the other sensitive
            columns and those named like age, race or country.
        store: a folder in which the model's answers are stored as they come. A repeated call reads them from there and
            continues where the last one ended, with any number of workers; with more experiments it goes further. Any
            other model, domain, population or setting is refused. Canary inputs detect a changed model.
        model_id: with `store`, a name that you give to this model, as for `search`.
        n_jobs: number of processes that judge; -1 is one for each core. The result does not depend on it.
        engine: as for `search`: "local", "processes", "dask" or "dask://host:port". A shard that keeps failing is left
            out, and a remark says so: the upper bounds count all its inputs as cases, the lower ones none (`n_lost`).
        progress: True for a line on the standard error, or a callable that takes a `Status`, after every batch.

    Returns:
        A `Share`; with `matched`, a `Matched`.

    For a population of rows, the share's `cases`, `twins` and `answers` hold the rows that are discriminatory.

    >>> from fairprobe import Domain, Integer, estimate
    >>> domain = Domain([Integer("age", 17, 90), Integer("sex", 0, 1)], sensitive=["sex"])
    >>> estimate(lambda X: X[:, 0] + 10 * X[:, 1] > 50, domain)
    Share(exactly 13.51% of the domain (20 of 148 inputs) get another outcome when sex changes)
    """
    raise NotImplementedError


def breakdown(
    model: Model,
    domain: Domain,
    population: str | pd.DataFrame | Any = "domain",
    *,
    sets: Sequence[Sequence[str]] | None = None,
    **settings: Any,
) -> dict[str, Share]:
    """Estimate the share for each sensitive parameter alone and for their combinations, in one pass over the inputs.

    For a set of sensitive parameters, twins differ in these alone; the others stay as they are in the input. Each set
    has the interval that `estimate` would give it if asked for alone, because a limit applies to one set. A sample
    that may stop early stops once the shares of all sets are known as closely as `width` or `max_share` asks.

    Args:
        model: anything with `predict`, or a callable that takes a batch and returns one output a row.
        domain: what an input may be, and which parameters are sensitive.
        population: as for `estimate`.
        sets: the sets of sensitive parameters, each a list of names; by default all sets.
        settings: any other keyword argument of `estimate`.

    Returns:
        A share by the set's name, as "sex", "race" and "sex x race".

    >>> from fairprobe import Domain, Integer
    >>> parameters = [Integer("age", 17, 90), Integer("sex", 0, 1), Integer("race", 0, 4)]
    >>> domain = Domain(parameters, sensitive=["sex", "race"])
    >>> for name, share in breakdown(lambda X: X[:, 0] + 10 * X[:, 1] > 50, domain).items():
    ...     print(name, share.hits)
    sex 100
    race 0
    sex x race 100
    """
    names = _checked_sets(checked_domain(domain), sets)
    shares = shares_of(model, domain, population, names, EstimateSettings(**settings))
    warn_of(shares)
    return {" x ".join(share.sensitive): share for share in shares}


def causal_score(
    model: Model,
    domain: Domain,
    *,
    sets: Sequence[Sequence[str]] | None = None,
    error: float = 0.01,
    confidence: float = 0.99,
    **settings: Any,
) -> dict[str, Share]:
    """Return the causal score (Themis' name of the share) of each set of sensitive parameters, by the set's name.

    By default there is one set, of all sensitive parameters. Inputs are sampled until every interval is at most
    2 x `error` wide; all intervals hold together with `confidence`. The other arguments are those of `breakdown`.
    """
    if not is_number(error) or not 0 < error < 0.5:
        raise SettingError.about("error", f"must be above 0 and below 0.5, got {error!r}")
    names = _checked_sets(checked_domain(domain), [domain.sensitive] if sets is None else sets)
    each = split_confidence(confidence, len(names))
    return breakdown(model, domain, sets=names, width=2 * error, confidence=each, **settings)


def causal_search(
    model: Model, domain: Domain, *, min_share: float, confidence: float = 0.99, **settings: Any
) -> dict[str, Share]:
    """Return the smallest sets of sensitive parameters whose share is shown to be above `min_share`, by name.

    Sets are tried by size; one that holds a set found before is left out, as its score is no smaller. The other
    arguments are those of `breakdown`.
    """
    checked_fraction("min_share", min_share, from_zero=True)
    each = split_confidence(confidence, 2 ** len(checked_domain(domain).sensitive) - 1)
    found: dict[str, Share] = {}
    for size in range(1, len(domain.sensitive) + 1):
        smaller = [set(share.sensitive) for share in found.values()]
        every = combinations(domain.sensitive, size)
        sets = [names for names in every if not any(part <= set(names) for part in smaller)]
        if sets:
            shares = breakdown(model, domain, sets=sets, max_share=min_share, confidence=each, **settings)
            found |= {name: share for name, share in shares.items() if share.lower > min_share}
    return found


def _checked_sets(domain: Domain, sets: Sequence[Sequence[str]] | None) -> list[tuple[str, ...]]:
    """Return the argument `sets` as checked tuples of names in domain order; by default all sets, small ones first."""
    if sets is None:
        sizes = range(1, len(domain.sensitive) + 1)
        return [names for size in sizes for names in combinations(domain.sensitive, size)]
    checked = [{names} if isinstance(names, str) else set(names) for names in sets]
    for names in checked:
        if not names or not names <= set(domain.sensitive):
            known, got = ", ".join(domain.sensitive), ", ".join(map(str, names)) or "none"
            raise SettingError.about("sets", f"must each name some of {known}; got {got}")
    if not checked:
        raise SettingError.about("sets", "must hold one set of sensitive parameters at least, got none")
    return [tuple(name for name in domain.sensitive if name in names) for names in checked]


def shares_of(
    model: Model, domain: Domain, population: Any, sets: Sequence[tuple[str, ...]], settings: EstimateSettings
) -> list[Share]:
    """Return a share of the population for each set of sensitive parameters; twins differ in one set only.

    With links and `settings.linked` None, the shares are those of linked twins, and their field `plain` has the plain
    ones.
    """
    if settings.matched:
        rule = "is about all rows and one parameter, by `estimate` alone; got it elsewhere"
        raise SettingError.about("matched", rule)
    sides, population = sides_of(domain, settings.linked), bound(population, domain)
    n_bound = Gate.of(settings.gate).n_bound(sides)
    settings = settings.but(confidence=split_confidence(settings.confidence, n_bound))
    asked = (settings.threshold, settings.output, settings.batch, settings.sample_weight, settings.groups)
    targets = [Population(model, side, population, *asked) for side in sides]
    first, *others = stored_shares(targets, sets, settings)
    # Where nothing is linked to a set, its linked and its plain share are the same.
    both = zip(first, others[0], strict=True) if others else ()
    return [replace(share, plain=plain) if share.linked else share for share, plain in both] or first


def plan(domain: Domain, population: Any, **given: Any) -> EstimatePlan:
    """Return the method and the numbers of inputs and queries that `estimate` would need. No model is asked."""
    settings, population = EstimateSettings(**given), bound(population, domain)
    n_rows = population.shape[0] if hasattr(population, "shape") else None
    if not isinstance(population, str):
        settings = settings.but(method="sample")
    sides = [settings.plan(side, n_rows) for side in sides_of(domain, settings.linked)]
    return sides[0]._replace(n_queries=sum(each.n_queries for each in sides))
