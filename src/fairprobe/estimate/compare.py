"""Two models on the same inputs: which has the larger share, by how much, and whether it could be chance."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairprobe.arrays import Mask
from fairprobe.checks import checked_count, checked_seed
from fairprobe.domain.checked import checked_domain
from fairprobe.domain.domain import Domain
from fairprobe.errors import HealthWarning
from fairprobe.estimate import intervals
from fairprobe.estimate.counting import Count
from fairprobe.estimate.making import Maker
from fairprobe.estimate.paired import mcnemar_p, paired_difference
from fairprobe.estimate.populations import Asking, Target
from fairprobe.estimate.run import Watch
from fairprobe.estimate.share import Share, percent
from fairprobe.model import Model
from fairprobe.notebook import as_html

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Comparison:
    """The shares of two models on the same inputs."""

    a: Share
    b: Share
    difference: float
    """The share of a less that of b."""
    low: float
    high: float
    """The interval of the difference, at the shares' confidence."""
    p_value: float
    """McNemar's exact test of equal shares."""
    only_a: int
    only_b: int
    """Inputs that are discriminatory for the one model and not for the other."""
    n: int

    def sentence(self) -> str:
        """The comparison in words."""
        return (
            f"{percent(self.a.value)} against {percent(self.b.value)} of {self.n:,} inputs: "
            f"{100 * self.difference:+.3g} points, with {percent(self.a.confidence)} confidence between "
            f"{100 * self.low:+.3g} and {100 * self.high:+.3g} (p = {self.p_value:.2g})"
        )

    def summary(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        figures = ("difference", "low", "high", "p_value", "only_a", "only_b", "n")
        return {
            **{name: getattr(self, name) for name in figures},
            "a": self.a.summary(),
            "b": self.b.summary(),
            "sentence": self.sentence(),
        }

    def __repr__(self) -> str:
        return f"Comparison({self.sentence()})"

    def _repr_html_(self) -> str:
        figures = {
            "a": percent(self.a.value),
            "b": percent(self.b.value),
            "discriminatory for a alone": f"{self.only_a:,}",
            "discriminatory for b alone": f"{self.only_b:,}",
            "p": f"{self.p_value:.2g}",
        }
        return as_html("Comparison", self.sentence(), figures)


def compare(
    model_a: Model,
    model_b: Model,
    domain: Domain,
    population: str | pd.DataFrame | Any = "domain",
    *,
    n_experiments: int = 400,
    n_samples: int = 1000,
    confidence: float = 0.95,
    threshold: float | None = None,
    output: str = "label",
    favourable: Any = None,
    seed: int | None = 0,
    batch: str | None = None,
) -> Comparison:
    """Judge both models on the same inputs and compare their shares. The arguments are those of `estimate`."""
    checked_domain(domain)
    intervals.checked_confidence(confidence)
    n = checked_count("n_experiments", n_experiments) * checked_count("n_samples", n_samples)
    seed = checked_seed(seed)
    askings = [Asking(model, domain, threshold, output, batch) for model in (model_a, model_b)]
    targets, watches = [Target(asking, population) for asking in askings], [Watch(asking) for asking in askings]
    counts = [Count(target.oracle, domain.sensitive, n_samples) for target in targets]
    hits: list[list[Mask]] = [[], []]
    for families in zip(*(target.families(n, seed) for target in targets), strict=True):
        for mine, count, watch, part in zip(hits, counts, watches, families, strict=True):
            watch.add(part)
            mine.append(count.add(part))
    shares = []
    for target, count, watch in zip(targets, counts, watches, strict=True):
        maker = Maker(target.oracle, target.name, confidence, favourable, seed, target.n_left_out)
        maker.health += watch.remarks(target.oracle)
        shares.append(maker.fixed(count, "rows" if target.rows is not None else "sample"))
    for name, message in dict.fromkeys(remark for share in shares for remark in share.health):
        warnings.warn(f"{name}: {message}", HealthWarning, stacklevel=2)
    return paired(shares[0], shares[1], np.concatenate(hits[0]), np.concatenate(hits[1]), confidence)


def paired(a: Share, b: Share, hits_a: Mask, hits_b: Mask, confidence: float) -> Comparison:
    """Two shares that come from the same inputs, by which of these are discriminatory for each."""
    n = len(hits_a)
    only_a, only_b = int((hits_a & ~hits_b).sum()), int((hits_b & ~hits_a).sum())
    low, high = paired_difference(only_a, only_b, n, confidence)
    return Comparison(
        a, b, (only_a - only_b) / n if n else math.nan, low, high, mcnemar_p(only_a, only_b), only_a, only_b, n
    )
