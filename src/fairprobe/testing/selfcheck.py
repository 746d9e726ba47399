"""The selfcheck: it tests this installation on toy models whose discriminatory inputs are known."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairprobe._version import __version__
from fairprobe.checks import checked_seed
from fairprobe.domain import Category, Domain, Integer, Link
from fairprobe.errors import HealthWarning
from fairprobe.estimation import Outcome, estimate, verdict
from fairprobe.explanation import explain
from fairprobe.searching import search
from fairprobe.testing import toys

PACKAGES = ("numpy", "scikit-learn")
"""Packages whose versions the selfcheck's line for a report states."""

N_SAMPLED = 20_000
CONFIDENCE = 0.999999
"""Confidence of the interval of each sampled share. Chosen: for about 1 in 100,000 seeds, some interval misses the true
share."""


@dataclass(frozen=True)
class Selfcheck:
    """The results of the selfcheck. They contain no times, so that one machine always gives equal bytes."""

    wrong: dict[str, str | None]
    """The wrong result in words, by the name of the check; None for a check that passed."""

    @property
    def ok(self) -> bool:
        """True if all checks of the selfcheck passed."""
        return not any(self.wrong.values())

    @property
    def line(self) -> str:
        """The result in one line for a report, with the number of passed checks and the versions."""
        failed = [name for name, wrong in self.wrong.items() if wrong]
        versions = ", ".join([f"fairprobe {__version__}", *(f"{name} {version(name)}" for name in PACKAGES)])
        passed = f"{len(self.wrong) - len(failed)} of {len(self.wrong)} checks passed ({versions})"
        return "; failed: ".join(filter(None, [f"selfcheck: {passed}", ", ".join(failed)]))

    def __repr__(self) -> str:
        return f"Selfcheck({self.line})"


def selfcheck(seed: int = 0) -> Selfcheck:
    """Return the results of checking this installation on toy models with known cases; it takes some seconds.

    >>> result = selfcheck()
    >>> result.ok
    True
    """
    number = checked_seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HealthWarning)  # the checks read them from the results
        return Selfcheck({name: _tried(check, number) for name, check in CHECKS.items()})


def _tried(check: Callable[[int], str | None], seed: int) -> str | None:
    try:
        return check(seed)
    except Exception as error:  # any error is a failed check
        return f"{type(error).__name__}: {error}"


# Searches: all that is planted where a search can cover the domain, and nothing else anywhere


def _finds_all(toy: toys.Toy, seed: int) -> str | None:
    found = search(toy.model, toy.domain, max_cases=None, seed=seed, **toy.settings)
    are_cases = toy.is_case(toy.batch(found.cases))
    if not are_cases.all():
        return f"{(~are_cases).sum()} of {found.n_cases} cases are none"
    return None if found.n_cases == toy.n_cases else f"{found.n_cases} of {toy.n_cases} cases"


def _repeats(seed: int) -> str | None:
    toy = toys.box()
    one, other = (search(toy.model, toy.domain, max_cases=20, seed=seed) for _ in range(2))
    return None if one.cases.equals(other.cases) and one.n_judged == other.n_judged else "two runs differ"


# Shares and verdicts: the planted fraction itself, or an interval that holds it


def _exact(seed: int) -> str | None:
    for name, toy in toys.all_toys():
        share = estimate(toy.model, toy.domain, method="exact", seed=seed, **toy.settings)
        if Fraction(share.hits, share.n) != toy.share:
            return f"{name}: {share.hits} of {share.n} instead of {toy.share}"
    return None


