"""Shares by sets of sensitive parameters: which of them, alone or together, change the outcome.

`causal_score` and `causal_search` are Themis' measure (Galhotra, Brun, Meliou, FSE 2017): the share of inputs whose
outcome some parameters alone change. Themis stops when a normal approximation of the error looks small, which without
hits is at once; here the interval is valid whenever one stops.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from fairprobe.checks import is_number
from fairprobe.domain.domain import Domain, checked_domain
from fairprobe.errors import SettingError
from fairprobe.estimation.bounds.intervals import split_confidence
from fairprobe.estimation.estimation import settings_of, shares_of
from fairprobe.estimation.share import Share
from fairprobe.estimation.survey import warn_of
from fairprobe.model import Model

if TYPE_CHECKING:
    import pandas as pd


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
    has the interval that `estimate` gives it alone: a limit binds one set, so another set costs it nothing. A sample
    that may stop early stops once the shares of all sets are known as well as was asked for.

    Args:
        model: anything with `predict`, or a callable that takes a batch and returns one output a row.
        domain: what an input may be, and which parameters are sensitive.
        population: as for `estimate`.
        sets: the sets of sensitive parameters, by default all there are.
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
    shares = shares_of(model, domain, population, names, settings_of(**settings))
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
    """The causal score of each set of sensitive parameters, by default of all together.

    It samples until every score is known to within `error` on either side; all hold together with `confidence`. The
    other arguments are those of `breakdown`.
    """
    if not is_number(error) or not 0 < error < 0.5:
        raise SettingError.about("error", f"must be above 0 and below 0.5, got {error!r}")
    names = _checked_sets(checked_domain(domain), [domain.sensitive] if sets is None else sets)
    each = split_confidence(confidence, len(names))
    return breakdown(model, domain, sets=names, width=2 * error, confidence=each, **settings)


def causal_search(
    model: Model, domain: Domain, *, min_share: float, confidence: float = 0.99, **settings: Any
) -> dict[str, Share]:
    """The smallest sets of sensitive parameters whose causal score is above `min_share`.

    Sets are tried by size; one that holds a set found before is left out, as its score is no smaller. The other
    arguments are those of `breakdown`.
    """
    if not is_number(min_share) or not 0 <= min_share < 1:
        raise SettingError.about("min_share", f"must be at least 0 and below 1, got {min_share!r}")
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
    """Sets of sensitive parameters, by default all there are, the small ones first."""
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
