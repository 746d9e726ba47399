"""From counts to shares."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairprobe.estimate import intervals
from fairprobe.estimate.counting import Count, worse_off
from fairprobe.estimate.share import Remark, Share
from fairprobe.oracle import Oracle

Interval = tuple[float, float]


@dataclass
class Maker:
    """Knows all that the shares of one call have in common."""

    oracle: Oracle
    population: str
    confidence: float
    favourable: Any = None
    seed: int | None = None
    n_left_out: int = 0
    detail: str = ""
    started: float = field(default_factory=time.monotonic)
    health: list[Remark] = field(default_factory=list)
    """What is to be said of all shares."""

    def fixed(self, count: Count, method: str) -> Share:
        """The share of a number of inputs that was fixed beforehand: exact bounds on the pooled counts."""
        numbers = (count.hits, count.n, self.confidence)
        one_sided = (intervals.lower_bound(*numbers), intervals.upper_bound(*numbers))
        return self.share(count, method, intervals.clopper_pearson(*numbers), one_sided)

    def exact(self, count: Count) -> Share:
        """The share of a population of which every member was counted."""
        value = _value(count)
        bounds = (value, value) if count.n else (0.0, 1.0)
        return self.share(count, "exact", bounds, bounds)

    def share(self, count: Count, method: str, two_sided: Interval, one_sided: Interval) -> Share:
        """The share with the bounds given."""
        rates = count.rates
        is_sampled = method in ("sample", "sequential")
        has_mean = method == "sample" and len(rates) > 1
        mean = intervals.mean_interval(rates, self.confidence) if has_mean else (None, None)
        history = np.cumsum(rates) / np.arange(1, len(rates) + 1) if is_sampled else None
        return self.make(
            _value(count),
            two_sided,
            one_sided,
            n=count.n,
            n_not_comparable=count.n_not_comparable,
            hits=count.hits,
            method=method,
            sensitive=count.sensitive,
            outcomes=count.outcomes(),
            n_queries=self.oracle.asker.n_queries,
            history=history,
            mean_low=mean[0],
            mean_high=mean[1],
        )

    def make(self, value: float, two_sided: Interval, one_sided: Interval, **fields: Any) -> Share:
        """A share with what is common filled in."""
        return Share(
            value=value,
            low=float(two_sided[0]),
            high=float(two_sided[1]),
            lower=float(one_sided[0]),
            upper=float(one_sided[1]),
            population=self.population,
            confidence=self.confidence,
            threshold=self.oracle.threshold,
            seconds=time.monotonic() - self.started,
            seed=self.seed,
            detail=self.detail,
            n_left_out=self.n_left_out,
            resolution=self.oracle.resolution,
            health=tuple(self.health),
            worse_off=worse_off(fields.get("outcomes"), self.favourable),
            **fields,
        )


def _value(count: Count) -> float:
    """Of nothing that could be compared, there is no share."""
    return count.hits / count.n if count.n else math.nan
