"""A share: the fraction of a stated population that is discriminatory, with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fairprobe.arrays import Floats
from fairprobe.notebook import as_html

if TYPE_CHECKING:
    import pandas as pd

POPULATIONS = {
    "domain": "the domain",
    "valid": "the allowed part of the domain",
    "rows": "the rows",
}


Remark = tuple[str, str]
"""The name of a health check and what it says."""


@dataclass(frozen=True, repr=False)
class Share:
    """How much of a population is discriminatory. Only sampling, enumeration or proof make one, never a search."""

    value: float
    """Hits / n, or the exact share; NaN if nothing could be compared."""
    low: float
    high: float
    """The two-sided interval at `confidence`."""
    lower: float
    upper: float
    """The one-sided bounds, each at `confidence`."""
    n: int
    """Inputs that are comparable: judged, or for an exact share, how many there are."""
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
    n_not_comparable: int = 0
    """Inputs of whose family fewer than two members are compared and allowed: they count for nothing."""
    resolution: float = 0.0
    """What a gap must exceed beyond the threshold: twice what rounding does to the model's outputs."""
    health: tuple[Remark, ...] = ()
    """The name and the text of each health check that has something to say."""
    history: Floats | None = field(default=None, compare=False)
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

    @property
    def comparable(self) -> float:
        """The part of the population that could be compared."""
        total = self.n + self.n_not_comparable + self.n_left_out
        return self.n / total if total else 0.0

    @property
    def is_stochastic(self) -> bool:
        """Whether the model answered the same row differently."""
        return any(name == "stochastic-model" for name, _ in self.health)

    def sentence(self) -> str:
        """The share in words."""
        whole = POPULATIONS[self.population]
        apart = self.apart()
        aside = f"; {apart}" if apart else ""
        if not self.n:
            return f"nothing of {whole} could be compared{aside}"
        if self.method == "exact":
            return f"exactly {percent(self.value)} of {whole}: {self.hits:,} of {self.n:,} inputs{aside}"
        confident = f"with {percent(self.confidence)} confidence"
        if not self.hits:
            whole = "the people they are drawn from" if self.population == "rows" else whole
            return f"none in {self.n:,}: {confident} fewer than {percent(self.upper)} of {whole}{aside}"
        if self.method == "strata":
            between = f"between {percent(self.low)} and {percent(self.high)}"
            return f"{percent(self.value)} of {whole}, {confident} {between} ({self.n:,} inputs in {self.detail})"
        between = f"{confident} between {percent(self.low)} and {percent(self.high)}"
        if self.population == "rows":
            counted = f"{percent(self.value)} of the rows ({self.hits:,} of {self.n:,}{aside})"
            return f"{counted}; {between} of the people they are drawn from"
        return f"{percent(self.value)} of {whole}, {between} ({self.hits:,} hits in {self.n:,} inputs{aside})"

    def apart(self) -> str:
        """Who is not among them, and why."""
        why = [
            (self.n_left_out, f"left out, their {' or '.join(self.sensitive)} unknown"),
            (self.n_not_comparable, "not comparable, all their twins forbidden by the constraints"),
        ]
        return "; ".join(f"{n:,} {words}" for n, words in why if n)

    def summary(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        left_out = ("history", "outcomes", "sensitive", "health")
        summary = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in left_out}
        summary["sensitive"] = list(self.sensitive)
        summary["value"] = None if math.isnan(self.value) else self.value  # JSON has no NaN
        summary["health"] = [{"check": name, "message": message} for name, message in self.health]
        summary["sentence"] = self.sentence()
        if self.outcomes is not None:
            summary["outcomes"] = self.outcomes.reset_index().to_dict(orient="records")
        return summary

    def __repr__(self) -> str:
        return f"Share({self.sentence()})"

    def _repr_html_(self) -> str:
        figures = {
            "share": percent(self.value),
            f"{percent(self.confidence)} interval": f"{percent(self.low)} to {percent(self.high)}",
            "hits": f"{self.hits:,} of {self.n:,}",
            "method": self.method,
        }
        table = "" if self.outcomes is None else self.outcomes.to_html(escape=True, border=0)
        return as_html("Share", self.sentence(), figures, self.health, table)


def percent(fraction: float) -> str:
    """A fraction as a percentage, with as many digits as it takes to tell it from none and from all.

    >>> percent(0.0623), percent(7.489e-6), percent(0.95), percent(0.9999), percent(0.0)
    ('6.23%', '0.00075%', '95%', '99.99%', '0%')

    Of nothing there is no fraction:

    >>> percent(math.nan)
    'n/a'
    """
    if math.isnan(fraction):
        return "n/a"
    number = 100 * fraction
    distance = min(number, 100 - number)
    digits = 2
    while 0 < distance < 10.0 ** (1 - digits) and digits < 20:
        digits += 1
    text = f"{number:.{digits}f}".rstrip("0").rstrip(".")
    return f"{text}%"
