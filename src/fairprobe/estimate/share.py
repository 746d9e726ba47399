"""A share: the fraction of a stated population that is discriminatory, with its interval."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

POPULATIONS = {
    "domain": "the domain",
    "valid": "the allowed part of the domain",
    "rows": "the rows",
}


@dataclass(frozen=True, repr=False)
class Share:
    """How much of a population is discriminatory. Only sampling, enumeration or proof make one, never a search."""

    value: float
    """Hits / n, or the exact share."""
    low: float
    high: float
    """The two-sided interval at `confidence`."""
    lower: float
    upper: float
    """The one-sided bounds, each at `confidence`."""
    n: int
    """Inputs judged; for an exact share, how many there are."""
    hits: int
    """How many of them are discriminatory."""
    method: str
    """One of exact, sample, sequential (it stopped when tight), strata, rows."""
    population: str
    """One of domain, valid, rows."""
    confidence: float
    sensitive: tuple[str, ...]
    threshold: float
    n_queries: int
    seconds: float = field(compare=False)
    seed: int | None
    detail: str = ""
    """How an exact share was found, or why it was not; what else is to be said."""
    n_left_out: int = 0
    """Rows whose sensitive value is unknown."""
    history: NDArray[np.float64] | None = field(default=None, compare=False)
    """The running mean after each experiment."""
    mean_low: float | None = None
    mean_high: float | None = None
    """The paper's interval: of the mean over the experiments."""
    outcomes: pd.DataFrame | None = field(default=None, compare=False)
    """For the hits: how often each combination of sensitive values gets each outcome."""
    worse_off: str | None = None
    """The combination with the lowest rate of the favourable outcome among the hits, where one is named."""

    @property
    def width(self) -> float:
        """Of the two-sided interval."""
        return self.high - self.low

    def sentence(self) -> str:
        """The share in words."""
        whole = POPULATIONS[self.population]
        left_out = f"; {self.n_left_out:,} left out, {_unknown(self.sensitive)}" if self.n_left_out else ""
        if self.method == "exact":
            return f"exactly {percent(self.value)} of {whole}: {self.hits:,} of {self.n:,} inputs"
        confident = f"with {percent(self.confidence)} confidence"
        if not self.hits:
            whole = "the people they are drawn from" if self.population == "rows" else whole
            return f"none in {self.n:,}: {confident} fewer than {percent(self.upper)} of {whole}{left_out}"
        if self.method == "strata":
            between = f"between {percent(self.low)} and {percent(self.high)}"
            return f"{percent(self.value)} of {whole}, {confident} {between} ({self.n:,} inputs in {self.detail})"
        between = f"{confident} between {percent(self.low)} and {percent(self.high)}"
        if self.population == "rows":
            counted = f"{percent(self.value)} of the rows ({self.hits:,} of {self.n:,}{left_out})"
            return f"{counted}; {between} of the people they are drawn from"
        return f"{percent(self.value)} of {whole}, {between} ({self.hits:,} hits in {self.n:,} inputs)"

    def summary(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        left_out = ("history", "outcomes", "sensitive")
        summary = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in left_out}
        summary["sensitive"] = list(self.sensitive)
        summary["sentence"] = self.sentence()
        if self.outcomes is not None:
            summary["outcomes"] = self.outcomes.reset_index().to_dict(orient="records")
        return summary

    def __repr__(self) -> str:
        return f"Share({self.sentence()})"


def _unknown(sensitive: tuple[str, ...]) -> str:
    return f"their {' or '.join(sensitive)} unknown"


def percent(fraction: float) -> str:
    """A fraction as a percentage, with as many digits as it takes to tell it from none and from all.

    >>> percent(0.0623), percent(7.489e-6), percent(0.95), percent(0.9999), percent(0.0)
    ('6.23%', '0.00075%', '95%', '99.99%', '0%')
    """
    number = 100 * fraction
    distance = min(number, 100 - number)
    digits = 2
    while 0 < distance < 10.0 ** (1 - digits) and digits < 20:
        digits += 1
    text = f"{number:.{digits}f}".rstrip("0").rstrip(".")
    return f"{text}%"