def _sampled(seed: int) -> str | None:
    how: dict[str, Any] = {"method": "sample", "n_experiments": 20, "n_samples": N_SAMPLED // 20, "seed": seed}
    for name, toy in toys.all_toys():
        share = estimate(toy.model, toy.domain, confidence=CONFIDENCE, **how, **toy.settings)
        if not share.low <= toy.share <= share.high:
            return f"{name}: {toy.share} is not between {share.low} and {share.high}"
    return None


def _rows(seed: int) -> str | None:
    toy = toys.loans()
    rows = toy.domain.sample(500, seed=seed)
    share, planted = estimate(toy.model, toy.domain, rows, seed=seed), int(toy.is_case(rows).sum())
    return None if (share.hits, share.n) == (planted, 500) else f"{share.hits} of {share.n} instead of {planted} of 500"


def _verdicts(seed: int) -> str | None:
    toy = toys.box()  # 27 of 1,000
    share = estimate(toy.model, toy.domain, method="sample", n_experiments=20, seed=seed)
    few = estimate(toy.model, toy.domain, method="sample", n_experiments=1, n_samples=10, seed=seed)
    # Ten inputs, none of which is a case, cannot show that no more than a tenth are.
    wanted = [(share, 0.001, Outcome.VIOLATED), (share, 0.1, Outcome.PASSED), (few, 0.1, Outcome.INCONCLUSIVE)]
    for measured, limit, outcome in wanted:
        said = verdict(measured, limit).outcome
        if said is not outcome:
            return f"{said} instead of {outcome} at a limit of {limit}"
    return None


def _refuses_wives(frame: Any) -> NDArray[Any]:
    """Return a toy model's labels for a DataFrame: "no" for wives, otherwise "yes"."""
    return np.where(frame["kin"].to_numpy() == "Wife", "no", "yes")


def _links(seed: int) -> str | None:
    parameters = [Integer("age", 1, 10), Category("kin", ["Husband", "Wife", "Child"]), Category("sex", ["F", "M"])]
    domain = Domain(parameters, ["sex"], links=[Link("kin", "sex", [{"M": "Husband", "F": "Wife"}])])
    share = estimate(_refuses_wives, domain, method="exact", seed=seed)
    plain = share.plain
    if plain is None or plain.hits:
        return f"sex alone changes {plain.hits if plain else 'an unknown number of'} inputs"
    # Of the inputs that are allowed, half are children; husbands and wives change, and they do not.
    return None if Fraction(share.hits, share.n) == Fraction(1, 2) else f"{share.hits} of {share.n} instead of a half"


# Why, and who cannot be trusted


def _region(seed: int) -> str | None:
    toy = toys.box()
    found = search(toy.model, toy.domain, max_cases=None, seed=seed)
    regions = explain(found, toy.model, max_queries=30_000, seed=seed).rules
    everything = toy.domain.decode(np.indices(toy.domain.levels.tolist()).reshape(len(toy.domain.levels), -1).T)
    told = np.any([region.rule.matches(everything) for region in regions], axis=0)
    planted = toy.is_case(everything.to_numpy())
    f1 = 2 * (told & planted).sum() / (told.sum() + planted.sum())
    return None if f1 >= 0.9 else f"the planted region is found with an F1 of {f1:.2f}"


def _stochastic(seed: int) -> str | None:
    rng = np.random.default_rng(seed)
    share = estimate(lambda X: rng.random(len(X)) < 0.5, toys.box().domain, method="sample", n_experiments=1, seed=seed)
    if not share.has("stochastic-model"):
        return "a model that answers by chance is not found out"
    said = verdict(share, 0.01).outcome
    return None if said is Outcome.INCONCLUSIVE else f"a model that answers by chance is {said}"


CHECKS: dict[str, Callable[[int], str | None]] = {
    "search finds all that is planted": lambda seed: _finds_all(toys.box(n_free=2), seed),
    "search over combinations": lambda seed: _finds_all(toys.odd_one_out(), seed) or _finds_all(toys.pair(), seed),
    "search by scores": lambda seed: _finds_all(toys.score(), seed),
    "search by probabilities": lambda seed: _finds_all(toys.proba(), seed),
    "search of frames": lambda seed: _finds_all(toys.loans(), seed),
    "search finds nothing where nothing is": lambda seed: _finds_all(toys.never(n_free=2), seed),
    "search repeats itself": _repeats,
    "exact shares": _exact,
    "sampled shares": _sampled,
    "shares of rows": _rows,
    "verdicts": _verdicts,
    "links": _links,
    "a planted region is explained": _region,
    "a stochastic model is found out": _stochastic,
}
"""Checks of the selfcheck, by name. Each takes a seed and returns None if it passes, or the wrong result in words."""
