"""Themis' measure (Galhotra, Brun, Meliou, FSE 2017): the share of inputs whose outcome some parameters alone change.

Themis stops when a normal approximation of the error looks small, which without hits is at once; here the interval is
valid whenever one stops.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from fairprobe.checks import is_number
from fairprobe.domain.checked import checked_domain
from fairprobe.domain.domain import Domain
from fairprobe.errors import SettingError
from fairprobe.estimate import intervals
from fairprobe.estimate.populations import Asking
from fairprobe.estimate.run import Estimation, Options, checked_sets
from fairprobe.estimate.share import Share
from fairprobe.model import Model


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

    It samples until every score is known to within `error` on either side; all hold together with `confidence`.
    """
    if not is_number(error) or not 0 < error < 0.5:
        raise SettingError(f"error must be above 0 and below 0.5, got {error!r}")
    checked_domain(domain)
    names = checked_sets(domain, [domain.sensitive] if sets is None else sets)
    each = 1 - (1 - intervals.checked_confidence(confidence)) / len(names)
    options = Options(confidence=each, width=2 * error, seed=seed)
    shares = Estimation(Asking(model, domain, threshold, output, batch), "domain", names, options).shares()
    return {" x ".join(share.sensitive): share for share in shares}


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

    Sets are tried by size; one that holds a set found before is left out, as its score is no smaller.
    """
    if not is_number(min_share) or not 0 <= min_share < 1:
        raise SettingError.about("min_share", f"must be at least 0 and below 1, got {min_share!r}")
    n_sets = 2 ** len(checked_domain(domain).sensitive) - 1
    each = 1 - (1 - intervals.checked_confidence(confidence)) / n_sets
    options = Options(confidence=each, max_share=min_share, seed=seed)
    asking = Asking(model, domain, threshold, output, batch)
    found: dict[tuple[str, ...], Share] = {}
    for size in range(1, len(domain.sensitive) + 1):
        sets = [names for names in combinations(domain.sensitive, size) if not _holds_one(names, found)]
        if sets:
            shares = Estimation(asking, "domain", sets, options).shares()
            found |= {share.sensitive: share for share in shares if share.lower > min_share}
    return {" x ".join(names): share for names, share in found.items()}


def _holds_one(names: tuple[str, ...], found: dict[tuple[str, ...], Any]) -> bool:
    return any(set(smaller) <= set(names) for smaller in found)
