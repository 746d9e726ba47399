"""Shares by sets of sensitive parameters: which of them, alone or together, change the outcome.

`causal_score` and `causal_search` are Themis' measure (Galhotra, Brun, Meliou, FSE 2017): the share of inputs whose
outcome some parameters alone change. Themis stops when a normal approximation of the error looks small, which without
hits is at once; here the interval is valid whenever one stops.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from os import PathLike
from typing import TYPE_CHECKING, Any

from fairprobe.checks import is_number
from fairprobe.domain.domain import Domain, checked_domain
from fairprobe.errors import SettingError
from fairprobe.estimation.estimation import EXACT_LIMIT, Estimation, Options, stored_shares, workers_for
from fairprobe.estimation.populations import Population, bound, sides_of
from fairprobe.estimation.share import Share
from fairprobe.estimation.survey import beside, n_bound, split_confidence, warn_of
from fairprobe.model import Model
from fairprobe.progress import Progress

if TYPE_CHECKING:
    import pandas as pd


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
    linked: bool | None = None,
    weights: Any = None,
    groups: Any = None,
    rows_are: str | None = None,
    gate: str | None = None,
    store: str | PathLike[str] | None = None,
    model_id: str | None = None,
    n_jobs: int = 1,
    engine: str | None = None,
    progress: bool | Progress | None = None,
) -> dict[str, Share]:
    """Estimate the share for each sensitive parameter alone and for their combinations, in one pass over the inputs.

    For a set of sensitive parameters, twins differ in these alone; the others stay as they are in the input. Each set
    has the interval that `estimate` gives it alone: a limit binds one set, so another set costs it nothing. `sets`
    names the sets of sensitive parameters, by default all there are. The other arguments are those of `estimate`.

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
    sides, population = sides_of(domain, linked), bound(population, domain)
    each = split_confidence(confidence, n_bound(sides, gate))
    options = Options(
        n_experiments, n_samples, each, method, exact_limit, None, None, favourable, seed, rows_are=rows_are
    )
    targets = [Population(model, side, population, threshold, output, batch, weights, groups) for side in sides]
    found = stored_shares(targets, names, options, progress, store, workers_for(n_jobs, engine), model_id)
    warn_of(share for shares in found for share in shares)
    return _by_name(beside(*shares) for shares in zip(*found, strict=True))


def causal_score(
    model: Model,
    domain: Domain,
    *,
    sets: Sequence[Sequence[str]] | None = None,
    error: float = 0.01,
    confidence: float = 0.99,
    threshold: float | None = None,
    output: str = "label",
    seed: int | None = 0,
    batch: str | None = None,
) -> dict[str, Share]:
    """The causal score of each set of sensitive parameters, by default of all together.

    It samples until every score is known to within `error` on either side; all hold together with `confidence`. The
    other arguments are those of `breakdown`.
    """
    if not is_number(error) or not 0 < error < 0.5:
        raise SettingError(f"error must be above 0 and below 0.5, got {error!r}")
    checked_domain(domain)
    names = _checked_sets(domain, [domain.sensitive] if sets is None else sets)
    options = Options(confidence=split_confidence(confidence, len(names)), width=2 * error, seed=seed)
    target = Population(model, domain, "domain", threshold, output, batch)
    return _by_name(Estimation(target, names, options).shares())


def causal_search(
    model: Model,
    domain: Domain,
    *,
    min_share: float,
    confidence: float = 0.99,
    threshold: float | None = None,
    output: str = "label",
    seed: int | None = 0,
    batch: str | None = None,
) -> dict[str, Share]:
    """The smallest sets of sensitive parameters whose causal score is above `min_share`.

    Sets are tried by size; one that holds a set found before is left out, as its score is no smaller. The other
    arguments are those of `breakdown`.
    """
    if not is_number(min_share) or not 0 <= min_share < 1:
        raise SettingError.about("min_share", f"must be at least 0 and below 1, got {min_share!r}")
    n_sets = 2 ** len(checked_domain(domain).sensitive) - 1
    options = Options(confidence=split_confidence(confidence, n_sets), max_share=min_share, seed=seed)
    found: list[Share] = []
    for size in range(1, len(domain.sensitive) + 1):
        smaller = [set(share.sensitive) for share in found]
        every = combinations(domain.sensitive, size)
        sets = [names for names in every if not any(part <= set(names) for part in smaller)]
        if sets:
            target = Population(model, domain, "domain", threshold, output, batch)
            found += [share for share in Estimation(target, sets, options).shares() if share.lower > min_share]
    return _by_name(found)


def _checked_sets(domain: Domain, sets: Sequence[Sequence[str]] | None) -> list[tuple[str, ...]]:
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


def _by_name(shares: Iterable[Share]) -> dict[str, Share]:
    return {" x ".join(share.sensitive): share for share in shares}
